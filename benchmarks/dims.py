"""dims: greedy, IHT, exchange and auto beside the textbook MILP, on real binary data; l2; and scale.

Real data: debd.npz (nltcs, msnbc, plants, tretail, kosarek; Lowd & Davis 2010, Van Haaren & Davis 2012), looked
for in --data. Times are wall time in this process after a warm-up that compiles; nothing here uses a second core.
Run: python benchmarks/dims.py [--data DIR] [--part targets|l2|scale] [--quick]
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from fewer import Result, coverage, dims
from fewer.cover import cover_of
from fewer.datasets import baskets
from fewer.spaces import States

TARGETS = [
    ("nltcs", 6),
    ("msnbc", 7),
    ("plants", 10),
    ("plants", 20),
    ("tretail", 15),
    ("kosarek", 20),
]
SIZES = [(10**4, 10**4), (10**5, 10**4), (10**6, 10**4), (10**5, 10**3), (10**5, 10**5)]


def split(path: Path, name: str, part: str) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        return np.unpackbits(file[f"{name}_{part}"], axis=1, count=int(file[f"{name}_n_vars"]))


def timed(call) -> tuple[float, Result]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def textbook(X: np.ndarray, k: int, seconds: float) -> tuple[float, float, bool]:
    """Max Σ w_e y_e, y_e <= x_i for i in supp(e), Σ x <= k, x binary: as it stands, given to HiGHS."""
    began = time.perf_counter()
    states = States(X)
    cover = cover_of(states, states.weights, X.shape[1])
    n, E = cover.n, len(cover)
    owner, entry = np.repeat(np.arange(E), np.diff(cover.indptr)), np.arange(len(cover.indices))
    signs = np.r_[np.ones(entry.size), -np.ones(entry.size)]
    inside = sp.csr_array(
        (signs, (np.r_[entry, entry], np.r_[n + owner, cover.indices])), shape=(entry.size, n + E)
    )
    chosen = np.r_[np.ones(n), np.zeros(E)]
    answer = milp(
        np.r_[np.zeros(n), -cover.mass],
        constraints=[LinearConstraint(inside, -np.inf, 0), LinearConstraint(chosen, -np.inf, k)],
        integrality=chosen,
        bounds=Bounds(0, 1),
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    found = -answer.fun if answer.fun is not None else math.nan
    return time.perf_counter() - began, found, answer.status == 0


def targets(path: Path, seconds: float) -> None:
    print(
        "KL on the train split: coverage and seconds; `test` is the optimum's coverage of the test split"
    )
    print(
        f"{'data':8s} {'k':>3s} | {'greedy':>8s} {'s':>6s} | {'IHT':>8s} {'s':>6s} | {'exchange':>8s} {'s':>6s} | "
        f"{'auto':>8s} {'gap':>7s} {'s':>6s} {'test':>8s} | {'HiGHS':>8s} {'':6s} {'s':>7s} | "
        f"{'HiGHS/auto':>10s} {'HiGHS/exch.':>11s}"
    )
    for name, k in TARGETS:
        X = split(path, name, "train")
        cells = []
        for solver in ("greedy", "iht", "exchange"):
            took, result = timed(
                lambda s=solver, X=X, k=k: dims(X, k, solver=s, rng=0, time_limit=30)
            )
            cells.append(f"{math.exp(-result.value):8.6f} {took:6.3f}")
            swaps = took
        took, best = timed(lambda X=X, k=k: dims(X, k, rng=0))
        test = coverage(split(path, name, "test"), best.indices)
        slow, found, proven = textbook(X, k, seconds)
        print(
            f"{name:8s} {k:3d} | {' | '.join(cells)} | {math.exp(-best.value):8.6f} {best.gap:7.1e} {took:6.3f} "
            f"{test:8.6f} | {found:8.6f} {'proven' if proven else 'open':6s} {slow:7.2f} | "
            f"{slow / took:10.0f} {slow / swaps:11.0f}",
            flush=True,
        )


def least_squares(path: Path) -> None:
    print(
        "\nl2 on the train split: value, bound and gap of auto, and the value of the other solvers"
    )
    print(
        f"{'data':8s} {'k':>3s} | {'auto':>11s} {'gap':>8s} {'s':>6s} status | {'greedy':>11s} {'exchange':>11s}"
    )
    for name, k in TARGETS:
        X = split(path, name, "train")
        took, best = timed(lambda X=X, k=k: dims(X, k, objective="l2", rng=0, time_limit=30))
        others = [dims(X, k, objective="l2", solver=s, rng=0).value for s in ("greedy", "exchange")]
        print(
            f"{name:8s} {k:3d} | {best.value:11.8f} {best.gap:8.1e} {took:6.2f} {best.status.name} | "
            f"{others[0]:11.8f} {others[1]:11.8f}",
            flush=True,
        )


def memory(field: str) -> float:
    """Resident MB of this process: VmRSS now, VmHWM at its peak (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def one_size(rows: int, items: int, k: int) -> None:
    """Run in a process of its own, so that the peak is this run's alone."""
    dims(baskets(200, 50, 4, rng=0), 5, solver="exchange", rng=0)
    X = baskets(rows, items, 10, rng=0)
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    took, result = timed(lambda: dims(X, k, solver="exchange", rng=0))
    peak = memory("VmHWM") - before + size
    print(json.dumps([X.nnz, took, size, peak, math.exp(-result.value)]))


def scale(sizes: list[tuple[int, int]]) -> None:
    print(
        "\nscale: baskets of about 10 items, k = 50, solver='exchange'; memory with the input, in MB"
    )
    print(
        f"{'rows':>9s} {'items':>7s} {'entries':>10s} {'seconds':>8s} {'input':>7s} {'peak':>7s} ratio coverage"
    )
    seconds = {}
    for rows, items in sizes:
        out = subprocess.check_output([sys.executable, __file__, "--one", str(rows), str(items)])  # noqa: S603
        nnz, took, size, peak, covered = json.loads(out)
        seconds[rows, items] = took
        print(
            f"{rows:9d} {items:7d} {nnz:10d} {took:8.2f} {size:7.1f} {peak:7.1f} {peak / size:5.2f} {covered:.6f}",
            flush=True,
        )
    for name, axis in (("rows", 0), ("items", 1)):
        line = [
            (key[axis], took)
            for key, took in seconds.items()
            if key[1 - axis] == (10**4, 10**5)[axis]
        ]
        if len(line) > 1:
            x, y = np.log(np.array(sorted(line))).T
            print(f"growth with {name}: seconds ~ {name}^{np.polyfit(x, y, 1)[0]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--part", choices=["targets", "l2", "scale"])
    parser.add_argument("--quick", action="store_true", help="a MILP limit of 5 s and small sizes")
    parser.add_argument("--milp-seconds", type=float, default=120.0)
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_size(*options.one, 50)
        return
    path = options.data / "debd.npz"
    if options.part != "scale" and not path.exists():
        print(f"{path} is absent: the real-data tables are skipped")
    elif options.part != "scale":
        small = baskets(300, 40, 4, rng=0)
        for solver in ("greedy", "exchange", "auto", "iht"):
            for objective in ("kl", "l2"):
                dims(small, 8, solver=solver, objective=objective, rng=0)  # compile
                dims(small.toarray()[:, :8], 3, solver=solver, objective=objective, rng=0)
        if options.part in (None, "targets"):
            targets(path, 5.0 if options.quick else options.milp_seconds)
        if options.part in (None, "l2"):
            least_squares(path)
    if options.part in (None, "scale"):
        scale(SIZES[:1] if options.quick else SIZES)


if __name__ == "__main__":
    main()
