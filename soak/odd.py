"""Odd and wrong forms of numbers, tables and lists of indices, as users hand them in.

Each drawn from a generator.

A form says whether it holds the same numbers as the plain input (`same`), in which case a function
must accept it and answer alike; where it does not, an answer or a sentence are both right.
"""

import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

Rng = np.random.Generator


class Form(NamedTuple):
    """A value as handed in, what to call it in a description, and whether it means the plain value."""

    text: str
    value: Any
    same: bool


class Opaque:
    """An object that is no number, and whose repr is of no help."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Hostile:
    """A container that breaks when it is read."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("not today")


WRONG_NUMBERS: list[Any] = [
    10**400, -(10**400), 10**5000, float("nan"), float("inf"), -float("inf"), "1", "", b"1", None, True, np.True_, 1j,
    np.complex64(1), [1], (1, 2), {}, set(), np.array([1]), np.array([1, 2]), np.datetime64("2020-01-01"),
    np.timedelta64(1), np.ma.masked, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"), 1e308, -1e308,
    Fraction(10**400, 3), np.longdouble("1e400"), np.float16("inf"), np.int8(-128), np.int64(-(2**63)), 0, -1, -0.0,
    np.uint64(2**64 - 1), 2**63, 1e-320, 0.5, 1e9, object(), Opaque(), lambda: 1, int, sp.csr_array([[1]]),
]  # fmt: skip


def number(rng: Rng, value: float) -> Form:
    """A real number, as some type that can hold it exactly, or something that is none (or another one)."""
    if rng.random() < 0.4:
        wrong = WRONG_NUMBERS[int(rng.integers(len(WRONG_NUMBERS)))]
        return Form(text_of(wrong), wrong, same=False)
    kinds = [float, np.float64, np.float32, np.float16, np.longdouble, Fraction, Decimal, np.array]
    kind = kinds[int(rng.integers(len(kinds)))]
    return Form(f"{kind.__name__}({value})", kind(value), same=True)


def integer(rng: Rng, value: int) -> Form:
    """An odd form of an integer; a float is none, even when it is whole."""
    if rng.random() < 0.4:
        wrong = WRONG_NUMBERS[int(rng.integers(len(WRONG_NUMBERS)))]
        return Form(text_of(wrong), wrong, same=False)
    kinds = [int, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.array]
    kind = kinds[int(rng.integers(len(kinds)))]
    return Form(f"{kind.__name__}({value})", kind(value), same=True)


def text_of(x: Any) -> str:
    """A short description of any value."""
    try:
        text = " ".join(repr(x).split())
    except Exception:
        text = f"<{type(x).__name__}>"
    text = f"<{type(x).__name__}>" if " at 0x" in text else text
    return text if len(text) < 50 else f"{text[:46]} ..."


def _strided(x: Any) -> Any:
    return np.repeat(x, 2, axis=-1)[..., ::2]


def _locked(x: Any) -> Any:
    x = x.copy()
    x.setflags(write=False)
    return x


def _objects(x: Any, kind: Callable[[float], Any]) -> Any:
    made = np.empty(x.shape, object)
    made.reshape(-1)[:] = [kind(float(entry)) for entry in x.reshape(-1)]
    return made


def _frame(x: Any, make: Callable[[Any], Any]) -> Any:
    return (
        make(x)
        if x.ndim == 1
        else pd.DataFrame({f"c{j}": make(x[:, j]) for j in range(x.shape[1])})
    )


def _polars(x: Any) -> Any:
    return (
        pl.Series(x) if x.ndim == 1 else pl.DataFrame({f"c{j}": x[:, j] for j in range(x.shape[1])})
    )


def _mixed(x: Any) -> Any:
    if x.ndim == 1:
        return pd.Series(x).astype("Float64")
    whole = (x == np.floor(x)).all(axis=0)
    kinds = ["Int64" if every else "Float64" for every in whole]
    return pd.DataFrame({f"c{j}": pd.array(x[:, j], dtype=kind) for j, kind in enumerate(kinds)})


SAME: dict[str, Callable[[Any], Any]] = {
    "float64": np.array,
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of arrays": list,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "read-only": _locked,
    "unmasked": np.ma.array,
    "list of unmasked": lambda x: [np.ma.array(part) for part in x],
    "objects": lambda x: _objects(x, float),
    "Decimals": lambda x: _objects(x, Decimal),
    "Fractions": lambda x: _objects(x, Fraction),
    "pandas": lambda x: pd.Series(x) if x.ndim == 1 else pd.DataFrame(x),
    "pandas Float64": lambda x: _frame(x, lambda c: pd.Series(c).astype("Float64")),
    "pandas mixed": _mixed,
    "pandas objects": lambda x: _frame(x, lambda c: pd.Series(c, dtype=object)),
    "polars": _polars,
}


