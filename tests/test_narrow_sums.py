"""Sums over rows in float32: their twin in float64, and which rows they leave to it."""

import numpy as np

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
