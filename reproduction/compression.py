"""Section 4.2's compression of a histogram to k bins from random expectations: the problem and every method."""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path, orthogonal_mp

from fewer import (
    Atoms,
    Constant,
    Doubling,
    Moments,
    Momentum,
    Refitting,
    Simplex,
    SparseSimplex,
    bins,
    iht,
)

from .arrays import Indices, Vector, project_simplex, random_start
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
    """The problem of one seed.

    a fresh one, so that no method profits from what another computed.
    """
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
        B = np.random.default_rng([seed, 2000 + number]).standard_normal(
            (shape.rows, p.size), np.float32
        )
        total += ((B[:, used].astype(np.float64) @ gaps[:, used].T) ** 2).sum(axis=0)
    return total / shape.tests


Answers = Iterator[tuple[int, Vector]]
Method = Callable[[Problem, tuple[int, ...]], Answers]


def step_rule(task: Problem, rule: Callable[..., Any], factor: float, **options: Any) -> Any:
    """The step rule that begins at factor / L."""
    return rule(factor * task.mu, **options)


def stepping(
    task: Problem,
    budgets: tuple[int, ...],
    *,
    rule: Callable[..., Any],
    factor: float,
    times: int = 1,
    **options: Any,
) -> Answers:
    """IHT from a random start: a step rule that begins at factor / L, `times` as many iterations."""
    for k in budgets:
        step = step_rule(task, rule, factor, **options)
        yield (
            k,
            iht(
                task.F,
                task.sparse(k),
                step=step,
                max_iter=times * task.size.iterations,
                rng=task.seed,
            ).p,
        )


def job(task: Problem, budgets: tuple[int, ...], **options: Any) -> Answers:
    """The job `bins` with these options.

    a search that no clock cuts short, so that it gives the same again.
    """
    for k in budgets:
        yield k, bins(counts=task.p, k=k, preserve=task.F.A, rng=task.seed, **options).p


def largest(v: Vector, k: int) -> Indices:
    """Sorted indices of the k largest entries; among equals the lowest indices."""
    return np.sort(np.argsort(-v, kind="stable")[:k])


def onto(F: Moments, k: int, q: Vector, refit: bool) -> Vector:
    """A vector brought onto the k-sparse simplex on its k largest positive entries: projected, or refitted.

    Entries at zero stay out. Filling up with them in index order would hand a histogram, whose mass
    lies in its first bins, a support that the baseline never chose.
    """
    entries = largest(q, k)
    positive = entries[q[entries] > 0.0]
    entries = positive if positive.size else entries[:1]
    p = np.zeros(q.size)
    p[entries] = project_simplex(q[entries])
    return F.best_on(entries) if refit else p


def pursuit(task: Problem, budgets: tuple[int, ...]) -> Answers:
    """Orthogonal matching pursuit, one path for all k, then projected."""
    F = task.F
    steps = min(max(budgets), len(F.b))
    path = np.asarray(orthogonal_mp(F.A, F.b, n_nonzero_coefs=steps, return_path=True))
    path = path.reshape(F.space.size, -1)
    for k in budgets:
        yield k, onto(F, k, path[:, min(k, path.shape[1]) - 1], refit=False)


def accelerated(task: Problem, budgets: tuple[int, ...]) -> Answers:
    """Accelerated IHT with refits from the k steepest entries, anew for every k."""
    F = task.F
    for k in budgets:
        start = F.best_on(largest(-F.gradient(np.zeros(F.space.size)), k))
        yield k, iht(F, task.sparse(k), start=start, step=Refitting(), max_iter=300).p


def lasso(
    task: Problem, budgets: tuple[int, ...], *, gamma: str, positive: bool = False
) -> Answers:
    """Lasso, min ‖A q - b‖² + gamma ‖q‖₁, one path for all k, then projected.

    gamma is the best of 20 by training error, from the largest useful one down to a thousandth of
    it; 1; or the largest that leaves k entries.
    """
    F = task.F
    steepest = float(np.abs(F.A.T @ F.b).max()) / len(F.b)
    gammas = steepest * np.logspace(0, -3, 20)
    if gamma == "one":
        gammas = np.array([0.5 / len(F.b)])
    with warnings.catch_warnings():  # the smallest gammas end at max_iter
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, paths, _ = lasso_path(F.A, F.b, positive=positive, alphas=gammas, max_iter=2000)
    path = list(paths.T)
    for k in budgets:
        enough = [q for q in path if np.count_nonzero(q) >= k] if gamma == "entries" else []
        answers = [onto(F, k, q, refit=False) for q in enough[:1] or path]
        yield k, min(answers, key=F.value)


def nonnegative_whole(F: Moments) -> Vector:
    """Least squares over q >= 0, by SciPy's active set."""
    return np.asarray(nnls(F.A, F.b)[0])


def simplex_whole(F: Moments) -> Vector:
    """Least squares over the whole simplex by accelerated projected steps."""
    even = np.full(F.space.size, 1 / F.space.size)
    return iht(F, Simplex(F.space), step=Momentum(), start=even, max_iter=2000).p


def once(
    task: Problem, budgets: tuple[int, ...], *, solve: Callable[[Moments], Vector], refit: bool
) -> Answers:
    """A baseline solved once without k; its k largest entries, projected or refitted."""
    q = solve(task.F)
    for k in budgets:
        yield k, onto(task.F, k, q, refit=refit)


