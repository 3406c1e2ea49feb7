"""k weighted rows that stand for a whole data set."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import gathered
from ..data.blocks import is_dask, is_lazy
from ..deadline import Deadline
from ..progress import watched_by_user
from ..result import Result
from ..solvers.loop import Callback
from ._aim import as_aim
from ._held import Limits
from ._points_blocks import all_rows, points_of_blocks
from .sample import as_bytes
from .setting import Setting
from .units import points_of_units


def points(
    X: Any,
    k: int,
    *,
    labels: npt.ArrayLike | str | None = None,
    sample_weight: npt.ArrayLike | str | None = None,
    target: Any = None,
    target_weight: npt.ArrayLike | str | None = None,
    columns: Any = None,
    missing: str = "error",
    move: Any = False,
    include: Any = (),
    exclude: Any = (),
    units: Any = None,
    groups: Any = None,
    min_per_group: Any = None,
    max_per_group: Any = None,
    min_weight: float = 0.0,
    max_weight: float = 1.0,
    equal_weights: bool = False,
    similarity: Any = "rbf",
    gamma: Any = "median",
    standardize: Any = "auto",
    solver: str = "auto",
    max_memory: Any = "1GB",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Choose k rows of X and weights q on them, as near as possible to all rows in MMD.

        MMD²(q) = Σ q_i q_j s(x_i, x_j) - 2 Σ q_i t_j s(x_i, x_j) + Σ t_i t_j s(x_i, x_j)

    over q >= 0, Σ q = 1, with t the weights of the rows. No N x N matrix is formed. If all pairs would take more than
    1e11 operations, some thousand rows drawn at random are the candidates, each compared with all rows, and the value
    is estimated by random Fourier features (for hamming and functions: on a sample). Then `value_se` is its standard
    error, `bound` is None, and `note` says what was done.

    In a table, numbers are scaled and categories are compared by equality:

        s(x, y) = exp(-gamma Σ_numbers (x_j - y_j)²) Π_categories exp(-2 gamma [x_c ≠ y_c])

    which is positive definite. Two random rows then differ by 2 in each scaled number, on average, and by 2 in each
    category in which they differ.

    Parameters
    ----------
    X : array, sparse matrix, or table of shape (N, d), or data in blocks
        A table is a DataFrame of pandas or polars or a Table of pyarrow, with numbers, booleans, texts, categories,
        dates and times. float32 stays float32; sparse rows are for rbf, matern, cosine and linear. Blocks come from a
        Dask array or frame, a list of delayed blocks, paths or a pattern of them, a callable that returns an iterator
        of blocks for each pass, or such an iterator. What exceeds half of `max_memory` is read twice: some thousand
        random rows are compared with all rows. An iterator is read once: each block keeps some weighted rows that
        represent it, and `note` has a proven bound on the MMD to all rows.
    k : int
        How many rows to keep; at most the number of distinct rows.
    labels : array of shape (N,) or str, optional
        Classes, or the name of their column in a table: similarities across classes are then zero ("local"). Many
        different floats are refused: they are no classes.
    sample_weight : array of shape (N,) or str, optional
        A row of weight 3 counts as three equal rows. Or the name of a column of a table.
    target : array, sparse matrix, or table of shape (M, d), optional
        Another set for the chosen rows of X to represent, in the same container, with the columns that are compared:
        training rows that explain a test set, a sample that looks like a population. Gamma, scales and the box of
        `move` come from both sets together (`sample_weight` still counts there); `counts` are rows of the target.
        `labels` must then name a column of both.
    target_weight : array of shape (M,) or str, optional
        The weights of the target's rows, or the name of its column of weights.
    columns : dict or list, optional
        A dict says what the columns of a table are, {"age": "number", "plan": "category", "id": "ignore"}; the kinds
        are number, boolean, category, date and ignore. Others are inferred. Identifiers (texts that are all different,
        or distinct whole numbers in a column with a name like id) and free text (texts that mostly differ) are left
        out, and `note` says so. A list names the only columns to use. Columns of an array are named by their numbers.
    missing : {"error", "drop", "impute", "category"}
        How to treat missing values: raise an error, drop their rows, replace them by the (weighted) median or mode, or
        treat them as a category of their own. In the last case a missing number is the median, and differs from every
        number that is not missing.
    move : bool, "free", pair or dict
        With True the points may leave their rows, to anywhere within the range (the box) of the data; with "free" to
        anywhere; with a pair (low, high), each a number or one for each column of numbers, to anywhere between them, in
        the units of X; with {"age": (18, 99)} so for some columns (of an array, their numbers). The positions follow
        the gradient of MMD² (L-BFGS-B), with the best weights at each step. The descent starts from the rows that would
        be chosen otherwise and is never worse for rows within the box; no bound is proven. Only numbers move: dates,
        categories, labels and missing values stay as in the row. For rbf and matern.
    include, exclude : list of int, mask of shape (N,), or labels of a pandas index
        Rows to keep in any case, and rows never to keep; positions or masks for data in blocks. Excluded rows still
        count among the rows to represent; an included row counts as one of the k, and does not move.
    units : array of shape (N,) or str, optional
        A label for each row (a patient, a household, a document), or the name of a column of a table, which is then not
        compared. All rows of a unit are chosen together: k counts units, and weights are on units, split among the rows
        of a unit in proportion to their own weights. Including or excluding a row includes or excludes its unit.
    groups : array of shape (N,) or str, optional
        A label for each row, or the name of a column of a table, which is then not compared.
    min_per_group, max_per_group : int, dict or list, optional
        How many rows of each group are kept, at least and at most: one number for all groups, {"north": 3} for some, or
        one for each in the order of the sorted labels. Equal numbers mean exactly that many. A row that its
        group requires may get weight zero; `min_weight` or `equal_weights` prevents that.
    min_weight, max_weight : float
        Limits on the weight of a kept row.
    equal_weights : bool
        Exactly k rows of weight 1 / k, for tools that take no weights.
    similarity : str or callable
        "rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming" (codes), "precomputed" (X is the
        matrix), or a function of two blocks of rows; see `fewer.similarity`. Cosine and linear compare means only:
        with k above the number of columns the value is 0, and clusters are missed. For embeddings, scale rows to
        length one and use rbf.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth, or a rule for it. "cv" needs labels, and takes the multiple of the median with the lowest
        cross-validated 1-NN error. The rules apply to the rows as they are compared, with their weights.
    standardize : bool or "auto"
        True scales each column to mean 0 and standard deviation 1 (constant columns to 0), using the weights. False
        uses X as it is. "auto" scales the columns of tables, and uses arrays and sparse matrices as they are; so the
        command scales csv and parquet files, and not npy. "auto" never scales codes (hamming) or what a function
        compares. Categories are never scaled. `note` says if columns were scaled.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        "greedy" is Algorithm 3 with a full refit at each step, "iht" Algorithm 1 with momentum and refits,
        "frank_wolfe" the convex relaxation with its answer projected, "exchange" a local search with perturbations,
        "exact" goes on until the optimum is proven (few rows only; with a time limit of minutes it gives a bound up
        to 2,000 rows), and "auto" is "exchange", then for few rows some steps towards a proof.
    max_memory : int or str
        Bytes, or "500MB": the limit on memory beside X, if X is an array of floats or CSR; anything else is first
        copied into one. Data in blocks are read into memory if they take at most half of it.
    time_limit : float, optional
        Wall time in seconds for the whole call, but for compiling. With a short one, fewer rows are compared. A search
        goes on until it is over or the optimum is proven.
    rng : None, int or Generator
        Seed or generator of the random choices.
    callback : callable, optional
        Called with the progress so far; a true return value stops the run.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook.

    Returns
    -------
    Result
        `indices` are rows of X (of equal rows the first), `rows` these rows in the container of X, `counts` how many
        rows each represents, `value` is MMD², `bound` a proven lower bound over all rows, at least 0, or None if only
        some rows were candidates. With `move`, `rows` are the points, and `indices` the rows they started from. With
        `units`, `indices` are all rows of the chosen units, `units` their labels and `unit_weights` their weights.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test. Kim, Khanna and Koyejo (2016), Examples are not enough, learn to
    criticize! Teymur et al. (2021), Optimal quantisation of probability measures using MMD.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> result = points(X, 2, rng=0)
    >>> result.indices.tolist(), result.weights.round(2).tolist()
    ([0, 3], [0.4, 0.6])
    >>> result = points(X, 2, units=["ann", "ann", "bob", "cid", "cid"], rng=0)
    >>> result.indices.tolist(), result.units.tolist(), result.unit_weights.round(2).tolist()
    ([0, 1, 3, 4], ['ann', 'cid'], [0.4, 0.6])
    """
    deadline = Deadline.after(time_limit)
    limits = Limits(include, exclude, groups, min_per_group, max_per_group, min_weight, max_weight, equal_weights)
    aim = as_aim(target, target_weight)
    with watched_by_user(progress, "points", deadline, callback) as told:
        how = (similarity, gamma, standardize, solver, as_bytes(max_memory), deadline, told, columns, missing)
        setting = Setting(*how, move, limits, aim)
        if units is not None:
            if is_lazy(X):
                X, labels, sample_weight = all_rows(X, labels, sample_weight, setting.memory)
                units = np.asarray(units) if is_dask(units) else units
            return points_of_units(setting, gathered(X), k, units, labels, sample_weight, rng)
        if is_lazy(X):
            return points_of_blocks(X, k, labels, sample_weight, setting, rng).result
        return setting.solve(gathered(X), k, labels, sample_weight, rng).result
