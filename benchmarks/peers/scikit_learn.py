"""scikit-learn: Lasso and positive Lasso (the best of a path of 20 gammas), orthogonal matching pursuit."""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def lasso(positive: bool) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from sklearn.linear_model import lasso_path

        steepest = np.abs(problem.A.T @ problem.b).max() / len(problem.b)
        alphas = steepest * np.logspace(0, -3, 20)
        _, path, _ = lasso_path(problem.A, problem.b, positive=positive, alphas=alphas, max_iter=2000)
        return Found(min(path.T, key=lambda q: problem.judge(problem.projected(q, k))))

    return solve


def pursuit(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from sklearn.linear_model import orthogonal_mp

    return Found(orthogonal_mp(problem.A, problem.b, n_nonzero_coefs=min(k, len(problem.b))))


METHODS = {"Lasso": lasso(False), "positive Lasso": lasso(True), "OMP": pursuit}
PEER = Peer(
    "scikit-learn",
    ("scikit-learn",),
    {"bins": METHODS, "terms": METHODS},
    modest={"Lasso": 20_000, "positive Lasso": 20_000, "OMP": 200_000},
)
