"""`python -m soak.many fork|spawn`: many solve at once, in threads and in processes.

Exit code 1 if answers differ.
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

THREADS, PROCESSES = 8, 4


def answers(_: int = 0) -> list[Any]:
    """Three small problems of three jobs."""
    import fewer

    rng = np.random.default_rng(3)
    counts, A, rows = (
        rng.integers(0, 50, 40),
        rng.standard_normal((12, 9)),
        rng.integers(0, 2, (40, 8)),
    )
    results = [
        fewer.bins(counts=counts, k=4),
        fewer.terms(A, A[:, :3].mean(axis=1), 3, rng=0),
        fewer.dims(rows, 3, rng=0),
    ]
    return [(result.support.tolist(), float(result.value)) for result in results]


def main(method: str) -> int:
    """Threads first, so that they are the ones who compile; then processes."""
    with ThreadPoolExecutor(THREADS) as pool:
        everything = list(pool.map(answers, range(THREADS)))
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context(method)) as processes:
        everything += list(processes.map(answers, range(PROCESSES)))
    alone = answers()
    wrong = [answer for answer in everything if answer != alone]
    print(f"{len(wrong)} of {len(everything)} differ from {alone}: {wrong[:1]}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
