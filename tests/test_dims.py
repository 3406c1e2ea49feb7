"""dims: the job and its estimator, against enumeration, the dense lattice, and the proven optima of real data."""

import itertools
import math
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import (
    KL,
    L2,
    DimensionSparse,
    FewerDims,
    InvalidInput,
    Lattice,
    Status,
    coverage,
    deadline,
    dims,
    exact,
    iht,
)
from fewer.datasets import baskets

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")
REAL = Path(__file__).parents[2] / "shared/data"


FRACTIONS = (
    "the check feeds fractions, which FewerDims refuses; test_weights_equal_repeated_rows checks"
    " the same"
)


@pytest.mark.filterwarnings("ignore:k = .* is more than the:UserWarning")
@parametrize_with_checks(
    [
        FewerDims(),
        FewerDims(k=2, objective="l2"),
        FewerDims(k=1, solver="exchange"),
        FewerDims(k=3, solver="iht"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
        "check_sample_weight_equivalence_on_sparse_data": FRACTIONS,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def random_rows(seed, n=None, m=4):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 7))
    rows = int(rng.integers(1, 40))
    X = rng.integers(0, m, (rows, n)) * (rng.random((rows, n)) < rng.uniform(0.2, 0.7))
    X[rng.integers(rows)] = 0
    return X, rng.dirichlet(np.ones(rows)), int(rng.integers(1, n + 1)), rng


def dense(X, weights, objective):
    """The same problem on the whole lattice."""
    space = Lattice(X.shape[1], tuple(int(c) + 1 for c in X.max(axis=0)))
    q = np.zeros(space.size)
    np.add.at(q, space.ravel(X), weights)
    return (KL if objective == "kl" else L2)(space, q)


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(25))
def test_states_and_dense_lattice_give_the_same(seed, objective):
    X, weights, k, _ = random_rows(seed)
    F = dense(X, weights, objective)
    C = DimensionSparse(F.space, k)
    best = min(F.value_on(C.face(units)) for units in combinations(range(X.shape[1]), k))
    everything = F.space.unravel(np.arange(F.space.size))
    for solver in SOLVERS:
        result = dims(X, k, objective=objective, sample_weight=weights, solver=solver, rng=seed)
        face = C.face(result.support)
        assert result.value == pytest.approx(F.value_on(face), abs=1e-10)
        assert np.allclose(result.distribution.pmf(everything), F.best_on(face), atol=1e-10)
        assert result.distribution.weights.sum() + result.distribution.rest == pytest.approx(
            1, abs=1e-12
        )
        assert result.support.size <= k
        assert result.value >= best - 1e-10
        if solver in ("auto", "exact"):
            assert result.value == pytest.approx(best, abs=1e-10)
            assert result.status is Status.OPTIMAL
            assert abs(result.gap) <= 1e-9
    assert exact(F, C).value == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_iht_on_a_small_lattice_is_the_papers_on_the_dense_table(objective):
    """It visits the same supports, so it ends no worse than the best iterate of the dense run."""
    X, weights, _, _ = random_rows(3, n=6, m=2)
    F = dense(X, weights, objective)
    result = dims(X, 3, objective=objective, sample_weight=weights, solver="iht", rng=5)
    rng = np.random.default_rng(5)
    twin = iht(F, DimensionSparse(F.space, 3), rng=rng)
    assert result.value <= twin.value + 1e-10


def test_sparse_input_is_never_densified(monkeypatch):
    X = baskets(300, 5000, 4, rng=0)

    def refuse(self, *args, **kwargs):
        if self.shape[1] > 100:
            raise AssertionError("densified")
        return original(self, *args, **kwargs)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    result = dims(X, 20, solver="exchange", rng=0)
    assert result.support.size == 20
    assert FewerDims(5, solver="exchange").fit(X).transform(X).shape == (300, 5)


