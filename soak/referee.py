"""Optima of tiny problems by enumeration, in long double; it shares no code with the package.

Every quadratic here is F(p) = pᵀGp over the simplex (the target is subtracted from each vector
first, which keeps far offsets from cancelling). On a polytope the minimum of a convex quadratic
lies at the stationary point of some face, so all faces are tried: each entry out, at its lower
bound, at its upper bound, or free. Long double has the range for squares of numbers from 1e-200 to
1e200. The value of any member is an upper bound on the optimum, so an error of this referee could
hide a fault of the package, but never accuse it wrongly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

Wide = np.longdouble
ROUND = 1e-12
"""Rounding that is allowed, as a share of a problem's own scale."""
NEAR = 1e-9
"""The tolerance as a share of the value."""


def wide(x: Any) -> Any:
    """An array in long double."""
    return np.asarray(x, Wide)


def shown(x: Any) -> str:
    """A number in long double, for people."""
    return str(np.format_float_scientific(Wide(x), precision=17, trim="-"))


# Problems: F itself, written once more


@dataclass(frozen=True, eq=False)
class Squares:
    """‖A p - b‖²."""

    A: Any
    b: Any
    positive: bool = True

    @property
    def vectors(self) -> Any:
        """The columns seen from the target: A p - b is their mean under p."""
        return wide(self.A) - wide(self.b)[:, None]

    @property
    def gram(self) -> Any:
        """G with F(p) = pᵀGp on the simplex."""
        vectors = self.vectors
        return vectors.T @ vectors

    @property
    def scale(self) -> Any:
        """The largest squared length of a column or of the target."""
        return max((wide(self.A) ** 2).sum(axis=0).max(), (wide(self.b) ** 2).sum())

    def value(self, p: Any) -> Any:
        """F(p)."""
        rest = wide(self.A) @ wide(p) - wide(self.b)
        return rest @ rest


@dataclass(frozen=True, eq=False)
class Discrepancy:
    """(p - t)ᵀ K (p - t)."""

    K: Any
    t: Any
    positive: bool = True

    @property
    def gram(self) -> Any:
        """G with F(p) = pᵀGp on the simplex."""
        shift = np.eye(len(self.t), dtype=Wide) - wide(self.t)[None, :]
        return shift @ wide(self.K) @ shift.T

    @property
    def scale(self) -> Any:
        """The largest squared distance of an entry from the target, and 1 % of the largest similarity to itself."""
        return max(np.abs(np.diag(self.gram)).max(), np.abs(np.diag(wide(self.K))).max() / 100)

    def value(self, p: Any) -> Any:
        """F(p)."""
        away = wide(p) - wide(self.t)
        return away @ (wide(self.K) @ away)


@dataclass(frozen=True, eq=False)
class Form:
    """pᵀSp - 2 mᵀp + constant, which may be negative."""

    S: Any
    m: Any
    constant: float = 0.0
    positive: bool = False

    @property
    def gram(self) -> Any:
        """G with F(p) = pᵀGp + constant on the simplex."""
        m = wide(self.m)
        return wide(self.S) - m[:, None] - m[None, :]

    @property
    def scale(self) -> Any:
        """The size of the largest term."""
        return max(np.abs(wide(self.S)).max(), np.abs(wide(self.m)).max(), abs(Wide(self.constant)))

    def value(self, p: Any) -> Any:
        """F(p)."""
        p = wide(p)
        return p @ wide(self.S) @ p - 2 * (wide(self.m) @ p) + self.constant


@dataclass(frozen=True, eq=False)
class Segments:
    """Any convex F of the rows of a matrix of distributions, infinite outside its domain, on at most two entries."""

    n: int
    rows: Callable[[Any], Any]
    scale: float
    positive: bool = False

    def value(self, p: Any) -> Any:
        """F(p)."""
        return self._values(wide(p)[None])[0]

    def _values(self, P: Any) -> Any:
        found = self.rows(P)
        return np.where(np.isnan(found), Wide(np.inf), found)

    def best(self, support: Sequence[int], low: float, high: float) -> Any:
        """The least value between two corners, on finer and finer grids."""
        if len(support) == 1:
            return np.ones(1, Wide)
        middle, reach = Wide(0.5), Wide(0.5)
        for _ in range(9):
            t = np.clip(middle + reach * np.linspace(-1, 1, 2049, dtype=Wide), 0, 1)
            P = np.zeros((t.size, self.n), Wide)
            P[:, support[0]], P[:, support[1]] = t, 1 - t
            middle, reach = t[self._values(P).argmin()], reach / 500
        return np.array([middle, 1 - middle])


