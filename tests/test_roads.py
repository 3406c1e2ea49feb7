"""Every public option of every job on every road: the same answer, or a refusal that names the option."""

import time

import numpy as np
import pytest

import fewer
from roads import (
    BEGIN,
    CASES,
    END,
    ESTIMATORS,
    JOBS,
    PAGE,
    ROADS,
    Answer,
    Refusal,
    line,
    options_of,
    page,
    reference,
    refusable,
    row,
    same,
    unexplained,
)

OPTIONS = [(job, option) for job in JOBS for option in options_of(job)]
IN_MEMORY = ("function", "estimator", "command")
NOT_SPARSE = {"points": {"missing", "move"}}
"""What the docstring says is for dense rows."""
SHOWN = PAGE.read_text()


@pytest.mark.parametrize("job", JOBS)
def test_every_option_has_a_value(job):
    assert set(options_of(job)) == set(CASES[job])


@pytest.mark.parametrize(("job", "option"), OPTIONS)
def test_an_option_on_every_road(job, option):
    cases = CASES[job].get(option, [])
    for number, case in enumerate(cases):
        without, given = (reference(job, option, number, part) for part in (0, 1))
        assert type(without) in (Answer, Refusal), without
        assert type(given) in (Answer, Refusal), given
        changed = type(without) is not type(given) or (
            type(given) is Answer and not same(without, given, case.view)
        )
        assert changed, f"{option}={case.value!r} does not change the answer {given}"
    found = row(job, option)
    wrong = [f"{name}: {text}" for name, text in found.items() if text.startswith("wrong")]
    assert not wrong, "\n".join(wrong)
    for road in ROADS:
        if "refused" in found[road.name]:
            listed = (
                NOT_SPARSE.get(job, set())
                if road.group in IN_MEMORY and "sparse" in road.name
                else refusable(job)
            )
            assert road.group not in IN_MEMORY or "sparse" in road.name, (
                f"{road.name} refuses {option}"
            )
            assert option in listed, (
                f"{road.name} refuses {option}, which docs/scaling.md does not list"
            )
    assert not unexplained(job, option, line(job, option, found))
    assert line(job, option, found) in SHOWN, "the table is not up to date: python tests/roads.py"


def test_the_page_has_one_line_for_each_option():
    shown = [
        text for text in SHOWN.split(BEGIN)[1].split(END)[0].splitlines() if text.startswith("|")
    ][2:]
    assert [tuple(text.split(" | ")[:2]) for text in shown] == [
        (f"| {job}", f"`{option}`") for job, option in OPTIONS
    ]
    assert page(shown) in SHOWN


def slow(job):
    """Blocks that take 0.15 s to come, (X, y) of terms."""
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 5)) < 0.4).astype(float)
    X = X[:, 0] + 2 * X[:, 1] if job == "bins" else X

    def blocks():
        time.sleep(0.15)
        yield (X, X @ np.full(5, 0.2)) if job == "terms" else X

    return blocks


@pytest.mark.parametrize("job", JOBS)
def test_the_clock_runs_while_blocks_are_read(job):
    """A limit that has passed before the search begins is one that was reached, in function and estimator."""
    given = {"time_limit": 0.1, "max_memory": "100KB" if job == "dims" else "20KB"}
    given |= {"max_memory": "150KB"} if job == "points" else {}
    data = (slow(job), None) if job == "terms" else (slow(job),)
    function = getattr(fewer, job)(*data, 2, **given)
    estimator = ESTIMATORS[job](2, **given).fit(*data).result_
    assert min(function.seconds, estimator.seconds) >= 0.15
    assert function.status is estimator.status
