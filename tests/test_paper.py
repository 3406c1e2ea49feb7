"""The paper's experiments: their maths against brute force, verdicts that can fail, runs that resume."""

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import fewer
from fewer import KL, L2, DimensionSparse, InvalidInput, Lattice, exact, greedy
from fewer.cli import _app as app
from fewer.paper import compression, data, fig1, fig23, store, theorem1, theorem2, theorem3, theorem4, theorem5
from fewer.paper.catalogue import EXPERIMENTS
from fewer.paper.experiment import Claim, Reading, Row, Setting, Table, lower, path_rows, thinned
from fewer.paper.runner import measure, run
from naive import project_simplex

NAMES = [*(f"fig{name}" for name in ("1a", "1b", "2a", "2b", "3a", "3b")), *(f"theorem{i}" for i in range(1, 6))]


def test_the_names_are_those_of_the_paper_and_reachable():
    assert list(EXPERIMENTS) == NAMES == list(fewer.paper.listed())
    assert fewer.paper.run is run


# theorems against brute force


@pytest.mark.parametrize("seed", range(6))
def test_theorem1_finds_a_subset_exactly_where_enumeration_does(seed):
    integers = np.random.default_rng(seed).integers(-9, 10, 7).tolist()
    for k in range(1, 8):
        level, places = theorem1.subset_by_projection(integers, k)
        truth = any(sum(c) == 0 for c in combinations(integers, k))
        assert (level < 0.5) == truth == bool(places)
        if truth:
            assert len(places) == k
            assert sum(integers[i] for i in places) == 0
        else:
            assert level == pytest.approx(1.0, abs=1e-12)


def test_theorem1_plants_what_it_says():
    with_subset = [
        any(theorem1.subset_by_enumeration(theorem1.instance("planted", s, 8), k) for k in range(1, 9))
        for s in range(8)
    ]
    assert sum(with_subset) >= 6
    assert min(theorem1.instance("positive", 0, 8)) > 0


