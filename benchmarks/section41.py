"""The paper's section 4.1, l2: gap to the proven optimum of Greedy, IHT and IHT after Greedy.

n = 15, m = 2, k = 7, q on 50 random positions, mu = 0.008, 500 iterations, 20 seeds, best along the path.
The step rule's word "trapped" is read in three ways. Run: python benchmarks/section41.py [--seeds 20]
"""

import argparse
import time

import numpy as np

from fewer import L2, DimensionSparse, Doubling, Lattice, exact, greedy, iht


def problem(seed: int) -> tuple[L2, DimensionSparse]:
    rng = np.random.default_rng(seed)
    space = Lattice(15, 2)
    q = np.zeros(space.size)
    weights = rng.random(50)
    q[rng.choice(space.size, 50, replace=False)] = weights / weights.sum()
    return L2(space, q), DimensionSparse(space, 7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three seeds")
    options = parser.parse_args()
    gaps: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}

    def record(name: str, solve, optimum: float):
        began = time.perf_counter()
        result = solve()
        seconds.setdefault(name, []).append(time.perf_counter() - began)
        gaps.setdefault(name, []).append(result.value - optimum)
        return result

    (
        greedy(*problem(0)),
        iht(*problem(0), step=Doubling(0.008), rng=0, max_iter=2),
    )  # compile before timing
    for seed in range(3 if options.quick else options.seeds):
        F, C = problem(seed)
        began = time.perf_counter()
        best = exact(F, C)
        seconds.setdefault("exact", []).append(time.perf_counter() - began)
        gaps.setdefault("exact", []).append(best.value - best.bound)
        start = record("Greedy", lambda F=F, C=C: greedy(F, C), best.value).p
        for trapped in ("support", "seen", "objective"):
            rule = Doubling(0.008, trapped)
            record(
                f"IHT, trapped={trapped!r}",
                lambda F=F, C=C, r=rule, s=seed: iht(F, C, step=r, rng=s),
                best.value,
            )
            record(
                f"IHT after Greedy, trapped={trapped!r}",
                lambda F=F, C=C, r=rule, p=start: iht(F, C, step=r, start=p),
                best.value,
            )
    print(f"{'method':42s} {'mean gap':>10s} {'std':>10s} {'optimal':>8s} {'seconds':>8s}")
    for name, values in gaps.items():
        found = np.array(values)
        print(
            f"{name:42s} {found.mean():10.6f} {found.std():10.6f} {(found < 1e-12).sum():5d}/{found.size:<2d} "
            f"{np.median(seconds[name]):8.4f}"
        )


if __name__ == "__main__":
    main()
