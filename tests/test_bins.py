"""bins of values and of histograms: the best of all, true bounds, answers in the user's units, limits."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fewer.deadline
from fewer import Atoms, InvalidInput, Moments, SparseSimplex, Status, bins
from fewer.jobs.bins import bins as module
from fewer.jobs.bins.empirical import Empirical, distributions_in_memory
from fewer.objectives.cumulative import Cumulative
from fewer.protocols import Quadratic, implements

SOLVERS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
COUNTS = np.random.default_rng(0).integers(1, 2**40, 300).astype(float)
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
    for chosen in itertools.combinations(range(len(points)), k):
        first, last = chosen[0], chosen[-1]
        total = float(gaps[:first] @ P[:first] ** 2 + gaps[last:] @ (1 - P[last:-1]) ** 2)
        for a, b in itertools.pairwise(chosen):
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
    assert result.counts == pytest.approx(masses * weights.sum())
    if form == "auto":
        assert result.value == pytest.approx(best, rel=1e-9)
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_a_coarse_grid_is_true(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.standard_gamma(0.5, 14) * 10.0 ** rng.integers(-2, 3, 14))
    k = int(rng.integers(1, 4))
    monkeypatch.setattr(module, "MAX_POSITIONS_PER_K", 2)
    monkeypatch.setattr(module, "MIN_POSITIONS_PER_K", 2)
    result = bins(x, k)
    assert result.space.size <= max(2 * k, 2)
    best = best_of_all(x, np.ones(14), k)
    assert result.bound <= best * (1 + 1e-12) <= result.value * (1 + 1e-9)
    truth = distance(x, np.ones(14), result.labels, result.weights)
    assert result.value == pytest.approx(truth, rel=1e-9)
    assert result.status is Status.OPTIMAL or "proven best on the grid" in result.note


def test_a_grid_ends_where_all_other_values_weigh_nothing():
    weights = np.ones(30_000)
    weights[10] = 1e30
    assert 10.0 in bins(np.arange(30_000.0), 2, sample_weight=weights).labels


def test_the_grid_of_many_values_costs_next_to_nothing(monkeypatch):
    every = bins(LATENCIES, 5)
    monkeypatch.setattr(module, "MAX_POSITIONS_PER_K", 100)
    some = bins(LATENCIES, 5)
    assert (every.space.size, every.status) == (5000, Status.OPTIMAL)
    assert some.space.size <= 500
    assert every.value * (1 - 1e-9) <= some.value <= 1.001 * every.value
    assert 0.99 * every.value < some.bound <= every.value


def test_quantiles_and_edges_are_those_of_the_values():
    result = bins(LATENCIES, 50)
    P = Empirical.of(np.sort(LATENCIES))
    for q in (0.5, 0.9, 0.95, 0.99):
        share = float(P.cdf(result.distribution.quantile(q)))
        assert abs(share - q) <= P.largest_difference(result.labels, result.weights) + 1e-12
        spread = result.distribution.quantile(q, spread=True)
        assert spread == pytest.approx(np.quantile(LATENCIES, q), rel=0.02)
    edges = result.distribution.edges
    assert (edges[0, 0], edges[-1, 1]) == (LATENCIES.min(), LATENCIES.max())
    assert (edges[1:, 0] == edges[:-1, 1]).all()
    shares = np.histogram(LATENCIES, np.append(edges[:, 0], edges[-1, 1]))[0] / 5000
    assert shares == pytest.approx(result.weights, abs=2 / 5000)


def test_an_empirical_distribution_is_numpys():
    rng = np.random.default_rng(1)
    x = rng.choice(rng.standard_normal(40), 300)
    weights = rng.integers(0, 3, 300)
    (P,), (W,) = distributions_in_memory(x), distributions_in_memory(x, weights)
    (repeated,) = distributions_in_memory(np.repeat(x, weights))
    q = np.linspace(0, 1, 41)
    assert P.quantile(q).tolist() == np.quantile(x, q, method="inverted_cdf").tolist()
    assert P.cdf([-9.0, x[3], 9.0]).tolist() == [0.0, np.mean(x <= x[3]), 1.0]
    assert W.x.tolist() == repeated.x.tolist()
    assert W.before == pytest.approx(repeated.before)
    for at in (np.sort(rng.standard_normal(4)), np.array([-7.0, 6.0])):
        masses, points = rng.dirichlet(np.ones(at.size)), np.union1d(x, at)
        points = np.append(points, points - 1e-9)
        Q = np.array([masses[at <= p].sum() for p in points])
        assert P.largest_difference(at, masses) == pytest.approx(np.abs(Q - P.cdf(points)).max())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2.0**-300, 0.125, 1024.0, 2.0**300]),
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
    x, edges = [0.5, 1.5, 1.5, 9.5, 9.75, 9.9], np.arange(11.0)
    result = bins(x, 2, grid=edges)
    assert result.indices.tolist() == [1, 9]
    assert result.labels.tolist() == [1.5, 9.75]
    assert result.distribution.edges.tolist() == [[1.0, 2.0], [9.0, 10.0]]
    assert result.p.shape == (10,)
    assert bins([1.0, 2.0], 2, grid=[1.0, 1.5, 2.0]).value == 0.0
    entries = bins(x, 2, grid=edges, preserve="entries")
    counted = bins(counts=np.histogram(x, edges)[0], k=2, preserve="entries", edges=edges)
    assert entries.p == pytest.approx(counted.p)
    assert entries.labels.tolist() == counted.labels.tolist() == [1.5, 9.5]


@pytest.mark.parametrize("grid", ["auto", "equal", "log", "quantile", [0.0, 5.0]], ids=str)
def test_values_that_are_all_alike(grid):
    result = bins([3.0, 3.0], 1, grid=grid)
    assert (result.labels.tolist(), result.value, result.gap) == ([3.0], 0.0, 0.0)


def test_missing_values_are_refused_by_their_index_or_dropped_and_counted():
    x = [1.0, np.nan, 3.0, np.nan]
    with pytest.raises(
        InvalidInput, match=r'2 missing of 4, the first at index 1; .*missing="drop"'
    ):
        bins(x, 1)
    result = bins(x, 2, missing="drop", sample_weight=[1.0, 5.0, 2.0, 5.0])
    assert result.labels.tolist() == [1.0, 3.0]
    assert result.total == 3.0
    assert "2 missing values were dropped" in result.note
    with pytest.raises(InvalidInput, match="every row has a missing value"):
        bins([np.nan], 1, missing="drop")


def test_columns_of_frames_are_values():
    x = [3, 1, 4, 1, 5, 9, 2, 6]
    series, frame = pd.Series(x, dtype="Int64"), pd.DataFrame({"ms": x})
    forms = [x, np.array(x, np.float32), series, frame, pl.Series("ms", x)]
    assert len({tuple(bins(form, 3).labels) for form in forms}) == 1
    for wrong, words in (
        (pd.DataFrame({"a": x, "b": x}), "values must be one column, got 2"),
        (pl.DataFrame({"who": ["a", "b"]}), "values must hold numbers, got the column 'who'"),
        (pl.Series("ms", [1, None, 2]), "values has 1 missing of 3, the first at index 1"),
    ):
        with pytest.raises(InvalidInput, match=words):
            bins(wrong, 3)


WRONG = [
    ({}, "exactly one, got neither"),
    ({"counts": [1], "values": [1]}, "exactly one, got both"),
    ({"values": [1.0, 2.0], "k": 3}, r"k must be in 1\.\.2 \(distinct values\), got 3"),
    ({"values": [1.0, 2.0], "k": 2, "grid": [0.0, 5.0]}, r"k must be in 1\.\.1 \(bins that hold"),
    ({"values": [], "k": 1}, "values must be numbers"),
    ({"values": [1.0, np.inf]}, "values must be finite, at most 1e.100 .* got 1 to inf"),
    ({"values": [-1e308, 1e308]}, "multiply them by a power of ten"),
    ({"values": [1.0], "grid": "magic"}, "grid must be one of 'auto', .* got 'magic'"),
    ({"values": [1.0], "n_bins": 3}, "n_bins is for grid="),
    ({"values": [1.0], "grid": [0.0, 2.0], "n_bins": 3}, "n_bins is for grid="),
    ({"values": [1.0], "grid": [2.0, 1.0]}, "grid must be increasing edges"),
    ({"values": [1.0], "grid": [2.0, 3.0]}, "edges must hold all values: they go from 2 to 3"),
    ({"values": [-1.0, 1.0], "grid": "log"}, 'grid="log" needs values above 0, got -1'),
    ({"values": [1.0], "positions": [1.0]}, "positions is not for values: it is for counts"),
    ({"values": [1.0], "edges": [0.0, 1.0]}, "edges is not for values: .* give edges as grid"),
    ({"values": [1.0], "preserve": "entries"}, 'preserve other than "cdf" needs bins'),
    ({"values": [1.0], "validation": 0.5}, "validation is not for preserve=.*: it is for a matrix"),
    ({"values": [1.0], "sample_weight": [-1.0]}, "sample_weight must be non-negative"),
    ({"values": [1.0], "sample_weight": [0.0]}, "number above zero, got 0"),
    ({"values": [1.0, 2.0], "sample_weight": [1e308, 1e308]}, "finite number above zero, got inf"),
    ({"counts": [1, 2], "positions": [-1e308, 1e308]}, "positions must be .*multiply them by a"),
    ({"counts": [1, 2], "edges": [0.0, 1e308, 1.5e308]}, "edges must be .*multiply them by a"),
    ({"counts": [1, 2], "n_bins": 3}, "n_bins is not for counts: it is for values"),
    ({"counts": [1, 2], "sample_weight": [1, 2]}, "sample_weight is not for counts"),
    ({"counts": [1, 2], "edges": [0.0, 1.0]}, "edges must be 3 for 2 bins, got 2"),
    ({"counts": [1, 2], "edges": [0, 1, 2], "positions": [0.5, 2.5]}, "positions must lie between"),
    ({"counts": [1, 2, 3], "positions": [0, 1, 1]}, "positions must increase"),
    ({"counts": [1, 2, 3], "positions": [0, 1]}, r"positions must have shape \(3,\)"),
    ({"counts": [1, np.nan]}, "counts must be finite, got nan at index 1"),
    ({"counts": [1, -2]}, "^counts must be non-negative"),
    ({"counts": np.ones((2, 3))}, r"counts must be a histogram .* got shape \(2, 3\)"),
    (
        {"counts": [1, 2], "preserve": "mean"},
        "preserve must be one of 'cdf', 'entries', got 'mean'",
    ),
    ({"counts": [1, 2], "preserve": [[np.nan, 1.0]]}, "^preserve must be finite"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG)
def test_what_cannot_be_meant_gets_a_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        bins(**{"k": 1, **options})


def test_numbers_that_do_not_look_like_counts_get_a_warning_that_names_values():
    with pytest.warns(
        UserWarning, match=r"is 2.5 at index 1\) nor shares .* and no counts"
    ) as raised:
        bins(counts=[1.0, 2.5, 3.0], k=2)
    assert [warning.filename for warning in raised] == [__file__]
    for counts in ([1, 2, 3], [0.25, 0.75], [2.0, 5.0], [10**30, 1]):
        bins(counts=counts, k=1)
    integers = bins([1, 1, 1, 9], 2)
    assert (integers.labels.tolist(), integers.weights.tolist()) == ([1.0, 9.0], [0.75, 0.25])


def test_counts_with_edges_sit_at_their_centres():
    result = bins(counts=[4, 0, 1, 5], k=2, edges=[0.0, 2.0, 4.0, 6.0, 8.0])
    assert result.labels.tolist() == [1.0, 7.0]
    assert result.distribution.edges.tolist() == [[0.0, 2.0], [6.0, 8.0]]
    assert result.value == pytest.approx(2 * bins(counts=[4, 0, 1, 5], k=2).value)
    assert result.counts == pytest.approx(10 * result.weights)


def test_positions_weigh_the_gaps_of_the_cdf_alone():
    counts, at = [4, 1, 1, 5], np.array([0.0, 1.0, 3.0, 10.0])
    result = bins(counts=counts, k=2, positions=at)
    truth = distance(np.repeat(at, counts), np.ones(11), at[result.indices], result.weights)
    assert result.value == pytest.approx(truth)
    assert bins(counts=[3], k=1, positions=[7.0]).value == 0.0
    for other in ("entries", np.eye(4)):
        placed = bins(counts=counts, k=2, preserve=other, positions=at, rng=0)
        assert placed.value == bins(counts=counts, k=2, preserve=other, rng=0).value
        assert placed.labels.tolist() == at[placed.indices].tolist()


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that moves on by ten seconds whenever somebody looks at it."""
    ticks = itertools.count(0.0, 10.0)
    monkeypatch.setattr(fewer.deadline.time, "perf_counter", lambda: next(ticks))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("preserve", ["cdf", "entries"])
