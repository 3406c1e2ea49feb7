"""The public solvers on public and user-defined objectives and constraints, against the referee."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

import fewer
from fewer.similarity import similarity_of

from .draws import Generator, distribution, one_of, scale, table
from .judge import Trial, not_worse
from .referee import (
    Discrepancy,
    Divergence,
    Form,
    Region,
    Segments,
    Squares,
    Transport,
    faces_region,
    similarities,
    sparse_region,
    states_region,
    wide,
)

SOLVERS = ("greedy", "iht", "exchange", "exact", "frank_wolfe")
CLOSED = ("Transport", "Restricted")
"""Objectives of which the referee knows only whole faces; of the second only those of one or two
entries."""


class Pair(NamedTuple):
    """An objective or a constraint beside the referee's own."""

    text: str
    ours: Any
    theirs: Any


def spaces(rng: Generator, name: str) -> tuple[Any, Any]:
    """A small space for an objective, and its states as rows (None for atoms)."""
    if name in CLOSED:  # no face of it has a closed form, so that each takes long
        return fewer.Atoms(4), None
    kind = one_of(rng, ("atoms", "cube", "box", "states"), (4, 2, 1, 1))
    if kind == "atoms":
        return fewer.Atoms(6), None
    if kind == "states":
        rows = np.unique(rng.integers(0, 3, (8, 3)) * (rng.random((8, 3)) < 0.5), axis=0)
        rows = np.vstack([np.zeros((1, 3), int), rows[rows.any(axis=1)]])
        return fewer.States(rows), rows
    shape = (2, 2, 2) if kind == "cube" else (3, 2)
    space = fewer.Lattice(len(shape), shape)
    return space, np.indices(shape).reshape(len(shape), -1).T


def squared_distance(rng: Generator, space: Any) -> Pair:
    """L2 to a distribution or to any table."""
    size = space.size
    q = distribution(rng, size)
    if rng.random() < 0.4:  # any table; above 1e150 it is refused, as its squares are infinite
        q = rng.standard_normal(size) * min(scale(rng), 1e149)
    return Pair(f"L2({q.tolist()})", fewer.L2(space, q), Squares(np.eye(size), q))


def divergence(rng: Generator, space: Any) -> Pair:
    """KL."""
    q = distribution(rng, space.size)
    return Pair(f"KL({q.tolist()})", fewer.KL(space, q), Divergence(q))


def moments(rng: Generator, space: Any) -> Pair:
    """Least squares."""
    kind, A = table(rng, 3, space.size)
    A = A * scale(rng)
    b = A @ rng.dirichlet(np.ones(space.size)) * one_of(rng, (1.0, 1.0, 0.9))
    return Pair(
        f"Moments({kind} {A.tolist()}, {b.tolist()})", fewer.Moments(space, A, b), Squares(A, b)
    )


def discrepancy(rng: Generator, space: Any) -> Pair:
    """MMD with a matrix."""
    kind, X = table(rng, space.size, 2)
    K = (np.array(similarities(X, "rbf", 0.5), np.float64) + offset(rng, 8)) * scale(rng)
    t = distribution(rng, space.size)
    return Pair(
        f"MMD({kind} {K.tolist()}, {t.tolist()})", fewer.MMD(space, K, t), Discrepancy(K, t)
    )


def rows_discrepancy(rng: Generator, space: Any) -> Pair:
    """MMD with rows."""
    kind, X = table(rng, space.size, 2)
    t = distribution(rng, space.size)
    name = one_of(rng, ("rbf", "laplace", "linear"))
    F = fewer.RowsMMD.between(X, t, similarity_of(name, 0.5), space=space)
    return Pair(
        f"RowsMMD({kind} {X.tolist()}, {t.tolist()}, {name})",
        F,
        Discrepancy(similarities(X, name, 0.5), t),
    )


def unit(rng: Generator) -> float:
    """A unit from 1e-12 to 1e12."""
    return float(10.0 ** rng.uniform(-12, 12))


