"""What the loop lets anyone claim: membership, bounds, optimality.

Whatever objective, constraint or solver says.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewer
from fewer import (
    L2,
    MMD,
    Atoms,
    FewerPointsClassifier,
    Functional,
    GroupSparse,
    InvalidInput,
    Moments,
    Simplex,
    SparseSimplex,
    Status,
    bins,
    exact,
    frank_wolfe,
    greedy,
    iht,
    points,
    terms,
)
from fewer.solvers.iht import Backtracking, Constant, Doubling, Momentum
from fewer.solvers.loop import Outcome, Step, drive, tolerance, units_are_entries

SPACE = Atoms(4)
F = L2(SPACE, np.array([0.4, 0.3, 0.2, 0.1]))
C = SparseSimplex(SPACE, 2)


@dataclass(frozen=True)
class Capped:
    """At most k entries, none above `cap`: a user's constraint that needs no more than the protocol."""

    space: Atoms
    k: int
    cap: float
    whole_faces: bool = False

    @property
    def n_units(self):
        return self.space.size

    def face(self, units):
        return np.asarray(sorted(units), np.int64)

    def project(self, v, near=None):
        return SparseSimplex(self.space, self.k, max_weight=self.cap).project(v)

    def contains(self, p, tol=1e-9):
        return SparseSimplex(self.space, self.k, max_weight=self.cap).contains(p, tol)

    def support(self, p):
        return np.flatnonzero(p)


class Forgetful:
    """The same without the member that says whether faces are whole."""

    def __init__(self, capped):
        self.space, self.k, self.n_units = capped.space, capped.k, capped.n_units
        self.face, self.project, self.contains, self.support = (
            capped.face,
            capped.project,
            capped.contains,
            capped.support,
        )


def steps(*given, status=Status.FINISHED, bound=None):
    for p in given:
        yield Step(np.array(p, float))
    return Outcome(status, bound)


def wasserstein(seed, n=6):
    q = np.random.default_rng(seed).dirichlet(np.ones(n))
    distance = lambda p: float(np.abs(np.cumsum(p - q)).sum())
    gradient = lambda p: np.cumsum(np.sign(np.cumsum(p - q))[::-1])[::-1].astype(float)
    return Functional(Atoms(n), distance, gradient), q


def smallest_distance(q, k):
    """Enumeration: mass moves to the nearest of the kept atoms, which is optimal for Wasserstein-1 on a line."""
    places = np.arange(len(q))
    return min(
        float(q @ np.abs(places[:, None] - np.array(kept)).min(axis=1))
        for kept in itertools.combinations(range(len(q)), k)
    )


@pytest.mark.parametrize("seed", range(6))
def test_exact_closes_the_gap_of_an_objective_with_kinks(seed):
    objective, q = wasserstein(seed)
    result = exact(objective, SparseSimplex(objective.space, 2))
    best = smallest_distance(q, 2)
    assert result.bound <= best + 1e-9
    assert result.value >= best - 1e-9
    assert result.gap <= 1e-6 * max(1.0, result.value)
    assert result.status is Status.OPTIMAL
    assert result.value <= best + 1e-6


def test_optimal_is_what_the_loop_finds_not_what_a_solver_says():
    boast = drive(F, C, steps([0.5, 0.5, 0, 0], status=Status.OPTIMAL, bound=0.0))
    assert boast.status is Status.FINISHED
    modest = drive(
        F, C, steps([0.55, 0.45, 0, 0], bound=F.value(np.array([0.55, 0.45, 0, 0])) - 1e-13)
    )
    assert modest.status is Status.OPTIMAL
    assert drive(F, C, steps([0.55, 0.45, 0, 0], status=Status.OPTIMAL)).status is Status.FINISHED
    assert drive(F, C, steps([0.55, 0.45, 0, 0], bound=math.nan)).bound is None


def test_a_bound_above_the_value_is_none():
    result = drive(F, C, steps([0.55, 0.45, 0, 0], bound=1.0))
    assert result.bound is None
    assert result.status is Status.FINISHED
    assert "not convex" in result.note
    value = F.value(np.array([0.55, 0.45, 0, 0]))
    assert drive(F, C, steps([0.55, 0.45, 0, 0], bound=value + 1e-12)).bound == value


def test_an_answer_outside_is_projected_and_the_result_says_so():
    result = drive(F, C, steps([0.4, 0.3, 0.2, 0.1], bound=0.0), solver="mine")
    assert C.contains(result.p)
    assert result.value == F.value(result.p) > 0.0
    assert result.status is Status.FINISHED  # the bound is that of a larger set
    assert "mine was no member of the constraint and was projected" in result.note


def test_a_constraint_whose_projection_is_no_member_is_named_with_the_solver():
    class Broken(Capped):
        def project(self, v, near=None):
            return np.asarray(v)

    with pytest.raises(
        InvalidInput,
        match=r"mine ended outside the constraint .*Broken.* project\(\) .* contains\(\)",
    ):
        drive(F, Broken(SPACE, 2, 0.6), steps([0.925, 0.075, 0, 0]), solver="mine")


