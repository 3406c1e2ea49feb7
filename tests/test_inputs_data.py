"""Inputs of data sets and the paper's data: wrong ones get a sentence."""

import numpy as np
import pytest

from fewer import (
    InvalidInput,
)
from fewer.datasets import baskets
from reproduction.data import charges, digits
from reproduction.experiment import Setting


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


def test_data_sets_and_data_of_the_paper_refuse_with_a_sentence(tmp_path):
    refused("n_rows must be in", baskets, 10**400, 5)
    refused("rng must be None", baskets, 5, 5, rng="x")
    setting = Setting(1, True, 0, tmp_path)
    np.savez(tmp_path / "hospital_charges.npz", cms2011_counts_discharges=np.array(["x"] * 10000))
    refused("cms2011_counts_discharges in .* must hold finite real numbers", charges, setting)
    for wrong in (
        {"y_train": np.zeros((2, 1))},
        {"y_train": np.array(1)},
        {"X_train": np.array([["a"]])},
        {"X_test": np.zeros(2)},
    ):
        good = {
            "X_train": np.zeros((2, 2)),
            "y_train": np.zeros(2),
            "X_test": np.zeros((1, 2)),
            "y_test": np.zeros(1),
        }
        place = tmp_path / str(sorted(wrong)) / str(np.shape(next(iter(wrong.values()))))
        place.mkdir(parents=True)
        np.savez(place / "usps.npz", **{**good, **wrong})
        refused("must hold", digits, Setting(1, True, 0, place))
