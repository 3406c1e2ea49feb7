"""A k-term convex combination of columns that tracks a target."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..constraints.sparse_simplex import SparseSimplex
from ..door import InvalidInput, Vector, as_integer, as_number, as_vector, known
from ..objectives.moments import Moments, as_matrix
from ..result import Result, Status
from ..solvers import places
from ..solvers._drive import Callback, Outcome, Progress, Step, Steps, as_generator, drive
from ..solvers._starts import path
from ..solvers.frank_wolfe import frank_wolfe
from ..spaces import Atoms

AUTO_SECONDS = 10.0
"""How long "auto" searches and bounds when no time limit is given."""
TINY = 1e-300


def terms(
    A: Any,
    b: npt.ArrayLike,
    k: int,
    *,
    min_weight: float = 0.0,
    max_weight: float = 1.0,
    include: npt.ArrayLike = (),
    exclude: npt.ArrayLike = (),
    groups: npt.ArrayLike | None = None,
    max_per_group: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    validation: float | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """Weights q on at most k columns of A (r, n) that track b (r,): min ‖A q - b‖², q >= 0, Σ q = 1.

    Each weight that is held lies in [min_weight, max_weight]; the columns of `include` are held, those of `exclude`
    are not, and of the columns with the same label in `groups` (n,) at most `max_per_group` are. `sample_weight`
    (r,) weighs the squared errors. `validation`, a share of the rows, is kept back to choose how far down the
    solver should go, which is then done on all rows: less training error can mean more error elsewhere.

    Solvers: "greedy" (Algorithm 3), "iht" (Algorithm 1 with momentum and refits, from a path of non-negative least
    squares), "frank_wolfe" (the convex relaxation, its answer projected), "exchange" (such a path, swaps, kicks),
    "exact" (exchange, then until the optimum is proven) and "auto" (the same for 10 s unless `time_limit` says else).
    A is dense (float32 stays so), `scipy.sparse` or a `LinearOperator`; memory is A and a small multiple of k r.

    >>> A, b = np.eye(4), [0.5, 0.3, 0.2, 0.0]
    >>> result = terms(A, b, 2, rng=0)
    >>> result.support.tolist(), result.p.round(6).tolist(), round(abs(result.gap), 6)
    ([0, 1], [0.6, 0.4, 0.0, 0.0], 0.0)
    """
    matrix = as_matrix(A)
    target = as_vector(b, (matrix.shape[0],), "b")
    if sample_weight is not None:
        matrix, target = weigh(matrix, target, sample_weight)
    space = Atoms(matrix.shape[1])
    C = SparseSimplex(space, k, min_weight, max_weight, include, exclude, groups, max_per_group)
    return solve(Moments(space, matrix, target), C, solver, validation, time_limit, rng, callback)


def weigh(matrix: Any, target: Vector, sample_weight: npt.ArrayLike) -> tuple[Any, Vector]:
    """Rows scaled so that their squared errors count by their weight."""
    weights = as_vector(sample_weight, target.shape[:1], "sample_weight")
    if weights.min() < 0:
        raise InvalidInput(f"sample_weight must be non-negative, got {weights.min()} at index {int(weights.argmin())}")
    if weights.max() == 0:
        raise InvalidInput("sample_weight must have a positive sum, got all zeros")
    if isinstance(matrix, LinearOperator):
        raise InvalidInput("sample_weight needs a dense or sparse A; scale the rows of a LinearOperator beforehand")
    root = np.sqrt(weights)
    if isinstance(matrix, np.ndarray):
        return matrix * root[:, None].astype(matrix.dtype), (target.T * root).T
    return matrix.multiply(root[:, None]).tocsc(), (target.T * root).T


Start = Callable[..., Steps]
SOLVERS: dict[str, Start | None] = {
    "auto": places.exact,
    "exact": places.exact,
    "exchange": places.exchange,
    "frank_wolfe": None,  # a solver of its own
    "greedy": places.greedy,
    "iht": places.iht,
}
SEARCHES = {"auto", "exact", "exchange"}
"""Solvers that take an effort: how long kicks go on."""


class Run(NamedTuple):
    """A solver by name, ready for any least squares on the same columns."""

    constraint: SparseSimplex
    solver: str
    time_limit: float | None
    rng: np.random.Generator

    def __call__(self, F: Moments, callback: Callback | None = None, effort: float | None = None) -> Result:
        """The solver's answer for F; without an effort, kicks use up a time limit that is set."""
        start, C = SOLVERS[self.solver], self.constraint
        limit = AUTO_SECONDS if self.time_limit is None and self.solver == "auto" else self.time_limit
        if start is None:
            return frank_wolfe(F, C, time_limit=limit, callback=callback)
        if effort is None:
            effort = 1.0 if self.time_limit is None else math.inf
        steps = start(F, C, self.rng, effort) if self.solver in SEARCHES else start(F, C, self.rng)
        return drive(F, C, steps, time_limit=limit, callback=callback)


def solve(
    F: Moments,
    C: SparseSimplex,
    solver: str,
    validation: float | None,
    time_limit: float | None,
    rng: Any,
    callback: Callback | None = None,
) -> Result:
    """Run a solver by name on least squares, with or without rows kept for choosing."""
    known(solver, SOLVERS, "solver")
    generator, seed = as_generator(rng)
    run = Run(C, solver, time_limit, generator)
    found = run(F, callback) if validation is None else choose(F, run, validation, callback)
    return replace(found, seed=seed)