@pytest.mark.parametrize("solver", [exact, greedy])
def test_solvers_that_take_faces_whole_ask_whether_they_are(solver):
    capped = Capped(SPACE, 2, 0.6)
    with pytest.raises(InvalidInput, match="takes faces whole"):
        solver(F, capped)
    with pytest.raises(InvalidInput, match="Forgetful lacks whole_faces"):
        solver(F, Forgetful(capped))


@pytest.mark.parametrize("solver", [iht, frank_wolfe])
@pytest.mark.parametrize(
    "constraint",
    [Capped(SPACE, 2, 0.6), Forgetful(Capped(SPACE, 2, 0.6))],
    ids=["complete", "forgetful"],
)
def test_a_users_cap_is_kept(solver, constraint):
    options = {"rng": 0} if solver is iht else {}
    result = solver(L2(SPACE, np.array([0.85, 0.05, 0.05, 0.05])), constraint, **options)
    assert constraint.contains(result.p)
    assert result.p.max() <= 0.6 + 1e-9


@pytest.mark.parametrize("solver", [exact, greedy])
def test_a_constraint_that_lies_about_its_faces_still_gets_a_member(solver):
    liar = Capped(SPACE, 2, 0.6, whole_faces=True)
    result = solver(L2(SPACE, np.array([0.85, 0.05, 0.05, 0.05])), liar)
    assert liar.contains(result.p)
    assert result.status is not Status.OPTIMAL
    assert "was projected" in result.note


def test_a_projected_answer_is_valued_anew_and_must_have_a_number_for_a_value():
    class Undefined:
        """A number at what the solver yields, none at the projection of it."""

        @staticmethod
        def value(p):
            return 1.0 if p.max() > 0.9 else math.nan

    yielded = [0.925, 0.075, 0.0, 0.0]
    cap = Capped(SPACE, 2, 0.6)
    assert drive(F, cap, steps(yielded)).value == pytest.approx(
        F.value(cap.project(yielded)), abs=1e-15
    )
    with pytest.raises(InvalidInput, match="the objective is not a number at iterate 1"):
        drive(Undefined(), cap, steps(yielded))


def test_tolerance_follows_the_scale_that_an_objective_states():
    class Small:
        scale = 1e-20

    class Plain:
        space = Atoms(4)

        def value(self, p):
            return 1e-9

    assert tolerance(Plain(), 0.0) == pytest.approx(1e-21)
    assert tolerance(Plain(), -50.0) == pytest.approx(5e-5)
    assert tolerance(Small(), 0.0) == pytest.approx(1e-32)
    assert tolerance(Small(), 1e-20) == pytest.approx(1e-26)
    assert tolerance(Plain(), math.inf) == 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-600, 600])
