"""skglm: Lasso with non-negative weights, along a path of 20 gammas; the best by training error."""

from typing import Any

import numpy as np

from peers import Found, Peer


def lasso(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from skglm.datafits import Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD

    datafit = Quadratic()
    A = np.asfortranarray(problem.A)
    steepest = np.abs(A.T @ problem.b).max() / len(problem.b)
    solver = AndersonCD(fit_intercept=False, tol=1e-6, max_iter=50)
    alphas = steepest * np.logspace(0, -3, 20)
    path = solver.path(A, problem.b, datafit, L1(1.0, positive=True), alphas=alphas)[1]
    return Found(min(np.asarray(path).T, key=lambda q: problem.judge(problem.projected(q, k))))


PEER = Peer(
    "skglm",
    ("skglm",),
    {"bins": {"positive L1": lasso}, "terms": {"positive L1": lasso}},
    modest={"positive L1": 20_000},
)
