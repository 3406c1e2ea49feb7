"""What `contains` says at the very limits of each constraint.

All numbers here are exact in binary.
"""

from dataclasses import FrozenInstanceError

import pytest

from fewer import (
    Atoms,
    DimensionSparse,
    Lattice,
    Simplex,
    SparseSimplex,
    SparseStates,
)

SIMPLEX = Simplex(Atoms(2))
PAIRS = SparseSimplex(Atoms(4), 2)
BOX = SparseSimplex(Atoms(4), 3, min_weight=0.25, max_weight=0.75)
GROUPED = SparseSimplex(Atoms(4), 4, groups=[0, 0, 0, 1], max_per_group=2)
WITHOUT_LAST = SparseSimplex(Atoms(4), 2, exclude=[3])
ONE_DIMENSION = DimensionSparse(Lattice(2, 2), 1)
ONE_ENTRY = SparseStates(Lattice(2, 2), 1)
TINY = 2.0**-40


@pytest.mark.parametrize(
    ("constraint", "p", "tol", "member"),
    [
        (SIMPLEX, [1.0, 0.0], 0.0, True),
        (SIMPLEX, [1.25, -0.25], 0.25, True),
        (SIMPLEX, [1.25, -0.25], 0.125, False),
        (SIMPLEX, [0.75, 0.5], 0.25, True),
        (SIMPLEX, [0.75, 0.5], 0.125, False),
        (SIMPLEX, [0.5, 0.25], 0.25, True),
        (SIMPLEX, [0.5, 0.25], 0.125, False),
        (PAIRS, [0.5, 0.5, 0.0, 0.0], 0.0, True),
        (PAIRS, [0.5, 0.25, 0.25, 0.0], 0.0, False),
        (PAIRS, [0.5, 0.5, TINY, 0.0], 0.5, False),
        (BOX, [0.25, 0.75, 0.0, 0.0], 0.0, True),
        (BOX, [0.125, 0.75, 0.125, 0.0], 0.125, True),
        (BOX, [0.125, 0.75, 0.125, 0.0], 0.0625, False),
        (BOX, [0.25, 0.875, 0.0, 0.0], 0.125, True),
        (BOX, [0.25, 0.875, 0.0, 0.0], 0.1, False),
        (GROUPED, [0.5, 0.25, 0.0, 0.25], 0.0, True),
        (GROUPED, [0.25, 0.25, 0.25, 0.25], 0.0, False),
        (WITHOUT_LAST, [1.0, 0.0, 0.0, 0.0], 0.0, True),
        (WITHOUT_LAST, [1.0, 0.0, 0.0, TINY], 0.5, False),
        (ONE_DIMENSION, [0.5, 0.5, 0.0, 0.0], 0.0, True),
        (ONE_DIMENSION, [0.5, 0.25, 0.25, 0.0], 0.0, False),
        (ONE_DIMENSION, [0.75, 0.0, 0.0, 0.25], 0.25, True),
        (ONE_DIMENSION, [0.75, 0.0, 0.0, 0.25], 0.125, False),
        (ONE_ENTRY, [0.5, 0.25, 0.25, 0.0], 0.0, True),
        (ONE_ENTRY, [0.75, 0.0, 0.0, 0.25], 0.25, True),
        (ONE_ENTRY, [0.75, 0.0, 0.0, 0.25], 0.125, False),
    ],
)
def test_members_at_the_limits(constraint, p, tol, member):
    assert constraint.contains(p, tol) is member


@pytest.mark.parametrize("constraint", [SIMPLEX, PAIRS, ONE_DIMENSION, ONE_ENTRY])
def test_constraints_are_frozen(constraint):
    with pytest.raises(FrozenInstanceError):
        constraint.space = Atoms(9)
