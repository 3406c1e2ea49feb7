"""Grids of bins over data in blocks: exact counts between their edges, whatever the cut."""

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
    {"grid": "log", "n_bins": 40},
    {"grid": EDGES},
    {"grid": "equal", "n_bins": 40, "preserve": "entries"},
    {"grid": EDGES, "preserve": "entries"},
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
    exact = sketched == 10**5 or how.get("preserve") is not None or how.get("contiguous")
    if exact:  # shares of bins are all that counts, and these are exact
        assert first.indices.tolist() == whole.indices.tolist()
        assert first.value == pytest.approx(whole.value, rel=1e-9, abs=1e-15)
    else:  # the medians of bins are off by their ranks
        assert first.value == pytest.approx(whole.value, rel=0.1)


def test_quantiles_and_what_is_refused(small, monkeypatch):
    monkeypatch.setattr(sketch, "SKETCHED", 512)
    whole = fewer.bins(X, 5, grid="quantile", n_bins=40)
    found = fewer.bins(cut(7), 5, grid="quantile", n_bins=40)
    assert found.value == pytest.approx(whole.value, rel=0.1)
    with pytest.raises(InvalidInput, match="needs bins"):
        fewer.bins(cut(7), 5, preserve="entries")
    with pytest.raises(InvalidInput, match="edges must hold all values"):
        fewer.bins(cut(7), 5, grid=[0.0, 1.0])


def test_the_median_of_a_bin_is_the_same_in_memory_and_in_blocks():
    x = [34.0, 25.0, 20.0, 11.0, 13.0]
    whole = fewer.bins(x, 1, grid="equal", n_bins=3)
    summarised = fewer.summarize(x, "bins").solve(1, grid="equal", n_bins=3)
    assert whole.labels.tolist() == summarised.labels.tolist() == [20.0]


@pytest.mark.parametrize("grid", ["equal", "log", "quantile", "edges"])
@pytest.mark.parametrize("weighted", [False, True])
def test_grids_are_the_same_in_memory_and_in_blocks(grid, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.round(rng.lognormal(size=200), 1 + seed % 4) + 0.1
        weight = rng.random(200) if weighted else None
        edges = np.linspace(x.min(), x.max(), 21)
        how = {"grid": edges} if grid == "edges" else {"grid": grid, "n_bins": 20}
        whole = fewer.bins(x, 4, sample_weight=weight, **how)
        block = (x,) if weight is None else (x, None, weight)
        stream = fewer.FewerBins(4, **how).partial_fit(x[:, None], sample_weight=weight)
        for found in (fewer.summarize(block, "bins").solve(4, **how), stream.result_[0]):
            assert found.indices.tolist() == whole.indices.tolist()
            assert found.labels.tolist() == whole.labels.tolist()
            assert found.value == pytest.approx(whole.value, rel=1e-12)


def test_positions_among_cells_are_distinct():
    x = np.random.default_rng(3).lognormal(size=200_000)
    whole = fewer.bins(x, 4)
    found = fewer.bins(lambda: iter(np.array_split(x, 10)), 4, max_memory=10**5)
    assert found.bound <= whole.value <= found.value + found.value_se
    assert found.value == pytest.approx(whole.value, rel=1e-6)
