"""The campaign: its referee, its runner, a fixed number of its cases, and whether it notices faults made on purpose."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from fewer import Moments
from fewer.search import quadratic
from fewer.solvers.loop import Record
from soak.judge import bounded
from soak.parts import attempt, existing, find
from soak.referee import (
    Discrepancy,
    Divergence,
    Region,
    Squares,
    Transport,
    faces_region,
    optimum,
    sparse_region,
)

ROOT = Path(__file__).parents[1]
SEED = 13
ANSWERS, INPUTS, CHUNK = 320, 640, 40


def failures(part, first, count):
    found = [(index, *attempt(find(part), SEED, index)) for index in range(first, first + count)]
    return [
        f"{part}:{SEED}:{index} {text}: {problems}" for index, text, problems in found if problems
    ]


@pytest.mark.parametrize("first", range(0, ANSWERS, CHUNK))
def test_answers_are_right(first):
    assert failures("answers", first, CHUNK) == []


@pytest.mark.skipif("inputs" not in existing(), reason="the part of inputs is not here")
@pytest.mark.parametrize("first", range(0, INPUTS, 2 * CHUNK))
def test_odd_inputs_get_an_answer_or_a_sentence(first):
    assert failures("inputs", first, 2 * CHUNK) == []


# The referee


def problem(rng, n):
    A = rng.standard_normal((3, n)) * 10.0 ** rng.integers(-100, 100)
    return Squares(A, A @ rng.dirichlet(np.ones(n)) * rng.choice([1.0, 0.5]))


def multiplier_gap(p, gradient, low, high):
    """How far p is from the conditions of Karush, Kuhn and Tucker on {low <= p <= high, Σ p = 1}."""
    rising, falling = p < high, p > low
    return (
        max(gradient[falling].max() - gradient[rising].min(), 0)
        if rising.any() and falling.any()
        else 0
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.4), (0.1, 0.6)])
def test_the_referee_meets_the_conditions_of_optimality_in_long_double(seed, low, high):
    rng = np.random.default_rng(seed)
    F = problem(rng, 5)
    value, p = optimum(F, Region(5, (tuple(range(5)),), low, high))
    assert p.min() >= low - 1e-15
    assert p.max() <= high + 1e-15
    assert abs(p.sum() - 1) < 1e-15
    G = F.gram
    assert value >= 0
    assert multiplier_gap(p, 2 * G @ p, low, high) <= 1e-14 * np.abs(G).max()


@pytest.mark.parametrize("seed", range(5))
def test_the_referee_is_not_beaten_by_another_library(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 5))
    F = Squares(A, rng.standard_normal(3))
    found = []
    region = sparse_region(5, 3, 0.1, 0.7, include=[1], exclude=[4])
    for support in region.supports:
        n = len(support)
        if 0.1 * n <= 1 <= 0.7 * n:
            part = Squares(A[:, support], F.b)
            sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1}
            start = np.full(n, 1 / n)
            fitted = minimize(
                lambda w, part=part: float(part.value(w)),
                start,
                bounds=[(0.1, 0.7)] * n,
                constraints=sum_to_one,
            )
            found.append(fitted.fun)
    assert float(optimum(F, region)[0]) == pytest.approx(min(found), rel=1e-4)
    assert float(optimum(F, region)[0]) <= min(found) + 1e-7


def test_the_closed_forms_of_the_referee_are_not_beaten_by_random_members():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(4))
    for F in (Divergence(q), Transport(np.sort(rng.random(4)), q), Discrepancy(np.eye(4), q)):
        region = sparse_region(4, 2)
        best, p = optimum(F, region)
        assert not region.trouble(np.asarray(p, float))
        for _ in range(200):
            other = np.zeros(4)
            other[rng.choice(4, 2, replace=False)] = rng.dirichlet(np.ones(2))
            assert F.value(other) >= best - 1e-15


@pytest.mark.parametrize(
    ("p", "word"),
    [
        ([0.5, 0.25, 0.25, 0.0], "together"),
        ([1.2, -0.2, 0.0, 0.0], "negative"),
        ([0.5, 0.4, 0.0, 0.0], "sum"),
        ([0.95, 0.05, 0.0, 0.0], "outside"),
        ([0.0, 0.5, 0.5, 0.0], "not held"),
        ([0.5, 0.0, 0.0, 0.5], "together"),
        ([0.5, 1e-30, 0.5, 0.0], "together"),
    ],
)
def test_the_referee_sees_every_breach_of_a_constraint(p, word):
    region = sparse_region(4, 2, 0.1, 0.9, include=[0], exclude=[3])
    assert any(word in sentence for sentence in region.trouble(np.array(p)))
    assert region.trouble(np.array([0.5, 0.5, 0.0, 0.0])) == []


def test_faces_are_the_states_that_are_zero_outside():
    assert faces_region([[0, 0], [0, 1], [1, 0], [1, 1]], 1).supports == ((0, 1), (0, 2))


# The runner


PLANTED = """
import os, time
from pathlib import Path
NAME, SECONDS, ALONE = "planted", {seconds}, {alone}
def case(rng):
    draw = int(rng.integers(10))
    {body}
    return f"draw {{draw}}", [f"{{draw}} is odd"] if draw % 2 else []
