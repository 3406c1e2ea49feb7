"""Options of terms, and the objective and the constraint that they describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._validation import (
    Fix,
    InvalidInput,
    as_array,
    as_bytes,
    as_vector,
    known,
    renamed,
    shown,
)
from ...constraints.conditions import Conditions
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.moments import Moments, as_matrix
from ...objectives.residuals import AbsoluteError, DownsideError
from ...options import OneOf, Options, as_least, as_solver, option
from ...result import Result
from ...spaces import Atoms, Space
from ...tables.column import Table
from ...tables.frames import by_name, is_indexed, is_table, known_name
from ...tables.prices import RETURNS

LOSSES = {
    "squared": "squared error",
    "absolute": "absolute error",
    "downside": "squared shortfall",
}
"""What each loss is called."""
OBJECTIVES: dict[str, Any] = {
    "squared": Moments,
    "absolute": AbsoluteError,
    "downside": DownsideError,
}
WEIGHT = "Each weight that is held lies between them."
CHOSEN = (
    "Columns that are held (with min_weight = 0 their best weight may be zero), and columns that"
    " are not."
)
PER_GROUP = (
    "How many columns of one label are held, at most and at least: one number for all, numbers by"
    " label, or one for each label in sorted order. With min_weight = 0 a column may be held at"
    " weight zero."
)
GROUP_WEIGHT = (
    'The weight of all columns of one label lies between them, such as max_group_weight={"tech":'
    " 0.3}."
)
COUNT_KIND = "int, mapping or sequence, optional"
SHARE_KIND = "float, mapping or sequence, optional"


def as_returns(value: Any, name: str) -> Any:
    """Return the kind of returns, or None for rows as they are."""
    if value is not None:
        known(value, RETURNS, name)
    return value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TermsOptions(Options):
    """Options of terms, checked."""

    job = "terms"
    min_weight: float = option(0.0, "float", WEIGHT)
    max_weight: float = option(1.0, "float", WEIGHT)
    include: Any = option((), "list of names or int", CHOSEN)
    exclude: Any = option((), "list of names or int", CHOSEN)
    groups: Any = option(
        None,
        "array of shape (n,), mapping or Series, optional",
        "A label for each column, by position or by name; limits of groups need it.",
    )
    max_per_group: Any = option(None, COUNT_KIND, PER_GROUP)
    min_per_group: Any = option(None, COUNT_KIND, PER_GROUP)
    max_group_weight: Any = option(None, SHARE_KIND, GROUP_WEIGHT)
    min_group_weight: Any = option(None, SHARE_KIND, GROUP_WEIGHT)
    previous: Any = option(
        None,
        "array, mapping, Series or Result, optional",
        "Weights held before, by position or by name.",
    )
    max_turnover: float | None = option(
        None,
        "float, optional",
        "Given together with `previous`: `Σ |q - previous|` is at most this.",
    )
    constraints: Any = option(
        None,
        "pair (G, h), optional",
        "G q <= h: an array (m, n), or a table whose columns are names of X (others count 0), and m"
        " numbers.",
    )
    loss: str = option(
        "squared",
        OneOf(*LOSSES),
        "`‖X q - y‖²`, `Σ |X q - y|`, or `Σ max(y - X q, 0)²`, with `sample_weight` as weights of"
        " the rows.",
    )
    ridge: float = option(
        0.0,
        "float",
        "A multiple of ‖q‖² that is added to the loss: it spreads the weights, and chooses among"
        " them where there are fewer rows than columns. `value`, `bound` and `gap` include it,"
        " `loss` does not.",
        as_least,
    )
    sample_weight: npt.ArrayLike | None = option(
        None, "array of shape (r,), optional", "Weights of the rows' errors.", rows=True
    )
    missing: str = option(
        "error",
        OneOf("error", "drop", "impute", "ffill"),
        "How to treat missing values: raise an error, drop their rows, use the column's median (not"
        " for y), or for prices the last one before. `note` says how many there were. Excluded"
        " columns may have missing values.",
    )
    returns: str | None = option(
        None,
        '{"simple", "log"}, optional',
        "X and y are prices in order of time, and their returns are compared: p(t) / p(t-1) - 1, or"
        " differences of logarithms. There is one row less. Rows of a table that are not in the"
        " order of the dates in its index or its one column of dates are sorted by them.",
        as_returns,
    )
    date: Any = option(
        None,
        "name, optional",
        "A column of dates of the table X, by which rows are sorted; none may occur twice.",
    )
    solver: str = option(
        "auto",
        '{"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}',
        '"greedy" is Algorithm 3, "iht" Algorithm 1 with momentum and refits, "frank_wolfe" the'
        ' convex relaxation with its answer projected, "exchange" a local search, "exact" goes on'
        ' until the optimum is proven, and "auto" is "exact" for a fixed amount of work where no'
        " `time_limit` is set.",
        as_solver,
    )
    max_memory: int = option(
        "1GB",
        "int or str",
        "Data in blocks are read into memory if they take at most half of it. Otherwise they are"
        " factored block by block, [X y] = Q R, which leaves a problem of n + 1 rows with the same"
        " errors.",
        as_bytes,
    )
    time_limit: float | None = option(
        None,
        "float, optional",
        "Wall time in seconds, but for compiling; a search goes on until it is over or the optimum"
        " is proven. Without it the same `rng` gives the same answer on any machine.",
    )

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.missing == ("impute" if self.returns else "ffill"):
            instead = "a price is not a median of others"
            instead = instead if self.returns else "only prices are carried forward"
            raise InvalidInput(
                f"missing={self.missing!r} does not go with returns={self.returns!r}: {instead}"
            )

        if (self.previous is None) != (self.max_turnover is None):
            raise InvalidInput(
                "previous and max_turnover go together: give both or neither",
                "previous",
                [Fix("max_turnover")],
            )

    @property
    def objective_name(self) -> str:
        """What the objective is called."""
        return LOSSES[self.loss] + (" + ridge" if self.ridge else "")

    def conditions(self, names: Sequence[Any] | None, n: int) -> Conditions | None:
        """Return linear conditions and turnover, by the positions or the names of n columns.

        None where there are none.
        """
        if self.previous is None and self.constraints is None:
            return None
        previous = self.previous.p if isinstance(self.previous, Result) else self.previous
        if isinstance(previous, Mapping) or is_indexed(previous):
            previous = by_name(previous, names)
        if isinstance(previous, Mapping):
            if names is None:
                raise InvalidInput(f"previous goes by names, which needs a table; give {n} weights")
            weights = np.zeros(n)
            for name, weight in previous.items():
                place = names.index(known_name(name, names, "previous"))
                weights[place] = as_array(weight, f"previous of {shown(name)}")
            previous = weights
        if previous is not None:
            previous = as_vector(previous, (n,), "previous")
        if self.constraints is None:
            return Conditions(previous=previous, max_turnover=self.max_turnover)
        try:
            G, h = self.constraints
        except (TypeError, ValueError):
            raise InvalidInput(
                "constraints must be two arrays, (G, h) for G q <= h, got"
                f" {shown(self.constraints)}"
            ) from None
        labels: Any = ()
        if is_table(G) and names is not None:
            labels = G.index if is_indexed(G) else range(len(G))
            columns = Table.of(G).columns
            G = np.zeros((len(labels), n))
            for column in columns:
                place = names.index(known_name(column.name, names, "constraints"))
                G[:, place] = as_array(column.values, f"constraints, column {shown(column.name)}")
        called = tuple(f"row {shown(label)} of constraints" for label in labels)
        G, h = np.atleast_2d(as_array(G, "G")), np.atleast_1d(as_array(h, "h"))
        return Conditions(G, h, previous, self.max_turnover, called)

    def constraint(self, space: Space, k: int, data: Any) -> SparseSimplex:
        """Return the set of weights on at most k columns of `data`, which has their names and groups."""
        return SparseSimplex(
            space,
            k,
            self.min_weight,
            self.max_weight,
            data.include,
            data.exclude,
            data.groups,
            self.max_per_group,
            self.min_per_group,
            self.max_group_weight,
            self.min_group_weight,
            self.conditions(data.names, space.size),
        )

    def objective(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the loss of weights on the columns of X, and the ridge.

        X is looked through once.
        """
        with renamed(A="X", b="y"):
            shape = getattr(X, "shape", ())
            if not isinstance(shape, tuple) or len(shape) != 2 or 0 in shape:
                X = as_matrix(X)
            return OBJECTIVES[self.loss](Atoms(X.shape[1]), X, y, sample_weight, self.ridge)
