"""How two versions are compared: ratios, limits and the referee; nothing is timed."""

import importlib
import math
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import fewer

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def module(name):
    return importlib.import_module(name)


def compared(values=(1.0, 1.0), seconds=(1.0, 1.0), floor=1e-12, proof=False, wall=10.0, **new):
    against = module("against")
    old = against.Answer(values[0], seconds[0], proof, wall=wall)
    return against.Row(
        "terms", "an input", floor, old, against.Answer(values[1], seconds[1], wall=wall, **new)
    )


def broken(rows, **limits):
    return module("against").broken(rows, module("against").Limits(**limits))


def test_limits_are_arguments():
    slower = [compared(seconds=(1.0, 1.04))]
    assert broken(slower)
    assert not broken(slower, mean_seconds=1.05)


def test_values_below_the_floor_are_equal():
    assert compared((0.0, 1e-15)).value_ratio == 1.0
    assert compared((0.0, 3e-12)).value_ratio == pytest.approx(3.0)
    assert compared((math.inf, math.inf)).value_ratio == 1.0
    assert compared((2.0, 1.0)).value_ratio == 0.5


def test_the_mean_is_geometric():
    assert module("against").mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert module("against").mean([]) == 1.0


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{}], ""),
        ([{"values": (1.0, 1.005)}], "geometric mean of the value ratios is 1.005"),
        ([{"values": (1.0, 1.02)}, {"values": (1.0, 0.9)}], "an input: value ratio 1.02"),
        ([{"values": (1.0, math.nan)}], "value ratio nan"),
        ([{"seconds": (1.0, 1.2)}], "geometric mean of the time ratios is 1.2"),
        ([{"seconds": (1.0, 1.6)}, {"seconds": (1.0, 0.1)}], "an input: time ratio 1.6"),
        ([{"seconds": (10.0, 20.0), "proof": True}], ""),
        ([{"seconds": (2.0, 9.0), "proof": True}], ""),
        ([{"seconds": (1.0, 2.0), "proof": True, "wall": 1.0}], "an input: time ratio 2.00"),
        ([{"seconds": (10.0, 0.1), "proof": True}, {"seconds": (1.0, 1.1)}], "time ratios is 1.1"),
        ([{"wrong": "ValueError: no"}], "no valid answer"),
        ([{"steady": False}], "the same seed gave different answers"),
    ],
)
def test_every_limit_is_kept(rows, sentence):
    found = broken([compared(**row) for row in rows])
    assert any(sentence in fault for fault in found) if sentence else not found


def test_versions_are_called_in_turn_and_compiling_calls_do_not_count():
    asked = []

    class Fake:
        def __init__(self, name, answers):
            self.name, self.answers = name, iter(answers)

        def ask(self, **call):
            asked.append(self.name)
            return next(self.answers)

    slow = {"compiled": 0, "seconds": 1.0}
    old = Fake("old", [{"compiled": 3, "seconds": 9.0}, slow, slow])
    new = Fake("new", [slow, slow])
    found = module("against").repeated([old, new], {}, 2)
    assert [len(answers) for answers in found] == [2, 2]
    assert asked == ["old", "new", "old", "new", "old"]
    failed = Fake("new", [{"error": "no"}])
    assert module("against").repeated([failed], {}, 3) == [[{"error": "no"}]]


def test_what_was_not_compared_is_said():
    against = module("against")
    alone = against.Row(
        "terms", "an input", 1e-12, against.Answer(wrong="ValueError"), against.Answer(1.0, 1.0)
    )
    assert broken([alone]) == ["no input was compared"]
    assert not broken([alone, compared()])
    assert against.summary([alone, compared()])[-1].endswith("no valid answer: an input")
    assert against.summary([compared(proof=True)])[0].endswith(
        "without 1 proofs none left to judge"
    )


def test_rows_say_what_was_special():
    line = module("against").line
    assert line(compared(seconds=(10.0, 1.0), proof=True)).endswith("0.10 proof")
    assert line(compared((0.0, 0.0))).endswith("at the floor")
    assert "new: ValueError" in line(compared(wrong="ValueError"))


@pytest.mark.parametrize(
    ("indices", "weights", "limits", "sentence"),
    [
        ([0, 2], [0.5, 0.5], {}, ""),
        ([0, 2, 3], [0.5, 0.5, 0.0], {}, "where k = 2"),
        ([0, 0], [0.5, 0.5], {}, "distinct"),
        ([0, 4], [0.5, 0.5], {}, "outside 0..3"),
        ([0, 2], [0.5, 0.4], {}, "of sum 0.9"),
        ([0, 2], [1.5, -0.5], {}, "allowed [0, 1]"),
        ([0, 2], [0.9, 0.1], {"min_weight": 0.2}, "allowed [0.2, 1]"),
        ([0, 2], [0.9, 0.1], {"max_weight": 0.6}, "allowed [0, 0.6]"),
        ([0, 2], [0.9, 0.1], {"include": [1]}, "columns [1] are not included"),
        (
            [0, 2],
            [0.9, 0.1],
            {"groups": np.array([1, 0, 1, 0]), "max_per_group": 1},
            "of one group",
        ),
    ],
)
def test_the_referee_names_faults(indices, weights, limits, sentence):
    found = module("referee").fault(4, 2, np.array(indices), np.array(weights), **limits)
    assert sentence in found if sentence else found == ""


