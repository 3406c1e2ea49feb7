"""Groups, units, costs, and bars, drawn at random, and what enumeration says of them."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from .convex import least

Drawn = tuple[str, list[str]]
NEAR = 1e-6
"""How near the referee, an interior-point method, comes to the truth, relative to 1 + |F|."""


def faults(result: Any, best: float, solver: str, tol: float | None = None) -> list[str]:
    """Faults of value, bound and status beside the true optimum."""
    tol = NEAR * (1.0 + abs(best)) if tol is None else tol
    problems = []
    if result.value < best - tol:
        problems.append(f"value {result.value!r} is below the referee's optimum {best!r}")
    if result.bound is not None and result.bound > best + tol:
        problems.append(f"bound {result.bound!r} is above the optimum {best!r}")
    if result.status.name == "OPTIMAL" and result.value > best + tol:
        problems.append(f"OPTIMAL is said at {result.value!r}; the optimum is {best!r}")
    if solver == "exact" and result.status.name != "OPTIMAL":
        problems.append(f"exact ends with {result.status.name}: {result.value!r}, {result.bound!r}")
    return problems


def chosen_from(rng: np.random.Generator, *names: str) -> str:
    """One of some names."""
    return names[int(rng.integers(len(names)))]


def unions(inside: Any, k: int, most: int | None) -> Iterator[list[int]]:
    """The entries of every k groups, at most so many of each; inside: (groups, n)."""
    for S in combinations(range(len(inside)), k):
        parts = [np.flatnonzero(inside[g]) for g in S]
        if most is None:
            yield sorted(set(np.concatenate(parts).tolist()))
            continue
        for picks in product(*(combinations(part, min(most, len(part))) for part in parts)):
            yield sorted({int(i) for pick in picks for i in pick})


def groups_case(rng: np.random.Generator) -> Drawn:
    """`GroupSparse`, disjoint with and without max_per_group, and overlapping, under three losses."""
    import fewer

    count, r = int(rng.integers(2, 6)), int(rng.integers(3, 9))
    n = int(rng.integers(count, 10))
    kind = chosen_from(rng, "whole", "capped", "overlapping")
    inside = np.zeros((count, n), bool)
    inside[np.append(np.arange(count), rng.integers(0, count, n - count)), np.arange(n)] = True
    if kind == "overlapping":
        inside |= rng.random((count, n)) < 0.2
    k, most = int(rng.integers(1, count + 1)), int(rng.integers(1, 3)) if kind == "capped" else None
    loss = chosen_from(rng, "squared", "squared", "downside", "absolute")
    solver = chosen_from(rng, "exact", "exact", "auto", "exchange", "greedy", "iht")
    A = rng.standard_normal((r, n))
    b = A @ rng.dirichlet(np.ones(n)) + 0.3 * rng.standard_normal(r)
    space = fewer.Atoms(n)
    C = fewer.GroupSparse(
        space, inside if kind == "overlapping" else inside.argmax(axis=0), k, max_per_group=most
    )
    kinds = {
        "squared": fewer.Moments,
        "absolute": fewer.AbsoluteError,
        "downside": fewer.DownsideError,
    }
    best = min(least(loss, A[:, S], b, np.ones(r), 0.0, 1.0, {}) for S in unions(inside, k, most))
    result = fewer.minimize(
        kinds[loss](space, A, b),
        C,
        "exchange" if loss == "absolute" and solver == "iht" else solver,
        rng=0,
    )
    used = set(np.flatnonzero(result.p).tolist())
    member = any(used <= set(S) for S in unions(inside, k, most))
    problems = (
        []
        if member and abs(result.p.sum() - 1.0) < 1e-9 and result.p.min() >= 0.0
        else ["it is no member"]
    )
    return f"{kind} groups by {solver}, {loss}", problems + faults(result, best, solver)


def covered(X: Any, weights: Any, columns: Any, objective: str) -> float:
    """The loss of keeping some columns, from its definition."""
    states, inverse = np.unique(X, axis=0, return_inverse=True)
    q = np.bincount(inverse.reshape(-1), weights / weights.sum())
    inside = ~np.delete(states, columns, axis=1).any(axis=1)
    if objective == "kl":
        return -math.log(q[inside].sum()) if q[inside].sum() > 0.0 else math.inf
    size = math.prod(int(X[:, c].max()) + 1 for c in columns)
    return float((q[~inside] ** 2).sum() + (1.0 - q[inside].sum()) ** 2 / size)


def dims_case(rng: np.random.Generator) -> Drawn:
    """`dims` with units, costs, a budget, include and exclude.

    a budget that pays for nothing is refused.
    """
    import fewer

    n = int(rng.integers(3, 8))
    X = rng.integers(0, 3, (30, n)) * (rng.random((30, n)) < 0.35)
    X[0] = 0
    weights = rng.dirichlet(np.ones(30))
    labels = rng.integers(0, max(n - 1, 2), n) if rng.random() < 0.6 else np.arange(n)
    units = np.unique(labels)
    costs = np.round(rng.uniform(0.1, 3.0, n), 1)
    budget = float(rng.uniform(costs.min() + 0.01, costs.sum())) if rng.random() < 0.5 else None
    order = rng.permutation(units)
    held = order[:1] if rng.random() < 0.3 else order[:0]
    never = order[1:2] if rng.random() < 0.3 else order[:0]
    k = int(rng.integers(max(len(held), 1), len(units) + 1))
    objective = chosen_from(rng, "kl", "l2")
    solver = chosen_from(rng, "exact", "auto", "exchange", "greedy", "iht")
    best = math.inf
    for size in range(len(units) + 1):
        for S in combinations(units, size):
            columns = np.flatnonzero(np.isin(labels, S))
            pays = (
                len(S) <= k if budget is None else 0.0 < costs[columns].sum() <= budget * (1 + 1e-9)
            )
            if pays and set(held) <= set(S) and not set(never) & set(S):
                best = min(best, covered(X, weights, columns, objective))
    asked = {"k": k} if budget is None else {"costs": costs, "budget": budget}
    more = {"units": labels} if len(units) < n or rng.random() < 0.3 else {}
    first = {u: int(np.flatnonzero(labels == u)[0]) for u in units}
    text = (
        f"dims by {solver}, {objective}, {sorted(asked)}, {sorted(more)}, include {held}, exclude"
        f" {never}"
    )
    try:
        result = fewer.dims(
            X, **asked, **more, objective=objective, sample_weight=weights, solver=solver, rng=0,
            include=[first[u] for u in held], exclude=[first[u] for u in never],
        )  # fmt: skip
    except fewer.InvalidInput as error:
        return text, [f"it refuses, the optimum is {best}: {error}"] if best < math.inf else []
    kept = result.indices
    problems = (
        [] if set(labels[kept]).isdisjoint(np.delete(labels, kept)) else ["a unit is not whole"]
    )
    if budget is not None and costs[kept].sum() > budget * (1 + 1e-8):
        problems.append(f"it costs {costs[kept].sum()} of {budget}")
    if budget is None and len(set(labels[kept])) > k:
        problems.append("it keeps more than k units")
    if not set(held) <= set(labels[kept]) or set(never) & set(labels[kept]):
        problems.append("include or exclude is missed")
    if not math.isclose(result.value, covered(X, weights, kept, objective), abs_tol=1e-10):
        problems.append(
            f"its value is {result.value!r}, its columns have"
            f" {covered(X, weights, kept, objective)!r}"
        )
    return text, problems + faults(result, best, solver, 1e-9)


def by_bars(x: Any, k: int) -> float:
    """The least squared difference of k bars, by the plain dynamic programme."""
    n, best = len(x), np.append(0.0, np.full(len(x), np.inf))
    for _ in range(k):
        after = best.copy()
        for e in range(1, n + 1):
            after[e] = min(
                [
                    after[e],
                    *(best[s] + float(np.square(x[s:e] - x[s:e].mean()).sum()) for s in range(e)),
                ]
            )
        best = after
    return float(best[n])


def bars_case(rng: np.random.Generator) -> Drawn:
    """`bins(contiguous=True)`: noise, curves, equal neighbours, and curves with noise."""
    import fewer

    n = int(rng.integers(1, 40))
    t, kind = (
        np.linspace(0.0, 1.0, n),
        chosen_from(rng, "noise", "curve", "steps", "ramp", "counts"),
    )
    x = {
        "noise": rng.random(n) + 1e-3,
        "curve": 1.1 + np.sin(rng.uniform(1, 9) * t) + rng.choice([0.0, 0.02]) * rng.random(n),
        "steps": np.repeat(rng.random(n) + 0.1, rng.integers(1, 5, n))[:n],
        "ramp": t + rng.choice([1e-9, 0.3]),
        "counts": rng.integers(0, 4, n) + (np.arange(n) == 0),
    }[kind]
    k = int(rng.integers(1, n + 1))
    solver = chosen_from(rng, "exact", "auto")
    p = x / x.sum()
    result = fewer.bins(counts=x if kind == "counts" else p, k=k, contiguous=True, solver=solver)
    bars = int(np.count_nonzero(np.diff(result.p))) + 1
    problems = [] if bars <= k and abs(result.p.sum() - 1) < 1e-9 else [f"{bars} bars"]
    return f"{k} bars of {n} bins, {kind}, by {solver}", problems + faults(
        result, by_bars(p, k), "exact", 1e-12
    )


def points_case(rng: np.random.Generator) -> Drawn:
    """`points`: whole units of rows, and counts of groups among rows."""
    import fewer

    rows, gamma = int(rng.integers(6, 11)), 0.5
    X = rng.normal(size=(rows, 2)) + rng.integers(0, 3, (rows, 1))
    weights = rng.uniform(0.5, 2.0, rows)
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    solver, whole = chosen_from(rng, "exact", "auto", "exchange", "greedy"), rng.random() < 0.5
    labels = np.append(np.arange(3), rng.integers(0, 3 + 2 * whole, rows - 3))
    labels = np.unique(labels, return_inverse=True)[1]
    asked: dict[str, Any] = {"units": labels} if whole else {}
    size = int(labels.max()) + 1
    U = (
        np.array([(labels == u) * weights / weights[labels == u].sum() for u in range(size)])
        if whole
        else np.eye(rows)
    )
    H, t = U @ K @ U.T, np.linalg.solve(U @ U.T, U @ weights) / weights.sum()
    k = int(rng.integers(1, 4))
    supports = [list(S) for S in combinations(range(len(U)), min(k, len(U)))]
    if not whole:
        most, fewest = int(rng.integers(1, 3)), rng.integers(0, 2, size)
        asked = {"groups": labels, "max_per_group": most, "min_per_group": fewest.tolist()}
        used = {
            tuple(S): np.bincount(labels[S], minlength=size)
            for c in range(1, k + 1)
            for S in map(list, combinations(range(rows), c))
        }
        supports = [list(S) for S, u in used.items() if (u <= most).all() and (u >= fewest).all()]
    root = np.linalg.cholesky(H + 1e-11 * np.eye(len(H))).T
    best = min(
        (least("squared", root[:, S], root @ t, np.ones(len(t)), 0.0, 1.0, {}) for S in supports),
        default=np.inf,
    )
    text = f"points by {solver}, k = {k}, {sorted(asked)}"
    try:
        result = fewer.points(
            X,
            k,
            sample_weight=weights,
            gamma=gamma,
            standardize=False,
            solver=solver,
            rng=0,
            **asked,
        )
    except fewer.InvalidInput as error:
        return text, [f"it refuses, the optimum is {best}: {error}"] if np.isfinite(best) else []
    held = set(labels[result.indices].tolist())
    problems = []
    if whole and (
        len(held) > k
        or set(result.indices.tolist()) != set(np.flatnonzero(np.isin(labels, list(held))).tolist())
    ):
        problems.append("units are not whole, or too many")
    if not np.isfinite(best):
        return text, [*problems, f"no support has these counts, and it answers {result.indices}"]
    return text, problems + faults(result, best, solver)


KINDS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "groups": groups_case,
    "dims": dims_case,
    "bars": bars_case,
    "points": points_case,
}
