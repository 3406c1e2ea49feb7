"""k-means in NumPy against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from fewer.baselines.lloyd import lloyd


@pytest.mark.parametrize("seed", range(5))
def test_from_the_same_start_it_is_what_scikit_learn_finds(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((150, 3)) + 100.0
    weights = rng.random(150)
    start = Z[:7]
    centres, labels = lloyd(Z, 7, weights, rng, start=start, rounds=300)
    model = KMeans(7, init=start, n_init=1, max_iter=300, tol=0.0).fit(Z, sample_weight=weights)
    assert (labels == model.labels_).all()
    assert centres == pytest.approx(model.cluster_centers_, abs=1e-9)


def test_its_own_start_is_as_good_as_theirs():
    rng = np.random.default_rng(1)
    Z = np.concatenate([rng.normal(centre, 0.1, (40, 2)) for centre in rng.uniform(-9, 9, (12, 2))])
    weights = np.full(len(Z), 1 / len(Z))

    def inertia(centres):
        return float((weights * ((Z[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)).sum())

    ours = [inertia(lloyd(Z, 12, weights, np.random.default_rng(s))[0]) for s in range(12)]
    theirs = [inertia(KMeans(12, n_init=1, random_state=s).fit(Z).cluster_centers_) for s in range(12)]
    assert np.mean(ours) <= 1.5 * np.mean(theirs)
    assert min(ours) == pytest.approx(min(theirs), rel=1e-6)


def test_every_centre_keeps_rows_where_there_are_enough():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((9, 2))
    centres, labels = lloyd(Z, 4, np.full(9, 1 / 9), rng, start=np.full((4, 2), 50.0))
    assert sorted(set(labels.tolist())) == [0, 1, 2, 3]
    same = np.zeros((5, 2))
    centres, labels = lloyd(same, 3, np.full(5, 0.2), rng)
    assert centres == pytest.approx(0.0)


def test_rows_too_large_for_squares_have_a_nearest_centre_without_warnings():
    from fewer.baselines.lloyd import nearest

    labels, far = nearest(np.array([[1e200], [0.0]]), np.array([[1e200], [1.0]]))
    assert labels.shape == (2,)
    assert not np.isnan(far).any()
