"""bins: the paper's compressed sensing, every method in one run; and a real histogram with its CDF preserved.

p: 740,817 lognormal draws (median 20,000, sigma 1.1) in 10,000 bins of 1000, or the real charges of
hospital_charges.npz (Medicare FY2011 by discharges), looked for in --data. A, B: Gaussian 500 x 10000; b = A p.
Train error is ‖A q - b‖², test error the mean of ‖B (q - p)‖² over 20 matrices B (only the columns where q or p is not
zero matter, so only those are drawn). Times are wall time in this process after a warm-up, beside SciPy's NNLS.
Run: python benchmarks/bins.py [--matrices 10] [--k 100 200 300 400 500] [--data DIR] [--quick]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from fewer import Atoms, Constant, Moments, Momentum, SparseSimplex, bins, iht
from fewer.baselines import least_squares as rivals

ROWS, BINS = 500, 10000
Method = Callable[[np.ndarray, np.ndarray, np.ndarray, int, int], np.ndarray]


def lognormal(seed: int = 0) -> np.ndarray:
    charges = np.exp(np.random.default_rng(seed).normal(np.log(20000), 1.1, 740817))
    counts = np.bincount((charges[charges < 1e7] / 1000).astype(int), minlength=BINS)
    return counts / counts.sum()


def real(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        counts = file["cms2011_counts_discharges"].astype(float)
    return counts / counts.sum()


def plain_iht(step) -> Method:
    def run(A: np.ndarray, b: np.ndarray, p: np.ndarray, k: int, seed: int) -> np.ndarray:
        F = Moments(Atoms(A.shape[1]), A, b)
        return iht(F, SparseSimplex(F.space, k), step=step, max_iter=300, rng=seed).p

    return run


METHODS: dict[str, Method] = {
    "auto": lambda A, b, p, k, s: bins(p, k, preserve=A, rng=s).p,
    "auto, validation=0.1": lambda A, b, p, k, s: bins(p, k, preserve=A, validation=0.1, rng=s).p,
    "exchange": lambda A, b, p, k, s: bins(p, k, preserve=A, solver="exchange", rng=s).p,
    "greedy": lambda A, b, p, k, s: bins(p, k, preserve=A, solver="greedy", rng=s).p,
    "iht (momentum, refits)": lambda A, b, p, k, s: bins(p, k, preserve=A, solver="iht", rng=s).p,
    "frank_wolfe": lambda A, b, p, k, s: bins(p, k, preserve=A, solver="frank_wolfe", rng=s).p,
    "plain IHT, mu = 1/L": plain_iht(Constant()),
    "plain IHT, momentum": plain_iht(Momentum()),
    "Lasso, projected": lambda A, b, p, k, s: rivals.lasso(A, b, k),
    "Lasso, refitted": lambda A, b, p, k, s: rivals.lasso(A, b, k, refit=True),
    "Lasso >= 0, projected": lambda A, b, p, k, s: rivals.lasso(A, b, k, positive=True),
    "Lasso >= 0, refitted": lambda A, b, p, k, s: rivals.lasso(A, b, k, positive=True, refit=True),
    "OMP, projected": lambda A, b, p, k, s: rivals.matching_pursuit(A, b, k),
    "OMP, refitted": lambda A, b, p, k, s: rivals.matching_pursuit(A, b, k, refit=True),
    "NNLS top-k, refitted": lambda A, b, p, k, s: rivals.nonnegative(A, b, k),
    "random, best of 300": lambda A, b, p, k, s: rivals.at_random(A, b, k, rng=s),
    "two-stage": lambda A, b, p, k, s: rivals.two_stage(A, b, k),
    "accelerated IHT (2021)": lambda A, b, p, k, s: rivals.accelerated_iht(A, b, k),
}


def test_error(q: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> float:
    gap = (q - p)[q != p]
    return float(np.mean([((rng.standard_normal((ROWS, gap.size)) @ gap) ** 2).sum() for _ in range(20)]))


def table(title: str, p: np.ndarray, matrices: int, budgets: list[int]) -> None:
    rows: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    scipy_seconds = []
    for seed in range(matrices):
        rng = np.random.default_rng(1000 + seed)
        A = rng.standard_normal((ROWS, BINS))
        b = A @ p
        began = time.perf_counter()
        nnls(A, b)
        scipy_seconds.append(time.perf_counter() - began)
        for k in budgets:
            for name, method in METHODS.items():
                began = time.perf_counter()
                q = method(A, b, p, k, seed)
                took = time.perf_counter() - began
                residual = A @ q - b
                rows.setdefault((name, k), []).append((residual @ residual, test_error(q, p, rng), took))
    slow = float(np.median(scipy_seconds))
    print(f"\n{title}: {matrices} matrices A, 20 matrices B each; SciPy's NNLS takes {slow:.2f} s")
    for k in budgets:
        print(f"k = {k}")
        print(f"  {'method':24s} {'train':>10s} {'(std)':>9s} {'test':>10s} {'(std)':>9s} {'s':>7s} {'/ NNLS':>7s}")
        for name in METHODS:
            found = np.array(rows[name, k])
            (train, test, _), (spread, test_spread, _) = found.mean(axis=0), found.std(axis=0)
            took = float(np.median(found[:, 2]))
            print(
                f"  {name:24s} {train:10.6f} {spread:9.6f} {test:10.6f} {test_spread:9.6f} "
                f"{took:7.2f} {took / slow:7.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=int, default=10)
    parser.add_argument("--k", type=int, nargs="+", default=[100, 200, 300, 400, 500])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="one matrix, k = 100 and 200")
    options = parser.parse_args()
    matrices, budgets = (1, [100, 200]) if options.quick else (options.matrices, options.k)
    small = np.random.default_rng(0)
    for method in METHODS.values():  # compile before timing
        method(small.standard_normal((20, 60)), small.standard_normal(20), small.dirichlet(np.ones(60)), 5, 0)
    table("lognormal charges", lognormal(), matrices, budgets)
    path = options.data / "hospital_charges.npz"
    if path.exists():
        table("Medicare FY2011 charges (in place of the paper's Texas file)", real(path), matrices, budgets)
    else:
        print(f"{path} is absent: the real charges are skipped")


if __name__ == "__main__":
    main()
