"""What is claimed of a user's own functional, against enumeration of the supports by other means."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import rel_entr

from fewer import (
    MMD,
    Atoms,
    Functional,
    InvalidInput,
    Refitting,
    SparseSimplex,
    Status,
    exact,
    exchange,
    frank_wolfe,
    greedy,
    iht,
    minimize,
    points,
    terms,
)

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Plain:
    """Any F, by its two members."""

    smoothness = math.inf

    def __init__(self, n, value, gradient):
        self.space, self._value, self._gradient = Atoms(n), value, gradient

    def value(self, p):
        return float(self._value(p))

    def gradient(self, p):
        with np.errstate(all="ignore"):
            return self._gradient(p)


class MeanVariance:
    """F[p] = pᵀSp - 2 mᵀp, with all that a quadratic offers; it is often negative."""

    def __init__(self, S, m):
        self.S, self.m, self.space, self.constant = S, m, Atoms(len(m)), 0.0
        self.smoothness, self.diagonal = 2.0 * np.linalg.norm(S, 2), np.diag(S)

    def value(self, p):
        return float(p @ self.S @ p - 2.0 * self.m @ p)

    def gradient(self, p):
        return 2.0 * (self.S @ p - self.m)

    def linear(self, units):
        return self.m[units]

    def cross(self, units, others):
        return self.S[np.ix_(units, others)]

    def slopes(self, units, weights):
        return self.m - self.S[:, units] @ weights

    def value_at(self, units, weights):
        return float(
            weights @ self.S[np.ix_(units, units)] @ weights - 2.0 * self.m[units] @ weights
        )


def lowest_on_pair(F, i, j):
    """The minimum of F between two corners: a grid, then golden sections."""

    def value(t):
        p = np.zeros(F.space.size)
        p[i], p[j] = t, 1.0 - t
        return F.value(p)

    grid = np.linspace(0.0, 1.0, 401)
    values = [value(t) for t in grid]
    at = int(np.argmin(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, 400)]
    for _ in range(80):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return min(values[at], value(low), value(high))


def lowest(F):
    """The minimum of F over all distributions on two entries."""
    return min(lowest_on_pair(F, i, j) for i, j in itertools.combinations(range(F.space.size), 2))


def barrier(n, a, b, e, q, scale=1.0, offset=0.0):
    """F = ‖p - q‖² - e Σ log(b - Ap), infinite where some (Ap)_i >= b_i."""

    def value(p):
        left = b - a @ p
        return (
            scale * (((p - q) ** 2).sum() - e * np.log(left).sum() + offset)
            if (left > 0.0).all()
            else math.inf
        )

    return Functional(
        Atoms(n), value, lambda p: scale * (2.0 * (p - q) + e * (a.T @ (1.0 / (b - a @ p))))
    )


def hellinger(q, scale=1.0, offset=0.0):
    slopes = lambda p: scale * np.where(q == 0.0, 1.0, 1.0 - np.sqrt(q) / np.sqrt(p))
    return Plain(
        len(q), lambda p: scale * (((np.sqrt(p) - np.sqrt(q)) ** 2).sum() + offset), slopes
    )


def problem(kind, seed):
    """A random F, and the size of its terms."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.integers(3, 6))
    q, scale = rng.dirichlet(np.ones(n)), 10.0 ** rng.uniform(-12, 12)
    offset = rng.choice([-1.0, 0.0, 1.0]) * 10.0 ** rng.uniform(-3, 2)
    if kind == "caps":
        some = rng.choice(n, rng.integers(1, n + 1), replace=False)
        F = barrier(
            n,
            np.eye(n)[some],
            rng.uniform(0.2, 0.9, len(some)),
            10.0 ** rng.uniform(-5, -1),
            q,
            scale,
            offset,
        )
    elif kind == "halfspace":
        a = rng.normal(size=(1, n))
        b = a.min(axis=1) + rng.uniform(0.05, 0.8) * np.ptp(a)
        F = barrier(n, a, b, 10.0 ** rng.uniform(-5, -1), q, scale, offset)
    elif kind in {"entropy", "hellinger"}:
        q = np.where(rng.random(n) < 0.3, 0.0, q)
        q = q / q.sum() if q.sum() else np.eye(n)[0]
        value = lambda p: scale * (rel_entr(p, q).sum() + offset)
        entropy = Plain(n, value, lambda p: scale * (np.log(p) - np.log(q) + 1.0))
        F = entropy if kind == "entropy" else hellinger(q, scale, offset)
    elif kind == "absolute":
        A = rng.normal(size=(4, n))
        value = lambda p: scale * (np.abs(A @ (p - q)).sum() + offset)
        F = Functional(Atoms(n), value, lambda p: scale * (A.T @ np.sign(A @ (p - q))))
    elif kind == "squares":
        A, b = rng.normal(size=(3, n)), rng.normal(size=3)
        value = lambda p: scale * (((A @ p - b) ** 2).sum() + offset)
        beta = 2.0 * scale * np.linalg.norm(A, 2) ** 2
        F = Functional(Atoms(n), value, lambda p: 2.0 * scale * (A.T @ (A @ p - b)), beta)
    else:
        A = rng.normal(size=(max(n - 1, 2), n))
        F = MeanVariance(scale * (A.T @ A), scale * rng.normal(size=n))
    return F, scale


