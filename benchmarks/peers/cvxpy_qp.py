"""cvxpy: least squares over the whole simplex by a convex solver (Clarabel), then the k largest weights."""

from typing import Any

import numpy as np

from peers import Found, Peer


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    import cvxpy as cp

    q = cp.Variable(problem.A.shape[1], nonneg=True)
    cp.Problem(cp.Minimize(cp.sum_squares(problem.A @ q - problem.b)), [cp.sum(q) == 1]).solve(
        solver=cp.CLARABEL
    )
    return Found(np.maximum(q.value, 0.0))


METHODS = {"simplex QP, top k": simplex}
PEER = Peer(
    "cvxpy",
    ("cvxpy", "clarabel"),
    {"bins": METHODS, "terms": METHODS},
    modest={"simplex QP, top k": 12_000},
)
