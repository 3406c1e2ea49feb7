"""What solvers ask of an engine."""

import math
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._validation import Indices, Vector

NO_UNITS = np.empty(0, np.int64)


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

    `grow`, `improve` and `perturb` change the support in place. `improve` and `perturb` never raise
    `value`.
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

    def grow(self, count: int) -> int:
        """Add at most `count` units, the one that lowers F most at a time.

        0 when it is full, else something more.

        With count = 1 this is a step of Algorithm 3. A larger count may look at all units once for
        several.
        """
        ...

    def improve(self, moves: int) -> int:
        """Make at most `moves` moves (swaps, mostly), each of which lowers F.

        0 at a local optimum, else more.
        """
        ...

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units at random, improve, and stay there if F is lower, else go back.

        Whether it stayed.
        """
        ...

    def answer(self) -> Vector | None:
        """The member with the best weights on the support, or None while no member has it."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """An engine that can prove: `exact` branches on what it says."""

    @property
    def proof_refusal(self) -> str:
        """Why a proof without limits cannot be expected to end, as the beginning of a sentence.

        Empty where it can.
        """
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
        """Look at a branch for a short while.

        What is left of it: nothing, one branch to look at again, or two.

        Every support of `branch` is in one of those returned, or has no value below `proven`. The
        bounds returned are at least that of `branch`. If the look meets a better support, the
        engine moves there.
        """
        ...