def offset(rng: Generator, most: int) -> float:
    """Zero, or a constant up to 10^most that no optimum depends on."""
    return float(one_of(rng, (0.0, 10.0 ** rng.uniform(-3, most))))


def functional(rng: Generator, space: Any) -> Pair:
    """A user's own smooth F: a weighted squared distance and a constant, in any unit."""
    size, c = space.size, unit(rng)
    q, w, more = (
        distribution(rng, size),
        1.0 + np.arange(size),
        c * one_of(rng, (-1.0, 1.0)) * offset(rng, 2),
    )
    value, gradient = lambda p: c * (((p - q) ** 2) @ w) + more, lambda p: 2 * c * w * (p - q)
    F = fewer.Functional(space, value, gradient, smoothness=2.0 * c * size)
    theirs = Form(c * np.diag(wide(w)), c * wide(w) * q, c * (wide(w) * wide(q) ** 2).sum() + more)
    return Pair(f"Functional({c!r} ({q.tolist()}) + {more!r})", F, theirs)


class Own:
    """A user's own class pᵀSp - 2 mᵀp, often negative, with no more than the protocol asks for."""

    constant = 0.0

    def __init__(self, space: Any, S: Any, m: Any) -> None:
        self.space, self.S, self.m, self.diagonal = space, S, m, np.diag(S)
        self.smoothness = 2.0 * float(np.linalg.norm(S, 2))

    def value(self, p: Any) -> float:
        """F(p)."""
        return float(p @ self.S @ p - 2.0 * self.m @ p)

    def gradient(self, p: Any) -> Any:
        """2 (Sp - m)."""
        return 2.0 * (self.S @ p - self.m)


class OwnQuadratic(Own):
    """A user's own class with all that a quadratic offers."""

    def linear(self, units: Any) -> Any:
        """The entries of m."""
        return self.m[units]

    def cross(self, units: Any, others: Any) -> Any:
        """A block of S."""
        return self.S[np.ix_(units, others)]

    def slopes(self, units: Any, weights: Any) -> Any:
        """Minus half the gradient at these weights."""
        return self.m - self.S[:, units] @ weights

    def value_at(self, units: Any, weights: Any) -> float:
        """F of these weights on these entries."""
        return float(
            weights @ self.S[np.ix_(units, units)] @ weights - 2.0 * self.m[units] @ weights
        )


def own(rng: Generator, space: Any) -> Pair:
    """A user's own class, of any rank, in any unit."""
    A = rng.standard_normal((int(rng.integers(1, space.size + 2)), space.size))
    c, kind = unit(rng), one_of(rng, (Own, OwnQuadratic))
    S, m = c * (A.T @ A), c * rng.standard_normal(space.size)
    return Pair(f"{kind.__name__}({S.tolist()}, {m.tolist()})", kind(space, S, m), Form(S, m))


class Plain:
    """A user's own class whose gradient may be infinite."""

    smoothness = np.inf

    def __init__(self, space: Any, value: Any, gradient: Any) -> None:
        self.space, self.value, self.gradient = space, value, gradient


