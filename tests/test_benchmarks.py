"""The benchmarks' own logic: ratios, who is ahead, absent peers, judges; nothing is timed."""

import importlib
import json
import math
import sys
from argparse import Namespace
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
    blank = {
        "case": "c",
        "job": "j",
        "version": "",
        "test": math.nan,
        "first": 0.0,
        "peak_mb": 1.0,
        "proven": False,
    }
    return {
        **blank,
        "peer": peer,
        "method": method,
        "variant": variant,
        "value": value,
        "seconds": seconds,
    } | {
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
    [
        (1.0, 1.0, True),
        (1.0, 3.0, False),
        (3.0, 1.0, False),
        (2.0, 1.0, False),
        (2.0 * (1 - 1e-7), 1.0, False),
    ],
)
def test_behind_means_a_better_answer_in_no_more_time(value, seconds, lost):
    rows = [row("fewer", 2.0, 2.0), row("other", value, seconds)]
    assert bool(module("tables").behind(rows)) is lost
    assert ("behind" in module("tables").verdict(rows[0], rows)) is lost


def test_csv_keeps_rows_and_numbers(tmp_path):
    tables = module("tables")
    rows = [row("fewer", 2.0, 0.25, kind="k", axis="", size="", runs=3, k=5)]
    tables.write_csv(tmp_path / "rows.csv", rows)
    back = tables.read_csv(tmp_path / "rows.csv")
    assert tables.done(back[0])
    assert (back[0]["value"], back[0]["seconds"], back[0]["peer"], back[0]["proven"]) == (
        2.0,
        0.25,
        "fewer",
        False,
    )
    assert tables.read_csv(tmp_path / "none.csv") == []


def test_every_peer_declares_a_version_or_a_reason():
    peers = module("peers").every()
    assert next(iter(peers)) == "fewer"
    assert len(peers) > 15
    for peer in peers.values():
        assert bool(peer.version) or bool(peer.reason)
        assert any(peer.methods.values())


def test_cases_name_what_is_missing(tmp_path):
    problems = module("problems")
    for case in [
        *problems.quick_cases(),
        *problems.full_cases(),
        *problems.curve_cases(quick=False),
    ]:
        assert case.job in ("points", "bins", "terms", "dims", "core")
        assert bool(case.missing(tmp_path)) is (case.kind in problems.FILES)
        assert case.kind in problems.KINDS


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


def test_the_constant_of_sorted_rows_is_the_mean_of_all_pairs():
    X = np.sort(np.random.default_rng(0).normal(size=(1003, 1)), axis=0)
    problem = module("problems.points").Rows(X)
    assert problem.constant == pytest.approx(problem.similarity(X, X).mean(), rel=1e-12)


def test_a_mixture_in_closed_form_agrees_with_many_rows():
    problem = module("problems.points").Mixture(4000, 2, seed=1)
    rows = problem.X[:5]
    assert problem.smoothed(rows, 1.0) == pytest.approx(problem.means(rows), abs=0.03)
    assert problem.smoothed(problem.centres, 2.0).mean() == pytest.approx(
        problem.constant, abs=0.01
    )


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


def test_the_default_call_is_compared_at_equal_time_and_at_equal_value():
    rows = [
        row("fewer", 2.0, 1.0),
        row("fewer", 1.0, 9.0, "slow"),
        row("a", 3.0, 0.5),
        row("b", 1.5, 4.0),
    ]
    found = module("summary").standing(rows)
    assert (found.best["peer"], found.rival["peer"], found.racer["peer"]) == ("b", "a", "b")
    assert (found.at_equal_time, found.at_equal_value) == (1.5, 4.0)
    assert not found.is_behind
    assert not found.is_slower


@pytest.mark.parametrize(
    ("value", "seconds", "behind", "slower"),
    [
        (1.0, 0.5, True, True),
        (2.0, 0.5, False, True),
        (1.0, 3.0, False, False),
        (3.0, 0.5, False, False),
    ],
)
def test_marks_of_the_summary(value, seconds, behind, slower):
    rows = [row("fewer", 2.0, 1.0, job="terms"), row("other", value, seconds, job="terms")]
    found = module("summary").standing(rows)
    assert (found.is_behind, found.is_slower) == (behind, slower)
    text = "\n".join(module("summary").summary(rows))
    assert text.count("🔴") == behind + slower
    assert ("other m" in text.split("sooner.")[1]) is (behind or slower)


