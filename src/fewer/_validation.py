"""Validation: every check of what a user hands in. Past it, arrays are trusted."""

import difflib
import math
import numbers
import os
import re
import reprlib
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from decimal import Decimal
from inspect import currentframe
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

SEEDS = 10**6
"""A seed that is drawn is below this: short enough to type."""
NUMBER = (numbers.Real, Decimal, np.bool_)
_COMPRESSED = {"bsr": sp.bsr_array, "csc": sp.csc_array, "csr": sp.csr_array}
_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
    "modin.pandas": ("DataFrame",),
    "cudf": ("DataFrame",),
}
_BRIEF = reprlib.Repr()
_BRIEF.maxother = _BRIEF.maxstring = _BRIEF.maxlong = 60


class InvalidInput(ValueError, TypeError):  # noqa: N818 - reads as the sentence it carries
    """The input cannot be used.

    The message says what is wrong, what was expected and what was given.

    Both a `ValueError` and a `TypeError`, as scikit-learn's own parameter error is.

    Examples
    --------
    >>> from fewer import Atoms
    >>> Atoms(0)
    Traceback (most recent call last):
    fewer._validation.InvalidInput: n must be at least 1 (atoms), got 0
    """

    def __init__(
        self, message: str = "", parameter: str | None = None, fixes: Sequence["Fix"] = ()
    ) -> None:
        super().__init__(message)
        self.parameter, self.fixes, self.place = parameter, tuple(fixes), ""

    def __str__(self) -> str:
        return f"{self.place}{self.args[0] if self.args else ''}"

    def at(self, place: str) -> "InvalidInput":
        """Return the error with the place where it is: a file, a column."""
        self.place = f"{place}: {self.place}"
        return self

    def spelled(self, spell: Callable[["Fix"], str]) -> str:
        """Return the message, with parameters and their values as `spell` writes them."""
        text = str(self.args[0])
        for fix in self.fixes:
            text = text.replace(str(fix), spell(fix))
        if self.parameter is not None and text.startswith(self.parameter):
            text = spell(Fix(self.parameter)) + text[len(self.parameter) :]
        return self.place + text


