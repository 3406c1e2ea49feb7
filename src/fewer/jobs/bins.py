"""Keep k bins of a histogram so that expectations are preserved."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, Vector, as_array, as_integer, as_vector, as_weights, known, renamed
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..objectives.cumulative import Cumulative
from ..objectives.l2 import L2
from ..objectives.matrix import BLOCK
from ..objectives.moments import Moments, as_matrix
from ..result import Result
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS
from ..solvers.units import in_units
from ..spaces import Atoms
from .terms import solve

SMALLEST_GAP = 1e-300
"""Below this share of the range of values, gaps are told apart from zero and not from each other."""
LOSSES = {"cdf": "squared difference of the cdf", "entries": "squared difference"}


def bins(
    counts: npt.ArrayLike,
    k: int,
    *,
    preserve: Any = "cdf",
    values: npt.ArrayLike | None = None,
    validation: float | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """Keep k bins of a histogram, with weights that preserve expectations.

        cdf      min Σ_t g_t (Q_t - P_t)²   P, Q the cumulative sums of the old and new shares p and q
        entries  min ‖q - p‖²
        matrix   min ‖A q - A p‖²           over q >= 0, Σ q = 1, at most k entries not zero

    Parameters
    ----------
    counts : array of shape (n,)
        The histogram: counts or probabilities.
    k : int
        How many bins are kept, at most n.
    preserve : {"cdf", "entries"} or a matrix or LinearOperator A of shape (r, n)
        What is kept near: cumulative shares (for ordered bins), shares, or the expectations of functionals, of which
        only A p is used. The first two are solved to proven optimality, "cdf" by dynamic programming in O(k n log n)
        time and 4 k n bytes.
    values : array of shape (n,), optional
        Where the bins sit, increasing, for "cdf": g_t = values_{t+1} - values_t, so that the loss is the integral of
        (Q - P)² over the values. Without it g_t = 1.
    validation : float, optional
        For a matrix: a share of its rows for early stopping, as in `terms`.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        As in `terms`.
    time_limit : float, optional
        Wall time in seconds, everything included. "cdf", cut short, gives k-means on the cumulative shares.
    rng : None, int or Generator
        The random choices.
    callback : callable, optional
        Sees the progress, and stops the run by returning something true.

    Returns
    -------
    Result
        `indices` are bins; `p` is the new histogram on all n bins.

    References
    ----------
    Wang and Song (2011), Ckmeans.1d.dp: optimal k-means clustering in one dimension by dynamic programming.

    Examples
    --------
    >>> result = bins([4, 0, 1, 5], 2)
    >>> result.indices.tolist(), result.weights.round(3).tolist(), result.gap
    ([0, 3], [0.433, 0.567], 0.0)
    """
    deadline = Deadline.after(time_limit)
    known(solver, SOLVERS, "solver")
    target = as_histogram(counts)
    k = as_integer(k, "k", 1, target.size, "bins")
    space, C = Atoms(target.size), SparseSimplex(Atoms(target.size), k)
    named = known(preserve, LOSSES, "preserve") if isinstance(preserve, str) else ""
    if values is not None and named != LOSSES["cdf"]:
        raise InvalidInput('values are where bins sit for preserve="cdf"; nothing else depends on them')
    if not named:
        found = solve(preserved(preserve, target), C, solver, validation, deadline, rng, callback)
        return found.named("bins", "squared error")
    if validation is not None:
        raise InvalidInput(f"validation keeps rows of a matrix of functionals; preserve={preserve!r} has none")
    widths, exponent = (None, 0) if values is None else gaps(values, target.size)
    F: Any = Cumulative(space, target, widths) if preserve == "cdf" else L2(space, target)
    found = solve(F, C, solver, None, deadline, rng, callback)
    return in_units(found, exponent).named("bins", named)


def as_histogram(counts: Any) -> Vector:
    """Counts or probabilities of at least one bin, as probabilities."""
    array = as_array(counts, "counts")
    if array.ndim != 1 or not array.size:
        raise InvalidInput(f"counts must be a histogram (n,) with at least one bin, got shape {array.shape}")
    return as_weights(array, array.size, "counts")


def gaps(values: Any, n: int) -> tuple[Vector, int]:
    """(g, e): how far it is from each value to the next is 2**e g; after the last one as far as in the mean.

    >>> gaps([0.0, 2.0, 8.0], 3)
    (array([0.25, 0.75, 0.5 ]), 3)
    """
    at = as_vector(values, (n,), "values")
    exponent = int(np.frexp(np.abs(at).max())[1]) + 1  # half the largest float is the largest gap that can be held
    widths = np.diff(np.ldexp(at, -exponent))
    if not (at[1:] > at[:-1]).all():
        raise InvalidInput("values must increase from bin to bin")
    if not widths.size:
        return np.ones(1), 0
    further = int(np.frexp(widths.sum())[1]) - 1
    widths = np.maximum(np.ldexp(widths, -further), SMALLEST_GAP)
    return np.append(widths, widths.mean()), exponent + further


def preserved(preserve: Any, target: Vector) -> Moments:
    """The squared difference of the expectations of functionals."""
    with renamed(A="preserve"):
        A = as_matrix(preserve)
    if A.shape[1] != target.size:
        raise InvalidInput(f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}")
    if not isinstance(A, np.ndarray) or A.dtype == np.float64:
        return Moments(Atoms(target.size), A, np.asarray(A @ target))
    rows = range(0, A.shape[0], max(BLOCK // target.size, 1))
    parts = [A[row : row + rows.step].astype(np.float64) @ target for row in rows]
    return Moments(Atoms(target.size), A, np.concatenate(parts))
