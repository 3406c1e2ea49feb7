"""What every solver owes on every objective and constraint of the grid."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from fewer import Status, deadline, exact
from fewer.protocols import whole_faces
from fewer.solvers.loop import tolerance
from grid import OBJECTIVES, SPACES, pairs, runs

RUNS = list(runs())
PAIRS = list(pairs())


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=[case[0] for case in cases])


@pytest.fixture(scope="module")
def optimum():
    """The proven optimum of a pair, computed once."""
    known = {}

    def of(F, C):
        if id(F) not in known:
            known[id(F)] = exact(F, C).value
        return known[id(F)]

    return of


def arrays(F):
    return {
        name: np.copy(value) for name, value in vars(F).items() if isinstance(value, np.ndarray)
    }


@each(RUNS)
def test_result_is_feasible_valued_repeated_and_never_better_than_proven(case, optimum):
    _, solver, F, C = case
    before = arrays(F)
    result = solver(F, C)
    assert abs(result.p.sum() - 1.0) <= 1e-12
    assert result.p.min() >= 0.0
    assert C.contains(result.p, 1e-12)
    assert result.value == F.value(result.p)
    assert result.value <= result.history.min() + 1e-15
    assert result.support.tolist() == sorted(C.support(result.p).tolist())
    assert isinstance(result.status, Status)
    assert result.seconds >= 0.0
    if result.bound is not None:
        assert result.bound <= result.value + 1e-12
        assert result.gap == result.value - result.bound
    closed = result.bound is not None and result.gap <= tolerance(F, result.value)
    assert (result.status is Status.OPTIMAL) == closed
    if whole_faces(C):
        assert result.support.size <= C.k
        scale = max(abs(result.value), 1e-3)
        assert result.value >= optimum(F, C) - 1e-8 * scale
    again = solver(F, C)  # same seed, same bits, and the arguments are untouched
    assert result.p.tobytes() == again.p.tobytes()
    assert result.history.tobytes() == again.history.tobytes()
    assert result.seed == again.seed
    for name, value in before.items():
        assert np.array_equal(getattr(F, name), value)


@each([case for case in RUNS if case[0].startswith(("iht doubling:", "exact:"))][::5])
def test_time_limit_is_kept(case, monkeypatch):
    _, solver, F, C = case
    solver(F, C)  # compiles, so that the time limit buys a search
    looks = itertools.count()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: 0.01 * next(looks)))
    options = {"max_iter": 10**9} if case[0].startswith("iht") else {}
    result = solver(F, C, time_limit=0.2, **options)
    assert next(looks) <= 30  # it looked at the clock some twenty times, and then no more
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL, Status.CONVERGED)
    assert C.contains(result.p)


def spread(space, rng):
    """A distribution without tiny entries, where finite differences are accurate."""
    p = rng.random(space.size) + 0.5
    return p / p.sum()


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradient_equals_finite_differences(space, objective):
    F = OBJECTIVES[objective](space)
    rng = np.random.default_rng(1)
    for _ in range(5):
        p, phi = spread(space, rng), rng.standard_normal(space.size)
        if objective == "KL":
            p = np.maximum(
                p, F.floor
            )  # below its floor the gradient is deliberately not the derivative
        h = 1e-6
        slope = (F.value(p + h * phi) - F.value(p - h * phi)) / (2 * h)
        assert F.gradient(p) @ phi == pytest.approx(slope, rel=1e-5, abs=1e-7)