def test_theorem2_watches_the_algorithm_it_fools():
    space = Lattice(7, 2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.standard_normal(space.size)
        chosen = theorem2.watched_greedy(theorem2.Watched(v), space, 3)
        expected = DimensionSparse(space, 3)._search(v)
        assert chosen == sorted(expected.tolist())
    state = next(theorem2.unread_states(space, 3, 0))
    q = np.zeros(space.size)
    q[state] = 1.5
    table = theorem2.Watched(q)
    support = theorem2.watched_greedy(table, space, 3)
    assert not table.read[state]  # the one entry that matters is never read
    assert set(np.flatnonzero(space.unravel(state))) != set(support)
    rows = theorem2.measure(Setting(1, quick=True), 0, theorem2.GREEDY)
    assert all(row.train == pytest.approx(row.test, rel=1e-6) for row in rows)


def naive_distance(v, units):
    face = theorem3.SPACE.face(units)
    p = np.zeros(v.size)
    p[face] = project_simplex(v[face])
    return np.linalg.norm(p - v)


def test_theorem3_measures_the_lead_and_the_slope_as_the_paper_defines_them():
    rng = np.random.default_rng(3)
    p, support = theorem3.member(rng, 0.5)
    outside = set(range(theorem3.SPACE.n)) - set(support.tolist())
    leads = [
        naive_distance(p, [*S, i]) - naive_distance(p, [*S, j])
        for size in range(len(support))
        for S in combinations(support.tolist(), size)
        for i in outside
        for j in set(support.tolist()) - set(S)
    ]
    assert theorem3.margin(p, support) == pytest.approx(min(leads), abs=1e-12)
    F = L2(theorem3.SPACE, rng.dirichlet(np.ones(theorem3.SPACE.size)))
    states = theorem3.SPACE.unravel(np.arange(theorem3.SPACE.size))
    corners = np.flatnonzero((states > 0).sum(axis=1) <= theorem3.K)
    norms = [np.linalg.norm(F.gradient(np.eye(theorem3.SPACE.size)[x])) for x in corners]
    assert theorem3.lipschitz(F) == pytest.approx(max(norms), rel=1e-12)
    assert np.linalg.norm(F.gradient(p)) <= theorem3.lipschitz(F)


def test_theorem3_knows_enough_states_from_too_few():
    single = np.zeros(theorem3.SPACE.size)
    support = np.array([0, 2, 5, 7])
    single[theorem3.SPACE.strides[support]] = 0.25
    assert theorem3.enough(single, support)
    assert theorem3.margin(single, support) > 0
    top = np.zeros(theorem3.SPACE.size)
    top[theorem3.SPACE.strides[support].sum()] = 1.0  # only the state with all four ones: no first dimension gains
    assert not theorem3.enough(top, support)
    assert theorem3.margin(top, support) <= 1e-12


def test_theorem4_constants_by_hand_and_by_sampling():
    path = theorem4.Path(2.0, 3.0, 1.0, 0.0, True, np.array([1.0, 0.5, 0.25]), 0.0)
    assert (path.eta, path.c, path.covered) == (0.5, 0.25, True)
    assert path.bound(0) == 1.0
    assert path.bound(1) == pytest.approx(0.25 + 0.5 * 0.75)
    assert not replace(path, beta=2.0).covered  # plain l2
    assert not replace(path, beta=4.0).covered
    assert not replace(path, phi=2.0).covered  # 2 - 1/3 > 1.5
    rng = np.random.default_rng(0)
    w, q = rng.uniform(1, 2, theorem4.SPACE.size), rng.dirichlet(np.ones(theorem4.SPACE.size))
    C = DimensionSparse(theorem4.SPACE, theorem4.K)
    members = [C.project(rng.standard_normal(theorem4.SPACE.size) * 3) for _ in range(300)]
    sampled = max(2 * np.linalg.norm(w * (p - q)) for p in members)
    assert sampled <= theorem4.steepest(w, q) <= 1.2 * sampled


def test_theorem4_paths_have_the_excess_of_their_projection():
    assert theorem4.path(1.5, "exact", 0).phi == 0.0
    assert max(theorem4.path(1.5, "greedy", seed).phi for seed in range(6)) > 0.0
    assert theorem4.path(1.5, "exact", 1).beta == 3.0


def test_theorem5_sees_a_wrong_derivative(monkeypatch):
    assert theorem5.slope(math.sin, 1e-2) == pytest.approx(1.0, abs=1e-8)
    rows = theorem5.measure(Setting(1), 0, "KL")
    good = dict.fromkeys(theorem5.OBJECTIVES, rows)

    class Skewed:
        def __init__(self, F):
            self.value, self.gradient = F.value, lambda p: F.gradient(p)[::-1]

    right = theorem5.OBJECTIVES["l2"]
    monkeypatch.setitem(theorem5.OBJECTIVES, "l2", lambda rng: Skewed(right(rng)))
    wrong = theorem5.measure(Setting(1), 0, "l2")
    tables = [Table(tuple(row._replace(method=name) for name in good for row in good[name])), Table(tuple(wrong))]
    assert theorem5.claims(tables[0], Setting(1))[0].verdict == "reproduced"
    both = Table(tables[0].rows[len(rows) :] + tables[1].rows)
    assert both.methods[-1] == "l2"
    verdict = theorem5.claims(both, Setting(1))[0]
    assert not next(reading for reading in verdict.readings if reading.name == "l2").holds


# verdicts


def test_a_claim_is_reproduced_only_as_far_as_its_readings_hold():
    yes, no = Reading("so", True, "1"), Reading("otherwise", False, "2")
    assert Claim("", "", "", (yes, yes)).verdict == "reproduced"
    assert Claim("", "", "", (yes, no)).verdict == "reproduced under this reading: so"
    assert Claim("", "", "", (no, no)).verdict == "not reproduced"
    assert "4 of 5" in Claim("", "", "", (yes, yes, yes, yes, no)).verdict


def test_lower_means_lower_in_mean_and_says_when_that_is_chance():
    ours, theirs = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.5])
    holds, text = lower(ours, theirs)
    assert holds
    assert "lower in 3 of 3" in text
    assert "chance" not in text
    holds, text = lower(theirs, ours)
    assert not holds
    assert "chance" in lower(np.array([0.0, 4.0]), np.array([1.0, 2.0]))[1]
    assert not lower(ours, ours)[0]


def doctored(divergence, iht_gap):
    gaps = {"Greedy": 1.0, "IHT": iht_gap, "IHT after Greedy": iht_gap / 2, "exchange": 0.0, "auto": 0.0}
    rows = [
        Row(seed, name, x, gaps[variant.solver] * (1 + 0.1 * seed), math.nan, 0.0)
        for seed in (0, 1, 2)
        for name, variant in fig1.variants(divergence).items()
        for x in ((0, 500) if variant.main else (500,))
    ]
    return Table(tuple(rows))


