"""Theorem 5: the variational derivative is the gradient, whatever the bijection (appendix B)."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fewer import KL, L2, MMD, Lattice, Moments

from .arrays import Vector
from .catalogue import TITLES
from .experiment import Claim, Experiment, Reading, Row, Setting, Table

SPACE = Lattice(5, 2)
BIJECTIONS = 10
CLOSE_RELATIVE = 1e-7
"""Differences in double precision agree with a derivative to about this, relative to its size."""


def quadratic(rng: np.random.Generator) -> MMD:
    """A random MMD."""
    root = rng.standard_normal((SPACE.size, SPACE.size))
    return MMD(SPACE, root @ root.T / SPACE.size, rng.dirichlet(np.ones(SPACE.size)))


OBJECTIVES: dict[str, Callable[[np.random.Generator], Any]] = {
    "l2": lambda rng: L2(SPACE, rng.dirichlet(np.ones(SPACE.size))),
    "KL": lambda rng: KL(SPACE, rng.dirichlet(np.ones(SPACE.size)), 1e-12),
    "moments": lambda rng: Moments(
        SPACE, rng.standard_normal((8, SPACE.size)), rng.standard_normal(8)
    ),
    "MMD": quadratic,
}


def slope(f: Callable[[float], float], step: float) -> float:
    """The derivative of f at 0 by central differences of fourth order."""
    return (8.0 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12.0 * step)


def gradient_by_differences(f: Callable[[Vector], float], q: Vector) -> Vector:
    """Definition 7: the partial derivatives of a function of vectors, one entry after the other."""
    gradient = np.empty(q.size)
    for i in range(q.size):
        unit = np.zeros(q.size)
        unit[i] = 1.0
        gradient[i] = slope(lambda e, u=unit: f(q + e * u), 1e-3 * q[i])  # type: ignore[misc] # a default binds u
    return gradient


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """For each bijection: how far the gradient of the vector function and the slope along phi are from dF/dq."""
    rng = np.random.default_rng([seed, 5])
    F = OBJECTIVES[method](rng)
    rows = []
    for number in range(BIJECTIONS):
        began = time.perf_counter()
        q = rng.dirichlet(np.full(SPACE.size, 5.0))
        phi = q * rng.uniform(
            -1.0, 1.0, q.size
        )  # any function will do; this one keeps q + e phi positive
        bijection = rng.permutation(SPACE.size)
        derivative = F.gradient(q)
        scale = float(np.abs(derivative).max())

        def as_vectors(v: Vector, order: Any = bijection) -> float:
            return float(F.value(v[order]))  # q(x) = v at Phi(x)

        v = np.empty(q.size)
        v[bijection] = q
        difference = (
            np.abs(gradient_by_differences(as_vectors, v)[bijection] - derivative).max() / scale
        )
        along = slope(lambda e, q=q, phi=phi: F.value(q + e * phi), 1e-3)  # type: ignore[misc] # as above
        off = abs(along - float(derivative @ phi)) / max(
            abs(along), scale * float(np.abs(phi).sum())
        )
        rows.append(
            Row(seed, method, number, float(difference), float(off), time.perf_counter() - began)
        )
    return rows


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether both agree to the precision of differences."""
    text = (
        f"|X| = {SPACE.size}, random q and phi, {BIJECTIONS} random bijections in each of"
        f" {setting.runs} runs"
    )
    readings = []
    for method in OBJECTIVES:
        worst, along = table.column(method, "train").max(), table.column(method, "test").max()
        readings.append(
            Reading(
                method,
                bool(max(worst, along) < CLOSE_RELATIVE),
                f"largest relative difference {worst:.1e} at an entry, {along:.1e} along phi",
            )
        )
    return [
        Claim(
            "variational derivative and gradient",
            "dF/dq(x) is the gradient's entry at Phi(x), for any bijection Phi",
            "theorem 5, appendix B",
            "largest relative difference"
            f" {max(table.column(each, 'train').max() for each in OBJECTIVES):.1e}",
            tuple(readings),
            text,
        )
    ]


EXPERIMENT = Experiment(
    name="theorem5",
    title=TITLES["theorem5"],
    x="iteration",
    x_means="the number of the random bijection",
    train=(
        "largest difference between dF/dq(x) and the gradient's entry Phi(x), relative to the"
        " largest entry"
    ),
    test="relative difference between the slope of F along phi and the sum of dF/dq phi",
    runs=10,
    quick_runs=3,
    sizes=lambda setting: {"n": SPACE.n, "bijections": BIJECTIONS},
    methods=lambda setting: dict.fromkeys(OBJECTIVES),
    measure=measure,
    claims=claims,
)
EXPERIMENTS = {"theorem5": EXPERIMENT}
