"""Studies: what is said of baselines was measured, and what is no proof is not shown as one."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import fewer
from fewer import Status
from fewer.report.path import (
    SPLITS,
    compare,
    matching_size,
    solve_path,
    study_of,
    sufficient_over_splits,
)
from fewer.report.path_page import path_page
from fewer.report.study import Split, Study


def test_a_size_that_matches_was_measured_and_the_one_below_did_not():
    problem = study_of(
        "bins", None, counts=np.random.default_rng(1).integers(0, 40, 120), preserve="entries"
    )
    baseline = problem.baselines["quantile binning"]
    error = problem.error(problem.solve(6))
    size, tried = matching_size(baseline, 6, error, 120)
    assert baseline(size) <= error < baseline(size - 1)
    assert size - 1 in (6, *tried)
    assert all(baseline(each) > error for each in tried)


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_claimed_as_measured_whatever_a_baseline_does(seed):
    rng = np.random.default_rng(seed)
    errors = rng.random(200) / np.arange(1, 201) ** rng.uniform(0, 1)  # not monotone
    errors[rng.integers(20, 220) :] = np.inf  # more cannot be served
    asked = []

    def baseline(k):
        asked.append(k)
        return float(errors[k - 1])

    k, error = int(rng.integers(1, 19)), float(rng.uniform(0, 0.1))
    size, tried = matching_size(baseline, k, error, 200)
    assert len(set(asked)) == len(asked) < 30
    assert all(k < each <= 200 for each in asked)
    assert tried == sorted(each for each in asked if error < errors[each - 1] < np.inf)
    assert size == min((each for each in asked if errors[each - 1] <= error), default=None)


def test_a_baseline_under_the_same_bounds_is_tried_where_it_can_hold_them():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((80, 60))
    b = A @ rng.dirichlet(np.full(60, 0.3))
    problem = study_of("terms", A, y=b, min_weight=0.03)  # at most 33 columns
    found = solve_path(problem, [8])
    assert " 60 " not in found.comparison
    words = found.comparison.replace(",", "").replace(" or", "").split()
    sizes = [int(word) for word in words if word.isdigit()]
    name = "NNLS ranking" if "NNLS" in found.comparison else "correlation ranking"
    if "did not match" in found.comparison:
        assert max(sizes) <= 33
        assert all(found.answer.error < problem.baselines[name](size) < np.inf for size in sizes)
    else:
        assert problem.baselines[name](sizes[0]) <= found.answer.error


def test_what_a_baseline_does_is_said_as_it_is():
    problem = study_of("bins", None, counts=np.random.default_rng(1).integers(1, 40, 30))
    found = solve_path(problem, [5])
    answer = found.answer
    assert found.comparison.startswith("baseline quantile binning matches this with ")
    equal = replace(answer, baselines={"other": answer.error})
    assert compare(problem, equal) == "baseline other does as well here"
    assert (
        compare(problem, replace(answer, baselines={"other": answer.error / 2}))
        == "baseline other is better here"
    )
    assert compare(problem, replace(answer, baselines={})) == ""
    without = solve_path(problem, [5], baselines=False)
    assert (without.comparison, without.answer.baselines) == ("", {})
    assert without.answer.error == answer.error


def test_that_no_error_is_below_zero_is_no_proof():
    rows = np.random.default_rng(0).standard_normal((60, 2))
    problem = study_of("points", rows, 4)
    result = problem.solve(4, solver="exchange", rng=0)
    assert result.status is Status.FINISHED
    for bound in (0.0, 1e-5):
        assert ("gap" in problem.lost(replace(result, bound=bound))) is (bound > 0.0)
    problem = study_of("terms", np.eye(3), y=np.array([0.5, 0.5, 0.0]))
    exact = problem.solve(2, solver="exact")
    assert exact.status is Status.OPTIMAL
    assert problem.lost(exact)["gap"] == exact.gap


class Noisy(Study):
    """A problem whose errors are known: a curve on all data, and the same with noise where some are held out."""

    job, metric, size, shares, unit = "bins", "error", 9, frozenset(), "bins"
    curve: ClassVar = {1: 10.0, 2: 1.0, 3: 0.95, 4: 0.94}

    baselines: ClassVar = {}

    def solve(self, k, **search):
        return fewer.bins(counts=[1, 2, 3, 4, 5, 6, 7, 8, 9], k=k)

    def error(self, result):
        return self.curve[len(result.indices)]

    def kept(self, result):
        return {"index": result.indices.tolist()}

    def lost(self, result):
        return {}

    def view(self, result):
        return None

    def split(self, share, rng):
        noise = 0.3 * rng.normal() + 0.02 * rng.normal(size=10)  # splits differ more than k do
        judge = lambda result: self.curve[len(result.indices)] + float(noise[len(result.indices)])
        return Split(self, judge, {})


def test_several_splits_are_averaged_and_the_smallest_k_within_their_error_is_taken():
    found = solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3, seed=0)
    for answer in found.answers:
        assert len(answer.held_outs) == SPLITS
        assert answer.held_out == pytest.approx(np.mean(answer.held_outs))
        spread = np.var(answer.held_outs, ddof=1) * (1 / SPLITS + 0.3 / 0.7)
        assert answer.held_out_se == pytest.approx(spread**0.5)
    assert found.answer.k == 2
    assert found.reason == "no larger k has a held-out error that is clearly lower, over 5 splits"
    chosen = [solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3, seed=s).answer.k for s in range(20)]
    assert chosen.count(2) >= 14
    assert 1 not in chosen
    assert len(solve_path(Noisy(), [1, 2], k=2, held_out=0.3).answer.held_outs) == 1
    page = path_page(found, "title", {})
    assert 'class="band"' in page
    assert "± standard error" in page


def test_what_all_k_have_in_common_does_not_count():
    shift = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])[:, None]  # which rows are held out
    assert sufficient_over_splits(np.array([[10.0, 3.0, 1.0, 1.0]]) + shift, 0.3) == 2
    noise = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]])
    assert (
        sufficient_over_splits(np.array([[10.0, 1.5, 1.1, 1.0]]) + noise, 0.3) == 1
    )  # of k itself it does


@pytest.mark.parametrize(("second", "place"), [(1.4, 1), (1.5, 2)])
def test_a_gain_below_a_twentieth_of_the_reduction_is_not_worth_a_larger_k(second, place):
    errors = np.tile([10.0, second, 1.0], (5, 1))
    assert sufficient_over_splits(errors, 0.3) == place


def test_an_infinite_first_error_makes_no_gain_negligible():
    errors = np.tile([np.inf, 1.0001, 1.0], (5, 1))
    assert sufficient_over_splits(errors, 0.3) == 2
    assert sufficient_over_splits(np.full((5, 3), np.inf), 0.3) == 0


def test_rows_that_are_given_to_test_on_are_not_split_again():
    X = np.random.default_rng(0).normal(size=(20, 4))
    problem = study_of("terms", X, y=X[:, 0], test=np.arange(15, 20))
    assert [
        len(a.held_outs)
        for a in solve_path(problem, [1, 2], held_out=0.25, solver="greedy").answers
    ] == [1, 1]


def test_one_far_value_does_not_lower_the_error_of_bins():
    x = np.random.default_rng(0).lognormal(size=2000)
    near, far = (study_of("bins", values) for values in (x, np.append(x, 1e6)))
    before, after = (problem.error(problem.solve(10)) for problem in (near, far))
    assert after > before / 2
    assert near.lost(near.solve(10))[near.metric] == before


def test_the_error_of_bins_is_a_mean_over_the_data():
    x = np.array([1.0, 1.0, 2.0, 5.0])
    problem = study_of("bins", x)
    result = problem.solve(2)
    differences = [result.weights[result.labels <= v].sum() - (x <= v).mean() for v in x]
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
    counts = np.array([2.0, 1.0, 0.0, 1.0])
    problem = study_of("bins", None, counts=counts)
    result = problem.solve(2)
    differences = np.repeat(np.cumsum(result.p - counts / 4), counts.astype(int))
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
