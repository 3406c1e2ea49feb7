"""What points stand for, and what they miss: assignment, criticisms, and the witness function."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector, as_integer, gathered, known
from ...distances import Matrix, evenly
from ...result import Result
from ...similarity import Similarity, from_matrix
from ...tables.frames import take_rows
from .bandwidth import first_best
from .rows import finite_rows

METHODS = {"residual": "largest residual", "witness": "MMD-critic"}
MAX_TILE = 2**20
"""Similarities of rows to points that are formed at once."""
MAX_WITNESSED = 20_000
"""Rows over which the mean of the witness function is taken, at most; evenly spaced beyond."""
POOL, POOL_PER_CRITICISM = 2000, 50
"""Rows among which criticisms are spread out: so many of the worst, at least, and for each that is asked for."""
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
    return _Seen.of(result, X).assignment()


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
    return _Seen.of(result, X).criticisms(n, method)


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
    return _Seen.of(result, X).witness()


class _Seen:
    """Rows (N, d) and weighted points (k, d) as they are compared."""

    def __init__(self, similarity: Similarity, rows: Any, few: Any, weights: Vector) -> None:
        self.similarity, self.rows, self.few, self.weights = similarity, rows, few, weights

    @classmethod
    def of(cls, result: Result, X: Any) -> "_Seen":
        """From a result of `points`, which knows how rows are compared."""
        if result.compared is None or result.rows is None or result.weights is None:
            raise InvalidInput(
                "a result of points on rows is needed: this one does not tell how rows are compared"
            )
        comparison = result.compared
        rows, few = (
            comparison.rows(part if hasattr(part, "shape") else np.asarray(part), np.float64)
            for part in (gathered(X), result.rows)
        )
        return cls(comparison.similarity, rows, few, result.weights)

    @classmethod
    def of_matrix(cls, result: Result, gram: Any) -> "_Seen":
        """From a result of `points` on precomputed similarities, and these."""
        assert result.weights is not None  # noqa: S101 - rows are entries
        rows = np.arange(gram.shape[0])[:, None]
        return cls(
            from_matrix(finite_rows(gram, sparse=False)[0]),
            rows,
            rows[result.indices],
            result.weights,
        )

    def blocks(self, others: Any, rows: Any = None) -> Iterator[Matrix]:
        """Similarities of rows to others, some rows at a time."""
        rows = self.rows if rows is None else rows
        step = max(1, MAX_TILE // max(others.shape[0], 1))
        for start in range(0, rows.shape[0], step):
            yield np.asarray(self.similarity(rows[start : start + step], others), np.float64)

    def assignment(self) -> Indices:
        """The most similar point of each row, (N,)."""
        return np.concatenate([first_best(block) for block in self.blocks(self.few)]).astype(
            np.int64
        )

    def witness(self) -> Vector:
        """Mean similarity to the rows less that to the weighted points, (N,)."""
        others = self.rows[evenly(self.rows.shape[0], MAX_WITNESSED)]
        mean = np.concatenate([block.mean(axis=1) for block in self.blocks(others)])
        return np.asarray(
            mean - np.concatenate([block @ self.weights for block in self.blocks(self.few)])
        )

    def criticisms(self, n: Any, method: Any) -> Indices:
        """The rows that are represented worst, spread out."""
        known(method, METHODS, "method")
        n = as_integer(n, "n", 1, self.rows.shape[0], "rows")
        own = self.similarity.itself(self.rows)
        if method == "witness":
            scores = np.abs(self.witness())
            pool = worst(scores, n)
            return pool[self._spread(pool, own[pool], np.zeros((len(pool), 0)), n, scores[pool])]
        basis = self._basis()
        left = own - np.concatenate(
            [((block @ basis) ** 2).sum(axis=1) for block in self.blocks(self.few)]
        )
        pool = worst(left, n)
        known_part = np.concatenate(list(self.blocks(self.few, self.rows[pool]))) @ basis
        return pool[self._spread(pool, left[pool], known_part, n, None)]

    def _basis(self) -> Matrix:
        """B (k, r) with K_SS⁻¹ = B Bᵀ, as far as the points are independent."""
        values, vectors = np.linalg.eigh(
            np.asarray(self.similarity(self.few, self.few), np.float64)
        )
        kept = values > DEPENDENT * values[-1]
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    def _spread(
        self, pool: Indices, left: Vector, Q: Matrix, n: int, scores: Vector | None
    ) -> Indices:
        """Greedily the largest residual, or score plus its logarithm; each that is chosen explains a part of the rest.

        left: (pool,) residuals, Q: (pool, r) coordinates of what is explained already.
        """
        rows, chosen = self.rows[pool], np.zeros(0, np.int64)
        open_ = np.ones(len(pool), bool)
        for _ in range(n):
            gains = left if scores is None else scores + np.log(np.maximum(left, 1e-300))
            best = int(np.argmax(np.where(open_, gains, -np.inf)))
            column = (
                np.concatenate([block[:, 0] for block in self.blocks(rows[[best]], rows)])
                - Q @ Q[best]
            )
            column /= np.sqrt(max(float(left[best]), 1e-12))
            Q, left = np.column_stack([Q, column]), left - column**2
            open_[best] = False
            chosen = np.append(chosen, best)
        return chosen


@dataclass(frozen=True, eq=False)
class Source:
    """The rows that points stand for, as the user handed them in: `Result.assignment` and `.criticisms` look there.

    `kept` are those without a missing value where the others were left out, all if None; `weights`
    belong to them.
    """

    X: Any
    kept: Indices | None = None
    weights: Vector | None = None
    precomputed: bool = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def seen(self, result: Result) -> _Seen:
        """These rows beside the points of a result."""
        if self.precomputed:
            return _Seen.of_matrix(result, self.X)
        return _Seen.of(result, self.X if self.kept is None else take_rows(self.X, self.kept))

    def assignment(self, result: Result) -> Indices:
        """The most similar point of each row, (N,), -1 where the row was left out."""
        found = self.seen(result).assignment()
        if self.kept is None:
            return found
        every = np.full(self.size, -1, np.int64)
        every[self.kept] = found
        return every

    def shares(self, result: Result) -> Vector:
        """The share of the rows, by weight, that each point is the most similar one of, (k,)."""
        found = result.assignment if self.kept is None else result.assignment[self.kept]
        counts = np.bincount(found, self.weights, len(result.indices)).astype(np.float64)
        return np.asarray(counts / counts.sum())

    def criticisms(self, result: Result, n: Any, method: Any) -> Indices:
        """The n rows that are represented worst."""
        found = self.seen(result).criticisms(n, method)
        return found if self.kept is None else self.kept[found]


def worst(scores: Vector, n: int) -> Indices:
    """The rows of the highest scores: enough to list n of them spread out."""
    return np.argsort(-scores, kind="stable")[: max(POOL, POOL_PER_CRITICISM * n)]
