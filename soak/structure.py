"""Conditions on weights, losses and groups, drawn at random, and a referee of Clarabel and enumeration."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from .convex import least
from .structure_sets import KINDS, faults

NAME = "structure"
SECONDS = 120.0
LOSSES = ("squared", "absolute", "downside")
SHARES = (*("terms",) * 5, "groups", "groups", "dims", "bars", "points", "projection")
"""How often each kind is drawn."""
SOLVERS = ("exact", "exact", "auto", "exchange", "greedy", "iht")
ROOM = 1e-10
"""By how much each condition is wider for the referee, which looks for points inside of them."""
NEAR = 1e-6
"""How near the referee, an interior-point method, comes to the truth, relative to 1 + |F|."""


@dataclass(frozen=True, eq=False)
class Case:
    """One small problem and everything that was asked."""

    A: Any
    b: Any
    k: int
    groups: Any
    loss: str
    sample_weight: Any = None
    bounds: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    unit: float = 1.0

    @property
    def n(self) -> int:
        """Columns."""
        return int(self.A.shape[1])

    def limits(self) -> dict[str, Any]:
        """Limits as `SparseSimplex` takes them, each row of G and h in a unit of its own."""
        from fewer import Conditions

        more: dict[str, Any] = (
            {"groups": self.groups} if any("group" in name for name in self.bounds) else {}
        )
        if self.conditions:
            units = self.unit ** np.linspace(1, -1, len(self.conditions.get("G", ())))
            in_units = {
                name: (units * self.conditions[name].T).T
                for name in ("G", "h")
                if name in self.conditions
            }
            more["conditions"] = Conditions(**self.conditions | in_units)
        return self.bounds | more

    def supports(self) -> Any:
        """Every support that counts allow."""
        size = int(self.groups.max()) + 1
        fewest = np.broadcast_to(self.bounds.get("min_per_group", 0), size)
        most = np.broadcast_to(self.bounds.get("max_per_group", self.n), size)
        for count in range(1, self.k + 1):
            for S in combinations(range(self.n), count):
                used = np.bincount(self.groups[list(S)], minlength=size)
                kept = set(self.bounds.get("include", [])) <= set(S) and not set(
                    self.bounds.get("exclude", [])
                ) & set(S)
                if kept and (used >= fewest).all() and (used <= most).all():
                    yield list(S)

    def violation(self, p: Any) -> float:
        """How far weights miss any condition on them."""
        positive = p[p > 0]
        missed = [abs(p.sum() - 1), -p.min(), positive.max() - self.bounds["max_weight"]]
        missed.append(self.bounds["min_weight"] - positive.min())
        weight = np.bincount(self.groups, p)
        if "max_group_weight" in self.bounds:
            missed.append(float((weight - self.bounds["max_group_weight"]).max()))
        if "min_group_weight" in self.bounds:
            missed.append(float((self.bounds["min_group_weight"] - weight).max()))
        if "G" in self.conditions:
            missed.append(float((self.conditions["G"] @ p - self.conditions["h"]).max()))
        if "previous" in self.conditions:
            missed.append(
                float(
                    np.abs(p - self.conditions["previous"]).sum() - self.conditions["max_turnover"]
                )
            )
        return max(missed)


def drawn(seed: int, loss: str) -> Case:
    """A small problem; some have no room, or a singular H, and some are impossible."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 8)), int(rng.integers(1, 9))
    k = int(rng.integers(1, min(n, 4) + 1))
    A, b = rng.standard_normal((r, n)), rng.standard_normal(r)
    if rng.random() < 0.3:
        A, b = np.round(2 * A) / 2, np.round(2 * b) / 2
    if rng.random() < 0.2:
        A = A[:, rng.integers(0, n, n)]
    if rng.random() < 0.5:
        b = A @ rng.dirichlet(np.ones(n)) + 0.3 * b
    groups = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
    size, room = int(groups.max()) + 1, lambda: float(rng.choice([0.0, 0.1, 0.3, -0.1]))
    member = rng.permutation(np.append(np.full(k, 1.0 / k), np.zeros(n - k)))
    bounds: dict[str, Any] = {
        "min_weight": float(rng.choice([0, 0, 0.05, 0.15])),
        "max_weight": float(rng.choice([1, 1, 0.7, 0.5, 1.0 / k])),
    }
    options = {
        "max_group_weight": (0.4, np.bincount(groups, member) + abs(room())),
        "min_group_weight": (0.3, rng.uniform(0, 0.4, size)),
        "max_per_group": (0.3, int(rng.integers(1, 3))),
        "min_per_group": (0.3, rng.integers(0, 2, size)),
        "include": (0.3, [int(rng.integers(n))]),
        "exclude": (0.2, [int(rng.integers(n))]),
    }
    bounds.update(
        {name: value for name, (chance, value) in options.items() if rng.random() < chance}
    )
    conditions: dict[str, Any] = {}
    if rng.random() < 0.5:
        G = rng.standard_normal((int(rng.integers(1, 3)), n))
        conditions.update(G=G, h=G @ member + room())
    if rng.random() < 0.4:
        previous = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else rng.permutation(member)
        turnover = np.abs(previous - member).sum() * rng.choice([1.0, 1.2, 0.7])
        conditions.update(previous=previous, max_turnover=float(turnover))
    weights = rng.uniform(0.2, 2, r) if rng.random() < 0.3 else None
    return Case(A, b, k, groups, loss, weights, bounds, conditions, 10.0 ** rng.uniform(-12, 12))