@dataclass(frozen=True, eq=False)
class Divergence:
    """KL(p‖q)."""

    q: Any
    positive: bool = False
    scale: float = 1.0

    def value(self, p: Any) -> Any:
        """F(p); infinite where p has mass and q has none."""
        p, q = wide(p), wide(self.q)
        held = p > 0
        if (q[held] == 0).any():
            return Wide(np.inf)
        return (p[held] * np.log(p[held] / q[held])).sum()

    def best(self, support: Sequence[int], low: float, high: float) -> Any:
        """clip(t q, low, high) with the t that makes it sum to one; None where there is none."""
        q = wide(self.q)[list(support)]
        if (q <= 0).all() or ((q <= 0).any() and low > 0):
            return None
        if (np.where(q > 0, high, low)).sum() < 1:
            return None
        t = _bisect(lambda t: np.clip(t * q, low, high).sum(), Wide(1.0) / q[q > 0].min())
        weights = np.clip(t * q, low, high)
        return weights / weights.sum()


def _bisect(total: Any, high: Any) -> Any:
    """The t in [0, high] at which a growing function reaches one."""
    low = Wide(0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < 1 else (low, middle)
    return high


@dataclass(frozen=True, eq=False)
class Transport:
    """Wasserstein-1 between p and q on the line, entries at x (ascending)."""

    x: Any
    q: Any
    positive: bool = False

    @property
    def scale(self) -> Any:
        """The length of the line."""
        return wide(self.x)[-1] - wide(self.x)[0]

    def value(self, p: Any) -> Any:
        """F(p)."""
        return np.abs(np.cumsum(wide(p) - wide(self.q))[:-1]) @ np.diff(wide(self.x))

    def best(self, support: Sequence[int], low: float, high: float) -> Any:
        """All mass of q at the nearest entry of the support, which no plan can better."""
        x, q = wide(self.x), wide(self.q)
        nearest = np.abs(x[:, None] - x[list(support)][None]).argmin(axis=1)
        return np.array([q[nearest == j].sum() for j in range(len(support))])


Problem = Squares | Discrepancy | Form | Segments | Divergence | Transport


# Regions: what may be held, written once more


@dataclass(frozen=True)
class Region:
    """The union over `supports` (tuples of entries) of the weights in [low, high] on them that sum to one."""

    n: int
    supports: tuple[tuple[int, ...], ...]
    low: float = 0.0
    high: float = 1.0
    include: tuple[int, ...] = ()
    sets: frozenset[frozenset[int]] = field(init=False, repr=False, default=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", frozenset(map(frozenset, self.supports)))

    @property
    def empty(self) -> bool:
        """True where there is no member at all."""
        return not any(
            len(s) * self.low <= 1 + ROUND and len(s) * self.high >= 1 - ROUND
            for s in self.supports
        )

    def trouble(self, p: Any, held: Iterable[int] = ()) -> list[str]:
        """Why p is no member; `held` are entries said to be held, with or without mass."""
        p = np.asarray(p)
        if p.shape != (self.n,) or not np.isfinite(p).all():
            return [f"p must be {self.n} finite numbers, got shape {p.shape}: {p}"]
        found = []
        if p.min() < 0:
            found.append(f"a weight is negative: {p.min()}")
        if abs(wide(p).sum() - 1) > NEAR:
            found.append(f"weights sum to {p.sum()!r}")
        entries = frozenset(np.flatnonzero(p).tolist())
        if not any(entries <= s for s in self.sets):
            found.append(f"entries {sorted(entries)} may not be held together")
        outside = [i for i in entries if p[i] < self.low - NEAR or p[i] > self.high + NEAR]
        if outside:
            found.append(f"weights {p[outside]} are outside [{self.low}, {self.high}]")
        lost = set(self.include) - entries - set(held)
        if lost:
            found.append(f"included entries {sorted(lost)} are not held")
        return found


def sparse_region(
    n: int,
    k: int,
    low: float = 0.0,
    high: float = 1.0,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    groups: Sequence[Any] | None = None,
    per_group: int | None = None,
) -> Region:
    """At most k entries with all bounds: every set that may be held."""
    allowed = [i for i in range(n) if i not in exclude]
    supports = [
        s
        for size in range(1, k + 1)
        for s in combinations(allowed, size)
        if set(include) <= set(s)
        and (groups is None or _most([groups[i] for i in s]) <= (per_group or 0))
    ]
    return Region(n, tuple(supports), low, min(high, 1.0), tuple(include))


def _most(labels: list[Any]) -> int:
    return max(labels.count(label) for label in labels)


def faces_region(states: Any, k: int) -> Region:
    """At most k dimensions: for each set of k, the states that are zero outside it."""
    rows = np.asarray(states)
    faces = []
    for dims in combinations(range(rows.shape[1]), min(k, rows.shape[1])):
        outside = [j for j in range(rows.shape[1]) if j not in dims]
        faces.append(tuple(np.flatnonzero(~(rows[:, outside] != 0).any(axis=1)).tolist()))
    return Region(len(rows), tuple(sorted({f for f in faces if f})))


def states_region(states: Any, k: int) -> Region:
    """States with at most k non-zero entries; one convex face."""
    rows = np.asarray(states)
    return Region(len(rows), (tuple(np.flatnonzero((rows != 0).sum(axis=1) <= k).tolist()),))


# Optima


def optimum(problem: Problem, region: Region) -> tuple[Any, Any]:
    """(value, p) of the best member."""
    best, where = Wide(np.inf), None
    with np.errstate(all="ignore"):
        members = (
            _stationary(problem.gram, region)
            if hasattr(problem, "gram")
            else _closed(problem, region)
        )
        for p in members:
            value = problem.value(p)
            if where is None or value < best:
                best, where = value, p
    return best, where


def _closed(problem: Any, region: Region) -> Iterator[Any]:
    """The best member on each support, by a closed form."""
    for support in region.supports:
        if len(support) * region.low > 1 + ROUND or len(support) * region.high < 1 - ROUND:
            continue
        weights = problem.best(support, region.low, region.high)
        if weights is not None:
            p = np.zeros(region.n, Wide)
            p[list(support)] = weights
            yield p


def _stationary(G: Any, region: Region) -> Iterator[Any]:
    """The stationary point of pᵀGp on each face of each polytope, brought back into it.

    The best of each set.
    """
    low, high = Wide(region.low), Wide(region.high)
    for free, fixed in _patterns(region).items():
        base = np.array(
            [[{"low": low, "high": high, "out": Wide(0)}[s] for s in row] for row in fixed], Wide
        )
        points = _settled(_on_faces(G, list(free), base), list(free), low, high)
        if len(points):
            yield points[np.einsum("bi,ij,bj->b", points, G, points).argmin()]


def _settled(points: Any, free: list[int], low: Any, high: Any) -> Any:
    """Those of the points (b, n) that are members, or are so once free entries are clipped and the sum is mended."""
    points = points[np.isfinite(points).all(axis=1)]
    for _ in range(8 if free else 0):
        points[:, free] = np.clip(points[:, free], low, high)
        points[:, free] += (1 - points.sum(axis=1, keepdims=True)) / len(free)
    inside = (points[:, free] >= low) & (points[:, free] <= high)
    return points[inside.all(axis=1) & (np.abs(points.sum(axis=1) - 1) <= 1e-15)]


def _patterns(region: Region) -> dict[tuple[int, ...], list[tuple[str, ...]]]:
    """For each set of free entries, the bounds at which all others rest."""
    found: dict[tuple[int, ...], set[tuple[str, ...]]] = {}
    rests = ["out" if region.low == 0 else "low", "free"] + (["high"] if region.high < 1 else [])
    for support in region.supports:
        for choice in product(rests, repeat=len(support)):
            where = dict(zip(support, choice, strict=True))
            free = tuple(i for i in support if where[i] == "free")
            fixed = tuple(
                "out" if where.get(i, "out") == "free" else where.get(i, "out")
                for i in range(region.n)
            )
            found.setdefault(free, set()).add(fixed)
    return {free: sorted(fixed) for free, fixed in found.items()}


def _on_faces(G: Any, free: list[int], base: Any) -> Any:
    """Points (b, n): `base` (b, n) with the free entries at the stationary point of pᵀGp where all sum to one."""
    points = base.copy()
    if not free:
        return points
    size = len(free)
    M = np.zeros((size + 1, size + 1), Wide)
    M[:size, :size] = G[np.ix_(free, free)]
    unit = np.abs(M[:size, :size]).max()
    M[:size, :size] /= unit if unit > 0 else 1
    M[:size, size] = M[size, :size] = 1
    right = np.empty((size + 1, len(base)), Wide)
    right[:size] = -(G[free] @ base.T) / (unit if unit > 0 else 1)
    right[size] = 1 - base.sum(axis=1)
    points[:, free] = eliminate(M, right)[:size].T
    return points


def eliminate(M: Any, right: Any) -> Any:
    """The solution of M x = right (m, b) in long double.

    Whatever comes of a singular M is no solution.
    """
    work = np.hstack([M, right]).astype(Wide)
    m = len(M)
    for i in range(m):
        pivot = i + int(np.abs(work[i:, i]).argmax())
        work[[i, pivot]] = work[[pivot, i]]
        work[i] /= work[i, i]
        others = [j for j in range(m) if j != i]
        work[others] -= work[others, i : i + 1] * work[i]
    return work[:, m:]


# Similarities, from differences


def similarities(X: Any, name: str, gamma: float = 1.0) -> Any:
    """The matrix of similarities of rows, as the documentation defines them."""
    rows, gamma = wide(X), Wide(gamma)
    if name == "linear":
        return rows @ rows.T
    if name == "cosine":
        top = np.abs(rows).max(axis=1, keepdims=True)
        unit = rows / np.where(top > 0, top, 1)
        length = np.sqrt((unit * unit).sum(axis=1, keepdims=True))
        unit = unit / np.where(length > 0, length, 1)
        return unit @ unit.T
    differences = rows[:, None] - rows[None]
    if name == "hamming":
        return np.exp(-gamma * (differences != 0).mean(axis=2, dtype=Wide))
    if name == "laplace":
        return np.exp(-gamma * np.abs(differences).sum(axis=2))
    r = np.sqrt((differences * differences).sum(axis=2))
    if name == "rbf":
        return np.exp(-gamma * r * r)
    s = np.sqrt(Wide(3 if name == "matern32" else 5)) * gamma * r
    return (1 + s if name == "matern32" else 1 + s + s * s / 3) * np.exp(-s)
