"""`greedy` is Algorithm 3 as printed, on every engine.

Algorithm 2 is the same with the squared l2 distance.
"""

import math

import numpy as np
import pytest

import naive
from fewer import (
    KL,
    L2,
    Atoms,
    DimensionSparse,
    GroupSparse,
    Lattice,
    Moments,
    SparseSimplex,
    Status,
    exact,
    exchange,
    greedy,
)
from fewer.constraints.conditions import Conditions
from reproduction import fig1


def face_of(q, units):
    """The entries of a table (m, ..., m) on the face of some dimensions."""
    return q[tuple(slice(None) if i in units else 0 for i in range(q.ndim))].ravel()


def lowest_on_faces(kind, q):
    """F's minimum over the distributions on a face of a lattice, from its definition."""
    if kind == "kl":
        return lambda units: (
            -math.log(mass) if (mass := face_of(q, units).sum()) > 0.0 else math.inf
        )
    total = (q**2).sum()

    def distance(units):
        part = face_of(q, units)
        return total - (part**2).sum() + (1.0 - part.sum()) ** 2 / part.size

    return distance


def same_face(kind, q, units, result):
    """Whether an answer has the support of the best distribution on a face."""
    if kind == "l2":
        return result.support.tolist() == units
    table = np.zeros(q.shape)
    where = tuple(slice(None) if i in units else 0 for i in range(q.ndim))
    table[where] = q[where]
    states = np.argwhere(table > 0.0)
    return result.support.tolist() == np.flatnonzero(states.any(axis=0)).tolist()


@pytest.mark.parametrize("kind", ["l2", "kl"])
def test_supports_on_the_draws_of_figure_1(kind):
    draw = fig1.L2_DRAWS["50 uniform"] if kind == "l2" else fig1.KL_DRAWS["50 + 1 %"]
    for seed in range(20):
        q = draw(np.random.default_rng(seed))
        table = q.reshape((2,) * 15)
        units = naive.greedy_selection(lowest_on_faces(kind, table), 15, 7)
        F = (L2 if kind == "l2" else KL)(fig1.SPACE, q)
        assert same_face(kind, table, units, greedy(F, DimensionSparse(fig1.SPACE, 7)))


def few_states(rng, shape):
    """A table of sum one whose few entries are equal, dyadic or random: many additions gain the same."""
    size = math.prod(shape)
    count = int(rng.integers(1, min(8, size)))
    masses = (np.ones(count), 2.0 ** -rng.integers(0, 3, count), rng.random(count))[
        int(rng.integers(3))
    ]
    q = np.zeros(size)
    q[rng.choice(size, count, replace=False)] = masses
    return (q / q.sum()).reshape(shape)


@pytest.mark.parametrize("kind", ["l2", "kl"])
def test_a_thousand_small_lattices(kind):
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n = int(rng.integers(2, 6))
        q, k = few_states(rng, tuple(rng.integers(2, 4, n))), int(rng.integers(1, n + 1))
        space = Lattice(n, list(q.shape))
        F = (L2 if kind == "l2" else KL)(space, q.ravel())
        lowest = lowest_on_faces(kind, q)
        units = naive.greedy_selection(lowest, n, k)
        result = greedy(F, DimensionSparse(space, k))
        assert set(result.support.tolist()) <= set(units)
        if (
            1e-12 < lowest(units) < math.inf
        ):  # else some states of the face are all it takes, or none has mass
            assert same_face(kind, q, units, result)
        assert result.value == pytest.approx(lowest(units), abs=1e-12)
        if kind == "l2":
            assert DimensionSparse(space, k).project(q.ravel()) == pytest.approx(
                result.p, abs=1e-12
            )


def test_fifteen_hundred_budgets():
    rng = np.random.default_rng(1)
    for _ in range(1500):
        n = int(rng.integers(2, 6))
        q, costs = few_states(rng, (2,) * n), rng.integers(1, 4, n).astype(float)
        budget = float(rng.integers(costs.min(), costs.sum() + 1))
        space = Lattice(n, 2)
        lowest = lowest_on_faces("l2", q)
        units = naive.greedy_selection(
            lowest, n, n, fits=lambda held, i, c=costs, b=budget: c[[*held, i]].sum() <= b
        )
        C = DimensionSparse(space, costs=costs, budget=budget)
        result = greedy(L2(space, q.ravel()), C)
        assert result.value == pytest.approx(lowest(units), abs=1e-12)
        assert set(result.support.tolist()) <= set(units)
        if lowest(units) > 1e-12:
            assert result.support.tolist() == units
            assert C.project(q.ravel()) == pytest.approx(result.p, abs=1e-12)


def columns(rng, n):
    """A table and a target.

    Sometimes of small whole numbers, so that columns repeat and gains tie.
    """
    r = int(rng.integers(1, 4))
    if rng.random() < 0.3:
        return rng.integers(0, 3, (r, n)).astype(float), rng.integers(0, 3, r).astype(float)
    return rng.normal(size=(r, n)), rng.normal(size=r)