@pytest.mark.parametrize("rule", [Constant, Doubling, Backtracking, Momentum])
@pytest.mark.parametrize("kind", ["moments", "similarities"])
def test_a_step_length_has_the_units_of_the_data(rule, power, kind):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(5, 6)), rng.normal(size=5)
    K, t = A.T @ A, np.full(6, 1 / 6)

    def problem(exponent):
        if kind == "moments":
            return Moments(Atoms(6), np.ldexp(A, exponent // 2), np.ldexp(b, exponent // 2))
        return MMD(Atoms(6), np.ldexp(K, exponent), t)

    start = np.array([0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    for mu in (None, 0.05):
        near, far = (
            iht(
                problem(exponent),
                SparseSimplex(Atoms(6), 2),
                start=start,
                step=rule() if mu is None else rule(mu=math.ldexp(mu, -exponent)),
                max_iter=20,
            )
            for exponent in (0, power)
        )
        np.testing.assert_allclose(far.p, near.p, atol=1e-12)
        assert math.ldexp(far.value, -power) == pytest.approx(near.value, rel=1e-9)


def test_an_operator_with_a_far_offset_keeps_its_bound_below_its_value():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 8)) + 1e8
    operator = LinearOperator(
        A.shape, matvec=lambda v: A @ v, rmatvec=lambda v: A.T @ v, dtype=float
    )
    result = bins(counts=rng.integers(1, 99, 8), k=3, preserve=operator, solver="exact")
    assert result.status is Status.OPTIMAL
    assert result.bound <= result.value
    assert "no bound" not in result.note


@pytest.mark.filterwarnings("error")
def test_rows_whose_value_no_float_holds_are_refused():
    with pytest.raises(InvalidInput, match=r"between 1e-70 and 1e\+70 in size"):
        points(np.array([[0.0], [3e169]]), 1, similarity="linear", solver="exact")
    large = points(np.array([[0.0], [3e69]]), 1, similarity="linear", solver="exact")
    assert large.value == pytest.approx(2.25e138)
    assert large.bound <= large.value


@pytest.mark.filterwarnings("error")
def test_prototypes_are_refined_whatever_the_unit_of_their_bandwidth():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    for gamma in (1.0, 1e149):
        assert FewerPointsClassifier(k=4, gamma=gamma, random_state=0).fit(X, y).score(X, y) > 0.6
    with pytest.raises(InvalidInput, match="gamma must lie between"):
        FewerPointsClassifier(k=4, gamma=1e300).fit(X, y)


def test_rounding_widens_what_counts_as_optimal_and_ordinary_scales_have_no_note():
    F = Moments(Atoms(3), 0.1 * np.eye(3), [0.1, 0.0, 0.0])
    assert 0.0 < F.scale < 1.0
    assert tolerance(F, 0.0) == pytest.approx(1e-12 * F.scale, rel=1e-12, abs=0.0)
    assert tolerance(F, 5.0) == pytest.approx(5e-6)
    assert exact(F, SparseSimplex(F.space, 1)).note == ""


def test_units_are_entries_only_where_they_hold_the_mass():
    simplex = Simplex(Atoms(3))
    p = np.array([0.6, 0.4, 0.0])
    assert units_are_entries(simplex, np.array([0, 1]), p)
    assert not units_are_entries(simplex, np.array([0]), p)


def test_where_the_projected_answer_is_worse_than_the_start_the_start_is_the_answer():
    class Capped:
        """At most 0.6 in each entry: its projection is far from the best member."""

        space = Atoms(2)

        def project(self, v, near=None):
            return np.array([0.4, 0.6])

        def contains(self, p, tol=1e-9):
            return bool(p.max() <= 0.6 + tol)

        def support(self, p):
            return np.flatnonzero(p)

    def outside():
        yield Step(np.array([1.0, 0.0]))
        return Outcome(Status.FINISHED)

    F = L2(Atoms(2), [1.0, 0.0])
    start = np.array([0.6, 0.4])
    found = drive(F, Capped(), outside(), solver="outside", start=start)
    assert found.p.tolist() == start.tolist()
    assert found.value == F.value(start)
    assert "the start is better" in found.note


class CappedThatLies:
    """At most two of three entries, none above 0.6.

    That its faces may be taken whole is not true.
    """

    space, k, n_units, whole_faces = fewer.Atoms(3), 2, 3, True

    def face(self, units):
        return np.asarray(units)

    def project(self, v, near=None):
        order = np.argsort(-np.asarray(v), kind="stable")
        p = np.zeros(3)
        p[order[:2]] = 0.6, 0.4
        return p

    def contains(self, p, tol=1e-9):
        return bool(
            abs(p.sum() - 1) <= tol
            and p.min() >= -tol
            and p.max() <= 0.6 + tol
            and (p > tol).sum() <= 2
        )

    def support(self, p):
        return np.flatnonzero(p)


@pytest.mark.parametrize("start", [[0.9, 0.1, 0.0], [1.0, 0.0, 0.0]])
def test_a_start_outside_the_constraint_is_never_the_answer(start):
    F = fewer.Moments(fewer.Atoms(3), np.eye(3), [1.0, 0.0, 0.0])
    outside = np.array([0.95, 0.05, 0.0])

    def steps():
        yield Step(outside)
        return Outcome(fewer.Status.FINISHED)

    result = drive(F, CappedThatLies(), steps(), start=np.array(start))
    assert result.p.tolist() == [0.6, 0.4, 0.0]
    assert "the start is better" not in result.note


@pytest.mark.parametrize("seed", [1, 2, 28, 56])
def test_a_bound_above_the_value_by_rounding_does_not_blame_the_objective(seed):
    rng = np.random.default_rng(seed)
    A, b = 1e8 + 1e-4 * rng.normal(size=(6, 6)), 1e8 + 1e-5 * rng.normal(size=6)
    far, X = terms(A, b, 4, rng=0), 1e6 + 1e-4 * rng.normal(size=(9, 1))
    near = points(X, 5, gamma=1.0, similarity="matern32", solver="exact", rng=0)
    for result in (far, near):
        assert "no bound is claimed" not in result.note
        assert result.bound is None or result.bound <= result.value


def test_an_answer_at_the_known_lower_bound_is_optimal():
    constant = Moments(Atoms(6), np.full((3, 6), 2.0), np.full(3, 2.0))
    result = exact(constant, GroupSparse(constant.space, [1, 1, 0, 1, 0, 0], 1), rng=0)
    assert (result.value, result.bound, result.status) == (0.0, 0.0, Status.OPTIMAL)


class Far:
    """‖p - q‖² - 1, whose lower bound is said to be 0."""

    lower_bound, scale, smoothness = 0.0, 1.0, 2.0

    def __init__(self, space):
        self.space, self.q = space, np.arange(1.0, space.size + 1) / 21.0

    def value(self, p):
        return float(((p - self.q) ** 2).sum()) - 1.0

    def gradient(self, p):
        return 2.0 * (p - self.q)


def test_a_value_below_the_lower_bound_that_an_objective_names_is_no_proof():
    far = Far(Atoms(6))
    for solver in (exact, greedy, iht):
        result = solver(far, SparseSimplex(far.space, 2))
        assert result.value < -0.7
        assert result.bound is None
        assert result.status is not Status.OPTIMAL
