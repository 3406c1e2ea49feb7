"""Similarities that see means only: the note says so, and rbf on rows of length one finds the clusters they miss."""

import numpy as np

from fewer import points


def clusters(seed=0, many=30, each=20, d=8):
    """Planted clusters of embeddings: directions on the sphere."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((many, d))
    X = np.repeat(centres / np.linalg.norm(centres, axis=1)[:, None], each, axis=0)
    X = X + 0.02 * rng.standard_normal(X.shape)
    return X / np.linalg.norm(X, axis=1)[:, None], np.repeat(np.arange(many), each)


def test_cosine_misses_clusters_that_rbf_on_rows_of_length_one_finds():
    X, y = clusters()
    found = {name: points(X, 30, similarity=name, rng=0) for name in ("rbf", "cosine", "linear")}
    shares = {name: len(set(y[result.indices])) / 30 for name, result in found.items()}
    assert found["cosine"].value < 1e-12
    assert shares["rbf"] > 0.9
    assert max(shares["cosine"], shares["linear"]) < 0.8
    for name in ("cosine", "linear"):
        assert f"{name} compares" in found[name].note
    assert "means" not in found["rbf"].note
