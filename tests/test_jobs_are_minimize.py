"""The jobs only choose an objective and a constraint: their answers are those of `minimize`, bit for bit."""

import numpy as np
import pytest

from fewer import L2, Atoms, Moments, SparseSimplex, bins, minimize, points, terms
from fewer.objectives.cumulative import Cumulative
from fewer.objectives.mmd import RowsMMD
from fewer.similarity import similarity_of
from fewer.solvers.minimize import SOLVERS

every_solver = pytest.mark.parametrize("solver", SOLVERS)
BOUNDS = {
    "none": {},
    "weights": {"min_weight": 0.1, "max_weight": 0.5},
    "all": {
        "min_weight": 0.05,
        "max_weight": 0.6,
        "include": [2],
        "exclude": [5, 11],
        "groups": [i % 4 for i in range(14)],
        "max_per_group": 2,
    },
}


def same(found, twin):
    assert found.indices.tolist() == twin.indices.tolist()
    assert found.weights.tobytes() == twin.weights.tobytes()
    assert found.value == twin.value
    assert found.bound == twin.bound
    assert found.status is twin.status
    assert found.history.tobytes() == twin.history.tobytes()


def table(seed, rows=20, n=14):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, n)) + rng.standard_normal((rows, 1))
    return X, X @ rng.dirichlet(np.full(n, 0.5)) + 0.2 * rng.standard_normal(rows)


def histogram(seed, n=30):
    """Counts with a power of two for the largest, so that their shares have no rounding but that of one division."""
    counts = np.random.default_rng(seed).integers(0, 60, n)
    counts[seed] = 64
    return counts


@every_solver
@pytest.mark.parametrize("bounds", BOUNDS)
def test_terms_is_minimize(solver, bounds):
    X, y = table(0)
    F = Moments(Atoms(14), X, y)
    twin = minimize(F, SparseSimplex(F.space, 5, **BOUNDS[bounds]), solver, rng=0)
    same(terms(X, y, 5, solver=solver, rng=0, **BOUNDS[bounds]), twin)


@every_solver
@pytest.mark.parametrize("preserve", ["cdf", "entries", "matrix"])
def test_bins_is_minimize(solver, preserve):
    counts = histogram(0)
    p = counts / counts.sum()
    A = np.random.default_rng(1).standard_normal((40, 30))
    objectives = {"cdf": Cumulative, "entries": L2}
    F = Moments(Atoms(30), A, A @ p) if preserve == "matrix" else objectives[preserve](Atoms(30), p)
    twin = minimize(F, SparseSimplex(F.space, 4), solver, rng=0)
    same(
        bins(
            counts=counts,
            k=4,
            preserve=A if preserve == "matrix" else preserve,
            solver=solver,
            rng=0,
        ),
        twin,
    )


@every_solver
def test_unsampled_points_is_minimize(solver):
    """On the rows in lexicographic order: a small table is sorted, so that the order of its rows does not matter."""
    X = np.random.default_rng(4).standard_normal((50, 3))
    order = np.lexsort(X.T[::-1])
    F = RowsMMD.between(X[order], np.full(50, 1 / 50), similarity_of("rbf", 0.5), memory=10**9)
    twin = minimize(F, SparseSimplex(F.space, 4), solver, rng=0)
    found = points(X, 4, gamma=0.5, solver=solver, rng=0)
    back = np.argsort(order[twin.indices])
    assert found.indices.tolist() == order[twin.indices][back].tolist()
    assert found.weights.tobytes() == twin.weights[back].tobytes()
    assert found.value == twin.value
    assert found.bound == max(twin.bound or 0.0, 0.0)  # a squared distance is never below zero
