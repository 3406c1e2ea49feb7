"""Train/test twins: both parts against all rows, random splits beside them."""

import numpy as np
import pandas as pd
import pytest

from fewer import InvalidInput, split_evenly
from fewer.similarity import bandwidth, similarity_of


def mmd2(K, part):
    q = np.full(len(K), -1.0 / len(K))
    q[part] += 1.0 / len(part)
    return float(q @ K @ q)


def test_both_parts_are_nearer_to_all_rows_than_any_random_part():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((150, 3)), rng.standard_normal((50, 3)) + 4.0])
    K = similarity_of("rbf", bandwidth(X, "rbf", "median"))(X, X)
    first, second = split_evenly(X, 40, rng=0)
    assert len(second) == 40
    assert np.array_equal(np.union1d(first, second), np.arange(200))
    assert len(first) == 160
    drawn = min(mmd2(K, rng.choice(200, 40, replace=False)) for _ in range(50))
    assert mmd2(K, second) < 0.2 * drawn
    assert mmd2(K, first) == pytest.approx(mmd2(K, second) * (40 / 160) ** 2, rel=1e-9)


def test_rows_can_be_put_into_a_part():
    X = pd.DataFrame(
        {"a": np.random.default_rng(1).standard_normal(30)}, index=[f"r{i}" for i in range(30)]
    )
    first, second = split_evenly(X, 5, include=["r3"], exclude=["r4", "r5"], rng=0)
    assert 3 in second
    assert {4, 5} <= set(first)


@pytest.mark.parametrize(
    ("k", "options", "words"),
    [
        (2, {"move": True}, "move is not for a split"),
        (2, {"sample_weight": np.ones(5)}, "sample_weight is not for a split"),
        (2, {"missing": "drop"}, "would leave rows in neither part"),
        (5, {}, "k must be below the number of rows, 5"),
        (6, {}, "k must be"),
    ],
)
def test_what_is_no_split_is_refused_in_a_sentence(k, options, words):
    with pytest.raises(InvalidInput, match=words):
        split_evenly(np.arange(5.0)[:, None], k, rng=0, **options)
