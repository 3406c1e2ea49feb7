"""How alike two rows are: positive semi-definite similarities, asked for in blocks, and their bandwidths.

A similarity prepares rows once (`left`, `right`) and then compares any two blocks of them (`between`).  For the ones
made from inner products the preparation puts the squared lengths beside the row, so that one matrix product gives the
squared distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from .door import InvalidInput, as_number, known

Matrix = npt.NDArray[np.floating[Any]]

SAMPLED = 1000
"""Rows, evenly spaced, from which a bandwidth is taken where there are more than twice as many."""


def squared_lengths(X: Any) -> Matrix:
    """‖x‖² of each row, (n,), in the precision of X."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _beside(X: Any, *columns: Matrix) -> Any:
    """X with further columns on its right."""
    added = np.stack(columns, axis=1).astype(X.dtype, copy=False)
    return sp.hstack([X, sp.csr_array(added)], format="csr") if sp.issparse(X) else np.hstack([X, added])


def _distance_left(X: Any) -> Any:
    lengths = squared_lengths(X)
    return _beside(X * X.dtype.type(-2.0), lengths, np.ones_like(lengths))


def _distance_right(X: Any) -> Any:
    lengths = squared_lengths(X)
    return _beside(X, np.ones_like(lengths), lengths)


def _unit_length(X: Any) -> Any:
    """Rows scaled to length one; a row of zeros stays so."""
    lengths = np.sqrt(squared_lengths(X))
    scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
    return sp.csr_array(X.multiply(scale[:, None])) if sp.issparse(X) else X * scale[:, None].astype(X.dtype)


def _product(left: Any, right: Any) -> Matrix:
    block = left @ right.T
    return np.asarray(block.toarray() if sp.issparse(block) else block)


def _nothing(X: Any) -> Any:
    return X


def distance_blocks(A: Any, B: Any) -> Matrix:
    """‖x - y‖² for rows x of A (a, d) and y of B (b, d), never below zero: (a, b)."""
    squared = _product(_distance_left(A), _distance_right(B))
    return np.maximum(squared, 0.0, out=squared)


def _rbf(squared: Matrix, gamma: float) -> Matrix:
    squared *= -gamma
    np.minimum(squared, 0.0, out=squared)
    return np.exp(squared, out=squared)


def _matern(squared: Matrix, gamma: float, order: float) -> Matrix:
    np.maximum(squared, 0.0, out=squared)
    r = np.sqrt(squared, out=squared)
    r *= np.sqrt(2.0 * order).astype(r.dtype) * r.dtype.type(gamma)
    front = 1.0 + r if order == 1.5 else 1.0 + r + r * r / r.dtype.type(3.0)
    np.negative(r, out=r)
    front *= np.exp(r, out=r)
    return np.asarray(front)


@dataclass(frozen=True, eq=False)
class Similarity:
    """A positive semi-definite similarity of rows; make one with `similarity_of`.

    `between(left(A), right(B))` is the block of similarities (a, b) of rows A (a, d) and B (b, d). `power` says how
    its distance grows when rows are scaled (2 for squared, 1), 0 where there is no bandwidth; `sparse` whether rows may
    be `scipy.sparse`, `plain` whether it is an inner product of the prepared rows.

    >>> rbf = similarity_of("rbf", 0.5)
    >>> X = np.array([[0.0], [2.0]])
    >>> rbf(X, X).round(3).tolist()
    [[1.0, 0.135], [0.135, 1.0]]
    """

    name: str
    gamma: float | None
    between: Callable[[Any, Any], Matrix]
    left: Callable[[Any], Any] = _nothing
    right: Callable[[Any], Any] = _nothing
    power: int = 0
    sparse: bool = False
    plain: bool = False

    def __call__(self, A: Any, B: Any) -> Matrix:
        """The similarities (a, b) of rows A (a, d) and B (b, d)."""
        return self.between(self.left(A), self.right(B))

    def itself(self, X: Any, block: int = 256) -> npt.NDArray[np.float64]:
        """The similarity of each row to itself, (n,)."""
        if self.power:
            return np.ones(X.shape[0])
        if self.plain:
            return np.asarray(squared_lengths(self.left(X)), np.float64)
        parts = [X[a : a + block] for a in range(0, X.shape[0], block)]
        return np.concatenate([np.diag(self(part, part)) for part in parts]).astype(np.float64)


def _by_distance(finish: Callable[[Matrix, float], Matrix], power: int) -> Callable[[str, float], Similarity]:
    def make(name: str, gamma: float) -> Similarity:
        def between(left: Any, right: Any) -> Matrix:
            return finish(_product(left, right), gamma)

        return Similarity(name, gamma, between, _distance_left, _distance_right, power, sparse=True)

    return make


def _by_metric(metric: str, power: int) -> Callable[[str, float], Similarity]:
    def make(name: str, gamma: float) -> Similarity:
        def between(left: Any, right: Any) -> Matrix:
            distances = cdist(left, right, metric)
            distances *= -gamma
            return np.asarray(np.exp(distances, out=distances))

        return Similarity(name, gamma, between, power=power)

    return make


def _by_product(prepare: Callable[[Any], Any]) -> Callable[[str, float], Similarity]:
    def make(name: str, gamma: float) -> Similarity:
        return Similarity(name, None, _product, prepare, prepare, sparse=True, plain=True)

    return make


