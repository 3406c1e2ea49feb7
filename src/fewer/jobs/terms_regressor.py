"""`FewerTerms`: the job terms as a scikit-learn regressor."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._validation import as_units, is_frame, known
from ..data.align import group_codes, taken_apart
from ..data.blocks import Blocks, as_blocks, is_lazy, lazily, refuse_for_blocks
from ..data.frames import is_table, names_of
from ..data.names import positions
from ..deadline import Deadline
from ..objectives.moments import as_matrix
from ..progress import as_verbose, watched_by_user
from ..result import Result
from ..solvers.minimize import SOLVERS
from ..spaces import Atoms
from ._estimator import Shown, at_most, our_error, seed_of, unchanged_if_it_fails, validated
from ._lazy import HEAD_ROWS, terms_of_blocks
from .bins_transformer import filled
from .holdings import LOSSES, Holdings, conditions_of
from .sample import as_bytes
from .terms import hinted, solve
from .tracking import Tracked


class FewerTerms(Shown, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Regression by at most k columns with non-negative weights that sum to one; see `terms`.

        min ‖X q - y‖²   over q >= 0, Σ q = 1, at most k entries not zero

    Parameters
    ----------
    k : int
        How many columns may be held; a k above the number of columns means all of them, with a warning.
    min_weight, max_weight : float
        Each weight that is held lies between them.
    include, exclude : list of names or int
        Columns that are held, and columns that are not.
    groups : array of shape (n,), mapping or Series, optional
        A label for each column, by position or by name; limits of groups need it.
    max_per_group, min_per_group : int, mapping or sequence, optional
        How many columns of one label are held, at most and at least: one number for all, numbers by label, or one for
        each label in sorted order. With min_weight = 0 a column may be held at weight zero.
    max_group_weight, min_group_weight : float, mapping or sequence, optional
        The weight of all columns of one label lies between them, such as max_group_weight={"tech": 0.3}.
    previous : array, mapping, Series or Result, optional
        Weights held before, by position or by name.
    max_turnover : float, optional
        Given together with `previous`: `Σ |q - previous|` is at most this.
    constraints : pair (G, h), optional
        G q <= h; see `terms`.
    loss : {"squared", "absolute", "downside"}
        `‖X q - y‖²`, `Σ |X q - y|`, or `Σ max(y - X q, 0)²`, with `sample_weight` as weights of the rows.
    missing : {"error", "drop", "impute", "ffill"}
        How `fit` treats missing values; see `terms`.
    returns : {"simple", "log"}, optional
        X and y of `fit` are prices in order of time, and their returns are compared; `predict` takes returns.
    date : name, optional
        A column of dates of the table X, by which `fit` sorts the rows; it is no candidate.
    validation : float, optional
        A share of the rows for early stopping; see `terms`.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        See `terms`.
    max_memory : int or str
        Data in blocks are gathered where they take at most half of it; see `terms`.
    time_limit : float, optional
        Wall time in seconds, but for compiling, for all targets together.
    random_state : None, int or RandomState
        Seed or generator of the random choices.
    verbose : int
        1 shows a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    coef_ : ndarray of shape (n,) or (targets, n)
        The weights of all columns.
    indices_, weights_ : ndarray, or a list of one for each target
        The columns that are held, in ascending order, and their weights.
    value_, bound_, gap_ : float, or a list of them
        The loss, a proven lower bound on the best one (None where nothing is proven), and their difference.
    result_ : Result, or a list of them

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    >>> model = FewerTerms(k=2).fit(X, X @ [0.25, 0.0, 0.75])
    >>> model.indices_.tolist(), model.weights_.round(6).tolist(), model.coef_.round(6).tolist()
    ([0, 2], [0.25, 0.75], [0.25, 0.0, 0.75])
    """

    indices_: Any
    weights_: Any

    def __init__(
        self,
        k: int = 10,
        *,
        min_weight: float = 0.0,
        max_weight: float = 1.0,
        include: Any = (),
        exclude: Any = (),
        groups: Any = None,
        max_per_group: Any = None,
        min_per_group: Any = None,
        max_group_weight: Any = None,
        min_group_weight: Any = None,
        previous: Any = None,
        max_turnover: float | None = None,
        constraints: Any = None,
        loss: str = "squared",
        missing: str = "error",
        returns: str | None = None,
        date: Any = None,
        validation: float | None = None,
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.max_per_group = max_per_group
        self.min_per_group = min_per_group
        self.max_group_weight = max_group_weight
        self.min_group_weight = min_group_weight
        self.previous = previous
        self.max_turnover = max_turnover
        self.constraints = constraints
        self.loss = loss
        self.missing = missing
        self.returns = returns
        self.date = date
        self.validation = validation
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> "FewerTerms":
        """Find the weights, for each column of y; a time limit is for all of them together."""
        deadline = Deadline.after(self.time_limit)
        with unchanged_if_it_fails(self):
            memory = as_bytes(self.max_memory)
            if is_lazy(X):
                blocks = as_blocks(X, y, sample_weight)
                whole = blocks.gathered(memory // 2)
                if whole is None:
                    self._fit_blocks(blocks, y, sample_weight, deadline)
                    return self
                X, y = whole.X, y if isinstance(y, str) else whole.y
                sample_weight = sample_weight if isinstance(sample_weight, str) else whole.weight
            if (self.missing, self.returns, self.date) != ("error", None, None):
                self._fit_prepared(X, y, sample_weight, deadline)
                return self
            X, y, sample_weight = taken_apart(X, y=y, sample_weight=sample_weight)
            names = names_of(X) if is_table(X) else None
            X, y = validated(self, X, y, accept_sparse="csc", y_numeric=True, multi_output=True)
            matrix, targets = as_matrix(X), np.asarray(y, np.float64)
            include, exclude = positions(self.include, names, "include"), positions(self.exclude, names, "exclude")
            without = as_units(exclude, matrix.shape[1], "columns", "exclude")
            groups = group_codes(self.groups, names, np.setdiff1d(np.arange(matrix.shape[1]), without), without)
            data = Tracked(matrix, targets, names, include, exclude, groups, sample_weight)
            self._keep(self._solve(data, deadline), y.ndim == 1)
        return self

    def _fit_prepared(self, X: Any, y: Any, sample_weight: Any, deadline: Deadline) -> None:
        """Find the weights for one target after rows are sorted, gaps filled and prices turned into returns."""
        columns = {"include": self.include, "exclude": self.exclude, "groups": self.groups}
        rules = {"missing": self.missing, "returns": self.returns, "date": self.date}
        data = Tracked.of(X, y, sample_weight=sample_weight, **columns, **rules).of_features()
        validated(self, data.X, data.y, y_numeric=True)
        if data.names is not None and all(isinstance(name, str) for name in data.names):
            self.feature_names_in_ = np.array(data.names, object)
        self._keep(self._solve(data, deadline), True)

    def _fit_blocks(self, blocks: Blocks, y: Any, sample_weight: Any, deadline: Deadline) -> None:
        """Find the weights for rows that come in blocks: y is given likewise, as an array, or names a column."""
        loss = None if self.loss == "squared" else self.loss
        refuse_for_blocks(validation=self.validation, loss=loss, returns=self.returns, date=self.date)
        head = blocks.head(HEAD_ROWS).X
        summary = terms_of_blocks(blocks, y, sample_weight, self.missing)
        data = summary.tracked(self.include, self.exclude, self.groups)
        columns = head[data.names] if isinstance(y, str) else head
        gaps = self.missing != "error"
        if gaps and is_frame(columns):
            columns, _ = filled(columns)
        finite = "allow-nan" if gaps else True
        validated(self, columns, missing=gaps, accept_sparse="csc", ensure_all_finite=finite)
        self._keep(self._solve(data, deadline), True)

    def _keep(self, results: list[Result], one: bool) -> None:
        """Set what `fit` promises: plain values for one target, lists for several."""
        indices, weights = [result.indices for result in results], [result.weights for result in results]
        self.result_ = results[0] if one else results
        self.coef_ = results[0].p if one else np.array([result.p for result in results])
        self.indices_, self.weights_ = (indices[0], weights[0]) if one else (indices, weights)
        for name in ("value", "bound", "gap"):
            found = [getattr(result, name) for result in results]
            setattr(self, f"{name}_", found[0] if one else found)

    def _limits(self, names: Any, n: int) -> Holdings:
        """What may be held of n columns."""
        known(self.solver, SOLVERS, "solver")
        conditions = conditions_of(self.previous, self.max_turnover, self.constraints, names, n)
        groups_have = self.max_per_group, self.min_per_group, self.max_group_weight, self.min_group_weight
        return Holdings(self.min_weight, self.max_weight, *groups_have, conditions, self.loss)

    def _solve(self, data: Tracked, deadline: Deadline) -> list[Result]:
        """One result for each target."""
        n = data.X.shape[1]
        limits = self._limits(data.names, n)
        k = at_most(self.k, n, "columns")
        C = limits.constraint(Atoms(n), k, data.include, data.exclude, data.groups)
        seed, targets = seed_of(self.random_state), data.y.reshape(len(data.y), -1)
        F, results = limits.objective(data.X, targets[:, 0], data.sample_weight), []
        with watched_by_user(as_verbose(self.verbose), "FewerTerms", deadline, None) as told:
            for done, b in enumerate(targets.T):
                own = deadline.share(1.0 / (targets.shape[1] - done))
                toward = F if targets.shape[1] == 1 else F.toward(b)
                found = hinted(solve(toward, C, self.solver, self.validation, own, seed, told), toward)
                found = found.named("columns", LOSSES[self.loss], data.candidates(n))
                note = "; ".join(filter(None, (found.note, data.note)))
                results.append(replace(found, labels=data.labels(found.indices), note=note))
        return results

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The mixture of the columns, `X @ coef_`."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.predict, None)  # type: ignore[no-any-return]
        X = validated(self, X, accept_sparse="csc", reset=False)
        return np.asarray(X @ self.coef_.T)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The coefficient of determination R² of `predict(X)`."""
        check_is_fitted(self)
        with our_error(), np.errstate(over="ignore", invalid="ignore"):  # squares of huge numbers are infinite
            return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # weights on the simplex cannot fit any target
        return tags
