"""bins of values: the loss is to the values, the bound holds over all positions, the answer is in their units."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import FewerBins, InvalidInput, Status, bins
from fewer.jobs.bins import empirical, values
from fewer.jobs.bins.empirical import Empirical

LATENCIES = np.random.default_rng(0).lognormal(3.04, 1.0, 5000)


def distance(x, weights, at, masses):
    """∫ (Q - P)² dx by going through all points of both: the slow obvious way."""
    points = np.union1d(x, at)
    P = np.array([weights[x <= p].sum() for p in points]) / weights.sum()
    Q = np.array([masses[at <= p].sum() for p in points])
    return float(np.diff(points) @ (P - Q)[:-1] ** 2)


def best_of_all(x, weights, k):
    """The least distance over all k of the distinct values, weights refitted: levels are means of P between jumps."""
    points = np.unique(x)
    P = np.array([weights[x <= v].sum() for v in points]) / weights.sum()
    gaps, best = np.diff(points), np.inf
    for chosen in combinations(range(len(points)), k):
        total = float(gaps[: chosen[0]] @ P[: chosen[0]] ** 2) + float(
            gaps[chosen[-1] :] @ (1 - P[chosen[-1] : -1]) ** 2
        )
        for a, b in pairwise(chosen):
            level = np.average(P[a:b], weights=gaps[a:b])
            total += float(gaps[a:b] @ (P[a:b] - level) ** 2)
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["auto", "equal", "log", "quantile"])
def test_the_value_is_the_distance_to_the_values_and_the_bound_is_below_the_best_of_all(seed, form):
    rng = np.random.default_rng(seed)
    x = rng.choice(rng.lognormal(size=10), 30)
    weights = rng.integers(1, 4, 30).astype(float) if seed % 2 else np.ones(30)
    options = {} if form == "auto" else {"grid": form, "n_bins": 5}
    result = bins(x, 2, sample_weight=weights, **options)
    at, masses = result.labels, result.weights
    assert result.value == pytest.approx(distance(x, weights, at, masses), rel=1e-9)
    best = best_of_all(x, weights, 2)
    assert result.bound <= best * (1 + 1e-9)
    assert result.value >= best * (1 - 1e-9)
    assert set(at) <= set(x)
    assert result.total == weights.sum()
    assert result.counts == pytest.approx(masses * weights.sum())
    if form == "auto":
        assert result.value == pytest.approx(best, rel=1e-9)
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_a_coarse_grid_is_true(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.standard_gamma(0.5, 14) * 10.0 ** rng.integers(-2, 3, 14))
    k = int(rng.integers(1, 4))
    monkeypatch.setattr(values, "MAX_POSITIONS_PER_K", 2)
    monkeypatch.setattr(values, "MIN_POSITIONS_PER_K", 2)
    monkeypatch.setattr(empirical, "PIECE", 5)
    result = bins(x, k)
    assert result.space.size <= max(2 * k, 2)
    best = best_of_all(x, np.ones(14), k)
    assert result.bound <= best * (1 + 1e-12) <= result.value * (1 + 1e-9)
    assert result.value == pytest.approx(
        distance(x, np.ones(14), result.labels, result.weights), rel=1e-9
    )
    assert result.status is Status.OPTIMAL or "proven best on the grid" in result.note


def test_the_grid_of_many_values_costs_next_to_nothing(monkeypatch):
    every = bins(LATENCIES, 5)
    monkeypatch.setattr(values, "MAX_POSITIONS_PER_K", 100)
    some = bins(LATENCIES, 5)
    assert every.space.size == 5000
    assert every.status is Status.OPTIMAL
    assert some.space.size <= 500
    assert every.value * (1 - 1e-9) <= some.value <= 1.001 * every.value
    assert every.value - some.bound < 0.01 * every.value
    assert some.bound <= every.value


def test_quantiles_are_those_of_the_values():
    result = bins(LATENCIES, 50)
    P = Empirical.of(LATENCIES)
    for q in (0.5, 0.9, 0.95, 0.99):
        found = float(P.cdf(result.distribution.quantile(q)))
        assert abs(found - q) <= P.largest_difference(result.labels, result.weights) + 1e-12
        assert result.distribution.quantile(q, spread=True) == pytest.approx(
            np.quantile(LATENCIES, q), rel=0.02
        )
    assert result.distribution.mean() == pytest.approx(LATENCIES.mean(), rel=0.01)
    edges = result.distribution.edges
    assert edges[0, 0] == LATENCIES.min()
    assert edges[-1, 1] == LATENCIES.max()
    assert (edges[1:, 0] == edges[:-1, 1]).all()
    shares = np.histogram(LATENCIES, np.append(edges[:, 0], edges[-1, 1]))[0] / 5000
    assert shares == pytest.approx(result.weights, abs=2 / 5000)


def test_an_empirical_distribution_is_numpys():
    rng = np.random.default_rng(1)
    x = rng.choice(rng.standard_normal(40), 300)
    P = Empirical.of(x)
    q = np.linspace(0, 1, 41)
    assert P.quantile(q).tolist() == np.quantile(x, q, method="inverted_cdf").tolist()
    assert P.cdf([-9.0, x[3], 9.0]).tolist() == [0.0, np.mean(x <= x[3]), 1.0]
    weights = rng.integers(0, 3, 300).astype(float)
    W, repeated = Empirical.of(x, weights), Empirical.of(np.repeat(x, weights.astype(int)))
    assert W.cdf(x) == pytest.approx(repeated.cdf(x))
    assert W.total == repeated.total
    assert W.x.tolist() == repeated.x.tolist()


def test_the_largest_difference_is_that_at_all_points():
    rng = np.random.default_rng(0)
    x = rng.choice(rng.standard_normal(15), 25)
    P = Empirical.of(x)
    for at in (np.sort(rng.standard_normal(4)), np.array([-7.0, 6.0]), np.unique(x)[[0, 3, -1]]):
        masses = rng.dirichlet(np.ones(at.size))
        points = np.concatenate([np.union1d(x, at), np.union1d(x, at) - 1e-9])
        Q = np.array([masses[at <= p].sum() for p in points])
        assert P.largest_difference(at, masses) == pytest.approx(np.abs(Q - P.cdf(points)).max())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2.0**-600, 0.125, 1024.0, 2.0**600]),
    st.sampled_from([0.0, 64.0]),
)
def test_shuffling_changes_nothing_and_units_only_the_units(seed, factor, offset):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2**20, 40) / 1024.0
    plain, shuffled = bins(x, 4), bins(rng.permutation(x), 4)
    assert shuffled.labels.tolist() == plain.labels.tolist()
    assert shuffled.weights.tolist() == plain.weights.tolist()
    assert shuffled.value == plain.value
    scaled = bins((x + offset) * factor, 4)
    assert scaled.labels.tolist() == ((plain.labels + offset) * factor).tolist()
    assert scaled.weights == pytest.approx(plain.weights, abs=1e-12)
    assert scaled.value / factor == pytest.approx(plain.value, rel=1e-9)


def test_bins_by_edges_are_numbered_as_the_edges_and_empty_ones_are_not_kept():
    x = [0.5, 1.5, 1.5, 9.5, 9.75, 9.9]
    result = bins(x, 2, grid=np.arange(11.0))
    assert result.indices.tolist() == [1, 9]
    assert result.labels.tolist() == [1.5, 9.75]
    assert result.distribution.edges.tolist() == [[1.0, 2.0], [9.0, 10.0]]
    assert result.p.shape == (10,)
    assert bins([1.0, 2.0], 2, grid=[1.0, 1.5, 2.0]).value == 0.0
    entries = bins(x, 2, grid=np.arange(11.0), preserve="entries")
    counted = bins(
        counts=np.histogram(x, np.arange(11.0))[0], k=2, preserve="entries", edges=np.arange(11.0)
    )
    assert entries.p == pytest.approx(counted.p)
    assert entries.labels.tolist() == counted.labels.tolist() == [1.5, 9.5]


def test_values_that_are_all_alike_or_as_large_as_floats_are():
    for options in (
        {},
        {"grid": "equal"},
        {"grid": "log"},
        {"grid": "quantile"},
        {"grid": [0.0, 5.0]},
    ):
        result = bins([3.0, 3.0], 1, **options)
        assert (result.labels.tolist(), result.value, result.gap) == ([3.0], 0.0, 0.0)
    ends = bins([-1.7e308, 0.0, 1.0, 1.7e308], 2)
    assert np.isfinite(ends.labels).all()
    tiny = bins([5e-324, 1e-323, 2e-323], 2)
    assert len(tiny.labels) == 2


def test_missing_values_are_refused_by_their_index_or_dropped_and_counted():
    x = [1.0, np.nan, 3.0, np.nan]
    with pytest.raises(
        InvalidInput, match=r'values has 2 missing of 4, the first at index 1; .* missing="drop"'
    ):
        bins(x, 1)
    result = bins(x, 2, missing="drop", sample_weight=[1.0, 5.0, 2.0, 5.0])
    assert result.labels.tolist() == [1.0, 3.0]
    assert result.total == 3.0
    assert "2 missing values were dropped" in result.note
    with pytest.raises(InvalidInput, match="every row has a missing value"):
        bins([np.nan], 1, missing="drop")
    with pytest.raises(InvalidInput, match="values must be finite, got inf at index 1"):
        bins([1.0, np.inf], 1, missing="drop")
    with pytest.raises(InvalidInput, match="values must be finite, got inf at index 0"):
        bins(np.array([np.finfo(np.longdouble).max]), 1)


def test_columns_of_frames_are_values():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x = [3, 1, 4, 1, 5, 9, 2, 6]
    forms = [
        x,
        np.array(x, np.float32),
        pd.Series(x, dtype="Int64"),
        pd.DataFrame({"ms": x}),
        pl.Series("ms", x),
    ]
    assert len({tuple(bins(form, 3).labels) for form in forms}) == 1
    with pytest.raises(InvalidInput, match=r"values must be one column, got 2 \(a, b\)"):
        bins(pd.DataFrame({"a": x, "b": x}), 3)
    with pytest.raises(
        InvalidInput, match="values must hold numbers, got the column 'who' of kind 'category'"
    ):
        bins(pl.DataFrame({"who": ["a", "b"]}), 1)
    with pytest.raises(InvalidInput, match="values has 1 missing of 3, the first at index 1"):
        bins(pl.Series("ms", [1, None, 2]), 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "exactly one, got neither"),
        ({"counts": [1], "values": [1]}, "exactly one, got both"),
        ({"values": [1.0, 2.0], "k": 3}, r"k must be in 1\.\.2 \(distinct values\), got 3"),
        (
            {"values": [1.0, 2.0], "k": 2, "grid": [0.0, 5.0]},
            r"k must be in 1\.\.1 \(bins that hold values\), got 2",
        ),
        ({"values": [1.0, 2.0], "k": None}, "k must be an integer"),
        ({"values": [], "k": 1}, "values must be numbers"),
        (
            {"values": [1.0], "grid": "magic"},
            "grid must be one of 'auto', 'equal', 'log', 'quantile', got 'magic'",
        ),
        ({"values": [1.0], "n_bins": 3}, "n_bins is for grid="),
        ({"values": [1.0], "grid": [0.0, 2.0], "n_bins": 3}, "n_bins is for grids by name"),
        ({"values": [1.0], "grid": [2.0, 1.0]}, "grid must be increasing edges"),
        (
            {"values": [1.0], "grid": [2.0, 3.0]},
            "the edges must hold all values: they go from 2 to 3, the values from 1",
        ),
        ({"values": [-1.0, 1.0], "grid": "log"}, 'grid="log" needs values above 0, got -1'),
        ({"values": [1.0], "positions": [1.0]}, "positions is not for values: it is for counts"),
        (
            {"values": [1.0], "edges": [0.0, 1.0]},
            "edges is not for values: .* for values give edges as grid",
        ),
        ({"values": [1.0], "preserve": "entries"}, 'preserve other than "cdf" needs bins'),
        (
            {"values": [1.0], "validation": 0.5},
            "validation is not for preserve=.*: it is for a matrix of functionals",
        ),
        ({"values": [1.0], "sample_weight": [-1.0]}, "sample_weight must be non-negative"),
        ({"values": [1.0], "sample_weight": [0.0]}, "positive"),
        (
            {"values": [1.0], "missing": "ignore"},
            "missing must be one of 'drop', 'error', got 'ignore'",
        ),
        ({"counts": [1, 2], "n_bins": 3}, "n_bins is not for counts: it is for values"),
        (
            {"counts": [1, 2], "sample_weight": [1, 2]},
            "sample_weight is not for counts: it is for values",
        ),
        ({"counts": [1, 2], "edges": [0.0, 1.0]}, "edges must be 3 for 2 bins, got 2"),
        (
            {"counts": [1, 2], "edges": [0.0, 1.0, 2.0], "positions": [0.5, 2.5]},
            "positions must lie between",
        ),
        ({"counts": [1, np.nan]}, "counts must be finite, got nan at index 1"),
    ],
)
def test_what_cannot_be_meant_gets_a_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        bins(**{"k": 1, **options})


def test_integers_are_values():
    found = bins([1, 1, 1, 9], 2)
    assert (found.labels.tolist(), found.weights.tolist()) == ([1.0, 9.0], [0.75, 0.25])


def test_numbers_that_do_not_look_like_counts_get_a_warning_that_names_values():
    with pytest.warns(
        UserWarning, match=r"there is 2.5 at index 1\) nor shares .* are values, and no counts"
    ) as raised:
        bins(counts=[1.0, 2.5, 3.0], k=2)
    assert [warning.filename for warning in raised] == [__file__]
    for counts in ([1, 2, 3], [0.25, 0.75], [2.0, 5.0]):
        bins(counts=counts, k=1)


def test_counts_with_edges_sit_at_their_centres():
    result = bins(counts=[4, 0, 1, 5], k=2, edges=[0.0, 2.0, 4.0, 6.0, 8.0])
    assert result.labels.tolist() == [1.0, 7.0]
    assert result.distribution.edges.tolist() == [[0.0, 2.0], [6.0, 8.0]]
    assert result.value == pytest.approx(2 * bins(counts=[4, 0, 1, 5], k=2).value)
    assert result.total == 10.0
    assert result.counts == pytest.approx(10 * result.weights)


def test_a_callback_and_a_limit_speak_of_the_loss_to_the_values():
    seen = []
    x = np.random.default_rng(2).lognormal(size=400) * 2.0**300
    result = bins(
        x, 5, grid="equal", n_bins=20, callback=lambda progress: seen.append(progress) or False
    )
    assert min(progress.best for progress in seen) == pytest.approx(result.value)
    assert all(progress.bound is None or progress.bound <= result.value for progress in seen)
    stopped = bins(x, 5, callback=lambda progress: True)
    assert stopped.status is Status.CALLBACK
    assert stopped.value == pytest.approx(
        distance(x, np.ones(400), stopped.labels, stopped.weights), rel=1e-9
    )


def test_fewer_bins_on_a_grid_is_bins_on_a_grid():
    X = np.column_stack([LATENCIES[:200], LATENCIES[200:400]])
    model = FewerBins(4, grid="log", n_bins=30).fit(X)
    for j, result in enumerate(model.result_):
        expected = bins(X[:, j], 4, grid="log", n_bins=30)
        assert result.labels.tolist() == expected.labels.tolist()
        assert result.value == expected.value
        assert sorted(model.kept_values_[j]) == result.labels.tolist()
    assert set(model.transform(X)[:, 0]) <= set(model.kept_values_[0])
    with pytest.warns(UserWarning, match="k = 4 is more than the 2 bins there are"):
        FewerBins(4, grid=[0.0, 10.0, 1e6]).fit(LATENCIES)