def test_a_limit_that_is_over_at_once_still_gives_a_feasible_answer(solver, preserve, slow_clock):
    result = bins(counts=COUNTS, k=10, solver=solver, preserve=preserve, time_limit=1.0, rng=0)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert SparseSimplex(Atoms(300), 10).contains(result.p)
    assert result.seconds > 1.0


def test_what_a_limit_leaves_of_the_dynamic_program_is_good_and_has_a_bound(
    slow_clock, monkeypatch
):
    cut = bins(counts=COUNTS, k=10, time_limit=1.0)
    monkeypatch.undo()
    best = bins(counts=COUNTS, k=10)
    assert (cut.status, cut.bound) == (Status.TIME_LIMIT, 0.0)
    assert best.status is Status.OPTIMAL
    assert best.value <= cut.value <= 1.2 * best.value


def test_a_callback_sees_the_loss_to_the_values_and_stops():
    seen = []
    x = np.random.default_rng(2).lognormal(size=400)
    watch = lambda progress: seen.append(progress) or False
    result = bins(x, 5, grid="equal", n_bins=20, callback=watch)
    assert min(progress.best for progress in seen) == pytest.approx(result.value)
    assert all(progress.bound is None or progress.bound <= result.value for progress in seen)
    stopped = bins(x, 5, callback=lambda progress: True)
    assert stopped.status is Status.CALLBACK
    truth = distance(x, np.ones(400), stopped.labels, stopped.weights)
    assert stopped.value == pytest.approx(truth, rel=1e-9)


