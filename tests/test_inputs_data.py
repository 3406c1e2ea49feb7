"""Inputs of baselines, data sets and the paper's data: wrong ones get a sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewer import (
    InvalidInput,
)
from fewer.baselines import least_squares, prototypes
from fewer.datasets import baskets
from fewer.paper import run
from fewer.paper.data import charges, digits
from fewer.paper.experiment import Setting


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


@pytest.mark.parametrize(
    "name", ["lasso", "matching_pursuit", "nonnegative", "at_random", "two_stage", "accelerated_iht"]
)
def test_baselines_of_terms_refuse_with_a_sentence(name):
    baseline = getattr(least_squares, name)
    assert baseline([[1, 0], [0, 1]], pd.Series([1, 0], dtype="Int64"), 1).tolist() == [1.0, 0.0]
    refused("A must be a matrix", baseline, [1.0, 2.0], [1.0], 1)
    refused("A must be dense", baseline, sp.eye_array(2), [1.0, 0.0], 1)
    refused(r"k must be in 1\.\.2", baseline, np.eye(2), [1.0, 0.0], 3)
    refused("k must be an integer", baseline, np.eye(2), [1.0, 0.0], 1.0)
    refused("b must have shape", baseline, np.eye(2), [1.0], 1)


ROW_BASELINES = ["mmd_critic", "herding", "random_rows", "kmeans_snapped", "k_medoids", "prototype_selection"]


@pytest.mark.parametrize("name", ROW_BASELINES)
def test_baselines_of_points_refuse_with_a_sentence(name):
    baseline = getattr(prototypes, name)
    rows = [[0.0, 1.0], [0.0, 2.0], [5.0, 1.0]]
    assert len(baseline(rows, 1, rng=0)[0]) == 1
    refused("X must have shape", baseline, [1.0, 2.0], 1)
    refused("X must hold real numbers", baseline, [["a"]], 1)
    refused("X must be finite", baseline, [[np.nan]], 1)
    refused("X has masked entries", baseline, np.ma.array(rows, mask=np.eye(3, 2)), 1)
    refused("k must be an integer", baseline, rows, "1")
    if name != "random_rows":
        refused("y must have one label for each of the 3 rows", baseline, rows, 1, y=[0, 1])
        refused("y must hold labels that can be sorted", baseline, rows, 1, y=[0, "a", None])
    if name in ("random_rows", "kmeans_snapped", "k_medoids"):
        refused("rng must be None", baseline, rows, 1, rng="x")


def test_data_sets_and_data_of_the_paper_refuse_with_a_sentence(tmp_path):
    refused("n_rows must be in", baskets, 10**400, 5)
    refused("rng must be None", baskets, 5, 5, rng="x")
    refused("path must be the name of a file", run, "theorem1", data=3)
    setting = Setting(1, True, 0, tmp_path)
    np.savez(tmp_path / "hospital_charges.npz", cms2011_counts_discharges=np.array(["x"] * 10000))
    refused("cms2011_counts_discharges in .* must hold real numbers", charges, setting)
    for wrong in (
        {"y_train": np.zeros((2, 1))},
        {"y_train": np.array(1)},
        {"X_train": np.array([["a"]])},
        {"X_test": np.zeros(2)},
    ):
        good = {"X_train": np.zeros((2, 2)), "y_train": np.zeros(2), "X_test": np.zeros((1, 2)), "y_test": np.zeros(1)}
        place = tmp_path / str(sorted(wrong)) / str(np.shape(next(iter(wrong.values()))))
        place.mkdir(parents=True)
        np.savez(place / "usps.npz", **{**good, **wrong})
        refused("must hold", digits, Setting(1, True, 0, place))