KINDS = ("caps", "halfspace", "entropy", "hellinger", "absolute", "squares", "mean variance")


def check(F, scale, result, best, finds=True):
    """No false proof, no bound above the optimum, and the optimum itself."""
    gap = 1e-6 * abs(best) + 1e-11 * scale
    if result.status is Status.OPTIMAL:
        assert result.value <= best + gap
    if result.bound is not None:
        assert result.bound <= best + 1e-9 * abs(best) + 1e-12 * scale
    if finds:
        assert result.value == pytest.approx(best, rel=1e-6, abs=1e-9 * scale)
        assert F.value(result.p) == pytest.approx(result.value, rel=1e-12, abs=1e-12 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_against_enumeration(kind):
    proven = 0
    for seed in range(25):
        F, scale = problem(kind, seed)
        best = lowest(F)
        if math.isfinite(best):
            result = exact(F, SparseSimplex(F.space, 2))
            check(F, scale, result, best)
            proven += result.status is Status.OPTIMAL
    assert proven >= 15


@pytest.mark.parametrize("seed", range(10))
def test_frank_wolfe_in_any_unit(seed):
    F, scale = problem("squares", seed)
    check(F, scale, frank_wolfe(F, SparseSimplex(F.space, 2)), lowest(F), finds=False)


def test_a_face_whose_even_distribution_is_outside_the_domain():
    q = np.array([0.45, 0.30, 0.15, 0.10])
    F = barrier(4, np.eye(4)[:1], np.array([0.4]), 1e-3, q)
    result = exact(F, SparseSimplex(F.space, 2))
    assert result.status is Status.OPTIMAL
    assert result.support.tolist() == [0, 1]
    assert result.value == pytest.approx(lowest(F), rel=1e-8)


def test_entries_that_are_only_finite_together():
    """Neither corner, nor the even distribution: only shares of about one half of both."""
    a = np.array([[1.0, -1.0, 5.0], [-1.0, 1.0, 5.0], [0.0, 0.0, 9.0]])
    F = barrier(3, a, np.array([0.1, 0.1, 0.5]), 1e-3, np.array([0.9, 0.05, 0.05]))
    assert F.value(np.full(3, 1 / 3)) == math.inf
    result = exact(F, SparseSimplex(F.space, 2))
    assert result.support.tolist() == [0, 1]
    assert result.value == pytest.approx(lowest(F), rel=1e-8)


def test_slopes_beside_a_zero_are_not_the_size_of_f():
    q = np.array([0.9113352062033521, 0.07922336194158508, 0.009441431855062925, 0.0])
    slopes = lambda p: 1.0 - np.sqrt(q) / np.sqrt(np.maximum(p, 1e-33))
    F = Functional(Atoms(4), lambda p: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(), slopes)
    result = exact(F, SparseSimplex(F.space, 2))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(lowest(F), rel=1e-8)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e12])
def test_a_small_objective_is_not_proven_early(scale):
    rng = np.random.default_rng(0)
    A, q = rng.normal(size=(4, 8)), np.array([0.3, 0.3, 0.2, 0.2, 0, 0, 0, 0])
    F = Functional(
        Atoms(8),
        lambda p: scale * ((A @ (p - q)) ** 2).sum(),
        lambda p: 2 * scale * A.T @ (A @ (p - q)),
        2 * scale * np.linalg.norm(A, 2) ** 2,
    )
    best = lowest(F)
    found = frank_wolfe(F, SparseSimplex(F.space, 2))
    assert found.status is not Status.OPTIMAL or found.value <= best * (1 + 1e-5)
    check(F, scale, exact(F, SparseSimplex(F.space, 2)), best)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_mmd_does_not_know_an_offset_of_its_similarities(offset):
    X = np.random.default_rng(0).normal(size=(12, 3))
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    plain, moved = (MMD(Atoms(12), K + c, np.full(12, 1 / 12)) for c in (0.0, offset))
    assert moved.scale == pytest.approx(plain.scale, rel=1e-6)
    p = np.eye(12)[3]
    assert moved.value(p) == pytest.approx(plain.value(p), rel=1e-6)
    result, best = exact(moved, SparseSimplex(Atoms(12), 2)), lowest(plain)
    assert result.value == pytest.approx(best, rel=1e-5)
    assert result.bound is None or result.bound <= best * (1 + 1e-5)


