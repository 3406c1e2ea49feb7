"""Grids of bins over data in blocks: exact counts between their edges, whatever the cut."""

import numpy as np
import pytest

import fewer
from fewer import InvalidInput, row_blocks
from fewer.data import blocks
from fewer.jobs import _bins_blocks

X = np.random.default_rng(0).lognormal(size=3000)
EDGES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 100.0])


@pytest.fixture
def small(monkeypatch):
    """Blocks of 256 values, and nothing gathered."""
    monkeypatch.setattr(row_blocks, "MAX_BLOCK_ROWS", 256)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 256)
    monkeypatch.setattr(blocks.Stream, "gathered", lambda self, memory: None)


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
    monkeypatch.setattr(_bins_blocks, "SKETCHED", sketched)
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
    monkeypatch.setattr(_bins_blocks, "SKETCHED", 512)
    whole = fewer.bins(X, 5, grid="quantile", n_bins=40)
    found = fewer.bins(cut(7), 5, grid="quantile", n_bins=40)
    assert found.value == pytest.approx(whole.value, rel=0.1)
    with pytest.raises(InvalidInput, match="needs bins"):
        fewer.bins(cut(7), 5, preserve="entries")
    with pytest.raises(InvalidInput, match="edges must hold all values"):
        fewer.bins(cut(7), 5, grid=[0.0, 1.0])