@pytest.mark.parametrize("seed", range(10))
def test_baseline_is_a_recoding(seed):
    """With a baseline b the answer is the one for codes swapped so that b is 0, told in the codes of X."""
    X, weights, k, rng = random_rows(seed)
    b = rng.integers(0, X.max(axis=0) + 1)
    X[0] = b
    moved = np.where(b == X, 0, np.where(b > X, X + 1, X))
    for objective in ("kl", "l2"):
        result = dims(X, k, objective=objective, sample_weight=weights, baseline=b, rng=0)
        twin = dims(moved, k, objective=objective, sample_weight=weights, rng=0)
        assert result.value == pytest.approx(twin.value, abs=1e-12)
        assert result.support.tolist() == twin.support.tolist()
        d, e = result.distribution, twin.distribution
        assert np.allclose(d.pmf(X), e.pmf(moved))
        assert (
            np.delete(d.sample(50, rng=1), result.support, axis=1) == np.delete(b, result.support)
        ).all()
    assert coverage(X, result.support, sample_weight=weights, baseline=b) == pytest.approx(
        coverage(moved, result.support, sample_weight=weights)
    )


def test_mode_takes_the_heaviest_code_of_each_column():
    X = np.array([[3, 0, 1], [3, 0, 2], [1, 0, 2], [0, 1, 2]])
    selector = FewerDims(1, baseline="mode").fit(X)
    assert selector.baseline_.tolist() == [3, 0, 2]
    assert FewerDims(1, baseline="mode").fit(X, sample_weight=[0, 0, 5, 1]).baseline_.tolist() == [
        1,
        0,
        2,
    ]


def test_weights_equal_repeated_rows():
    X, _, k, rng = random_rows(4)
    counts = rng.integers(0, 4, len(X))
    counts[0] += 1
    for objective in ("kl", "l2"):
        weighted = dims(X, k, objective=objective, sample_weight=counts, rng=0)
        repeated = dims(np.repeat(X, counts, axis=0), k, objective=objective, rng=0)
        assert weighted.value == pytest.approx(repeated.value, abs=1e-12)
        assert weighted.bound == pytest.approx(repeated.bound, abs=1e-9)


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_time_limit_is_kept_and_the_bound_is_always_stated(objective, monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((20000, 80)) < 0.12).astype(np.int8)
    dims(X[:200, :30], 5, objective=objective, rng=0)  # whatever has to be compiled is
    looks = itertools.count()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: 0.01 * next(looks)))
    for limit in (0.05, 0.5):
        before = next(looks)
        result = dims(X, 25, objective=objective, rng=0, time_limit=limit)
        assert next(looks) - before <= 110 * limit + 25  # hundredths of a second, and then no more
        assert result.bound is not None
        assert result.bound <= result.value
        assert result.status is Status.TIME_LIMIT


def test_greedy_takes_the_lowest_index_where_searches_look_ahead():
    """No single item completes any order, and the empty one is complete in any case: Algorithm 3 picks items 0, 1."""
    orders = np.zeros((11, 12), int)
    orders[:7, [5, 9]] = 1
    orders[7:10, [0, 1, 2]] = 1
    assert dims(orders, 2, solver="exchange", rng=0).support.tolist() == [5, 9]
    assert dims(orders, 2, solver="greedy").value == pytest.approx(-np.log(1 / 11))


def test_estimator_attributes_and_frames():
    X = pd.DataFrame(random_rows(5, n=5)[0], columns=list("abcde"))
    selector = FewerDims(k=2, random_state=0).fit(X)
    assert selector.indices_.tolist() == np.flatnonzero(selector.get_support()).tolist()
    assert (selector.support_ == selector.get_support()).all()
    assert selector.get_support().dtype == bool
    assert selector.feature_names_in_.tolist() == list("abcde")
    assert selector.get_feature_names_out().tolist() == [
        list("abcde")[i] for i in selector.indices_
    ]
    assert (selector.transform(X) == X.to_numpy()[:, selector.indices_]).all()
    assert selector.coverage_ == pytest.approx(math.exp(-selector.value_)) == selector.score(X)
    assert selector.gap_ == selector.value_ - selector.bound_ == selector.result_.gap
    assert selector.distribution_ is selector.result_.distribution
    with pytest.warns(UserWarning, match="k = 99 is more than the 5 columns there are") as raised:
        assert FewerDims(k=99).fit(X).support_.all()
    assert len(raised) == 1


