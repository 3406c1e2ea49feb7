"""Algorithm 1: iterative hard thresholding over distributions, and its step rules.

A rule is a frozen value whose `path` yields the iterates it leads to.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .._validation import (
    InvalidInput,
    Vector,
    as_generator,
    as_integer,
    as_number,
    known,
    shown,
)
from ..protocols import (
    Constraint,
    FaceSolvable,
    Objective,
    Quadratic,
    Sparsity,
    distances,
    implements,
    programmed,
    projection_note,
    refits,
    smoothness_of,
    whole_faces,
)
from ..result import Result, Status
from ..search.engine import best_near, engine_of
from .exchange import grown
from .loop import (
    Callback,
    Outcome,
    Problem,
    Step,
    Steps,
    as_start,
    check_partners,
    counted,
    power_of_two,
    solve,
)

MOST_DOUBLINGS = 60
"""A step this many times doubled is as good as infinite: nothing leaves the point."""
STEEP = 1e3
"""An infinite slope counts as so many times the largest finite one."""


class StepRule(Protocol):
    """How IHT moves from one iterate to the next."""

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """Yield the iterates that follow p; F of each is sent back."""
        ...


def iht(
    objective: Objective,
    constraint: Constraint,
    *,
    start: npt.ArrayLike | None = None,
    step: StepRule | None = None,
    max_iter: int = 500,
    tol: float = 1e-10,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Iterative hard thresholding over distributions: the best iterate along the path.

        p <- Π(p - mu dF/dp)

    The paper's Algorithm 1 is `iht(F, C, step=Doubling(0.008))`, and its "IHT after Greedy" is that
    call with `start=greedy(F, C).p`. Without a `step`, weights are refitted on each support, which
    the paper does not do.

    Parameters
    ----------
    objective, constraint
        F, and the set it is minimised over.
    start : array_like, optional
        A member of the constraint. By default a random distribution on a random face; for
        quadratics on sparse simplices without a `step`, where an active-set path of non-negative
        least squares leads.
    step : step rule, optional
        `Constant`, `Doubling`, `Backtracking`, `Momentum` or `Refitting`. By default `Refitting`
        for quadratics on sparse simplices, the paper's doubling on other sparse sets (each support
        valued by its best distribution where that is known), and on convex ones momentum, or
        backtracking where F has no smoothness.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when no entry changes by more than this.
    budget : float, optional
        Stop after about this many multiplications.
    time_limit : float, optional
        Wall time in seconds, but for compiling.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng : int, numpy Generator or None
        Seed or generator of the random start.

    Returns
    -------
    Result

    References
    ----------
    Blumensath and Davies (2009), Iterative hard thresholding for compressed sensing.

    Examples
    --------
    >>> from fewer import L2, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> F, C = L2(cube, [0.4, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0]), DimensionSparse(cube, 1)
    >>> result = iht(F, C, rng=0)
    >>> result.support.tolist(), round(result.value, 3)
    ([1], 0.135)
    """
    tol = as_number(tol, "tol", allow_equal=True)
    if step is not None and not implements(step, StepRule):
        raise InvalidInput(
            f"step must be a step rule such as Constant(mu) or Doubling(mu), got {shown(step)}"
        )
    check_partners(objective, constraint, "iht")
    rng, _ = as_generator(rng)
    rule = default_rule(objective, constraint) if step is None else step
    searches = step is None and (
        distances(objective, constraint) or programmed(objective, constraint)
    )
    first: Vector | None = None
    if start is not None:
        first = as_start(start, constraint)
    elif not searches:
        first = random_member(constraint, rng)

    def path(problem: Problem) -> Steps:
        F, C, p = problem.objective, problem.constraint, first
        if p is None:
            engine = engine_of(F, C, "iht", problem.deadline)
            yield from grown(engine)
            p = engine.answer()
        assert p is not None  # noqa: S101 - a support that has grown has an answer
        if isinstance(rule, Doubling) and rule.refit:  # as all that follow
            yield Step(best_near(F, C, p))
        near_one: Any = rule
        if isinstance(rule, StepLength) and rule.mu is not None and problem.exponent:
            near_one = replace(rule, mu=power_of_two(problem.exponent).value(rule.mu))
        outcome: Outcome = yield from near_one.path(F, C, p, tol)
        return outcome

    return solve(
        "iht",
        objective,
        constraint,
        counted(path),
        budget=budget,
        time_limit=time_limit,
        callback=callback,
        rng=rng,
        normalises=isinstance(rule, (StepLength, Refitting)),
        start=first,
        max_iter=as_integer(max_iter, "max_iter", 1),
        note=projection_note(constraint),
    )


