"""Bins of values in blocks: the counts are those in memory, whatever the grid and the cut."""

import re

import numpy as np
import pytest

import fewer
from fewer import InvalidInput, row_blocks
from fewer.tables import sketch, source

X = np.random.default_rng(0).lognormal(size=3000)
EDGES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 100.0])


@pytest.fixture
def small(monkeypatch):
    """Blocks of 256 values, and nothing gathered."""
    monkeypatch.setattr(row_blocks, "MAX_BLOCK_ROWS", 256)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 256)
    monkeypatch.setattr(source.Stream, "whole", lambda self, memory: self.in_memory)


def cut(n):
    return lambda: iter(np.array_split(X, n))


WAYS = [
    {"grid": "equal", "n_bins": 40},
    {"grid": "quantile", "n_bins": 40},
    {"grid": EDGES},
    {"grid": "equal", "n_bins": 40, "preserve": "entries"},
    {"grid": "log", "n_bins": 40, "contiguous": True},
    {"grid": EDGES, "preserve": np.vander(np.arange(6.0), 3).T},
]


@pytest.mark.parametrize("sketched", [10**5, 512])
@pytest.mark.parametrize("how", WAYS, ids=lambda how: " ".join(map(str, how)))
def test_as_in_memory_whatever_the_cut(how, sketched, small, monkeypatch):
    monkeypatch.setattr(sketch, "SKETCHED", sketched)
    whole = fewer.bins(X, 5, rng=0, **how)
    first, *others = [fewer.bins(cut(n), 5, rng=0, **how) for n in (1, 7, 64)]
    for other in others:
        assert other.value == first.value
        assert other.indices.tolist() == first.indices.tolist()
    if sketched == 10**5 or "preserve" in how or "contiguous" in how:
        assert first.indices.tolist() == whole.indices.tolist()
        assert first.value == pytest.approx(whole.value, rel=1e-9, abs=1e-15)
    else:  # the medians of bins are off by their ranks
        assert first.value == pytest.approx(whole.value, rel=0.1)


def test_blocks_in_which_all_is_missing_are_left_out(small):
    rows = [X[:256], np.full(256, np.nan), X[256:]]
    result = fewer.bins(lambda: iter(rows), 5, missing="drop")
    assert result.labels.tolist() == fewer.bins(X, 5).labels.tolist()
    with pytest.raises(InvalidInput, match="every row has a missing value"):
        fewer.bins(lambda: iter(rows[1:2]), 5, missing="drop")
    model = fewer.FewerBins(5, missing="drop").partial_fit(rows[1]).partial_fit(X)
    assert model.kept_values_.tolist() == result.labels.tolist()


def test_what_is_refused(small):
    with pytest.raises(InvalidInput, match="needs bins"):
        fewer.bins(cut(7), 5, preserve="entries")
    with pytest.raises(InvalidInput, match="edges must hold all values"):
        fewer.bins(cut(7), 5, grid=[0.0, 1.0])


@pytest.mark.parametrize("grid", ["equal", "log", "quantile", "edges"])
@pytest.mark.parametrize("weighted", [False, True])
def test_grids_are_the_same_in_memory_and_in_summaries(grid, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.round(rng.lognormal(size=200), 1 + seed % 4) + 0.1
        weight = rng.random(200) if weighted else None
        edges = np.linspace(x.min(), x.max(), 21)
        how = {"grid": edges} if grid == "edges" else {"grid": grid, "n_bins": 20}
        whole = fewer.bins(x, 4, sample_weight=weight, **how)
        block = (x,) if weight is None else (x, None, weight)
        stream = fewer.FewerBins(4, **how).partial_fit(x[:, None], sample_weight=weight)
        for other in (fewer.summarize(block, "bins").solve(4, **how), stream.result_[0]):
            assert other.indices.tolist() == whole.indices.tolist()
            assert other.labels.tolist() == whole.labels.tolist()
            assert other.value == pytest.approx(whole.value, rel=1e-12)


def test_counts_in_cells_and_sketches_leave_a_true_bound():
    x = np.random.default_rng(3).lognormal(size=200_000)
    whole, blocks = fewer.bins(x, 4), np.array_split(x, 10)
    cells = fewer.bins(lambda: iter(blocks), 4, max_memory=10**5)
    first, *others = (fewer.summarize(block, "bins") for block in blocks)
    for other, words in (
        (cells, r"values are counted in \d+ cells"),
        (first.merge(*others).solve(4), "ranks are off by at most"),
    ):
        assert other.bound <= whole.value <= other.value + other.value_se
        assert other.value == pytest.approx(whole.value, rel=1e-3)
        assert re.search(words, other.note)