def test_a_faster_peer_without_the_proof_has_a_mark_of_its_own():
    rows = [row("fewer", 2.0, 1.0, job="dims", proven=True), row("other", 2.0, 0.5, job="dims")]
    text = "\n".join(module("summary").summary(rows))
    assert ("🟡" in text, "🔴" in text, "without the proof" in text) == (True, False, True)


def test_publishing_writes_both_pages_from_one_run(tmp_path, monkeypatch):
    publish, tables, name = (
        module("publish"),
        module("tables"),
        next(iter(module("summary").README)),
    )
    (tmp_path / "docs" / "images").mkdir(parents=True)
    blank = "".join(
        f"{marker}of long ago\n{publish.END}\n" for marker in (publish.SUMMARY, publish.UNSEEN)
    )
    (tmp_path / "docs" / "benchmarks.md").write_text(
        f"kept\n{blank}kept too\n{publish.MARKER}of long ago\n"
    )
    (tmp_path / "README.md").write_text(f"kept\n{publish.TABLE}of long ago\n{publish.END}below\n")
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "DOCS", tmp_path / "docs")
    rows = [row("fewer", 0.25, 1.5, k=100.0), row("a", 0.5, 2.0, k=100.0)]
    cases = {"results": list(module("summary").README), "unseen": ["stones.csv (9 x 9), k = 3"]}
    for file, names in cases.items():
        filled = [{**each, "job": "points", "case": case} for case in names for each in rows]
        tables.write_csv(tmp_path / f"{file}.csv", filled)
    head = {
        "command": "make bench",
        "machine": "a large one",
        "commit": "abc1234",
        "seconds": 3000.0,
    }
    (tmp_path / "run.json").write_text(json.dumps(head))
    publish.main([str(tmp_path)])
    pages = [(tmp_path / page).read_text() for page in ("docs/benchmarks.md", "README.md")]
    for page in pages:
        assert "kept\n" in page
        assert "long ago" not in page
        assert "`make bench` at commit abc1234, 50 minutes. Machine: a large one." in page
    assert "stones.csv" in pages[0]
    assert (
        "| points | USPS digits, 7,291 rows | 100 | MMD² | 0.25 | 1.5 | 0.5 (a m) | 2 |" in pages[1]
    )
    few = [each for each in tables.read_csv(tmp_path / "results.csv") if each["case"] == name]
    tables.write_csv(tmp_path / "results.csv", few)
    publish.main([str(tmp_path)])
    assert (tmp_path / "README.md").read_text() == pages[1], (
        "a run without some of its inputs leaves it as it is"
    )


