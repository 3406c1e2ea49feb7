"""Solvers over the faces of a cover: greedy, exchange, exact, and the paper's IHT on the states behind it."""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from .._validation import Indices, Vector
from ..cover import KL, Cover, Ints
from ..protocols import Constraint, Objective
from ..result import Status
from ..spaces import Atoms
from ._drive import Outcome, Step, Steps
from ._proof import Proof, by_zeta, first_bound
from ._search import Search
from .iht import default_rule, random_member

FEW = 22
"""Dimensions up to which valuing all masks is the fastest proof."""
SOME = 24
"""Dimensions up to which all masks fit in memory, should the proof be long."""
LONG = 100
"""Steps of a long proof."""
PROOF_STEPS = 1500
"""Steps of a proof that `auto` takes when there is no time limit: about a minute, and the same on any machine."""
KICKS = 16
"""Kicks in a slice; within a proof, a slice follows step 1, 2, 4, 8, ..."""
WORK = 20_000_000
"""Entries that may be passed over between two looks at the clock."""
GAP = 1e-9
"""A bound this close to the gain, relative to it (KL) or to ‖q‖² (l2), is rounding and counts as equal."""


@dataclass(frozen=True, eq=False)
class FaceProblem:
    """Choose k dimensions of a cover. A choice is written as a vector p on the dimensions, non-zero where chosen.

    value(p) is the loss of the best distribution on the face: -log Q (KL), or ‖q‖² - Q2 + (1 - Q)² / M (l2).
    """

    cover: Cover
    norm: float
    k: int
    mode: int

    @property
    def space(self) -> Atoms:
        """The dimensions."""
        return Atoms(self.cover.n)

    def loss(self, gain: float) -> float:
        """The objective of a face of this gain."""
        if self.mode == KL:
            return -math.log(min(gain, 1.0)) if gain > 0 else math.inf
        return max(self.norm - gain, 0.0)

    def value(self, p: Vector) -> float:
        """The loss of the face of p's support."""
        return self.loss(self.cover.gain(np.flatnonzero(p), self.mode))

    def support(self, p: Vector) -> Indices:
        """The chosen dimensions."""
        return np.flatnonzero(p)

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether at most k dimensions are chosen."""
        return int(np.count_nonzero(p)) <= self.k

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """The k largest entries chosen."""
        return self.mark(np.argsort(-v, kind="stable")[: self.k])

    @property
    def scale(self) -> float:
        """Mass is at most one (KL); squared masses sum to ‖q‖² (l2)."""
        return 1.0 if self.mode == KL else self.norm

    def mark(self, face: Ints) -> Vector:
        """A face as a vector."""
        p = np.zeros(self.cover.n)
        p[face] = 1.0
        return p


def greedy(problem: FaceProblem, seed: int) -> Steps:
    """Algorithm 3, ties broken by look-ahead."""
    search = Search(problem.cover, problem.k, problem.mode, seed)
    few = 1 + WORK // (1 + 3 * len(problem.cover.indices) + problem.cover.n)
    while search.grow(few):
        yield Step(problem.mark(search.face))
    yield Step(problem.mark(search.face))
    return Outcome(Status.FINISHED)


def exchange(problem: FaceProblem, seed: int) -> Steps:
    """Look-ahead, best swaps until none helps, then kicks until many in a row do not help."""
    search = Search(problem.cover, problem.k, problem.mode, seed)
    yield from _settle(problem, search)
    pass_over = 1 + len(problem.cover.indices) * problem.k
    patience = max(4, min(256, 200 * WORK // pass_over))
    few = max(1, min(KICKS, WORK // pass_over))
    idle = 0
    while idle < patience:
        improved = search.kick(few)
        idle = 0 if improved else idle + few
        yield Step(problem.mark(search.face) if improved else None)
    return Outcome(Status.FINISHED)


def _settle(problem: FaceProblem, search: Search) -> Generator[Step, float, None]:
    """Look-ahead until the face is full, then best swaps until none helps, a few at a time."""
    few = 1 + WORK // (1 + len(problem.cover.indices) + problem.cover.n)
    while search.fill(few):
        yield Step(problem.mark(search.face))
    yield Step(problem.mark(search.face))
    while search.exchange(few) == few:
        yield Step(problem.mark(search.face))
    yield Step(problem.mark(search.face))


def auto(problem: FaceProblem, seed: int) -> Steps:
    """`exact`, as far as a budget of work goes."""
    return (yield from exact(problem, seed, PROOF_STEPS))


def exact(problem: FaceProblem, seed: int, most: float = math.inf) -> Steps:
    """Exchange, then proof: all masks of few dimensions, else branch and bound on prices, with kicks."""
    cover, k, mode = problem.cover, problem.k, problem.mode
    if cover.n <= FEW:
        return (yield from _all_masks(problem))
    yield Step(bound=problem.loss(first_bound(cover, k, mode)))
    search = Search(cover, k, mode, seed)
    yield from _settle(problem, search)
    proof = Proof(cover, k, mode, search.face)
    while not proof.done and proof.steps < most:
        proof.step()
        if cover.n <= SOME and proof.steps > LONG:
            return (yield from _all_masks(problem))
        if proof.shrunk and proof.steps & (proof.steps - 1) == 0:
            if search.cover is not proof.cover:
                search = Search(proof.cover, k, mode, seed + proof.steps, proof.face)
            search.kick(min(KICKS, 5 * WORK // (1 + len(search.cover.indices) * k)))
            proof.offer(search.face)
        yield Step(problem.mark(proof.face), problem.loss(proof.bound))
    best = problem.loss(cover.gain(proof.face, mode))
    yield Step(problem.mark(proof.face))
    close = GAP * (proof.gain if mode == KL else problem.norm)
    return Outcome(Status.FINISHED, best if proof.bound - proof.gain <= close else problem.loss(proof.bound))


def _all_masks(problem: FaceProblem) -> Steps:
    """Value every face at once."""
    best = yield Step(problem.mark(by_zeta(problem.cover, problem.k, problem.mode)))
    return Outcome(Status.FINISHED, best)


def iht(
    problem: FaceProblem,
    objective: Objective,
    constraint: Constraint,
    rng: np.random.Generator,
    max_iter: int = 500,
) -> Steps:
    """The paper's Algorithm 1 on the states; each support it visits is valued by its best distribution."""
    p = random_member(constraint, rng)
    steps = default_rule(objective, constraint).path(objective, constraint, p, 1e-10)
    yield Step(problem.mark(constraint.support(p)))
    reply: float | None = None
    for _ in range(max_iter):
        try:
            step = next(steps) if reply is None else steps.send(reply)
        except StopIteration:
            break
        if step.p is not None:
            reply = objective.value(step.p)
            yield Step(problem.mark(constraint.support(step.p)))
    return Outcome(Status.FINISHED)
