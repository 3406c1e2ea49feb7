"""Swaps of prototypes for the nearest-point rule, against losses computed from scratch."""

import numpy as np
import pytest

from fewer.deadline import Deadline
from fewer.jobs.points import refine as _refine
from fewer.similarity import similarity_of


def margins_and_loss(X, codes, mass, units):
    apart = _refine.squared_distances(X[units], X, similarity_of("rbf", 1.0))
    margins = _refine.Margins(apart, codes[units][:, None] == codes[None])
    return margins, float(mass @ _refine.loss(*margins.first))


def test_the_cost_of_replacing_a_point_is_that_of_the_new_points():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    similarity, mass = similarity_of("rbf", 1.0), rng.dirichlet(np.ones(60))
    units = np.array([0, 7, 11, 30, 42])
    margins, _ = margins_and_loss(X, codes, mass, units)
    for j in (3, 19, 55):
        d = _refine.squared_distances(X[[j]], X, similarity)[0]
        costs = margins.costs(d, codes[j] == codes, mass)
        for out in range(5):
            changed = units.copy()
            changed[out] = j
            assert costs[out] == pytest.approx(
                margins_and_loss(X, codes, mass, changed)[1], abs=1e-5
            )
    margins.replace(2, d, codes[55] == codes)
    fresh, _ = margins_and_loss(X, codes, mass, np.array([0, 7, 55, 30, 42]))
    for name in ("first", "second"):
        np.testing.assert_allclose(
            getattr(margins, name), getattr(fresh, name), rtol=1e-6, atol=1e-9
        )


def test_refined_points_classify_their_rows_better():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.standard_normal((80, 2)) + shift for shift in ([0, 0], [3, 0], [0, 3])])
    codes, similarity = np.repeat([0, 1, 2], 80), similarity_of("rbf", 1.0)
    start = np.array([0, 1, 80, 81, 160, 161])

    def wrong(units):
        return (
            codes[units][_refine.squared_distances(X, X[units], similarity).argmin(axis=1)] != codes
        ).mean()

    better = _refine.swap_points(
        X,
        codes,
        np.full(240, 1 / 240),
        start,
        similarity,
        np.random.default_rng(0),
        Deadline.after(None),
    )
    assert len(np.unique(better)) == 6
    assert wrong(better) <= wrong(start)
    assert wrong(better) < 0.1
