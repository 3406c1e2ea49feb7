"""bins: the paper's compressed sensing, every method in one run; and a real histogram with its CDF preserved.

p: 740,817 lognormal draws (median 20,000, sigma 1.1) in 10,000 bins of 1000, or the real charges of
hospital_charges.npz (Medicare FY2011 by discharges), looked for in --data. A, B: Gaussian 500 x 10000; b = A p.
Train error is ‖A q - b‖², test error the mean of ‖B (q - p)‖² over 20 matrices B (only the columns where q or p is not
zero matter, so only those are drawn). Times are wall time on one core after a warm-up, beside SciPy's NNLS in the same
run; what a method can share between its k (Lasso's path, NNLS itself) is computed once and counted for each k.
Run: python benchmarks/bins.py [--matrices 10] [--k 100 200 300 400 500] [--only lognormal] [--method auto] [--data DIR]
[--quick]
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fewer import Atoms, Constant, Moments, Momentum, SparseSimplex, bins, frank_wolfe, iht
from fewer.solvers import greedy as algorithm_3

sys.path.append(str(Path(__file__).parents[1]))  # the root of the repository, where reproduction is
from reproduction.baselines import least_squares as baselines

ROWS, BINS = 500, 10000
Answers = dict[int, tuple[np.ndarray, float]]
Method = Callable[[Moments, np.ndarray, list[int], int], Answers]


def lognormal(seed: int = 0) -> np.ndarray:
    charges = np.exp(np.random.default_rng(seed).normal(np.log(20000), 1.1, 740817))
    counts = np.bincount((charges[charges < 1e7] / 1000).astype(int), minlength=BINS)
    return counts / counts.sum()


def real(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        counts = file["cms2011_counts_discharges"].astype(float)
    return counts / counts.sum()


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return call(), time.perf_counter() - began


def each(solve: Callable[[Moments, np.ndarray, int, int], np.ndarray]) -> Method:
    """A method that begins anew for each k."""
    return lambda F, p, budgets, seed: {k: timed(lambda k=k: solve(F, p, k, seed)) for k in budgets}


def shared(
    prepare: Callable[[Moments], Any], finish: Callable[[Moments, Any, int], np.ndarray]
) -> Method:
    """A method whose first part does not depend on k; its time counts for every k."""

    def run(F: Moments, p: np.ndarray, budgets: list[int], seed: int) -> Answers:
        whole, before = timed(lambda: prepare(F))
        found = {k: timed(lambda k=k: finish(F, whole, k)) for k in budgets}
        return {k: (q, before + after) for k, (q, after) in found.items()}

    return run


def ours(**options: Any) -> Method:
    return each(lambda F, p, k, seed: bins(counts=p, k=k, preserve=F.A, rng=seed, **options).p)


def greedy(F: Moments, p: np.ndarray, budgets: list[int], seed: int) -> Answers:
    """One run: greedy's supports are nested, so its answer for k is met on the way to the largest."""
    C, met = SparseSimplex(F.space, max(budgets)), {}
    algorithm_3.greedy(F, C, callback=lambda now: met.__setitem__(now.n_iter, (now.p, now.seconds)))
    return {k: met[min(k, len(met))] for k in budgets}


def plain_iht(step: Any) -> Method:
    return each(
        lambda F, p, k, s: iht(F, SparseSimplex(F.space, k), step=step, max_iter=300, rng=s).p
    )


def lasso(positive: bool, refit: bool) -> Method:
    return shared(
        lambda F: baselines.lasso_solutions(F, positive=positive),
        lambda F, grid, k: baselines.best_of(F, [baselines.onto(F, k, q, refit) for q in grid]),
    )


def onto(prepare: Callable[[Moments], np.ndarray], refit: bool) -> Method:
    return shared(prepare, lambda F, q, k: baselines.onto(F, k, q, refit))


def relaxed(F: Moments) -> np.ndarray:
    return frank_wolfe(F, SparseSimplex(F.space, F.space.size)).p


