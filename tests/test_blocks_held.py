"""Limits on points of data in blocks: as in memory where the rows fit there, else kept or refused by name."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import InvalidInput

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(500, 2)), 1)
G = RNG.choice(["a", "b", "c"], 500)
Y = RNG.choice([0, 1], 500)
LIMITS = [
    {"include": [3, 300]},
    {"exclude": np.arange(200)},
    {"groups": G, "min_per_group": {"a": 2, "c": 1}},
    {"include": [5], "exclude": X[:, 0] > 1, "groups": G, "max_per_group": [1, 2, 2]},
    {
        "labels": Y,
        "include": [7, 8],
        "groups": G,
        "max_per_group": 2,
        "sample_weight": np.arange(500.0),
    },
]
WEIGHTS = [{"labels": Y, "gamma": "cv"}, {"min_weight": 0.1, "max_weight": 0.3}]


def cut(rows, n):
    return lambda: iter(np.array_split(rows, n))


def in_dask(options):
    return {
        k: da.from_array(v, chunks=90) if k in ("groups", "labels") else v
        for k, v in options.items()
    }


@pytest.mark.parametrize("options", LIMITS, ids=" ".join)
def test_the_answer_is_that_in_memory_where_rows_are_gathered(options):
    whole = fewer.points(X, 5, rng=0, **options)
    found = [fewer.points(cut(X, n), 5, rng=0, **options) for n in (1, 7)]
    found.append(fewer.points(da.from_array(X, chunks=(130, 1)), 5, rng=0, **in_dask(options)))
    for one in found:
        assert one.indices.tolist() == whole.indices.tolist()
        assert one.value == pytest.approx(whole.value, rel=1e-9)


@pytest.mark.parametrize("options", WEIGHTS, ids=" ".join)
def test_limits_of_weights_are_those_in_memory(options, blocks_of_64):
    whole = fewer.points(X, 5, rng=0, **options)
    for n in (1, 7, 64):
        found = fewer.points(cut(X, n), 5, rng=0, **options)
        assert found.indices.tolist() == whole.indices.tolist()
        assert found.value == pytest.approx(whole.value, rel=1e-9)


def test_columns_name_groups_and_rows_are_dropped(tmp_path):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(g=G)
    frame.loc[::50, "u"] = np.nan
    options = {"groups": "g", "max_per_group": 2, "include": [1], "missing": "drop", "rng": 0}
    whole = fewer.points(frame, 5, **options)
    assert (
        fewer.points(dd.from_pandas(frame, npartitions=5), 5, **options).indices.tolist()
        == whole.indices.tolist()
    )
    frame.to_parquet(tmp_path / "x.parquet")
    found = fewer.FewerPoints(5, max_per_group=2, missing="drop", random_state=0)
    found.fit(str(tmp_path / "x.parquet"), groups="g", include=[1])
    assert sorted(found.indices_) == whole.indices.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": [5000]}, "include must be in 0..499"),
        ({"include": [-1]}, "include must be in 0..499"),
        ({"include": ["a"]}, "include must"),
        ({"include": [1], "exclude": [1]}, "must not overlap"),
        ({"exclude": np.ones(5, bool)}, "a mask must have shape"),
        ({"groups": G[:5], "max_per_group": 1}, "groups must have shape"),
        ({"groups": G, "min_per_group": {"q": 1}}, "there is no group 'q'"),
    ],
)
def test_what_is_refused_of_gathered_rows(options, words):
    with pytest.raises(InvalidInput, match=words):
        fewer.points(cut(X, 3), 5, rng=0, **options)


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("include", {"include": [3]}),
        ("exclude", {"exclude": [3]}),
        ("groups", {"groups": G, "max_per_group": 1}),
        ("units", {"units": G}),
        ("target", {"target": X}),
        ("move", {"move": True}),
    ],
)
def test_what_is_not_for_data_in_blocks(option, more, blocks_of_64):
    with pytest.raises(InvalidInput, match=f"{option} is not for data in blocks; "):
        fewer.points(cut(X, 3), 5, rng=0, **more)
