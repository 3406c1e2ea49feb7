"""Options of dims."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..._validation import Fix, InvalidInput, as_bytes
from ...options import OneOf, Options, as_solver, option

OBJECTIVES = {"kl": "KL", "l2": "squared distance"}
"""Objectives, and what their loss is called."""
CHOSEN = (
    "Columns to keep in any case, and columns never to keep: a row that uses one of those is not"
    " covered. With `units` a column means its whole unit, and the label of a unit may be given"
    " too."
)
LONG = (
    "X is a long table, a line for each item of an order; these columns say which order and which"
    " item. The items are the columns then, the most frequent first. Of lines without an item,"
    ' missing="drop" drops the whole order, for what it held is unknown, and "category" counts the'
    " unknown item as one more, named None."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DimsOptions(Options):
    """Options of dims, checked."""

    job = "dims"
    units: Any = option(
        None,
        "array of shape (n,), mapping or Series, optional",
        "A label for each column, by position or by name. The columns of a label are chosen"
        " together or not at all: the dummies of one variable, the items of one supplier. A column"
        " without a label is a unit of its own. A table with labels needs no dummies: its columns"
        " are the units.",
    )
    costs: Any = option(
        None,
        "array of shape (n,), mapping or Series, optional",
        "What each column costs, at least 0: shelf metres, minutes of a questionnaire. The chosen"
        " columns cost at most `budget` together. A unit costs the sum of its columns; a mapping"
        " may also say what a unit costs.",
    )
    budget: float | None = option(
        None, "float, optional", "What may be spent on `costs`, instead of k."
    )
    objective: str = option("kl", OneOf(*OBJECTIVES), "What is minimised.")
    sample_weight: npt.ArrayLike | None = option(
        None, "array of shape (N,), optional", "Weights of the rows.", rows=True
    )
    baseline: Any = option(
        "auto",
        '{"auto", "zero", "mode"}, mapping or array of shape (n,)',
        "What counts as absent: zero, each column's most frequent value, one for each name of a"
        ' mapping, or one code for each column. "auto" is zero, and the most frequent one of'
        " columns of labels; so it is for names that a mapping lacks.",
    )
    include: Any = option((), "list of names or int", CHOSEN)
    exclude: Any = option((), "list of names or int", CHOSEN)
    missing: str = option(
        "error",
        OneOf("error", "drop", "impute", "category"),
        "How to treat missing values: raise an error, drop their rows, use the column's most"
        " frequent value, or a label of their own, where a column of numbers becomes one of labels."
        " `note` says how many there were.",
    )
    columns: Any = option(
        None,
        "mapping or list of names, optional",
        'What columns of a table are, {"grade": "category", "id": "ignore"}, or the only ones to'
        " use.",
    )
    order: Any = option(None, "name, optional", LONG)
    item: Any = option(None, "name, optional", LONG)
    solver: str = option(
        "auto",
        '{"auto", "exact", "exchange", "greedy", "iht"}',
        '"greedy" is Algorithm 3, ties to the lowest index, "iht" Algorithm 1, "exchange" a local '
        'search with perturbations, "exact" goes on until the optimum is proven, and "auto" is '
        '"exact" for a fixed amount of work.',
        as_solver,
    )
    max_memory: int = option(
        "1GB",
        "int or str",
        "Data in blocks are read into memory if they take at most half of it; otherwise their "
        "distinct rows are counted, which may take an eighth of it. If these do not fit, rare ones "
        "are left out, and the bound allows for them.",
        as_bytes,
    )
    time_limit: float | None = option(
        None,
        "float, optional",
        "Wall time in seconds, but for compiling. Rows are read and folded first, whatever the"
        " limit; then a search goes on until it is over or the optimum is proven.",
    )

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if (self.order is None) != (self.item is None):
            raise InvalidInput(
                "order and item go together: give both or neither", "order", [Fix("item")]
            )
        if self.order is not None and self.sample_weight is not None:
            raise InvalidInput("sample_weight is for rows of a wide table, not for lines of orders")

    def limit(self, k: Any) -> Any:
        """K, which counts columns, or the budget for their costs: exactly one of them is given."""
        if (self.budget is None) != (self.costs is None):
            name, fix, words = "costs", Fix("budget"), "costs need a {}, what may be spent on them"
            if self.costs is None:
                name, fix, words = "budget", Fix("costs"), "budget is what may be spent on {}"
            raise InvalidInput(words.format(fix), name, [fix])
        if (k is None) == (self.budget is None):
            which = "neither" if k is None else "both"
            raise InvalidInput(f"give k, or costs and budget: how much may be chosen, got {which}")
        return k if self.budget is None else self.budget
