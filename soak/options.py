"""Options of the jobs against the referee.

Points with limits, targets and units, and points that move; dims with units and costs; bars and values of bins;
data in blocks.
"""

from itertools import combinations, pairwise
from typing import Any

import numpy as np

import fewer

from .cover import Cover
from .draws import Generator, histogram, one_of, some
from .judge import Trial, as_reported, bounded, claims, optimal
from .referee import ROUND, Discrepancy, Region, Squares, Wide, optimum, similarities, sparse_region, wide

GAMMA = 0.5
POINTS = ("auto", "exact", "exchange", "greedy", "iht")
DIMS = ("auto", "exact", "exchange", "greedy", "iht")


def spelled(name: str, **options: Any) -> str:
    """A call as a reader would write it."""
    listed = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in options.items()}
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in listed.items())})"


def option_trial(rng: Generator) -> Trial:
    """One of the kinds below."""
    kinds = (limited_points, aimed_points, whole_units, moved_points, chosen_columns, bars, values, in_blocks)
    trial: Trial = one_of(rng, kinds, (4, 2, 2, 1, 4, 2, 2, 2))(rng)
    return trial


def distinct_rows(rng: Generator, N: int, d: int = 2) -> Any:
    """Rows of eighths, no two equal."""
    flat = rng.choice(81, N, replace=False)
    return np.column_stack([flat // 9, flat % 9, rng.integers(0, 9, N)])[:, :d] / 8.0


def limited_points(rng: Generator) -> Trial:
    """Points with include, exclude, groups, weight bounds and equal weights."""
    N, k = int(rng.integers(4, 8)), int(rng.integers(2, 5))
    X = distinct_rows(rng, N)
    options: dict[str, Any] = {"solver": one_of(rng, POINTS)}
    region = {}
    if rng.random() < 0.4:
        options["include"] = region["include"] = some(rng, N, 2)
    if rng.random() < 0.4:
        options["exclude"] = region["exclude"] = some(rng, N, 2)
    if rng.random() < 0.3:
        options["equal_weights"] = True
        region |= {"low": 1.0 / k, "high": 1.0 / k}
    elif rng.random() < 0.6:
        options["min_weight"] = region["low"] = float(one_of(rng, (0.0, 0.1, 0.3)))
        options["max_weight"] = region["high"] = float(one_of(rng, (1.0, 0.6, 0.4)))
    if rng.random() < 0.4:
        groups = rng.integers(0, 3, N)
        options |= {"groups": groups, "max_per_group": int(rng.integers(1, 3))}
        region |= {"groups": groups.tolist(), "per_group": options["max_per_group"]}
    k = min(k, N)
    allowed = sparse_region(N, k, **region)
    problem = Discrepancy(similarities(X, "rbf", GAMMA), np.full(N, Wide(1) / N))
    call = lambda: fewer.points(X, k, gamma=GAMMA, rng=0, **options)
    text = spelled("points", X=X, k=k, **options)
    return Trial(text, call, problem, allowed, [X, options.get("groups")], "must" if allowed.empty else "never")


def aimed_points(rng: Generator) -> Trial:
    """Points of one set that stand for another, with weights of its own."""
    N, M = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    k = int(rng.integers(1, min(N, 3) + 1))
    both = distinct_rows(rng, N + M)
    X, other = both[:N].copy(), both[N:].copy()
    w = rng.integers(1, 4, M).astype(float) if rng.random() < 0.5 else None
    mass = np.ones(M) if w is None else w
    problem = Discrepancy(similarities(both, "rbf", GAMMA), wide(np.append(np.zeros(N), mass)) / wide(mass).sum())
    region = sparse_region(N + M, k, exclude=range(N, N + M))
    options: dict[str, Any] = {"solver": one_of(rng, POINTS), "target": other, "target_weight": w}
    call = lambda: fewer.points(X, k, gamma=GAMMA, rng=0, **options)

    def judged(result: Any) -> list[str]:
        return against(problem, region, result, np.append(result.p, np.zeros(M)))

    text = spelled("points", X=X, k=k, **options)
    return Trial(text, call, arrays=[X, other, w], checks=[judged])


def against(problem: Any, region: Region, result: Any, p: Any) -> list[str]:
    """What is wrong with a result whose weights are p in the referee's own numbering."""
    outside = region.trouble(p)
    best, _ = optimum(problem, region)
    return outside or claims(result, problem.value(p), best, problem.scale, problem.relative)


def whole_units(rng: Generator) -> Trial:
    """Points that are whole units of rows."""
    N = int(rng.integers(3, 9))
    X, units = distinct_rows(rng, N), rng.integers(0, 4, N)
    names, codes = np.unique(units, return_inverse=True)
    k, m = int(rng.integers(1, len(names) + 1)), len(names)
    inside = (codes[None] == np.arange(m)[:, None]).astype(float)
    share = wide(inside / inside.sum(axis=1, keepdims=True))
    K = share @ similarities(X, "rbf", GAMMA) @ share.T
    problem, region = Discrepancy(K, wide(inside.sum(axis=1)) / N), sparse_region(m, k)
    options: dict[str, Any] = {"units": units, "solver": one_of(rng, POINTS)}
    call = lambda: fewer.points(X, k, gamma=GAMMA, rng=0, **options)

    def judged(result: Any) -> list[str]:
        q = inside @ result.p
        even = np.abs(result.p - (q @ np.asarray(share, float))).max()
        uneven = [f"rows of a unit differ in weight by {even}"] if even > 1e-9 else []
        return uneven + against(problem, region, result, q)

    return Trial(spelled("points", X=X, k=k, **options), call, arrays=[X, units], checks=[judged])


def moved_points(rng: Generator) -> Trial:
    """Points that leave their rows: not worse than rows, valued truly, within bounds."""
    N = int(rng.integers(3, 9))
    X, k = distinct_rows(rng, N), int(rng.integers(1, 4))
    options: dict[str, Any] = {
        "move": one_of(rng, (True, "free", (0.0, 1.0))),
        "solver": one_of(rng, ("auto", "greedy")),
    }
    call = lambda: fewer.points(X, k, gamma=GAMMA, rng=0, **options)

    def judged(result: Any) -> list[str]:
        rows, n = np.vstack([np.asarray(result.rows), X]), len(result.weights)
        target = wide(np.append(np.zeros(n), np.ones(N))) / N
        problem = Discrepancy(similarities(rows, "rbf", GAMMA), target)
        p = np.append(result.weights, np.zeros(N))
        problems = as_reported(result, problem.value(p), Wide(1e-9))
        start = fewer.points(X, k, gamma=GAMMA, rng=0, solver=options["solver"]).value
        if result.value > start * (1 + 1e-6) + 1e-12:
            problems.append(f"value {result.value!r} is above that of rows, {start!r}")
        boxes = {True: (X.min(axis=0), X.max(axis=0)), "free": (-np.inf, np.inf)}
        box = boxes.get(options["move"], options["move"])
        if (np.asarray(result.rows) < box[0] - 1e-9).any() or (np.asarray(result.rows) > box[1] + 1e-9).any():
            problems.append(f"rows {result.rows} lie outside {box}")
        if result.weights.min() < 0 or abs(result.weights.sum() - 1) > 1e-9 or n > k:
            problems.append(f"weights {result.weights} are no distribution on {k} points")
        return problems + ([f"a bound of {result.bound} is claimed"] if result.bound is not None else [])

    return Trial(spelled("points", X=X, k=k, **options), call, arrays=[X], checks=[judged])


def chosen_columns(rng: Generator) -> Trial:
    """Dims with units, costs and a budget, included and excluded columns."""
    N, n = int(one_of(rng, (3, 10))), int(rng.integers(3, 6))
    X = rng.integers(0, int(rng.integers(2, 4)), (N, n)) * (rng.random((N, n)) < rng.uniform(0.2, 0.9))
    objective = one_of(rng, ("kl", "kl", "l2"))
    options: dict[str, Any] = {"objective": objective, "solver": one_of(rng, DIMS), "baseline": "zero"}
    kind = one_of(rng, ("held", "units", "costs"), (2, 2, 2))
    include: list[int] = []
    exclude: list[int] = []
    k: Any = int(rng.integers(1, n + 1))
    units = np.arange(n)
    if kind == "units":
        units = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
        options["units"], k = units, int(rng.integers(1, units.max() + 2))
    if kind == "costs":
        costs = rng.integers(1, 4, n).astype(float)
        options["costs"], k = costs, float(rng.integers(1, 8))
    if kind == "held":
        include, exclude = some(rng, n, 2), some(rng, n, 1)
        exclude = [j for j in exclude if j not in include]
        options |= {"include": include, "exclude": exclude}
        k = max(k, len(include), 1)
    sets = []
    for count in range(n + 1):
        for S in combinations(range(n), count):
            if kind == "costs" and costs[list(S)].sum() > k:
                continue
            whole = set(units[list(S)])
            if kind != "costs" and len(whole) > k:
                continue
            if (
                set(S) == {j for j in range(n) if units[j] in whole}
                and set(include) <= set(S)
                and not set(exclude) & set(S)
            ):
                sets.append(S)
    truth = Cover(X, None, "zero", objective)
    limit = {"budget": k} if kind == "costs" else {"k": k}
    call = lambda: fewer.dims(X, rng=0, **limit, **options)

    def judged(result: Any) -> list[str]:
        dims = result.indices.tolist()
        if not any(set(dims) <= set(S) for S in sets):
            return [f"columns {dims} may not be held together"]
        rounding = Wide(ROUND)
        best = min(truth.face(S) for S in sets)
        here = truth.face(dims)
        if np.isinf(here) and np.isinf(result.value):
            return []
        problems = as_reported(result, truth.face(dims), rounding) if objective == "kl" else []
        return problems + bounded(result, best, rounding) + optimal(result, wide(result.value), best, rounding, False)

    refuse = "maybe" if not any(np.isfinite(truth.face(S)) for S in sets) or kind == "costs" else "never"
    return Trial(spelled("dims", X=X, **limit, **options), call, arrays=[X], checks=[judged], refuse=refuse)


def bars(rng: Generator) -> Trial:
    """Bins with k bars: all ways to cut."""
    n = int(rng.integers(1, 9))
    k = int(rng.integers(1, n + 1))
    kind, p = histogram(rng, n)
    x = wide(p) / wide(p).sum()

    def cost(cuts: Any) -> Any:
        ends = [0, *cuts, n]
        parts = [x[a:b] for a, b in pairwise(ends)]
        return sum((((part - part.mean()) ** 2).sum() for part in parts), Wide(0))

    best = min(cost(cuts) for cuts in combinations(range(1, n), min(k, n) - 1))
    problem = Squares(np.eye(n), x)

    def judged(result: Any) -> list[str]:
        q = np.asarray(result.p)
        if q.size != n or np.count_nonzero(np.diff(q)) > k - 1 or abs(q.sum() - 1) > 1e-9 or q.min() < 0:
            return [f"{q} has not {k} bars"]
        wrong = [] if result.status.name == "OPTIMAL" else [f"it ends with {result.status}"]
        return wrong + claims(result, problem.value(q), best, problem.scale, True)

    call = lambda: fewer.bins(counts=p, k=k, contiguous=True)
    return Trial(f"{spelled('bins', counts=p, k=k)} contiguous {kind}", call, arrays=[p], checks=[judged])


def values(rng: Generator) -> Trial:
    """Bins of values, each distinct one a position."""
    n = int(rng.integers(2, 12))
    x = rng.integers(0, 7, n) / 4.0 * float(one_of(rng, (1.0, 1.0, 1e-3, 1e6)))
    distinct, counts = np.unique(x, return_counts=True)
    k, m = int(rng.integers(1, len(distinct) + 1)), len(distinct)
    A = (
        np.sqrt(wide(np.diff(distinct)))[:, None] * wide(np.tril(np.ones((m, m))))[:-1]
        if m > 1
        else wide(np.zeros((1, 1)))
    )
    t = wide(counts) / n
    options = {"solver": one_of(rng, ("auto", "exact", "exchange", "greedy"))}
    call = lambda: fewer.bins(x, k, rng=0, **options)
    problem, region = Squares(A, A @ t), sparse_region(m, k)

    def judged(result: Any) -> list[str]:
        p = np.zeros(m)
        p[np.searchsorted(distinct, result.labels)] = result.weights
        return against(problem, region, result, p)

    return Trial(spelled("bins", values=x, k=k, **options), call, arrays=[x], checks=[judged])


def in_blocks(rng: Generator) -> Trial:
    """Data in blocks, beyond memory: the same answer whatever the cut, and that of all rows at once where promised."""
    N = int(rng.integers(5, 30))
    job = one_of(rng, ("dims", "terms", "bins", "points"))
    X = rng.integers(0, 3, (N, 4)) * (rng.random((N, 4)) < 0.6) if job == "dims" else rng.standard_normal((N, 4))
    k = int(rng.integers(1, 4))
    y = X @ np.array([0.5, 0.5, 0.0, 0.0]) + 0.1 * rng.standard_normal(N)
    cuts = np.unique(rng.integers(1, N, int(rng.integers(1, 5))))

    def called(cut: Any, memory: str = "1MB") -> Any:
        parts = [slice(a, b) for a, b in zip([0, *cut], [*cut, N], strict=True)]
        if job == "terms":
            return fewer.terms(lambda: iter([(X[s], y[s]) for s in parts]), None, k, rng=0, max_memory=memory)
        if job == "bins":
            return fewer.bins(lambda: iter([X[s, 0] for s in parts]), k, max_memory=memory, rng=0)
        if job == "dims":
            return fewer.dims(lambda: iter([X[s] for s in parts]), k, baseline="zero", rng=0, max_memory=memory)
        return fewer.points(lambda: iter([X[s] for s in parts]), k, gamma=GAMMA, rng=0, max_memory=memory)

    def judged(result: Any) -> list[str]:
        problems = []
        other = called([])
        if result.indices.tolist() != other.indices.tolist() or result.value != other.value:
            problems.append(f"one block gives {other.indices}, {other.value!r}, not {result.indices}, {result.value!r}")
        if job != "points":
            whole = {
                "terms": lambda: fewer.terms(X, y, k, rng=0),
                "bins": lambda: fewer.bins(X[:, 0], k, rng=0),
                "dims": lambda: fewer.dims(X, k, baseline="zero", rng=0),
            }[job]()
            apart = abs(whole.value - result.value) if np.isfinite(whole.value) else 0.0
            if apart > 1e-9 * (1.0 + abs(whole.value)) or np.isfinite(whole.value) != np.isfinite(result.value):
                problems.append(f"in memory the value is {whole.value!r}, in blocks {result.value!r}")
        return problems

    text = f"{job} of {N} rows in blocks cut at {cuts.tolist()}, k={k}, {X.tolist()}"
    return Trial(text, lambda: called(cuts.tolist()), checks=[judged], arrays=[X, y])
