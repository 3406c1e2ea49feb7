"""Solvers for quadratics over at most k weighted places: greedy, IHT, exchange, exact; all bounds are kept."""

import math
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np

from .._validation import Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..protocols import Counted, Quadratic, offers
from ..result import Status
from . import _classic
from ._drive import Outcome, Step, Steps
from ._exchange import Work, auto, first_answer, kicked, opening, starts
from ._fit import Answers, Found, refitted
from ._pool import Search
from ._sparse_proof import SparseProof
from ._starts import floor_of, prepared, relaxed_bounds, target_gram

MOST_PROVEN = 600
"""Places up to which the proof forms their whole matrix; beyond, the convex relaxation gives the bound."""
LOOKS = 100
"""Rounds of the relaxation, at most."""


def as_point(found: Found, constraint: SparseSimplex) -> Vector:
    """An answer as a vector on the space."""
    p = np.zeros(constraint.space.size)
    p[found.units] = found.weights
    return p


def as_steps(answers: Answers, constraint: SparseSimplex) -> Generator[Step, float, Found | None]:
    """The answers of a search as iterates; returns the best."""
    best: Found | None = None
    for found in answers:
        if found is not None and (best is None or found.value < best.value):
            best = found
        yield Step(None if found is None else as_point(found, constraint))
    return best


def greedy(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, deadline: Deadline | None = None
) -> Steps:
    """Algorithm 3, candidates ranked by gain formulas and the best few refitted.

    Where the time is over before all units were looked at once, the answer is one of a few of them.
    """
    for _ in prepared(problem):
        if deadline is not None and deadline.passed:
            yield Step(as_point(first_answer(problem, constraint), constraint))
    yield from as_steps(_classic.greedy(problem, constraint), constraint)
    return Outcome(Status.FINISHED)


def iht(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, deadline: Deadline | None = None
) -> Steps:
    """Algorithm 1 with momentum, a step fitted to the support, and refits; from the best start of `exchange`."""
    yield from as_steps(opening(problem, constraint), constraint)
    begun = (None if pair is None else pair[1] for pair in starts(problem, constraint, deadline))
    best = yield from as_steps(begun, constraint)
    if best is not None:
        yield from as_steps(_classic.iht(problem, constraint, best), constraint)
    return Outcome(Status.FINISHED)


def exchange(
    problem: Quadratic,
    constraint: SparseSimplex,
    rng: np.random.Generator,
    effort: float = 1.0,
    deadline: Deadline | None = None,
) -> Steps:
    """A path of non-negative least squares, swaps, and kicks until many in a row do not help."""
    yield from as_steps(auto(problem, constraint, rng, effort, deadline=deadline), constraint)
    return Outcome(Status.FINISHED)


def above_floor(
    problem: Quadratic,
    constraint: SparseSimplex,
    rng: np.random.Generator,
    effort: float = 1.0,
    deadline: Deadline | None = None,
) -> Steps:
    """`exchange`, with what F can never be below for a bound: where the convex relaxation reaches that, too."""
    yield lowest(problem)
    return (yield from exchange(problem, constraint, rng, effort, deadline))


def lowest(problem: Quadratic) -> Step:
    """The bound that is known before anything is searched, if there is one."""
    floor = floor_of(problem)
    return Step(bound=floor if floor > -math.inf else None)


def exact(
    problem: Quadratic,
    constraint: SparseSimplex,
    rng: np.random.Generator,
    effort: float = 1.0,
    budget: float = math.inf,
    deadline: Deadline | None = None,
) -> Steps:
    """Exchange, then proof; past 600 places the bound of the convex relaxation, then more kicks.

    It ends at its first pause after `budget` multiplications, if it has an answer by then.
    """
    total = Work()

    def spent(more: float = 0.0) -> bool:
        return total.spent + work_of(problem) + more > budget

    yield lowest(problem)
    answers = until(auto(problem, constraint, rng, min(effort, 1.0), total, deadline), spent)
    best = yield from as_steps(answers, constraint)
    assert best is not None  # noqa: S101 - a search always yields an answer
    if problem.space.size <= MOST_PROVEN:
        return (yield from proven(problem, constraint, best, spent))
    yield from bounded(problem, constraint, best, spent)
    if effort > 1.0:
        yield from as_steps(kicked(Search(problem, constraint, best.units, rng), effort), constraint)
    return Outcome(Status.FINISHED)


def work_of(problem: Quadratic) -> float:
    """Multiplications that the problem itself has counted."""
    counted: Any = problem
    return float(counted.work) if offers(problem, Counted) else 0.0


def until(answers: Answers, spent: Callable[[], bool]) -> Answers:
    """The answers of a search, up to the first pause at which the budget is spent."""
    for found in answers:
        yield found
        if spent():
            return


def proven(
    problem: Quadratic, constraint: SparseSimplex, best: Found, spent: Callable[[float], bool]
) -> Generator[Step, float, Outcome]:
    """Branch and bound from a known answer, until it is proven or the budget is spent."""
    everything = np.arange(problem.space.size)
    G, nothing = target_gram(problem, everything, everything), np.zeros(problem.space.size)
    proof = SparseProof(G, nothing, 0.0, constraint, best.units, best.weights)
    yield Step(bound=proof.bound)
    while not proof.done and not spent(proof.work):
        proof.step()
        better = proof.value < best.value
        if better:
            best = refitted(problem, constraint, proof.support)
        yield Step(as_point(best, constraint) if better else None, proof.bound)
    return Outcome(Status.OPTIMAL if proof.done else Status.FINISHED, min(proof.bound, best.value))


def bounded(
    problem: Quadratic, constraint: SparseSimplex, best: Found, spent: Callable[[], bool]
) -> Generator[Step, float, None]:
    """The bound of the convex relaxation, while it may still tell something about an answer."""
    loose = replace(constraint, min_weight=0.0, max_weight=1.0, include=())
    begin, looks = refitted(problem, loose, best.units), 0
    for bound in relaxed_bounds(problem, loose, (begin.units, begin.weights)):
        yield Step(bound=None if bound is None else min(bound, best.value))
        looks += bound is not None
        if looks > LOOKS or spent():
            return
