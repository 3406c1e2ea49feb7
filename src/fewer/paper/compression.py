"""Section 4.2's compression of a histogram to k bins from random expectations: the problem and every method."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._validation import Vector
from ..baselines import least_squares as baselines
from ..constraints.simplex import Simplex
from ..constraints.sparse_simplex import SparseSimplex
from ..jobs.bins import bins
from ..objectives.moments import Moments
from ..programmes import nonnegative_least_squares
from ..solvers.iht import iht, random_member
from ..solvers.steps import Constant, Doubling, Momentum, StepRule
from ..spaces import Atoms
from .data import charges
from .experiment import Row, Setting, thinned


class Size(NamedTuple):
    """Rows of A and B, budgets, iterations of IHT (and tries of Random), matrices B."""

    rows: int
    budgets: tuple[int, ...]
    iterations: int
    tests: int


def size(setting: Setting) -> Size:
    """The paper's size, or a fifth of it."""
    if setting.quick:
        return Size(100, (20, 40, 60, 80, 100), 100, 5)
    return Size(500, (100, 200, 300, 400, 500), 300, 20)


class Problem(NamedTuple):
    """One matrix A: F[q] = ‖A q - A p‖², where p itself is only for testing."""

    F: Moments
    p: Vector
    seed: int
    size: Size

    @property
    def mu(self) -> float:
        """1 / smoothness."""
        return 1.0 / self.F.smoothness

    def sparse(self, k: int) -> SparseSimplex:
        """The k-sparse distributions."""
        return SparseSimplex(self.F.space, k)


def problem(setting: Setting, seed: int) -> Problem:
    """The problem of one seed."""
    p, shape = charges(setting).p, size(setting)
    A = np.random.default_rng(1000 + seed).standard_normal((shape.rows, p.size))
    return Problem(Moments(Atoms(p.size), A, A @ p), p, seed, shape)


def tested(setting: Setting, seed: int, answers: list[Vector]) -> Vector:
    """Mean ‖B (q - p)‖² over the matrices B of a seed, the same B for every method."""
    p, shape = charges(setting).p, size(setting)
    gaps = np.array(answers) - p
    used = np.flatnonzero(gaps.any(axis=0))
    total = np.zeros(len(answers))
    for number in range(shape.tests):
        B = np.random.default_rng([seed, 2000 + number]).standard_normal((shape.rows, p.size), np.float32)
        total += ((B[:, used].astype(np.float64) @ gaps[:, used].T) ** 2).sum(axis=0)
    return total / shape.tests


Answers = Iterator[tuple[int, Vector]]
Method = Callable[[Problem, tuple[int, ...]], Answers]


def stepping(rule: Callable[[float], StepRule], times: int = 1) -> Method:
    """IHT from a random start with a step rule made from mu = 1/L."""

    def run(given: Problem, budgets: tuple[int, ...]) -> Answers:
        for k in budgets:
            T = times * given.size.iterations
            yield k, iht(given.F, given.sparse(k), step=rule(given.mu), max_iter=T, rng=given.seed).p

    return run


def job(**options: Any) -> Method:
    """The job `bins` with these options; a search that no clock cuts short, so that it gives the same again."""

    def run(given: Problem, budgets: tuple[int, ...]) -> Answers:
        for k in budgets:
            yield k, bins(counts=given.p, k=k, preserve=given.F.A, rng=given.seed, **options).p

    return run


def by_baseline(solve: Callable[..., Vector], **options: Any) -> Method:
    """A baseline solved anew for every k."""

    def run(given: Problem, budgets: tuple[int, ...]) -> Answers:
        for k in budgets:
            yield k, solve(given.F.A, given.F.b, k, **options)

    return run


def lasso(choice: str, positive: bool = False) -> Method:
    """Lasso, one path for all k, then projected; gamma the best by training error, 1, or the one that leaves k."""

    def run(given: Problem, budgets: tuple[int, ...]) -> Answers:
        F = given.F
        gammas = [1.0] if choice == "one" else None
        found = baselines.lasso_solutions(F, positive=positive, gammas=gammas)
        for k in budgets:
            enough = [q for q in found if np.count_nonzero(q) >= k] if choice == "entries" else []
            some = enough[:1] or found
            yield k, baselines.best_of(F, [baselines.onto(F, k, q, refit=False) for q in some])

    return run


def length(name: str) -> int:
    """How many times the usual number of iterations a reading of IHT has."""
    return 3 if name.endswith("longer") else 1


def shared(solve: Callable[[Problem], Vector], refit: bool) -> Method:
    """A baseline solved once without k; its k largest entries, projected or refitted."""

    def run(given: Problem, budgets: tuple[int, ...]) -> Answers:
        q = solve(given)
        for k in budgets:
            yield k, baselines.onto(given.F, k, q, refit=refit)

    return run


