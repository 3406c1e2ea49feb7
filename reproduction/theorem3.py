"""Theorem 3: for a short step from p with enough positive states greedy finds p's support (appendix F)."""

import math
import time
from itertools import combinations
from typing import Any

import numpy as np

from fewer import L2, DimensionSparse, Lattice

from .arrays import Indices, Vector, project_simplex
from .catalogue import TITLES
from .experiment import Claim, Experiment, Reading, Row, Setting, Table

SPACE, K = Lattice(9, 2), 4
STEPS = tuple(float(f"{mu:.3g}") for mu in np.logspace(-4, -0.5, 15))
SHARES = {"all": 1.0, "half": 0.5, "single ones": 0.0}
"""Which share of the 2^k states on p's support is positive; 0 stands for the k states with a single
one."""
LENGTHS = {"L over D_k": False, "norm at p": True}


def distance(v: Vector, units: Any) -> float:
    """Min over P_S of the l2 norm of p - v."""
    face = SPACE.face(units)
    apart = v.copy()
    apart[face] -= project_simplex(v[face])
    return float(np.linalg.norm(apart))


def margin(p: Vector, support: Indices) -> float:
    """The right side of the condition: the least lead of a dimension inside the support over one outside.

    min over S ⊂ S', i outside S', j in S' but not S, of ‖p_{S∪i} - p‖ - ‖p_{S∪j} - p‖.
    """
    inside = [int(i) for i in support]
    outside = [i for i in range(SPACE.n) if i not in inside]
    least = math.inf
    for size in range(len(inside)):
        for chosen in combinations(inside, size):
            others = min(distance(p, [*chosen, i]) for i in outside)
            own = max(distance(p, [*chosen, j]) for j in inside if j not in chosen)
            least = min(least, others - own)
    return least


def member(rng: np.random.Generator, share: float) -> tuple[Vector, Indices]:
    """A random distribution with this share of positive states on a random support, all of whose dimensions it uses."""
    C = DimensionSparse(SPACE, K)
    while True:
        support = np.sort(rng.choice(SPACE.n, K, replace=False))
        face = SPACE.face(support)
        entries = (
            rng.choice(face, round(share * face.size), replace=False)
            if share
            else SPACE.strides[support]
        )
        p = np.zeros(SPACE.size)
        p[entries] = rng.dirichlet(np.ones(entries.size))
        if C.support(p).size == K:
            return p, support


def lipschitz(F: L2) -> float:
    """The largest norm of dF/dp = 2 (p - q) over D_k: convex in p, so at one state of at most k ones."""
    used = SPACE.unravel(np.arange(SPACE.size)).sum(axis=1) <= K
    return 2.0 * math.sqrt(float(F.q @ F.q) + 1.0 - 2.0 * float(F.q[used].min()))


def enough(p: Vector, support: Indices) -> bool:
    """Whether for each S ⊂ S' and j in S' but not S some x in X_{S∪j} outside X_S has p(x) > 0."""
    inside = [int(i) for i in support]
    for size in range(len(inside)):
        for chosen in combinations(inside, size):
            old = SPACE.face(list(chosen))
            for j in set(inside) - set(chosen):
                if not p[np.setdiff1d(SPACE.face([*chosen, j]), old)].any():
                    return False
    return True


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """For each step: whether the condition holds, and whether greedy finds the support of p.

    Or the lead alone.
    """
    positive, _, length = method.partition(", ")
    rng = np.random.default_rng([seed, 3])
    p, support = member(rng, SHARES[positive])
    lead = margin(p, support)
    if length == "lead":
        return [
            Row(
                seed,
                method,
                0.0,
                0.0 if abs(lead) < 1e-12 else lead,
                float(enough(p, support)),
                math.nan,
            )
        ]
    F, C = L2(SPACE, rng.dirichlet(np.ones(SPACE.size))), DimensionSparse(SPACE, K)
    gradient = F.gradient(p)
    L = float(np.linalg.norm(gradient)) if LENGTHS[length] else lipschitz(F)
    face = SPACE.face(support)
    rows = []
    for mu in STEPS:
        began = time.perf_counter()
        v = p - mu * gradient
        found = C.project(v)
        seconds = time.perf_counter() - began
        recovered = bool(np.abs(found - L2(SPACE, v).best_on(face)).max() < 1e-12)
        rows.append(Row(seed, method, mu, float(2.0 * mu * L < lead), float(recovered), seconds))
    return rows