def restricted(rng: Generator, space: Any) -> Pair:
    """A user's own F that is infinite on some faces, or steep beside them, in any unit and with a constant."""
    n, c = space.size, unit(rng)
    q, more = rng.dirichlet(np.ones(n)), one_of(rng, (-1.0, 1.0)) * offset(rng, 2)
    kind = one_of(rng, ("caps", "halfspace", "hellinger", "entropy"))
    a = (
        np.eye(n)[np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])]
        if kind == "caps"
        else rng.normal(size=(1, n))
    )
    b = (
        rng.uniform(0.2, 0.9, len(a))
        if kind == "caps"
        else a.min(axis=1) + rng.uniform(0.05, 0.8) * np.ptp(a)
    )
    e = 10.0 ** rng.uniform(-5, -1)
    if kind in ("hellinger", "entropy"):
        q = distribution(rng, n)

    def rows(P: Any) -> Any:
        with np.errstate(all="ignore"):
            if kind == "hellinger":
                return c * (((np.sqrt(P) - np.sqrt(q)) ** 2).sum(axis=-1) + more)
            if kind == "entropy":
                return c * (np.where(P > 0, P * np.log(P / q), 0.0).sum(axis=-1) + more)
            left = b - P @ a.T
            inside = (left > 0).all(axis=-1)
            barrier = np.log(np.where(left > 0, left, 1.0)).sum(axis=-1)
            return np.where(inside, c * (((P - q) ** 2).sum(axis=-1) - e * barrier + more), np.inf)

    def gradient(p: Any) -> Any:
        with np.errstate(all="ignore"):
            if kind == "hellinger":
                return c * np.where(q == 0, 1.0, 1.0 - np.sqrt(q / p))
            if kind == "entropy":
                return c * (np.log(p) - np.log(q) + 1.0)
            return c * (2.0 * (p - q) + e * (a.T @ (1.0 / (b - a @ p))))

    F = (
        fewer.Functional(space, rows, gradient)
        if kind in ("caps", "halfspace")
        else Plain(space, rows, gradient)
    )
    text = f"{kind}(q={q.tolist()}, a={a.tolist()}, b={b.tolist()}, {e!r}, unit={c!r}, + {more!r})"
    return Pair(text, F, Segments(n, rows, c * (1.0 + abs(more))))


def mistaken(rng: Generator, space: Any) -> Pair:
    """A user's own F whose gradient belongs to another one, or that is concave: it must be refused."""
    n, c, factor = space.size, unit(rng), one_of(rng, (-1.0, 0.0, 0.5, 2.0, "concave"))
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    sign, slope = (-1.0, -1.0) if factor == "concave" else (1.0, factor)
    F = fewer.Functional(
        space,
        lambda p: sign * c * ((A @ p - b) ** 2).sum(),
        lambda p: 2 * slope * c * A.T @ (A @ p - b),
        smoothness=2 * c * float(np.linalg.norm(A, 2)) ** 2,
    )
    return Pair(f"mistaken gradient ({factor}, {A.tolist()}, {b.tolist()}, unit={c!r})", F, None)


def transport(rng: Generator, space: Any) -> Pair:
    """Wasserstein-1 on the line, as a user would write it."""
    x = np.sort(rng.random(space.size))
    q = distribution(rng, space.size)
    steps = np.diff(x)

    def value(p: Any) -> float:
        return float(np.abs(np.cumsum(p - q)[:-1]) @ steps)

    def gradient(p: Any) -> Any:
        signs = np.sign(np.cumsum(p - q)[:-1]) * steps
        return np.append(np.cumsum(signs[::-1])[::-1], 0.0)

    return Pair(
        f"Wasserstein({x.tolist()}, {q.tolist()})",
        fewer.Functional(space, value, gradient),
        Transport(x, q),
    )


OBJECTIVES: dict[str, Callable[[Generator, Any], Pair]] = {
    "L2": squared_distance,
    "KL": divergence,
    "Moments": moments,
    "MMD": discrepancy,
    "RowsMMD": rows_discrepancy,
    "Functional": functional,
    "Own": own,
    "Restricted": restricted,
    "Mistaken": mistaken,
    "Transport": transport,
}


