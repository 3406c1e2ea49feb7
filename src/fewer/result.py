"""What a solver hands back."""

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from ._validation import Indices, Vector
from .distribution import Distribution
from .spaces import Space


class Status(Enum):
    """How a solve ended; the value is the sentence to show."""

    OPTIMAL = "The optimum is proven."
    CONVERGED = "Converged: the next step would change nothing above tol."
    FINISHED = "The search came to its end; its answer is not proven optimal."
    MAX_ITER = "Stopped after max_iter iterations; the best iterate is returned."
    TIME_LIMIT = "Stopped by the time limit; the best iterate is returned."
    CALLBACK = "Stopped by the callback; the best iterate is returned."
    INTERRUPTED = "Interrupted from the keyboard; the best iterate is returned."

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Result:
    """The best iterate of a solve, and what is known about it.

    p: the distribution as a vector on `space`; value: F[p]; support: the sorted units p uses; bound: a
    proven lower bound on the optimum, or None; history: the value of each iterate, a given start first;
    n_iter: how many iterates were computed; seconds: wall time without compiling; seed: what reproduces the
    random choices; kept: the distribution, where p alone does not tell it; error: one standard error of the value
    where that is an estimate, else 0; note: what was estimated, and how.
    """

    p: Vector = field(repr=False)
    value: float
    support: Indices
    bound: float | None
    status: Status
    history: Vector = field(repr=False)
    n_iter: int
    seconds: float
    space: Space = field(repr=False)
    seed: int | None = None
    kept: Distribution | None = field(repr=False, default=None)
    error: float = 0.0
    note: str = ""

    @property
    def gap(self) -> float | None:
        """Value - bound: how much better any answer could be; None where nothing is proven."""
        if self.bound is None:
            return None
        return 0.0 if self.value == self.bound else self.value - self.bound  # also where both are infinite

    @cached_property
    def distribution(self) -> Distribution:
        """The states that carry mass, with their weights."""
        return Distribution.of(self.space, self.p) if self.kept is None else self.kept