def weighted(A, b, units, result, low=0.0, high=1.0):
    """Whether an answer lies on these units and has F's minimum there."""
    value, _ = naive.least_squares_on(A, b, units, low, high)
    assert set(result.support.tolist()) <= set(units)
    assert result.value == pytest.approx(value, rel=1e-9, abs=1e-13)


def test_eight_hundred_least_squares():
    rng = np.random.default_rng(2)
    for _ in range(800):
        n = int(rng.integers(2, 6))
        (A, b), k = columns(rng, n), int(rng.integers(1, min(n, 3) + 1))
        units = naive.greedy_selection(lambda S, A=A, b=b: naive.least_squares_on(A, b, S)[0], n, k)
        space = Atoms(n)
        weighted(A, b, units, greedy(Moments(space, A, b), SparseSimplex(space, k)))


def test_groups_with_groups_and_held_and_barred_units():
    rng = np.random.default_rng(3)
    for _ in range(250):
        n = 6
        A, b = columns(rng, n)
        groups, space = np.array([0, 0, 1, 1, 2, 2]), Atoms(n)
        include, exclude = rng.choice(n, 2, replace=False)
        C = SparseSimplex(
            space, 3, include=[include], exclude=[exclude], groups=groups, max_per_group=1
        )
        units = naive.greedy_selection(
            lambda S, A=A, b=b: naive.least_squares_on(A, b, S)[0],
            n,
            3,
            start=[include],
            fits=lambda held, i, e=exclude: i != e and i // 2 not in {j // 2 for j in held},
        )
        weighted(A, b, units, greedy(Moments(space, A, b), C))


def test_bounds_on_weights_are_infinite_until_the_bounds_can_be_met():
    rng = np.random.default_rng(4)
    for _ in range(100):
        (A, b), space = columns(rng, 5), Atoms(5)
        units = naive.greedy_selection(
            lambda S, A=A, b=b: naive.least_squares_on(A, b, S, 0.0, 0.5)[0], 5, 3
        )
        assert units[0] == 0
        weighted(
            A,
            b,
            units,
            greedy(Moments(space, A, b), SparseSimplex(space, 3, max_weight=0.5)),
            high=0.5,
        )


def test_fifty_under_a_condition():
    """q_0 <= 0.4: unit 0 alone meets it with no weights, and beside another one as a bound."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        space, A, b = Atoms(5), rng.normal(size=(3, 5)), rng.normal(size=3)

        def lowest(units, A=A, b=b):
            high = np.where(np.array(units) == 0, 0.4, 1.0)
            return naive.least_squares_on(A, b, units, 0.0, high)[0]

        C = SparseSimplex(space, 2, conditions=Conditions(np.eye(5)[:1], [0.4]))
        units = naive.greedy_selection(lowest, 5, 2)
        result = greedy(Moments(space, A, b), C)
        assert set(result.support.tolist()) <= set(units)
        assert result.value == pytest.approx(lowest(units), rel=1e-6, abs=1e-9)


def test_three_hundred_groups():
    rng = np.random.default_rng(6)
    for _ in range(300):
        groups, space = np.array([0, 0, 1, 1, 2, 2, 3]), Atoms(7)
        q = few_states(rng, (7,))
        k = int(rng.integers(1, 5))

        def lowest(units, q=q, groups=groups):
            return naive.on_face(q, np.flatnonzero(np.isin(groups, units)))[1]

        units = naive.greedy_selection(lowest, 4, k)
        assert greedy(L2(space, q), GroupSparse(space, groups, k)).value == pytest.approx(
            lowest(units), abs=1e-12
        )


def test_the_lowest_index_where_no_item_completes_an_order():
    """Two items complete seven orders; Algorithm 3, which adds one at a time, does not see them.

    Searches do.
    """
    q = np.zeros((2,) * 6)
    q[0, 0, 0, 0, 1, 1], q[1, 1, 1, 0, 0, 0] = 0.7, 0.3
    F, C = KL(Lattice(6, 2), q.ravel()), DimensionSparse(Lattice(6, 2), 3)
    assert greedy(F, C).support.tolist() == [0, 1, 2]
    assert exchange(F, C, rng=0).support.tolist() == [4, 5]


def test_exchange_finds_the_optimum_of_a_hundred_fresh_draws_of_figure_1():
    C = DimensionSparse(fig1.SPACE, 7)
    for seed in range(100, 200):
        F = L2(fig1.SPACE, fig1.L2_DRAWS["50 uniform"](np.random.default_rng(seed)))
        assert exchange(F, C, rng=seed).value <= exact(F, C).value + 1e-12


def test_a_small_budget_still_has_an_answer():
    cube = Lattice(3, 2)
    F = KL(cube, np.full(8, 1 / 8))
    assert greedy(F, DimensionSparse(cube, 2), budget=1).status is Status.FINISHED
    pays_for_nothing = DimensionSparse(cube, costs=[1.0, 1.0, 2.0], budget=0.5)
    assert greedy(F, pays_for_nothing).support.tolist() == []
