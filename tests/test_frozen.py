"""Stored answers: a rebuilding gives them again; a search may only find better ones."""

import json
import math

import pytest

import frozen

ANSWERS = json.loads(frozen.STORED.read_text())
CALLS = dict(frozen.calls())
SAME = 1e-9
"""Values that differ by this share are the same."""
ZERO = 1e-12
"""Values below this are rounding of zero: any rows that reach it are the answer."""
FLAT = 1e-3
"""Weights of answers with a value of nearly zero may differ by this share: F is flat there, and
rounding decides which of many equally good weights come out, from one processor to the next."""


@pytest.mark.parametrize("name", [name for name in CALLS if name not in frozen.INTENDED])
def test_the_answer_is_the_stored_one_or_a_better_one(name):
    stored, answer = ANSWERS[name], frozen.answer(CALLS[name])
    if "error" in stored:
        assert answer == stored
        return
    assert "error" not in answer
    value, best = float(answer["value"]), float(stored["value"])
    slack = frozen.DESCENTS.get(name, SAME) * abs(best) + ZERO if math.isfinite(best) else 0.0
    assert value <= best + slack
    if stored["status"] == "OPTIMAL":
        assert answer["status"] == "OPTIMAL"
    if best > ZERO and math.isclose(value, best, rel_tol=SAME):
        assert answer["indices"] == stored["indices"]
        if stored["weights"] is not None:
            rel, least = (1e-6, 1e-8) if best > FLAT else (FLAT, SAME**0.5)
            assert answer["weights"] == pytest.approx(stored["weights"], rel=rel, abs=least)


def test_every_call_is_stored_once():
    assert list(ANSWERS) == list(CALLS)
    assert {*frozen.INTENDED, *frozen.DESCENTS} <= set(CALLS)