def test_rows_are_judged_by_the_definition_of_mmd():
    rng = np.random.default_rng(0)
    X, labels, weights = rng.standard_normal((30, 3)), np.arange(30) % 3, np.array([0.5, 0.3, 0.2])
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-squared / (2.0 * np.median(squared[np.triu_indices(30, 1)])))
    gap = np.full(30, -1 / 30)
    gap[[3, 4, 9]] += weights
    for table in (X, sp.csr_array(X)):
        assert module("referee").Mmd(table).judge(np.array([3, 4, 9]), weights) == pytest.approx(
            gap @ K @ gap
        )
    local = K * (labels[:, None] == labels)
    assert module("referee").Mmd(X, labels).judge(np.array([3, 4, 9]), weights) == pytest.approx(
        gap @ local @ gap
    )


def test_a_large_mixture_is_judged_in_closed_form(monkeypatch):
    rng = np.random.default_rng(1)
    centres = 3.0 * rng.standard_normal((4, 2))
    X = centres[rng.integers(0, 4, 4000)] + rng.standard_normal((4000, 2))
    rows, weights = np.arange(3), np.full(3, 1 / 3)
    by_rows = module("referee").Mmd(X, centres=centres).judge(rows, weights)
    monkeypatch.setattr(module("referee"), "EXACT_ROWS", 100)
    assert module("referee").Mmd(X, centres=centres).judge(rows, weights) == pytest.approx(
        by_rows, rel=0.05
    )


def test_columns_are_judged_by_the_best_distribution_on_their_states():
    X = (np.random.default_rng(2).random((50, 4)) < 0.4).astype(np.int8)
    states = np.array(list(product(range(2), repeat=4)))
    q = np.array([(state == X).all(axis=1).mean() for state in states])
    inside = ~states[:, [0, 3]].any(axis=1)
    p = np.where(inside, q, 0.0)
    judge = module("referee").Coverage
    assert judge(X, "kl").judge(np.array([1, 2]), None) == pytest.approx(-math.log(p.sum()))
    p[inside] += (1.0 - p.sum()) / 4
    assert judge(X, "l2").judge(np.array([1, 2]), None) == pytest.approx(((p - q) ** 2).sum())
    assert judge(np.ones((3, 2), np.int8), "kl").judge(np.array([0]), None) == math.inf


def test_bins_and_terms_are_judged_by_their_squares():
    counts, indices, weights = np.array([4, 0, 1, 5]), np.array([0, 3]), np.array([0.4, 0.6])
    for cumulative, value in ((True, 0.1**2), (False, 2 * 0.1**2)):
        assert module("referee").Histogram(counts, cumulative).judge(
            indices, weights
        ) == pytest.approx(value)
    X, y = np.arange(12.0).reshape(3, 4), np.ones(3)
    for table in (X, X.astype(np.float32), sp.csc_array(X)):
        expected = ((X[:, indices] @ weights - y) ** 2).sum()
        assert module("referee").LeastSquares(table, y).judge(indices, weights) == pytest.approx(
            expected
        )


def test_inputs_arrive_as_they_were_written(tmp_path):
    X = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays = {"0": sp.csr_array(X), "1": sp.csc_array(X), "y": X}
    module("calls").write(tmp_path / "a.npz", arrays)
    back = module("caller").loaded(str(tmp_path / "a.npz"))
    assert (back["0"].format, back["1"].format, back["y"].dtype) == ("csr", "csc", np.float32)
    assert all((back[name].toarray() == X).all() for name in ("0", "1"))
    assert (back["y"] == X).all()


@pytest.mark.parametrize("road", ["memory", "blocks", "command"])
@pytest.mark.parametrize("job", ["points", "terms", "dims"])
def test_each_road_answers_like_the_function(job, road, tmp_path):
    rng = np.random.default_rng(3)
    X = (rng.random((240, 5)) < 0.4).astype(float)
    arrays = {"0": X, "1": X[:, :2].mean(axis=1)} if job == "terms" else {"0": X}
    path = tmp_path / "x.npz"
    module("calls").write(path, arrays)
    call = {"job": job, "road": road, "input": str(path), "k": 2, "options": {}, "seed": 0}
    answer = module("caller").answer(call, module("caller").loaded(str(path)))
    expected = getattr(fewer, job)(*arrays.values(), 2, rng=0)
    assert answer["indices"] == expected.indices.tolist()
    assert answer["weights"] is None or answer["weights"] == pytest.approx(expected.weights)


def test_signatures_of_our_compiled_functions_are_counted(monkeypatch):
    functions = SimpleNamespace(
        a=SimpleNamespace(signatures=[1, 2]), b=SimpleNamespace(signatures=[1]), c=3
    )
    again = SimpleNamespace(a=functions.a)
    before = module("caller").signatures()
    monkeypatch.setitem(sys.modules, "fewer._compiled.some", functions)
    monkeypatch.setitem(sys.modules, "fewer._compiled.other", again)
    assert module("caller").signatures() - before == 3
