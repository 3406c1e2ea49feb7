"""The bandwidth gamma of a similarity by a rule, for rows of any size."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import as_number, known
from .distances import centre_of, distance_blocks, evenly, squared_lengths

Vector = npt.NDArray[np.float64]

POWERS = {"hamming": 0, "laplace": 1, "matern32": 1, "matern52": 1, "rbf": 2}
"""Similarities with a bandwidth, and how it depends on the unit of the rows: gamma times unit^power
stays the same."""
SAMPLED_ROWS = 1000
"""Rows, evenly spaced, from which a bandwidth is taken where there are more than twice as many."""
BLOCK_ENTRIES = 2**18
"""Entries of a table that are looked at together."""
ORDINARY = 1e-70, 1e70
"""Sizes of rows and bandwidths whose fourth powers keep clear of overflow and underflow."""
METRICS = {"hamming": "hamming", "laplace": "cityblock"}
"""Distances that SciPy computes."""
OUTLIER_RATIO = 1e6
"""Median distances between a row and the others from which a note says so."""


class Bandwidth(NamedTuple):
    """A bandwidth for rows divided by 2^exponent; the exponent is 0 for rows of ordinary size.

    `gamma` is the same for the rows as they are, where it may be 0 or infinite. `note` says what is
    odd about them.
    """

    scaled: float
    exponent: int
    gamma: float
    note: str = ""


def bandwidth(X: Any, name: str, gamma: Any, weights: Any = None) -> float | None:
    """Gamma as a number.

    "median" makes the median distance the width, "scale" is that of scikit-learn's SVC.

    "median": 1 / (2 median r²) for rbf, so that it is exp(-r² / 2 sigma²) with the median distance
    for sigma, and 1 / median distance for the others. It leaves out zeros and is taken over
    SAMPLED_ROWS evenly spaced rows of many. "scale": 1 / (d var X) for rbf, its root for matern, 1
    / (d std X) for laplace, and 1 for hamming. None for similarities without a bandwidth. With
    `weights` (n,) a row counts as often as its weight says.

    >>> bandwidth(np.array([[0.0], [1.0], [3.0]]), "rbf", "median")
    0.125
    """
    return None if name not in POWERS else bandwidth_in_units(X, name, gamma, weights).gamma


def bandwidth_in_units(
    X: Any, name: str, gamma: Any, weights: Any = None, top: float | None = None
) -> Bandwidth:
    """Return the bandwidth of rows of any size, by name of a similarity that has one.

    See `bandwidth`.

    `top` is the largest |x_ij| where that is known.
    """
    top = largest(X) if top is None else top
    if isinstance(gamma, str):
        number, exponent, note = known(gamma, {"median": _median, "scale": _scale}, "gamma")(
            X, name, weights
        )
    else:
        number, exponent, note = as_number(gamma, "gamma"), 0, ""
    value = times_power_of_two(number, -POWERS[name] * exponent)
    if POWERS[name] == 0 or (ORDINARY[0] < value < ORDINARY[1] and _ordinary(top)):
        return Bandwidth(value, 0, value, note)
    return _near_one(number, exponent, POWERS[name], top)._replace(gamma=value, note=note)


def _near_one(number: float, exponent: int, power: int, top: float) -> Bandwidth:
    """Return the bandwidth `number` of rows divided by 2^exponent, in the unit in which it is near one.

    The unit is no smaller than 2^-1000 times the largest entry, `top`: rows in it stay finite.
    """
    size = math.frexp(number)[1] // power
    unit = max(exponent - size, exponent_of(top) - 1000)
    return Bandwidth(times_power_of_two(number, power * (unit - exponent)), unit, math.nan)


def _ordinary(top: float) -> bool:
    return top == 0.0 or ORDINARY[0] < top < ORDINARY[1]


def times_power_of_two(number: float, exponent: int) -> float:
    """Return `number` times 2^exponent; 0 or infinite where there is no such number.

    >>> times_power_of_two(3.0, 4), times_power_of_two(1.0, 2000), times_power_of_two(1.0, -2000)
    (48.0, inf, 0.0)
    """
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


def exponent_of(size: float) -> int:
    """Return the exponent of the power of two next below a size; 0 for zero.

    >>> exponent_of(8.0), exponent_of(0.3), exponent_of(0.0)
    (3, -2, 0)
    """
    return math.frexp(size)[1] - 1 if 0.0 < size < math.inf else 0


def scaled_rows(rows: Any, exponent: Any) -> Any:
    """Return rows times 2^exponent in float64, one exponent or (d,).

    Infinite where there is no such number.
    """
    if not np.any(exponent):
        return rows
    with np.errstate(over="ignore"):
        if not sp.issparse(rows):
            return np.ldexp(rows.astype(np.float64), exponent)
        own = exponent if np.ndim(exponent) == 0 else exponent[rows.indices]
        return sp.csr_array(
            (np.ldexp(rows.data.astype(np.float64), own), rows.indices, rows.indptr), rows.shape
        )


def blocks(X: Any) -> Iterator[slice]:
    """0..n in slices of some hundred thousand entries of X."""
    n, d = X.shape
    step = max(1, BLOCK_ENTRIES // d)
    return (slice(a, min(a + step, n)) for a in range(0, n, step))


def largest(X: Any) -> float:
    """Return the largest |x_ij|; not finite where one entry is not."""
    if sp.issparse(X):
        return float(np.abs(X.data).max(initial=0.0))
    if getattr(X, "sparse", False):
        return max(largest(X[part]) for part in blocks(X))
    ends = [(float(X[part].min()), float(X[part].max())) for part in blocks(X)]
    return float(np.abs(ends).max())


def pair_distances(rows: Any, name: str) -> Vector:
    """Compute the distances between all pairs of rows in the similarity's own power, (n (n - 1) / 2,)."""
    if name in METRICS:
        from scipy.spatial.distance import pdist  # here: few calls need it

        return np.asarray(pdist(rows, METRICS[name]))
    later = ~np.tri(rows.shape[0], dtype=bool)
    squared = np.maximum(distance_blocks(rows, rows)[later], 0.0)
    return np.asarray(squared if name == "rbf" else np.sqrt(squared))


