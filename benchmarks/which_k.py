"""Which k is recommended where the right one is known: python benchmarks/which_k.py [--draws 100].

Three kinds of data with a known number of parts, a grid of k, and the share of draws in which a rule is within one grid
step of the right k: the elbow (the largest distance from the chord), one random split (the smallest k with 90 % of the
reduction, or the lowest error), and several splits with the one-standard-error rule; `--path` recommends by five.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from fewer.studies.dims import DimsProblem
from fewer.studies.points import PointsProblem
from fewer.studies.study import study, sufficient, within_one_standard_error
from fewer.studies.terms import TermsProblem

GRID = (1, 2, 3, 5, 8, 12, 18)
RIGHT = 5


def tracked(rng: np.random.Generator) -> Any:
    """A target of five of thirty columns, with noise."""
    X = rng.normal(size=(150, 30))
    y = X[:, :RIGHT] @ rng.dirichlet(np.full(RIGHT, 5.0)) + 0.15 * rng.normal(size=150)
    return TermsProblem(X, y, [f"c{j}" for j in range(30)])


def clusters(rng: np.random.Generator) -> Any:
    """Rows in five tight clusters."""
    centres = 6.0 * rng.normal(size=(RIGHT, 3))
    X = centres[rng.integers(0, RIGHT, 150)] + 0.3 * rng.normal(size=(150, 3))
    return PointsProblem.of(X, max(GRID), 0, shown={})


def orders(rng: np.random.Generator) -> Any:
    """Orders of five items; others are hardly ever bought."""
    X = (rng.random((150, 25)) < 0.0003).astype(int)
    X[:, :RIGHT] = rng.random((150, RIGHT)) < 0.5
    return DimsProblem(X, [f"c{j}" for j in range(25)])


def elbow(errors: Any) -> int:
    """The point farthest from the chord between the first and the last, both axes scaled to one."""
    x = np.linspace(0.0, 1.0, len(errors))
    y = (errors - errors[-1]) / max(errors[0] - errors[-1], 1e-300)
    return int(np.argmax(1.0 - x - y))


def recommended(problem: Any, seed: int) -> dict[str, int]:
    """The place in the grid that each rule recommends."""
    found = study(problem, GRID, held_out=0.3, seed=seed, baselines=False, solver="greedy", splits=10)
    errors = np.array([a.held_outs for a in found.answers]).T
    return {
        "elbow of the error": elbow(np.array([a.error for a in found.answers])),
        "one split, 90 % of the reduction": sufficient(errors[0].tolist()),
        "one split, lowest error": int(np.argmin(errors[0])),
        "ten splits, lowest mean error": int(np.argmin(errors.mean(axis=0))),
        "five splits, one standard error (`--path`)": within_one_standard_error(errors[:5], 0.3),
        "ten splits, one standard error": within_one_standard_error(errors, 0.3),
    }


CASES: dict[str, Callable[[np.random.Generator], Any]] = {"terms": tracked, "points": clusters, "dims": orders}


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first draw")
    parser.add_argument("--case", choices=CASES, action="append")
    asked = parser.parse_args()
    print("| data | rule | within one step | exactly | mean k |\n|---|---|---|---|---|")
    for name in asked.case or CASES:
        rows = [
            recommended(CASES[name](np.random.default_rng(s)), s) for s in range(asked.first, asked.first + asked.draws)
        ]
        for rule in rows[0]:
            at = np.array([row[rule] for row in rows])
            off = np.abs(at - GRID.index(RIGHT))
            ks = np.array(GRID)[at].mean()
            print(f"| {name} | {rule} | {np.mean(off <= 1):.2f} | {np.mean(off == 0):.2f} | {ks:.1f} |", flush=True)


if __name__ == "__main__":
    main()