def names(setting: Setting) -> list[str]:
    """The methods: what share of the states is positive, and how L is read."""
    return [f"{positive}, {what}" for positive in SHARES for what in (*LENGTHS, "lead")]


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether greedy finds the support wherever the condition holds, and how often it holds."""
    text = (
        f"n = {SPACE.n}, m = 2, k = {K}, l2, {setting.runs} random p and q, with all, half or only"
        " the k single "
    )
    text += "ones of the 2^k states on p's support positive; steps 1e-4 to 0.32"
    where = "theorem 3, appendix F"
    readings = []
    for length in LENGTHS:
        rows = [row for positive in SHARES for row in table.of(f"{positive}, {length}")]
        held = [row for row in rows if row.train]
        right, free = sum(bool(row.test) for row in held), sum(bool(row.test) for row in rows)
        often = ", ".join(
            f"{positive} {np.mean([r.train for r in table.of(f'{positive}, {length}')]):.0%}"
            for positive in SHARES
        )
        measured = (
            f"greedy right in {right} of {len(held)} cases where it holds (and in {free} of"
            f" {len(rows)} in all); "
        )
        readings.append(Reading(length, right == len(held) > 0, f"{measured}it holds in: {often}"))
    leads = [row for positive in SHARES for row in table.of(f"{positive}, lead")]
    plenty = [row for row in leads if row.test]
    good = sum(row.train > 0 for row in plenty)
    share = (
        f"enough positions in {len(plenty)} of {len(leads)} p; the lead is positive in {good} of"
        " these"
    )
    return [
        Claim(
            "greedy projection after a short step",
            "where 2 mu L is below the lead of p's own dimensions, greedy finds p's support",
            where,
            readings[0].measured.split(" (")[0],
            tuple(readings),
            text,
        ),
        Claim(
            "enough positive states",
            "they make the lead positive, so that some step is short enough",
            where,
            f"positive in {good} of {len(plenty)} p with enough states",
            (
                Reading(
                    "every step of the way adds a positive state", good == len(plenty) > 0, share
                ),
            ),
            text,
        ),
    ]


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """How often the condition holds and how often greedy is right, against the step."""
    axes = figure.subplots(1, len(SHARES), sharey=True)
    for axis, positive in zip(axes, SHARES, strict=True):
        for length, colour in zip(LENGTHS, ("#0072b2", "#009e73"), strict=True):
            method = f"{positive}, {length}"
            share = [table.column(method, "train", mu).mean() for mu in STEPS]
            axis.plot(
                STEPS, share, "o-", markersize=3, color=colour, label=f"condition holds ({length})"
            )
        right = [table.column(f"{positive}, norm at p", "test", mu).mean() for mu in STEPS]
        axis.plot(
            STEPS, right, "s--", markersize=3, color="#d55e00", label="greedy finds the support"
        )
        axis.set_xscale("log")
        axis.set_xlabel(r"step $\mu$")
        axis.set_title(f"positive states on the support: {positive}")
    axes[0].set_ylabel("share of instances")
    axes[0].set_ylim(-0.05, 1.08)
    axes[1].legend(loc="center", fontsize=8)
    figure.suptitle(
        f"Theorem 3: the condition is sufficient, not necessary ({setting.runs} instances)",
        fontsize=11,
    )


EXPERIMENT = Experiment(
    name="theorem3",
    title=TITLES["theorem3"],
    x="mu",
    x_means="the step (0 for the lead)",
    train="1 where the condition holds; lead: the lead of p's own dimensions",
    test=(
        "1 where greedy's projection is the optimal one onto p's support; lead: 1 where p has"
        " enough positive states"
    ),
    runs=100,
    quick_runs=15,
    sizes=lambda setting: {"n": SPACE.n, "k": K, "steps": STEPS, "shares": SHARES},
    methods=lambda setting: dict.fromkeys(names(setting)),
    measure=measure,
    picture=picture,
    claims=claims,
    size=(10.0, 3.8),
)
EXPERIMENTS = {"theorem3": EXPERIMENT}
