"""Theorem 2: no polynomial projection onto D_k has a bounded ratio.

The adversary at work (appendix E).
"""

import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from fewer import DimensionSparse, Lattice

from .arrays import Vector, project_simplex
from .catalogue import TITLES
from .experiment import Claim, Experiment, Reading, Row, Setting, Table

DELTAS = tuple(float(f"{delta:.3g}") for delta in np.logspace(0, -6, 13))
GREEDY, ALL = "greedy (Algorithm 2)", "greedy with the heaviest states (reads all)"


class Watched:
    """A table that remembers which of its entries were read."""

    def __init__(self, v: Vector) -> None:
        self.v, self.read = v, np.zeros(v.size, bool)

    def __getitem__(self, entries: Any) -> Vector:
        self.read[entries] = True
        return np.asarray(self.v[entries])


def excess(v: Vector) -> float:
    """The least ‖p - v‖² over distributions p, minus ‖v‖²."""
    p = project_simplex(v)
    return float(p @ (p - 2.0 * v))


def watched_greedy(table: Watched, space: Lattice, k: int) -> list[int]:
    """Algorithm 2 word for word on a watched table: the dimensions it picks, ties to the lowest index."""
    units: list[int] = []
    while len(units) < k:
        distances = [
            np.inf if i in units else excess(table[space.face([*units, i])]) for i in range(space.n)
        ]
        best = min(distances)
        units.append(next(i for i, d in enumerate(distances) if d <= best + 1e-12 * abs(best)))
    return sorted(units)


def unread_states(space: Lattice, k: int, seed: int) -> Iterator[int]:
    """States of exactly k ones that greedy does not read on the zero table, in random order."""
    table = Watched(np.zeros(space.size))
    support = watched_greedy(table, space, k)
    supports = [list(units) for units in combinations(range(space.n), k) if list(units) != support]
    for position in np.random.default_rng([seed, 2]).permutation(len(supports)):
        state = np.zeros(space.n, np.int64)
        state[supports[int(position)]] = 1
        index = int(space.ravel(state[None])[0])
        if not table.read[index]:
            yield index


def size_of(seed: int, quick: bool) -> tuple[Lattice, int]:
    """(space, k) of a run: n = 6, 8, ..., 14 in turn (up to 10 when quick), k = n/2."""
    n = 6 + 2 * (seed % (3 if quick else 5))
    return Lattice(n, 2), n // 2


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """For each delta: the ratio reached against the adversary's table, and what the theorem promises at least."""
    space, k = size_of(seed, setting.quick)
    state = next(unread_states(space, k, seed))
    C = DimensionSparse(space, k, incumbent=method == ALL)
    best = DimensionSparse(space, k, projection="exact")
    rows = []
    for delta in DELTAS:
        q = np.zeros(space.size)
        q[state] = 1.0 + delta
        began = time.perf_counter()
        projected = C.project(q)
        seconds = time.perf_counter() - began
        optimum = ((q - best.project(q)) ** 2).sum()
        promised = (2.0**-k + (1.0 + delta) ** 2) / delta**2 - 1.0
        rows.append(
            Row(
                seed,
                method,
                delta,
                float(((q - projected) ** 2).sum() / optimum - 1.0),
                promised,
                seconds,
            )
        )
    return rows


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether greedy's ratio reaches the promise at each delta, and so grows without bound."""
    rows = table.of(GREEDY)
    reached = sum(row.train >= row.test * (1 - 1e-6) for row in rows)
    smallest = min(row.x for row in rows)
    ratio = min(row.train for row in rows if row.x == smallest)
    text = (
        f"n = 6 to {10 if setting.quick else 14}, k = n/2; x* is a state that greedy does not read"
        " on the zero table"
    )
    grows = all(
        np.all(
            np.diff(
                [r.train for r in sorted(table.of(GREEDY), key=lambda r: -r.x) if r.seed == seed]
            )
            > 0
        )
        for seed in setting.seeds
    )
    other = max(row.train for row in table.of(ALL))
    greedy = Reading(
        "greedy (Algorithm 2)",
        reached == len(rows) and grows,
        f"reached at {reached} of {len(rows)} points; at delta = {smallest:.0e} at least"
        f" {ratio:.3g}",
    )
    reads_all = Reading(
        "greedy with incumbent=True",
        other < 1e-6,
        f"largest ratio - 1 over all points: {other:.2g}",
    )
    return [
        Claim(
            "greedy projection and its adversary",
            "the ratio exceeds (1/2^k + (1 + delta)²) / delta² - 1, without bound",
            "theorem 2, appendix E",
            f"reached at {reached} of {len(rows)} points, up to"
            f" {max(row.train for row in rows):.1g}",
            (greedy,),
            text,
        ),
        Claim(
            "a projection that reads every entry",
            "the adversary does not fool it",
            "",
            f"largest ratio - 1: {other:.2g}",
            (reads_all,),
            text,
        ),
    ]


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """The ratio against delta, measured and promised."""
    axis = figure.subplots()
    rows = sorted(table.of(GREEDY), key=lambda row: (row.seed, -row.x))
    for seed in setting.seeds:
        mine = [row for row in rows if row.seed == seed]
        n = size_of(seed, setting.quick)[0].n
        new = (
            f"n = {n}, k = {n // 2}" if seed - setting.seed < (3 if setting.quick else 5) else None
        )
        axis.plot(
            [r.x for r in mine],
            [r.train for r in mine],
            "o",
            markersize=4 + (n - 6) / 2,
            fillstyle="none",
            color=("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00")[(n - 6) // 2],
            label=new,
        )
    one = [row for row in rows if row.seed == setting.seed]
    axis.plot(
        [r.x for r in one],
        [r.test for r in one],
        "-",
        color="#222222",
        linewidth=1,
        label="the theorem's bound",
    )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.invert_xaxis()
    axis.set_xlabel(r"$\delta$")
    axis.set_ylabel(r"$\|q-\hat p\|^2 / \|q-p^\star\|^2 - 1$")
    axis.set_title("Theorem 2: the adversary against greedy projection")
    axis.legend()


EXPERIMENT = Experiment(
    name="theorem2",
    title=TITLES["theorem2"],
    x="delta",
    x_means="the excess of the one entry over 1",
    train="the ratio of squared distances, greedy's to the optimum's, minus 1",
    test="the theorem's lower bound on it",
    runs=5,
    quick_runs=3,
    sizes=lambda setting: {
        "n": sorted({size_of(i, setting.quick)[0].n for i in range(5)}),
        "deltas": DELTAS,
    },
    methods=lambda setting: {GREEDY: {"incumbent": False}, ALL: {"incumbent": True}},
    measure=measure,
    picture=picture,
    claims=claims,
)
EXPERIMENTS = {"theorem2": EXPERIMENT}