def test_an_ended_run_keeps_its_answers_and_is_completed(tmp_path, monkeypatch):
    run, tables, asked = module("run"), module("tables"), []
    cases = [module("problems").case("dims", "baskets", k, rows=30, items=6) for k in (2, 3, 4)]
    peer = module("peers").Peer("p", ("numpy",), {"dims": {"m": print}})

    def outcomes(peer, tasks, options, core):
        for case, method in tasks:
            asked.append(case.k)
            if case.k == options.ends_at:
                raise KeyboardInterrupt
            late = {"error": "left out: the 1 minutes of the run were over"}
            answer = {
                "rows": [{"variant": "as returned", "value": 1.0, "cpu": 1.0}],
                "first": 1,
                "peak": 1,
                "runs": 3,
            }
            yield case, method, late if case.k == options.late else answer

    monkeypatch.setattr(run, "run_peer", outcomes)
    plain = {
        "out": tmp_path,
        "jobs": ["dims"],
        "data": tmp_path,
        "largest": 99,
        "runs": 3,
        "note": lambda: None,
    }
    for lanes, late, ends_at, resume, expected in [
        (1, 2, 4, False, [2, 3, 4]),  # k = 2 left out by the clock, 3 answered, ended at 4
        (2, 0, 0, True, [2, 4]),
        (2, 0, 0, True, []),
        (1, 0, 0, False, [2, 3, 4]),
    ]:
        options = Namespace(**plain, lanes=lanes, late=late, ends_at=ends_at, resume=resume)
        asked.clear()
        try:
            run.collect("results", {"p": peer}, cases, options)
        except KeyboardInterrupt:
            assert ends_at
        assert asked == expected
    found = tables.read_csv(tmp_path / "results.csv")
    assert sorted(each["k"] for each in found if tables.done(each)) == [2, 3, 4]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    numbers, zeros_and_ones = (
        rng.normal(size=(40, 5)).round(3),
        (rng.random((40, 6)) < 0.4).astype(int),
    )

    def table(names, rows):
        return "\n".join(
            [",".join(names), *(",".join(str(cell) for cell in line) for line in rows)]
        )

    (tmp_path / "cloud.csv").write_text(table("abcde", numbers))
    (tmp_path / "tracked.csv").write_text(table(["a", "b", "c", "d", "Target"], numbers))
    (tmp_path / "one.csv").write_text(
        table(["day", "value"], [(f"d{i}", v) for i, v in enumerate(numbers[:, 0])])
    )
    (tmp_path / "debd.ts.data").write_text(
        "\n".join(",".join(map(str, line)) for line in zeros_and_ones)
    )
    (tmp_path / "small.csv").write_text(table("ab", numbers[:3, :2]))
    np.savez(tmp_path / "labelled.npz", X=numbers, y=rng.integers(0, 2, 40))
    np.savez(tmp_path / "fractions.npz", X=numbers, y=numbers[:, 0] + numbers[:, 1])
    np.savez(
        tmp_path / "several.npz", marks=zeros_and_ones, values=numbers[:, 0], names=np.array(["a"])
    )
    (tmp_path / "notes.md").write_text("not a table")
    return tmp_path


def test_a_file_serves_the_job_of_its_shape_and_content(folder):
    found = {name: (job, shape) for job, name, shape, _ in module("problems.files").listed(folder)}
    assert found == {
        "cloud.csv": ("points", "40 x 5"),
        "debd.ts.data": ("dims", "40 x 6"),
        "fractions.npz": ("terms", "40 x 6"),
        "labelled.npz": ("points", "40 x 5"),
        "one.csv": ("bins", "40 x 1"),
        "several.npz:marks": ("dims", "40 x 6"),
        "several.npz:values": ("bins", "40 x 1"),
        "small.csv": ("", "3 x 2"),
        "tracked.csv": ("terms", "40 x 5"),
    }


def test_every_file_makes_the_problem_of_its_job(folder):
    sizes = {"points": "X", "dims": "X", "bins": "A", "terms": "A"}
    cases = module("problems").file_cases(folder)
    assert len(cases) == 8
    for case in cases:
        problem = case.problem(folder)
        assert hasattr(problem, sizes[case.job])
        assert module("run").too_large(
            module("peers").Peer("p", (), {}, modest={"m": 3}), "m", case, 10**9
        )
    single = module("problems").file_cases(folder / "tracked.csv")
    assert single[0].problem(folder / "tracked.csv").A.shape == (40, 4)
    problem = single[0].problem(folder / "tracked.csv")
    assert (problem.A.T @ problem.b >= 0.0).all()


def test_rows_with_missing_values_and_constant_columns_are_left_out(tmp_path):
    lines = ["a,b,c,text"] + [f"{i},{i * i % 7},1,x" for i in range(30)] + [",5,1,x"]
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    ((_, table),) = module("problems.files").tables_of(tmp_path / "gaps.csv")
    assert (table.names, table.numbers.shape) == (("a", "b"), (30, 2))


def test_how_to_choose_has_the_costs_of_the_benchmark():
    costs, docs = module("costs"), BENCHMARKS.parent / "docs"
    found = costs.table((docs / "benchmarks.md").read_text(encoding="utf-8"))
    assert {line.split("`")[1] for line in found.splitlines()[2:]} == {
        "points",
        "bins",
        "terms",
        "dims",
    }
    assert found in (docs / "how-to-choose.md").read_text(encoding="utf-8")
