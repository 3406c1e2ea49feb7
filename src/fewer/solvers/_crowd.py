"""The search for k of very many units: greedy by an incremental factor, then exchange and kicks in a crowd of them.

A crowd is a few thousand promising units whose whole matrix fits; around the current answer a new one is gathered now
and then. Compared with `_exchange` it knows no bounds on the weights, and its cost per move is k times the crowd.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from .._compiled import strip as strips
from .._compiled.strip import Strip
from .._validation import Indices, Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Quadratic
from ._exchange import Answers, Found, promising, refitted

Matrix = npt.NDArray[np.float64]

WIDE = 2000
"""Units of a crowd, at least; at most twice as many, but for a very large k."""
EACH, CELLS = 20, 1.6e6
"""Units of a crowd for each of the k, while k times the crowd is no more than so many cells."""
FEWEST, ROUNDS = 6, 8
"""Crowds gathered by a search without a time limit, at least and at most."""
ENOUGH = 1e-3
"""Relative gain for which a further crowd is worth gathering."""
WORK = 4e8
"""Multiplications that kicks may cost when there is no time limit and the crowd is everything."""
SHARE, DEAR = 1.2e8, 2e7
"""What they may cost in each of several crowds, and the cost of one kick at which none is made there."""
MOMENT = 128
"""Units of the first answer; each further one has twice as many, up to k."""
BRIEF = 5e7
"""Multiplications between two chances to stop: some hundredths of a second."""
GAIN = 1e-7
"""The relative gain by which a kick is no idle one."""
STRANGERS = 0.3
"""The share of random units in a crowd."""
MOST_KICKED = 32
"""Units replaced in one kick, at most."""
IDLE = 200
"""Kicks without gain after which a patient search gathers a new crowd."""
RIDGE, SHIFT = 1e-12, 1e-10
NEAR, LUCKY = 0.5, 0.3
"""Shares of the kicks that take similar units out, and that put random ones in."""


class Crowd:
    """A support on the move in a crowd of units.

    >>> from fewer import Atoms, Moments
    >>> F = Moments(Atoms(3), np.eye(3), np.array([0.5, 0.1, 0.4]))
    >>> crowd = Crowd(F, 2, np.arange(3), np.array([0, 1]), np.random.default_rng(0))
    >>> crowd.exchange(), np.sort(crowd.support).tolist(), round(crowd.f, 4)
    (1, [0, 2], 0.015)
    """

    def __init__(self, problem: Quadratic, k: int, units: Indices, support: Indices, rng: np.random.Generator) -> None:
        self.units, self.k, self.rng, self.work = units, k, rng, 0.0
        self.G = centred(problem, units)
        p = len(units)
        self._strip, self._kept = (blank(self.G, k) for _ in range(2))
        self._nothing = np.zeros(p, bool)
        settle(self.G, self._strip, np.searchsorted(units, np.sort(support)))

    @property
    def f(self) -> float:
        """F of the answer, with the shift: one over the sum of u."""
        return 1.0 / max(float(self._strip.u[: self._strip.count[0]].sum()), 1e-300)

    @property
    def support(self) -> Indices:
        """The units of the answer."""
        return self.units[self._strip.units[: self._strip.count[0]]]

    @property
    def weights(self) -> Vector:
        """Their weights, in the same order."""
        u = self._strip.u[: self._strip.count[0]]
        return np.asarray(u / u.sum())

    def release(self) -> None:
        """Forget the matrix and the responses, so that those of the next crowd take their place in memory."""
        self.G = np.empty((0, 0))
        self._strip = self._kept = blank(self.G, 0)

    def exchange(self, limit: int = 10**6) -> int:
        """Fill up and make best swaps until none helps, at most `limit`; how many were made."""
        made = int(strips.exchange(self.G, self._strip, self.k, self._nothing, limit))
        settle(self.G, self._strip, self._strip.units[: self._strip.count[0]].copy())  # sheds what rounding piled up
        return made

    def fill(self, size: int) -> None:
        """Add best units until `size` are inside."""
        strips.exchange(self.G, self._strip, min(size, self.k), self._nothing, 0)

    @property
    def brief(self) -> int:
        """Swaps that are made in a moment."""
        return max(1, int(BRIEF / (self.k * len(self.units))))

    def kick(self, most: int = 10**6) -> bool:
        """Replace some units, exchange with at most so many swaps, stay if better; whether it was."""
        most = min(self.k, MOST_KICKED)
        count = int(math.exp(self.rng.uniform(0.0, math.log(most + 1))))
        near, lucky = bool(self.rng.random() < NEAR), bool(self.rng.random() < LUCKY)
        order = self.rng.permutation(len(self.units))
        made = int(strips.kick(self.G, self._strip, self._kept, self.k, order, count, near, lucky, most))
        self.work += (abs(made) + 2.0 * count) * 8.0 * self.k * len(self.units)
        if made > 0:
            settle(self.G, self._strip, self._strip.units[: self._strip.count[0]].copy())
        return made > 0


def centred(problem: Quadratic, units: Indices) -> Matrix:
    """G_ij = H_ij - c_i - c_j + constant: the matrix of F = wᵀGw on weights of sum one, with the target for origin.

    RIDGE on the diagonal and SHIFT on all entries, relative to the mean diagonal, keep it positive definite where F is
    zero to rounding; the shift changes no comparison, the ridge none that matters.
    """
    c = problem.linear(units)
    G = problem.cross(units, units)
    G += problem.constant - c
    G -= c[:, None]
    scale = max(float(np.abs(np.diag(G)).mean()), 1e-100)
    G += SHIFT * scale
    G[np.diag_indices(len(units))] = np.maximum(np.diag(G), SHIFT * scale) + RIDGE * scale
    return G


def blank(G: Matrix, k: int) -> Strip:
    """A strip with nobody inside."""
    p = len(G)
    u, M, R = np.zeros(k + 1), np.zeros((k + 1, k + 1)), np.zeros((k + 1, p))
    return Strip(
        np.zeros(k + 1, np.int64), np.zeros(1, np.int64), np.zeros(p, bool), M, u, R, np.diag(G).copy(), np.ones(p)
    )


def settle(G: Matrix, strip: Strip, inside: Indices) -> None:
    """The strip of a support afresh, in place; units that depend on others, or whose weight is negative, stay out."""
    s = len(inside)
    strip.count[0], strip.inside[:] = 0, False
    if s:
        A = G[np.ix_(inside, inside)]
        try:
            factor = cho_factor(A, lower=True)
        except np.linalg.LinAlgError:
            s = 0
    if s:
        strip.M[:s, :s] = cho_solve(factor, np.eye(s))
        strip.R[:s] = cho_solve(factor, G[inside])
        strip.u[:s] = cho_solve(factor, np.ones(s))
        strip.units[:s], strip.count[0], strip.inside[inside] = inside, s, True
        strip.curve[:] = np.maximum(np.diag(G) - np.einsum("ij,ij->j", G[inside], strip.R[:s]), 0.0)
        strip.edge[:] = 1.0 - strip.u[:s] @ G[inside]
        strip.curve[inside], strip.edge[inside] = strips.HUGE, 0.0
        strips.shed(strip)
        return
    strip.curve[:], strip.edge[:] = np.diag(G), 1.0
    for j in inside:
        if strip.curve[j] > strips.FLAT * G[j, j] and strip.edge[j] > 0.0:
            strips.join(G, strip, int(j))
            strips.shed(strip)


def width_of(k: int, patient: bool) -> int:
    """Units of a crowd for a support of k; a patient search can afford more."""
    wide = 2 * WIDE if patient else min(max(WIDE, min(EACH * k, int(CELLS / k))), 2 * WIDE)
    return max(wide, k + WIDE // 4)


def around(problem: Quadratic, limits: SparseSimplex, crowd: Crowd, width: int) -> Crowd:
    """A new crowd around the answer of one that ends: the most promising units, and a share of random ones."""
    support = np.sort(crowd.support)
    weights, f = crowd.weights[np.argsort(crowd.support)], crowd.f
    crowd.release()
    free = width - len(support)
    others = promising(problem, limits, Found(support, weights, f), free - int(STRANGERS * free))
    known = np.concatenate([support, others])
    rest = np.setdiff1d(np.arange(problem.space.size), known)
    units = np.sort(np.concatenate([known, crowd.rng.choice(rest, width - len(known), replace=False)]))
    return Crowd(problem, crowd.k, units, support, crowd.rng)


def answer(problem: Quadratic, limits: SparseSimplex, crowd: Crowd) -> Found:
    """The support of a crowd, refitted exactly."""
    order = np.argsort(crowd.support)
    return refitted(problem, limits, crowd.support[order], crowd.weights[order])


def search(
    problem: Quadratic, limits: SparseSimplex, rng: np.random.Generator, patient: bool = False, most: int = 10**9
) -> Answers:
    """Exchange and kicks in one crowd of at most `most` units after the other, the first of random units.

    It ends when a new crowd hardly helps; a patient search goes on, now and then among strangers.
    """
    n, k = problem.space.size, limits.k
    if n <= k:
        yield refitted(problem, limits, np.arange(n))
        return
    width = min(n, width_of(k, patient), max(most, k + 1))
    first = np.arange(n) if width == n else np.sort(rng.choice(n, width, replace=False))
    crowd = Crowd(problem, k, first, np.empty(0, np.int64), rng)
    yield from filled(problem, limits, crowd)
    nothing = 2.0 * SHIFT * float(np.mean(np.diag(crowd.G)))
    before, turn = math.inf, 0
    budget = math.inf if patient else WORK if width == n else SHARE if 160.0 * k * width < DEAR else 0.0
    while True:
        turn += 1
        moves = min(64, crowd.brief)
        while crowd.exchange(moves) == moves:
            yield None
        yield answer(problem, limits, crowd)
        settled = turn >= FEWEST and not crowd.f < before * (1.0 - ENOUGH)
        if crowd.f <= nothing or (not patient and width < n and (settled or turn == ROUNDS)):
            return
        before = crowd.f
        yield from kicked(problem, limits, crowd, budget, crowd.brief if patient else 10**6)
        if width == n:
            if not patient:
                return
            continue
        crowd = around(problem, limits, crowd, width)


def filled(problem: Quadratic, limits: SparseSimplex, crowd: Crowd) -> Answers:
    """Best units added until k are inside: a first answer soon, and chances to stop."""
    size, due = 0, min(MOMENT, crowd.k)
    while size < crowd.k:
        size = min(size + max(1, 2 * crowd.brief), due)
        crowd.fill(size)
        if size == due:
            due = min(2 * due, crowd.k)
            yield answer(problem, limits, crowd)
        else:
            yield None


def kicked(problem: Quadratic, limits: SparseSimplex, crowd: Crowd, work: float, most: int = 10**6) -> Answers:
    """Kicks until they cost `work` multiplications, or IDLE of them in a row hardly helped."""
    idle, lowest = 0, crowd.f
    while crowd.work < work and idle < IDLE:
        idle += 1
        better = crowd.kick(most)
        if crowd.f < lowest * (1.0 - GAIN):
            idle, lowest = 0, crowd.f
        yield answer(problem, limits, crowd) if better else None


def greedy(problem: Quadratic, limits: SparseSimplex) -> Answers:
    """Algorithm 3 with a full refit at each step, over all units: k times the one that lowers F most.

    With L Lᵀ = G_SS, V = L⁻¹ G_SN and L z = 1: adding j lowers 1/F by edge_j² / curve_j, curve = diag G - Σ V²,
    edge = 1 - zᵀV. One pass over V (k, n) for each unit; units whose weight turns negative leave.
    """
    n, k = problem.space.size, limits.k
    everything = np.arange(n)
    if n <= k:
        yield refitted(problem, limits, everything)
        return
    c = problem.linear(everything)
    V, L, z = np.empty((k, n)), np.zeros((k, k)), np.empty(k)
    squares = problem.diagonal - 2.0 * c + problem.constant
    squares = np.maximum(squares, 1e-14 * max(float(squares.mean()), 1e-100))  # a unit may be the target itself
    units: list[int] = []
    curve, edge = squares.copy(), np.ones(n)
    for step in range(2 * k + 10):
        s = len(units)
        if s == k:
            break
        apart = (edge > 0) & (curve > strips.FLAT * squares)
        gains = np.where(apart, edge * edge / np.where(apart, curve, 1.0), 0.0)
        gains[units] = 0.0
        j = int(np.argmax(gains))
        if gains[j] <= 0.0:
            break
        row: Vector = problem.cross(np.array([j]), everything)[0] + (problem.constant - c[j] - c)
        L[s, :s], L[s, s] = V[:s, j], math.sqrt(curve[j])
        V[s] = row - V[:s, j] @ V[:s]
        V[s] /= L[s, s]
        z[s] = edge[j] / L[s, s]
        units.append(j)
        curve -= V[s] ** 2
        edge -= z[s] * V[s]
        u = solve_triangular(L[: s + 1, : s + 1], z[: s + 1], lower=True, trans="T", check_finite=False)
        if u.min() <= 0.0:
            units = _without_negative(units, u, L, V, z, squares, curve, edge)
        yield refitted(problem, limits, np.sort(units)) if (step + 1) & step == 0 else None
    yield refitted(problem, limits, np.sort(units))


def _without_negative(
    units: list[int], u: Vector, L: Matrix, V: Matrix, z: Vector, squares: Vector, curve: Vector, edge: Vector
) -> list[int]:
    """Let units of negative weight go, the most negative first, and factor the rest again, in place."""
    s = len(units)
    A: Matrix = L[:s, :s] @ L[:s, :s].T
    rows: Matrix = L[:s, :s] @ V[:s]
    kept = np.arange(s)
    while u.min() <= 0.0:
        kept = np.delete(kept, int(np.argmin(u)))
        u = np.asarray(np.linalg.solve(A[np.ix_(kept, kept)], np.ones(len(kept))), np.float64)
    s = len(kept)
    L[:s, :s] = np.linalg.cholesky(A[np.ix_(kept, kept)])
    V[:s] = solve_triangular(L[:s, :s], rows[kept], lower=True, check_finite=False)
    z[:s] = solve_triangular(L[:s, :s], np.ones(s), lower=True, check_finite=False)
    curve[:] = squares - np.einsum("ij,ij->j", V[:s], V[:s])
    edge[:] = 1.0 - z[:s] @ V[:s]
    return [units[i] for i in kept]