BAD = [
    ([[0, -1], [1, 0]], {}, r"X must hold whole numbers in 0\.\.2\^31-1, got -1"),
    ([[0, 0.5], [1, 0]], {}, "X must hold whole numbers, got 0.5"),
    ([[0, np.nan], [1, 0]], {}, r"X must hold whole numbers in 0\.\.2\^31-1, got nan"),
    ([["a", "b"]], {}, "X must hold real numbers, got dtype <U1"),
    (np.empty((0, 3)), {}, r"X must be a table .* got shape \(0, 3\)"),
    ([1, 0, 1], {}, r"X must be a table .* got shape \(3,\)"),
    ([[0, 1], [1]], {}, r"X must be an array with rows of one length, got \[\[0, 1\], \[1\]\]"),
    ([[0, 1]], {"k": 3}, r"k must be in 1\.\.2 \(columns\), got 3"),
    ([[0, 1]], {"k": 0}, r"k must be in 1\.\.2 \(columns\), got 0"),
    ([[0, 1]], {"k": 1.0}, r"k must be an integer in 1\.\.2 \(columns\), got 1.0 \(float\)"),
    ([[0, 1]], {"objective": "tv"}, "objective must be one of 'kl', 'l2', got 'tv'"),
    (
        [[0, 1]],
        {"solver": "magic"},
        (
            "solver must be one of 'auto', 'exact', 'exchange', 'frank_wolfe', 'greedy', 'iht', got"
            " 'magic'"
        ),
    ),
    (
        [[0, 1]],
        {"baseline": "mean"},
        "baseline must be one of 'auto', 'mode', 'zero', got 'mean'",
    ),
    ([[0, 1]], {"baseline": [0]}, "baseline must be 'zero', 'mode' or 2 non-negative integers"),
    ([[0, 1]], {"time_limit": -1}, "time_limit must be above 0, got -1"),
    (
        [[0, 1], [1, 0]],
        {"sample_weight": [1, -1]},
        "sample_weight must be non-negative, got -1.0 at index 1",
    ),
    (
        [[0, 1], [1, 0]],
        {"sample_weight": [0, 0]},
        "sample_weight must have a positive sum, got all zeros",
    ),
    ([[0, 1], [1, 0]], {"sample_weight": [1]}, r"sample_weight must have shape \(2,\), got \(1,\)"),
]


@pytest.mark.parametrize(("X", "options", "sentence"), BAD, ids=[case[2] for case in BAD])
def test_bad_input_gets_a_sentence(X, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        dims(X, **{"k": 1, **options})


def test_strange_but_good_input():
    nothing = dims(np.zeros((5, 4), int), 2)
    assert nothing.value == nothing.gap == 0.0
    assert len(nothing.distribution) == 1
    same = dims(np.ones((10**6, 3), np.int8), 3)
    assert same.value == 0.0
    assert len(same.distribution) == 1
    uniform = dims([[1, 1, 1]], 2, objective="l2")  # no row fits: the best is uniform on the face
    assert uniform.value == pytest.approx(1 + 1 / 4)
    assert uniform.distribution.pmf([0, 0, 0]) == pytest.approx(1 / 4)
    none = dims([[1, 1, 1], [1, 1, 2]], 2)  # KL is infinite whatever is chosen, and that is proven
    assert none.value == none.bound == math.inf
    assert none.gap == 0.0
    with_codes = dims([[0, 200000], [0, 0]], 1)
    assert with_codes.distribution.pmf([0, 200000]) == pytest.approx(0.5)


needs_data = pytest.mark.skipif(
    not REAL.exists(), reason="the real data sets are not beside the repository"
)


@needs_data
@pytest.mark.parametrize(
    ("name", "k", "optimum"),
    [
        ("nltcs", 6, 0.424881),
        ("msnbc", 7, 0.358609),
        ("plants", 10, 0.227487),
        ("plants", 20, 0.416896),
        ("tretail", 15, 0.380836),
        ("kosarek", 20, 0.606472),
    ],
)
def test_real_data_is_proven(name, k, optimum):
    with np.load(REAL / "debd.npz", allow_pickle=False) as file:
        X = np.unpackbits(file[f"{name}_train"], axis=1, count=int(file[f"{name}_n_vars"]))
    result = dims(X, k, rng=0)
    assert math.exp(-result.value) == pytest.approx(optimum, abs=1e-6)
    assert abs(result.gap) <= 1e-9
    assert result.status is Status.OPTIMAL
    swaps = dims(X, k, solver="exchange", rng=0)
    assert math.exp(-swaps.value) >= 0.99 * optimum
    assert coverage(X, result.support) == pytest.approx(optimum, abs=1e-6)