Measure = Callable[[Vector], Any]
UNITS: tuple[Measure, ...] = (lambda entries: 1.0, np.median, np.max)
"""What rows are measured in, one after the other, until their median distance is an ordinary
number."""


def _median(X: Any, name: str, weights: Any) -> tuple[float, int, str]:
    """Return one over the median distance (rbf: twice its square) in a unit, its exponent, and what is odd about the rows."""
    n = X.shape[0]
    sampled = evenly(n, SAMPLED_ROWS) if n > 2 * SAMPLED_ROWS else np.arange(n)
    rows = X[sampled]
    mass = None if weights is None or weights.min() == weights.max() else weights[sampled]
    for size in UNITS[: 1 if name == "hamming" else 3]:
        exponent = _exponent(rows, size)
        unit = scaled_rows(rows, -exponent)
        middle, top = _middle_and_top(unit, name, mass)
        if ORDINARY[0] < middle < ORDINARY[1]:
            ratio = math.sqrt(top / middle) if name == "rbf" else top / middle
            outliers = f"some rows lie {ratio:.1g} times the median distance apart: outliers?"
            number = 0.5 / middle if name == "rbf" else 1.0 / middle
            return number, exponent, outliers if ratio >= OUTLIER_RATIO else ""
    return 1.0, exponent, "all rows from which gamma is taken are equal, so it is 1"


def _exponent(rows: Any, size: Measure) -> int:
    """Return the exponent of the size of the entries of rows, as far as they lie from their middle."""
    quarter = scaled_rows(rows, -2)  # differences of the largest numbers would overflow
    centre = centre_of(quarter)
    entries = np.abs(quarter.data if centre is None else quarter - centre)
    entries = entries[entries > 0]
    unit = float(size(entries)) if entries.size else 1.0
    return 0 if unit == 1.0 else exponent_of(unit) + 2


def _middle_and_top(rows: Any, name: str, mass: Any) -> tuple[float, float]:
    """Return the median and the largest of the distances above zero, 0 where there is none.

    mass: (n,) or None.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        distances = pair_distances(rows, name)
    positive = distances > 0
    values = distances[positive]
    if not values.size:
        return 0.0, 0.0
    top = float(values.max())
    if mass is None:
        return float(np.median(values, overwrite_input=True)), top
    pairs = np.outer(mass, mass)[~np.tri(len(mass), dtype=bool)]
    return weighted_median(values, pairs[positive]), top


def weighted_median(values: Vector, weights: Vector) -> float:
    """Return the median of values (n,) repeated as often as their weights (n,) say.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    1.5
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2.0
    low, high = np.searchsorted(below, [half * (1.0 - 1e-12), half * (1.0 + 1e-12)])
    return float(values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2.0


def _scale(X: Any, name: str, weights: Any) -> tuple[float, int, str]:
    """scikit-learn's rule in the unit of the largest entry, its exponent, and nothing odd."""
    top = largest(X)
    exponent = 0 if _ordinary(top) else exponent_of(top)
    n, d = X.shape
    share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    mean = sum(float((share[s] @ scaled_rows(X[s], -exponent)).sum()) for s in blocks(X)) / d
    variance = sum(_spread(scaled_rows(X[s], -exponent), share[s], mean) for s in blocks(X)) / d
    if variance <= 0 or name == "hamming":
        return 1.0, exponent, "" if name == "hamming" else "X does not vary, so gamma is 1"
    widths = {"rbf": 1.0 / (d * variance), "laplace": 1.0 / (d * variance**0.5)}
    return float(widths.get(name, (d * variance) ** -0.5)), exponent, ""


def _spread(rows: Any, share: Vector, mean: float) -> float:
    """Return Σ share_i (x_ij - mean)² over all entries of rows."""
    if not sp.issparse(rows):
        return float(share @ squared_lengths(rows - np.float64(mean)))
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    empty = rows.shape[1] - np.diff(rows.indptr)
    return float(share[owner] @ (rows.data - np.float64(mean)) ** 2 + mean * mean * (share @ empty))
