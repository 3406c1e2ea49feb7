"""scikit-learn: Lasso and positive Lasso (the best of a path of 20 gammas), orthogonal matching pursuit.

Matching pursuit knows no simplex, and refits on it drop columns: so it is also run for more columns
than k, refitted for each number of them, and the best answer with at most k is taken.
"""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def lasso(positive: bool) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from sklearn.linear_model import lasso_path

        steepest = np.abs(problem.A.T @ problem.b).max() / len(problem.b)
        alphas = steepest * np.logspace(0, -3, 20)
        _, path, _ = lasso_path(
            problem.A, problem.b, positive=positive, alphas=alphas, max_iter=2000
        )
        return Found(min(path.T, key=lambda q: problem.judge(problem.projected(q, k))))

    return solve


def pursuit(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from sklearn.linear_model import orthogonal_mp

    return Found(orthogonal_mp(problem.A, problem.b, n_nonzero_coefs=min(k, len(problem.b))))


def refitted_pursuit(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from sklearn.linear_model import OrthogonalMatchingPursuit

    most = min(problem.A.shape)
    sizes = sorted({min(most, round(factor * k)) for factor in (1.0, 1.25, 1.5, 2.0)})
    answers = []
    for size in sizes:
        model = OrthogonalMatchingPursuit(n_nonzero_coefs=size, fit_intercept=False).fit(
            problem.A, problem.b
        )
        answers.append(problem.refitted(np.asarray(model.coef_, float), k))
    return Found(min(answers, key=problem.judge), final=True)


METHODS = {
    "Lasso": lasso(False),
    "positive Lasso": lasso(True),
    "OMP": pursuit,
    "OMP, refits": refitted_pursuit,
}
PEER = Peer(
    "scikit-learn",
    ("scikit-learn",),
    {"bins": METHODS, "terms": METHODS},
    modest={"Lasso": 20_000, "positive Lasso": 20_000, "OMP": 200_000, "OMP, refits": 20_000},
)
