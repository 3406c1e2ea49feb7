"""Theorem 1: projecting onto D_k is NP-hard; subset sum solved through projections (appendix D)."""

import time
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fewer import DimensionSparse, Lattice

from .arrays import Vector
from .catalogue import TITLES
from .experiment import Claim, Experiment, Reading, Row, Setting, Table

MAX_INTEGER = 40


def table_of(integers: Sequence[int], k: int) -> Vector:
    """q_k: 1 at the states x of exactly k ones whose integers sum to zero, 0 elsewhere."""
    space = Lattice(len(integers), 2)
    states = space.unravel(np.arange(space.size))
    return np.asarray((states.sum(axis=1) == k) & (states @ np.array(integers) == 0), np.float64)


def subset_by_projection(integers: Sequence[int], k: int) -> tuple[float, tuple[int, ...]]:
    """(2^k p(0), the k positions found) for p the exact projection of q_k onto D_k.

    1 and () mean that none exists.

    >>> subset_by_projection([3, -1, -2, 5], 3)
    (0.0, (0, 1, 2))
    >>> subset_by_projection([3, -1, -2, 5], 2)
    (1.0, ())
    """
    space = Lattice(len(integers), 2)
    p = DimensionSparse(space, k, projection="exact").project(table_of(integers, k))
    level = float(p[0] * 2**k)
    return level, (
        () if level > 0.5 else tuple(int(i) for i in np.flatnonzero(space.unravel(int(p.argmax()))))
    )


def subset_by_enumeration(integers: Sequence[int], k: int) -> bool:
    """Whether some k of the integers sum to zero, by trying all."""
    return any(sum(subset) == 0 for subset in combinations(integers, k))


def instance(method: str, seed: int, n: int) -> list[int]:
    """N distinct non-zero integers: with a subset planted, as they come, or all positive (so that none exists)."""
    rng = np.random.default_rng([seed, 1])
    pool = np.arange(1, MAX_INTEGER + 1)
    integers = [int(v) for v in rng.choice(pool, n, replace=False)]
    if method.startswith("positive"):
        return integers
    integers = [v if rng.random() < 0.5 else -v for v in integers]
    if method.startswith("planted"):
        rest = -sum(integers[: 1 + int(rng.integers(1, n - 1))])
        integers[-1] = rest if rest and rest not in integers[:-1] else integers[-1]
    return integers


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """A row for each k: 2^k p(0) beside the truth, or the sum of the subset found beside zero."""
    integers = instance(method, seed, 8 if setting.quick else 11)
    rows = []
    for k in range(1, len(integers) + 1):
        began = time.perf_counter()
        level, positions = subset_by_projection(integers, k)
        seconds = time.perf_counter() - began
        if method.endswith("sum of the subset found"):
            if positions:
                rows.append(
                    Row(
                        seed,
                        method,
                        k,
                        float(abs(sum(integers[i] for i in positions))),
                        0.0,
                        seconds,
                    )
                )
        else:
            rows.append(
                Row(seed, method, k, level, float(not subset_by_enumeration(integers, k)), seconds)
            )
    return rows or [Row(seed, method, 0, 0.0, 0.0, 0.0)]


KINDS = ("planted", "random signs", "positive")
METHODS = [*KINDS, *(f"{kind}: sum of the subset found" for kind in KINDS[:2])]


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether every answer read off a projection is the truth."""
    answers = [row for kind in KINDS for row in table.of(kind)]
    right = sum(
        round(row.train) == row.test and abs(row.train - row.test) < 1e-9 for row in answers
    )
    exist = sum(row.test == 0.0 for row in answers)
    sums = [row for method in METHODS[3:] for row in table.of(method) if row.x > 0]
    zero = sum(row.train == 0.0 for row in sums)
    text = (
        f"{len(answers)} questions (set, k), sets of {int(max(row.x for row in answers))}"
        " integers; "
    )
    text += "enumeration is the truth"
    tells = Reading(
        "p(0) = 1/2^k means that there is none",
        right == len(answers),
        f"right in {right} of {len(answers)} ({exist} with a subset)",
    )
    finds = Reading(
        "where there is one, the projection's support is one",
        zero == len(sums) == exist_of(table),
        f"the entries found sum to zero in {zero} of {len(sums)}",
    )
    text += (
        "; q_k is a table of 2^n entries here, the reduction is polynomial only for a q given by a"
        " rule"
    )
    return [
        Claim(
            "subset sum by projection",
            "the projection of q_k tells whether k integers sum to zero",
            "theorem 1, appendix D",
            f"right in {right} of {len(answers)} questions",
            (tells, finds),
            text,
        )
    ]


def exist_of(table: Table) -> int:
    """How many questions of the planted and random sets have a subset."""
    return sum(row.test == 0.0 for kind in KINDS[:2] for row in table.of(kind))


EXPERIMENT = Experiment(
    name="theorem1",
    title=TITLES["theorem1"],
    x="k",
    x_means="the size of the subset asked for; 0 where a set has no subset at all",
    train="2^k p(0) of the projection, or the absolute sum of the subset found",
    test="the truth by enumeration: 1 if no subset of k sums to zero",
    runs=30,
    quick_runs=5,
    sizes=lambda setting: {"n": 8 if setting.quick else 11, "largest": MAX_INTEGER},
    methods=lambda setting: dict.fromkeys(METHODS),
    measure=measure,
    claims=claims,
)
EXPERIMENTS = {"theorem1": EXPERIMENT}