def test_similarities_far_from_zero_prove_nothing_false():
    X = 1e5 + np.random.default_rng(0).normal(size=(14, 6))
    centred = X - X.mean(axis=0)
    best = points(centred @ centred.T, 3, similarity="precomputed", solver="exact")
    assert best.status is Status.OPTIMAL
    for solver in ("greedy", "exact"):
        result = points(X @ X.T, 3, similarity="precomputed", solver=solver)
        assert result.status is not Status.OPTIMAL or result.value <= 1.01 * best.value
        assert "not convex" not in result.note
    assert result.value == pytest.approx(best.value, rel=0.01)


@pytest.mark.parametrize("seed", range(30))
def test_a_quadratic_may_be_negative(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rng.integers(3, 12), 8))
    F = MeanVariance(A.T @ A / 8, rng.normal(size=8))
    best = lowest(F)
    for solve in (exact, exchange, minimize, iht, greedy, frank_wolfe):
        check(F, 1.0, solve(F, SparseSimplex(F.space, 2)), best, finds=solve in (exact, minimize))


class Indefinite(MeanVariance):
    """A quadratic that says that it is a squared distance."""

    def centred(self, units, others):
        return self.cross(units, others) - self.linear(units)[:, None] - self.linear(others)


def test_a_squared_distance_that_is_none_is_refused():
    F = Indefinite(np.eye(5), np.arange(5.0))
    with pytest.raises(
        InvalidInput,
        match=r"Indefinite\.centred\(units, others\) must return .* got one with an eig",
    ):
        exact(F, SparseSimplex(F.space, 2))


@pytest.mark.parametrize("wrong", [-1.0, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_wrong_gradient_is_refused(wrong, scale):
    q = np.random.default_rng(0).dirichlet(np.ones(30))
    F = Functional(
        Atoms(30), lambda p: scale * ((p - q) ** 2).sum(), lambda p: wrong * scale * 2 * (p - q)
    )
    with pytest.raises(
        InvalidInput, match=r"gradient\(p\) must be a subgradient of a convex .* got F\[q\] = "
    ):
        exact(F, SparseSimplex(F.space, 4))


@pytest.mark.filterwarnings("ignore:no gradient was given")
@pytest.mark.parametrize("gradient", [lambda p: -2 * p, None])
def test_a_concave_functional_is_refused(gradient):
    F = Functional(Atoms(6), lambda p: -(p**2).sum(), gradient)
    with pytest.raises(InvalidInput, match="of a convex"):
        exact(F, SparseSimplex(F.space, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_valid_functionals_are_not_refused(kind):
    for seed in range(60):
        F, _ = problem(kind, seed)
        greedy(F, SparseSimplex(F.space, 1))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_single_precision_is_not_refused(scale):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, b = rng.normal(size=(50, 40)).astype(np.float32), rng.normal(size=50).astype(np.float32)

        def value(p, A=A, b=b):
            return np.float32(scale) * np.square(A @ p.astype(np.float32) - b).sum()

        def gradient(p, A=A, b=b):
            return np.float32(2 * scale) * (A.T @ (A @ p.astype(np.float32) - b))

        greedy(Functional(Atoms(40), value, gradient), SparseSimplex(Atoms(40), 1))


def test_downside_of_nothing_is_a_number():
    assert terms(np.zeros((1, 3)), [0.0], 2, loss="downside", solver="iht").value == 0.0


@pytest.mark.filterwarnings("error")
def test_refits_go_on_where_slopes_are_infinite():
    F = hellinger(np.array([0.4, 0.1, 0.3, 0.2]))
    start = np.array([0.5, 0.5, 0.0, 0.0])
    result = iht(F, SparseSimplex(F.space, 2), start=start, step=Refitting(), max_iter=5)
    assert F.value(result.p) == result.value <= F.value(start)