def best_by_enumeration(case: Case) -> float:
    """The least loss over all supports, each by Clarabel; infinite where none is feasible."""
    weights = np.ones(len(case.b)) if case.sample_weight is None else case.sample_weight
    inside = (case.groups[None] == np.arange(case.groups.max() + 1)[:, None]).astype(float)
    G, h = [np.zeros((0, case.n))], [np.zeros(0)]
    for name, sign in (("max_group_weight", 1.0), ("min_group_weight", -1.0)):
        if name in case.bounds:
            G.append(sign * inside)
            h.append(sign * case.bounds[name])
    if "G" in case.conditions:
        G.append(case.conditions["G"])
        h.append(case.conditions["h"])
    rows, ends, best = np.vstack(G), np.concatenate(h) + ROOM, np.inf
    for S in case.supports():
        rules = {"G": rows[:, S], "h": ends}
        if "previous" in case.conditions:
            before = case.conditions["previous"]
            beyond = float(np.delete(before, S).sum())
            rules |= {
                "previous": before[S],
                "beyond": beyond,
                "max_turnover": case.conditions["max_turnover"] + ROOM,
            }
        limits = case.bounds["min_weight"], case.bounds["max_weight"] + ROOM
        if len(S) * limits[0] > 1 or len(S) * limits[1] < 1:
            continue
        best = min(best, least(case.loss, case.A[:, S], case.b, weights, *limits, rules))
    return best


def nearest_groups(v: Any, groups: Any, k: int, most: int | None) -> float:
    """The least squared distance of v to distributions on k groups, `most` entries of each: all choices, by sorting."""
    best = np.inf
    for S in combinations(range(int(groups.max()) + 1), k):
        parts = [np.sort(v[groups == g])[::-1][:most] for g in S]
        inside = np.sort(np.concatenate(parts))[::-1]
        sums = np.cumsum(inside) - 1.0
        count = int(np.flatnonzero(inside - sums / np.arange(1, len(inside) + 1) > 0)[-1]) + 1
        p = np.maximum(inside - sums[count - 1] / count, 0.0)
        best = min(best, float(np.square(p - inside).sum() + v @ v - inside @ inside))
    return best


def projection_case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """The projection onto `GroupSparse` beside all choices."""
    import fewer

    count = int(rng.integers(2, 8))
    groups = rng.permutation(
        np.append(np.arange(count), rng.integers(0, count, int(rng.integers(0, 12))))
    )
    v = rng.normal(size=len(groups)) * rng.choice([0.1, 0.5, 2.0])
    k, most = (
        int(rng.integers(1, count + 1)),
        int(rng.integers(1, 4)) if rng.random() < 0.5 else None,
    )
    C = fewer.GroupSparse(fewer.Atoms(len(groups)), groups, k, max_per_group=most)
    p, best = C.project(v), nearest_groups(v, groups, k, most)
    distance = float(np.square(p - v).sum())
    text = f"projection of {v.tolist()} onto {k} groups of {groups.tolist()}, max_per_group {most}"
    return text, (
        []
        if C.contains(p) and abs(distance - best) <= 1e-9 * (1 + best)
        else [f"{distance!r}, not {best!r}"]
    )


def case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """One problem by one solver: feasible, bound <= optimum <= value, refused where nothing is feasible."""
    kind = SHARES[int(rng.integers(len(SHARES)))]
    return {**KINDS, "terms": terms_case, "projection": projection_case}[kind](rng)


def terms_case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Weights under conditions, or a loss."""
    import fewer

    seed, loss = int(rng.integers(2**31)), LOSSES[int(rng.integers(len(LOSSES)))]
    solver = SOLVERS[int(rng.integers(len(SOLVERS)))]
    asked = drawn(seed, loss)
    text = f"terms by {solver}, drawn({seed}, {loss!r})"
    kinds = {
        "squared": fewer.Moments,
        "absolute": fewer.AbsoluteError,
        "downside": fewer.DownsideError,
    }
    best = best_by_enumeration(asked)
    space = fewer.Atoms(asked.n)
    try:
        C = fewer.SparseSimplex(space, asked.k, **asked.limits())
        F = kinds[loss](space, asked.A, asked.b, asked.sample_weight)
        result = fewer.minimize(F, C, solver, rng=0)
    except fewer.InvalidInput as error:
        return text, [f"it refuses, the optimum is {best}: {error}"] if np.isfinite(best) else []
    return text, judged(asked, result, best, solver)


def judged(asked: Case, result: Any, best: float, solver: str) -> list[str]:
    """Faults of an answer."""
    if not np.isfinite(best):
        return (
            [f"nothing is feasible, and it answers {result.p}"]
            if asked.violation(result.p) > NEAR
            else []
        )
    missed = asked.violation(result.p)
    problems = [f"a condition is missed by {missed:.1e}"] if missed > 1e-7 else []
    return problems + faults(result, best, solver)
