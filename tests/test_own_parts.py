"""A user's own objective and constraint, a few lines each, reach greedy, local search and proof like ours."""

import itertools
import math
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import kl_div

from fewer import Atoms, Simplex, SparseSimplex, Status, exact, exchange, greedy, iht, minimize
from fewer.protocols import implements
from fewer.search.engine import Engine, engine_of


@dataclass(frozen=True, eq=False)
class Wasserstein:
    """Wasserstein-1 distance to q of atoms on a line, one apart: piecewise linear."""

    space: Atoms
    q: np.ndarray
    smoothness: float = math.inf

    def value(self, p):
        return float(np.abs(np.cumsum(p - self.q)).sum())

    def gradient(self, p):
        return np.cumsum(np.sign(np.cumsum(p - self.q))[::-1])[::-1].astype(float)


@dataclass(frozen=True, eq=False)
class PoissonDeviance:
    """Half the deviance of counts b with mean Ap: smooth, but infinite where (Ap)_i = 0 < b_i."""

    space: Atoms
    A: np.ndarray
    b: np.ndarray
    smoothness: float = math.inf

    def value(self, p):
        return float(kl_div(self.b, self.A @ p).sum())

    def gradient(self, p):
        ratio = np.divide(self.b, self.A @ p, out=np.zeros(len(self.b)), where=self.b > 0)
        return self.A.T @ (1.0 - ratio)


@dataclass(frozen=True, eq=False)
class FewGroups:
    """Mass in at most k groups of entries; a unit is a group."""

    space: Atoms
    labels: np.ndarray
    k: int
    whole_faces: bool = True

    @property
    def n_units(self):
        return int(self.labels.max()) + 1

    def face(self, units):
        return np.flatnonzero(np.isin(self.labels, units))

    def project(self, v, near=None):
        trials = []
        for units in itertools.combinations(range(self.n_units), self.k):
            p, face = np.zeros(len(v)), self.face(units)
            p[face] = Simplex(Atoms(len(face))).project(v[face])
            trials.append(p)
        return min(trials, key=lambda p: ((p - v) ** 2).sum())

    def contains(self, p, tol=1e-9):
        return abs(p.sum() - 1) <= tol and p.min() >= -tol and len(self.support(p)) <= self.k

    def support(self, p):
        return np.unique(self.labels[p != 0])


def wasserstein(n, seed):
    return Wasserstein(Atoms(n), np.random.default_rng(seed).dirichlet(np.ones(n)))


def poisson(n, seed, sparse=False):
    rng = np.random.default_rng(seed)
    A = rng.gamma(1.0, size=(5, n)) * (rng.random((5, n)) < 0.6 if sparse else 1.0)
    return PoissonDeviance(Atoms(n), A, rng.poisson(6.0 * A @ rng.dirichlet(np.full(n, 0.5))) / 6.0)


def groups(n, k):
    return FewGroups(Atoms(n), np.arange(n) * 7 % ((n + 1) // 2), k)


def lowest(F, face):
    """The minimum of F over the distributions on a face, by other means."""
    if not len(face):
        return math.inf
    if isinstance(F, Wasserstein):  # mass moves to the nearest atom of the face
        return float(F.q @ np.abs(np.arange(F.space.size)[:, None] - face).min(axis=1))
    if ((F.A[:, face] == 0).all(axis=1) & (F.b > 0)).any():
        return math.inf
    p = cp.Variable(len(face), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(F.b, F.A[:, face] @ p))), [cp.sum(p) == 1])
    return float(problem.solve(solver="CLARABEL"))


PROBLEMS = {
    "Wasserstein, 6 atoms": (wasserstein(6, 0), SparseSimplex(Atoms(6), 2)),
    "Wasserstein, 8 atoms": (wasserstein(8, 1), SparseSimplex(Atoms(8), 3)),
    "Wasserstein, 12 atoms": (wasserstein(12, 2), SparseSimplex(Atoms(12), 4)),
    "Wasserstein, groups": (wasserstein(12, 3), groups(12, 2)),
    "Wasserstein, all": (wasserstein(6, 4), SparseSimplex(Atoms(6), 6)),
    "Poisson, 7 atoms": (poisson(7, 0), SparseSimplex(Atoms(7), 2)),
    "Poisson, groups": (poisson(10, 1), groups(10, 2)),
    "Poisson with zeros": (poisson(7, 2, sparse=True), SparseSimplex(Atoms(7), 3)),
}
SOLVERS = (greedy, iht, exchange, exact, minimize)


@pytest.fixture(scope="module", params=PROBLEMS)
def case(request):
    """(objective, constraint, the minimum on every support)."""
    F, C = PROBLEMS[request.param]
    supports = itertools.combinations(range(C.n_units), C.k)
    return F, C, {units: lowest(F, C.face(np.array(units))) for units in supports}


def test_they_reach_an_engine(case):
    assert implements(engine_of(*case[:2]), Engine)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.__name__)
def test_feasible_and_bounds_below_the_optimum(case, solver):
    F, C, table = case
    best = min(table.values())
    result = solver(F, C, rng=0)
    assert C.contains(result.p)
    assert result.value == F.value(result.p)
    assert result.value >= best - 1e-7
    assert result.bound is None or result.bound <= best + 1e-7
    if solver in (exact, minimize):
        assert result.status is Status.OPTIMAL
        assert result.value <= best + 1e-6


def test_greedy_is_algorithm_3(case):
    F, C, _ = case
    chosen = []
    while len(chosen) < C.k:
        free = [unit for unit in range(C.n_units) if unit not in chosen]
        values = [lowest(F, C.face(np.array([*chosen, unit]))) for unit in free]
        assert min(values) < math.inf, "Algorithm 3 does not say which to take"
        chosen.append(free[int(np.argmin(np.round(values, 7)))])
    assert greedy(F, C).value == pytest.approx(lowest(F, C.face(np.array(chosen))), abs=1e-6)


def test_exchange_reaches_a_finite_value_where_no_unit_alone_does():
    """Row i of A is fed by the entries 2i and 2i + 1 alone: three of them are needed."""
    A = np.repeat(np.eye(3), 2, axis=1) * [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    F = PoissonDeviance(Atoms(6), A, np.array([0.5, 0.3, 0.2]))
    assert greedy(F, SparseSimplex(F.space, 3)).value == math.inf  # the lowest indices
    result = exchange(F, SparseSimplex(F.space, 3), rng=0)
    assert math.isfinite(result.value)
    assert [unit // 2 for unit in result.support] == [0, 1, 2]


def test_two_groups_one_finite_answer_is_proven_among_infinite_ones():
    A = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0]])
    F = PoissonDeviance(Atoms(4), A, np.array([0.5, 0.5]))
    result = exact(F, FewGroups(F.space, np.array([0, 1, 2, 2]), 2), rng=0)
    assert result.status is Status.OPTIMAL
    assert result.support.tolist() == [0, 1]
    assert result.value == pytest.approx(0.0, abs=1e-8)


def test_a_proof_needs_few_evaluations_of_a_slow_objective():
    """Cuts are shared by all faces: a support costs a few evaluations, most often none."""
    F, count = wasserstein(12, 6), itertools.count()

    class Counted(Wasserstein):
        def value(self, p):
            next(count)
            return super().value(p)

    result = exact(Counted(F.space, F.q), SparseSimplex(F.space, 4), rng=0)
    assert result.status is Status.OPTIMAL
    assert next(count) <= 5 * math.comb(12, 4)
