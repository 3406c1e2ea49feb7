"""Solvers for quadratics over k of very many places without bounds on the weights: the rows of a data set."""

import math

import numpy as np

from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Quadratic
from ..result import Status
from . import _crowd
from ._drive import Outcome, Step, Steps
from ._exchange import refitted
from ._sparse_proof import SparseProof
from .places import MOST_PROVEN, as_point, as_steps

FEW_PROVEN = 120
"""Places up to which auto tries a proof when there is no time limit."""
PROOF_STEPS = 20
"""Steps of a proof that auto takes when there is no time limit: about a second."""

ANY = 10**9
"""As many units in a crowd as the search likes."""
PER_SECOND = 4e6
"""Entries of a crowd's matrix for each second of a time limit."""


def widest(k: int, memory: int, seconds: float) -> int:
    """Units in a crowd, at most: matrix and tables of k responses take two fifths of the memory, and a share of time.

    >>> widest(10, 10**9, math.inf), widest(10, 10**7, math.inf), widest(10, 10**9, 0.05)
    (7051, 687, 447)
    """
    fits = int(math.sqrt(4.0 * k * k + memory / 20) - 2.0 * k)
    return max(k + 1, min(fits, max(int(math.sqrt(PER_SECOND * min(seconds, 1e9))), k + FEW_PROVEN)))


def greedy(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, patient: bool, most: int = ANY
) -> Steps:
    """Algorithm 3 with a full refit at each step, by an incremental factor."""
    yield from as_steps(_crowd.greedy(problem, constraint), constraint)
    return Outcome(Status.FINISHED)


def exchange(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, patient: bool, most: int = ANY
) -> Steps:
    """Greedy in a crowd, swaps, and kicks: for ever if patient."""
    yield from as_steps(_crowd.search(problem, constraint, rng, patient, most), constraint)
    return Outcome(Status.FINISHED)


def auto(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, patient: bool, most: int = ANY
) -> Steps:
    """Exchange; with few places first for a while, then towards a proof; the same bits for the same `rng`."""
    if problem.space.size > (MOST_PROVEN if patient else FEW_PROVEN):
        return (yield from exchange(problem, constraint, rng, patient, most))
    return (yield from proven(problem, constraint, rng, None if patient else PROOF_STEPS, most))


def exact(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, patient: bool, most: int = ANY
) -> Steps:
    """Exchange, then until the optimum is proven."""
    return (yield from proven(problem, constraint, rng, None, most))


def proven(
    problem: Quadratic, constraint: SparseSimplex, rng: np.random.Generator, steps: int | None, most: int = ANY
) -> Steps:
    """Exchange, then steps of branch and bound on doubly non-negative relaxations."""
    best = yield from as_steps(_crowd.search(problem, constraint, rng, most=most), constraint)
    assert best is not None  # noqa: S101 - a search always yields an answer
    everything = np.arange(problem.space.size)
    H, c = problem.cross(everything, everything), problem.linear(everything)
    proof = SparseProof(H, c, problem.constant, constraint, best.units, best.weights)
    yield Step(bound=proof.bound)
    taken = 0
    while not proof.done and (steps is None or taken < steps):
        proof.step()
        taken += 1
        better = proof.value < best.value
        if better:
            best = refitted(problem, constraint, proof.support)
        yield Step(as_point(best, constraint) if better else None, proof.bound)
    return Outcome(Status.OPTIMAL if proof.done else Status.FINISHED, min(proof.bound, best.value))
