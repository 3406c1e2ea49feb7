"""What is particular to each solver, and the driver's promises."""

import math
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from fewer import (
    KL,
    L2,
    Atoms,
    Backtracking,
    Constant,
    DimensionSparse,
    Doubling,
    InvalidInput,
    Lattice,
    Moments,
    Momentum,
    Simplex,
    SparseSimplex,
    Status,
    exact,
    exchange,
    frank_wolfe,
    greedy,
    iht,
    minimize,
)


def section_41(seed, n=10, positions=30, k=4):
    """The paper's simulated problem, smaller."""
    rng = np.random.default_rng(seed)
    space = Lattice(n, 2)
    q = np.zeros(space.size)
    q[rng.choice(space.size, positions, replace=False)] = rng.dirichlet(np.ones(positions))
    return L2(space, q), DimensionSparse(space, k)


def test_iht_after_greedy_never_loses_what_greedy_had():
    for seed in range(5):
        F, C = section_41(seed)
        first = greedy(F, C)
        after = iht(F, C, start=first.p, step=Doubling(0.01))
        assert after.value <= first.value
        assert after.history[0] == first.value
        assert after.n_iter == len(after.history) - 1


def test_iht_on_the_plain_simplex_finds_the_convex_optimum():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 20)), rng.standard_normal(8)
    F = Moments(Atoms(20), A, b)
    best = F.value_on(np.arange(20))
    for step in (None, Constant(), Backtracking(), Momentum()):
        result = iht(F, Simplex(F.space), step=step, max_iter=20000, rng=1)
        assert result.value == pytest.approx(best, rel=1e-6)
        assert result.bound == 0.0  # a squared distance is never less
        assert result.gap == result.value


def test_constant_steps_with_an_exact_projection_descend():
    F, _ = section_41(3)
    C = DimensionSparse(F.space, 4, "exact")
    history = iht(F, C, step=Constant(), rng=2).history
    assert (np.diff(history) <= 1e-12).all()


def test_doubling_ends_where_no_step_leads_away():
    cube = Lattice(2, 2)
    q = np.array([0.25, 0.25, 0.25, 0.25])
    result = iht(L2(cube, q), DimensionSparse(cube, 2), start=q, step=Doubling(0.1), max_iter=10**6)
    assert result.status is Status.OPTIMAL  # F is 0 there
    assert result.n_iter < 100


def test_limits_and_callbacks():
    F, C = section_41(6)
    assert iht(F, C, step=Doubling(0.01), max_iter=7, rng=0).n_iter == 7
    assert iht(F, C, step=Doubling(0.01), max_iter=7, rng=0).status is Status.MAX_ITER
    seen = []
    result = iht(
        F, C, step=Doubling(0.01), rng=0, callback=lambda s: seen.append(s) or s.n_iter > 5
    )
    assert result.status is Status.CALLBACK
    assert seen[-1].best == result.value == min(result.history)
    result = iht(F, C, step=Doubling(0.01), rng=0, max_iter=10**9, time_limit=0.1)
    assert result.status is Status.TIME_LIMIT