def at_random(task: Problem, budgets: tuple[int, ...]) -> Answers:
    """The best of as many random k-sparse distributions as IHT has iterations."""
    F = task.F
    for k in budgets:
        generator = np.random.default_rng(task.seed)
        best, lowest = np.zeros(F.space.size), np.inf
        for _ in range(task.size.iterations):
            entries = generator.choice(F.space.size, k, replace=False)
            weights = generator.dirichlet(np.ones(k))
            residual = F.A[:, entries] @ weights - F.b
            if residual @ residual < lowest:
                lowest = float(residual @ residual)
                best = np.zeros(F.space.size)
                best[entries] = weights
        yield k, best


IHTS: dict[str, "partial[Answers]"] = {
    "IHT": partial(stepping, rule=Doubling, factor=1.0),
    "IHT, trapped=seen": partial(stepping, rule=Doubling, factor=1.0, trapped="seen"),
    "IHT, from 4/L, longer": partial(stepping, rule=Doubling, factor=4.0, times=3),
    "IHT, constant 1/L": partial(stepping, rule=Constant, factor=1.0),
}
"""Readings of the paper's IHT."""
WORDS = {
    "IHT": "doubling from 1/L, trapped = the support has not changed",
    "IHT, trapped=seen": "doubling from 1/L, trapped = the support was met before",
    "IHT, from 4/L, longer": (
        "doubling from 4/L, trapped = the support has not changed, three times as many iterations"
    ),
    "IHT, constant 1/L": (
        "constant step 1/L as in theorem 4, which is also doubling with trapped = the value has not"
        " improved, as it always improves"
    ),
}
"""Readings in words."""
LASSOS = {
    "Lasso": "gamma the best of 20 by training error",
    "Lasso, gamma = 1": "gamma = 1",
    "Lasso, k entries": "the largest gamma that leaves k entries",
}
"""Readings of the paper's Lasso: how gamma is chosen."""
PAPER: dict[str, "partial[Answers]"] = {
    "Lasso": partial(lasso, gamma="best"),
    "Lasso, gamma = 1": partial(lasso, gamma="one"),
    "Lasso, k entries": partial(lasso, gamma="entries"),
    "Random": partial(at_random),
}
OURS: dict[str, "partial[Answers]"] = {
    "exchange": partial(job, solver="exchange"),
    "exchange, validated": partial(job, solver="exchange", validation=0.1),
    "IHT with refits": partial(job, solver="iht"),
    "IHT with momentum": partial(stepping, rule=Momentum, factor=1.0),
}
STRONGER: dict[str, "partial[Answers]"] = {
    "Lasso >= 0": partial(lasso, gamma="best", positive=True),
    "OMP": partial(pursuit),
    "NNLS, k largest": partial(once, solve=nonnegative_whole, refit=True),
    "two-stage": partial(once, solve=simplex_whole, refit=False),
    "accelerated IHT": partial(accelerated),
}
METHODS: dict[str, "partial[Answers]"] = {**IHTS, **PAPER, **OURS, **STRONGER}


def length(name: str, setting: Setting) -> int:
    """The iterations of a method."""
    times: int = METHODS[name].keywords.get("times", 1)
    return times * size(setting).iterations


def by_budget(setting: Setting, seed: int, method: str) -> list[Row]:
    """A row for each k: train and test error, and the seconds for this k."""
    task = problem(setting, seed)
    answers, seconds = [], []
    clock = time.perf_counter()
    for k, q in METHODS[method](task, task.size.budgets):
        seconds.append(time.perf_counter() - clock)
        answers.append((k, q))
        clock = time.perf_counter()
    tests = tested(setting, seed, [q for _, q in answers])
    rows = zip(answers, tests, seconds, strict=True)
    return [Row(seed, method, k, task.F.value(q), float(test), took) for (k, q), test, took in rows]


def along(setting: Setting, seed: int, method: str) -> list[Row]:
    """At k = 200: train and test error of the best iterate so far of IHT.

    One row for what is no path.
    """
    task = problem(setting, seed)
    k, T = task.size.budgets[1], length(method, setting)
    if method not in IHTS:
        began = time.perf_counter()
        q = next(METHODS[method](task, (k,)))[1]
        seconds = time.perf_counter() - began
        return [
            Row(seed, method, T, task.F.value(q), float(tested(setting, seed, [q])[0]), seconds)
        ]
    start = random_start(task.sparse(k), np.random.default_rng(seed))
    best = [(task.F.value(start), 0.0, start)]

    def note(progress: Any) -> None:
        lower_now = progress.value < best[-1][0]
        best.append(
            (progress.value, progress.seconds, progress.p.copy())
            if lower_now
            else (best[-1][0], progress.seconds, best[-1][2])
        )

    options = {name: value for name, value in IHTS[method].keywords.items() if name != "times"}
    iht(
        task.F,
        task.sparse(k),
        step=step_rule(task, **options),
        max_iter=T,
        start=start,
        callback=note,
    )
    at = [min(t, len(best) - 1) for t in thinned(T)]
    tests = tested(setting, seed, [best[i][2] for i in at])
    rows = zip(thinned(T), at, tests, strict=True)
    return [Row(seed, method, t, best[i][0], float(test), best[i][1]) for t, i, test in rows]
