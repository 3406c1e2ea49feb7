"""How alike two rows are: positive semi-definite similarities, asked for in blocks, and their bandwidths.

A similarity prepares rows once (`left`, `right`) and then compares any two blocks of them
(`between`). Distances come from one matrix product and, where that cancels, from differences: see
`fewer.distances`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import InvalidInput, Vector, as_number, known
from .distances import (
    Matrix,
    centre_of,
    distance_blocks,
    evenly,
    prepared,
    product,
    row_slices,
    squared_distances,
    squared_lengths,
)

FAR_RBF, FAR_MATERN = 45.0, 2500.0
"""Squared distances, in bandwidths, beyond which a similarity is below rounding: exp(-45), 900
exp(-50)."""
MOST_DECOMPOSED = 500
"""Rows of a matrix of similarities whose eigenvalues are looked at, at most."""
STRIP_ROWS = 128
"""Rows whose distances to all others are computed at once."""
SAMPLED_ROWS = 1000
"""Rows, evenly spaced, from which a bandwidth is taken where there are more than twice as many."""
OUTLIER_RATIO = 1e6
"""Median distances between a row and the others from which a note says so."""


def _cast(X: Any, centre: Matrix | None = None, dtype: Any = None) -> Any:
    """Return rows in a precision, None for their own."""
    return X if dtype is None or X.dtype == dtype else X.astype(dtype)


def _unit_length(X: Any, centre: Matrix | None = None, dtype: Any = None) -> Any:
    """Return rows scaled to length one; a row of zeros stays so."""
    X = _cast(X, dtype=dtype)
    lengths = np.sqrt(squared_lengths(X))
    scale = (1.0 / np.where(lengths > 0, lengths, 1.0))[:, None]
    rows = sp.csr_array(X.multiply(scale)) if sp.issparse(X) else X * scale
    return rows.astype(X.dtype, copy=False)


def _rbf(squared: Matrix, gamma: float) -> tuple[Any, Matrix]:
    """Return p and s such that the similarity is p exp(-s)."""
    return 1.0, np.multiply(squared, gamma, out=squared)


def _matern(squared: Matrix, gamma: float, order: float) -> tuple[Any, Matrix]:
    """Return p and s such that the similarity is p exp(-s)."""
    s = np.sqrt(squared, out=squared)
    s *= math.sqrt(2.0 * order) * gamma
    np.minimum(s, np.finfo(s.dtype).max ** 0.25, out=s)  # its square stays finite
    return 1.0 + s if order == 1.5 else 1.0 + s + s * s / 3.0, s


@dataclass(frozen=True, eq=False)
class Similarity:
    """A positive semi-definite similarity of rows; make one with `similarity_of`.

    `between(left(A), right(B))` is the block of similarities (a, b) of rows A (a, d) and B (b, d);
    both sides take the same `centre` (d,), near most rows, and a dtype to compute in. `power` says
    how its distance grows when rows are scaled (2 for squared, 1), 0 where there is no bandwidth;
    `sparse` whether rows may be `scipy.sparse`, `plain` whether it is an inner product of the
    prepared rows.

    >>> rbf = similarity_of("rbf", 0.5)
    >>> X = np.array([[0.0], [2.0]])
    >>> rbf(X, X).round(3).tolist()
    [[1.0, 0.135], [0.135, 1.0]]
    """

    name: str
    gamma: float | None
    between: Callable[[Any, Any], Matrix]
    left: Callable[..., Any] = _cast
    right: Callable[..., Any] = _cast
    power: int = 0
    sparse: bool = False
    plain: bool = False

    def __call__(self, A: Any, B: Any) -> Matrix:
        """Return the similarities (a, b) of rows A (a, d) and B (b, d)."""
        centre = self.centre(B)
        return self.between(self.left(A, centre), self.right(B, centre))

    def centre(self, X: Any) -> Matrix | None:
        """Return what may be subtracted from all rows without changing a similarity, and keeps rounding small."""
        return centre_of(X) if self.sparse and not self.plain else None

    def log(self, A: Any, B: Any) -> Vector:
        """Return the logarithms of similarities (a, b) in float64, exact for rows however far.

        Similarities without a bandwidth, which may be negative, are left as they are.
        """
        if not self.power:
            return np.asarray(self(A, B), np.float64)
        gamma = float(self.gamma or 0.0)
        if self.name in METRICS:
            return -gamma * metric_distances(A, B, self.name)
        squared = np.maximum(distance_blocks(A, B), 0.0)
        front, s = DISTANCES[self.name][0](squared, gamma)
        return np.asarray(np.log(front) - s)

    def itself(self, X: Any, block: int = 256) -> npt.NDArray[np.float64]:
        """Return the similarity of each row to itself, (n,)."""
        if self.power:
            return np.ones(X.shape[0])
        parts = (X[a : a + block] for a in range(0, X.shape[0], block))
        if self.plain:
            return np.concatenate(
                [squared_lengths(self.left(part, dtype=np.float64)) for part in parts]
            )
        return np.concatenate([np.diag(self(part, part)) for part in parts]).astype(np.float64)


DISTANCES: dict[str, tuple[Callable[[Matrix, float], tuple[Any, Matrix]], int, float, float]] = {
    "matern32": (partial(_matern, order=1.5), 1, 3.0, FAR_MATERN),
    "matern52": (partial(_matern, order=2.5), 1, 5.0, FAR_MATERN),
    "rbf": (_rbf, 2, 1.0, FAR_RBF),
}
"""Similarities of squared distances: their formula, their power, how sharp they are at gamma = 1,
and how far they reach."""
METRICS = {"hamming": "hamming", "laplace": "cityblock"}
"""Similarities of distances that SciPy computes."""
PRODUCTS = {"cosine": _unit_length, "linear": _cast}
"""Similarities that are inner products of prepared rows."""
SIMILARITIES = dict.fromkeys(sorted([*DISTANCES, *METRICS, *PRODUCTS]))
BANDED = {*DISTANCES, *METRICS}
"""The similarities that have a bandwidth."""


def similarity_of(name: Any, gamma: float = 1.0) -> Similarity:
    """Return a similarity by name, or from a function of two blocks of rows.

    With r = ‖x - y‖:  rbf exp(-gamma r²);  laplace exp(-gamma ‖x - y‖₁);  matern32 (1 + s) exp(-s),
    s = √3 gamma r; matern52 (1 + s + s²/3) exp(-s), s = √5 gamma r;  hamming exp(-gamma h), h the
    share of columns that differ; cosine and linear have no gamma.  A function f(A, B) must give an
    (a, b) block.

    >>> similarity_of("linear")(np.eye(2), np.ones((1, 2))).tolist()
    [[1.0], [1.0]]
    """
    if callable(name):
        return Similarity(getattr(name, "__name__", "function"), None, _checked(name))
    known(name, SIMILARITIES, "similarity")
    if name in PRODUCTS:
        prepare = PRODUCTS[name]
        return Similarity(name, None, product, prepare, prepare, sparse=True, plain=True)
    gamma = float(gamma)
    if name in METRICS:
        return Similarity(
            name, gamma, lambda A, B: np.exp(-gamma * metric_distances(A, B, name)), power=1
        )
    formula, power, sharpness, beyond = DISTANCES[name]
    sharp = sharpness * (gamma if power == 2 else gamma * gamma)
    left, right = (partial(prepared, sharp=sharp, left=side) for side in (True, False))

    def between(A: Any, B: Any) -> Matrix:
        squared = squared_distances(A, B, sharp, beyond)
        front, s = formula(np.maximum(squared, 0.0, out=squared), gamma)
        block = np.exp(np.negative(s, out=s), out=s)
        return np.asarray(block if name == "rbf" else front * block)

    return Similarity(name, gamma, between, left, right, power, sparse=True)


def metric_distances(A: Any, B: Any, name: str) -> Vector:
    """Return the distances (a, b) of rows that SciPy computes."""
    from scipy.spatial.distance import cdist  # here: few calls need it, and its import takes long

    return np.asarray(cdist(A, B, METRICS[name]))


def _checked(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Matrix]:
    """Return a user's function, with a check that its blocks are finite and have the right shape."""

    def between(A: Any, B: Any) -> Matrix:
        block = np.array(function(A, B), np.float64)  # what it returns may be kept by the function
        if block.shape != (A.shape[0], B.shape[0]):
            raise InvalidInput(
                f"similarity must give a block of shape ({A.shape[0]}, {B.shape[0]}) for blocks of"
                f" so many rows, got {block.shape}"
            )
        if not np.isfinite(block).all():
            raise InvalidInput("similarity must give finite numbers, got NaN or infinity")
        return block

    return between


