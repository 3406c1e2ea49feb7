"""Every objective, constraint and solver, listed once.

Contract tests run on the product of what fits.
"""

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from fewer import (
    KL,
    L2,
    MMD,
    AbsoluteError,
    Atoms,
    Backtracking,
    Conditions,
    Constant,
    DimensionSparse,
    Doubling,
    DownsideError,
    Functional,
    GroupSparse,
    Lattice,
    Moments,
    Momentum,
    Refitting,
    RowsMMD,
    Simplex,
    SparseSimplex,
    SparseStates,
    States,
    exact,
    exchange,
    frank_wolfe,
    greedy,
    iht,
)
from fewer.search.engine import served
from fewer.similarity import similarity_of

RNG = np.random.default_rng(7)
SPACES = {
    "atoms": Atoms(7),
    "cube": Lattice(4, 2),
    "box": Lattice(3, (3, 2, 2)),
    "states": States(RNG.integers(0, 3, (12, 4)) * RNG.integers(0, 2, (12, 4))),
}


def target(space):
    q = np.random.default_rng(space.size).random(space.size) ** 3
    return q / q.sum()


def matrix(space):
    return np.random.default_rng(space.size + 1).standard_normal((5, space.size))


def coordinates(space):
    return np.random.default_rng(space.size + 2).standard_normal((space.size, 2))


def gram(space):
    z = coordinates(space)
    return np.exp(-0.5 * ((z[:, None] - z[None]) ** 2).sum(axis=2))


def entropic(space):
    q = target(space)

    def value(p):
        return ((p - q) ** 2 * (1 + np.arange(p.size))).sum()

    def gradient(p):
        return 2 * (p - q) * (1 + np.arange(p.size))

    return Functional(space, value, gradient, smoothness=2.0 * space.size)


OBJECTIVES = {
    "L2": lambda space: L2(space, target(space)),
    "L2 of any table": lambda space: L2(
        space, np.random.default_rng(3).standard_normal(space.size)
    ),
    "KL": lambda space: KL(space, target(space)),
    "Moments": lambda space: Moments(space, matrix(space), matrix(space) @ target(space) + 0.1),
    "Moments of an operator": lambda space: Moments(
        space, aslinearoperator(matrix(space)), np.ones(5)
    ),
    "MMD": lambda space: MMD(space, gram(space), target(space)),
    "RowsMMD": lambda space: RowsMMD.between(
        coordinates(space), target(space), similarity_of("rbf", 0.5), space=space
    ),
    "Functional": entropic,
    "AbsoluteError": lambda space: AbsoluteError(
        space, matrix(space), matrix(space) @ target(space) + 0.1
    ),
    "DownsideError": lambda space: DownsideError(
        space, matrix(space), matrix(space) @ target(space) + 0.1
    ),
}


def overlapping(space):
    """Runs of three entries that overlap by one."""
    starts = range(0, space.size - 1, 2)
    return np.array([[start <= i < start + 3 for i in range(space.size)] for start in starts])


CONSTRAINTS = {
    "Simplex": (Simplex, ("atoms", "cube", "states")),
    "SparseSimplex": (lambda space: SparseSimplex(space, 3), ("atoms", "cube", "states")),
    "SparseSimplex bounded": (
        lambda space: SparseSimplex(
            space,
            3,
            0.1,
            0.6,
            include=[1],
            exclude=[0],
            groups=np.arange(space.size) % 3,
            max_per_group=2,
        ),
        ("atoms", "cube", "states"),
    ),
    "DimensionSparse": (lambda space: DimensionSparse(space, 2), ("cube", "box", "states")),
    "DimensionSparse exact": (
        lambda space: DimensionSparse(space, 2, "exact"),
        ("cube", "box", "states"),
    ),
    "DimensionSparse incumbent": (
        lambda space: DimensionSparse(space, 2, incumbent=True),
        ("cube", "box", "states"),
    ),
    "SparseSimplex conditioned": (
        lambda space: SparseSimplex(
            space,
            3,
            groups=np.arange(space.size) % 3,
            max_group_weight=0.5,
            conditions=Conditions(previous=np.eye(space.size)[0], max_turnover=1.6),
        ),
        ("atoms",),
    ),
    "GroupSparse": (
        lambda space: GroupSparse(space, np.arange(space.size) % 4, 2),
        ("atoms", "cube"),
    ),
    "GroupSparse within": (
        lambda space: GroupSparse(space, np.arange(space.size) % 3, 2, max_per_group=2),
        ("atoms",),
    ),
    "GroupSparse overlapping": (
        lambda space: GroupSparse(space, overlapping(space), 2),
        ("atoms",),
    ),
    "SparseStates": (lambda space: SparseStates(space, 2), ("cube", "box", "states")),
}

STEPS = {
    "default": None,
    "constant": Constant(),
    "doubling": Doubling(0.05),
    "doubling seen": Doubling(0.05, trapped="seen"),
    "doubling objective": Doubling(0.05, trapped="objective"),
    "backtracking": Backtracking(),
    "momentum": Momentum(),
    "momentum fixed": Momentum(tau=0.25),
    "refitting": Refitting(),
}

SOLVERS = {
    **{
        f"iht {name}": lambda F, C, step=step, **o: iht(
            F, C, **{"step": step, "max_iter": 60, "rng": 5, **o}
        )
        for name, step in STEPS.items()
    },
    "frank_wolfe": lambda F, C, **o: frank_wolfe(F, C, **{"max_iter": 100, **o}),
    "greedy": lambda F, C, **o: greedy(F, C, **{"rng": 5, **o}),
    "exact": lambda F, C, **o: exact(F, C, **{"rng": 5, **o}),
    "exchange": lambda F, C, **o: exchange(F, C, **{"rng": 5, "budget": 1e5, **o}),
}
"""Searches are kept short: contracts hold of every answer, however long it was searched for."""

NEEDS_ENGINE = {"greedy", "exact", "exchange"}
STRUCTURED = (
    "SparseSimplex conditioned",
    "GroupSparse",
    "GroupSparse within",
    "GroupSparse overlapping",
)
LOSSES = ("AbsoluteError", "DownsideError")
FEW = ("KL", "Moments", "Functional", *LOSSES)
"""What meets sets and losses that are solved by programmes, which take longer."""
SHORT = ("iht default", "greedy", "exact", "exchange", "frank_wolfe")
NEEDS_SMOOTHNESS = {"frank_wolfe"}


def pairs():
    """(name, objective, constraint) for every objective on every constraint and space that fits."""
    for constraint_name, (make, spaces) in CONSTRAINTS.items():
        for space_name in spaces:
            for objective_name, build in OBJECTIVES.items():
                space = SPACES[space_name]
                structured = constraint_name in STRUCTURED and objective_name not in FEW
                if structured or (objective_name in LOSSES and space_name != "atoms"):
                    continue
                yield (
                    f"{objective_name} on {constraint_name} on {space_name}",
                    build(space),
                    make(space),
                )


def runs():
    """(name, solver, objective, constraint) for everything that fits together."""
    for name, F, C in pairs():
        for solver_name, solver in SOLVERS.items():
            engine = solver_name not in NEEDS_ENGINE or served(F, C)
            smooth = solver_name not in NEEDS_SMOOTHNESS or F.smoothness < np.inf
            programmed = any(word in name for word in (*STRUCTURED, *LOSSES))
            usual = solver_name in SHORT and not ("Absolute" in name and "iht" in solver_name)
            if engine and smooth and (usual or not programmed):
                yield f"{solver_name}: {name}", solver, F, C
