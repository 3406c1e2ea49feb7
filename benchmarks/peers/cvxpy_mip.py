"""cvxpy with a free mixed-integer solver on index tracking: q_i <= x_i, x binary, Σ x <= k.

SCIP takes the quadratic as it is. HiGHS has no mixed-integer quadratics, so it is given the sum of
absolute errors, its nearest linear kin, and its answer is re-optimised for least squares on the
same columns.
"""

from typing import Any

import numpy as np

from peers import Found, Peer


def model(problem: Any, k: int, loss: Any) -> tuple[Any, Any]:
    import cvxpy as cp

    n = problem.A.shape[1]
    q, held = cp.Variable(n, nonneg=True), cp.Variable(n, boolean=True)
    bounds = [cp.sum(q) == 1, q <= held, cp.sum(held) <= k]
    return q, cp.Problem(cp.Minimize(loss(problem.A @ q - problem.b)), bounds)


def scip(problem: Any, k: int, seed: int, seconds: float) -> Found:
    import cvxpy as cp

    scale = 1.0 / np.linalg.norm(problem.b)  # small returns would vanish in SCIP's tolerances
    q, stated = model(problem, k, lambda r: cp.sum_squares(scale * r))
    stated.solve(solver=cp.SCIP, scip_params={"limits/time": seconds, "parallel/maxnthreads": 1})
    return Found(np.maximum(q.value, 0.0), proven=stated.status == "optimal")


def highs(problem: Any, k: int, seed: int, seconds: float) -> Found:
    import cvxpy as cp

    q, stated = model(problem, k, cp.norm1)
    stated.solve(solver=cp.HIGHS, time_limit=seconds, threads=1)
    return Found(np.maximum(q.value, 0.0))


METHODS = {"SCIP, least squares": scip, "HiGHS, absolute errors": highs}
PEER = Peer(
    "cvxpy + MIP",
    ("cvxpy", "pyscipopt", "highspy"),
    {"returns": METHODS, "tracking": METHODS, "file of terms": METHODS},
    modest=dict.fromkeys(METHODS, 400),
    minutes=frozenset(METHODS),
)
