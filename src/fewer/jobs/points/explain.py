"""What points stand for, and what they miss: assignment, criticisms, and the witness function."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._validation import Indices, InvalidInput, Vector, as_integer, gathered, known
from ...distances import Matrix, evenly
from ...result import Result
from ...similarity import Similarity
from ...tables.frames import height, take_rows
from .comparison import Comparison, first_best

METHODS = ("residual", "witness")
MAX_TILE = 2**20
"""Similarities of rows to points that are formed at once."""
MAX_WITNESSED = 20_000
"""Rows over which the mean of the witness function is taken, at most; evenly spaced beyond."""
POOL, POOL_PER_CRITICISM = 2000, 50
"""Rows among which criticisms are spread out: so many of the worst, at least, and for each that is
asked for."""
DEPENDENT = 1e-9
"""Eigenvalues of the points' similarities below this share of the largest count as zero."""


def assign(result: Result, X: Any) -> Indices:
    """Which point each row of X is most similar to.

        argmax_i s(x, y_i)

    Labels are ignored. `np.bincount(assign(result, X)) / len(X)` is the share of rows that each
    point has.

    Parameters
    ----------
    result : Result
        The result of `points` for rows with the columns of X.
    X : array, sparse matrix or table
        The rows, with the same columns.

    Returns
    -------
    ndarray of int of shape (N,)
        Positions in `result.indices` and `result.rows`; of equally similar points the first.

    Examples
    --------
    >>> from fewer import points
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> assign(points(X, 2, rng=0), X).tolist()
    [0, 0, 1, 1, 1]
    """
    return ComparedPoints.of(result, X).assignment()


def criticisms(result: Result, X: Any, n: int, method: str = "residual") -> Indices:
    """The n rows of X that the points represent worst, the worst first.

        s(x, x) - k_S(x)ᵀ K_SS⁻¹ k_S(x)

    is what the similarities to the points S leave of a row ("residual"). They are spread out: each
    row that is listed counts as a point for the next. "witness" is the list of MMD-critic: greedily
    `Σ |witness| + log det K` of those.

    Parameters
    ----------
    result : Result
        The result of `points` for rows with the columns of X.
    X : array, sparse matrix or table
        The rows, with the same columns.
    n : int
        How many rows are listed.
    method : {"residual", "witness"}
        By what they are chosen.

    Returns
    -------
    ndarray of int of shape (n,)
        Rows of X.

    References
    ----------
    Kim, Khanna and Koyejo (2016), Examples are not enough, learn to criticize!

    Examples
    --------
    >>> from fewer import points
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]]
    >>> criticisms(points(X, 2, gamma=1.0, rng=0), X, 1).tolist()
    [5]
    """
    return ComparedPoints.of(result, X).criticisms(n, method)


def witness(result: Result, X: Any) -> Vector:
    """The witness function at each row of X: above zero where the points are too few, below where they are too many.

        1/N Σ_j s(x, x_j) - Σ_i q_i s(x, y_i)

    Beyond 20,000 rows the mean is taken over as many of them, evenly spaced.

    Parameters
    ----------
    result : Result
        The result of `points` for rows with the columns of X.
    X : array, sparse matrix or table
        The rows, with the same columns.

    Returns
    -------
    ndarray of float of shape (N,)

    Examples
    --------
    >>> from fewer import points
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> bool(abs(witness(points(X, 5, rng=0), X)).max() < 1e-12)
    True
    """
    return ComparedPoints.of(result, X).witness()