class Fix(NamedTuple):
    """A parameter, and a value of it that mends an error.

    >>> str(Fix("columns", {"age": "ignore"})), str(Fix("max_memory"))
    ("columns={'age': 'ignore'}", 'max_memory')
    """

    parameter: str
    value: Any = None

    def __str__(self) -> str:
        return self.parameter if self.value is None else f"{self.parameter}={self.value!r}"


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Within it, an error about the argument `A` is about the argument that the caller knows, names["A"].

    >>> with renamed(A="X"):
    ...     as_array([float("nan")], "A")
    Traceback (most recent call last):
    fewer._validation.InvalidInput: X must be finite, got nan at index 0
    """
    try:
        yield
    except InvalidInput as error:
        match = re.match(rf"({'|'.join(names)})\b", str(error))
        if match is None:
            raise
        name = names[match[1]]
        text = name + str(error)[match.end() :]
        raise InvalidInput(text, name, error.fixes) from error.__cause__


def shown(x: Any) -> str:
    """Return `x` in one short line, for a message; whatever its own repr does.

    >>> shown("magic"), shown(list(range(100))), shown(10**5000)
    ("'magic'", '[0, 1, 2, 3, 4, 5, ...]', 'a value of type int')
    """
    try:
        return " ".join(_BRIEF.repr(x).split())
    except Exception:  # a repr is the caller's code, and an int may have too many digits for one
        return f"a value of type {type(x).__name__}"


def read(x: Any, name: str) -> npt.NDArray[Any]:
    """Return `x` as an array of NumPy; masked entries, and what NumPy cannot read, are refused."""
    try:
        parts = x if isinstance(x, list | tuple) else [x]
        masked = any(
            isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts
        )
        array = np.asarray(x)
    except Exception:  # ragged sequences, and what foreign containers raise
        raise InvalidInput(
            f"{name} must be an array with rows of one length, got {shown(x)}", name
        ) from None
    if masked:
        raise InvalidInput(f"{name} has masked entries; fill or drop them", name)
    return array


def as_numbers(x: Any, name: str) -> npt.NDArray[Any]:
    """Return `x` as an array of booleans, integers or floats, of any shape.

    Sequences, arrays, DataFrames and Series are welcome, with nullable columns and columns of
    objects too where each entry is a real number (`Decimal` and `Fraction` among them). Text is
    never read as a number.

    >>> as_numbers([True, Decimal("0.5"), 2], "x").tolist()
    [1.0, 0.5, 2.0]
    """
    if sp.issparse(x):
        raise InvalidInput(
            f"{name} must be dense, got a {type(x).__name__} of shape {x.shape}; use its toarray()",
            name,
        )
    x = gathered(x)
    array = read(x, name)
    if not is_frame(x):
        return _real(array, name)
    if array.dtype.kind not in "fiub":
        array = _side_by_side(x, name)
    if array.dtype.kind == "f" and np.isnan(array).any():
        row, column = (int(i) for i in np.argwhere(np.isnan(array))[0])
        raise InvalidInput(
            f"{name} has a missing value in column {labels_of(x)[column]!r}, row {row}; fill or"
            " drop it",
            name,
        )
    return array


def _side_by_side(frame: Any, name: str) -> npt.NDArray[Any]:
    """Return the columns of a DataFrame, of different kinds, as one array."""
    parts = []
    for i, label in enumerate(labels_of(frame)):
        column = frame.iloc[:, i] if hasattr(frame, "iloc") else frame[label]
        parts.append(as_numbers(column, f"{name}'s column {label!r}"))
    return np.column_stack(parts) if parts else np.empty((len(frame), 0))


def _real(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return an array of real numbers; objects as int64 where they are whole and fit, else as float64."""
    if array.dtype.kind in "fiub":
        return array
    if array.dtype.kind != "O":
        raise InvalidInput(f"{name} must hold real numbers, got dtype {array.dtype}", name)
    entries = array.reshape(-1).tolist()
    wrong = {kind for kind in set(map(type, entries)) if not issubclass(kind, NUMBER)}
    if wrong:
        at = next(i for i, entry in enumerate(entries) if type(entry) in wrong)
        got = f"{shown(entries[at])} ({type(entries[at]).__name__})"
        raise InvalidInput(f"{name} must hold real numbers, got {got}{_at(at, array)}", name)
    try:
        whole = all(isinstance(entry, (numbers.Integral, np.bool_)) for entry in entries)
        whole = whole and all(-(2**63) <= entry < 2**63 for entry in entries)
        return array.astype(np.int64 if whole else np.float64)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(
            f"{name} must hold numbers that float64 can hold: {error}", name
        ) from None


def _at(at: int, array: npt.NDArray[Any]) -> str:
    """Say where in an array its entry number `at` is."""
    places = np.unravel_index(at, array.shape)
    return f" at index {', '.join(str(int(i)) for i in places)}" if array.ndim else ""


def as_sparse(x: Any, name: str) -> Any:
    """Return a sparse matrix as an object of our own that shares its arrays, its indices known to be in range.

    SciPy trusts indices, and a wrong one makes it write past the end of an array when the format is
    changed.
    """
    try:
        if x.format == "coo":
            return sp.coo_array((x.data, x.coords), shape=x.shape)
        x = x.tocsr() if x.format == "lil" else x
        if x.format in _COMPRESSED:
            x = _COMPRESSED[x.format](x)
            x.check_format(full_check=True)
    except Exception as error:  # what SciPy raises depends on the format
        raise InvalidInput(f"{name} is not a valid sparse matrix: {error}", name) from None
    return x


def _is_one(x: Any, library: str, kinds: tuple[str, ...]) -> bool:
    module = sys.modules.get(library)
    types = tuple(getattr(module, kind) for kind in kinds if hasattr(module, kind))
    return isinstance(x, types)


def library_of(x: Any) -> str | None:
    """Return which library of `_FRAMES` a table or a column is of, if any; none is imported for that.

    >>> library_of([[1.0, 2.0]]) is None
    True
    """
    each = (name for name, kinds in _FRAMES.items() if _is_one(x, name, (*kinds, "Series")))
    return next(each, None)


