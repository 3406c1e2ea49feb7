"""Sums over rows in float32: their twin in float64, and which rows they leave to it."""

import numpy as np
import pytest

from fewer.jobs.points import plan as _points_plan
from fewer.jobs.points import second_pass as _points_second
from fewer.jobs.points.blocks import spec_of
from fewer.jobs.points.first_pass import FirstSummary
from fewer.jobs.points.narrow import MAX_NARROW_LENGTH, NarrowSums
from fewer.jobs.points.options import PointsOptions
from fewer.similarity import similarity_of
from fewer.tables.source import Block


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
    narrow = NarrowSums(points, labels, 2, np.zeros(2), 0.5, frequencies)
    sums, waves = narrow.sums(narrow.near(rows), weights, codes)
    expected = twin(points, labels, frequencies, 0.5, rows, weights, codes)
    np.testing.assert_allclose(sums, expected[0], rtol=3e-6, atol=1e-30)
    np.testing.assert_allclose(waves, expected[1], atol=1e-5)
    np.testing.assert_allclose(sums.mean(), expected[0].mean(), rtol=1e-6)


def test_rows_too_far_for_float32_are_left_to_float64():
    narrow = NarrowSums(np.zeros((1, 2)), None, 1, np.zeros(2), 1.0, None)
    far = np.array([[1.0, 0.0], [2.0 * MAX_NARROW_LENGTH**0.5, 0.0]])
    assert narrow.near(far[:1]) is not None
    assert narrow.near(far) is None
    how = (None, 1, np.zeros(2), None)
    assert NarrowSums.of(similarity_of("rbf", 1.0), far, *how) is None
    assert NarrowSums.of(similarity_of("laplace", 1.0), far[:1], *how) is None
    assert (
        NarrowSums.of(similarity_of("rbf", 1.0), np.zeros((1, 17)), None, 1, np.zeros(17), None)
        is None
    )


@pytest.mark.parametrize("labelled", [False, True])
def test_a_block_is_summed_alike_in_both_ways(labelled, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 3, 900) if labelled else None
    X[-1] = 1e6  # its chunk goes by NumPy
    monkeypatch.setattr(_points_second, "NARROW_ROWS", 256)
    options = PointsOptions(gamma=0.1, labels=y)
    spec = _points_second.replace(spec_of(X, 5, options, 0), candidates=50, least=50)
    plan = _points_plan.plan_of(FirstSummary.of(Block(X, y), spec))
    precise = _points_second.SecondSummary.of(Block(X, y), plan)
    monkeypatch.setattr(_points_plan, "MAX_PRECISE_PAIRS", 0)
    found = _points_second.SecondSummary.of(Block(X, y), plan)
    np.testing.assert_allclose(found.sums, precise.sums, rtol=1e-5)
    np.testing.assert_allclose(found.waves, precise.waves, atol=2e-3)
    assert not np.array_equal(found.sums, precise.sums)
