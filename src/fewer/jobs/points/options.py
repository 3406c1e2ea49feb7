"""Options of points."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import (
    Fix,
    InvalidInput,
    Vector,
    as_bytes,
    as_flag,
    as_number,
    as_numbers,
    known,
    shown,
)
from ...options import OneOf, Options, as_least, as_solver, option
from ...similarity import SIMILARITIES

RULES = ("median", "scale", "cv")
"""Rules for the bandwidth."""
LEAST_GAMMA, LARGEST_GAMMA = 1e-150, 1e150
"""Bandwidths that float64 can multiply."""
GROUP_LIMITS = ("min_per_group", "max_per_group")
WEIGHT_LIMITS = ("min_weight", "max_weight", "equal_weights")
SPARSE = ("rbf", "matern32", "matern52", "cosine", "linear")
"""Similarities that compare sparse rows."""
SMOOTH = ("matern32", "matern52", "rbf")
"""Similarities whose points can move."""
CHOSEN = (
    "Rows to keep in any case, and rows never to keep; positions or masks for data in blocks. "
    "Excluded rows still count among the rows to represent; an included row counts as one of "
    "the k, and does not move."
)
PER_GROUP = (
    "How many rows of each group are kept, at least and at most: one number for all groups, "
    '{"north": 3} for some, or one for each in the order of the sorted labels. Equal numbers '
    "mean exactly that many. A row that its group requires may get weight zero; `min_weight` "
    "or `equal_weights` prevents that."
)
WEIGHT = "Limits on the weight of a kept row."


def as_similarity(value: Any, name: str) -> Any:
    """The name of a similarity, or a function."""
    if not callable(value):
        known(value, {**SIMILARITIES, "precomputed": None}, name)
    return value


def as_gamma(value: Any, name: str) -> Any:
    """A bandwidth, or the name of a rule for it."""
    if isinstance(value, str):
        known(value, dict.fromkeys(RULES), name)
    elif not LEAST_GAMMA < as_number(value, name) < LARGEST_GAMMA:
        raise InvalidInput(
            f"gamma must lie between {LEAST_GAMMA:g} and {LARGEST_GAMMA:g}, got {value:g}", name
        )
    return value


def as_standardize(value: Any, name: str) -> Any:
    """Whether columns are scaled, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"standardize must be 'auto', True or False, got {shown(value)}", name)
    return bool(value)


def as_ends(pair: Any, width: Any = ()) -> tuple[Vector, Vector]:
    """Two ends, low <= high, each a number or (width,) of them; infinite ones are none."""
    try:
        low, high = (as_numbers(end, "move").astype(np.float64) for end in pair)
        low, high, _ = np.broadcast_arrays(low, high, np.zeros(width))
        ordered = bool((low <= high).all())
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise InvalidInput(
            "move must be True, False, 'free', a pair (low, high) of numbers or of one number for"
            f" each column of numbers with low <= high, or such pairs by column, got {shown(pair)}"
        )
    return low, high


