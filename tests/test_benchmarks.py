"""The benchmarks' own logic: ratios, who is ahead, absent peers, judges; nothing is timed."""

import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from fewer.similarity import similarity_of

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def module(name):
    return importlib.import_module(name)


def row(peer, value, seconds, method="m", variant="as returned", **more):
    blank = {"case": "c", "job": "j", "version": "", "test": math.nan, "first": 0.0, "peak_mb": 1.0, "proven": False}
    return {**blank, "peer": peer, "method": method, "variant": variant, "value": value, "seconds": seconds} | {
        "note": "",
        "cpu": seconds,
        **more,
    }


def test_ratios_are_to_the_first_answer_of_fewer():
    rows = [row("other", 4.0, 1.0), row("fewer", 2.0, 0.5), row("fewer", 1.0, 5.0, "slow")]
    table = module("tables").case_table(rows)
    cells = next(line for line in table if line.startswith("| other")).split("|")
    assert [cell.strip() for cell in cells[2:6]] == ["4", "2", "1", "2"]
    assert module("tables").ratio(0.0, 0.0) == 1.0
    assert module("tables").ratio(1.0, 0.0) == math.inf


@pytest.mark.parametrize(
    ("value", "seconds", "lost"),
    [(1.0, 1.0, True), (1.0, 3.0, False), (3.0, 1.0, False), (2.0, 1.0, False), (2.0 * (1 - 1e-7), 1.0, False)],
)
def test_behind_means_a_better_answer_in_no_more_time(value, seconds, lost):
    rows = [row("fewer", 2.0, 2.0), row("other", value, seconds)]
    assert bool(module("tables").behind(rows)) is lost
    assert ("behind" in module("tables").verdict(rows[0], rows)) is lost


def test_skipped_rows_say_why_in_the_table():
    rows = [row("fewer", 2.0, 2.0), {"peer": "gone", "method": "m", "case": "c", "job": "j", "note": "not here"}]
    assert any("gone m" in line and "not here" in line for line in module("tables").case_table(rows))


def test_csv_keeps_rows_and_numbers(tmp_path):
    tables = module("tables")
    rows = [row("fewer", 2.0, 0.25, kind="k", axis="", size="", runs=3, k=5)]
    tables.write_csv(tmp_path / "rows.csv", rows)
    back = tables.read_csv(tmp_path / "rows.csv")
    assert tables.done(back[0])
    assert (back[0]["value"], back[0]["seconds"], back[0]["peer"], back[0]["proven"]) == (2.0, 0.25, "fewer", False)
    assert tables.read_csv(tmp_path / "none.csv") == []


def test_of_several_runs_the_first_that_measured_counts(tmp_path):
    tables, runs = module("tables"), [tmp_path / name for name in ("again", "whole")]
    left = {**row("b", math.nan, math.nan), "value": "", "cpu": "", "note": "left out by --largest 10"}
    written = [[row("a", 1.0, 1.0), left], [row("a", 9.0, 9.0), row("b", 2.0, 2.0), row("c", 3.0, 3.0)]]
    for run, rows in zip(runs, written, strict=True):
        run.mkdir()
        tables.write_csv(run / "results.csv", rows)
        (run / "run.json").write_text(json.dumps({"command": f"make {run.name}", "machine": "m"}))
    module("publish").joined(runs, tmp_path)
    found = {r["peer"]: r["value"] for r in tables.read_csv(tmp_path / "results.csv")}
    assert found == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert json.loads((tmp_path / "run.json").read_text())["command"] == "make whole`, `make again"


def test_exponent_of_a_power_is_that_power():
    assert module("tables").exponent([(x, 3.0 * x**1.5) for x in (1.0, 10.0, 100.0)]) == pytest.approx(1.5)
    assert math.isnan(module("tables").exponent([(1.0, 1.0)]))


def test_every_peer_declares_a_version_or_a_reason():
    peers = module("peers").every()
    assert next(iter(peers)) == "fewer"
    assert len(peers) > 15
    for peer in peers.values():
        assert bool(peer.version) or bool(peer.reason)
        assert any(peer.methods.values())


def test_an_absent_package_is_a_reason_not_an_error():
    Peer = module("peers").Peer
    gone = Peer("gone", ("no-such-package-anywhere",), {"points": {"m": print}})
    assert "no-such-package-anywhere is not installed" in gone.reason
    assert gone.version == ""
    assert Peer("here", ("numpy",), {}, skip="needs a licence").reason == "needs a licence"


def test_cases_name_what_is_missing(tmp_path):
    problems = module("problems")
    for case in [*problems.quick_cases(), *problems.full_cases(), *problems.curve_cases(quick=False)]:
        assert case.job in ("points", "bins", "terms", "dims", "core")
        assert bool(case.missing(tmp_path)) is (case.kind in problems.FILES)
        assert case.kind in problems.KINDS


def test_curves_span_two_decades():
    sizes = {}
    for case in module("problems").curve_cases(quick=False):
        sizes.setdefault((case.job, case.axis), []).append(case.size)
    assert {job for job, _ in sizes} == {"points", "bins", "terms", "dims"}
    assert all(max(line) >= 100 * min(line) for line in sizes.values())


def test_points_are_judged_by_the_definition_and_refitted_to_no_worse():
    problem = module("problems.points").Mixture(200, 3)
    K = similarity_of("rbf", problem.gamma)(problem.X, problem.X)
    units, weights = np.arange(5), np.full(5, 0.2)
    q = np.zeros(200)
    q[units] = weights
    gap = q - 1 / 200
    assert problem.judge(units, weights) == pytest.approx(gap @ K @ gap)
    best = problem.refit(units)
    assert best.sum() == pytest.approx(1.0)
    assert best.min() >= 0.0
    assert problem.judge(units, best) <= problem.judge(units, weights)


def test_a_mixture_in_closed_form_agrees_with_many_rows():
    problem = module("problems.points").Mixture(4000, 2, seed=1)
    rows = problem.X[:5]
    assert problem.smoothed(rows, 1.0) == pytest.approx(problem.means(rows), abs=0.03)
    assert problem.smoothed(problem.centres, 2.0).mean() == pytest.approx(problem.constant, abs=0.01)


def test_baskets_are_judged_by_the_share_left_out():
    problem = module("problems.dims").baskets(300, 12)
    X = problem.X.toarray()
    chosen = [0, 1, 5]
    left = np.delete(X, chosen, axis=1).any(axis=1).mean()
    assert problem.judge(np.array(chosen)) == pytest.approx(left)
    rows, share = problem.distinct
    assert share.sum() == pytest.approx(1.0)
    assert len(np.unique(X, axis=0)) == rows.shape[0]


def test_answers_are_given_as_returned_and_re_optimised():
    worker, case = module("worker"), module("problems").case("bins", "sensing", 4, r=10, n=40)
    Found, problem = module("peers").Found, case.problem(Path("."))
    judged = worker.finish(case, problem, Found(np.arange(40.0)))
    assert [found["variant"] for found in judged] == ["projected", "re-optimised"]
    assert judged[1]["value"] <= judged[0]["value"]
    assert max(found["held"] for found in judged) <= 4
    final = worker.finish(case, problem, Found(problem.projected(np.arange(40.0), 4), final=True))
    assert [found["variant"] for found in final] == ["as returned"]