def is_frame(x: Any) -> bool:
    """Return whether `x` has named columns: a DataFrame, a LazyFrame, or a Table or RecordBatch of pyarrow."""
    return any(_is_one(x, library, kinds) for library, kinds in _FRAMES.items())


def gathered(x: Any) -> Any:
    """Return `x` itself; of a LazyFrame of polars the frame that it makes."""
    return x.collect() if _is_one(x, "polars", ("LazyFrame",)) else x


def labels_of(frame: Any) -> list[Any]:
    """Return the names of a frame's columns, as the user wrote them."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def as_array(x: Any, name: str) -> Vector:
    """Return `x` as finite float64 of any shape; see `as_numbers` for what is welcome."""
    entries = as_numbers(x, name)
    with np.errstate(over="ignore"):  # a longdouble beyond float64 is met below
        array = entries.astype(np.float64, order="C", copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        at = int(np.argmin(finite))
        value = entries.reshape(-1)[at]
        raise InvalidInput(f"{name} must be finite, got {value!s}{_at(at, array)}", name)
    return array


def as_vector(x: Any, shape: tuple[int, ...], name: str) -> Vector:
    """Return `x` as a flat vector of Π shape entries, given flat or in that shape."""
    array = as_array(x, name)
    size = math.prod(shape)
    if array.shape not in ((size,), shape):
        also = "" if len(shape) == 1 else f" or {shape}"
        raise InvalidInput(f"{name} must have shape ({size},){also}, got {array.shape}", name)
    return array.reshape(-1)


def refuse_negative(p: Vector, name: str) -> None:
    """Refuse an entry below zero."""
    if p.size and p.min() < 0:
        got = f"{p.min()} at index {int(p.argmin())}"
        raise InvalidInput(f"{name} must be non-negative, got {got}", name)


def as_distribution(p: Vector, name: str) -> Vector:
    """Return `p`, which must be non-negative and sum to one (to 1e-6)."""
    refuse_negative(p, name)
    total = float(p.sum())
    if abs(total - 1) > 1e-6:
        raise InvalidInput(f"{name} must sum to 1, got {total:.6g}; divide it by its sum", name)
    return p


def as_weights(x: Any, n: int, name: str) -> Vector:
    """Return `x` as n non-negative weights with a positive, finite sum, divided by it."""
    return as_shares(as_vector(x, (n,), name), name)


def as_shares(weights: Vector, name: str) -> Vector:
    """Return finite weights divided by their sum; they must be non-negative, and some above zero."""
    refuse_negative(weights, name)
    if not weights.any():
        got = "all zeros" if weights.size else "none"
        raise InvalidInput(f"{name} must have an entry above zero, got {got}", name)
    scaled: Vector = weights / weights.max()  # first, so that sums of huge weights stay finite
    return np.asarray(scaled / scaled.sum())


def as_integer(x: Any, name: str, low: int, high: int | None = None, what: str = "") -> int:
    """Return `x` as an int in low..high; a float is refused even when it is whole."""
    kind = f" ({what})" if what else ""
    expected = f"at least {low}{kind}" if high is None else f"in {low}..{high}{kind}"
    x = x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, numbers.Integral):
        raise InvalidInput(
            f"{name} must be an integer {expected}, got {shown(x)} ({type(x).__name__})", name
        )
    value = int(x)
    if value < low or (high is not None and value > high):
        raise InvalidInput(f"{name} must be {expected}, got {shown(value)}", name)
    return value


def as_number(x: Any, name: str, *, above: float = 0.0, allow_equal: bool = False) -> float:
    """Return `x` as a finite float above `above`; any real number is welcome, `Decimal` and `Fraction` too."""
    word = "at least" if allow_equal else "above"
    x = x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x
    value = math.nan
    if not isinstance(x, bool) and isinstance(x, (numbers.Real, Decimal)):
        with suppress(OverflowError, ValueError):  # an integer beyond float64, a signalling NaN
            value = float(x)
    if not math.isfinite(value):
        raise InvalidInput(f"{name} must be a finite number {word} {above:g}, got {shown(x)}", name)
    if value < above or (value == above and not allow_equal):
        raise InvalidInput(f"{name} must be {word} {above:g}, got {value:g}", name)
    return value


def as_bytes(x: Any, name: str = "max_memory") -> int:
    """Return a number of bytes, or a string such as "500MB" (decimal units).

    >>> as_bytes("1.5GB"), as_bytes(4096)
    (1500000000, 4096)
    """
    if not isinstance(x, str):
        return as_integer(x, name, 1, what="bytes")
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{0,15})?)\s*(?:([KMGT]?)B)?\s*", x.upper())
    size = int(float(match[1]) * 1000 ** " KMGT".index(match[2] or " ")) if match else 0
    if size < 1:
        raise InvalidInput(
            f"{name} must be bytes or a text such as '500MB' or '1GB', got {shown(x)}", name
        )
    return size


def as_flag(x: Any, name: str) -> bool:
    """Return `x`, which must be True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False, got {shown(x)}", name)
    return bool(x)