def default_rule(objective: Objective, constraint: Constraint) -> StepRule:
    """Doubling where there are local optima to leave; otherwise the fastest rule that fits F."""
    if distances(objective, constraint):
        return Refitting()
    if programmed(objective, constraint):
        return Refitting() if implements(objective, Quadratic) else Doubling(refit=True)
    if implements(constraint, Sparsity):
        return Doubling(refit=implements(objective, FaceSolvable) and refits(constraint))
    return Momentum() if smoothness_of(objective) < math.inf else Backtracking()


def random_member(constraint: Any, rng: np.random.Generator) -> Vector:
    """A random distribution of the constraint: on a random face of k units where it has faces."""
    size = constraint.space.size
    if not whole_faces(constraint):
        return np.asarray(constraint.project(rng.dirichlet(np.ones(size))))
    face = constraint.face(np.sort(rng.choice(constraint.n_units, constraint.k, replace=False)))
    if face.size == 0:  # listed states need not fit into a random face
        return np.asarray(constraint.project(rng.random(size)))
    p = np.zeros(size)
    p[face] = rng.dirichlet(np.ones(face.size))
    return p


def slopes(objective: Objective, p: Vector) -> Vector:
    """The gradient at p: large where it is infinite, zero where it is not a number, so that no step leads there."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gradient = objective.gradient(p)
        if math.isfinite(float(gradient.sum())):
            return gradient
    finite = gradient[np.isfinite(gradient)]
    large = STEEP * max(float(np.abs(finite).max(initial=0.0)), 1.0)
    return np.nan_to_num(gradient, nan=0.0, posinf=large, neginf=-large)


def forward(
    objective: Objective, constraint: Constraint, p: Vector, mu: float, near: Vector
) -> Vector:
    """One step of Algorithm 1: Π(p - mu dF/dp), without a further table."""
    v = slopes(objective, p)
    v *= -mu
    v += p
    return constraint.project(v, near=near)


def moved(p: Vector, other: Vector) -> float:
    """The largest change of an entry."""
    return float(np.abs(p - other).max())


def longest_step(objective: Objective) -> float:
    """1 / smoothness, with which every step descends; 1 where F has none."""
    smoothness = smoothness_of(objective)
    return 1.0 / smoothness if 0.0 < smoothness < math.inf else 1.0


@dataclass(frozen=True)
class StepLength:
    """A rule with a first step length mu in the units of F, or one of its own choice."""

    mu: float | None = None

    def __post_init__(self) -> None:
        if self.mu is not None:
            object.__setattr__(self, "mu", as_number(self.mu, "mu"))


@dataclass(frozen=True)
class Constant(StepLength):
    """A constant step length, as in the paper's theorem 4.

        p <- Π(p - mu dF/dp)

    Parameters
    ----------
    mu : float, optional
        The step length; 1 / smoothness if not given.

    Examples
    --------
    >>> from fewer import L2, Atoms, Simplex, iht
    >>> F = L2(Atoms(3), [0.5, 0.9, -1.0])
    >>> iht(F, Simplex(F.space), step=Constant(0.5), rng=0).p.round(6).tolist()
    [0.3, 0.7, 0.0]
    """

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """p <- Π(p - mu dF/dp) until nothing moves."""
        return Momentum(self.mu, tau=0.0).path(objective, constraint, p, tol)


@dataclass(frozen=True)
class Doubling(StepLength):
    """The paper's rule: double the step while trapped, return to mu after escaping (section 4).

        p <- Π(p - 2^j mu dF/dp),   j the steps since the last escape

    Parameters
    ----------
    mu : float, optional
        The first step length; if not given 1 / (64 smoothness), which for l2 is the paper's 0.008,
        and 0.1 where F has no smoothness.
    trapped : {"support", "seen", "objective"}
        What the paper does not say: the support has not changed; the support was met before; the
        value has not improved on the best so far.
    refit : bool
        Whether what is valued is the best distribution on the support of each iterate; the path
        goes on from the iterate itself.

    Examples
    --------
    >>> from fewer import L2, Atoms, SparseSimplex, iht
    >>> F = L2(Atoms(3), [0.5, 0.4, 0.1])
    >>> iht(
    ...     F, SparseSimplex(F.space, 1), step=Doubling(0.1, trapped="seen"), rng=0
    ... ).indices.tolist()
    [0]
    """

    trapped: str = "support"
    refit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known(self.trapped, dict.fromkeys(("support", "seen", "objective")), "trapped")

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """p <- Π(p - mu dF/dp); it ends when even the longest step leads nowhere."""
        smooth = 0.0 < smoothness_of(objective) < math.inf
        mu = self.mu or (longest_step(objective) / 64.0 if smooth else 0.1)
        doublings, best = 0, math.inf
        support = constraint.support(p).tobytes()
        seen = {support}
        iterate, refitted_on = p, b""
        while doublings <= MOST_DOUBLINGS:
            p = forward(objective, constraint, p, mu * 2.0**doublings, p)
            before, support = support, constraint.support(p).tobytes()
            if not self.refit:
                iterate = p
            elif support != refitted_on:
                iterate, refitted_on = best_near(objective, constraint, p), support
            value = yield Step(iterate)
            escaped = {
                "support": support != before,
                "seen": support not in seen,
                "objective": value < best,
            }
            seen.add(support)
            best = min(best, value)
            doublings = 0 if escaped[self.trapped] else doublings + 1
        return Outcome(Status.CONVERGED)


@dataclass(frozen=True)
class Backtracking(StepLength):
    """Halve mu until F falls by what the step's length promises.

    Try twice as much at the next step.

        F[p'] <= F[p] + <dF/dp, p' - p> + ‖p' - p‖² / (2 mu)

    Every mu below 1 / smoothness fulfils it when the projection is exact.

    Parameters
    ----------
    mu : float, optional
        The first step length; 16 / smoothness if not given.

    Examples
    --------
    >>> from fewer import L2, Atoms, Simplex, iht
    >>> F = L2(Atoms(3), [0.5, 0.9, -1.0])
    >>> iht(F, Simplex(F.space), step=Backtracking(), rng=0).p.round(6).tolist()
    [0.3, 0.7, 0.0]
    """

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """Descending iterates, until no step of any length helps or nothing moves."""
        mu = self.mu or 16.0 * longest_step(objective)
        smallest = mu * 2.0**-MOST_DOUBLINGS
        value = objective.value(p)
        while True:
            gradient = slopes(objective, p)
            while True:
                after = constraint.project(p - mu * gradient, near=p)
                change = after - p
                promised = gradient @ change + change @ change / (2.0 * mu)
                most = value + promised + 1e-15 * abs(value)
                if not math.isfinite(value) or objective.value(after) <= most:
                    break
                mu /= 2.0
                if mu < smallest:
                    return Outcome(Status.CONVERGED)
            value = yield Step(after)
            if moved(p, after) <= tol:
                return Outcome(Status.CONVERGED)
            p, mu = after, 2.0 * mu


@dataclass(frozen=True)
class Refitting:
    """Accelerated IHT with refits: step and momentum by line search, then the best distribution on the support.

        p <- argmin F on the support of Π(u - mu dF/du),   u = p + tau (p - p_before)

    For quadratics, where one more gradient gives the curvature along a line exactly: tau minimises
    F along the momentum, mu along the gradient of the entries that p or the k steepest descents
    use. 1 / smoothness is far too short a step where the columns are spread out.

    References
    ----------
    Zhang, Khanna, Kyrillidis and Koyejo (2021), Bayesian coresets: revisiting the nonconvex
    optimization perspective.

    Examples
    --------
    >>> from fewer import Atoms, Moments, SparseSimplex, iht
    >>> F = Moments(Atoms(3), np.eye(3), [0.5, 0.4, 0.1])
    >>> iht(F, SparseSimplex(F.space, 2), step=Refitting(), rng=0).weights.round(6).tolist()
    [0.55, 0.45]
    """

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """p <- the refit of Π(u - mu dF/du) with u the extrapolated point, until nothing moves."""
        C: Any = constraint
        k = C.k if implements(C, Sparsity) and C.n_units == p.size else 0
        able = C.rules.open if k and hasattr(C, "rules") else np.ones(p.size, bool)
        before = p
        while True:
            back = p - before
            ahead = p + line_search(objective, p, slopes(objective, p), back) * back
            gradient = slopes(objective, ahead)
            down = -gradient
            if k:
                rank = np.where(able, gradient, np.inf)
                down[(ahead == 0.0) & (rank > np.partition(rank, k - 1)[k - 1])] = 0.0
            mu = line_search(objective, ahead, gradient, down)
            after = constraint.project(ahead - mu * gradient, near=p)
            after = best_near(objective, constraint, after)
            yield Step(after)
            if moved(p, after) <= tol:
                return Outcome(Status.CONVERGED)
            before, p = p, after


def line_search(objective: Objective, p: Vector, gradient: Vector, direction: Vector) -> float:
    """The length that minimises a quadratic F along a direction; 0 where F does not curve."""
    curvature = float(direction @ (slopes(objective, p + direction) - gradient))
    return -float(gradient @ direction) / curvature if curvature > 0.0 else 0.0


@dataclass(frozen=True)
class Momentum(StepLength):
    """Accelerated IHT: the step leaves from an extrapolated point; momentum restarts when F rises.

        p <- Π(u - mu dF/du),   u = p + tau (p - p_before)

    Parameters
    ----------
    mu : float, optional
        The step length; 1 / smoothness if not given.
    tau : float, optional
        The share of the last move that is added; Nesterov's sequence if not given.

    References
    ----------
    Khanna and Kyrillidis (2018), IHT dies hard: provable accelerated iterative hard thresholding.
    O'Donoghue and Candès (2015), Adaptive restart for accelerated gradient schemes.

    Examples
    --------
    >>> from fewer import L2, Atoms, Simplex, iht
    >>> F = L2(Atoms(3), [0.5, 0.9, -1.0])
    >>> iht(F, Simplex(F.space), step=Momentum(), rng=0).p.round(6).tolist()
    [0.3, 0.7, 0.0]
    """

    tau: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau is not None:
            object.__setattr__(self, "tau", as_number(self.tau, "tau", allow_equal=True))

    def path(self, objective: Objective, constraint: Constraint, p: Vector, tol: float) -> Steps:
        """p <- Π(u - mu dF/du) with u the extrapolated point."""
        mu = self.mu or longest_step(objective)
        before, value, t = p, math.inf, 1.0
        while True:
            t_next = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
            tau = self.tau if self.tau is not None else (t - 1.0) / t_next
            ahead = p if t == 1.0 else p + tau * (p - before)
            after = forward(objective, constraint, ahead, mu, p)
            new_value = yield Step(after)
            if moved(p, after) <= tol:
                return Outcome(Status.CONVERGED)
            t = 1.0 if new_value > value else t_next
            before, p, value = p, after, new_value
