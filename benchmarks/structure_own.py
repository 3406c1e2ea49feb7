"""Structure of dims, bins and points beside what else proves or computes the same: python benchmarks/structure_own.py.

--part bars: k bars against the plain O(k n²) dynamic program in NumPy. --part budget: dims with costs against HiGHS.
--part units: dims with units against the same on merged columns by HiGHS. --part points: whole units of rows against
random units. Times are of one run, side by side.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from fewer import bins, dims, points
from fewer.datasets import baskets


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def plain_bars(x: Any, k: int) -> float:
    """The v-optimal cost by the textbook dynamic program, one NumPy pass for each end."""
    n = len(x)
    c1, c2 = np.append(0.0, np.cumsum(x)), np.append(0.0, np.cumsum(x**2))
    best, width = np.append(0.0, np.full(n, np.inf)), np.arange(n + 1.0)
    for _ in range(k):
        after = np.full(n + 1, np.inf)
        for e in range(1, n + 1):
            off = c1[e] - c1[:e]
            after[e] = (best[:e] + (c2[e] - c2[:e]) - off * off / (e - width[:e])).min()
        best = after
    return float(best[n])


def bars() -> None:
    """Value and time of k bars."""
    rng = np.random.default_rng(0)
    for some in ([1, 2, 3, 1], [1, 2, 3, 4]):
        bins(counts=some, k=2, contiguous=True)  # compiled
    print("| histogram | bins | k | value / plain program | fewer, s | plain program, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for n, k in ((500, 10), (2000, 20), (5000, 20), (20_000, 50)):
        inputs = {
            "normal": np.histogram(rng.normal(size=10 * n), n)[0],
            "lognormal": np.histogram(rng.lognormal(0, 1, 10 * n), n)[0],
            "noise": rng.integers(0, 1000, n),
            "ramp": np.arange(n) + 1,
            "waves": 10_000 + np.round(9000 * np.sin(12 * np.arange(n) / n)).astype(int),
            "exponential": 1 + np.round(1e6 * np.exp(-5 * np.arange(n) / n)).astype(int),
        }
        for name, counts in inputs.items():
            took, result = timed(lambda c=counts, k=k: bins(counts=c, k=k, contiguous=True))
            if n <= 5000:
                slow, cost = timed(lambda c=counts, k=k: plain_bars(c / c.sum(), k))
                shown = f"{result.value / cost:.9f} | {took:.3f} | {slow:.1f} | {slow / took:.0f}"
            else:
                shown = f"- | {took:.2f} | - | -"
            print(f"| {name} | {n} | {k} | {shown} |")


def by_highs(X: Any, costs: Any, budget: float, seconds: float) -> tuple[float, float]:
    """The most rows covered within a budget by SciPy's MILP, and its bound."""
    supports, inverse = np.unique(X != 0, axis=0, return_inverse=True)
    mass = np.bincount(inverse.reshape(-1)) / len(X)
    n, count = X.shape[1], len(supports)
    rows, columns = np.nonzero(supports)
    entries = np.arange(len(rows))
    ends = np.r_[np.ones(len(rows)), -np.ones(len(rows))]
    rules = sp.csr_array(
        (ends, (np.r_[entries, entries], np.r_[n + rows, columns])), shape=(len(rows), n + count)
    )
    spent = np.r_[costs, np.zeros(count)]
    found = milp(
        np.r_[np.zeros(n), -mass],
        constraints=[LinearConstraint(rules, -np.inf, 0), LinearConstraint(spent, -np.inf, budget)],
        integrality=np.r_[np.ones(n), np.zeros(count)],
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "time_limit": seconds},
    )
    return (math.nan if found.fun is None else -found.fun), -float(found.mip_dual_bound or -1.0)


def budgets() -> None:
    """Dims with costs, and with units, beside HiGHS."""
    print(
        "| problem | rows x columns | covered, fewer | covered, HiGHS (30 s) | proven by | fewer, s | HiGHS, s |"
    )
    print("|---|---|---|---|---|---|---|")
    for N, n, seed in ((2000, 40, 0), (5000, 60, 1)):
        X = baskets(N, n, 4, rng=seed).toarray()
        rng = np.random.default_rng(seed)
        costs = np.round(rng.uniform(0.5, 4.0, n), 1)
        budget = round(0.3 * costs.sum(), 1)
        took, result = timed(lambda X=X, c=costs, b=budget: dims(X, budget=b, costs=c, rng=0))
        slow, (value, bound) = timed(
            lambda X=X, c=costs, b=budget: by_highs(X, c, b * (1 + 1e-9), 30.0)
        )
        report("budget", (N, n), result, value, bound, took, slow)
        units = np.arange(n) // 4
        merged = np.array([X[:, units == u].any(axis=1) for u in range(n // 4)]).T
        took, result = timed(lambda X=X, u=units: dims(X, 5, units=u, rng=0))
        slow, (value, bound) = timed(lambda M=merged: by_highs(M, np.ones(M.shape[1]), 5.0, 30.0))
        report("units of four", (N, n), result, value, bound, took, slow)


def report(
    name: str,
    shape: tuple[int, int],
    result: Any,
    value: float,
    bound: float,
    took: float,
    slow: float,
) -> None:
    """A line of the table."""
    ours = math.exp(-result.value)
    who = [
        one
        for one, proven in (("fewer", result.gap < 1e-9), ("HiGHS", bound - value < 1e-7))
        if proven
    ]
    size = f"{shape[0]} x {shape[1]}"
    print(
        f"| {name} | {size} | {ours:.4f} | {value:.4f} | {' and '.join(who) or '-'} | {took:.2f} | {slow:.1f} |"
    )


def patients() -> None:
    """Whole units of rows beside random ones of equal weight."""
    print(
        "| rows | units | k | MMD² | random units, mean of 20 | gap / value | seconds |\n|---|---|---|---|---|---|---|"
    )
    for N, G in ((2000, 100), (10_000, 500)):
        rng = np.random.default_rng(G)
        who = rng.integers(0, G, N)
        X = rng.normal(size=(N, 6)) + 1.5 * rng.normal(size=(G, 6))[who]
        for k in (5, 20):
            took, result = timed(lambda X=X, k=k, w=who: points(X, k, units=w, gamma=0.05, rng=0))
            drawn = [
                points(X, k, units=who, gamma=0.05, rng=0, equal_weights=True, solver="greedy",
                       exclude=~np.isin(who, rng.choice(G, k, replace=False))).value
                for _ in range(20 if N <= 2000 else 3)
            ]  # fmt: skip
            gap = result.gap / result.value if result.gap is not None else math.nan
            print(
                f"| {N} | {G} | {k} | {result.value:.3g} | {np.mean(drawn):.3g} | {gap:.2f} | {took:.2f} |"
            )


PARTS: dict[str, Callable[[], None]] = {"bars": bars, "budget": budgets, "points": patients}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    for part in parser.parse_args().part or PARTS:
        print(f"\n### {part}\n")
        PARTS[part]()
