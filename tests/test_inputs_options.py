"""What the campaign found in options of the jobs: each with its smallest input, answered by a sentence or rightly."""

import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import fewer
from fewer import Atoms, FewerBins, FewerPointsClassifier, FewerTerms, GroupSparse, InvalidInput

X = np.arange(10.0).reshape(5, 2) % 7
CODES = (np.arange(12).reshape(6, 2) % 3).astype(float)


def in_blocks(*parts):
    return lambda: iter(parts)


@pytest.mark.parametrize("form", ["lil", "dok", "coo", "dia"])
def test_a_target_may_be_sparse_in_any_format(form):
    sparse = sp.coo_array(X[:3]).asformat(form)
    dense, found = (
        fewer.points(X, 2, gamma=0.5, rng=0, target=target) for target in (X[:3], sparse)
    )
    assert found.value == pytest.approx(dense.value, abs=1e-12)


def test_half_precision_goes_beside_a_sparse_target_and_in_blocks():
    half = X.astype(np.float16)
    assert len(fewer.points(half, 2, gamma=0.5, rng=0, target=sp.csr_array(X)).indices) == 2
    assert len(fewer.points(in_blocks(half, sp.csr_array(X)), 2, rng=0).indices) == 2


@pytest.mark.parametrize(
    ("rows", "target", "match"),
    [
        (3.0, X, r"X must have shape \(rows, columns\) beside a target"),
        (X[None], X, r"X must have shape \(rows, columns\) beside a target"),
        (X, [[1.0, 2.0], [3.0]], "target must be an array with rows of one length"),
    ],
)
def test_rows_and_targets_of_other_shapes_are_refused(rows, target, match):
    with pytest.raises(InvalidInput, match=match):
        fewer.points(rows, 1, target=target)


@pytest.mark.parametrize(
    "other", [sp.dok_array(CODES), sp.lil_matrix(CODES), sp.coo_array(CODES)], ids=type
)
def test_blocks_may_be_sparse_in_any_format(other):
    assert (
        fewer.dims(in_blocks(CODES, other), 1, rng=0).value
        == fewer.dims(np.vstack([CODES, CODES]), 1, rng=0).value
    )


def broken():
    """A csr matrix whose indices lie outside of it."""
    table = sp.csr_array(X)
    table.indices[0] = 9
    return table


@pytest.mark.parametrize(
    "other",
    [
        broken(),
        np.full((3, 2), np.datetime64(date(2020, 1, 1))),
        [[1.0, 2.0], [3.0]],
        X[None],
    ],
    ids=["indices", "dates", "ragged", "deep"],
)
def test_blocks_that_do_not_fit_are_refused(other):
    for first in (X, sp.csr_array(X)):
        with pytest.raises(InvalidInput, match="block"):
            fewer.points(in_blocks(first, other), 2)


def test_decimals_go_beside_sparse_blocks():
    exact = np.array([[Decimal(1), Decimal(0)], [Decimal(2), Decimal(1)]], object)
    assert fewer.dims(in_blocks(sp.csr_array(CODES), exact), 1, rng=0).success


@pytest.mark.parametrize("job", ["dims", "points", "bins", "terms"])
def test_every_job_refuses_a_callback_that_cannot_be_called(job):
    calls = {
        "dims": lambda **o: fewer.dims(CODES, 1, exclude=[1], **o),
        "points": lambda **o: fewer.points(X, 1, **o),
        "bins": lambda **o: fewer.bins(counts=[1, 2, 3], k=1, contiguous=True, **o),
        "terms": lambda **o: fewer.terms(X, X[:, 0], 1, **o),
    }
    with pytest.raises(
        InvalidInput, match=r"callback must be a function of the progress, got \[\]"
    ):
        calls[job](callback=[])


def test_labels_that_cannot_be_sorted_are_refused_by_a_sentence():
    with pytest.raises(InvalidInput, match="y must hold labels that can be sorted, got"):
        FewerPointsClassifier(k=2).fit(X, np.array([0.0, "a", 0.0, "a", 0.0], object))


def test_lazy_frames_are_gathered_by_transform():
    frame = pl.DataFrame(X, schema=["a", "b"], orient="row")
    model = FewerBins(k=2).fit(frame)
    assert np.array_equal(model.transform(frame.lazy()), model.transform(frame))


def test_conditions_beside_what_is_no_table_are_refused():
    with pytest.raises(InvalidInput):
        fewer.terms(np.ndarray, [1.0], 1, max_turnover=1.0, previous=[1.0])


def test_huge_numbers_leak_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups = np.arange(6) % 3
        for v in (
            1e300 * np.arange(6),
            -1e307 * np.arange(6),
            np.array([1e308, -1e308, 0, 1, 2, 3]),
        ):
            p = GroupSparse(Atoms(6), groups, 2).project(v)
            assert p.tolist() == [float(i == v.argmax()) for i in range(6)]
        model = FewerTerms(k=1).fit(X, X[:, 0])
        model.score(np.full((3, 2), 1e300), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "options",
    [{"costs": [1.0] * 4, "budget": 2.0}, {"units": [0, 0, 1, 1], "k": 1}, {"k": 1}],
    ids=str,
)
def test_a_sparse_array_of_one_axis_is_no_table_of_dims(options):
    with pytest.raises(
        InvalidInput, match=r"X must be a table \(N, n\) with at least one row .* got shape \(4,\)"
    ):
        fewer.dims(sp.coo_array(np.array([1, 0, 1, 0])), **options)


@pytest.mark.parametrize("options", [{}, {"previous": [1.0], "max_turnover": 1.0}], ids=str)
def test_a_sparse_array_of_one_axis_is_no_matrix_of_terms(options):
    line = sp.coo_array(np.array([1.0, 0.0, 1.0]))
    with pytest.raises(
        InvalidInput, match=r"X must be a matrix with at least one row .* got shape \(3,\)"
    ):
        fewer.terms(line, [1.0], 1, **options)
    with pytest.raises(
        InvalidInput,
        match=r"X must have shape \(rows, columns\), got a sparse array of shape \(3,\)",
    ):
        fewer.FewerTerms(k=1).fit(line, [1.0])


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_a_budget_that_pays_only_for_what_is_excluded_is_refused(objective):
    X = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    asked = {"costs": [0.5, 2.0, 3.0], "budget": 1.0, "objective": objective}
    assert fewer.dims(X, **asked).indices.tolist() == [0]
    with pytest.raises(
        InvalidInput,
        match="a budget of 1 pays for none of what exclude leaves: the cheapest costs 2",
    ):
        fewer.dims(X, **asked, exclude=[0])


@pytest.mark.parametrize("X", [np.ndarray, np.array(3.0), None])
def test_a_callback_beside_what_has_no_rows_is_not_the_error(X):
    with pytest.raises(InvalidInput, match="X must"):
        fewer.points(X, 2, move=True, callback=lambda progress: True)


@pytest.mark.parametrize("X", [sp.csr_array((0, 2)), np.empty((0, 2))])
def test_no_rows_stand_for_no_target(X):
    with pytest.raises(InvalidInput, match="row"):
        fewer.points(X, 2, target=[[0.875, 0.125], [4.875, 5.0]])