def constraints(rng: Generator, space: Any, states: Any, closed: bool) -> Pair:
    """A constraint on the space.

    Without bounds where the referee knows only whole faces (`closed`).
    """
    k, n = int(rng.integers(1, 3 if closed else 4)), space.size
    kind = one_of(
        rng,
        ("simplex", "sparse", "bounded", "capped", "faces", "states", "groups"),
        (1, 2, 5, 2, 4, 1, 2),
    )
    if states is None and kind in ("faces", "states"):
        kind = "sparse"
    if kind in ("bounded", "capped") and closed:
        kind = "sparse"
    if kind == "simplex":
        return Pair("Simplex", fewer.Simplex(space), Region(n, (tuple(range(n)),)))
    if kind == "sparse":
        return Pair(f"SparseSimplex({k})", fewer.SparseSimplex(space, k), sparse_region(n, k))
    if kind == "bounded":
        return bounded(rng, space, k)
    if kind == "capped":
        return capped(rng, space, k)
    if kind == "groups":
        return grouped(rng, space, k)
    k = min(k, states.shape[1])
    if kind == "states":
        return Pair(f"SparseStates({k})", fewer.SparseStates(space, k), states_region(states, k))
    projection, incumbent = one_of(rng, ("greedy", "exact")), bool(rng.random() < 0.5)
    ours = fewer.DimensionSparse(space, k, projection, incumbent)
    return Pair(f"DimensionSparse({k}, {projection}, {incumbent})", ours, faces_region(states, k))


def sparse(rng: Generator, space: Any) -> Pair:
    """One or two entries."""
    k = int(rng.integers(1, 3))
    return Pair(f"SparseSimplex({k})", fewer.SparseSimplex(space, k), sparse_region(space.size, k))


def bounded(rng: Generator, space: Any, k: int) -> Pair:
    """A k-sparse simplex with bounds that can be met."""
    from .answers import bounds, region_of

    while True:
        options = bounds(rng, space.size, k)
        region = region_of(space.size, k, options)
        if not region.empty:
            return Pair(
                f"SparseSimplex({k}, {options})", fewer.SparseSimplex(space, k, **options), region
            )


def grouped(rng: Generator, space: Any, k: int) -> Pair:
    """A few groups of entries, whole."""
    codes = np.unique(rng.integers(0, 4, space.size), return_inverse=True)[1]
    k = min(k, int(codes.max()) + 1)
    faces = [
        tuple(np.flatnonzero(np.isin(codes, S)).tolist())
        for S in combinations(range(int(codes.max()) + 1), k)
    ]
    ours = fewer.GroupSparse(space, codes, k)
    return Pair(
        f"GroupSparse({codes.tolist()}, {k})", ours, Region(space.size, tuple(sorted(set(faces))))
    )


class Capped:
    """A user's own constraint: at most k entries, none above a cap.

    What it says of its faces may be a lie.
    """

    def __init__(self, space: Any, k: int, cap: float, says: bool | None) -> None:
        self.space, self.k, self.cap, self.n_units = space, k, cap, space.size
        if says is not None:
            self.whole_faces = says

    def face(self, units: Any) -> Any:
        """The entries themselves."""
        return np.unique(np.asarray(units, np.int64))

    def project(self, v: Any, near: Any = None) -> Any:
        """The k largest entries, on the capped simplex."""
        v = np.asarray(v, np.float64).reshape(-1)
        entries = np.sort(np.argsort(-v, kind="stable")[: self.k])
        low, high = v[entries].min() - 1.0, v[entries].max()
        for _ in range(100):
            middle = (low + high) / 2
            total = np.clip(v[entries] - middle, 0.0, self.cap).sum()
            low, high = (middle, high) if total > 1 else (low, middle)
        p = np.zeros(v.size)
        p[entries] = np.clip(v[entries] - (low + high) / 2, 0.0, self.cap)
        inner = (p > 0.0) & (
            p < self.cap
        )  # a sum that is off by the rounding of large v would be worth more than F's
        p[inner] += (1.0 - p.sum()) / max(inner.sum(), 1)
        return np.clip(p, 0.0, self.cap)

    def contains(self, p: Any, tol: float = 1e-9) -> bool:
        """Whether p is a member."""
        fits = np.count_nonzero(np.abs(p) > tol) <= self.k and p.max() <= self.cap + tol
        return bool(fits and p.min() >= -tol and abs(p.sum() - 1) <= tol)

    def support(self, p: Any) -> Any:
        """The entries with mass."""
        return np.flatnonzero(p)


