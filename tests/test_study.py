"""Studies: what is said of baselines was measured, and what is no proof is not shown as one."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import fewer
from fewer import Status
from fewer.jobs.bins.empirical import Empirical
from fewer.jobs.terms.options import TermsOptions
from fewer.report.bins import BinsProblem
from fewer.report.path import (
    SPLITS,
    Split,
    compare,
    matching_size,
    proven_bound,
    solve_path,
    sufficient_over_splits,
)
from fewer.report.path_page import study_page
from fewer.report.points import PointsProblem
from fewer.report.terms import TermsProblem
from fewer.report.values import ValuesProblem


def test_a_size_that_matches_was_measured_and_the_one_below_did_not():
    problem = BinsProblem(
        np.random.default_rng(1).integers(0, 40, 120).astype(float), preserve="entries"
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
    if size is None:
        assert max(tried) == np.isfinite(errors).sum()  # the largest that it can serve was tried


def test_a_baseline_under_the_same_bounds_is_tried_where_it_can_hold_them():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((80, 60))
    b = A @ rng.dirichlet(np.full(60, 0.3))
    problem = TermsProblem(
        A, b, [f"c{i}" for i in range(60)], TermsOptions(min_weight=0.03)
    )  # at most 33 columns
    found = solve_path(problem, [8])
    assert " 60 " not in found.comparison
    words = found.comparison.replace(",", "").replace(" or", "").split()
    sizes = [int(word) for word in words if word.isdigit()]
    name = "NNLS ranking" if "NNLS" in found.comparison else "correlation ranking"
    if "did not match" in found.comparison:
        assert max(sizes) == 33
        assert all(found.chosen.error < problem.baselines[name](size) < np.inf for size in sizes)
    else:
        assert problem.baselines[name](sizes[0]) <= found.chosen.error


def test_what_a_baseline_does_is_said_as_it_is():
    problem = BinsProblem(np.random.default_rng(1).integers(1, 40, 30).astype(float))
    found = solve_path(problem, [5])
    answer = found.chosen
    assert found.comparison.startswith("baseline quantile binning matches this with ")
    equal = replace(answer, baselines={"other": answer.error})
    assert compare(problem, equal) == "baseline other does as well here"
    assert (
        compare(problem, replace(answer, baselines={"other": answer.error / 2}))
        == "baseline other is better here"
    )
    assert compare(problem, replace(answer, baselines={})) == ""
    without = solve_path(problem, [5], baselines=False)
    assert (without.comparison, without.chosen.baselines) == ("", {})
    assert without.chosen.error == answer.error


def test_that_no_error_is_below_zero_is_no_proof():
    rows = np.random.default_rng(0).standard_normal((60, 2))

    class Bounded(PointsProblem):
        def solve(self, k, **search):
            return replace(super().solve(k, solver="exchange", rng=0), bound=self.told)

        def lost(self, result):
            return {"gap": result.gap}

    problem = Bounded.of(rows, 4, 0)
    for told, shown in ((0.0, False), (1e-5, True)):
        object.__setattr__(problem, "told", told)
        answer = solve_path(problem, [4]).chosen
        assert answer.result.status is Status.FINISHED
        assert proven_bound(answer.result) == (told if shown else None)
        assert ("gap" in answer.lost) is shown
    whole = TermsProblem(np.eye(3), np.array([0.5, 0.5, 0.0]), list("abc"))
    exact = solve_path(whole, [2], solver="exact").chosen
    assert exact.result.status is Status.OPTIMAL
    assert proven_bound(exact.result) == exact.result.bound


class Noisy:
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
        return Split(self, judge, dict)


def test_several_splits_are_averaged_and_the_smallest_k_within_their_error_is_taken():
    found = solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3, seed=0)
    for answer in found.answers:
        assert len(answer.held_outs) == SPLITS
        assert answer.held_out == pytest.approx(np.mean(answer.held_outs))
        spread = np.var(answer.held_outs, ddof=1) * (1 / SPLITS + 0.3 / 0.7)
        assert answer.held_out_se == pytest.approx(spread**0.5)
    assert found.chosen.k == 2
    assert found.reason == "no larger k has a held-out error that is clearly lower, over 5 splits"
    chosen = [solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3, seed=s).chosen.k for s in range(20)]
    assert chosen.count(2) >= 14
    assert 1 not in chosen
    assert len(solve_path(Noisy(), [1, 2], k=2, held_out=0.3).chosen.held_outs) == 1
    page = study_page(found, "title", {})
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
    problem = TermsProblem(X, X[:, 0], list("abcd"), test_rows=np.arange(15, 20))
    assert [
        len(a.held_outs)
        for a in solve_path(problem, [1, 2], held_out=0.25, solver="greedy").answers
    ] == [1, 1]


def test_one_far_value_does_not_lower_the_error_of_bins():
    x = np.random.default_rng(0).lognormal(size=2000)
    near, far = (ValuesProblem(Empirical.of(values)) for values in (x, np.append(x, 1e6)))
    before, after = (problem.error(problem.solve(10)) for problem in (near, far))
    assert after > before / 2
    assert near.lost(near.solve(10))[near.metric] == before


def test_the_error_of_bins_is_a_mean_over_the_data():
    x = np.array([1.0, 1.0, 2.0, 5.0])
    problem = ValuesProblem(Empirical.of(x))
    result = problem.solve(2)
    differences = [result.weights[result.labels <= v].sum() - (x <= v).mean() for v in x]
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
    counts = np.array([2.0, 1.0, 0.0, 1.0])
    problem = BinsProblem(counts)
    result = problem.solve(2)
    differences = np.repeat(np.cumsum(result.p - counts / 4), counts.astype(int))
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
