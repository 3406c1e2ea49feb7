"""`FewerDims`: the job dims as a scikit-learn selector."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted, check_non_negative

from .._validation import Indices, InvalidInput, as_numbers, known
from ..data.align import taken_apart
from ..data.blocks import Block, Blocks, as_blocks, head_of, is_lazy, lazily, refuse_for_blocks
from ..data.frames import is_table, names_of
from ..deadline import Deadline
from ..progress import as_verbose, watched_by_user
from ..row_blocks import Tree
from ..solvers.minimize import SOLVERS
from ._dims_blocks import DimsSpec, DimsSummary
from ._estimator import Shown, Streaming, at_most, our_error, readable, seed_of, unchanged_if_it_fails, validated
from ._lazy import dims_spec, dims_summary
from .coding import Coding, named_baseline
from .dims import OBJECTIVES, cover, coverage, has_labels, one_limit, take_columns
from .sample import as_bytes


class FewerDims(Shown, Streaming, SelectorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Select at most k columns that cover the most rows; see `dims` for what is minimised.

    Parameters
    ----------
    k : int
        How many columns are kept, or units; a k above their number means all of them, with a warning. Not used where
        there is a `budget`.
    units, costs : array of shape (n,), mapping or Series, optional
        Labels of columns that are chosen together, and what columns cost; see `dims`.
    budget : float, optional
        What may be spent on `costs`, instead of k.
    objective : {"kl", "l2"}
        What is minimised.
    baseline : {"auto", "zero", "mode"}, mapping or array of shape (n,)
        What counts as absent; see `dims`.
    include, exclude : list of names or int
        Columns to keep in any case, and columns never to keep.
    missing : {"error", "drop", "impute", "category"}
        How to treat missing values of a table; see `dims`.
    columns : mapping or list of names, optional
        What columns of a table are; see `dims`.
    solver : {"auto", "exact", "exchange", "greedy", "iht"}
        See `dims`.
    max_memory : int or str
        What data in blocks and streams may take; see `dims`.
    time_limit : float, optional
        Wall time in seconds, but for compiling; a search goes on until it is over or the optimum is proven.
    random_state : None, int or RandomState
        Seed or generator of the random choices.
    verbose : int
        1 shows a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    indices_ : ndarray of int
        The columns that were kept, sorted.
    support_ : ndarray of bool of shape (n,)
        The same as a mask, as scikit-learn's selectors have it.
    coverage_ : float
        The share of the rows' weight that the columns cover.
    value_, bound_, gap_ : float
        The loss, a proven lower bound on it (None where nothing is proven), and their difference.
    distribution_ : Distribution
        The distribution on the states of these columns.
    baseline_ : ndarray of int of shape (n,)
        The code that counts as absent in each column.
    levels_ : list of ndarray, or None
        The labels of each column of a table with labels, in the order of their codes; None for columns of numbers.
    result_ : Result

    Examples
    --------
    >>> orders = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> selector = FewerDims(k=2).fit(orders)
    >>> selector.indices_.tolist(), round(selector.coverage_, 3), selector.score([[0, 1, 0, 0], [0, 1, 1, 0]])
    ([0, 1], 0.6, 0.5)

    """

    def __init__(
        self,
        k: int = 10,
        *,
        units: Any = None,
        costs: Any = None,
        budget: float | None = None,
        objective: str = "kl",
        baseline: Any = "auto",
        include: Any = (),
        exclude: Any = (),
        missing: str = "error",
        columns: Any = None,
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.units = units
        self.costs = costs
        self.budget = budget
        self.objective = objective
        self.baseline = baseline
        self.include = include
        self.exclude = exclude
        self.missing = missing
        self.columns = columns
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerDims":
        """Choose the columns; y is ignored."""
        deadline = Deadline.after(self.time_limit)
        given = {name: getattr(self, name) for name in ("baseline", "units", "costs", "include", "exclude", "missing")}
        with unchanged_if_it_fails(self):
            self._no_stream()
            memory = as_bytes(self.max_memory)
            if is_lazy(X):
                blocks = as_blocks(X, None, sample_weight)
                whole = blocks.gathered(memory // 2)
                if whole is None:
                    self._fit_blocks(blocks, sample_weight, memory, deadline)
                    return self
                X, sample_weight = whole.X, sample_weight if isinstance(sample_weight, str) else whole.weight
            X, sample_weight = taken_apart(X, sample_weight=sample_weight)
            known(self.objective, dict.fromkeys(OBJECTIVES), "objective")
            known(self.solver, dict.fromkeys(SOLVERS), "solver")
            names = names_of(X) if is_table(X) else None
            if names is None or (self.columns is None and not has_labels(X)):
                X = validated(self, X, accept_sparse="csr", dtype="numeric")
                with our_error():
                    check_non_negative(X, "FewerDims.fit")
                given["names"] = names
                if isinstance(self.baseline, Mapping) and names is not None:
                    given["baseline"] = named_baseline(self.baseline, names)
            else:
                self._check_columns(X, reset=True)
                given["columns"] = self.columns
            self._fit(Coding.of(X, sample_weight=sample_weight, **given), deadline)
        return self

    def _fit_blocks(self, blocks: Blocks, sample_weight: Any, memory: int, deadline: Deadline) -> None:
        """Choose columns of rows that come in blocks."""
        refuse_for_blocks(units=self.units, costs=self.costs, budget=self.budget)
        self._check_head(taken_apart(blocks.head(1024).X, sample_weight=sample_weight)[0])
        how = (sample_weight, self.baseline, self.missing, self.columns)
        self._fit_summary(dims_summary(blocks, dims_spec(blocks, self.k, memory, self.objective, *how)), deadline)

    def _check_head(self, X: Any, reset: bool = True) -> None:
        """What scikit-learn keeps of the columns."""
        known(self.objective, dict.fromkeys(OBJECTIVES), "objective")
        known(self.solver, dict.fromkeys(SOLVERS), "solver")
        if is_table(X):
            self._check_columns(X, reset)
        else:
            validated(self, X, accept_sparse="csr", dtype="numeric", reset=reset)

    def _check_columns(self, X: Any, reset: bool) -> None:
        """Keep the names and the number of the columns of a table, or compare them with those that are kept."""
        with our_error():
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerDims":
        """Learn from more rows of a stream: distinct states with their counts are kept; y is ignored.

        Where they exceed an eighth of `max_memory`, rare ones are left out and `bound_` allows for them. Columns hold
        small whole numbers; `baseline` is zero unless it is told. Columns are chosen when the answer is asked for.
        """
        with unchanged_if_it_fails(self):
            first = vars(self).get("_stream") is None
            refuse_for_blocks(units=self.units, costs=self.costs, budget=self.budget)
            as_verbose(self.verbose)
            X, sample_weight = taken_apart(X, sample_weight=sample_weight)
            self._check_head(X, reset=first)
            spec = DimsSpec.of(X, missing=self.missing, columns=self.columns, max_memory=as_bytes(self.max_memory))
            if spec.labelled:
                raise InvalidInput("partial_fit needs columns of whole numbers, got labels: code them first")
            block = Block(X if is_table(X) or sp.issparse(X) else as_numbers(X, "X"), None, sample_weight)
            tree = Tree(DimsSummary.merged, [] if first else [list(level) for level in self._stream.levels])
            tree.add(DimsSummary.of(block, spec))
            self._streamed(tree)
        return self

    def _answer(self) -> None:
        self._fit_summary(self._stream.root(), Deadline.after(self.time_limit))

    def _fit_summary(self, summary: DimsSummary, deadline: Deadline) -> None:
        """Set what `fit` promises, by the states of rows in blocks."""
        self._fit(summary.coding(self.baseline, self.include, self.exclude), deadline)
        found: Any = vars(self)["result_"]
        self.result_ = summary.judged(found, self.objective)
        self.value_, self.bound_, self.gap_ = self.result_.value, self.result_.bound, self.result_.gap
        self.coverage_ = float(vars(self)["coverage_"]) * (1.0 - summary.lost / summary.total)

    def _fit(self, coding: Coding, deadline: Deadline) -> None:
        """Fit checked rows."""
        n = coding.X.shape[1]
        search: dict[str, Any] = {"objective": self.objective, "solver": self.solver, "rng": seed_of(self.random_state)}
        with watched_by_user(as_verbose(self.verbose), "FewerDims", deadline, None) as told:
            self.result_ = cover(coding, self._limit(coding), deadline=deadline, callback=told, **search)
        self._coding = replace(coding, X=None, sample_weight=None)
        self.levels_ = coding.levels
        self.indices_: Indices = self.result_.indices
        self.support_ = np.zeros(n, bool)
        self.support_[self.indices_] = True
        self.value_, self.bound_, self.gap_ = self.result_.value, self.result_.bound, self.result_.gap
        self.distribution_ = self.result_.distribution
        self.baseline_ = self.distribution_.origin
        weight = coding.sample_weight
        self.coverage_ = coverage(coding.X, self.indices_, sample_weight=weight, baseline=self.baseline_)

    def _limit(self, coding: Coding) -> Any:
        """How many columns or units, or what they may cost."""
        limit = one_limit(self.k if self.budget is None else None, self.budget, self.costs)
        if self.budget is not None:
            return limit
        units = coding.units
        return at_most(self.k, coding.X.shape[1] if units is None else len(units), "units" if units else "columns")

    def transform(self, X: Any) -> Any:
        """The chosen columns of X; of a table with labels in its own container."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.transform, len(self.indices_), np.asarray(head_of(X)).dtype)
        if self.levels_ is not None and is_table(X):
            self._check_columns(X, reset=False)
            return take_columns(X, self.indices_)
        with our_error():
            return super().transform(readable(X))

    def inverse_transform(self, X: Any) -> Any:
        """Columns as `transform` gives them, with columns of zeros for the others."""
        check_is_fitted(self)
        with our_error():
            return super().inverse_transform(readable(X))

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of these rows that the chosen columns cover."""
        check_is_fitted(self)
        if self.levels_ is not None and is_table(X):
            self._check_columns(X, reset=False)
            X = self._coding.again(X)
        else:
            X = validated(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return coverage(X, self.indices_, sample_weight=sample_weight, baseline=self.baseline_)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