def whole_simplex(given: Problem) -> Vector:
    """The minimum over all distributions, for the two-stage heuristic of appendix C."""
    n = given.F.space.size
    start = np.full(n, 1.0 / n)
    return iht(given.F, Simplex(given.F.space), step=Momentum(), start=start, max_iter=2000).p


def at_random(given: Problem, budgets: tuple[int, ...]) -> Answers:
    """The best of as many random k-sparse distributions as IHT has iterations."""
    for k in budgets:
        yield k, baselines.at_random(given.F.A, given.F.b, k, tries=given.size.iterations, rng=given.seed)


IHTS: dict[str, tuple[str, Callable[[float], StepRule]]] = {
    "IHT": ("doubling from 1/L, trapped = the support has not changed", Doubling),
    "IHT, trapped=seen": (
        "doubling from 1/L, trapped = the support was met before",
        lambda mu: Doubling(mu, "seen"),
    ),
    "IHT, from 4/L, longer": (
        "doubling from 4/L, trapped = the support has not changed, three times as many iterations",
        lambda mu: Doubling(4.0 * mu),
    ),
    "IHT, constant 1/L": (
        "constant step 1/L as in theorem 4, which is also doubling with trapped = the value has not improved, as it "
        "always improves",
        Constant,
    ),
}
"""Readings of the paper's IHT: in words, and the step rule made from 1/L."""
LASSOS = {
    "Lasso": "gamma the best of 20 by training error",
    "Lasso, gamma = 1": "gamma = 1",
    "Lasso, k entries": "the largest gamma that leaves k entries",
}
"""Readings of the paper's Lasso: how gamma is chosen."""
PAPER: dict[str, Method] = {
    "Lasso": lasso("best"),
    "Lasso, gamma = 1": lasso("one"),
    "Lasso, k entries": lasso("entries"),
    "Random": at_random,
}
OURS: dict[str, Method] = {
    "exchange": job(solver="exchange"),
    "exchange, validated": job(solver="exchange", validation=0.1),
    "IHT with refits": job(solver="iht"),
    "IHT with momentum": stepping(Momentum),
}
STRONGER: dict[str, Method] = {
    "Lasso >= 0": lasso("best", positive=True),
    "OMP": by_baseline(baselines.matching_pursuit),
    "NNLS, k largest": shared(lambda given: nonnegative_least_squares(given.F.A, given.F.b), refit=True),
    "two-stage": shared(whole_simplex, refit=False),
    "accelerated IHT": by_baseline(baselines.accelerated_iht),
}
METHODS: dict[str, Method] = {
    **{name: stepping(rule, length(name)) for name, (_, rule) in IHTS.items()},
    **PAPER,
    **OURS,
    **STRONGER,
}


def by_budget(setting: Setting, seed: int, method: str) -> list[Row]:
    """A row for each k: train and test error, and the seconds for this k."""
    given = problem(setting, seed)
    found, seconds = [], []
    clock = time.perf_counter()
    for k, q in METHODS[method](given, given.size.budgets):
        seconds.append(time.perf_counter() - clock)
        found.append((k, q))
        clock = time.perf_counter()
    tests = tested(setting, seed, [q for _, q in found])
    rows = zip(found, tests, seconds, strict=True)
    return [Row(seed, method, k, given.F.value(q), float(test), took) for (k, q), test, took in rows]


def along(setting: Setting, seed: int, method: str) -> list[Row]:
    """At k = 200: train and test error of the best iterate so far of IHT; one row for what is no path."""
    given = problem(setting, seed)
    k, T = given.size.budgets[1], length(method) * given.size.iterations
    if method not in IHTS:
        began = time.perf_counter()
        q = next(METHODS[method](given, (k,)))[1]
        seconds = time.perf_counter() - began
        return [Row(seed, method, T, given.F.value(q), float(tested(setting, seed, [q])[0]), seconds)]
    start = random_member(given.sparse(k), np.random.default_rng(seed))
    best = [(given.F.value(start), 0.0, start)]

    def note(progress: Any) -> None:
        lower_now = progress.value < best[-1][0]
        best.append(
            (progress.value, progress.seconds, progress.p.copy())
            if lower_now
            else (best[-1][0], progress.seconds, best[-1][2])
        )

    iht(given.F, given.sparse(k), step=IHTS[method][1](given.mu), max_iter=T, start=start, callback=note)
    at = [min(t, len(best) - 1) for t in thinned(T)]
    tests = tested(setting, seed, [best[i][2] for i in at])
    rows = zip(thinned(T), at, tests, strict=True)
    return [Row(seed, method, t, best[i][0], float(test), best[i][1]) for t, i, test in rows]