def _with(x: Any, entry: Any, rng: Rng) -> Any:
    made = np.array(x, object if not isinstance(entry, float) else np.float64)
    made.reshape(-1)[int(rng.integers(made.size))] = entry
    return made


def _masked(x: Any, rng: Rng) -> Any:
    mask = np.zeros(x.shape, bool)
    mask.reshape(-1)[int(rng.integers(x.size))] = True
    return np.ma.array(x, mask=mask)


def _missing(x: Any, rng: Rng) -> Any:
    frame = _frame(x, lambda c: pd.Series(c).astype("Float64"))
    at = int(rng.integers(x.shape[0]))
    if x.ndim == 1:
        frame.iloc[at] = pd.NA
    else:
        frame.iloc[at, int(rng.integers(x.shape[1]))] = pd.NA
    return frame


WRONG: dict[str, Callable[[Any, Rng], Any]] = {
    "masked": _masked,
    "list of masked": lambda x, rng: list(_masked(x, rng)),
    "missing": _missing,
    "polars with null": lambda x, rng: pl.DataFrame({"a": [None, *x.reshape(-1)[1:].tolist()]}),
    "lazy frame": lambda x, rng: pl.DataFrame({"a": x.reshape(-1)}).lazy(),
    "nan": lambda x, rng: _with(x, float("nan"), rng),
    "inf": lambda x, rng: _with(x, float("inf"), rng),
    "huge": lambda x, rng: _with(x, 1e300, rng),
    "tiny": lambda x, rng: x * 1e-300,
    "negative": lambda x, rng: -x,
    "zeros": lambda x, rng: x * 0.0,
    "constant": lambda x, rng: x * 0.0 + 1.0,
    "halves": lambda x, rng: x + 0.5,
    "with None": lambda x, rng: _with(x, None, rng),
    "with NA": lambda x, rng: _with(x, pd.NA, rng),
    "with text": lambda x, rng: _with(x, "x", rng),
    "with a numeral": lambda x, rng: _with(x, "1", rng),
    "with 10**400": lambda x, rng: _with(x, 10**400, rng),
    "with a dict": lambda x, rng: _with(x, {}, rng),
    "with a list": lambda x, rng: _with(x, [1, 2], rng),
    "ragged": lambda x, rng: [[1.0], *x.tolist()],
    "nested": lambda x, rng: [x.tolist(), [x.tolist()]],
    "text": lambda x, rng: x.astype(str),
    "bytes": lambda x, rng: x.astype("S4"),
    "complex": lambda x, rng: x + 0j,
    "dates": lambda x, rng: x.astype(np.int64).astype("M8[D]"),
    "structured": lambda x, rng: np.zeros(x.shape, [("a", float)]),
    "bool": lambda x, rng: x > 0,
    "int8": lambda x, rng: x.astype(np.int8),
    "uint64 limit": lambda x, rng: np.full(x.shape, 2**64 - 1, np.uint64),
    "int64 limit": lambda x, rng: np.full(x.shape, -(2**63), np.int64),
    "float16 limit": lambda x, rng: np.full(x.shape, 65504, np.float16),
    "longdouble limit": lambda x, rng: np.full(x.shape, np.longdouble("1e4000")),
    "float32 limit": lambda x, rng: np.full(x.shape, 3e38, np.float32),
    "codes": lambda x, rng: np.arange(x.size).reshape(x.shape),
    "short": lambda x, rng: x[:-1],
    "long": lambda x, rng: np.concatenate([x, x]),
    "flat": lambda x, rng: x.reshape(-1),
    "deep": lambda x, rng: x[None],
    "alone": lambda x, rng: x.reshape(-1)[:1].reshape(()),
    "empty": lambda x, rng: x[:0],
    "no columns": lambda x, rng: x[..., :0],
    "category": lambda x, rng: _frame(x, lambda c: pd.Series(["a"] * len(c), dtype="category")),
    "date column": lambda x, rng: _frame(
        x, lambda c: pd.Series(pd.to_datetime(["2020-01-01"] * len(c)))
    ),
    "array.array": lambda x, rng: array.array("d", x.reshape(-1).tolist()),
    "generator": lambda x, rng: (part for part in x.tolist()),
    "range": lambda x, rng: range(len(x)),
    "set": lambda x, rng: {1, 2},
    "dict": lambda x, rng: {"a": [1]},
    "None": lambda x, rng: None,
    "str": lambda x, rng: "abc",
    "number": lambda x, rng: 3,
    "class": lambda x, rng: np.ndarray,
    "opaque": lambda x, rng: Opaque(),
    "hostile": lambda x, rng: Hostile(),
}


