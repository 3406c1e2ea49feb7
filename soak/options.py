"""Options of the jobs against the referee.

Points with limits and targets, and points that move; bins of values; data in blocks.
"""

from typing import Any

import numpy as np

import fewer

from .draws import Generator, one_of, some
from .judge import Trial, as_reported, claims
from .referee import Discrepancy, Region, Squares, Wide, optimum, similarities, sparse_region, wide

GAMMA = 0.5
POINTS = ("auto", "exact", "exchange", "greedy", "iht")


def spelled(name: str, **options: Any) -> str:
    """A call as a reader would write it."""
    listed = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in options.items()
    }
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in listed.items())})"


def option_trial(rng: Generator) -> Trial:
    """One of the kinds below."""
    trial: Trial = one_of(
        rng, (limited_points, aimed_points, moved_points, values, in_blocks), (4, 2, 1, 2, 2)
    )(rng)
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
    return Trial(
        text,
        call,
        problem,
        allowed,
        [X, options.get("groups")],
        "must" if allowed.empty else "never",
    )


def aimed_points(rng: Generator) -> Trial:
    """Points of one set that stand for another, with weights of its own."""
    N, M = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    k = int(rng.integers(1, min(N, 3) + 1))
    both = distinct_rows(rng, N + M)
    X, other = both[:N].copy(), both[N:].copy()
    w = rng.integers(1, 4, M).astype(float) if rng.random() < 0.5 else None
    mass = np.ones(M) if w is None else w
    problem = Discrepancy(
        similarities(both, "rbf", GAMMA), wide(np.append(np.zeros(N), mass)) / wide(mass).sum()
    )
    region = sparse_region(N + M, k, exclude=range(N, N + M))
    options: dict[str, Any] = {"solver": one_of(rng, POINTS), "target": other, "target_weight": w}
    call = lambda: fewer.points(X, k, gamma=GAMMA, rng=0, **options)

    def judged(result: Any) -> list[str]:
        return against(problem, region, result, np.append(result.p, np.zeros(M)))

    text = spelled("points", X=X, k=k, **options)
    return Trial(text, call, arrays=[X, other, w], checks=[judged])


def against(problem: Any, region: Region, result: Any, p: Any) -> list[str]:
    """Faults of a result whose weights are p in the referee's own numbering."""
    outside = region.trouble(p)
    best, _ = optimum(problem, region)
    return outside or claims(result, problem.value(p), best, problem.scale, problem.positive)


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
        if (np.asarray(result.rows) < box[0] - 1e-9).any() or (
            np.asarray(result.rows) > box[1] + 1e-9
        ).any():
            problems.append(f"rows {result.rows} lie outside {box}")
        if result.weights.min() < 0 or abs(result.weights.sum() - 1) > 1e-9 or n > k:
            problems.append(f"weights {result.weights} are no distribution on {k} points")
        return problems + (
            [f"a bound of {result.bound} is claimed"] if result.bound is not None else []
        )

    return Trial(spelled("points", X=X, k=k, **options), call, arrays=[X], checks=[judged])


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
    X = (
        rng.integers(0, 3, (N, 4)) * (rng.random((N, 4)) < 0.6)
        if job == "dims"
        else rng.standard_normal((N, 4))
    )
    k = int(rng.integers(1, 4))
    y = X @ np.array([0.5, 0.5, 0.0, 0.0]) + 0.1 * rng.standard_normal(N)
    cuts = np.unique(rng.integers(1, N, int(rng.integers(1, 5))))

    def called(cut: Any, memory: str = "1MB") -> Any:
        parts = [slice(a, b) for a, b in zip([0, *cut], [*cut, N], strict=True)]
        if job == "terms":
            return fewer.terms(
                lambda: iter([(X[s], y[s]) for s in parts]), None, k, rng=0, max_memory=memory
            )
        if job == "bins":
            return fewer.bins(lambda: iter([X[s, 0] for s in parts]), k, max_memory=memory, rng=0)
        if job == "dims":
            return fewer.dims(
                lambda: iter([X[s] for s in parts]), k, baseline="zero", rng=0, max_memory=memory
            )
        return fewer.points(
            lambda: iter([X[s] for s in parts]), k, gamma=GAMMA, rng=0, max_memory=memory
        )

    def judged(result: Any) -> list[str]:
        problems = []
        other = called([])
        if result.indices.tolist() != other.indices.tolist() or result.value != other.value:
            problems.append(
                f"one block gives {other.indices}, {other.value!r}, not {result.indices},"
                f" {result.value!r}"
            )
        if job != "points":
            whole = {
                "terms": lambda: fewer.terms(X, y, k, rng=0),
                "bins": lambda: fewer.bins(X[:, 0], k, rng=0),
                "dims": lambda: fewer.dims(X, k, baseline="zero", rng=0),
            }[job]()
            apart = abs(whole.value - result.value) if np.isfinite(whole.value) else 0.0
            if apart > 1e-9 * (1.0 + abs(whole.value)) or np.isfinite(whole.value) != np.isfinite(
                result.value
            ):
                problems.append(
                    f"in memory the value is {whole.value!r}, in blocks {result.value!r}"
                )
        return problems

    text = f"{job} of {N} rows in blocks cut at {cuts.tolist()}, k={k}, {X.tolist()}"
    return Trial(text, lambda: called(cuts.tolist()), checks=[judged], arrays=[X, y])