@pytest.mark.parametrize("divergence", [False, True])
def test_figure_1_claims_follow_the_rows(divergence):
    claims = fig1.claims(divergence)
    better = [claim.verdict for claim in claims(doctored(divergence, 0.5), Setting(3))]
    worse = [claim.verdict for claim in claims(doctored(divergence, 3.0), Setting(3))]
    assert better[0] == better[1] == better[2] == "reproduced"
    assert worse[0] == worse[1] == worse[2] == "not reproduced"


def test_compression_claims_follow_the_rows():
    setting = Setting(2, quick=True)

    def table(iht):
        return Table(
            tuple(
                Row(seed, name, k, 1.0, (iht if name in compression.IHTS else 1.0) * (1 + seed), 0.0)
                for seed in (0, 1)
                for name in compression.METHODS
                for k in compression.size(setting).budgets
            )
        )

    good, bad = (fig23.FIG2A.claims(table(value), setting) for value in (0.5, 2.0))
    assert good[0].verdict == good[1].verdict == "reproduced"
    assert bad[0].verdict == bad[1].verdict == "not reproduced"
    mixed = [row._replace(test=9.0) if row.method == "IHT" and row.x == 60 else row for row in table(0.5).rows]
    verdict = fig23.FIG2A.claims(Table(tuple(mixed)), setting)[0]
    assert verdict.verdict.startswith("reproduced under")
    assert "lower at 20, 40, 80, 100" in verdict.readings[0].measured


# figures


def test_figure_1_rows_are_gaps_to_the_proven_optimum():
    setting = Setting(1, quick=True)
    q = fig1.L2_DRAWS["50 uniform"](np.random.default_rng(4))
    assert np.count_nonzero(q) == 50
    F, C = L2(fig1.SPACE, q), DimensionSparse(fig1.SPACE, 7)
    rows = fig1.measure(False)(setting, 4, "Greedy")
    assert rows[-1].train == pytest.approx(greedy(F, C).value - exact(F, C).value, abs=1e-15)
    path = fig1.measure(False)(setting, 4, "IHT, trapped=support")
    gaps = [row.train for row in path]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] >= 0
    start = fig1.measure(False)(setting, 4, "IHT after Greedy, trapped=support")[0]
    assert (start.x, start.train) == (0, pytest.approx(rows[0].train, abs=1e-12))


def test_draws_for_kl_have_no_zero_and_the_share_they_say():
    rng = np.random.default_rng(0)
    for name, draw in fig1.KL_DRAWS.items():
        q = draw(rng)
        assert q.min() > 0
        assert q.sum() == pytest.approx(1)
        assert KL(fig1.SPACE, q).value(q) == pytest.approx(0)
        if name.startswith("50 + 1"):
            assert np.sort(q)[-50:].sum() == pytest.approx(0.99, abs=1e-3)


def test_the_test_error_is_that_of_the_same_matrices_for_all():
    setting = Setting(1, quick=True)
    p = data.charges(setting).p
    q = np.roll(p, 3)
    errors = compression.tested(setting, 5, [q, p, q])
    B = [
        np.random.default_rng([5, 2000 + j]).standard_normal((100, p.size), np.float32).astype(float) for j in range(5)
    ]
    assert errors[0] == pytest.approx(np.mean([((b @ (q - p)) ** 2).sum() for b in B]), rel=1e-9)
    assert errors[0] == errors[2]
    assert errors[1] == 0


def test_paths_keep_their_best_and_their_length():
    rows = path_rows(0, "a", [3.0, 1.0, 2.0], [0.0, 0.1, 0.2], 60)
    assert [row.x for row in rows] == thinned(60)
    assert [row.train for row in rows[:3]] == [3.0, 1.0, 1.0]
    assert rows[-1].train == 1.0


# the runner


def toy(name="toy", calls=None, twin=None):
    def measured(setting, seed, method):
        if calls is not None:
            calls.append((seed, method))
        return [Row(seed, method, x, seed + x / 3, math.nan, time.perf_counter()) for x in (0, 1)]

    return replace(
        EXPERIMENTS["theorem5"], name=name, methods=lambda setting: ["b", "a"], measure=measured, twin=twin, x="k"
    )