def from_matrix(gram: Any) -> Similarity:
    """Return the similarities that stand in a matrix (n, n); a "row" is then its own number, (n, 1).

    >>> from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))(np.array([[0]]), np.array([[1]])).tolist()
    [[0.5]]
    """

    def between(A: Any, B: Any) -> Matrix:
        return np.asarray(gram[np.ix_(A[:, 0].astype(np.int64), B[:, 0].astype(np.int64))])

    return Similarity("precomputed", None, between)


def require_semidefinite(gram: Any, what: str) -> None:
    """Refuse a square matrix that is not symmetric, or of which some hundred rows and columns have a negative eigenvalue.

    As much as rounding leaves, 1e-6 of the largest, is tolerated: matrices are often computed in
    float32.
    """
    parts = list(row_slices(gram))
    top = max(float(np.abs(gram[part]).max()) for part in parts)
    skew = max(float(np.abs(gram[part] - gram[:, part].T).max()) for part in parts)
    if skew > 1e-6 * top:
        raise InvalidInput(
            f"{what} must be symmetric, got entries that differ from their mirror by {skew:.3g}"
        )
    some = evenly(len(gram), MOST_DECOMPOSED)
    eigenvalues = np.linalg.eigvalsh(gram[np.ix_(some, some)].astype(np.float64))
    low, high = float(eigenvalues[0]), float(eigenvalues[-1])
    if low < -1e-6 * max(high, -low):
        raise InvalidInput(
            f"{what} must be positive semi-definite, got an eigenvalue of {low:.3g} beside one of"
            f" {high:.3g}; adding {-low:.3g} to the diagonal mends it"
        )


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
    return fit_bandwidth(X, name, gamma, weights)[0] if name in BANDED else None


