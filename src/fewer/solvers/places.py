"""Solvers for quadratics over at most k weighted places: greedy, IHT, exchange, exact; all bounds are kept."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from ..constraints.sparse_simplex import SparseSimplex
from ..door import Vector
from ..protocols import Quadratic
from ..result import Status
from . import _classic
from ._drive import Outcome, Step, Steps
from ._exchange import Answers, Found, Search, auto, kicked, refitted, starts
from ._sparse_proof import SparseProof
from ._starts import relaxed_bounds, target_gram

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


def greedy(problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator) -> Steps:
    """Algorithm 3, candidates ranked by gain formulas and the best few refitted."""
    yield from as_steps(_classic.greedy(problem, constraint), constraint)
    return Outcome(Status.FINISHED)


def iht(problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator) -> Steps:
    """Algorithm 1 with momentum, a step fitted to the support, and refits; from the best start of `exchange`."""
    best = yield from as_steps((found for _, found in starts(problem, constraint)), constraint)
    assert best is not None  # noqa: S101 - there is always a start
    yield from as_steps(_classic.iht(problem, constraint, best), constraint)
    return Outcome(Status.FINISHED)


def exchange(problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, effort: float = 1.0) -> Steps:
    """A path of non-negative least squares, swaps, and kicks until many in a row do not help."""
    yield from as_steps(auto(problem, constraint, rng, effort), constraint)
    return Outcome(Status.FINISHED)


def exact(problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, effort: float = 1.0) -> Steps:
    """Exchange, then proof while time lasts; past 600 places the bound of the convex relaxation, then more kicks."""
    yield Step(bound=0.0)  # F is a squared distance
    best = yield from as_steps(auto(problem, constraint, rng, min(effort, 1.0)), constraint)
    assert best is not None  # noqa: S101 - a search always yields an answer
    if problem.space.size > MOST_PROVEN:
        yield from bounded(problem, constraint, best)
        if effort > 1.0:
            yield from as_steps(kicked(Search(problem, constraint, best.units, rng), effort), constraint)
        return Outcome(Status.FINISHED)
    everything = np.arange(problem.space.size)
    G, nothing = target_gram(problem, everything, everything), np.zeros(problem.space.size)
    proof = SparseProof(G, nothing, 0.0, constraint, best.units, best.weights)
    yield Step(bound=proof.bound)
    while not proof.done:
        proof.step()
        better = proof.value < best.value
        if better:
            best = refitted(problem, constraint, proof.support)
        yield Step(as_point(best, constraint) if better else None, proof.bound)
    return Outcome(Status.OPTIMAL, min(proof.bound, best.value))


def bounded(problem: Quadratic, constraint: SparseSimplex, best: Found) -> Generator[Step, float, None]:
    """The bound of the convex relaxation, while it may still tell something about an answer."""
    loose = replace(constraint, min_weight=0.0, max_weight=1.0, include=())
    begin = refitted(problem, loose, best.units)
    for looks, bound in enumerate(relaxed_bounds(problem, loose, (begin.units, begin.weights))):
        yield Step(bound=min(bound, best.value))
        if looks >= LOOKS:
            return