def lines(path):
    """The csv without its seconds."""
    with open(path, newline="") as file:
        return [row[:6] + row[7:] for row in csv.reader(file)]


def test_rows_are_taken_over_only_where_everything_is_the_same(tmp_path):
    calls = []
    setting = Setting(2, source="x")
    measure(toy(calls=calls), setting, tmp_path, 1, None)
    whole = lines(tmp_path / "toy.csv")
    assert whole[0] == ["figure", "seed", "method", "k", "train", "test", "version"]
    assert [row[:4] for row in whole[1:3]] == [["toy", "0", "b", "0"], ["toy", "0", "b", "1"]]
    assert len(calls) == 4
    measure(toy(calls=calls), setting, tmp_path, 1, None)
    assert len(calls) == 4  # nothing left to do
    text = (tmp_path / "toy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "toy.csv").write_text("".join(text[:1] + text[5:7]))  # as a killed run leaves it: some whole units
    measure(toy(calls=calls), setting, tmp_path, 1, None)
    assert lines(tmp_path / "toy.csv") == whole
    assert len(calls) == 7
    measure(toy(calls=calls), replace(setting, runs=3), tmp_path, 1, None)
    assert len(calls) == 9
    assert not (tmp_path / "toy.before.csv").exists()
    measure(toy(calls=calls), replace(setting, source="y"), tmp_path, 1, None)
    assert len(calls) == 13  # other data: all over again, and what was there is put aside
    assert len(lines(tmp_path / "toy.before.csv")) == 13
    measure(toy("other", calls, "toy"), replace(setting, source="y"), tmp_path, 1, None)
    assert len(calls) == 13  # a twin has the same rows
    assert [row[1:] for row in lines(tmp_path / "other.csv")] == [row[1:] for row in lines(tmp_path / "toy.csv")]


def test_half_a_csv_is_not_a_result(tmp_path):
    measure(toy(), Setting(2, source="x"), tmp_path, 1, None)
    assert store.finished(tmp_path, toy()) is not None
    text = (tmp_path / "toy.csv").read_text()
    (tmp_path / "toy.csv").write_text("".join(text.splitlines(keepends=True)[:-2]))
    assert store.finished(tmp_path, toy()) is None
    (tmp_path / "toy.csv").write_text("not a csv, really\n1")
    assert store.finished(tmp_path, toy()) is None
    assert store.kept(tmp_path, toy(), Setting(2, source="x")) == ()
    (tmp_path / "toy.json").write_text("{")
    assert store.kept(tmp_path, toy(), Setting(2, source="x")) == ()


def test_an_error_keeps_what_was_done(tmp_path):
    def fails(setting, seed, method):
        if seed == 1:
            raise KeyboardInterrupt
        return [Row(seed, method, 0, 1.0, math.nan, 0.0)]

    with pytest.raises(KeyboardInterrupt):
        measure(replace(toy(), measure=fails), Setting(2, source="x"), tmp_path, 1, None)
    assert len(lines(tmp_path / "toy.csv")) == 3


def command(*arguments):
    return [sys.executable, "-m", "fewer", "reproduce", *map(str, arguments)]


def test_a_killed_run_goes_on_to_the_same_csv(tmp_path):
    asked = ("theorem5", "--runs", 8, "--seed", 7)
    killed = subprocess.Popen(command(*asked, "--out", tmp_path / "a"), stderr=subprocess.PIPE)  # noqa: S603
    path = tmp_path / "a/theorem5.csv"
    for _ in range(600):
        if path.exists() and len(path.read_text().splitlines()) > 1:
            break
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    part = len(lines(path))
    assert 1 < part < 8 * 4 * theorem5.BIJECTIONS + 1, "killed too late or too early to show anything"
    assert not (tmp_path / "a/theorem5.png").exists()
    for folder, jobs in (("a", 2), ("b", 1)):  # the rest in two processes, the uninterrupted run in one
        run("theorem5", runs=8, seed=7, jobs=jobs, out=tmp_path / folder)
    assert lines(path) == lines(tmp_path / "b/theorem5.csv")
    assert len(lines(path)) == 8 * 4 * theorem5.BIJECTIONS + 1


def test_pages_hold_every_claim_and_need_no_network(tmp_path):
    done = run("theorem5", "theorem2", runs=3, quick=True, out=tmp_path / "deep/out")
    assert set(done.claims) == {"theorem2", "theorem5"}
    text = (done.out / "claims.md").read_text()
    page = (done.out / "index.html").read_text()
    for claims in done.claims.values():
        for claim in claims:
            assert claim.claim in text
            assert f"**{claim.verdict}**" in text
    assert "`fewer reproduce theorem2 --runs 3 --seed 0 --quick`" in text
    assert "<h2>Theorem 2" in page
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert page.count("data:image/png;base64,") == 2
    assert "<svg" in (done.out / "theorem2.svg").read_text()
    (done.out / "theorem5.png").unlink()  # as a run that was killed before its picture leaves it
    again = run("theorem1", runs=1, quick=True, out=done.out)
    assert set(again.claims) == {"theorem1", "theorem2"}  # what the folder holds whole, together


# the door


@pytest.mark.parametrize(
    ("names", "options", "sentence"),
    [
        ((), {}, "name at least one of fig1a, fig1b"),
        (("fig9",), {}, "NAME must be one of 'all', 'fig1a'.* got 'fig9'"),
        (("theorem1",), {"runs": 0}, "--runs must be at least 1, got 0"),
        (("theorem1",), {"jobs": 0}, "--jobs must be at least 1, got 0"),
        (("theorem1",), {"seed": -1}, "--seed must be at least 0, got -1"),
        (("theorem1",), {"data": "nowhere/at/all"}, "--data must be an existing folder, got 'nowhere/at/all'"),
    ],
)
def test_bad_options_are_sentences(tmp_path, names, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        run(*names, **{"out": tmp_path, "quick": True, **options})


def test_an_out_that_cannot_be_written_and_corrupt_data_are_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="--out must be a folder that can be written into"):
        run("theorem1", quick=True, out=tmp_path / "file/inside")
    (tmp_path / "hospital_charges.npz").write_bytes(b"PK\x03\x04 but not really")
    np.savez(tmp_path / "usps.npz", X_train=np.zeros((3, 2)), y_train=np.zeros(2), X_test=np.zeros((1, 2)), y_test=[0])
    for name, file in (("fig2a", "hospital_charges.npz"), ("fig2b", "usps.npz")):
        with pytest.raises(InvalidInput, match=rf"{file} must"):
            run("theorem1", name, quick=True, data=tmp_path, out=tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
    np.savez(tmp_path / "hospital_charges.npz", cms2011_counts_discharges=np.array([object()]))
    with pytest.raises(InvalidInput, match="cannot be read"):  # a pickle is never opened
        run("fig3a", quick=True, data=tmp_path, out=tmp_path / "out")


@pytest.mark.parametrize(
    "arguments",
    [["fig9"], [], ["theorem1", "--runs", "0"], ["theorem1", "--out", "/dev/null/x"], ["all", "--jobs", "x"]],
)
def test_the_command_ends_with_two_and_a_sentence(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert app.run(["reproduce", *arguments]) == 2
    out, err = capsys.readouterr()
    assert re.fullmatch(r"fewer: [^\n]+\.\n", err), err
    assert out == ""
    assert os.listdir(tmp_path) == []


def test_the_command_lists_and_prints_claims(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app.run(["reproduce", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES
    assert app.run(["reproduce", "theorem2", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert err == ""  # no bar where there is no terminal
    assert "theorem2: Against a deterministic projection" in out
    assert "\n  reproduced\n  measured: reached at 39 of 39 points" in out
    assert sorted(path.name for path in (tmp_path / "reproduction").iterdir()) == [
        "claims.md",
        "index.html",
        "theorem2.csv",
        "theorem2.json",
        "theorem2.png",
        "theorem2.svg",
    ]


def test_real_data_are_read_where_they_are():
    folder = Path(__file__).parents[1] / "../shared/data"
    if not (folder / "usps.npz").exists():
        pytest.skip("the real charges and digits are not in ../shared/data")
    setting = Setting(1, data=folder)
    charges, digits = data.charges(setting), data.digits(setting)
    assert "Medicare" in charges.source
    assert charges.p.sum() == pytest.approx(1)
    assert np.count_nonzero(charges.p) == 433
    assert np.bincount(digits.y).tolist() == data.USPS_COUNTS
    assert json.loads(json.dumps(charges.source)) == charges.source