def _unsorted(x: Any) -> Any:
    made = sp.csr_array(x)
    for a, b in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        made.indices[a:b] = made.indices[a:b][::-1].copy()
        made.data[a:b] = made.data[a:b][::-1].copy()
    made.has_sorted_indices = False
    return made


def _doubled(x: Any, form: Any) -> Any:
    """Every entry in two equal halves."""
    rows, columns = np.nonzero(x)
    values = x[rows, columns] / 2.0
    both = np.tile(rows, 2), np.tile(columns, 2)
    made = sp.coo_array((np.tile(values, 2), both), shape=x.shape)
    if form is sp.coo_array:
        return made
    order = np.argsort(both[0], kind="stable")
    starts = np.searchsorted(both[0][order], np.arange(len(x) + 1))
    return sp.csr_array((made.data[order], both[1][order], starts), shape=x.shape)


SPARSE: dict[str, Callable[[Any], Any]] = {
    **{
        f"{kind}_array": getattr(sp, f"{kind}_array")
        for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    },
    **{
        f"{kind}_matrix": getattr(sp, f"{kind}_matrix")
        for kind in ("csr", "csc", "coo", "dok", "bsr")
    },
    "csr unsorted": _unsorted,
    "csr doubled": lambda x: _doubled(x, sp.csr_array),
    "coo doubled": lambda x: _doubled(x, sp.coo_array),
    "csr float32": lambda x: sp.csr_array(x.astype(np.float32)),
    "csr int64 indices": lambda x: _wide(sp.csr_array(x)),
    "csr with zeros": lambda x: _full(x),
}


def _full(x: Any) -> Any:
    """Every entry listed, zeros among them."""
    columns, starts = np.tile(np.arange(x.shape[1]), len(x)), np.arange(0, x.size + 1, x.shape[1])
    return sp.csr_array((x.reshape(-1).copy(), columns, starts), shape=x.shape)


def _wide(x: Any) -> Any:
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    return x


def _broken(x: Any) -> Any:
    made = sp.csr_array(x)
    made.indices[:] = x.shape[1] + 7
    return made


WRONG_SPARSE: dict[str, Callable[[Any], Any]] = {
    "csr out of range": _broken,
    "csr nan": lambda x: sp.csr_array(np.where(x > 0, np.nan, 0.0)),
    "csr complex": lambda x: sp.csr_array(x + 0j),
    "csr bool": lambda x: sp.csr_array(x > 0),
    "csr negative": lambda x: sp.csr_array(-x),
    "csr empty": lambda x: sp.csr_array(x.shape),
    "csr no rows": lambda x: sp.csr_array((0, x.shape[-1])),
    "coo of one axis": lambda x: sp.coo_array(x.reshape(-1)),
}


def table(rng: Rng, x: Any, sparse: bool) -> Form:
    """A table or vector in some form; `sparse` says whether sparse ones are welcome."""
    draw = rng.random()
    if draw < 0.35:
        name = pick(rng, SAME)
        return Form(name, SAME[name](x), same=True)
    if x.ndim == 2 and draw < 0.55:
        name = pick(rng, SPARSE)
        return Form(name, SPARSE[name](x), same=sparse)
    if x.ndim == 2 and draw < 0.62:
        name = pick(rng, WRONG_SPARSE)
        return Form(name, WRONG_SPARSE[name](x), same=False)
    name = pick(rng, WRONG)
    return Form(name, WRONG[name](x, rng), same=False)