"""


@pytest.fixture
def soak(tmp_path):
    """Starts the campaign of one planted part.

    What still runs at the end is ended with all its workers.
    """
    processes = []

    def start(*arguments, body="pass", seconds=60, alone=False):
        (tmp_path / "planted.py").write_text(
            PLANTED.format(body=body, seconds=seconds, alone=alone)
        )
        paths = [str(tmp_path), str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        command = [sys.executable, "-m", "soak", "--parts", "planted", "--jobs", "1", *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(
            subprocess.Popen(
                command, cwd=tmp_path, env=environment, start_new_session=True, **pipes
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def finished(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_a_planted_fault_is_counted_and_the_printed_command_repeats_it(soak):
    code, out, err = finished(soak("--cases", "20", "--failures", "1"))
    tried, wrong = out.splitlines()[1].split()[1:3]
    assert code == 1, err
    assert out.splitlines()[0].split() == ["part", "tried", "wrong", "seconds"]
    assert (tried, 0 < int(wrong) < 20) == ("20", True)
    again = out.split("--case ")[1].split()[0]
    code, out, _ = finished(soak("--case", again))
    assert code == 1
    assert "is odd" in out


def test_nothing_wrong_exits_0_and_a_part_that_was_never_tried_does_not(soak):
    assert finished(soak("--cases", "3", body="draw = 0"))[0] == 0
    assert finished(soak("--minutes", "0"))[0] == 1
    assert finished(soak("--parts", "nothing"))[0] == 2


@pytest.mark.parametrize(
    ("body", "seconds", "sentence"),
    [
        ("time.sleep(3600)", 0.5, "the case hangs"),
        ("os._exit(7)", 60, "exit code 7"),
        ("1 / 0", 60, "ZeroDivisionError"),
    ],
)
def test_a_case_that_hangs_dies_or_raises_is_a_failure_and_the_next_one_runs(
    soak, body, seconds, sentence
):
    code, out, err = finished(soak("--cases", "2", body=body, seconds=seconds))
    assert code == 1, err
    assert out.splitlines()[1].split()[1:3] == ["2", "2"]
    assert sentence in out


def test_a_failure_of_a_part_that_must_run_alone_counts_only_when_it_repeats(soak):
    body = "new = not Path('seen').exists(); Path('seen').touch(); draw = int(new)"
    code, out, err = finished(soak("--cases", "1", body=body, alone=True))
    assert code == 0, err
    assert out.splitlines()[1].split()[1:3] == ["1", "0"]


def test_ctrl_c_prints_the_table_so_far(soak, tmp_path):
    process = soak(body="draw = 0; Path('begun').touch(); time.sleep(0.01)")
    while not (tmp_path / "begun").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, out, err = finished(process)
    assert code == 130, err
    assert out.startswith("part ")
    assert "Traceback" not in err


# Faults made on purpose


def noticed(monkeypatch, owner, name, broken, word, most=200):
    """Whether a case that is right complains with this word once a function is replaced."""
    part = find("answers")
    for index in range(most):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            problems = attempt(part, SEED, index)[1]
        if any(word in problem for problem in problems) and attempt(part, SEED, index)[1] == []:
            return True
    return False


def test_a_bound_one_percent_too_high_is_noticed(monkeypatch):
    honest = Record.raise_bound

    def raise_bound(self, bound):
        return honest(self, None if bound is None else bound + 0.01 * abs(bound))

    assert noticed(monkeypatch, Record, "raise_bound", raise_bound, "bound")


def test_a_loop_that_does_not_check_membership_is_noticed(monkeypatch):
    assert noticed(
        monkeypatch, Record, "keep_member", lambda self, constraint, solver: None, "outside", 400
    )


def test_a_loop_that_calls_everything_optimal_is_noticed(monkeypatch):
    assert noticed(monkeypatch, Record, "closed", property(lambda self: True), "OPTIMAL is said")


def test_a_loop_that_keeps_the_worst_iterate_is_noticed(monkeypatch):
    honest = Record.take

    def take(self, p):
        value = honest(self, p)
        self.p, self.value = p.copy(), value
        return value

    assert noticed(monkeypatch, Record, "take", take, "best iterate")


def test_weights_that_leave_their_bounds_are_noticed(monkeypatch):
    def bounds(rules, inside):
        return np.zeros(len(inside)), np.ones(len(inside))

    assert noticed(monkeypatch, quadratic, "bounds", bounds, "")  # outside, or refused by the loop


def test_a_value_that_is_slightly_off_is_noticed(monkeypatch):
    honest = Moments.value
    assert noticed(
        monkeypatch, Moments, "value", lambda self, p: honest(self, p) * (1 + 1e-7), "is reported"
    )


@pytest.mark.parametrize(("bound", "wrong"), [(5.9e-322, 0), (6.9e-322, 1)])
def test_a_bound_of_few_digits_may_be_off_by_the_last(bound, wrong):
    best = np.longdouble("5.87201219616397453e-322")
    result = SimpleNamespace(value=7e-322, bound=bound)
    assert len(bounded(result, best, np.longdouble(0))) == wrong
