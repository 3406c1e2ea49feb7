"""The numbers of pictures of answers: rows in a plane, two distributions, a target and its track."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector

Matrix = npt.NDArray[np.float64]
MAX_DRAWN_ROWS = 1500
"""Rows drawn behind the kept ones, at most."""
MAX_DRAWN_STEPS = 600
"""Places at which a long curve is drawn, at most."""
GOLDEN = 0.618034
"""Multiples of it, modulo one, are spread evenly."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Some rows (m, 2) of `total`, and kept points (k, 2) with weights, in a plane of named axes."""

    rows: Matrix
    kept: Matrix
    weights: Vector
    axes: tuple[str, str]
    total: int


@dataclass(frozen=True, eq=False)
class Steps:
    """Two distributions as steps that begin at places `x`: cumulative shares, or shares of bins."""

    x: Vector
    before: Vector
    after: Vector
    name: str
    cumulative: bool


@dataclass(frozen=True, eq=False)
class Tracking:
    """A target and its track at some `rows` of `total`, and what limits say of the weights."""

    rows: Vector
    target: Vector
    track: Vector
    total: int
    groups: Sequence[tuple[str, float]] = ()
    turnover: tuple[float, float] | None = None
    binding: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Shares:
    """The share that is covered in all, and named parts with theirs."""

    covered: float
    names: Sequence[Any]
    shares: Sequence[float]
    caption: str


View = Cloud | Steps | Tracking | Shares


@dataclass(frozen=True, eq=False)
class Plane:
    """A map of rows into two dimensions; `drawn` are the numbers of rows behind the kept ones."""

    drawn: Indices
    place: Callable[[Any], Matrix]
    axes: tuple[str, str]
    total: int

    def cloud(self, behind: Any, kept: Any, weights: Vector) -> Cloud:
        """Return the picture of kept rows over others, both in the form that `place` takes."""
        return Cloud(self.place(behind), self.place(kept), weights, self.axes, self.total)


def drawn_rows(n: int) -> Indices:
    """Return all of n rows, or as many as are drawn, at random."""
    if n <= MAX_DRAWN_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_DRAWN_ROWS, replace=False))


def plane_of_rows(Z: Any, names: Sequence[str] = ()) -> Plane:
    """Map rows (n, d) to their two principal components; one or two columns are drawn as they are."""
    n, d = Z.shape
    drawn = drawn_rows(n)
    if d == 1:
        return Plane(drawn, spread_across, (names[0] if names else "value", ""), n)
    if d == 2:
        first, second = names if len(names) == 2 else ("first column", "second column")
        return Plane(drawn, lambda rows: np.asarray(rows, np.float64), (first, second), n)
    some = np.asarray(Z[drawn], np.float64)
    centre = some.mean(axis=0)
    _, lengths, directions = np.linalg.svd(some - centre, full_matrices=False)
    axes = component_names(lengths**2, float((lengths**2).sum()))
    return Plane(drawn, lambda rows: in_plane((rows - centre) @ directions.T), axes, n)


def spread_across(rows: Any) -> Matrix:
    """Return numbers (m, 1) with a height for each, spread evenly so that few hide others."""
    values = np.asarray(rows, np.float64)[:, 0]
    return np.column_stack([values, np.arange(len(values)) * GOLDEN % 1.0])


def plane_of_similarities(block: Callable[[Indices, Indices], Matrix], n: int) -> Plane:
    """Map row numbers to the two principal components of the similarities of these rows."""
    from sklearn.decomposition import KernelPCA  # here: it is slow to import

    drawn = drawn_rows(n)
    K = block(drawn, drawn)
    model = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit(K)
    axes = component_names(model.eigenvalues_, float(np.trace(K) - K.mean() * len(K)))
    return Plane(drawn, lambda rows: in_plane(model.transform(block(rows, drawn))), axes, n)


def in_plane(components: Any) -> Matrix:
    """Return the first two of some components; missing ones are zero."""
    return np.column_stack([components, np.zeros((len(components), 2))])[:, :2]


def component_names(sizes: Vector, total: float) -> tuple[str, str]:
    """Return names of two principal components, with their shares of the variance."""
    shares = np.append(sizes, (0.0, 0.0))[:2] / max(total, 1e-300)
    first, second = (f"{100 * share:.0f} % of the variance" for share in shares)
    return f"first principal component ({first})", f"second ({second})"


def cumulative_steps(x: Vector, before: Vector, after: Vector, name: str) -> Steps:
    """Return two distributions on sorted places, thinned to what is seen without a step of `after` lost."""
    places = np.arange(len(x))
    P, Q = np.cumsum(before), np.cumsum(after)
    if len(x) > MAX_DRAWN_STEPS:
        levels = np.linspace(0.0, P[-1], MAX_DRAWN_STEPS // 2)
        by_share = np.minimum(np.searchsorted(P, levels), len(x) - 1)
        places = np.unique(np.concatenate([by_share, evenly(len(x), 2), np.flatnonzero(after)]))
    return Steps(x[places], P[places], Q[places], name, cumulative=True)


def bin_steps(edges: Vector, before: Vector, after: Vector, name: str) -> Steps:
    """Return two histograms on the same bins; of many, neighbours within a bar are drawn as one."""
    starts = np.arange(len(before))
    if len(before) > MAX_DRAWN_STEPS:
        ends = np.flatnonzero(np.append(True, np.diff(after) != 0))
        starts = np.union1d(evenly(len(before), 1), ends)
    lengths = np.diff(np.append(starts, len(before)))
    means = [np.add.reduceat(each, starts) / lengths for each in (before, after)]
    first, second = (np.append(each, each[-1]) for each in means)
    return Steps(np.append(edges[starts], edges[-1]), first, second, name, cumulative=False)


def tracking(target: Vector, track: Vector) -> Tracking:
    """Return a target and its track, at every row or at evenly spaced ones."""
    n = len(target)
    rows = np.arange(n) if n <= MAX_DRAWN_STEPS else evenly(n, 1)
    return Tracking(rows.astype(np.float64), target[rows], track[rows], n)


def evenly(n: int, divisor: int) -> Indices:
    """Return evenly spaced places of n, a `divisor`-th of those that are drawn."""
    return np.linspace(0, n - 1, MAX_DRAWN_STEPS // divisor).round().astype(np.int64)
