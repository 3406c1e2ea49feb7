"""What solvers ask of an engine, and which engine serves a problem."""

import math
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._validation import Indices, InvalidInput, Vector
from ..deadline import Deadline
from ..protocols import (
    Choosing,
    Covered,
    FaceSolvable,
    Objective,
    Sparsity,
    distances,
    entrywise,
    implements,
    programmed,
    refits,
    require,
    whole_faces,
)
from ..rules import NO_UNITS
from .fits import Fit, refitted


class Branch(NamedTuple):
    """The supports that hold all units of `included` and none of `excluded`.

    bound: no member on such a support has a lower value; memory: what an engine keeps to go on
    from.
    """

    included: Indices = NO_UNITS
    excluded: Indices = NO_UNITS
    bound: float = -math.inf
    memory: Any = None


@runtime_checkable
class Engine(Protocol):
    """A support on the move, for one objective and one constraint; it starts empty.

    Its methods change the support in place. `improve` and `perturb` never raise `value`.
    """

    @property
    def value(self) -> float:
        """F at `answer()`; infinite while there is no answer."""
        ...

    @property
    def support(self) -> Indices:
        """The units in use, sorted."""
        ...

    @property
    def work(self) -> float:
        """Multiplications so far, about: what budgets are counted in."""
        ...

    @property
    def patience(self) -> float:
        """The default budget: work that perturbations in a row may cost without a gain before a search ends."""
        ...

    def add_best(self) -> int:
        """A step of Algorithm 3: add the unit that lowers F most; 0 when the support is full, else more."""
        ...

    def grow(self, count: int) -> int:
        """Add some `count` units as suits a search, with look-ahead; 0 when the support is full, else more."""
        ...

    def improve(self, moves: int) -> int:
        """Make at most `moves` moves (swaps, mostly), each of which lowers F; 0 at a local optimum, else more."""
        ...

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units at random, improve, and stay there if F is lower, else go back; whether it stayed."""
        ...

    def answer(self) -> Vector | None:
        """The member with the best weights on the support, or None while no member has it."""
        ...

    @property
    def proof_refusal(self) -> str:
        """Why a proof without limits cannot be expected to end, as the beginning of a sentence; empty where it can."""
        ...

    @property
    def proof_budget(self) -> float:
        """The work that "auto" spends on a proof by default; 0 where none is worth trying."""
        ...

    @property
    def proven(self) -> float:
        """No support of a branch that `bound` has closed has a lower value: `value` less rounding, before that inf."""
        ...

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Look at a branch for a short while: what is left of it, nothing, one branch to look at again, or two.

        Every support of `branch` is in one of those returned, or has no value below `proven`. The
        bounds returned are at least that of `branch`. If the look meets a better support, the
        engine moves there.
        """
        ...


class Incumbent:
    """The best fit so far, as an engine shows it."""

    best: Fit | None = None

    @property
    def value(self) -> float:
        """F at the answer."""
        return math.inf if self.best is None else self.best.value

    @property
    def support(self) -> Indices:
        """The units in use, sorted."""
        return NO_UNITS if self.best is None else self.best.units


def engine_of(
    objective: Objective, constraint: Any, who: str = "the solver", deadline: Deadline | None = None
) -> Engine:
    """The engine for a problem.

    Coverage for L2 and KL over D_k, the quadratic engine for squared distances over entries, and
    for all else the general search. `who` is the solver that asks, `deadline` when it has to have
    an answer.
    """
    until = Deadline.after(deadline)
    if covered(objective, constraint):
        from .coverage import coverage_engine

        engine = coverage_engine(objective, constraint)
        if engine is not None:
            return engine
    if distances(objective, constraint):
        from .quadratic import QuadraticEngine

        return QuadraticEngine(objective, constraint.rules, until)
    from .search import search_by_faces, search_by_programmes

    if programmed(objective, constraint):
        return search_by_programmes(objective, constraint.rules, until)
    require(constraint, Sparsity, f"{who}'s constraint")
    if not (whole_faces(constraint) or implements(constraint, Choosing)):
        raise InvalidInput(
            f"{who} takes faces whole and cannot keep weight bounds, include, exclude or groups;"
            " use iht, whose projection keeps them exactly"
        )
    return search_by_faces(objective, constraint, until)


def covered(objective: Objective, constraint: Any) -> bool:
    """Whether the minimum on a face depends only on the mass that its dimensions cover."""
    dimensions = getattr(constraint, "dimensions", False)
    return dimensions and implements(objective, Covered, FaceSolvable)


def served(objective: Objective, constraint: Any) -> bool:
    """Whether an engine serves the problem."""
    if whole_faces(constraint) or implements(constraint, Choosing):
        return True
    return (
        covered(objective, constraint)
        or distances(objective, constraint)
        or programmed(objective, constraint)
    )


def best_near(objective: Any, constraint: Any, p: Vector) -> Vector:
    """The best member with the support of p, where that is known; else p."""
    if entrywise(constraint):
        units = constraint.support(p)
        if distances(objective, constraint):
            return refitted(objective, constraint.rules, units, p[units]).on_all(p.size)
        if programmed(objective, constraint):
            from .programmes import best_weights

            return best_weights(objective, constraint.rules, units, p)
    if not refits(constraint):
        return p
    face = constraint.face(constraint.support(p))
    if implements(objective, FaceSolvable):
        return np.asarray(objective.best_on(face))
    from .faces import face_best

    return face_best(objective, face)
