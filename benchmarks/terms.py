"""terms: OR-Library and S&P 500 index tracking, with proof where it closes; in and out of sample; time against n.

Data: index_tracking.npz (OR-Library indtrack1 and 3; R's sparseIndexTracking), looked for in --data. Times are wall
time in this process after a warm-up that compiles. Run: python benchmarks/terms.py [--data DIR] [--quick]
"""

import argparse
import sys
import time
import timeit
import tracemalloc
from pathlib import Path

import numpy as np

from fewer import terms

sys.path.append(str(Path(__file__).parents[1]))  # the root of the repository, where reproduction is
from reproduction.baselines.least_squares import lasso

LIBRARY = [("orlib1_hangseng31_prices", 5), ("orlib1_hangseng31_prices", 10)]
LIBRARY += [("orlib3_ftse89_prices", 10), ("orlib3_ftse89_prices", 20)]


def timed(*arguments, **options):
    began = time.perf_counter()
    result = terms(*arguments, rng=0, **options)
    return time.perf_counter() - began, result


def library(path: Path) -> None:
    print(
        "OR-Library, weekly returns: value, gap and seconds of auto (10 s), value and seconds of the others"
    )
    print(
        f"{'data':26s} {'k':>3s} {'auto':>13s} {'gap':>8s} {'s':>6s} status      exchange (s), greedy, iht, frank_wolfe"
    )
    for name, k in LIBRARY:
        with np.load(path, allow_pickle=False) as file:
            prices = file[name]
        R = prices[1:] / prices[:-1] - 1
        A, b = R[:, 1:], R[:, 0]
        took, best = timed(A, b, k)
        swaps_took, swaps = timed(A, b, k, solver="exchange")
        others = [timed(A, b, k, solver=s)[1].value for s in ("greedy", "iht", "frank_wolfe")]
        print(
            f"{name:26s} {k:3d} {best.value:13.10f} {best.gap:8.1e} {took:6.2f} {best.status.name:10s} "
            f"{swaps.value:.10f} ({swaps_took:.2f}), {', '.join(f'{v:.10f}' for v in others)}",
            flush=True,
        )


def halves(path: Path) -> None:
    with np.load(path, allow_pickle=False) as file:
        A, b = file["sp500_2010_asset_returns"], file["sp500_2010_index_returns"].reshape(-1)
    half = len(b) // 2
    print("\nS&P 500 2010, first half fitted, second judged: squared error in / out")
    for k in (20, 30, 40, 50, 60):
        answers = {
            "auto": timed(A[:half], b[:half], k)[1].p,
            "greedy": timed(A[:half], b[:half], k, solver="greedy")[1].p,
            "Lasso, refitted": lasso(A[:half], b[:half], k, refit=True),
        }
        cells = [
            f"{name} {((A[:half] @ q - b[:half]) ** 2).sum():.3e} / {((A[half:] @ q - b[half:]) ** 2).sum():.3e}"
            for name, q in answers.items()
        ]
        print(f"k = {k}: {' | '.join(cells)}", flush=True)


def growth(sizes: list[int]) -> None:
    """Time of a whole search and of one pass over A, and the peak of memory above A (traced in a second run)."""
    print("\nexchange, 200 rows of float32, k = 20: seconds, one pass over A, memory above A")
    rng, seconds = np.random.default_rng(0), []
    for n in sizes:
        A = rng.standard_normal((200, n), dtype=np.float32)
        b = (A[:, :20] @ np.full(20, 0.05, np.float32)).astype(float) + 0.05 * rng.standard_normal(
            200
        )
        took, result = timed(A, b, 20, solver="exchange")
        seconds.append(took)
        r = b.astype(np.float32)
        one = min(timeit.repeat(lambda A=A, r=r: A.T @ r, number=1, repeat=5))
        tracemalloc.start()
        timed(A, b, 20, solver="exchange")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"n = {n:8d}: {took:7.2f} s, pass {one:.4f} s, value {result.value:.6f}, A {A.nbytes / 2**20:.1f} MB, "
            f"above it {peak / 2**20:.1f} MB",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"seconds grow as n^{slope:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="no S&P 500, and up to 10^4 columns")
    options = parser.parse_args()
    small = np.random.default_rng(0)
    for solver in ("auto", "exchange", "greedy", "iht", "frank_wolfe"):
        timed(small.standard_normal((20, 12)), small.standard_normal(20), 3, solver=solver)
    path = options.data / "index_tracking.npz"
    if path.exists():
        library(path)
        if not options.quick:
            halves(path)
    else:
        print(f"{path} is absent: index tracking is skipped")
    growth([10**3, 10**4] if options.quick else [10**3, 10**4, 10**5, 10**6])


if __name__ == "__main__":
    main()
