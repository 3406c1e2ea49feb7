"""A k-term convex combination of columns that tracks a target."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..constraints.sparse_simplex import SparseSimplex
from ..door import Indices, InvalidInput, Vector, as_integer, as_number, as_vector, known
from ..objectives.moments import Moments, as_matrix
from ..result import Result
from ..solvers import places
from ..solvers._drive import Callback, Progress, Steps, as_generator, drive
from ..solvers._exchange import refitted
from ..solvers.frank_wolfe import frank_wolfe
from ..spaces import Atoms

AUTO_SECONDS = 10.0
"""How long "auto" searches and bounds when no time limit is given."""


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
    (r,) weighs the squared errors. `validation`, a share of the rows, is kept for choosing between the answers that
    the solver meets; the choice is then refitted on all rows.

    Solvers: "greedy" (Algorithm 3), "iht" (Algorithm 1 with momentum and refits), "frank_wolfe" (the convex
    relaxation, its answer projected), "exchange" (a path of non-negative least squares, swaps, kicks), "exact"
    (exchange, then until the optimum is proven) and "auto" (the same for 10 s unless `time_limit` says else). A is
    dense (float32 stays so), `scipy.sparse` or a `LinearOperator`; memory is A and a small multiple of k r.

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
    weights = as_vector(sample_weight, target.shape, "sample_weight")
    if weights.min() < 0:
        raise InvalidInput(f"sample_weight must be non-negative, got {weights.min()} at index {int(weights.argmin())}")
    if weights.max() == 0:
        raise InvalidInput("sample_weight must have a positive sum, got all zeros")
    if isinstance(matrix, LinearOperator):
        raise InvalidInput("sample_weight needs a dense or sparse A; scale the rows of a LinearOperator beforehand")
    root = np.sqrt(weights)
    if isinstance(matrix, np.ndarray):
        return matrix * root[:, None].astype(matrix.dtype), target * root
    return matrix.multiply(root[:, None]).tocsc(), target * root


Start = Callable[[Any, SparseSimplex, np.random.Generator], Steps]
SOLVERS: dict[str, Start | None] = {
    "auto": places.exact,
    "exact": places.exact,
    "exchange": places.exchange,
    "frank_wolfe": None,  # a solver of its own
    "greedy": places.greedy,
    "iht": places.iht,
}


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
    if time_limit is None and solver == "auto":
        time_limit = AUTO_SECONDS
    generator, seed = as_generator(rng)
    if validation is None:
        return replace(run(F, C, solver, time_limit, callback, generator), seed=seed)
    return replace(choose(F, C, solver, validation, time_limit, callback, generator), seed=seed)


def run(
    F: Moments,
    C: SparseSimplex,
    solver: str,
    time_limit: float | None,
    callback: Callback | None,
    rng: np.random.Generator,
) -> Result:
    """One solver on all rows of F."""
    start = SOLVERS[solver]
    if start is None:
        return frank_wolfe(F, C, time_limit=time_limit, callback=callback)
    return drive(F, C, start(F, C, rng), time_limit=time_limit, callback=callback)


def choose(
    F: Moments,
    C: SparseSimplex,
    solver: str,
    validation: float,
    time_limit: float | None,
    callback: Callback | None,
    rng: np.random.Generator,
) -> Result:
    """Solve on most rows, keep of all answers met the best on the rest, refit it on all rows."""
    share = as_number(validation, "validation")
    rows = len(F.b)
    held = max(round(share * rows), 1)
    if share >= 1.0 or rows < 2 or isinstance(F.A, LinearOperator):
        raise InvalidInput(
            f"validation must be a share of the rows in (0, 1) of a dense or sparse A with at least two rows, "
            f"got {validation!r} of {rows} rows"
        )
    order = rng.permutation(rows)
    kept, out = np.sort(order[held:]), np.sort(order[:held])
    fitted, judge = (Moments(F.space, F.A[part], F.b[part]) for part in (kept, out))
    met: list[tuple[float, Indices]] = []

    def judged(progress: Progress) -> Any:
        met.append((judge.value(progress.p), C.support(progress.p)))
        return callback(progress) if callback is not None else None

    result = run(fitted, C, solver, time_limit, judged, rng)
    _, support = min(met, key=lambda pair: pair[0])
    p = places.as_point(refitted(F, C, np.union1d(support, C.include)), C)
    return replace(result, p=p, value=F.value(p), support=C.support(p), bound=None)


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
        matrix, results = as_matrix(X), []
        for target in np.atleast_2d(np.asarray(y, np.float64).T):
            A, b = (matrix, target) if sample_weight is None else weigh(matrix, target, sample_weight)
            results.append(solve(Moments(C.space, A, b), C, self.solver, None, self.time_limit, seed))
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
