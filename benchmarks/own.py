"""What `fewer` costs by itself: an IHT iteration beside its memory traffic, importing it, the first call of a job."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

FIRST = {
    "bins": "fewer.bins(counts=rng.integers(0, 99, 300), k=10)",
    "dims": "fewer.dims(rng.random((300, 20)) < 0.2, 5, rng=0)",
    "terms": (
        "fewer.terms(rng.standard_normal((40, 30)), rng.standard_normal(40), 3, solver='exchange',"
        " rng=0)"
    ),
    "points": "fewer.points(rng.standard_normal((300, 4)), 10, solver='exchange', rng=0)",
}


def timed(call: Callable[[], Any]) -> float:
    """CPU seconds."""
    began = time.process_time()
    call()
    return time.process_time() - began


def bandwidth(megabytes: int = 400) -> float:
    """Bytes a second that one core reads: the best of a sum and a product over an array larger than any cache."""
    a = np.ones(megabytes * 2**20 // 8)
    b = np.ones(a.size)
    reads = [
        a.nbytes / min(timed(a.sum) for _ in range(5)),
        2 * a.nbytes / min(timed(lambda: a @ b) for _ in range(5)),
    ]
    return max(reads)


def iterations(quick: bool) -> list[dict[str, Any]]:
    """IHT on ‖A q - b‖²: a gradient must read A once (A q only the k columns held): bytes / bandwidth is a floor."""
    from fewer import L2, Atoms, Constant, DimensionSparse, Lattice, Moments, SparseSimplex, iht

    speed, rng = bandwidth(), np.random.default_rng(0)
    rows = [
        {
            "what": "memory read by one core",
            "value": speed / 1e9,
            "unit": "GB/s",
            "note": "400 MB arrays",
        }
    ]
    for r, n in [(200, 20_000)] if quick else [(200, 20_000), (500, 100_000)]:
        A = rng.standard_normal((r, n))
        F, C = Moments(Atoms(n), A, A @ rng.dirichlet(np.ones(n))), SparseSimplex(Atoms(n), 100)
        F.smoothness  # noqa: B018 - the constant of the step is not the iteration

        def one(F: Any = F, C: Any = C) -> float:
            began = time.process_time()
            result = iht(F, C, step=Constant(), max_iter=50, tol=0.0, rng=0)
            return (time.process_time() - began) / result.n_iter

        one()
        took, floor = median(one() for _ in range(3)), A.nbytes / speed
        what = f"IHT iteration, A {r} x {n}, k = 100"
        note = (
            f"floor {1e3 * floor:.3g} ms ({A.nbytes / 1e6:.0f} MB read once): {took / floor:.2f}"
            " times the floor"
        )
        rows.append({"what": what, "value": 1e3 * took, "unit": "ms", "note": note})
    space = Lattice(15, 2)
    q = np.zeros(space.size)
    q[rng.choice(space.size, 50, replace=False)] = rng.dirichlet(np.ones(50))
    F, C = L2(space, q), DimensionSparse(space, 7)
    iht(F, C, step=Constant(1e-9), tol=0.0, max_iter=2, rng=0)
    began = time.process_time()
    result = iht(F, C, step=Constant(1e-9), tol=0.0, max_iter=1000, rng=0)
    took = time.process_time() - began
    note = f"its table ({8 * space.size // 1024} KiB) stays in cache: not bound by memory"
    rows.append(
        {
            "what": "IHT iteration, D_7 of {0,1}^15",
            "value": 1e3 * took / result.n_iter,
            "unit": "ms",
            "note": note,
        }
    )
    return rows


def python(code: str, cache: str | None = None) -> float:
    """What a fresh interpreter prints."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # modules are compiled to bytecode once, as they are for users
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = cache
    return float(subprocess.check_output([sys.executable, "-c", code], env=env))  # noqa: S603


IMPORTS = (
    "import numpy",
    "import fewer",
    "from fewer import points",
    "from sklearn.cluster import KMeans",
)


def imports(repeats: int = 5) -> Iterator[dict[str, Any]]:
    """CPU time of importing, in fresh interpreters, in turn.

    `points` beside the nearest class of scikit-learn.
    """
    taken: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for _ in range(repeats + 1):
        for statement, times in taken.items():
            times.append(
                python(
                    f"import time; t = time.process_time(); {statement}; print(time.process_time()"
                    " - t)"
                )
            )
    best = {
        statement: min(times[1:]) for statement, times in taken.items()
    }  # the first wrote bytecode
    for statement, took in best.items():
        ratio = (
            f", {took / best[IMPORTS[-1]]:.2f} times that of KMeans"
            if statement == IMPORTS[2]
            else ""
        )
        yield {
            "what": statement,
            "value": 1e3 * took,
            "unit": "ms",
            "note": f"fresh interpreter{ratio}",
        }


def first_calls(quick: bool) -> Iterator[dict[str, Any]]:
    """The first call of a job in a fresh interpreter, after its imports, with an empty and a filled numba cache."""
    for job in ("bins",) if quick else tuple(FIRST):
        call = FIRST[job]
        code = (
            "import time, numpy as np, fewer; rng = np.random.default_rng(0)\n"
            f"fewer.{job}; t = time.process_time(); {call}; print(time.process_time() - t)"
        )
        with tempfile.TemporaryDirectory() as cache:
            cold = python(code, cache)
            warm = median(python(code, cache) for _ in range(3))
        note = f"{cold:.3g} s with an empty cache, once after installing"
        yield {
            "what": f"first call of {job}, filled cache",
            "value": warm,
            "unit": "s",
            "note": note,
        }


def measurements(quick: bool) -> Iterator[dict[str, Any]]:
    """All of it, on one core, as it comes."""
    with threadpool_limits(1):
        yield from iterations(quick)
        yield from imports()
        yield from first_calls(quick)
