"""Which engine serves a problem: decided here, by what objective and constraint can do."""

from typing import Any

from ..constraints.dimension_sparse import DimensionSparse
from ..constraints.group_sparse import GroupSparse
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..probe import is_ours
from ..protocols import (
    Choosing,
    Covered,
    Direct,
    FaceSolvable,
    Objective,
    Programmed,
    Quadratic,
    implements,
    require_whole_faces,
    whole_faces,
)
from .engine import Engine


def engine_of(
    objective: Objective, constraint: Any, who: str = "the solver", deadline: Deadline | None = None
) -> Engine:
    """The engine for a problem.

    Coverage for L2 and KL over D_k, conditioned where weights have linear conditions or the loss
    its own programme, quadratic on other sparse simplices, faces for the rest. Raises a sentence
    where none can serve; `who` is the solver that asks, `deadline` when it has to have an answer.
    """
    until = Deadline.after(None) if deadline is None else deadline
    if covered(objective, constraint):
        from .coverage import coverage_engine

        engine = coverage_engine(objective, constraint)
        if engine is not None:
            return engine
    if programmed(objective, constraint):
        from .conditioned import ConditionedEngine

        return ConditionedEngine(objective, constraint.rules, until)
    if distances(objective, constraint):
        from .quadratic import QuadraticEngine

        return QuadraticEngine(objective, constraint.rules, until)
    require_whole_faces(constraint, who)
    from .faces import FacesEngine

    return FacesEngine(objective, constraint, until)


def served(objective: Objective, constraint: Any) -> bool:
    """Whether an engine serves the problem."""
    if covered(objective, constraint):
        return True
    return (
        whole_faces(constraint)
        or implements(constraint, Choosing)
        or distances(objective, constraint)
        or programmed(objective, constraint)
    )


def covered(objective: Objective, constraint: Any) -> bool:
    """Whether the minimum on a face depends only on the mass that its dimensions cover."""
    return isinstance(constraint, DimensionSparse) and implements(objective, Covered, FaceSolvable)


def entrywise(constraint: Any) -> bool:
    """Whether a unit is an entry with a weight of its own: a sparse simplex."""
    return isinstance(constraint, SparseSimplex)


def distances(objective: Any, constraint: Any) -> bool:
    """Whether the problem is a quadratic on a sparse simplex without conditions that is a squared distance.

    Its tables and bounds need F[p] = pᵀGp with G positive semi-definite where Σp = 1. Any other
    quadratic, as one that falls below zero, is served by quadratic programmes.
    """
    if not (entrywise(constraint) and implements(objective, Quadratic)):
        return False
    distance = is_ours(objective) or hasattr(objective, "centred")
    return distance and constraint.rules.conditions is None


def programmed(objective: Objective, constraint: Any) -> bool:
    """Whether supports are sets of entries with rules of their own, or weights are found by convex programmes.

    That is: conditions on weights, a loss that has its own programme, a quadratic that may be
    negative, or entries within a few groups.
    """
    if not entrywise(constraint):
        return isinstance(constraint, GroupSparse) and not constraint.whole_faces
    quadratic = implements(objective, Quadratic) and not distances(objective, constraint)
    return quadratic or implements(objective, Programmed)


def knows_its_optimum(objective: Any, constraint: Any) -> bool:
    """Whether the objective finds the best k entries by itself."""
    return implements(objective, Direct) and entrywise(constraint) and constraint.whole_faces