def test_bins_without_mass_are_not_kept_and_enough_bins_keep_all():
    p = np.zeros(50)
    p[[3, 17, 18, 40]] = [1.0, 2.0, 3.0, 4.0]
    few = bins(counts=p, k=3)
    assert set(few.support) <= {3, 17, 18, 40}
    everything = bins(counts=p, k=20)
    assert everything.p == pytest.approx(p / 10.0, abs=1e-15)
    assert everything.value == pytest.approx(0.0, abs=1e-30)
    assert few.status is everything.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_is_feasible_and_none_beats_the_optimum(solver):
    p = COUNTS[:30]
    for preserve in ("cdf", "entries"):
        best = bins(counts=p, k=4, preserve=preserve)
        other = bins(counts=p, k=4, preserve=preserve, solver=solver, rng=0)
        assert SparseSimplex(Atoms(30), 4).contains(other.p)
        assert best.value * (1 - 1e-9) <= other.value <= 2.0 * best.value
        assert other.bound is None or other.bound <= best.value * (1 + 1e-9)


q = COUNTS[:12] / COUNTS[:12].sum()


def test_distances_of_the_cdf_equal_least_squares_with_a_triangle():
    F = Cumulative(Atoms(12), q)
    G = Moments(Atoms(12), np.tril(np.ones((12, 12))), np.cumsum(q))
    units, others, weights = np.array([2, 5, 11]), np.array([0, 5, 7, 9]), np.array([0.2, 0.5, 0.3])
    p, every = np.zeros(12), np.arange(12)
    p[units] = weights
    for name in ("cross", "centred"):
        block = getattr(F, name)(units, others)
        assert block == pytest.approx(getattr(G, name)(units, others)), name
    for name in ("diagonal", "constant", "smoothness"):
        assert getattr(F, name) == pytest.approx(getattr(G, name)), name
    for name in ("value", "gradient"):
        assert getattr(F, name)(p) == pytest.approx(getattr(G, name)(p)), name
    assert F.linear(others) == pytest.approx(G.linear(others))
    assert F.slopes(units, weights) == pytest.approx(G.slopes(units, weights))
    assert F.best_on(units) == pytest.approx(G.best_on(units))
    assert F.scale == pytest.approx(np.mean(np.diag(G.centred(every, every))))
    assert implements(F, Quadratic)


def test_early_stopping_does_not_depend_on_the_unit_of_functionals():
    rng = np.random.default_rng(0)
    A, counts = rng.standard_normal((8, 30)), rng.integers(1, 9, 30)
    some, same = (
        bins(counts=counts, k=5, preserve=unit * A, validation=0.25, rng=0) for unit in (1.0, 1e80)
    )
    assert same.indices.tolist() == some.indices.tolist()


def test_functionals_reached_exactly_are_called_optimal():
    A = np.random.default_rng(2).standard_normal((3, 700))
    result = bins(counts=np.eye(700)[5], k=4, preserve=A, rng=0)
    assert result.value == pytest.approx(0.0, abs=1e-20)
    assert (result.bound, result.status) == (0.0, Status.OPTIMAL)
