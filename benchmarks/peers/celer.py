"""celer: positive Lasso by working sets, along a path of 20 gammas; the best by training error."""

from typing import Any

import numpy as np

from peers import Found, Peer


def lasso(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from celer import celer_path

    A = np.asfortranarray(problem.A)
    steepest = np.abs(A.T @ problem.b).max() / len(problem.b)
    alphas = steepest * np.logspace(0, -3, 20)
    path = celer_path(
        A, problem.b, pb="lasso", alphas=alphas, positive=True, tol=1e-5, max_iter=20
    )[1]
    return Found(min(path.T, key=lambda q: problem.judge(problem.projected(q, k))))


METHODS = {"positive Lasso": lasso}
PEER = Peer(
    "celer", ("celer",), {"bins": METHODS, "terms": METHODS}, modest={"positive Lasso": 20_000}
)