def as_move(value: Any, name: str) -> Any:
    """Whether and where to points move."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not isinstance(value, Mapping) and not (isinstance(value, str) and value == "free"):
        as_ends(value)
    return value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PointsOptions(Options):
    """Options of points, checked."""

    job = "points"
    labels: Any = option(
        None,
        "array of shape (N,) or str, optional",
        "Classes, or the name of their column in a table: similarities across classes are then "
        'zero ("local"). Many different floats are refused: they are no classes.',
        rows=True,
    )
    sample_weight: Any = option(
        None,
        "array of shape (N,) or str, optional",
        "A row of weight 3 counts as three equal rows. Or the name of a column of a table.",
        rows=True,
    )
    target: Any = option(
        None,
        "array, sparse matrix, or table of shape (M, d), optional",
        "Another set for the chosen rows of X to represent, in the same container, with the "
        "columns that are compared: training rows that explain a test set, a sample that looks "
        "like a population. Gamma, scales and the box of `move` come from both sets together "
        "(`sample_weight` still counts there); `counts` are rows of the target. `labels` must "
        "then name a column of both.",
        rows=True,
    )
    target_weight: Any = option(
        None,
        "array of shape (M,) or str, optional",
        "The weights of the target's rows, or the name of its column of weights.",
        rows=True,
    )
    columns: Any = option(
        None,
        "dict or list, optional",
        'A dict says what the columns of a table are, {"age": "number", "plan": "category", "id": '
        '"ignore"}; the kinds are number, boolean, category, date and ignore. Others are '
        "inferred. Identifiers (texts that are all different, or distinct whole numbers in a "
        "column with a name like id) and free text (texts that mostly differ) are left out, and "
        "`note` says so. A list names the only columns to use. Columns of an array are named by "
        "their numbers.",
    )
    missing: str = option(
        "error",
        OneOf("error", "drop", "impute", "category"),
        "How to treat missing values: raise an error, drop their rows, replace them by the "
        "(weighted) median or mode, or treat them as a category of their own. In the last case a "
        "missing number is the median, and differs from every number that is not missing.",
    )
    move: Any = option(
        False,
        'bool, "free", pair or dict',
        "With True the points may leave their rows, to anywhere within the range (the box) of the "
        'data; with "free" to anywhere; with a pair (low, high), each a number or one for each '
        'column of numbers, to anywhere between them, in the units of X; with {"age": (18, 99)} '
        "so for some columns (of an array, their numbers). The positions follow the gradient of "
        "MMD² (L-BFGS-B), with the best weights at each step. The descent starts from the rows "
        "that would be chosen otherwise and is never worse for rows within the box; no bound is "
        "proven. Only numbers move: dates, categories, labels and missing values stay as in the "
        "row. For rbf and matern.",
        as_move,
    )
    include: Any = option(
        (),
        "list of int, mask of shape (N,), or labels of a pandas index",
        CHOSEN,
        rows=True,
    )
    exclude: Any = option(
        (),
        "list of int, mask of shape (N,), or labels of a pandas index",
        CHOSEN,
        rows=True,
    )
    units: Any = option(
        None,
        "array of shape (N,) or str, optional",
        "A label for each row (a patient, a household, a document), or the name of a column of a "
        "table, which is then not compared. All rows of a unit are chosen together: k counts "
        "units, and weights are on units, split among the rows of a unit in proportion to their "
        "own weights. Including or excluding a row includes or excludes its unit.",
        rows=True,
    )
    groups: Any = option(
        None,
        "array of shape (N,) or str, optional",
        "A label for each row, or the name of a column of a table, which is then not compared.",
        rows=True,
    )
    min_per_group: Any = option(
        None,
        "int, dict or list, optional",
        PER_GROUP,
    )
    max_per_group: Any = option(
        None,
        "int, dict or list, optional",
        PER_GROUP,
    )
    min_weight: float = option(
        0.0,
        "float",
        WEIGHT,
        as_least,
    )
    max_weight: float = option(
        1.0,
        "float",
        WEIGHT,
        as_number,
    )
    equal_weights: bool = option(
        False,
        "bool",
        "Exactly k rows of weight 1 / k, for tools that take no weights.",
        as_flag,
    )
    similarity: Any = option(
        "rbf",
        "str or callable",
        '"rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming" (codes), '
        '"precomputed" (X is the matrix), or a function of two blocks of rows; see '
        "`fewer.similarity`. Cosine and linear compare means only: with k above the number of "
        "columns the value is 0, and clusters are missed. For embeddings, scale rows to length "
        "one and use rbf.",
        as_similarity,
    )
    gamma: Any = option(
        "median",
        'float or {"median", "scale", "cv"}',
        'The bandwidth, or a rule for it. "cv" needs labels, and takes the multiple of the median '
        "with the lowest cross-validated 1-NN error. The rules apply to the rows as they are "
        "compared, with their weights.",
        as_gamma,
    )
    standardize: Any = option(
        "auto",
        'bool or "auto"',
        "True scales each column to mean 0 and standard deviation 1 (constant columns to 0), "
        'using the weights. False uses X as it is. "auto" scales the columns of tables, and uses '
        "arrays and sparse matrices as they are; so the command scales csv and parquet files, and "
        'not npy. "auto" never scales codes (hamming) or what a function compares. Categories are '
        "never scaled. `note` says if columns were scaled.",
        as_standardize,
    )
    solver: str = option(
        "auto",
        '{"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}',
        '"greedy" is Algorithm 3 with a full refit at each step, "iht" Algorithm 1 with momentum '
        'and refits, "frank_wolfe" the convex relaxation with its answer projected, "exchange" a '
        'local search with perturbations, "exact" goes on until the optimum is proven (few rows '
        'only; with a time limit of minutes it gives a bound up to 2,000 rows), and "auto" is '
        '"exchange", then for few rows some steps towards a proof.',
        as_solver,
    )
    max_memory: int = option(
        "1GB",
        "int or str",
        'Bytes, or "500MB": the limit on memory beside X, if X is an array of floats or CSR; '
        "anything else is first copied into one. Data in blocks are read into memory if they take "
        "at most half of it.",
        as_bytes,
    )
    time_limit: float | None = option(
        None,
        "float, optional",
        "Wall time in seconds for the whole call, but for compiling. With a short one, fewer rows "
        "are compared. A search goes on until it is over or the optimum is proven.",
    )

    @property
    def moves(self) -> bool:
        """Whether points leave their rows."""
        return self.move is not False

    @property
    def precomputed(self) -> bool:
        """Whether X is the matrix of similarities."""
        return bool(self.similarity == "precomputed")

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.equal_weights and (self.min_weight, self.max_weight) != (0.0, 1.0):
            raise InvalidInput(
                "equal_weights=True says what weights are; leave min_weight and max_weight away"
            )
        limits = [name for name in GROUP_LIMITS if getattr(self, name) is not None]
        if self.groups is None and limits:
            fix = Fix("groups")
            words = "a label for each row, or the name of a column"
            raise InvalidInput(f"{limits[0]} needs {fix}: {words}", limits[0], [fix])
        if self.groups is not None and not limits:
            one, other = map(Fix, GROUP_LIMITS)
            words = "how many rows of a group are kept"
            raise InvalidInput(f"groups needs {one} or {other}: {words}", "groups", [one, other])
        if self.target is None and self.target_weight is not None:
            own = Fix("sample_weight")
            words = f"target_weight needs a target: the weights of the rows of X are {own}"
            raise InvalidInput(words, "target_weight", [own])
        if self.precomputed:
            about_rows = ["target", "columns", "missing"]
            if self.standardize is True:
                about_rows.append("standardize")
            self.refuse(*about_rows, road="similarity='precomputed': it needs rows")
        if self.moves and self.similarity not in SMOOTH:
            name = "a function" if callable(self.similarity) else repr(self.similarity)
            raise InvalidInput(f"move needs a smooth similarity ({', '.join(SMOOTH)}), got {name}")

    def weights(self, k: int) -> tuple[float, float]:
        """The least and the largest weight of one of k points."""
        if self.equal_weights:
            return 1.0 / k, 1.0 / k
        return self.min_weight, self.max_weight