def capped(rng: Generator, space: Any, k: int) -> Pair:
    """A user's own constraint that says, does not say, or lies about whether its faces are whole."""
    k = max(k, 2)
    says = one_of(rng, (False, None, True))
    region = sparse_region(space.size, k, high=0.6)
    return Pair(f"Capped({k}, 0.6, whole_faces={says})", Capped(space, k, 0.6, says), region)


STEPS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "Constant()": fewer.Constant,
    "Doubling(0.05)": lambda: fewer.Doubling(0.05),
    "Backtracking()": fewer.Backtracking,
    "Momentum()": fewer.Momentum,
    "Refitting()": fewer.Refitting,
}


def pair_trial(rng: Generator) -> Trial:
    """A public solver on an objective and a constraint that fit on one space."""
    name = one_of(rng, list(OBJECTIVES))
    space, states = spaces(rng, name)
    F = OBJECTIVES[name](rng, space)
    C = (
        sparse(rng, space)
        if name == "Restricted"
        else constraints(rng, space, states, name == "Transport")
    )
    solver = one_of(rng, SOLVERS, (2, 4, 2, 2, 2))
    options = solver_options(rng, solver, C, 5 if name in CLOSED else 60)
    by_name = rng.random() < 0.3
    solve = fewer.minimize if by_name else getattr(fewer, solver)
    args = (F.ours, C.ours, solver) if by_name else (F.ours, C.ours)
    text = f"{'minimize ' if by_name else ''}{solver}({F.text}, {C.text}, {options})"
    refuse = "must" if name == "Mistaken" else "never" if fits(solver, F, C, options) else "maybe"
    trial = Trial(
        text, lambda: solve(*args, **options), F.theirs, C.theirs, _arrays(F, options), refuse
    )
    trial.lying = isinstance(C.ours, Capped)
    trial.seeded = "time_limit" not in options
    if "start" in options and refuse != "must":
        trial.checks.append(not_worse(lambda: float(F.ours.value(options["start"])), F.theirs))
    if solver == "exact" and refuse == "never" and trial.seeded:
        trial.checks.append(not_worse(lambda: float(fewer.greedy(F.ours, C.ours).value), F.theirs))
    return trial


def solver_options(rng: Generator, solver: str, C: Pair, most: int) -> dict[str, Any]:
    """Options for a solver."""
    options: dict[str, Any] = {"time_limit": 0.05} if rng.random() < 0.05 else {}
    if solver == "iht":
        step = one_of(rng, list(STEPS))
        options |= {"rng": 0, "max_iter": most, "step": STEPS[step]()}
        if rng.random() < 0.5:
            options["start"] = C.ours.project(rng.dirichlet(np.ones(C.ours.space.size)))
    elif solver in ("exchange", "exact"):
        options["rng"] = 0
    return options


def _arrays(F: Pair, options: dict[str, Any]) -> list[Any]:
    kept = [getattr(F.ours, name, None) for name in ("q", "A", "b", "gram", "target", "rows")]
    return [*kept, options.get("start")]


def fits(solver: str, F: Pair, C: Pair, options: dict[str, Any]) -> bool:
    """Whether the solver says that it takes these partners."""
    whole = (
        hasattr(C.ours, "n_units")
        and not isinstance(C.ours, Capped)
        and C.theirs.low == 0
        and C.theirs.high == 1
    )
    if isinstance(C.ours, fewer.SparseSimplex):
        whole = (
            whole and not C.ours.include.size and not C.ours.exclude.size and C.ours.groups is None
        )
    if solver in ("greedy", "exact"):
        return whole
    if solver == "exchange":
        return isinstance(C.ours, fewer.SparseSimplex) and hasattr(F.ours, "cross")
    smooth = bool(F.ours.smoothness < np.inf)
    if solver == "frank_wolfe":
        return smooth
    step = options.get("step")
    return (smooth or not isinstance(step, (fewer.Constant, fewer.Momentum))) and not isinstance(
        step, fewer.Refitting
    )
