"""Points of data in blocks that must hold some rows, or some of each group: as in memory, however they are cut."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import InvalidInput
from fewer.jobs import _points_blocks, _points_first

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(500, 2)), 1)
G = RNG.choice(["a", "b", "c"], 500)
Y = RNG.choice([0, 1], 500)
LIMITS = [
    {"include": [3, 300]},
    {"exclude": np.arange(200)},
    {"groups": G, "min_per_group": {"a": 2, "c": 1}},
    {"include": [5], "exclude": X[:, 0] > 1, "groups": G, "max_per_group": [1, 2, 2]},
    {"labels": Y, "include": [7, 8], "groups": G, "max_per_group": 2, "sample_weight": np.arange(500.0)},
    {"labels": Y, "gamma": "cv"},
    {"min_weight": 0.1, "max_weight": 0.3},
]


@pytest.fixture
def few(blocks_of_64, monkeypatch):
    """Candidates are a sample of the rows."""
    monkeypatch.setattr(_points_blocks, "MAX_CANDIDATES", 60)
    monkeypatch.setattr(_points_blocks, "MIN_CANDIDATES", 60)
    monkeypatch.setattr(_points_first, "MAX_CANDIDATE_WORK", 0)


def cut(rows, n):
    return lambda: iter(np.array_split(rows, n))


def in_dask(options):
    return {k: da.from_array(v, chunks=90) if k in ("groups", "labels") else v for k, v in options.items()}


@pytest.mark.parametrize("options", LIMITS, ids=" ".join)
def test_the_answer_is_that_in_memory(options, blocks_of_64):
    whole = fewer.points(X, 5, rng=0, **options)
    found = [fewer.points(cut(X, n), 5, rng=0, **options) for n in (1, 7, 64)]
    found.append(fewer.points(da.from_array(X, chunks=(130, 1)), 5, rng=0, **in_dask(options)))
    for one in found:
        assert one.indices.tolist() == whole.indices.tolist()
        assert one.value == pytest.approx(whole.value, rel=1e-9)


@pytest.mark.parametrize("options", LIMITS, ids=" ".join)
def test_samples_obey_and_do_not_depend_on_the_cut(options, few):
    first, *others = [fewer.points(cut(X, n), 5, rng=0, **options) for n in (1, 7, 64)]
    for other in others:
        assert other.indices.tolist() == first.indices.tolist()
        assert other.value == first.value
    assert set(options.get("include", ())) <= set(first.indices)
    never = options.get("exclude", np.zeros(500, bool))
    assert not np.isin(first.indices, np.arange(500)[never]).any()
    held = dict(zip(*np.unique(G[first.indices], return_counts=True), strict=True))
    if isinstance(options.get("max_per_group"), list):
        assert all(held.get(g, 0) <= most for g, most in zip("abc", options["max_per_group"], strict=True))
    for g, least in options.get("min_per_group", {}).items():
        assert held[g] >= least


def test_a_rare_group_has_candidates(few):
    groups = np.where(np.arange(500) == 477, "rare", "usual")
    found = fewer.points(cut(X, 7), 5, rng=0, groups=groups, min_per_group=1)
    assert 477 in found.indices


def test_gamma_comes_from_all_rows(few):
    """Not from the free ones alone, nor from those that groups add."""
    far = np.where(np.arange(500)[:, None] < 250, X, 10.0 * X)
    usual = fewer.points(cut(far, 7), 5, rng=0)
    halves = {"groups": np.arange(500) < 250, "max_per_group": {True: 500, False: 1}}
    for options in ({"exclude": np.arange(250, 500)}, halves):
        found = fewer.points(cut(far, 7), 5, rng=0, **options)
        assert 0.5 < found.compared.width / usual.compared.width < 2.0


def test_columns_name_groups_and_rows_are_dropped(blocks_of_64, tmp_path):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(g=G)
    frame.loc[::50, "u"] = np.nan
    options = {"groups": "g", "max_per_group": 2, "include": [1], "missing": "drop", "rng": 0}
    whole = fewer.points(frame, 5, **options)
    assert fewer.points(dd.from_pandas(frame, npartitions=5), 5, **options).indices.tolist() == whole.indices.tolist()
    frame.to_parquet(tmp_path / "x.parquet")
    found = fewer.FewerPoints(5, max_per_group=2, missing="drop", random_state=0)
    found.fit(str(tmp_path / "x.parquet"), groups="g", include=[1])
    assert sorted(found.indices_) == whole.indices.tolist()
    with pytest.raises(InvalidInput, match="include names row 50, which is left out"):
        fewer.points(dd.from_pandas(frame, npartitions=5), 5, **{**options, "include": [50]})


def test_positions_are_positions_where_rows_are_gathered():
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(500) + 1000)
    found = fewer.points(dd.from_pandas(frame, npartitions=3), 5, include=[2], rng=0)
    assert 2 in found.indices
    units = fewer.points(da.from_array(X, chunks=100), 2, units=G, rng=0)
    assert set(units.units) <= set(G)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": [5000]}, "include must be in 0..499"),
        ({"include": [-1]}, "begin with 0"),
        ({"include": ["a"]}, "named by position"),
        ({"include": [1], "exclude": [1]}, "must not overlap"),
        ({"exclude": np.ones(5, bool)}, "a mask must have shape"),
        ({"exclude": np.ones(500, bool)}, "leaves no row"),
        ({"groups": G[:5], "max_per_group": 1}, "an entry for each row"),
        ({"groups": G, "min_per_group": {"q": 1}}, "there is no group 'q'"),
        ({"groups": "g", "max_per_group": 1}, "needs tables"),
        ({"include": [1], "passes": 3}, "take two passes"),
        ({"units": G}, "units are chosen whole"),
        ({"target": X}, "target needs rows in memory"),
    ],
)
def test_what_is_refused(options, words, blocks_of_64):
    with pytest.raises(InvalidInput, match=words):
        fewer.points(cut(X, 3), 5, rng=0, **options)
