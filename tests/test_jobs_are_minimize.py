"""The jobs only choose an objective and a constraint: their answers are those of `minimize`, bit for bit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewer import L2, Atoms, Moments, SparseSimplex, bins, minimize, points, terms
from fewer.jobs.points import target as _target
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
def test_terms_with_weighted_rows_is_minimize(solver):
    X, y = table(1)
    weight = np.random.default_rng(2).random(20)
    F = Moments(Atoms(14), X, y, weight)
    twin = minimize(F, SparseSimplex(F.space, 4), solver, rng=3)
    same(terms(X, y, 4, sample_weight=weight, solver=solver, rng=3), twin)


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


def containers(X):
    return {"dense": X, "csr": sp.csr_array(X), "frame": pd.DataFrame(X)}


@pytest.mark.parametrize("work", [10**5, 10**11])
def test_what_is_compared_does_not_depend_on_the_container(monkeypatch, work):
    """Above the limit on work candidates are drawn, the same ones whatever X came in."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1200, 4)) * (rng.random((1200, 4)) < 0.7)
    for name, value in {
        "MAX_PAIRWISE_WORK": work,
        "MAX_CANDIDATE_WORK": 10**7,
        "MIN_CANDIDATES": 100,
    }.items():
        monkeypatch.setattr(_target, name, value)
    found = {
        name: points(form, 6, gamma=0.5, standardize=False, solver="greedy", rng=0)
        for name, form in containers(X).items()
    }
    dense = found["dense"]
    assert ("candidate rows" in dense.note) == (work == 10**5)
    for other in found.values():
        assert other.indices.tolist() == dense.indices.tolist()
        assert other.note == dense.note
        assert (other.bound is None) == (dense.bound is None)


@pytest.mark.parametrize("k", [6, 40])
@pytest.mark.parametrize("max_memory", [50_000, 10**9])
def test_memory_decides_alike_for_all_containers(monkeypatch, k, max_memory):
    """12 k N bytes hold the similarities of k rows to all: where they do not fit, candidates are drawn."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((600, 3)) * (rng.random((600, 3)) < 0.7)
    notes, fits = [], 12 * k * len(np.unique(X, axis=0)) <= max_memory
    monkeypatch.setattr(_target, "MIN_CANDIDATES", 100)
    for form in containers(X).values():
        found = points(
            form, k, gamma=0.5, standardize=False, max_memory=max_memory, solver="greedy", rng=0
        )
        assert (found.bound is not None) == fits
        notes.append((found.note, found.indices.tolist()))
    assert notes[0] == notes[1] == notes[2]