METHODS: dict[str, Method] = {
    "auto": ours(),
    "auto, validation=0.1": ours(validation=0.1),
    "greedy": greedy,
    "iht (momentum, refits)": ours(solver="iht"),
    "frank_wolfe, refitted": onto(relaxed, True),
    "plain IHT, mu = 1/L": plain_iht(Constant()),
    "plain IHT, momentum": plain_iht(Momentum()),
    "Lasso, projected": lasso(False, False),
    "Lasso, refitted": lasso(False, True),
    "Lasso >= 0, projected": lasso(True, False),
    "Lasso >= 0, refitted": lasso(True, True),
    "OMP, projected": each(lambda F, p, k, s: baselines.matching_pursuit(F.A, F.b, k)),
    "OMP, refitted": each(lambda F, p, k, s: baselines.matching_pursuit(F.A, F.b, k, refit=True)),
    "NNLS top-k, projected": onto(baselines.nonnegative_whole, False),
    "NNLS top-k, refitted": onto(baselines.nonnegative_whole, True),
    "random, best of 300": each(lambda F, p, k, s: baselines.at_random(F.A, F.b, k, rng=s)),
    "two-stage": onto(baselines.simplex_whole, False),
    "accelerated IHT (2021)": each(lambda F, p, k, s: baselines.accelerated_iht(F.A, F.b, k)),
}


def test_error(q: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> float:
    gap = (q - p)[q != p]
    return float(
        np.mean([((rng.standard_normal((ROWS, gap.size)) @ gap) ** 2).sum() for _ in range(20)])
    )


def table(
    title: str, p: np.ndarray, matrices: int, budgets: list[int], methods: dict[str, Method]
) -> None:
    rows: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for seed in range(matrices):
        rng = np.random.default_rng(1000 + seed)
        A = rng.standard_normal((ROWS, BINS))
        F = Moments(Atoms(BINS), A, A @ p)
        _, scipy = timed(lambda F=F: baselines.nonnegative_whole(F))
        for name, method in methods.items():
            for k, (q, took) in method(F, p, budgets, seed).items():
                rows.setdefault((name, k), []).append(
                    (F.value(q), test_error(q, p, rng), took, took / scipy)
                )
    print(f"\n{title}: {matrices} matrices A, 20 matrices B each")
    for k in budgets:
        print(f"k = {k}")
        print(
            f"  {'method':24s} {'train':>10s} {'(std)':>8s} {'test':>9s} {'(std)':>8s} {'s':>7s} {'/ NNLS':>7s}"
        )
        for name in methods:
            found = np.array(rows[name, k])
            (train, test, *_), (spread, test_spread, *_) = found.mean(axis=0), found.std(axis=0)
            took, ratio = np.median(found[:, 2]), np.median(found[:, 3])
            print(
                f"  {name:24s} {train:10.3e} {spread:8.1e} {test:9.5f} {test_spread:8.5f} {took:7.2f} {ratio:7.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=int, default=10)
    parser.add_argument("--k", type=int, nargs="+", default=[100, 200, 300, 400, 500])
    parser.add_argument("--only", choices=["lognormal", "real"], help="one of the two histograms")
    parser.add_argument("--method", default="", help="only methods whose name begins so")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="one matrix, k = 100 and 200")
    options = parser.parse_args()
    matrices, budgets = (1, [100, 200]) if options.quick else (options.matrices, options.k)
    small = np.random.default_rng(0)
    F = Moments(Atoms(700), small.standard_normal((20, 700)), small.standard_normal(20))
    methods = {name: method for name, method in METHODS.items() if name.startswith(options.method)}
    for method in methods.values():  # compile before timing
        method(F, small.dirichlet(np.ones(700)), [5], 0)
    if options.only != "real":
        table("lognormal charges", lognormal(), matrices, budgets, methods)
    path = options.data / "hospital_charges.npz"
    if options.only != "lognormal" and path.exists():
        table(
            "Medicare FY2011 charges (in place of the paper's Texas file)",
            real(path),
            matrices,
            budgets,
            methods,
        )
    elif options.only != "lognormal":
        print(f"{path} is absent: the real charges are skipped")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
