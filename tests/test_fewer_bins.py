"""FewerBins: few values for each column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import FewerBins, InvalidInput, bins


@pytest.mark.filterwarnings("ignore:k = .* is more than the:UserWarning")
@parametrize_with_checks([FewerBins(), FewerBins(k=3, solver="exchange")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options", [{}, {"solver": "exchange"}, {"grid": "log", "n_bins": 30}], ids=str
)
def test_each_column_is_bins_of_it(options):
    X = np.random.default_rng(0).lognormal(size=(200, 2))
    model = FewerBins(4, random_state=0, **options).fit(X)
    for j, result in enumerate(model.result_):
        expected = bins(X[:, j], 4, rng=0, **options)
        assert model.indices_[j].tolist() == expected.indices.tolist()
        assert model.kept_values_[j].tolist() == expected.labels.tolist()
        assert model.weights_[j].tolist() == expected.weights.tolist()
        assert (model.value_[j], model.bound_[j], result.gap) == (
            expected.value,
            expected.bound,
            model.gap_[j],
        )
    assert set(model.transform(X)[:, 0]) <= set(model.kept_values_[0])


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**-30, 2.0**300])
def test_values_of_any_size_keep_the_same_and_the_loss_is_in_their_units(factor):
    x = np.random.default_rng(1).standard_normal(50)
    plain, scaled = FewerBins(4).fit(x), FewerBins(4).fit(x * factor)
    assert scaled.indices_.tolist() == plain.indices_.tolist()
    assert scaled.value_ / factor == pytest.approx(plain.value_, rel=1e-9)


def test_transform_maps_to_the_nearest_kept_value_and_ties_down():
    model = FewerBins(2).fit([0.0, 0.0, 0.0, 1.0, 9.0, 10.0, 10.0, 10.0])
    assert model.kept_values_.tolist() == [0.0, 10.0]
    assert model.transform([-1e308, 4.9, 5.0, 5.1, 1e308]).tolist() == [0.0, 0.0, 0.0, 10.0, 10.0]
    x = np.random.default_rng(2).standard_normal(200)
    model = FewerBins(7).fit(x)
    kept = np.sort(model.kept_values_)
    slow = [kept[np.argmin(np.abs(kept - value))] for value in x]
    assert model.transform(x).tolist() == slow


def test_shapes_of_one_and_of_several_columns():
    X = np.random.default_rng(3).integers(0, 9, (40, 2)).astype(float)
    alone, table = FewerBins(3).fit(X[:, 0].tolist()), FewerBins(3).fit(X)
    column = FewerBins(3).fit(X[:, :1])
    assert alone.transform(X[:, 0]).shape == column.transform(X[:, 0]).shape == (40,)
    assert column.transform(X[:, :1]).shape == (40, 1)
    assert table.transform(X)[:, 0].tolist() == alone.transform(X[:, 0]).tolist()
    for model in (column, table):
        assert model.kept_values_[0].tolist() == alone.kept_values_.tolist()
    assert table.transform(X.astype(np.float32)).dtype == np.float32
    for call in (lambda: table.transform(X[0]), lambda: FewerBins(3).fit(X[:, 0], X[:, 1])):
        with pytest.raises(InvalidInput, match="Reshape your data"):
            call()


def test_weights_count_as_repeated_values():
    x, weights = np.array([1.0, 2.0, 4.0, 8.0, 9.0]), np.array([3, 1, 0, 2, 5])
    weighted, repeated = (
        FewerBins(2).fit(x, sample_weight=weights),
        FewerBins(2).fit(np.repeat(x, weights)),
    )
    assert weighted.kept_values_.tolist() == repeated.kept_values_.tolist()
    assert weighted.value_ == pytest.approx(repeated.value_)


def test_more_values_than_there_are_gives_one_warning_and_keeps_all():
    X = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    with pytest.warns(
        UserWarning, match="k = 5 is more than the 1 distinct values there are"
    ) as raised:
        model = FewerBins(5).fit(X)
    assert len(raised) == 1
    assert raised[0].filename == __file__
    assert (model.transform(X) == X).all()
    assert [len(kept) for kept in model.kept_values_] == [3, 1]


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = FewerBins(2).fit([1.0, 2.0, 3.0])
    before = model.kept_values_.tolist()
    for wrong in ([1.0, np.nan], np.zeros((2, 2, 2)), [["a"], ["b"]]):
        with pytest.raises(InvalidInput):
            model.fit(wrong)
    assert model.kept_values_.tolist() == before
    with pytest.raises(InvalidInput, match="k must be an integer at least 1"):
        clone(model).set_params(k=1.5).fit([1.0, 2.0])


def test_missing_values_are_refused_by_row_or_their_rows_left_out():
    x = np.random.default_rng(0).lognormal(3.0, 1.0, 300)
    gaps = x.copy()
    gaps[[3, 90]] = np.nan
    with pytest.raises(InvalidInput, match=r"column 0, row 3; missing='drop'"):
        FewerBins(k=4).fit(gaps)
    model = FewerBins(k=4, missing="drop").fit(gaps)
    whole = FewerBins(k=4).fit(np.delete(x, [3, 90]))
    np.testing.assert_array_equal(model.kept_values_, whole.kept_values_)
    mapped = model.transform(gaps)
    np.testing.assert_array_equal(np.isnan(mapped), np.isnan(gaps))
    streamed = FewerBins(k=4, missing="drop")
    for part in np.array_split(gaps, 3):
        streamed.partial_fit(part)
    np.testing.assert_array_equal(streamed.kept_values_, model.kept_values_)
    with pytest.raises(InvalidInput, match="every row"):
        FewerBins(k=1, missing="drop").fit([np.nan, np.nan])


def test_tables_with_nullable_columns_leave_their_rows_out():
    frame = pd.DataFrame(
        {"a": pd.array([1, None, 3, 4, 5], dtype="Int64"), "b": [1.0, 2.0, 3.0, 4.0, np.nan]}
    )
    model = FewerBins(k=2, missing="drop").fit(frame)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert [sorted(kept.tolist()) for kept in model.kept_values_] == [[1.0, 4.0], [1.0, 4.0]]
    assert np.isnan(model.transform(frame)).sum() == 2


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("entry", ["x", "1.5"])
def test_an_entry_that_is_no_number_is_named_whether_values_may_be_missing_or_not(entry, missing):
    X = np.arange(12.0).reshape(6, 2)
    model, odd = FewerBins(k=2, missing=missing).fit(X), X.astype(object)
    odd[3, 1] = entry
    for call in (model.transform, FewerBins(k=2, missing=missing).fit, model.partial_fit):
        with pytest.raises(InvalidInput, match=r"X must hold real numbers, got .* at index 3, 1"):
            call(odd)


def test_none_and_nan_among_objects_are_missing_values():
    X = np.array([[1.0, 2.0], [None, 3.0], [4.0, float("nan")], [5.0, 6.0]], object)
    mapped = FewerBins(k=2, missing="drop").fit(X).transform(X)
    assert np.isnan(mapped).tolist() == [
        [False, False],
        [True, False],
        [False, True],
        [False, False],
    ]
    with pytest.raises(InvalidInput, match=r"X has a missing value \(NaN\) in column 0, row 1"):
        FewerBins(k=2).fit(X)
