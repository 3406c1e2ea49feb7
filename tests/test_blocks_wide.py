"""Terms of very many columns in blocks: the answer of all columns in memory, and a bound over all of them."""

import dask.array as da
import numpy as np
import pytest

import fewer
from fewer import InvalidInput, row_blocks
from fewer.active_set import simplex_weights
from fewer.jobs import _terms_wide


@pytest.fixture
def wide(monkeypatch):
    """30 rows and 300 columns, which count as many."""
    monkeypatch.setattr(_terms_wide, "MAX_FACTOR_COLUMNS", 100)
    monkeypatch.setattr(_terms_wide, "JOINING", 16)
    monkeypatch.setattr(_terms_wide, "MEMORY_SHARE", 0.5)
    monkeypatch.setattr(row_blocks, "BLOCK_CELLS", 2**9)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 16)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 300))
    return X, X[:, [7, 150, 299]] @ [0.5, 0.3, 0.2] + 0.2 * rng.normal(size=30)


def relaxation(X, y, w):
    """The least squared error without a limit on the number of columns."""
    off = (X - y[:, None]) * np.sqrt(w)[:, None]
    gram = off.T @ off
    q = simplex_weights(gram, np.zeros(len(gram)))
    return q @ gram @ q


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_in_blocks_are_as_all_in_memory(weighted, wide, tmp_path):
    X, y = wide
    w = np.random.default_rng(0).random(30) if weighted else None
    whole = fewer.terms(X, y, 3, sample_weight=w, rng=0)
    np.save(tmp_path / "X.npy", X)
    cuts = [da.from_array(X, chunks=chunks) for chunks in ((30, 300), (10, 43), (30, 5))]
    answers = [fewer.terms(given, y, 3, sample_weight=w, rng=0, max_memory="100KB") for given in cuts]
    answers.append(fewer.terms(str(tmp_path / "X.npy"), y, 3, sample_weight=w, rng=0, max_memory="100KB"))
    for found in answers:
        assert "over all columns" in found.note
        assert found.indices.tolist() == whole.indices.tolist()
        assert found.value == pytest.approx(whole.value, rel=1e-9)
        assert (found.value, found.bound) == (answers[0].value, answers[0].bound)
        assert len(found.p) == 300
    best = relaxation(X, y, np.ones(30) if w is None else w)
    assert answers[0].bound <= best * (1 + 1e-9)
    assert answers[0].bound == pytest.approx(best, rel=1e-4)


def test_a_bound_that_is_reached_is_a_proof(wide):
    X, _ = wide
    found = fewer.terms(da.from_array(X, chunks=(30, 40)), 1.5 * X[:, 42], 1, rng=0, max_memory="100KB")
    assert found.indices.tolist() == [42]
    assert found.bound <= found.value
    twice = fewer.terms(da.from_array(X, chunks=(30, 40)), 2.0 * X[:, 42] - X.mean(axis=1), 300, max_memory="100KB")
    assert twice.bound <= twice.value * (1 + 1e-9)


def test_what_is_held_and_what_is_not(wide):
    X, y = wide
    lazy = da.from_array(X, chunks=(30, 50))
    asked = {"include": [250], "exclude": [7], "groups": np.arange(300) % 2, "max_per_group": 2}
    found = fewer.terms(lazy, y, 3, rng=0, max_memory="100KB", min_weight=0.05, **asked)
    whole = fewer.terms(X, y, 3, rng=0, min_weight=0.05, **asked)
    assert 250 in found.indices
    assert 7 not in found.indices
    assert found.value == pytest.approx(whole.value, rel=1e-6)
    with pytest.raises(InvalidInput, match="blocks of columns"):
        fewer.terms(lazy, y, 3, max_memory="100KB", groups=np.arange(300) % 2, min_per_group=1)
    with pytest.raises(InvalidInput, match="for each of the 30 rows"):
        fewer.terms(lazy, y[:-1], 3, max_memory="100KB")


def test_the_estimator_takes_columns_in_blocks(wide):
    X, y = wide
    lazy = da.from_array(X, chunks=(30, 50))
    model = fewer.FewerTerms(k=3, random_state=0, max_memory="100KB").fit(lazy, y)
    assert model.n_features_in_ == 300
    assert model.indices_.tolist() == fewer.FewerTerms(k=3, random_state=0).fit(X, y).indices_.tolist()
    np.testing.assert_allclose(model.predict(lazy).compute(), X @ model.coef_)
