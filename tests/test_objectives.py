"""Closed forms against a general convex solver, and the objectives' own edges."""

import math
import sys

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from fewer import (
    KL,
    L2,
    MMD,
    Atoms,
    Functional,
    InvalidInput,
    Lattice,
    Moments,
    SparseSimplex,
    States,
    greedy,
    iht,
)


def by_cvxpy(make, face, size):
    """min of a convex function over the distributions on one face."""
    weights = cp.Variable(len(face))
    spread = np.eye(size)[:, face]
    problem = cp.Problem(cp.Minimize(make(spread @ weights)), [weights >= 0, cp.sum(weights) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, spread @ weights.value


@pytest.mark.parametrize("seed", range(8))
def test_best_on_agrees_with_a_general_convex_solver(seed):
    rng = np.random.default_rng(seed)
    space = Lattice(3, (2, 3, 2))
    face = space.face(rng.choice(3, rng.integers(1, 4), replace=False))
    q = rng.dirichlet(np.ones(space.size))
    table = rng.standard_normal(space.size)
    A, b = rng.standard_normal((4, space.size)), rng.standard_normal(4)
    K = A.T @ A
    cases = [
        (L2(space, q), lambda p: cp.sum_squares(p - q)),
        (L2(space, table), lambda p: cp.sum_squares(p - table)),
        (KL(space, q), lambda p: cp.sum(cp.rel_entr(p[face], q[face]))),
        (Moments(space, A, b), lambda p: cp.sum_squares(A @ p - b)),
        (MMD(space, K, q), lambda p: cp.sum_squares(A @ (p - q))),
    ]
    for F, make in cases:
        value, p = by_cvxpy(make, face, space.size)
        best = F.best_on(face)
        assert F.value_on(face) == pytest.approx(value, abs=1e-6)
        assert F.value(best) == pytest.approx(F.value_on(face), abs=1e-12)
        assert F.value(best) <= F.value(np.maximum(p, 0) / np.maximum(p, 0).sum()) + 1e-12
        if not isinstance(F, (Moments, MMD)):  # the others may have several minimisers
            assert np.allclose(best, p, atol=1e-4)


def test_moments_takes_dense_sparse_and_operators():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 40)) * (rng.random((6, 40)) < 0.3)
    b, p, face = rng.standard_normal(6), rng.dirichlet(np.ones(40)), np.array([1, 5, 30])
    dense = Moments(Atoms(40), A, b)
    for other in (
        sp.csr_array(A),
        sp.csc_matrix(A),
        sp.coo_array(A),
        aslinearoperator(A),
        A.astype(np.float32),
    ):
        F = Moments(Atoms(40), other, b)
        tol = 1e-5 if getattr(other, "dtype", None) == np.float32 else 1e-10
        assert F.value(p) == pytest.approx(dense.value(p), rel=tol)
        assert np.allclose(F.gradient(p), dense.gradient(p), atol=tol)
        assert np.allclose(F.best_on(face), dense.best_on(face), atol=100 * tol)
        assert F.smoothness == pytest.approx(dense.smoothness, rel=1e-5)
    assert dense.smoothness == pytest.approx(2 * np.linalg.norm(A, 2) ** 2)
    assert Moments(Atoms(4), np.ones((1, 4)), [0.0]).smoothness == pytest.approx(8.0)
    assert Moments(Atoms(4), aslinearoperator(np.ones((1, 4))), [0.0]).smoothness == pytest.approx(
        8.0
    )
    assert Moments(
        Atoms(1), aslinearoperator(np.ones((3, 1))), np.zeros(3)
    ).smoothness == pytest.approx(6.0)


def test_kl_is_infinite_off_its_support_and_says_so_in_its_gradient():
    F = KL(Atoms(3), [0.5, 0.5, 0.0])
    assert F.value(np.array([0.5, 0.0, 0.5])) == math.inf
    assert F.value(np.array([0.5, 0.5, 0.0])) == 0.0
    gradient = F.gradient(np.array([1.0, 0.0, 0.0]))
    assert np.isfinite(gradient).all()
    assert gradient[2] > 100 > gradient[0] > gradient[1]
    assert F.value_on(np.array([2])) == math.inf
    assert F.best_on(np.array([2])).tolist() == [0, 0, 1]
    assert KL(Atoms(4), np.full(4, 0.25)).floor == 0.25


def test_functional_differences_are_close_and_say_so():
    def value(p):
        return float((np.sqrt(p + 0.1) ** 3).sum())

    with pytest.warns(UserWarning, match="differenced numerically, 10 evaluations"):
        F = Functional(Atoms(5), value)
    assert F.derivative == "differences"
    p = np.array([0.0, 1e-9, 0.3, 0.3, 0.4])
    assert np.allclose(F.gradient(p), 1.5 * np.sqrt(p + 0.1), rtol=1e-4)
    assert iht(F, SparseSimplex(F.space, 2), rng=0).support.size <= 2


def test_functional_with_jax_is_exact():
    jnp = pytest.importorskip("jax.numpy")
    F = Functional(Atoms(4), lambda p: jnp.sum(jnp.exp(p) * p))
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert F.derivative == "autodiff"
    assert np.allclose(F.gradient(p), np.exp(p) * (1 + p), rtol=1e-14)
    assert F.value(p) == pytest.approx((np.exp(p) * p).sum(), rel=1e-6)


def test_functional_without_jax_falls_back(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.warns(UserWarning, match="differenced"):
        assert Functional(Atoms(2), lambda p: (p**2).sum()).derivative == "differences"


def test_functional_refuses_what_is_no_functional():
    with pytest.raises(InvalidInput, match="value must be a function of p"):
        Functional(Atoms(2), 3)
    F = Functional(Atoms(2), lambda p: p, lambda p: p[:1])
    with pytest.raises(InvalidInput, match="one real number"):
        F.value(np.ones(2))
    with pytest.raises(InvalidInput, match=r"shape \(2,\), got \(1,\)"):
        F.gradient(np.ones(2))


def test_a_copy_toward_another_target_leaves_the_first_as_it_was():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 5))
    first = Moments(Atoms(5), A, np.zeros(9))
    units = np.array([1, 3])
    assert first.cross(units, units) == pytest.approx(A[:, units].T @ A[:, units])
    second = first.toward(np.ones(9))
    assert second.value(np.full(5, 0.2)) == pytest.approx(np.sum((A.mean(axis=1) - 1) ** 2))
    assert np.all(first.b == 0)


def test_seen_states_are_refused_where_faces_are_not_whole_dimensions():
    F = L2.on_lattice(States([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(InvalidInput, match="constraint must have faces of whole dimensions"):
        F.best_on(np.array([0, 1]))
    with pytest.raises(InvalidInput, match="use DimensionSparse"):
        greedy(F, SparseSimplex(F.space, 2))
    assert F.best_on(F.space.face([1, 2])).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [sp.lil_array, sp.dok_array, sp.dia_array, sp.coo_array])
def test_moments_take_every_sparse_format(kind):
    A = np.eye(3)
    assert Moments(Atoms(3), kind(A), [1.0, 0.0, 0.0]).value(np.array([0.0, 1.0, 0.0])) == 2.0
