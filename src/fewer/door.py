"""The door: every check of what a user hands in. Past it, arrays are trusted."""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class InvalidInput(ValueError, TypeError):  # noqa: N818 - reads as the sentence it carries
    """What was handed in cannot be used; the message says what, what was expected, and what came."""


def as_array(x: Any, name: str) -> Vector:
    """`x` as finite float64 of any shape; float32, integers, booleans and read-only arrays are welcome."""
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"{name} must be an array of real numbers, got {x!r:.60}: {error}") from None
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must hold real numbers, got dtype {array.dtype} ({type(x).__name__})")
    array = array.astype(np.float64, order="C", copy=False)
    if not np.isfinite(array).all():
        where = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        at = ", ".join(str(int(i)) for i in where)
        raise InvalidInput(f"{name} must be finite, got {array[where]} at index {at}")
    return array


def as_vector(x: Any, shape: tuple[int, ...], name: str) -> Vector:
    """`x` as a flat vector of Π shape entries, given flat or in that shape."""
    array = as_array(x, name)
    size = math.prod(shape)
    if array.shape != (size,) and array.shape != shape:
        also = "" if len(shape) == 1 else f" or {shape}"
        raise InvalidInput(f"{name} must have shape ({size},){also}, got {array.shape}")
    return array.reshape(-1)


def as_distribution(p: Vector, name: str) -> Vector:
    """`p`, which must be non-negative and sum to one (to 1e-6)."""
    if p.size and p.min() < 0:
        raise InvalidInput(f"{name} must be non-negative, got {p.min()} at index {int(p.argmin())}")
    if abs(p.sum() - 1) > 1e-6:
        raise InvalidInput(f"{name} must sum to 1, got {p.sum():.6g}; divide it by its sum")
    return p


def as_weights(x: Any, n: int, name: str) -> Vector:
    """`x` as n non-negative weights with a positive, finite sum, divided by it."""
    weights = as_vector(x, (n,), name)
    if weights.min() < 0:
        raise InvalidInput(f"{name} must be non-negative, got {weights.min()} at index {int(weights.argmin())}")
    top = weights.max()
    if top == 0:
        raise InvalidInput(f"{name} must have a positive sum, got all zeros")
    scaled: Vector = weights / top  # first, so that sums of huge weights stay finite
    scaled /= scaled.sum()
    return scaled


def as_integer(x: Any, name: str, low: int, high: int | None = None, what: str = "") -> int:
    """`x` as an int in low..high; a float is refused even when it is whole."""
    kind = f" ({what})" if what else ""
    expected = f"in {low}..{high}{kind}" if high is not None else f"at least {low}{kind}"
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, numbers.Integral):
        raise InvalidInput(f"{name} must be an integer {expected}, got {x!r} ({type(x).__name__})")
    value = int(x)
    if value < low or (high is not None and value > high):
        raise InvalidInput(f"{name} must be {expected}, got {value}")
    return value


def as_number(x: Any, name: str, *, above: float = 0.0, allow_equal: bool = False) -> float:
    """`x` as a finite float above `above`."""
    word = "at least" if allow_equal else "above"
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, numbers.Real) or not math.isfinite(float(x)):
        raise InvalidInput(f"{name} must be a finite number {word} {above:g}, got {x!r}")
    value = float(x)
    if value < above or (value == above and not allow_equal):
        raise InvalidInput(f"{name} must be {word} {above:g}, got {value:g}")
    return value


def as_units(units: Iterable[int] | npt.ArrayLike, n: int, what: str) -> Indices:
    """`units` as sorted distinct indices below n."""
    array = np.asarray(list(units) if isinstance(units, (set, frozenset, range)) else units)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInput(f"units must be a list of {what} indices, got {units!r:.60}")
    if array.min() < 0 or array.max() >= n:
        raise InvalidInput(f"units must be in 0..{n - 1} ({what}), got {array.min()}..{array.max()}")
    return np.unique(array).astype(np.int64)


def magnitude(count: int) -> str:
    """A count for people: exact while short, a power of ten when astronomic.

    >>> magnitude(6435), magnitude(2**100), magnitude(2**5000)
    ('6435', '1.27e+30', '10^1505')
    """
    if count < 10**6:
        return str(count)
    return f"{count:.3g}" if count < 10**300 else f"10^{int(count.bit_length() * math.log10(2))}"


def known(name: Any, table: dict[str, Any], what: str) -> Any:
    """table[name]; an unknown name lists the known ones."""
    if not isinstance(name, str) or name not in table:
        raise InvalidInput(f"{what} must be one of {', '.join(map(repr, sorted(table)))}, got {name!r}")
    return table[name]