SIMILARITIES: dict[str, Callable[[str, float], Similarity]] = {
    "cosine": _by_product(_unit_length),
    "hamming": _by_metric("hamming", 1),
    "laplace": _by_metric("cityblock", 1),
    "linear": _by_product(_nothing),
    "matern32": _by_distance(lambda squared, gamma: _matern(squared, gamma, 1.5), 1),
    "matern52": _by_distance(lambda squared, gamma: _matern(squared, gamma, 2.5), 1),
    "rbf": _by_distance(_rbf, 2),
}
BANDED = {name for name, make in SIMILARITIES.items() if make(name, 1.0).power}
"""The similarities that have a bandwidth."""


def similarity_of(name: Any, gamma: float = 1.0) -> Similarity:
    """A similarity by name, or from a function of two blocks of rows.

    With r = ‖x - y‖:  rbf exp(-gamma r²);  laplace exp(-gamma ‖x - y‖₁);  matern32 (1 + s) exp(-s), s = √3 gamma r;
    matern52 (1 + s + s²/3) exp(-s), s = √5 gamma r;  hamming exp(-gamma h), h the share of columns that differ;
    cosine and linear have no gamma.  A function f(A, B) must give an (a, b) block.

    >>> similarity_of("linear")(np.eye(2), np.ones((1, 2))).tolist()
    [[1.0], [1.0]]
    """
    if callable(name):
        return Similarity(getattr(name, "__name__", "function"), None, _checked(name))
    make: Callable[[str, float], Similarity] = known(name, SIMILARITIES, "similarity")
    return make(name, float(gamma))


def _checked(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Matrix]:
    """A user's function whose blocks are finite and have the right shape."""

    def between(A: Any, B: Any) -> Matrix:
        block = np.asarray(function(A, B), np.float64)
        if block.shape != (A.shape[0], B.shape[0]):
            raise InvalidInput(
                f"similarity must give a block of shape ({A.shape[0]}, {B.shape[0]}) for blocks of so many rows, "
                f"got {block.shape}"
            )
        if not np.isfinite(block).all():
            raise InvalidInput("similarity must give finite numbers, got NaN or infinity")
        return block

    return between


def from_matrix(gram: Any) -> Similarity:
    """The similarities that stand in a matrix (n, n); a "row" is then its own number, (n, 1).

    >>> from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))(np.array([[0]]), np.array([[1]])).tolist()
    [[0.5]]
    """

    def between(A: Any, B: Any) -> Matrix:
        return np.asarray(gram[np.ix_(A[:, 0], B[:, 0])])

    return Similarity("precomputed", None, between)


def bandwidth(X: Any, name: str, gamma: Any, weights: Any = None) -> float | None:
    """Gamma as a number; "median" makes the median distance the width, "scale" is that of scikit-learn's SVC.

    "median": 1 / (2 median r²) for rbf, so that it is exp(-r² / 2 sigma²) with the median distance for sigma, and
    1 / median distance for the others. It leaves out zeros and is taken over SAMPLED evenly spaced rows of many.
    "scale": 1 / (d var X) for rbf, its root for matern, 1 / (d std X) for laplace, and 1 for hamming.
    None for similarities without a bandwidth. With `weights` (n,) a row counts as often as its weight says.

    >>> bandwidth(np.array([[0.0], [1.0], [3.0]]), "rbf", "median")
    0.125
    """
    if name not in BANDED:
        return None
    if not isinstance(gamma, str):
        return as_number(gamma, "gamma")
    return float(known(gamma, {"median": _median, "scale": _scale}, "gamma")(X, name, weights))


def pair_distances(rows: Any, name: str) -> npt.NDArray[np.float64]:
    """The distances between all rows in the similarity's own power, (n, n); those of equal rows are zero."""
    if name in ("laplace", "hamming"):
        return np.asarray(cdist(rows, rows, "cityblock" if name == "laplace" else "hamming"))
    wide = rows.astype(np.float64) if sp.issparse(rows) else rows - rows.mean(axis=0, dtype=np.float64)
    squared = distance_blocks(wide, wide)
    squared[squared <= 1e-12 * squared.max()] = 0.0
    return np.asarray(squared if name == "rbf" else np.sqrt(squared))


def _median(X: Any, name: str, weights: Any) -> float:
    n = X.shape[0]
    kept = np.arange(n) if n <= 2 * SAMPLED else np.linspace(0, n - 1, SAMPLED).astype(np.int64)
    upper = np.triu_indices(len(kept), 1)
    found = pair_distances(X[kept], name)[upper]
    positive = found > 0
    if not positive.any():
        return 1.0
    if weights is None or weights.min() == weights.max():
        middle = float(np.median(found[positive]))
    else:
        pairs = np.multiply.outer(weights[kept], weights[kept])[upper]
        middle = weighted_median(found[positive], pairs[positive])
    return 0.5 / middle if name == "rbf" else 1.0 / middle


def weighted_median(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """The median of values (n,) repeated as often as their weights (n,) say.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    1.5
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2.0
    low, high = (int(np.searchsorted(below, half * (1.0 + e))) for e in (-1e-12, 1e-12))
    return float(values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2.0


def _scale(X: Any, name: str, weights: Any) -> float:
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    d = X.shape[1]
    if sp.issparse(X):
        first, second = ((share @ X.power(power)).sum() / d for power in (1, 2))
        variance = float(second - first * first)
    else:
        mean = float((share @ X).mean())
        variance = float(share @ squared_lengths(X - np.float64(mean))) / d
    if variance <= 0 or name == "hamming":
        return 1.0
    widths = {"rbf": 1.0 / (d * variance), "laplace": 1.0 / (d * variance**0.5)}
    return float(widths.get(name, (d * variance) ** -0.5))