def choose(F: Moments, run: Run, validation: float, callback: Callback | None) -> Result:
    """Solve on most rows and let the rest say how far down to go; then go as far on all rows.

    How far is F of an answer as a share of F of the first, which is the projection of non-negative least squares. Of
    the answers met the first is taken whose error on the rest is not above the best one's by more than the standard
    error of their difference (Breiman et al. 1984): a few rows cannot tell more.
    """
    share = as_number(validation, "validation")
    rows = len(F.b)
    held = max(round(share * rows), 1)
    if share >= 1.0 or rows < 2 or isinstance(F.A, LinearOperator):
        raise InvalidInput(
            f"validation must be a share of the rows in (0, 1) of a dense or sparse A with at least two rows, "
            f"got {validation!r} of {rows} rows"
        )
    order = run.rng.permutation(rows)
    kept, out = np.sort(order[held:]), np.sort(order[:held])
    fitted, judge = (Moments(F.space, F.A[part], F.b[part]) for part in (kept, out))
    first = positive(fitted, run.constraint)
    values, errors, stopped = [first.value], [squares(judge, first.p)], []

    def judged(progress: Progress) -> Any:
        values.append(progress.value)
        errors.append(squares(judge, progress.p))
        stopped.extend([True] if callback is not None and callback(progress) else [])
        return stopped

    run(fitted, judged, effort=0.0)
    whole = positive(F, run.constraint)
    chosen = first_as_good(np.array(errors))
    enough = values[chosen] * (whole.value / max(first.value, TINY))
    if stopped or chosen == 0 or enough >= whole.value:
        return replace(whole, status=Status.CALLBACK if stopped else Status.FINISHED)

    def far_enough(progress: Progress) -> Any:
        stopped.extend([True] if callback is not None and callback(progress) else [])
        return stopped or progress.value <= enough

    result = run(F, far_enough, effort=0.0)
    return replace(result, bound=None, status=Status.CALLBACK if stopped else Status.FINISHED)


def squares(F: Moments, p: Vector) -> Vector:
    """The squared error of each row."""
    held = np.flatnonzero(p)
    return F.residual(held, p[held]) ** 2


def first_as_good(errors: Vector) -> int:
    """The first of some answers whose errors (answers, rows) sum to no more than the least, but for a standard error.

    >>> first_as_good(np.array([[9.0, 9.0, 9.0], [1.0, 2.1, 3.0], [1.0, 3.0, 2.0]]))
    1
    """
    best = int(np.argmin(errors.sum(axis=1)))
    above = errors - errors[best]
    spread = np.sqrt(above.shape[1]) * above.std(axis=1)
    return int(np.argmax(above.sum(axis=1) <= spread))


def positive(F: Moments, C: SparseSimplex) -> Result:
    """Non-negative least squares without the sum constraint, projected: an answer that has not been polished."""
    q = np.zeros(C.space.size)
    units, weights = path(F, C, len(F.b), summed=False)
    q[units] = weights
    return drive(F, C, answered(C.project(q), Status.FINISHED))


def answered(p: Vector, status: Status) -> Steps:
    """A solver that knows its answer."""
    value = yield Step(p)
    return Outcome(status, value if status is Status.OPTIMAL else None)


class FewerTerms(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Regression by at most k columns with non-negative weights that sum to one; see `terms`.

    After `fit(X, y)`: `coef_` (n,), or (t, n) for t targets, `support_` (sorted column indices, a list of them for
    several targets), `value_`, `bound_`, `gap_` and `result_` likewise. `predict` is X coef_.

    >>> X = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    >>> model = FewerTerms(k=2).fit(X, X @ [0.25, 0.0, 0.75])
    >>> model.support_.tolist(), model.coef_.round(6).tolist()
    ([0, 2], [0.25, 0.0, 0.75])
    """

    def __init__(
        self,
        k: int = 10,
        *,
        min_weight: float = 0.0,
        max_weight: float = 1.0,
        include: Any = (),
        exclude: Any = (),
        groups: Any = None,
        max_per_group: int | None = None,
        solver: str = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.max_per_group = max_per_group
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> "FewerTerms":
        """Find the weights, for each column of y."""
        X, y = validate_data(self, X, y, accept_sparse="csc", y_numeric=True, multi_output=True)
        k = min(as_integer(self.k, "k", 1), X.shape[1])
        bounds = self.min_weight, self.max_weight, self.include, self.exclude, self.groups, self.max_per_group
        C = SparseSimplex(Atoms(X.shape[1]), k, *bounds)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        matrix, targets = as_matrix(X), np.asarray(y, np.float64).reshape(len(y), -1)
        if sample_weight is not None:
            matrix, targets = weigh(matrix, targets, sample_weight)
        F, results = Moments(C.space, matrix, targets[:, 0]), []
        for b in targets.T:
            F = F.toward(b)
            results.append(solve(F, C, self.solver, None, self.time_limit, seed))
        one = y.ndim == 1
        self.result_ = results[0] if one else results
        self.coef_ = results[0].p if one else np.array([r.p for r in results])
        self.support_ = results[0].support if one else [r.support for r in results]
        for name in ("value", "bound", "gap"):
            found = [getattr(r, name) for r in results]
            setattr(self, f"{name}_", found[0] if one else found)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """X coef_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csc", reset=False)
        return np.asarray(X @ self.coef_.T)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # weights on the simplex cannot fit any target
        return tags
