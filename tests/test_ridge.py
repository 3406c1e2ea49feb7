"""A ridge on the weights: against enumeration with cvxpy, against rows that say the same, and on every road."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewer
from fewer import (
    AbsoluteError,
    Atoms,
    DownsideError,
    Moments,
    SparseSimplex,
    bins,
    terms,
)

RNG = np.random.default_rng(0)
N, K = 6, 3
X = RNG.standard_normal((18, N))
Y = X @ RNG.dirichlet(np.ones(N)) + 0.3 * RNG.standard_normal(18)
WEIGHTS = RNG.random(18) + 0.1
LOSSES = {
    "squared": lambda x: WEIGHTS @ cp.square(x),
    "absolute": lambda x: WEIGHTS @ cp.abs(x),
    "downside": lambda x: WEIGHTS @ cp.square(cp.pos(-x)),
}
NAMES = {"squared": "squared error", "absolute": "absolute error", "downside": "squared shortfall"}
CONDITIONS = {
    "none": {},
    "linear": {"constraints": (np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]), [0.2])},
    "turnover": {"previous": [0.5, 0.5, 0.0, 0.0, 0.0, 0.0], "max_turnover": 0.9},
}


def enumerated(loss, ridge, options):
    """The least loss plus ridge over all supports, by Clarabel."""
    best = np.inf
    for support in itertools.combinations(range(N), K):
        q = cp.Variable(N, nonneg=True)
        rules = [cp.sum(q) == 1, q <= 0.7, *(q[i] == 0 for i in range(N) if i not in support)]
        if "constraints" in options:
            G, h = options["constraints"]
            rules.append(G @ q <= h)
        if "previous" in options:
            rules.append(cp.norm1(q - np.array(options["previous"])) <= options["max_turnover"])
        asked = cp.Problem(cp.Minimize(LOSSES[loss](X @ q - Y) + ridge * cp.sum_squares(q)), rules)
        asked.solve(solver=cp.CLARABEL)
        if asked.status == "optimal":
            best = min(best, asked.value)
    return best


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("ridge", [1e-6, 0.5, 30.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_terms_with_a_ridge_are_the_best_of_all_supports(loss, ridge, condition):
    options = {**CONDITIONS[condition], "loss": loss, "sample_weight": WEIGHTS, "max_weight": 0.7}
    found = terms(X, Y, K, ridge=ridge, **options, rng=0)
    assert found.value == pytest.approx(enumerated(loss, ridge, options), rel=1e-6)
    assert found.gap <= 1e-6 * found.value
    alone = {
        "squared": np.square,
        "absolute": np.abs,
        "downside": lambda x: np.maximum(-x, 0.0) ** 2,
    }[loss]
    assert found.loss == pytest.approx(float(WEIGHTS @ alone(X @ found.p - Y)), rel=1e-9)
    assert found.value == pytest.approx(found.loss + ridge * float(found.p @ found.p), rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-90, 1e90])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, aslinearoperator])
@pytest.mark.parametrize("weights", [None, WEIGHTS, 1e-12 * WEIGHTS])
def test_a_ridge_is_rows_of_the_root_of_the_ridge(scale, form, weights):
    ridge = 0.3 * scale**2
    F = Moments(Atoms(N), form(X * scale), Y * scale, weights, ridge)
    rows = np.vstack([X, np.sqrt(0.3) * np.eye(N)]) * scale
    plain = np.ones(18) if weights is None else weights
    G = Moments(Atoms(N), rows, np.append(Y, np.zeros(N)) * scale, np.append(plain, np.ones(N)))
    some, p = np.array([0, 2, 5]), RNG.dirichlet(np.ones(N))
    for name in ("value", "gradient", "best_on", "value_on"):
        at = some if name.endswith("on") else p
        np.testing.assert_allclose(getattr(F, name)(at), getattr(G, name)(at), rtol=1e-8)
    for name in ("cross", "centred"):
        np.testing.assert_allclose(
            getattr(F, name)(some, some), getattr(G, name)(some, some), rtol=1e-8
        )
    np.testing.assert_allclose(F.diagonal, G.diagonal, rtol=1e-12)
    assert F.smoothness == pytest.approx(G.smoothness, rel=1e-9)
    assert F.value(p) == pytest.approx(F.loss(p) + ridge * float(p @ p), rel=1e-9)


def test_a_tall_matrix_is_factored_with_its_ridge():
    tall = np.random.default_rng(1).standard_normal((6000, 5))
    y = tall @ np.full(5, 0.2) + 1.0
    F = Moments(Atoms(5), tall, y, np.linspace(0.5, 2.0, 6000), 700.0)
    G, exponent = F.normalised()
    assert G.A.shape[0] < 10
    p = np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    assert G.value(p) * 2.0**exponent == pytest.approx(F.value(p), rel=1e-9)


@pytest.mark.parametrize(("kind", "n"), [(Moments, 700), (AbsoluteError, 20), (DownsideError, 20)])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_equal_weights_are_proven_where_there_is_nothing_but_the_ridge(kind, n, k):
    """`‖q‖² >= 1 / k`, also where no relaxation is solved."""
    F = kind(Atoms(n), np.zeros((2, n)), np.zeros(2), None, 3.0)
    found = fewer.exchange(F, SparseSimplex(Atoms(n), k), rng=0, budget=0.0)
    assert found.value == pytest.approx(3.0 / k, rel=1e-12)
    assert found.status is fewer.Status.OPTIMAL
    assert found.bound <= found.value


def test_bins_that_preserve_a_matrix_take_a_ridge():
    counts = np.arange(1, N + 1)
    p = counts / counts.sum()
    found = bins(counts=counts, k=K, preserve=X, ridge=0.5, rng=0)
    expected = terms(X, X @ p, K, ridge=0.5, rng=0)
    for name in ("value", "bound", "loss"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    held = bins(counts=counts, k=K, preserve=X, ridge=0.5, validation=0.3, rng=0)
    assert held.value == pytest.approx(held.loss + 0.5 * float(held.p @ held.p), rel=1e-12)
