"""Sums over rows in float32: their twin in float64, and which rows they leave to it."""

import numpy as np
import pytest

from fewer.jobs.points import sums as _sums
from fewer.jobs.points.sums import MAX_NARROW_LENGTH, CandidateRows
from fewer.similarity import similarity_of

MANY = 10**9
"""Rows of which similarities to a candidate are float32."""


def twin(points, labels, frequencies, gamma, rows, weights, codes):
    """One pair after the other in float64."""
    sums = [
        sum(
            w * np.exp(-gamma * ((x - p) ** 2).sum())
            for x, w, c in zip(rows, weights, codes, strict=True)
            if c == own
        )
        for p, own in zip(points, labels, strict=True)
    ]
    waves = [
        [
            sum(
                w * np.exp(1j * (f @ x))
                for x, w, k in zip(rows, weights, codes, strict=True)
                if k == c
            )
            for f in frequencies
        ]
        for c in (0, 1)
    ]
    return np.array(sums), np.array(waves)


def test_sums_in_float32_are_those_of_pairs():
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(530, 2)), rng.normal(size=(70, 2))
    points[0], rows[:3] = 8.0, [[-8.0, -8.0], [0.0, 0.0], [8.0, 8.0]]  # similarities down to 1e-111
    labels, codes, weights = rng.integers(0, 2, 530), rng.integers(0, 2, 70), rng.random(70)
    frequencies = 3.0 * rng.normal(size=(5, 2))
    candidates = CandidateRows(points, labels, 2, similarity_of("rbf", 0.5), MANY, frequencies)
    found = candidates.sums(rows, weights, codes)
    sums, centre = found.similarities, candidates.centre
    waves = found.features * np.exp(1j * frequencies @ centre)
    expected = twin(points, labels, frequencies, 0.5, rows, weights, codes)
    np.testing.assert_allclose(sums, expected[0], rtol=5e-6, atol=1e-30)
    np.testing.assert_allclose(waves, expected[1], atol=1e-5)
    np.testing.assert_allclose(sums.mean(), expected[0].mean(), rtol=1e-6)


def test_rows_too_far_for_float32_are_left_to_float64():
    rbf = similarity_of("rbf", 1.0)
    candidates = CandidateRows(np.zeros((1, 2)), None, 1, rbf, MANY)
    far = np.array([[1.0, 0.0], [1.0, 0.0], [2.0 * MAX_NARROW_LENGTH**0.5, 0.0]])
    assert candidates.narrow(far[:1]) is not None
    assert candidates.narrow(far) is None
    assert CandidateRows(far[:1], None, 1, rbf, 10 * MANY).near is not None
    assert CandidateRows(far, None, 1, rbf, MANY).near is None
    assert CandidateRows(far[:1], None, 1, similarity_of("laplace", 1.0), MANY).near is None
    assert CandidateRows(np.zeros((1, 17)), None, 1, rbf, MANY).near is None


@pytest.mark.parametrize("labelled", [False, True])
def test_a_block_is_summed_alike_in_both_ways(labelled, monkeypatch):
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(900, 3)), rng.integers(0, 3 if labelled else 1, 900)
    labels = codes[:50] if labelled else None
    X[-1] = 1e6  # its chunk goes by NumPy
    monkeypatch.setattr(_sums, "NARROW_CHUNK_ROWS", 256)
    how = labels, 3 if labelled else 1, similarity_of("rbf", 0.1)
    frequencies = rng.normal(size=(64, 3))
    precise, narrow = (
        CandidateRows(X[:50], *how, others, frequencies).sums(X, np.ones(900), codes)
        for others in (900, MANY)
    )
    np.testing.assert_allclose(narrow.similarities, precise.similarities, rtol=1e-5)
    np.testing.assert_allclose(narrow.features, precise.features, atol=2e-3)
    assert not np.array_equal(narrow.similarities, precise.similarities)
