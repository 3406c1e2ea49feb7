"""How alike two rows are: positive semi-definite similarities, asked for in blocks.

A similarity prepares rows once (`left`, `right`) and then compares any two blocks of them
(`between`). Distances come from one matrix product and, where that cancels, from differences: see
`fewer.distances`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import InvalidInput, known
from .bandwidths import METRICS
from .bandwidths import bandwidth as bandwidth
from .distances import (
    Matrix,
    centre_of,
    evenly,
    prepared,
    product,
    squared_distances,
    squared_lengths,
)

FAR_RBF, FAR_MATERN = 45.0, 2500.0
"""Squared distances, in bandwidths, beyond which a similarity is below rounding: exp(-45), 900
exp(-50)."""
MOST_DECOMPOSED = 500
"""Rows of a matrix of similarities whose eigenvalues are looked at, at most."""
FLAT_MATERN = 1e3
"""A distance, in bandwidths, at which a Matern similarity is zero; further ones would give 0 times
infinity."""


def _cast(X: Any, centre: Matrix | None = None, dtype: Any = None) -> Any:
    """Return rows as they are, or in a precision; codes and row numbers keep theirs."""
    return X.astype(dtype) if dtype is not None and X.dtype.kind == "f" and X.dtype != dtype else X


def _unit_length(X: Any, centre: Matrix | None = None, dtype: Any = None) -> Any:
    """Return rows scaled to length one, a row of zeros stays so.

    First by powers of two, so that no square overflows.
    """
    X = _cast(X, dtype=dtype)
    top = abs(X).max(axis=1)
    top = np.asarray(top.toarray() if sp.issparse(X) else top).reshape(-1)
    powers = np.exp2(np.floor(np.log2(np.maximum(top, 4.0 * np.finfo(X.dtype).tiny))))
    X = _divided(X, powers)
    return _divided(X, np.sqrt(squared_lengths(X)))


def _divided(X: Any, lengths: Matrix) -> Any:
    """Return rows divided by lengths (n,) above zero."""
    scale = (1.0 / np.where(lengths > 0, lengths, 1.0)).astype(X.dtype)[:, None]
    return sp.csr_array(X.multiply(scale)) if sp.issparse(X) else X * scale


def _rbf(squared: Matrix, gamma: float) -> Matrix:
    squared *= -gamma
    np.minimum(squared, 0.0, out=squared)
    return np.exp(squared, out=squared)


def _matern(squared: Matrix, gamma: float, order: float) -> Matrix:
    np.maximum(squared, 0.0, out=squared)
    r = np.sqrt(squared, out=squared)
    r *= np.sqrt(2.0 * order).astype(r.dtype) * r.dtype.type(gamma)
    np.minimum(r, FLAT_MATERN, out=r)
    front = 1.0 + r if order == 1.5 else 1.0 + r + r * r / r.dtype.type(3.0)
    np.negative(r, out=r)
    front *= np.exp(r, out=r)
    return np.asarray(front)


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


DISTANCES: dict[str, tuple[Callable[[Matrix, float], Matrix], int, float, float]] = {
    "matern32": (partial(_matern, order=1.5), 1, 3.0, FAR_MATERN),
    "matern52": (partial(_matern, order=2.5), 1, 5.0, FAR_MATERN),
    "rbf": (_rbf, 2, 1.0, FAR_RBF),
}
"""Similarities of squared distances: their formula, their power, how sharp they are at gamma = 1,
and how far they reach."""
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
            name, gamma, partial(_by_metric, metric=METRICS[name], gamma=gamma), power=1
        )
    finish, power, sharpness, beyond = DISTANCES[name]
    sharp = sharpness * (gamma if power == 2 else gamma * gamma)
    left, right = (partial(prepared, sharp=sharp, left=side) for side in (True, False))

    def between(A: Any, B: Any) -> Matrix:
        with np.errstate(over="ignore"):
            return finish(squared_distances(A, B, sharp, beyond), gamma)

    return Similarity(name, gamma, between, left, right, power, sparse=True)


def _by_metric(A: Any, B: Any, metric: str, gamma: float) -> Matrix:
    from scipy.spatial.distance import cdist  # here: few calls need it, and its import takes long

    distances = cdist(A, B, metric)
    with np.errstate(over="ignore"):
        distances *= -gamma
    return np.asarray(np.exp(distances, out=distances))


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


def from_matrix(gram: Any, exponent: int = 0) -> Similarity:
    """Return the similarities that stand in a matrix (n, n), times 2^exponent.

    a "row" is then its own number, (n, 1).

    >>> from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))(np.array([[0]]), np.array([[1]])).tolist()
    [[0.5]]
    """

    def between(A: Any, B: Any) -> Matrix:
        return np.asarray(np.ldexp(gram[np.ix_(A[:, 0], B[:, 0])], exponent))

    return Similarity("precomputed", None, between)


def require_semidefinite(gram: Any, what: str) -> None:
    """Refuse a symmetric matrix that has a negative eigenvalue, or of which some hundred rows and columns have one.

    As much as rounding leaves of zero, 1e-6 of the largest, is tolerated: matrices are often
    computed in float32.
    """
    some = evenly(len(gram), MOST_DECOMPOSED)
    part = gram[np.ix_(some, some)].astype(np.float64)
    top = max(float(np.abs(part).max()), 1e-300)
    part /= top
    eigenvalues = np.linalg.eigvalsh((part + part.T) / 2.0)
    low, high = float(eigenvalues[0]), float(eigenvalues[-1])
    if low < -1e-6 * max(high, -low):
        raise InvalidInput(
            f"{what} must be positive semi-definite, got an eigenvalue of {low * top:.3g} beside"
            f" one of {high * top:.3g}; adding {-low * top:.3g} to the diagonal mends it"
        )
