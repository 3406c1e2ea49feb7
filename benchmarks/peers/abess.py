"""abess: best-subset linear regression by splicing, k columns; the answer is brought onto the simplex after."""

from typing import Any

import numpy as np

from peers import Found, Peer


def splicing(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from abess.linear import LinearRegression

    size = min(k, len(problem.b) - 1)
    model = LinearRegression(support_size=size, fit_intercept=False, thread=1, screening_size=-1)
    return Found(np.asarray(model.fit(np.asarray(problem.A, float), problem.b).coef_, float))


def path(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Along the path of every size up to k, each from the one before; the k asked for is the last."""
    from abess.linear import LinearRegression

    size = min(k, len(problem.b) - 1)
    model = LinearRegression(
        support_size=range(1, size + 1), fit_intercept=False, thread=1, ic_type="aic", ic_coef=1e-9
    )
    return Found(np.asarray(model.fit(np.asarray(problem.A, float), problem.b).coef_, float))


METHODS = {"one size": splicing, "path of sizes": path}
PEER = Peer("abess", ("abess",), {"bins": METHODS, "terms": METHODS}, modest=dict.fromkeys(METHODS, 20_000))
