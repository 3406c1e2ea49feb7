"""Keep k bins of a histogram so that expectations are preserved."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from .._jit.segments import best_jumps, step_weights
from ..constraints.sparse_simplex import SparseSimplex
from ..door import InvalidInput, Vector, as_integer, as_weights, known
from ..objectives.moments import Moments, as_matrix
from ..result import Result, Status
from ..solvers._drive import Callback, drive
from ..solvers.places import MOST_PROVEN
from ..spaces import Atoms
from .terms import SOLVERS, answered, solve


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
    optimality, the first in O(k n log n) time and 8 k n bytes. A matrix or `LinearOperator` A (r, n) of functionals
    minimises ‖A q - A p‖² as `terms` does, with its solvers, `validation`, `time_limit` and `rng`; only A p is used,
    not p itself. The result's `p` is the new histogram on all n bins.

    >>> result = bins([4, 0, 1, 5], 2)
    >>> result.support.tolist(), result.p.round(3).tolist(), result.gap
    ([0, 3], [0.433, 0.0, 0.0, 0.567], 0.0)
    """
    shape = np.shape(p)
    if len(shape) != 1 or 0 in shape:
        raise InvalidInput(f"p must be a histogram (n,) with at least one bin, got shape {shape}")
    target = as_weights(p, shape[0], "p")
    k = as_integer(k, "k", 1, target.size, "bins")
    space, C = Atoms(target.size), SparseSimplex(Atoms(target.size), k)
    known(solver, SOLVERS, "solver")
    if not isinstance(preserve, str):
        A = as_matrix(preserve)
        if A.shape[1] != target.size:
            raise InvalidInput(f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}")
        F = Moments(space, A, np.asarray(A @ target))
        if solver != "auto" or space.size <= MOST_PROVEN:
            return solve(F, C, solver, validation, time_limit, rng, callback)
        found = solve(F, C, "exchange", validation, time_limit, rng, callback)
        return replace(found, bound=0.0)  # the convex relaxation is zero at p itself
    known(preserve, dict.fromkeys(("cdf", "entries")), "preserve")
    if validation is not None:
        raise InvalidInput(f"validation keeps rows of a matrix of functionals; preserve={preserve!r} has none")
    F = cumulative(space, target) if preserve == "cdf" else Moments(space, identity(space.size), target)
    if solver not in ("auto", "exact"):
        return solve(F, C, solver, None, time_limit, rng, callback)
    best = best_steps(target, k) if preserve == "cdf" else C.project(target)
    return drive(F, C, answered(best, Status.OPTIMAL), time_limit=time_limit, callback=callback)


def cumulative(space: Atoms, target: Vector) -> Moments:
    """Σ_t (Q_t - P_t)² as least squares, with cumulative sums in place of a triangular matrix."""

    def backward(v: Vector) -> Vector:
        return np.cumsum(v[::-1])[::-1]

    operator = LinearOperator((space.size, space.size), matvec=np.cumsum, rmatvec=backward, dtype=np.float64)
    return Moments(space, operator, np.cumsum(target))


def identity(n: int) -> Any:
    """The identity as an operator."""
    return LinearOperator((n, n), matvec=np.copy, rmatvec=np.copy, dtype=np.float64)


def best_steps(target: Vector, k: int) -> Vector:
    """The histogram on k bins nearest in cumulative distribution."""
    P = np.minimum(np.cumsum(target), 1.0)
    jumps = best_jumps(P, k)
    p = np.zeros(target.size)
    p[jumps] = step_weights(P, jumps)
    return p
