"""The paper's experiments: their maths against brute force, verdicts that can fail, runs that resume."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

import reproduction
from fewer import L2, DimensionSparse, Lattice, exact, greedy
from naive import project_simplex
from reproduction import (
    arrays,
    compression,
    data,
    fig1,
    fig23,
    theorem1,
    theorem2,
    theorem3,
    theorem4,
    theorem5,
)
from reproduction.catalogue import EXPERIMENTS
from reproduction.chance import (
    above_zero,
    everywhere,
    interval,
    lower,
    lower_at_all,
    narrower,
    within_factor,
)
from reproduction.experiment import Claim, Reading, Row, Setting, Table
from reproduction.runner import run

NAMES = [
    *(f"fig{name}" for name in ("1a", "1b", "2a", "2b", "3a", "3b")),
    *(f"theorem{i}" for i in range(1, 6)),
]


def test_the_names_are_those_of_the_paper_and_reachable():
    assert list(EXPERIMENTS) == NAMES
    assert reproduction.run is run


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


def test_theorem2_watches_the_algorithm_it_fools():
    space = Lattice(7, 2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.standard_normal(space.size)
        chosen = theorem2.watched_greedy(theorem2.Watched(v), space, 3)
        p = DimensionSparse(space, 3).project(v)
        assert chosen == sorted(
            np.flatnonzero(space.unravel(np.flatnonzero(p)).any(axis=0)).tolist()
        )
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
    top[theorem3.SPACE.strides[support].sum()] = (
        1.0  # only the state with all four ones: no first dimension gains
    )
    assert not theorem3.enough(top, support)
    assert theorem3.margin(top, support) <= 1e-12


def test_theorem4_constants_by_hand_and_by_sampling():
    path = theorem4.Path(
        2.0, 3.0, 1.0, 0.0, np.array([0.2, 0.1, 0.05]), np.array([1.0, 0.5, 0.25]), 0.0
    )
    assert (path.eta, path.c, path.covered) == (0.5, 0.25, True)
    assert path.bound(0) == 1.0
    assert path.bound(1) == pytest.approx(0.25 + 0.5 * 0.75)
    assert not replace(path, beta=2.0).covered  # plain l2
    assert not replace(path, beta=4.0).covered
    assert not replace(path, phi=2.0).covered  # 2 - 1/3 > 1.5
    assert (path.radius, path.stated, path.proved) == (0.25, True, True)
    leaving = replace(path, distances=np.array([0.2, 0.3, 0.1]))
    assert (leaving.stated, leaving.proved) == (
        True,
        False,
    )  # near p* at the start alone: not enough for the proof
    assert not replace(path, distances=np.array([0.3, 0.1, 0.1])).stated
    rng = np.random.default_rng(0)
    w, q = rng.uniform(1, 2, theorem4.SPACE.size), rng.dirichlet(np.ones(theorem4.SPACE.size))
    C = DimensionSparse(theorem4.SPACE, theorem4.K)
    members = [C.project(rng.standard_normal(theorem4.SPACE.size) * 3) for _ in range(300)]
    sampled = max(2 * np.linalg.norm(w * (p - q)) for p in members)
    assert sampled <= theorem4.steepest(w, q) <= 1.2 * sampled


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
    tables = [
        Table(tuple(row._replace(method=name) for name in good for row in good[name])),
        Table(tuple(wrong)),
    ]
    assert theorem5.claims(tables[0], Setting(1))[0].verdict == "reproduced"
    both = Table(tables[0].rows[len(rows) :] + tables[1].rows)
    assert both.methods[-1] == "l2"
    verdict = theorem5.claims(both, Setting(1))[0]
    assert not next(reading for reading in verdict.readings if reading.name == "l2").holds


# verdicts


def judged_claim(*readings):
    return Claim("", "", "section 1", "", readings, "")


def test_a_claim_is_reproduced_only_as_far_as_its_readings_hold():
    yes, no = Reading("so", True, "1"), Reading("otherwise", False, "2")
    assert judged_claim(yes, yes).verdict == "reproduced"
    assert judged_claim(yes, no).verdict == "in 1 of 2 readings"
    assert judged_claim(no, no).verdict == "not reproduced"
    assert "4 of 5" in judged_claim(yes, yes, yes, yes, no).verdict


def test_a_claim_that_nothing_decides_is_undecided():
    yes, no, perhaps = (
        Reading("so", True, "1"),
        Reading("otherwise", False, "2"),
        Reading("perhaps", None, "1 ± 2"),
    )
    assert judged_claim(perhaps).verdict == judged_claim(no, perhaps).verdict == "undecided"
    assert judged_claim(yes, perhaps).verdict == "in 1 of 2 readings"
    assert [r.outcome for r in (yes, no, perhaps)] == ["holds", "fails", "undecided"]


def test_lower_means_lower_beyond_chance():
    ours, theirs = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.2])
    holds, text = lower(ours, theirs)
    assert holds is True
    assert "lower in 3 of 3" in text
    assert "chance" not in text
    assert lower(theirs, ours)[0] is False
    holds, text = lower(np.array([0.0, 4.0]), np.array([1.0, 2.0]))
    assert holds is None
    assert "within chance" in text
    assert lower(np.array([0.0]), np.array([1.0]))[0] is None  # one run tells nothing
    assert lower(ours, ours)[0] is False


def test_intervals_are_those_of_scipy():
    values = np.random.default_rng(0).lognormal(size=12)
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    mean, half = interval(values)
    assert (mean - half, mean + half) == pytest.approx((low, high), rel=1e-12)
    for shift in (0.2, 0.6, 1.0, 2.0):
        shifted = values - shift
        clear = ttest_1samp(shifted, 0.0).pvalue < 0.05
        assert above_zero(shifted) is (bool(shifted.mean() > 0) if clear else None)


def test_spreads_are_compared_within_chance():
    rng = np.random.default_rng(2)
    one = rng.standard_normal(40)
    assert narrower(0.3 * one, one)[0] is True
    assert narrower(one, 0.3 * one)[0] is False
    assert narrower(one, rng.standard_normal(40))[0] is None
    assert narrower(one[:2], 3 * one[:2])[0] is None
    assert narrower(np.zeros(9), one[:9])[0] is True
    assert within_factor(one, 1.1 * one, 2.0)[0] is True
    assert within_factor(one, 3.0 * one, 2.0)[0] is False
    assert within_factor(one[:9], 1.9 * rng.standard_normal(9), 2.0)[0] is None
    wrong = [
        narrower(rng.standard_normal(20), rng.standard_normal(20))[0] is not None
        for _ in range(300)
    ]
    assert np.mean(wrong) < 0.12  # by chance one in twenty


def test_lower_everywhere_takes_every_k():
    assert everywhere([]) is True
    less, more = np.array([1.0, 1.1, 1.2]), np.array([2.0, 2.1, 2.2])
    unclear = np.array([0.0, 5.0, 1.0])
    assert lower_at_all({1: (less, more), 2: (less, more)}, "", ".3g")[0] is True
    holds, text = lower_at_all({1: (less, more), 2: (unclear, more)}, "", ".3g")
    assert holds is None
    assert "lower at 1, within chance at 2" in text
    assert lower_at_all({1: (more, less), 2: (unclear, more)}, "", ".3g")[0] is False


def doctored(divergence, iht_gap):
    gaps = {
        "Greedy": 1.0,
        "IHT": iht_gap,
        "IHT after Greedy": iht_gap / 2,
        "exchange": 0.0,
        "auto": 0.0,
    }
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
    setting = Setting(4, quick=True)

    def table(iht):
        return Table(
            tuple(
                Row(
                    seed,
                    name,
                    k,
                    1.0,
                    (iht if name in compression.IHTS else 1.0) * (1 + 0.1 * seed),
                    0.0,
                )
                for seed in range(4)
                for name in compression.METHODS
                for k in compression.size(setting).budgets
            )
        )

    good, bad = (fig23.FIG2A.claims(table(value), setting) for value in (0.5, 2.0))
    assert good[0].verdict == good[1].verdict == "reproduced"
    assert bad[0].verdict == bad[1].verdict == "not reproduced"
    mixed = [
        row._replace(test=9.0) if row.method == "IHT" and row.x == 60 else row
        for row in table(0.5).rows
    ]
    verdict = fig23.FIG2A.claims(Table(tuple(mixed)), setting)[0]
    assert verdict.verdict.startswith("in ")
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


def test_the_test_error_is_that_of_the_same_matrices_for_all():
    setting = Setting(1, quick=True)
    p = data.charges(setting).p
    q = np.roll(p, 3)
    errors = compression.tested(setting, 5, [q, p, q])
    B = [
        np.random.default_rng([5, 2000 + j])
        .standard_normal((100, p.size), np.float32)
        .astype(float)
        for j in range(5)
    ]
    assert errors[0] == pytest.approx(np.mean([((b @ (q - p)) ** 2).sum() for b in B]), rel=1e-9)
    assert errors[0] == errors[2]
    assert errors[1] == 0


def test_the_projection_and_the_starts_are_what_the_package_has():
    rng = np.random.default_rng(5)
    for scale in (1e-3, 1.0, 1e6):
        v = scale * rng.standard_normal(40)
        assert arrays.project_simplex(v) == pytest.approx(project_simplex(v), abs=1e-12)
    C = DimensionSparse(Lattice(5, 2), 2)
    p = arrays.random_start(C, rng)
    assert p.sum() == pytest.approx(1.0)
    assert len(C.support(p)) <= 2


@pytest.mark.parametrize("rising", [True, False])
def test_that_iht_fits_noise_is_said_only_of_rows_that_show_it(rising):
    setting = Setting(2, quick=True)
    rows = [
        Row(seed, name, k, 1.0 / k, (k if rising else 1.0 / k) if name == "IHT" else 1e-9, 0.0)
        for seed in (0, 1)
        for name in compression.METHODS
        for k in compression.size(setting).budgets
    ]
    claim = fig23.FIG2A.claims(Table(tuple(rows)), setting)[0]
    assert claim.why.startswith(
        "Plain IHT fits the noise of A: its training error goes from 0.05"
        if rising
        else "Plain IHT does not"
    )
