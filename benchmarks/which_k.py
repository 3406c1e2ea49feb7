"""Which k is recommended where the right one is known: python benchmarks/which_k.py [--draws 100] [--case terms].

Three kinds of data with a known number of parts, each easy and hard, a grid of k, and the share of
draws in which a rule is within one grid step of the right k (with its 95 % interval, Wilson), and
in which it is right: the elbow (the largest distance from the chord), one random split (the
smallest k with 90 % of the reduction, or the lowest error), and five splits, by which `--path`
recommends. `--save DIR` keeps the errors of every draw, `--load DIR` judges kept ones.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fewer.report.path import (
    SPLITS,
    resampling_error,
    solve_path,
    study_of,
    sufficient,
    sufficient_over_splits,
)

GRID = (1, 2, 3, 5, 8, 12, 18)
RIGHT = 5
HELD_OUT = 0.3


def tracked(noise: float) -> Callable[[np.random.Generator], Any]:
    """A target of five of thirty columns, with noise."""

    def draw(rng: np.random.Generator) -> Any:
        X = rng.normal(size=(150, 30))
        y = X[:, :RIGHT] @ rng.dirichlet(np.full(RIGHT, 5.0)) + noise * rng.normal(size=150)
        return study_of("terms", X, y=y)

    return draw


def clusters(width: float) -> Callable[[np.random.Generator], Any]:
    """Rows in five round clusters."""

    def draw(rng: np.random.Generator) -> Any:
        centres = 6.0 * rng.normal(size=(RIGHT, 3))
        X = centres[rng.integers(0, RIGHT, 150)] + width * rng.normal(size=(150, 3))
        return study_of("points", X, max(GRID))

    return draw


def orders(rate: float) -> Callable[[np.random.Generator], Any]:
    """Orders of five items; each of twenty others is in a share `rate` of them."""

    def draw(rng: np.random.Generator) -> Any:
        X = (rng.random((150, 25)) < rate).astype(int)
        X[:, :RIGHT] = rng.random((150, RIGHT)) < 0.5
        return study_of("dims", X)

    return draw


CASES: dict[str, Callable[[np.random.Generator], Any]] = {
    "terms, noise 0.15": tracked(0.15),
    "terms, noise 0.4": tracked(0.4),
    "points, width 0.3": clusters(0.3),
    "points, width 1.5": clusters(1.5),
    "dims, others 0.03 %": orders(0.0003),
    "dims, others 0.3 %": orders(0.003),
}


def elbow(errors: Any) -> int:
    """The point farthest from the chord between the first and the last, both axes scaled to one."""
    x = np.linspace(0.0, 1.0, len(errors))
    y = (errors - errors[-1]) / max(errors[0] - errors[-1], 1e-300)
    return int(np.argmax(1.0 - x - y))


def one_standard_error(errors: Any) -> int:
    """The first k whose mean error, errors (R, K), is within one standard error of the lowest."""
    means = errors.mean(axis=0)
    best = int(np.argmin(means))
    return int(np.argmax(means <= means[best] + resampling_error(errors[:, best], HELD_OUT)))


def drawn(name: str, seed: int, solver: str) -> Any:
    """The errors of one draw, (1 + splits, K): on all data, then held out in each split."""
    problem = CASES[name](np.random.default_rng(seed))
    path = solve_path(
        problem, GRID, held_out=HELD_OUT, rng=seed, baselines=False, solver=solver, splits=SPLITS
    )
    return np.array([path.errors["fewer"], *np.array([a.splits for a in path.answers]).T])


RULES: dict[str, Callable[[Any], int]] = {
    "elbow of the error": lambda errors: elbow(errors[0]),
    "one split, 90 % of the reduction": lambda errors: sufficient(errors[1].tolist()),
    "one split, lowest error": lambda errors: int(np.argmin(errors[1])),
    "five splits, lowest mean error": lambda errors: int(np.argmin(errors[1:].mean(axis=0))),
    "five splits, one standard error of the lowest": lambda errors: one_standard_error(errors[1:]),
    "five splits, differences (`--path`)": lambda errors: sufficient_over_splits(
        errors[1:], HELD_OUT
    ),
}
"""The place in the grid that each rule recommends for the errors of a draw."""


def wilson(hits: int, draws: int) -> tuple[float, float]:
    """The 95 % interval of a share, which stays inside 0..1.

    >>> [round(end, 3) for end in wilson(100, 100)]
    [0.963, 1.0]
    """
    z, share = 1.96, hits / draws
    middle = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    half = z * np.sqrt(share * (1 - share) / draws + z * z / (4 * draws**2)) / (1 + z * z / draws)
    return float(middle - half), float(middle + half)


def line(name: str, errors: Any) -> str:
    """The row of the table for the errors of all draws, (draws, 1 + splits, K): each rule's share near, and right."""
    cells = []
    for place in RULES.values():
        at = np.array([place(one) for one in errors])
        near = np.abs(at - GRID.index(RIGHT)) <= 1
        low, high = wilson(int(near.sum()), len(at))
        cells.append(
            f"{near.mean():.2f} ({low:.2f} to {high:.2f}), {np.mean(at == GRID.index(RIGHT)):.2f}"
        )
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000, help="the seed of the first draw")
    parser.add_argument(
        "--solver", default="greedy", help="greedy is cheap; --path searches by exchange"
    )
    parser.add_argument("--case", help="only data whose name begins so")
    parser.add_argument("--save", type=Path, help="keep the errors of every draw in this folder")
    parser.add_argument(
        "--load", type=Path, help="judge the errors kept in this folder instead of computing any"
    )
    asked = parser.parse_args()
    print(f"| data | {' | '.join(RULES)} |\n{'|---' * (len(RULES) + 1)}|", flush=True)
    for name in (name for name in CASES if name.startswith(asked.case or "")):
        if asked.load:
            errors = np.load(asked.load / f"{name}.npy")
        else:
            errors = np.array(
                [drawn(name, asked.first + i, asked.solver) for i in range(asked.draws)]
            )
        if asked.save:
            asked.save.mkdir(parents=True, exist_ok=True)
            np.save(asked.save / f"{name}.npy", errors)
        print(line(name, errors), flush=True)


if __name__ == "__main__":
    main()
