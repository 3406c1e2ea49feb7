"""One greedy projection (Algorithm 2) at n = 15, m = 2, k = 7 beside its literal NumPy transcription.

Both run in this process, alternating, on the same tables; medians and their ratio are printed, with the
time of one IHT iteration and of `import fewer` beside `import sklearn`.
Run: python benchmarks/greedy_projection.py [--quick]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product

import numpy as np

from fewer import L2, Constant, DimensionSparse, Lattice, iht
from problems.core import literal


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))  # noqa: S603


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    repeats = 3 if parser.parse_args().quick else 11
    space = Lattice(15, 2)
    rows = np.array(list(product(range(2), repeat=15)), np.int8)
    rng = np.random.default_rng(0)
    C = DimensionSparse(space, 7)
    q = np.zeros(space.size)
    q[rng.choice(space.size, 50, replace=False)] = rng.dirichlet(np.ones(50))
    tables = {
        "q (a distribution)": q,
        "q - 0.008 noise": q - 0.008 * rng.standard_normal(space.size),
    }
    C.project(q)
    print(f"{'table':22s} {'literal ms':>11s} {'fewer ms':>9s} {'ratio':>7s}")
    for name, v in tables.items():
        assert np.allclose(C.project(v), literal(v, rows, 7)), (  # noqa: S101
            "the two must agree before they are timed"
        )
        slow = np.median([timed(lambda v=v: literal(v, rows, 7)) for _ in range(repeats)])
        fast = np.median([timed(lambda v=v: C.project(v)) for _ in range(50 * repeats)])
        print(f"{name:22s} {1e3 * slow:11.2f} {1e3 * fast:9.4f} {slow / fast:7.0f}")
    F = L2(space, q)
    result = iht(F, C, step=Constant(1e-9), tol=0, max_iter=2000, rng=0)
    table = f"table of {8 * space.size / 1024:.0f} KiB"
    print(f"one IHT iteration: {1e3 * result.seconds / result.n_iter:.3f} ms ({table})")
    ours, theirs = import_seconds("fewer"), import_seconds("sklearn")
    print(
        f"import fewer {1e3 * ours:.1f} ms, import sklearn {1e3 * theirs:.1f} ms, ratio {ours / theirs:.3f}"
    )


if __name__ == "__main__":
    main()
