"""What a picture of an answer shows, as plain numbers: rows in a plane, two distributions, a line and its target."""

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


@dataclass(frozen=True, eq=False)
class Cloud:
    """Some rows (m, 2) of `total`, and the kept ones (k, 2) with their weights, in one plane with named axes."""

    rows: Matrix
    kept: Matrix
    weights: Vector
    axes: tuple[str, str]
    total: int


@dataclass(frozen=True, eq=False)
class Cumulative:
    """Cumulative shares before and after, at places `x`: a step up at each; `name` is what x is."""

    x: Vector
    before: Vector
    after: Vector
    name: str


@dataclass(frozen=True, eq=False)
class Tracking:
    """A target and what tracks it, at some `rows` of `total`; what groups weigh, turnover and its limit, what binds."""

    rows: Vector
    target: Vector
    tracked: Vector
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
    what: str


@dataclass(frozen=True, eq=False)
class Profile:
    """Shares of bins before and after, at their lower edges `x` and one last upper edge: a step at each."""

    x: Vector
    before: Vector
    after: Vector
    name: str


View = Cloud | Cumulative | Profile | Tracking | Shares


@dataclass(frozen=True, eq=False)
class Plane:
    """A map of rows, given by their numbers, into two dimensions; `drawn` are those behind the kept ones."""

    drawn: Indices
    place: Callable[[Indices], Matrix]
    axes: tuple[str, str]
    total: int
    at: Callable[[Any], Matrix] = lambda rows: np.asarray(rows)
    """The same for rows that are given themselves."""

    def cloud(self, kept: Indices, weights: Vector) -> Cloud:
        """The picture of an answer."""
        return Cloud(self.place(self.drawn), self.place(kept), weights, self.axes, self.total)


def drawn_rows(n: int) -> Indices:
    """All of n rows, or as many as are drawn, at random."""
    if n <= MAX_DRAWN_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_DRAWN_ROWS, replace=False))


def plane_of_rows(Z: Any, names: Sequence[str] = ()) -> Plane:
    """Rows (n, d) on their two principal components; one or two columns are drawn as they are."""
    n, d = Z.shape
    drawn = drawn_rows(n)
    if d == 1:  # one beside the other, and spread evenly across
        across = (str(names[0]) if len(names) == 1 else "value", "")
        spread = np.full(n, 0.5)
        spread[drawn] = (np.arange(len(drawn)) * 0.618034) % 1.0
        return Plane(
            drawn,
            lambda some: np.column_stack([np.asarray(Z[some])[:, 0], spread[some]]),
            across,
            n,
            lambda rows: np.column_stack([rows[:, 0], np.full(len(rows), 0.5)]),
        )
    if d == 2:
        both = (
            (str(names[0]), str(names[1])) if len(names) == 2 else ("first column", "second column")
        )
        return Plane(drawn, lambda some: np.asarray(Z[some], np.float64), both, n)
    some = np.asarray(Z[drawn], np.float64)
    centre = some.mean(axis=0)
    _, lengths, directions = np.linalg.svd(some - centre, full_matrices=False)
    shares = lengths**2 / max(float((lengths**2).sum()), 1e-300)
    axes = component_names(shares)

    def at(rows: Any) -> Matrix:
        return np.asarray((np.asarray(rows) - centre) @ directions[:2].T)

    return Plane(drawn, lambda kept: at(Z[kept]), axes, n, at)


def plane_of_similarities(block: Callable[[Indices, Indices], Matrix], n: int) -> Plane:
    """Rows known by their similarities alone, on the two principal components of these (kernel PCA)."""
    drawn = drawn_rows(n)
    K = block(drawn, drawn)
    means = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - means - means[:, None] + means.mean())
    top = np.argsort(-values)[:2]
    scale = vectors[:, top] / np.sqrt(np.maximum(values[top], 1e-12))
    if len(drawn) == 1:
        scale = np.zeros((1, 2))

    def place(some: Indices) -> Matrix:
        found = block(some, drawn)
        return np.asarray(
            (found - found.mean(axis=1, keepdims=True) - means + means.mean()) @ scale
        )

    axes = component_names(
        np.maximum(values[top], 0.0) / max(float(np.maximum(values, 0.0).sum()), 1e-300)
    )
    return Plane(drawn, place, axes, n)


def component_names(shares: Vector) -> tuple[str, str]:
    """Two principal components with their shares of the variance."""
    first, second = (f"{100 * share:.0f} % of the variance" for share in (*shares, 0.0, 0.0)[:2])
    return f"first principal component ({first})", f"second ({second})"


def cumulative(x: Vector, before: Vector, after: Vector, name: str) -> Cumulative:
    """Two distributions on the same sorted places x, thinned to what can be seen; no step of `after` is left out."""
    places = np.arange(len(x))
    if len(x) > MAX_DRAWN_STEPS:
        levels = np.cumsum(before)
        wanted = np.linspace(0.0, levels[-1], MAX_DRAWN_STEPS // 2)
        even = np.linspace(0, len(x) - 1, MAX_DRAWN_STEPS // 2).astype(np.int64)
        some = np.concatenate(
            [np.minimum(np.searchsorted(levels, wanted), len(x) - 1), even, np.flatnonzero(after)]
        )
        places = np.unique(some)
    return Cumulative(x[places], np.cumsum(before)[places], np.cumsum(after)[places], name)


def profile(edges: Vector, before: Vector, after: Vector, name: str) -> Profile:
    """Two histograms on the same bins; of many, neighbours are drawn as one, with their mean, unless a bar ends."""
    starts = np.arange(len(before))
    if len(before) > MAX_DRAWN_STEPS:
        even = np.linspace(0, len(before) - 1, MAX_DRAWN_STEPS).astype(np.int64)
        starts = np.unique(
            np.concatenate([even, np.flatnonzero(np.append(True, np.diff(after) != 0))])
        )
    lengths = np.diff(np.append(starts, len(before)))
    drawn = [np.add.reduceat(each, starts) / lengths for each in (before, after)]
    last = [np.append(each, each[-1]) for each in drawn]
    return Profile(np.append(edges[starts], edges[-1]), last[0], last[1], name)


def tracking(target: Vector, tracked: Vector) -> Tracking:
    """A target and what tracks it, at every row or at evenly spaced ones."""
    n = len(target)
    rows = (
        np.arange(n)
        if n <= MAX_DRAWN_STEPS
        else np.linspace(0, n - 1, MAX_DRAWN_STEPS).round().astype(np.int64)
    )
    return Tracking(rows.astype(np.float64), target[rows], tracked[rows], n)