def test_interrupt_returns_the_best_so_far():
    F, C = section_41(8)

    def interrupt(progress):
        if progress.n_iter == 5:
            raise KeyboardInterrupt

    result = iht(F, C, step=Doubling(0.01), rng=0, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert C.contains(result.p)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently on Windows")
def test_a_real_ctrl_c_in_another_process_returns_the_best_so_far():
    code = (
        "import numpy as np\n"
        "from fewer import *\n"
        "s = Lattice(12, 2); q = np.random.default_rng(0).dirichlet(np.ones(s.size))\n"
        "F, C = L2(s, q), DimensionSparse(s, 5)\n"
        "iht(F, C, rng=0, max_iter=2)\n"
        "print('go', flush=True)\n"
        "r = iht(F, C, step=Doubling(0.01), rng=0, max_iter=10**9)\n"
        "print(r.status.name, C.contains(r.p))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    threading.Timer(0.3, process.send_signal, [signal.SIGINT]).start()
    out, _ = process.communicate(timeout=600)
    assert out == "INTERRUPTED True\n"


def test_exact_refuses_the_hopeless_and_bounds_it_with_a_budget():
    q = np.random.default_rng(2).dirichlet(np.ones(40))
    F = KL(Atoms(40), q)
    C = SparseSimplex(F.space, 10)
    with pytest.raises(InvalidInput, match=r"8.48e\+08 supports apart; give time_limit"):
        exact(F, C)
    result = exact(F, C, budget=3e8, rng=0)
    assert result.status is Status.FINISHED
    assert result.value == pytest.approx(-math.log(np.sort(q)[-10:].sum()))
    assert 0.0 <= result.bound + 1e-12 <= result.value


def test_greedy_history_has_one_value_for_each_unit():
    F, C = section_41(10)
    result = greedy(F, C)
    assert len(result.history) == result.n_iter == 4
    assert (np.diff(result.history) <= 1e-12).all()
    assert result.status is Status.FINISHED


def test_solvers_by_name():
    F, C = section_41(11)
    assert (
        minimize(F, C, "iht", rng=0, step=Doubling(0.01)).value
        == iht(F, C, rng=0, step=Doubling(0.01)).value
    )
    assert (
        minimize(F, C, rng=0).value
        == minimize(F, C, "auto", rng=0).value
        <= exchange(F, C, rng=0).value
    )
    assert minimize(F, C, solver="greedy").value == greedy(F, C).value
    assert minimize(F, C, solver=greedy).value == greedy(F, C).value
    names = "'auto', 'exact', 'exchange', 'frank_wolfe', 'greedy', 'iht'"
    with pytest.raises(InvalidInput, match=f"solver must be one of {names}, got 'magic'"):
        minimize(F, C, solver="magic")


def test_partners_that_do_not_fit_are_named():
    F, C = section_41(12)
    with pytest.raises(
        InvalidInput, match=r"greedy's constraint needs .*; Simplex lacks face, k, n_units"
    ):
        greedy(F, Simplex(F.space))
    with pytest.raises(InvalidInput, match="give both the same space"):
        iht(F, DimensionSparse(Lattice(9, 2), 4))
    with pytest.raises(InvalidInput, match=r"iht's objective needs .*; int lacks"):
        iht(3, C)


def test_frank_wolfe_finds_the_relaxation_and_bounds_the_sparse_problem():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((30, 12))
    F = Moments(Atoms(12), A, A @ rng.dirichlet(np.full(12, 0.3)) + 0.05 * rng.standard_normal(30))
    whole = frank_wolfe(F, Simplex(F.space), max_iter=5000)
    assert whole.status is Status.OPTIMAL
    assert whole.value == pytest.approx(F.value_on(np.arange(12)), rel=1e-8)
    assert whole.gap <= 1e-8
    sparse = frank_wolfe(F, SparseSimplex(F.space, 2), max_iter=5000)
    best = exact(F, SparseSimplex(F.space, 2))
    assert sparse.bound <= best.value <= sparse.value * (1 + 1e-12)
    with pytest.raises(InvalidInput, match="frank_wolfe needs an objective of finite smoothness"):
        frank_wolfe(KL(Atoms(2), [0.5, 0.5]), Simplex(Atoms(2)))


def test_solvers_that_take_faces_whole_refuse_bounds():
    q = np.array([0.7, 0.1, 0.1, 0.1])
    bounded = SparseSimplex(Atoms(4), 2, max_weight=0.6)
    for solver in (greedy, exact, exchange):
        with pytest.raises(InvalidInput, match="cannot keep weight bounds"):
            solver(KL(Atoms(4), q), bounded)
    F = L2(Atoms(4), q)  # a quadratic keeps them
    for solver in (greedy, exact, exchange, iht):
        assert solver(F, bounded, rng=0).value == pytest.approx(F.value(np.array([0.6, 0.4, 0, 0])))


def test_auto_with_a_limit_goes_on_proving():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 3)) @ rng.normal(1, 0.4, size=(3, 50)) + 1.2 * rng.normal(
        size=(100, 50)
    )
    F = Moments(Atoms(50), X, X @ rng.dirichlet(np.ones(50)))
    constraint = SparseSimplex(F.space, 8)
    open_ = minimize(F, constraint, rng=0)
    assert open_.gap > 0.0
    best = minimize(F, constraint, solver="exact", rng=0)
    for limit in ({"budget": 3e9}, {"time_limit": 300.0}):  # it takes less than a second
        result = minimize(F, constraint, rng=0, **limit)
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(best.value, rel=1e-9)