def units(rng: Rng, n: int) -> Form:
    """A list of indices below n, or something that is none."""
    forms: list[Form] = [
        Form("[0]", [0], True),
        Form("{0}", {0}, True),
        Form("range(1)", range(1), True),
        Form("int8", np.array([0], np.int8), True),
        Form("uint64", np.array([0], np.uint64), True),
        Form("Int64", pd.array([0], dtype="Int64"), True),
        Form("dict keys", {0: 1}.keys(), True),
        Form("masked", np.ma.array([0, 1], mask=[0, 1]), False),
        Form("Int64 with NA", pd.array([0, None], dtype="Int64"), False),
        Form("ragged", [[0], [1, 2]], False),
        Form("mixed", [0, "a"], False),
        Form("nested", [[0]], False),
        Form("with None", [0, None], False),
        Form("with nan", [0, float("nan")], False),
        Form("floats", [0.0], False),
        Form("bool", np.zeros(n, bool), False),
        Form("negative", [-1], False),
        Form("too large", [n], False),
        Form("10**400", [10**400], False),
        Form("uint64 limit", np.array([2**64 - 1], np.uint64), False),
        Form("text", "0", False),
        Form("None", None, False),
        Form("dict", {0: 1}, False),
        Form("number", 0, False),
        Form("generator", (i for i in [0]), False),
        Form("csr", sp.csr_array([[1]]), False),
        Form("opaque", Opaque(), False),
        Form("hostile", Hostile(), False),
    ]
    return forms[int(rng.integers(len(forms)))]


WRONG_THINGS: list[Any] = [
    None,
    3,
    "x",
    [],
    {},
    np.ones(3),
    object(),
    Opaque(),
    Hostile(),
    1j,
    int,
    pd.NA,
    True,
]


SECONDS: list[Any] = [
    0.25,
    np.float32(0.25),
    Fraction(1, 4),
    Decimal("0.25"),
    np.array(0.25),
    1e-9,
    1e-320,
    0,
    -1.0,
]
NO_SECONDS = [x for x in WRONG_NUMBERS if not isinstance(x, (int, float, Fraction, np.generic))]


def seconds(rng: Rng) -> Form:
    """A short time limit, or something that is none.

    Never a long one, which a search may use up.
    """
    pool = (
        SECONDS if rng.random() < 0.6 else [*NO_SECONDS, 10**400, float("nan"), float("inf"), True]
    )
    value = pool[int(rng.integers(len(pool)))]
    return Form(text_of(value), value, same=False)


SEEDS: list[Any] = [
    None,
    3,
    np.int64(3),
    [1, 2],
    2**70,
    10**400,
    "x",
    -1,
    1.5,
    True,
    [-1],
    [1, "a"],
    {},
    Opaque(),
]


def seed(rng: Rng) -> Form:
    """What may be meant as a source of randomness."""
    makers: list[Any] = [
        np.random.default_rng(1),
        np.random.RandomState(1),
        np.random.SeedSequence(1),
        np.random,
    ]
    pool = [*SEEDS, *makers, np.ma.masked, np.array(3), np.array([1.5]), pd.NA]
    value = pool[int(rng.integers(len(pool)))]
    return Form(text_of(value), value, same=False)


def thing(rng: Rng, calls: bool = True) -> Form:
    """Something of no type that anybody asked for.

    Without `calls` not a function, whose errors are the caller's.
    """
    value = WRONG_THINGS[int(rng.integers(len(WRONG_THINGS)))]
    value = 3 if callable(value) and not calls else value
    return Form(text_of(value), value, same=False)


def pick(rng: Rng, names: Any) -> str:
    """One of some names."""
    every = list(names)
    return str(every[int(rng.integers(len(every)))])


def fingerprint(x: Any) -> Any:
    """What a caller sees of a value: equal before and after a call that leaves it alone."""
    if isinstance(x, np.ma.MaskedArray):
        return fingerprint(np.asarray(x.data)), fingerprint(np.ma.getmaskarray(x))
    if isinstance(x, np.ndarray):
        entries = repr(x.tolist()) if x.dtype.kind == "O" else x.tobytes()
        return x.dtype.str, x.shape, x.flags.writeable, entries
    if sp.issparse(x):
        names = ("data", "indices", "indptr", "offsets", "rows", "coords")
        arrays = [getattr(x, name) for name in names if x.format != "dok" and hasattr(x, name)]
        items = sorted(x.items()) if x.format == "dok" else arrays
        return x.format, x.shape, [fingerprint(part) for part in items]
    if isinstance(x, (pd.DataFrame, pd.Series)):
        return str(x.dtypes), repr(np.asarray(x, object).tolist())
    if isinstance(x, (pl.DataFrame, pl.Series)):
        return str(x.dtype if isinstance(x, pl.Series) else x.schema), repr(x.to_numpy().tolist())
    if isinstance(x, (list, tuple)):
        return [fingerprint(part) for part in x]
    return text_of(x)
