"""MMD² as a function of where points are, at their best weights: value and gradient in blocks of rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...active_set import box_weights
from ...distances import Matrix, centre_of, distance_blocks
from ...lazy_rows import some_rows
from ...objectives.pairs import spans, spread
from ...similarity import Similarity
from .sample import Sample

TILE = 2**17
"""Similarities of a tile."""


class Slope(NamedTuple):
    """A similarity s(y, x) as a function of v = -(scale ‖y - x‖)², and h: its gradient in y is -factor h (y - x)."""

    of: Callable[[Any], tuple[Any, Any]]
    scale: Callable[[float], float]
    factor: Callable[[float], float]


def _rbf(v: Any) -> tuple[Any, Any]:
    """exp(v), twice."""
    s = np.exp(v, out=v)
    return s, s


def _matern32(v: Any) -> tuple[Any, Any]:
    """(1 + r) exp(-r) and exp(-r), r = √(-3v)."""
    r = np.sqrt(-3.0 * v)
    fall = np.exp(-r)
    return (1.0 + r) * fall, fall


def _matern52(v: Any) -> tuple[Any, Any]:
    """(1 + r + r²/3) exp(-r) and (1 + r) exp(-r), r = √(-5v)."""
    r = np.sqrt(-5.0 * v)
    fall = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * fall, (1.0 + r) * fall


SLOPES = {
    "matern32": Slope(_matern32, lambda gamma: gamma, lambda gamma: 3.0 * gamma**2),
    "matern52": Slope(_matern52, lambda gamma: gamma, lambda gamma: 5.0 / 3.0 * gamma**2),
    "rbf": Slope(_rbf, math.sqrt, lambda gamma: 2.0 * gamma),
}
"""Similarities whose points can move: the others have kinks, see means only, or compare what has no place."""


class Part(NamedTuple):
    """Points of one class and the rows that they stand for, in the columns that move and in units of the bandwidth.

    `rows` (n, m + 2) are rows z beside ‖z‖² and 1, so that one product with points gives v; `sums`
    (n, m + 1) are t z beside t, the weights, so that another gives all sums. `apart` (points, n) is
    what the columns that stay add to -v; None where there are none. `weights` (n,) are t in
    float64, whatever the precision of the rest.
    """

    points: Indices
    rows: Any
    sums: Any
    apart: Any
    weights: Vector

    @classmethod
    def of(
        cls, points: Indices, z: Matrix, weights: Vector, apart: Matrix | None, dtype: Any
    ) -> "Part":
        """From rows z (n, m)."""
        rows = np.column_stack([z, _lengths(z), np.ones(len(z))]).astype(dtype)
        sums = np.column_stack([weights[:, None] * z, weights]).astype(dtype)
        return cls(
            points,
            rows,
            sums,
            None if apart is None else apart.astype(dtype),
            np.asarray(weights, np.float64),
        )


@dataclass(frozen=True, eq=False)
class Moving:
    """MMD² as a function of where k points are, at their best weights; without the constant, which never changes.

        f(Y) = min_w Σ w_i w_j s(y_i, y_j) - 2 Σ w_i t_n s(y_i, x_n),   low <= w <= high, Σ w = 1

    By the envelope theorem the gradient in Y is that at the best w, held fixed. `apart` (k, k) is
    what the columns that stay add to the points' -v, `same` (k, k) whether they are of one class.
    """

    similarity: Similarity
    parts: tuple[Part, ...]
    apart: Matrix
    same: Matrix
    low: float = 0.0
    high: float = 1.0

    @property
    def _gamma(self) -> float:
        return float(self.similarity.gamma or 0.0)

    @property
    def scale(self) -> float:
        """By what places are multiplied to be in units of the bandwidth."""
        return SLOPES[self.similarity.name].scale(self._gamma)

    def __call__(self, Y: Matrix, start: Vector) -> tuple[float, Vector, Matrix]:
        """The value, the best weights (k,), and the gradient (k, m), at Y (k, m)."""
        K, own, c, pull, push = self._compared(Y)
        w = box_weights(K, c, self.low, self.high, start)
        toward = push / self.scale - pull[:, None] * Y  # Σ_n t_n h(y_i, x_n) (x_n - y_i)
        away = own @ (w[:, None] * Y) - (own @ w)[:, None] * Y
        factor = SLOPES[self.similarity.name].factor(self._gamma)
        return (
            float(w @ K @ w - 2.0 * (c @ w)),
            w,
            np.asarray(2.0 * factor * w[:, None] * (away - toward)),
        )

    def quadratic(self, Y: Matrix) -> tuple[Vector, Vector]:
        """The similarities of points at Y (k, m) to each other, (k, k), and their mean ones to the rows, (k,)."""
        K, _, c, _, _ = self._compared(Y)
        return K, c

    def _compared(self, Y: Matrix) -> tuple[Vector, Vector, Vector, Vector, Matrix]:
        """Similarities and h of the points to each other, and the sums over the rows of each point."""
        slope, Z = SLOPES[self.similarity.name], self.scale * Y
        if self.parts:  # what is compared with rows is what is compared with points, rounded alike
            Z = Z.astype(self.parts[0].rows.dtype).astype(np.float64)
        rate = slope.factor(self._gamma) / (2.0 * self.scale**2)
        K, own = (
            np.asarray(part * self.same, np.float64)
            for part in slope.of(_exponents(Z, _lengths(Z), _beside(Z)) - self.apart)
        )
        np.fill_diagonal(K, 1.0)
        c, pull, push = np.zeros(len(Y)), np.zeros(len(Y)), np.zeros_like(Y)
        for part in self.parts:
            c[part.points], pull[part.points], push[part.points] = _sums(
                part, Z[part.points], slope, rate
            )
        return K, own, c, pull, push


def _lengths(X: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _beside(Z: Matrix) -> Matrix:
    """Rows z beside ‖z‖² and 1."""
    return np.column_stack([Z, _lengths(Z), np.ones(len(Z))])


def _exponents(Z: Matrix, lengths: Vector, rows: Any) -> Any:
    """Minus ‖y - z‖² by one product, never above zero, (k, n)."""
    left = np.column_stack([2.0 * Z, -np.ones(len(Z)), -lengths]).astype(rows.dtype)
    v = left @ rows.T
    return np.minimum(v, 0.0, out=v)


def _sums(part: Part, Z: Matrix, slope: Slope, rate: float) -> tuple[Vector, Vector, Matrix]:
    """Σ_n t_n s(y, x_n), Σ_n t_n h(y, x_n) and Σ_n t_n h(y, x_n) z_n of each point y, in tiles.

    In float32 the rounding of similarities averages out over the rows; that of ‖y‖² and of long
    sums does not. The first sum is taken in float64 and corrected for the rounding of ‖y‖² by the
    derivative ds/dv = rate h: its error is then some 1e-9, where it would be 5e-8, at which descent
    ends early.
    """
    lengths = _lengths(Z)
    rounding = lengths.astype(part.rows.dtype).astype(np.float64) - lengths

    def work(span: slice) -> tuple[Any, Any]:
        v = _exponents(Z, lengths, part.rows[span])
        if part.apart is not None:
            v -= part.apart[:, span]
        s, h = slope.of(v)
        return s.astype(np.float64) @ part.weights[span], h @ part.sums[span]

    done = spread(work, spans(len(part.rows), max(1, TILE // max(len(Z), 1))))
    own, both = (
        np.sum([np.asarray(sums, np.float64) for sums in each], axis=0)
        for each in zip(*done, strict=True)
    )
    pull = both[:, -1]
    return own + rate * rounding * pull, pull, both[:, :-1]


def dense(rows: Any) -> Matrix:  # noqa: D103
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)


def moving_of(
    data: Sample,
    rows: Matrix,
    labels: Indices | None,
    similarity: Similarity,
    moving: Indices,
    bounds: Any,
    dtype: Any,
) -> tuple[Moving, Vector]:
    """The problem of moving points that begin at `rows` (k, d), and what was subtracted from all of them, (m,)."""
    mass = data.weights / data.weights.sum()
    staying = np.setdiff1d(np.arange(rows.shape[1]), moving)
    centre = np.asarray(centre_of(rows[:, moving]), np.float64)
    codes = np.zeros(len(rows), np.int64) if labels is None else labels
    scale = SLOPES[similarity.name].scale(float(similarity.gamma or 0.0))
    parts = []
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        theirs = (
            np.arange(len(mass)) if data.labels is None else np.flatnonzero(data.labels == code)
        )
        if not len(theirs):
            continue
        X = some_rows(data.rows, theirs)[:]
        apart = None
        if staying.size:
            few = rows[np.ix_(mine, staying)]
            others = X[:, staying].astype(np.float64)
            apart = scale**2 * np.asarray(
                distance_blocks(sp.csr_array(few) if sp.issparse(X) else few, others)
            )
        parts.append(
            Part.of(mine, scale * (dense(X[:, moving]) - centre), mass[theirs], apart, dtype)
        )
    own = rows[:, staying]
    apart = scale**2 * np.asarray(
        distance_blocks(own, own) if staying.size else np.zeros((len(rows), len(rows)))
    )
    same = (codes[:, None] == codes[None]).astype(np.float64)
    return Moving(similarity, tuple(parts), apart, same, *bounds), centre
