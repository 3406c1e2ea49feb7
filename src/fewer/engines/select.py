"""Which engine serves a problem: decided here, by what objective and constraint can do."""

from typing import Any

from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..protocols import Budgeted, Covered, FaceSolvable, Objective, Quadratic, offers, require_whole_faces, whole_faces
from .engine import Engine


def engine_of(
    objective: Objective, constraint: Any, who: str = "the solver", deadline: Deadline | None = None
) -> Engine:
    """The engine for a problem: coverage for L2 and KL over dimensions, quadratic on sparse simplices, else faces.

    Raises a sentence where none can serve; `who` is the solver that asks, `deadline` when it has to have an answer.
    """
    until = Deadline.after(None) if deadline is None else deadline
    if offers(constraint, Budgeted) and offers(objective, Covered, FaceSolvable):
        from .coverage import coverage_engine

        engine = coverage_engine(objective, constraint)
        if engine is not None:
            return engine
    if isinstance(constraint, SparseSimplex) and offers(objective, Quadratic):
        from .quadratic import QuadraticEngine

        return QuadraticEngine(objective, constraint, until)
    require_whole_faces(constraint, who)
    from .faces import FacesEngine

    return FacesEngine(objective, constraint, until)


def served(objective: Objective, constraint: Any) -> bool:
    """Whether an engine serves the problem."""
    if offers(constraint, Budgeted) and offers(objective, Covered, FaceSolvable):
        return True
    return whole_faces(constraint) or (isinstance(constraint, SparseSimplex) and offers(objective, Quadratic))
