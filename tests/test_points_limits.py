"""points with rows that are held and rows that never are, groups, and bounds on weights: against enumeration."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer import InvalidInput, points
from fewer.active_set import box_weights
from fewer.jobs.points import target as _target
from fewer.similarity import similarity_of

N, K = 13, 3
GROUPS = np.arange(N) % 3


def rows(seed):
    return np.random.default_rng(seed).standard_normal((N, 2))


def best(S, c, constant, allowed=lambda at: True, low=0.0, high=1.0):
    """The least MMD² over all sets of K rows that are allowed, each at its best weights."""
    values = []
    for at in map(np.array, combinations(range(len(S)), K)):
        if allowed(at):
            w = box_weights(S[np.ix_(at, at)], c[at], low, high, np.full(K, 1.0 / K))
            values.append(w @ S[np.ix_(at, at)] @ w - 2 * c[at] @ w + constant)
    return min(values)


CASES = [
    ({"include": [4]}, lambda at: 4 in at, 0.0, 1.0),
    (
        {"include": np.arange(N) == 4, "exclude": [0, 1]},
        lambda at: 4 in at and not {0, 1} & set(at),
        0.0,
        1.0,
    ),
    ({"exclude": [0, 3, 5, 7]}, lambda at: not {0, 3, 5, 7} & set(at), 0.0, 1.0),
    ({"groups": GROUPS, "max_per_group": 1}, lambda at: len(set(GROUPS[at])) == K, 0.0, 1.0),
    (
        {"groups": GROUPS, "min_per_group": {0: 2}},
        lambda at: (GROUPS[at] == 0).sum() >= 2,
        0.0,
        1.0,
    ),
    (
        {"groups": GROUPS, "min_per_group": 1, "max_per_group": 1, "equal_weights": True},
        lambda at: len(set(GROUPS[at])) == K,
        1 / K,
        1 / K,
    ),
    ({"equal_weights": True}, lambda at: True, 1 / K, 1 / K),
    ({"max_weight": 0.4}, lambda at: True, 0.0, 0.4),
    ({"min_weight": 0.3, "include": [2]}, lambda at: 2 in at, 0.3, 1.0),
]


@pytest.mark.parametrize(("options", "allowed", "low", "high"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_set_of_rows_that_is_allowed(options, allowed, low, high, seed):
    X = rows(seed)
    S = similarity_of("rbf", 0.5)(X, X)
    found = points(X, K, gamma=0.5, rng=0, **options)
    least = best(S, S.mean(axis=1), S.mean(), allowed, low, high)
    assert found.value == pytest.approx(least, rel=1e-6)
    assert allowed(found.indices)
    assert (found.weights >= low - 1e-12).all()
    assert (found.weights <= high + 1e-12).all()


def test_of_equal_rows_the_included_one_is_named_and_the_excluded_one_is_not():
    X = np.vstack([rows(2), rows(2)])
    for row in (3, N + 3):
        assert row in points(X, 4, gamma=0.5, rng=0, include=[row]).indices
    plain = points(X, 4, gamma=0.5, rng=0)
    twins = points(X, 4, gamma=0.5, rng=0, exclude=np.arange(N))
    assert np.array_equal(twins.indices, plain.indices + N)
    assert twins.value == pytest.approx(plain.value, rel=1e-9)


def test_equal_rows_of_different_groups_are_told_apart():
    X, groups = np.vstack([rows(2), rows(2)]), np.repeat([0, 1], N)
    found = points(X, 4, gamma=0.5, rng=0, groups=groups, max_per_group=2)
    assert np.bincount(groups[found.indices]).tolist() == [2, 2]
    assert found.value == pytest.approx(points(X, 4, gamma=0.5, rng=0).value, rel=1e-6)


def test_rows_of_a_table_by_their_labels_and_groups_by_a_column():
    X = rows(4)
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(N)])
    found = points(frame, K, rng=0, include=["r4"], exclude=["r0", "r1"])
    assert "r4" in list(found.labels)
    assert not {"r0", "r1"} & set(found.labels)
    frame["team"] = [f"t{g}" for g in GROUPS]
    for table in (frame, pl.from_pandas(frame)):
        grouped = points(table, K, rng=0, groups="team", max_per_group=1)
        wanted = points(frame[["a", "b"]], K, rng=0, groups=GROUPS, max_per_group=1)
        assert np.array_equal(grouped.indices, wanted.indices)
    series = frame["team"].sample(frac=1.0, random_state=0)
    shuffled = points(frame[["a", "b"]], K, rng=0, groups=series, max_per_group=1)
    assert np.array_equal(shuffled.indices, wanted.indices)


def test_large_data_have_what_is_held_among_the_candidates(monkeypatch):
    for name in ("MAX_PAIRWISE_WORK", "MAX_CANDIDATE_WORK", "MIN_CANDIDATES"):
        monkeypatch.setattr(_target, name, 50)
    X = np.random.default_rng(5).standard_normal((4000, 2))
    rare = np.arange(4000) < 4
    limits = {"min_per_group": {True: 2}, "max_per_group": {True: 2}, "min_weight": 0.02}
    found = points(
        X, 8, rng=0, groups=rare, include=[1234], exclude=np.arange(2000, 4000), **limits
    )
    assert "candidate rows" in found.note
    assert 1234 in found.indices
    assert found.indices.max() < 2000
    assert rare[found.indices].sum() == 2
    assert found.weights.min() >= 0.02 - 1e-12


def test_what_is_included_does_not_move_and_weights_keep_their_bounds():
    X = np.random.default_rng(6).standard_normal((200, 3))
    found = points(X, 5, rng=0, include=[7], move=True, equal_weights=True)
    at = found.indices.tolist().index(7)
    assert found.rows[at].tolist() == X[7].tolist()
    assert found.weights == pytest.approx(0.2)
    assert found.value < points(X, 5, rng=0, include=[7], equal_weights=True).value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": [1], "exclude": [1]}, "include and exclude must not overlap, both hold row 1"),
        ({"include": [0, 1, 2, 3]}, "cannot hold together: k = 3 and include"),
        ({"include": [99]}, "include"),
        ({"exclude": np.ones(4, bool)}, r"exclude: a mask must have shape \(13,\)"),
        ({"groups": GROUPS}, "groups needs min_per_group or max_per_group"),
        ({"max_per_group": 1}, "max_per_group needs groups"),
        (
            {"groups": GROUPS, "min_per_group": 2},
            "cannot hold together: k = 3, min_per_group = 2 of group",
        ),
        ({"groups": GROUPS, "min_per_group": {7: 1}}, "min_per_group: there is no group 7"),
        (
            {"groups": GROUPS, "min_per_group": 1, "exclude": GROUPS == 2},
            "cannot hold together: exclude and min_per_group = 1 of group 2",
        ),
        ({"groups": "team", "max_per_group": 1}, "names a column, which needs a table"),
        ({"equal_weights": True, "max_weight": 0.5}, "equal_weights=True says what weights are"),
        ({"max_weight": 0.2}, "max_weight = 0.2"),
        ({"min_weight": 2.0}, "no distribution meets min_weight = 2"),
    ],
)
def test_what_cannot_be_held_is_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        points(rows(0), K, gamma=0.5, rng=0, **options)


def test_labels_and_missing_rows_are_refused_in_a_sentence():
    frame = pd.DataFrame(rows(1), columns=["a", "b"], index=[f"r{i}" for i in range(N)])
    frame.iloc[4, 0] = np.nan
    team = ["x", None] + ["y"] * (N - 2)
    for words, options in {
        "include: no row has the index label 'r99'": {"include": ["r99"], "missing": "drop"},
        "include names row 4, which is left out": {"include": ["r4"], "missing": "drop"},
        "groups must have one label for each of the 13 rows, got 13 with one missing in row 1": {
            "groups": pd.Series(team, frame.index),
            "max_per_group": 2,
            "missing": "impute",
        },
    }.items():
        with pytest.raises(InvalidInput, match=words):
            points(frame, K, **options)
