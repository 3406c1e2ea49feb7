"""What points stand for and miss: against dense algebra, and on digits with planted outliers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from fewer import FewerPoints, InvalidInput, assign, bins, criticisms, points, witness
from fewer.similarity import similarity_of

GAMMA = 0.4


def rows(n=60):
    return np.random.default_rng(0).standard_normal((n, 2))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_are_assigned_to_the_most_similar_point(library):
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    nearest = similarity_of("rbf", GAMMA)(X, X[found.indices]).argmax(axis=1)
    assert np.array_equal(assign(found, X), nearest)
    model = FewerPoints(5, gamma=GAMMA, random_state=0).fit(X).set_output(transform=library)
    assert np.array_equal(model.assign(X), assign(model.result_, X))
    assert model.transform(X).shape == (60, 5)


@pytest.mark.parametrize("similarity", ["laplace", "rbf"])
def test_sparse_rows_are_refused_where_dense_ones_were_fitted(similarity):
    missing = "impute" if similarity == "rbf" else "error"
    model = FewerPoints(2, similarity=similarity, missing=missing, random_state=0).fit(np.eye(4))
    for ask in (model.transform, model.assign, lambda X: assign(model.result_, X)):
        with pytest.raises(InvalidInput, match="X must be dense"):
            ask(csr_array(np.eye(4)))


def test_rows_of_a_table_are_assigned_whatever_they_are_compared_by():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"plan": rng.choice(["a", "b"], 50), "age": rng.normal(40.0, 9.0, 50)})
    found = points(frame, 4, rng=0)
    model = FewerPoints(4, random_state=0).fit(frame)
    assert np.array_equal(assign(found, frame)[found.indices], np.arange(4))
    assert np.array_equal(assign(model.result_, frame), model.assign(frame))
    moved = points(frame, 4, rng=0, move=True)
    assert np.array_equal(assign(moved, moved.rows), np.arange(4))


def test_witness_is_the_difference_of_two_means():
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    K = similarity_of("rbf", GAMMA)(X, X)
    assert witness(found, X) == pytest.approx(
        K.mean(axis=1) - K[:, found.indices] @ found.weights, abs=1e-12
    )


def residuals(K, some):
    """s(x, x) - k_S' K_SS^-1 k_S of each row."""
    part = K[:, some]
    return np.diag(K) - np.einsum(
        "ij,ij->i", part, np.linalg.solve(K[np.ix_(some, some)], part.T).T
    )


def test_criticisms_are_the_largest_residuals_each_listed_one_counting_as_a_point():
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    K, some, wanted = similarity_of("rbf", GAMMA)(X, X), found.indices.tolist(), []
    for _ in range(6):
        wanted.append(int(np.argmax(residuals(K, some))))
        some.append(wanted[-1])
    assert criticisms(found, X, 6).tolist() == wanted


def test_witness_criticisms_are_those_of_mmd_critic():
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    K, w, wanted = similarity_of("rbf", GAMMA)(X, X), np.abs(witness(found, X)), []
    for _ in range(5):

        def worth(j, listed=tuple(wanted)):
            some = [*listed, j]
            return w[some].sum() + np.linalg.slogdet(K[np.ix_(some, some)])[1]

        wanted.append(max((j for j in range(60) if j not in wanted), key=worth))
    assert criticisms(found, X, 5, method="witness").tolist() == wanted


def test_a_stored_estimator_still_explains():
    X = rows()
    model = FewerPoints(5, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.criticisms(3, X=X), model.criticisms(3))
    with pytest.raises(InvalidInput, match=r"does not hold the rows .* use assign\(result, X\)"):
        again.criticisms(3)


def test_a_result_knows_which_rows_its_points_stand_for():
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    assert np.array_equal(found.assignment, assign(found, X))
    assert found.shares == pytest.approx(np.bincount(found.assignment) / 60)
    assert np.array_equal(found.criticisms(4), criticisms(found, X, 4))
    assert np.array_equal(pickle.loads(pickle.dumps(found)).assignment, found.assignment)
    weight = np.arange(1.0, 61.0)
    heavy = points(X.tolist(), 5, gamma=GAMMA, sample_weight=weight, rng=0)
    assert heavy.shares == pytest.approx(np.bincount(assign(heavy, X), weight / weight.sum()))
    gram = similarity_of("rbf", GAMMA)(X, X)
    given = points(gram, 5, similarity="precomputed", rng=0)
    assert np.array_equal(given.assignment, gram[:, given.indices].argmax(axis=1))
    assert given.criticisms(1)[0] == np.argmax(residuals(gram, given.indices))


def test_rows_that_were_left_out_are_assigned_to_none():
    frame = pd.DataFrame(rows(), columns=["a", "b"])
    frame.loc[[3, 7], "a"] = np.nan
    found = points(frame, 5, missing="drop", rng=0)
    assert np.flatnonzero(found.assignment < 0).tolist() == [3, 7]
    assert np.array_equal(np.delete(found.assignment, [3, 7]), assign(found, frame.dropna()))
    assert not {3, 7} & set(found.criticisms(50))
    assert found.shares.sum() == pytest.approx(1.0)


def test_with_a_target_its_rows_are_assigned_and_criticised():
    X, T = rows(), rows(90)[60:] + 1.0
    weight = np.arange(1.0, 31.0)
    found = points(X, 4, target=T, target_weight=weight, rng=0)
    assert np.array_equal(found.assignment, assign(found, T))
    assert found.shares == pytest.approx(np.bincount(assign(found, T), weight / weight.sum(), 4))
    assert np.array_equal(found.criticisms(3), criticisms(found, T, 3))
    gone = T.copy()
    gone[5, 0] = np.nan
    dropped = points(X, 4, target=gone, missing="drop", rng=0)
    assert np.flatnonzero(dropped.assignment < 0).tolist() == [5]
    assert dropped.counts.sum() == pytest.approx(29.0)


def test_what_cannot_be_explained_is_refused_in_a_sentence():
    X = rows()
    found = points(X, 5, gamma=GAMMA, rng=0)
    with pytest.raises(InvalidInput, match="method must be one of 'residual', 'witness'"):
        criticisms(found, X, 3, method="far")
    with pytest.raises(InvalidInput, match="n must be"):
        criticisms(found, X, 61)
    gram = points(X @ X.T, 2, similarity="precomputed", rng=0)
    for result in (bins(counts=[1, 2, 3], k=2), gram):
        with pytest.raises(InvalidInput, match="does not tell how rows are compared"):
            assign(result, X)
