"""Similarities and their bandwidths, against scikit-learn, scipy and the formulas written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, squareform
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics import pairwise

from fewer import InvalidInput
from fewer.distances import distance_blocks
from fewer.similarity import (
    BANDED,
    SIMILARITIES,
    bandwidth,
    from_matrix,
    pair_distances,
    similarity_of,
)

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((7, 5)), RNG.standard_normal((4, 5))
OUTSIDE = {
    "rbf": lambda a, b: pairwise.rbf_kernel(a, b, gamma=0.3),
    "laplace": lambda a, b: pairwise.laplacian_kernel(a, b, gamma=0.3),
    "matern32": lambda a, b: Matern(length_scale=1 / 0.3, nu=1.5)(a, b),
    "matern52": lambda a, b: Matern(length_scale=1 / 0.3, nu=2.5)(a, b),
    "cosine": pairwise.cosine_similarity,
    "linear": lambda a, b: a @ b.T,
    "hamming": lambda a, b: np.exp(-0.3 * (a[:, None] != b[None]).mean(axis=2)),
}


@pytest.mark.parametrize("name", SIMILARITIES)
def test_blocks_equal_an_outside_library(name):
    a, b = (A.round(), B.round()) if name == "hamming" else (A, B)
    similarity = similarity_of(name, 0.3)
    np.testing.assert_allclose(similarity(a, b), OUTSIDE[name](a, b), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(similarity.itself(a), np.diag(OUTSIDE[name](a, a)), rtol=1e-12)
    assert np.linalg.eigvalsh(similarity(a, a)).min() > -1e-12


@pytest.mark.parametrize("name", [name for name in SIMILARITIES if similarity_of(name).sparse])
def test_sparse_rows_equal_dense_ones_and_float32_stays(name):
    a = A * (np.abs(A) > 0.5)
    similarity = similarity_of(name, 0.3)
    np.testing.assert_allclose(
        similarity(sp.csr_array(a), sp.csr_array(B)), similarity(a, B), rtol=1e-12, atol=1e-14
    )
    narrow = similarity(A.astype(np.float32), B.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, similarity(A, B), rtol=1e-4, atol=1e-5)


def test_a_function_is_checked_block_by_block():
    double = similarity_of(lambda a, b: 2.0 * a @ b.T)
    np.testing.assert_allclose(double(A, B), 2 * A @ B.T)
    np.testing.assert_allclose(double.itself(A, block=3), 2 * (A**2).sum(axis=1))
    with pytest.raises(InvalidInput, match=r"shape \(7, 4\)"):
        similarity_of(lambda a, b: np.ones(3))(A, B)
    with pytest.raises(InvalidInput, match="finite"):
        similarity_of(lambda a, b: np.full((len(a), len(b)), np.nan))(A, B)


def test_a_matrix_is_read_by_row_numbers():
    gram = RNG.standard_normal((5, 5))
    block = from_matrix(gram)(np.array([[3], [1]]), np.array([[0], [2], [4]]))
    np.testing.assert_array_equal(block, gram[[3, 1]][:, [0, 2, 4]])


@pytest.mark.parametrize("name", sorted(BANDED))
def test_median_is_the_median_of_the_distances_between_different_rows(name):
    X = np.vstack([A, A[:2]]) if name != "hamming" else np.vstack([A.round(), A[:2].round()])
    metric = {"laplace": "cityblock", "hamming": "hamming"}.get(name, "euclidean")
    d = cdist(X, X, metric)[np.triu_indices(len(X), 1)]
    middle = np.median(d[d > 1e-9] ** (2 if name == "rbf" else 1))
    assert bandwidth(X, name, "median") == pytest.approx(
        1 / (2 * middle) if name == "rbf" else 1 / middle, rel=1e-12
    )


@pytest.mark.parametrize("rule", ["median", "scale"])
@pytest.mark.parametrize("name", sorted(BANDED))
def test_a_weight_counts_as_so_many_rows(name, rule):
    X, counts = A.round(1), np.array([1, 3, 2, 1, 5, 1, 2])
    repeated = bandwidth(np.repeat(X, counts, axis=0), name, rule)
    assert bandwidth(X, name, rule, counts / counts.sum()) == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("rule", ["median", "scale"])
@pytest.mark.parametrize("name", sorted(BANDED - {"hamming"}))
def test_scaled_rows_give_the_same_similarities(name, rule):
    first, second = (similarity_of(name, bandwidth(X, name, rule))(X, X) for X in (A, 37.5 * A))
    np.testing.assert_allclose(first, second, rtol=1e-10)


def test_scale_is_that_of_the_support_vector_classifier_also_for_sparse_rows():
    a = A * (np.abs(A) > 0.5)
    assert bandwidth(a, "rbf", "scale") == pytest.approx(1 / (5 * a.var()), rel=1e-12)
    assert bandwidth(sp.csr_array(a), "rbf", "scale") == pytest.approx(1 / (5 * a.var()), rel=1e-12)


def test_distances_are_those_of_scipy_and_never_negative():
    np.testing.assert_allclose(distance_blocks(A, B), cdist(A, B, "sqeuclidean"), rtol=1e-12)
    assert distance_blocks(A + 1e8, A + 1e8).min() >= 0.0
    twice = squareform(pair_distances(np.vstack([A, A]) + 1e6, "rbf"))
    assert twice[np.arange(7), np.arange(7, 14)].max() == 0.0


@pytest.mark.parametrize("name", sorted(BANDED))
def test_logarithms_of_similarities_tell_far_rows_apart(name):
    similarity = similarity_of(name, 0.3)
    np.testing.assert_allclose(similarity.log(A, B), np.log(similarity(A, B)), rtol=1e-9)
    if name != "hamming":
        far = similarity.log(A, 1e6 * B)
        assert np.isfinite(far).all()
        assert len(np.unique(far)) == far.size


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52", "laplace"])
def test_similarities_of_rows_very_far_apart_are_zero(name):
    """Squares of distances in bandwidths are beyond what a float holds."""
    block = similarity_of(name, 1e149)(np.array([[0.0], [1e10]]), np.array([[0.0]]))
    assert block.tolist() == [[1.0], [0.0]]