class ComparedPoints(NamedTuple):
    """Rows (N, d) and weighted points (k, d) as they are compared."""

    similarity: Similarity
    rows: Any
    few: Any
    weights: Vector

    @classmethod
    def of(cls, result: Result, X: Any, comparison: Comparison | None = None) -> "ComparedPoints":
        """Compare rows with the points of a result; of a matrix of similarities these are numbers of rows."""
        comparison, few = comparison or result.compared, result.rows
        if comparison is None:
            raise InvalidInput(
                "a result of points on rows is needed: this one does not tell how rows are compared"
            )
        if few is None:
            few = result.indices[:, None]
        X = gathered(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        rows, few = (comparison.rows(part, np.float64) for part in (X, few))
        return cls(comparison.similarity, rows, few, np.asarray(result.weights))

    def blocks(self, rows: Any, others: Any) -> Iterator[Matrix]:
        """Compute similarities of rows to others, some rows at a time."""
        step = max(1, MAX_TILE // max(others.shape[0], 1))
        for start in range(0, rows.shape[0], step):
            yield np.asarray(self.similarity(rows[start : start + step], others), np.float64)

    def assignment(self) -> Indices:
        """Find the most similar point of each row, (N,)."""
        return np.concatenate([first_best(block) for block in self.blocks(self.rows, self.few)])

    def witness(self) -> Vector:
        """Compute the mean similarity to the rows less that to the weighted points, (N,)."""
        rows = self.rows
        others = rows[evenly(rows.shape[0], MAX_WITNESSED)]
        mean = [block.mean(axis=1) for block in self.blocks(rows, others)]
        points = [block @ self.weights for block in self.blocks(rows, self.few)]
        return np.asarray(np.concatenate(mean) - np.concatenate(points))

    def criticisms(self, n: Any, method: Any) -> Indices:
        """List the rows that are represented worst, spread out.

        Greedily the largest residual, or witness plus the logarithm of the residual; each row that
        is listed explains a part of the rest.
        """
        known(method, dict.fromkeys(METHODS), "method")
        n = as_integer(n, "n", 1, self.rows.shape[0], "rows")
        left, by_witness = self.similarity.itself(self.rows), method == "witness"
        explained = np.zeros((len(left), 0))
        if not by_witness:  # K_SS⁻¹ = B Bᵀ, as far as the points are independent
            own = np.asarray(self.similarity(self.few, self.few), np.float64)
            values, vectors = np.linalg.eigh(own)
            kept = values > DEPENDENT * values[-1]
            B = vectors[:, kept] / np.sqrt(values[kept])
            explained = np.concatenate([block @ B for block in self.blocks(self.rows, self.few)])
            left = left - np.square(explained).sum(axis=1)
        scores = np.abs(self.witness()) if by_witness else left
        pool = np.argsort(-scores, kind="stable")[: max(POOL, POOL_PER_CRITICISM * n)]
        rows, left, explained, scores = self.rows[pool], left[pool], explained[pool], scores[pool]
        listed: list[int] = []
        for _ in range(n):
            gains = scores + np.log(np.maximum(left, 1e-300)) if by_witness else left.copy()
            gains[listed] = -np.inf
            best = int(np.argmax(gains))
            column = np.concatenate([block[:, 0] for block in self.blocks(rows, rows[[best]])])
            column = (column - explained @ explained[best]) / np.sqrt(max(float(left[best]), 1e-12))
            explained, left = np.column_stack([explained, column]), left - column**2
            listed.append(best)
        return pool[listed]


@dataclass(frozen=True, eq=False)
class Source:
    """The rows that points stand for, as the user handed them in: `Result.assignment` and `.criticisms` look there.

    `kept` are those without a missing value, `weights` belong to them. X is a matrix of
    similarities where results have no rows.
    """

    X: Any
    kept: Indices
    weights: Vector
    comparison: Comparison

    def compared(self, result: Result) -> ComparedPoints:
        """Compare these rows with the points of a result."""
        X = self.X
        if result.rows is None:
            X = self.kept[:, None]
        elif len(self.kept) < height(X):
            X = take_rows(X, self.kept)
        return ComparedPoints.of(result, X, self.comparison)

    def assignment(self, result: Result) -> Indices:
        """Find the most similar point of each row, (N,), -1 where the row was left out."""
        every = np.full(height(self.X), -1, np.int64)
        every[self.kept] = self.compared(result).assignment()
        return every

    def shares(self, result: Result) -> Vector:
        """Compute the share of the rows, by weight, that each point is the most similar one of, (k,)."""
        nearest = result.assignment[self.kept]
        counts = np.bincount(nearest, self.weights, len(result.indices)).astype(np.float64)
        return np.asarray(counts / counts.sum())

    def criticisms(self, result: Result, n: Any, method: Any) -> Indices:
        """List the n rows that are represented worst."""
        return self.kept[self.compared(result).criticisms(n, method)]