def as_indices(x: Any, n: int, name: str, what: str) -> Indices:
    """Return `x` as integers in 0..n-1, in its own shape and order."""
    x = list(x) if isinstance(x, Set) else x  # which NumPy would take for one object
    array = as_numbers(x, name)
    if array.size == 0:
        return np.empty(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        words = f"{name} must be a list of {what} indices, integers, got {shown(x)}"
        raise InvalidInput(words, name)
    if array.min() < 0 or array.max() >= n:
        got = f"{array.min()}..{array.max()}"
        raise InvalidInput(f"{name} must be in 0..{n - 1} ({what}), got {got}", name)
    return array.astype(np.int64)


def as_units(
    units: Iterable[int] | npt.ArrayLike, n: int, what: str, name: str = "units"
) -> Indices:
    """Return `units` as sorted distinct indices below n."""
    array = as_indices(units, n, name, what)
    if array.size and array.ndim != 1:
        raise InvalidInput(f"{name} must be a list of {what} indices, got {shown(units)}", name)
    return np.unique(array)


def as_generator(rng: Any) -> tuple[np.random.Generator, int | None]:
    """Return a generator, the one entry of randomness, and the seed that makes it again, short where it is drawn here."""
    try:
        generator = np.random.default_rng(secrets.randbelow(SEEDS) if rng is None else rng)
    except Exception as error:  # what NumPy raises depends on the type
        raise InvalidInput(
            f"rng must be None, a non-negative seed or a Generator, got {shown(rng)}: {error}",
            "rng",
        ) from None
    entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
    return generator, entropy if isinstance(entropy, int) else None


def as_seed(rng: Any) -> int:
    """Return `rng` as the seed that all blocks of rows share."""
    return as_integer(rng, "rng", 0, 2**63 - 1, "the seed that all blocks share")


def as_path(path: Any) -> Path:
    """Return `path` as a Path, if a file can have such a name."""
    if not isinstance(path, (str, os.PathLike)) or str(path) in ("", ".") or "\0" in str(path):
        raise InvalidInput(f"path must be the name of a file, got {shown(path)}")
    return Path(path)


def lacking(thing: object, names: Iterable[str]) -> list[str]:
    """Return those of the names that are no members of `thing`, looked up without evaluating any.

    >>> lacking(1 + 2j, ["real", "bound"])
    ['bound']
    """
    own, kind = getattr(thing, "__dict__", {}), thing if isinstance(thing, type) else type(thing)
    return [name for name in names if not hasattr(kind, name) and name not in own]


def known(name: Any, table: dict[str, Any], what: str) -> Any:
    """Return table[name]; an unknown name lists the known ones."""
    if not isinstance(name, str) or name not in table:
        near = difflib.get_close_matches(name, table, 1) if isinstance(name, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        names = ", ".join(map(repr, sorted(table)))
        raise InvalidInput(f"{what} must be one of {names}, got {shown(name)}{hint}", what)
    return table[name]


def magnitude(count: int) -> str:
    """Return a count for people: exact while short, a power of ten when astronomic.

    >>> magnitude(6435), magnitude(2**100), magnitude(2**5000)
    ('6435', '1.27e+30', '10^1505')
    """
    if count < 10**6:
        return str(count)
    return f"{count:.3g}" if count < 10**300 else f"10^{int(count.bit_length() * math.log10(2))}"


def callers_level() -> int:
    """Return the `stacklevel` of a warning that points at the user's line."""
    frame, level = currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("fewer", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