def fit_bandwidth(X: Any, name: str, gamma: Any, weights: Any = None) -> tuple[float, str]:
    """Return gamma as a number, and what is odd about the rows from which it is taken."""
    if not isinstance(gamma, str):
        return as_number(gamma, "gamma"), ""
    return known(gamma, RULES, "gamma")(X, name, weights)  # type: ignore[no-any-return]


def _median(X: Any, name: str, weights: Any) -> tuple[float, str]:
    """Return one over the median distance above zero (rbf: twice its square), and whether there are outliers."""
    n = X.shape[0]
    some = evenly(n, SAMPLED_ROWS) if n > 2 * SAMPLED_ROWS else np.arange(n)
    distances = pair_distances(X[some], name)
    positive = distances > 0
    values = distances[positive]
    if not values.size:
        return 1.0, "all rows from which gamma is taken are equal, so it is 1"
    if weights is None or weights.min() == weights.max():
        middle = float(np.median(values, overwrite_input=True))
    else:
        mass = weights[some]
        pairs = np.outer(mass, mass)[~np.tri(len(mass), dtype=bool)]
        middle = weighted_median(values, pairs[positive])
    ratio = float(values.max()) / middle
    ratio = math.sqrt(ratio) if name == "rbf" else ratio
    note = f"some rows lie {ratio:.1g} times the median distance apart: outliers?"
    return (0.5 if name == "rbf" else 1.0) / middle, note if ratio >= OUTLIER_RATIO else ""


def pair_distances(rows: Any, name: str) -> Vector:
    """Compute the distances between all pairs of rows, squared for rbf, (n (n - 1) / 2,)."""
    if name in METRICS:
        from scipy.spatial.distance import pdist  # here: few calls need it

        return np.asarray(pdist(rows, METRICS[name]))
    strips = []
    for start in range(0, rows.shape[0], STRIP_ROWS):
        strip = distance_blocks(rows[start : start + STRIP_ROWS], rows[start:])
        strips.append(strip[np.tri(*strip.shape) == 0.0])
    squared = np.maximum(np.concatenate(strips), 0.0)
    return np.asarray(squared if name == "rbf" else np.sqrt(squared))


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


def _scale(X: Any, name: str, weights: Any) -> tuple[float, str]:
    """Return the bandwidth by scikit-learn's rule, from the variance of all entries."""
    if name == "hamming":
        return 1.0, ""
    n, d = X.shape
    share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    mean = sum(float((share[part] @ X[part]).sum()) for part in row_slices(X)) / d
    sparse = sp.issparse(X[:1])
    shift = np.float64(0.0 if sparse else mean)
    squares = (
        float(share[part] @ squared_lengths(X[part] if sparse else X[part] - shift))
        for part in row_slices(X)
    )
    variance = sum(squares) / d - (mean - shift) ** 2
    if variance <= 0:
        return 1.0, "X does not vary, so gamma is 1"
    widths = {"rbf": 1.0 / (d * variance), "laplace": 1.0 / (d * variance**0.5)}
    return float(widths.get(name, (d * variance) ** -0.5)), ""


RULES = {"median": _median, "scale": _scale}
"""Rules for the bandwidth."""
