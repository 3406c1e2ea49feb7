"""Keep k bins of a histogram so that expectations are preserved."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, Vector, as_array, as_integer, as_weights, known
from ..constraints.sparse_simplex import SparseSimplex, largest
from ..deadline import Deadline
from ..objectives._matrix import BLOCK
from ..objectives.cumulative import Cumulative
from ..objectives.l2 import L2
from ..objectives.moments import Moments, as_matrix
from ..result import Result, Status
from ..solvers import places
from ..solvers._drive import Callback, Outcome, Step, Steps, as_generator, drive
from ..solvers.places import MOST_PROVEN
from ..solvers.segmentation import best_steps
from ..spaces import Atoms
from .terms import SOLVERS, solve


def bins(
    p: npt.ArrayLike,
    k: int,
    *,
    preserve: Any = "cdf",
    validation: float | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """Keep k bins of the histogram p (n,), counts or probabilities, with weights that preserve expectations.

    `preserve` says which. "cdf" minimises the squared difference of the cumulative distributions, Σ_t (Q_t - P_t)²,
    the natural choice for ordered bins; "entries" that of the entries, ‖q - p‖². Both are solved to proven
    optimality, the first in O(k n log n) time and 4 k n bytes; cut short by `time_limit` (wall time in seconds) or
    `callback` it gives k-means on the cumulative values, with the bound 0. A matrix or `LinearOperator` A (r, n) of
    functionals minimises ‖A q - A p‖² as `terms` does, with its solvers, `validation`, `time_limit` and `rng`; only A p
    is used, not p itself. The result's `p` is the new histogram on all n bins.

    >>> result = bins([4, 0, 1, 5], 2)
    >>> result.support.tolist(), result.p.round(3).tolist(), result.gap
    ([0, 3], [0.433, 0.0, 0.0, 0.567], 0.0)
    """
    deadline = Deadline.after(time_limit)
    known(solver, SOLVERS, "solver")
    target = as_histogram(p)
    k = as_integer(k, "k", 1, target.size, "bins")
    space, C = Atoms(target.size), SparseSimplex(Atoms(target.size), k)
    if not isinstance(preserve, str):
        start = places.above_floor if solver == "auto" and space.size > MOST_PROVEN else None
        return solve(preserved(preserve, target), C, solver, validation, deadline, rng, callback, start)
    known(preserve, dict.fromkeys(("cdf", "entries")), "preserve")
    if validation is not None:
        raise InvalidInput(f"validation keeps rows of a matrix of functionals; preserve={preserve!r} has none")
    F: Any = Cumulative(space, target) if preserve == "cdf" else L2(space, target)
    if solver not in ("auto", "exact"):
        return solve(F, C, solver, None, deadline, rng, callback)
    steps = best_steps(F, k) if preserve == "cdf" else projected(F, k)
    seed = as_generator(rng)[1]
    options: dict[str, Any] = {"solver": solver, "time_limit": deadline, "callback": callback, "seed": seed}
    with deadline.enforced():  # the first answer needs nothing compiled
        return replace(drive(F, C, steps, **options), seconds=deadline.elapsed())


def as_histogram(p: Any) -> Vector:
    """Counts or probabilities of at least one bin, as probabilities."""
    counts = as_array(p, "p")
    if counts.ndim != 1 or not counts.size:
        raise InvalidInput(f"p must be a histogram (n,) with at least one bin, got shape {counts.shape}")
    return as_weights(counts, counts.size, "p")


def preserved(preserve: Any, target: Vector) -> Moments:
    """The squared difference of the expectations of functionals."""
    A = as_matrix(preserve)
    if A.shape[1] != target.size:
        raise InvalidInput(f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}")
    if not isinstance(A, np.ndarray) or A.dtype == np.float64:
        return Moments(Atoms(target.size), A, np.asarray(A @ target))
    rows = range(0, A.shape[0], max(BLOCK // target.size, 1))
    parts = [A[row : row + rows.step].astype(np.float64) @ target for row in rows]
    return Moments(Atoms(target.size), A, np.concatenate(parts))


def projected(F: L2, k: int) -> Steps:
    """The projection of a histogram: its k largest entries, each raised by the same share of the rest."""
    places, p = largest(F.q, k), np.zeros(F.q.size)
    p[places] = F.q[places] + max(1.0 - float(F.q[places].sum()), 0.0) / k
    value = yield Step(p / p.sum())
    return Outcome(Status.OPTIMAL, value)
