"""Missing values of data in blocks: what stands for them is what stands for them in memory."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewer
from fewer import InvalidInput, row_blocks
from fewer.jobs.points import target as _target
from fewer.tables import sketch, source


@pytest.fixture
def small(monkeypatch):
    """Blocks of 64 rows, and nothing gathered."""
    monkeypatch.setattr(row_blocks, "MAX_BLOCK_ROWS", 64)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 64)
    monkeypatch.setattr(source.Stream, "whole", lambda self, memory: self.in_memory)


@pytest.fixture
def table():
    """Few distinct rows, so that all are candidates; numbers and labels are missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 7, 300).astype(float),
            "b": rng.choice([0.5, 1.5, 9.0], 300),
            "plan": rng.choice(["basic", "plus", "pro"], 300, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.loc[rng.random(300) < 0.1, "a"] = np.nan
    frame.loc[rng.random(300) < 0.1, "plan"] = None
    return frame


def cut(frame, n):
    return lambda: iter([frame.iloc[part] for part in np.array_split(np.arange(len(frame)), n)])


@pytest.mark.parametrize("weighted", [False, True])
def test_points_impute_as_in_memory(weighted, small, table, monkeypatch):
    how = {"missing": "impute", "gamma": 0.5, "rng": 0}
    if weighted:
        table["w"] = np.random.default_rng(1).random(300)
        how["sample_weight"] = "w"
    whole = fewer.points(table, 5, **how)
    for n in (1, 7):
        found = fewer.points(cut(table, n), 5, **how)
        assert found.value == pytest.approx(whole.value, rel=1e-6)
        assert "missing values replaced by medians and modes: 'a'" in found.note
    few = fewer.points(cut(table, 7)(), 5, **how)
    assert "missing values replaced" in few.note


@pytest.mark.parametrize("labels", [None, "plan"])
def test_points_of_few_distinct_rows_are_those_in_memory(labels, monkeypatch, table):
    """Candidates stand in the order that memory has them: it decides gamma beyond 2,000 rows, and the search's way."""
    monkeypatch.setattr(source.Stream, "whole", lambda self, memory: self.in_memory)
    rng = np.random.default_rng(4)
    many = pd.concat([table] * 8, ignore_index=True).assign(c=rng.lognormal(size=2400))
    many["plan"] = many["plan"].fillna("basic")
    how = {"missing": "impute", "labels": labels, "rng": 0}
    whole = fewer.points(many, 5, **how)
    for n in (1, 7):
        found = fewer.points(cut(many, n), 5, **how)
        assert found.compared.gamma == pytest.approx(whole.compared.gamma, rel=1e-12)
        assert found.indices.tolist() == whole.indices.tolist()
        assert found.value == pytest.approx(whole.value, rel=1e-9)


def test_missing_labels_are_a_category(small, table):
    table["a"] = table["a"].fillna(3.0)
    whole = fewer.points(table, 5, missing="category", gamma=0.5, rng=0)
    found = fewer.points(cut(table, 7), 5, missing="category", gamma=0.5, rng=0)
    assert found.value == pytest.approx(whole.value, rel=1e-6)
    assert "taken as a category of their own: 'plan'" in found.note
    table.loc[3, "a"] = np.nan
    with pytest.raises(InvalidInput, match="column 'a' holds numbers, and some are missing"):
        fewer.points(cut(table, 7), 5, missing="category")


def test_medians_beyond_the_sketch_say_how_far_they_are_off(small, monkeypatch):
    monkeypatch.setattr(sketch, "SKETCHED", 64)
    monkeypatch.setattr(_target, "MIN_CANDIDATES", 50)
    monkeypatch.setattr(_target, "MAX_CANDIDATES", 50)
    X = np.random.default_rng(3).normal(size=(600, 2))
    X[::9, 0] = np.nan
    found = fewer.points(lambda: iter(np.array_split(X, 3)), 4, missing="impute", rng=0)
    assert "ranks of medians are off by at most" in found.note


def test_rows_of_blocks_come_back_as_they_came_where_values_go_missing_late():
    X = np.tile([[0.0, 0.0], [1.0, 2.0]], (70_000, 1))
    X[-5_000:] = [np.nan, 9.0]
    how = {"missing": "impute", "gamma": 0.5, "rng": 0, "max_memory": 10**6}
    result = fewer.points(lambda: iter(np.array_split(X, 28)), 3, **how)
    np.testing.assert_array_equal(result.rows, [[0.0, 0.0], [1.0, 2.0], [np.nan, 9.0]])


def test_streams_fill_by_their_first_rows(table):
    model = fewer.FewerPoints(k=4, missing="impute", random_state=0)
    for start in range(0, 300, 100):
        model.partial_fit(table.iloc[start : start + 100])
    assert len(model.indices_) == 4


def test_own_loops_fill_themselves(table):
    with pytest.raises(InvalidInput, match="takes a pass of its own"):
        fewer.summarize(table, job="points", missing="impute")


def test_blocks_of_either_byte_order_are_one_table():
    X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    parts = lambda: iter([X[:2].astype(">f8"), sp.csr_array(X[2:])])
    assert fewer.dims(parts, 2, rng=0).indices.tolist() == fewer.dims(X, 2, rng=0).indices.tolist()
