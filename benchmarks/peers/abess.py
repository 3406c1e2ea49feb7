"""abess: best-subset linear regression by splicing, k columns.

The answer is brought onto the simplex after.
"""

from typing import Any, NamedTuple

import numpy as np

from peers import Found, Peer


def splicing(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from abess.linear import LinearRegression

    size = min(k, len(problem.b) - 1)
    model = LinearRegression(support_size=size, fit_intercept=False, thread=1, screening_size=-1)
    return Found(np.asarray(model.fit(np.asarray(problem.A, float), problem.b).coef_, float))


def path(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Along the path of every size up to k, each from the one before.

    The k asked for is the last.
    """
    from abess.linear import LinearRegression

    size = min(k, len(problem.b) - 1)
    model = LinearRegression(
        support_size=range(1, size + 1), fit_intercept=False, thread=1, ic_type="aic", ic_coef=1e-9
    )
    return Found(np.asarray(model.fit(np.asarray(problem.A, float), problem.b).coef_, float))


def path_with_sum(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """A problem with a further row that asks for a sum of one, as heavy as a column."""
    A = np.asarray(problem.A, float)
    weight = float(np.linalg.norm(A, axis=0).mean())
    return path(
        Augmented(np.vstack([A, np.full(A.shape[1], weight)]), np.r_[problem.b, weight]),
        k,
        seed,
        seconds,
    )


class Augmented(NamedTuple):
    """A least-squares problem with a further row."""

    A: Any
    b: Any


METHODS = {"one size": splicing, "path of sizes": path, "path, sum as a row": path_with_sum}
PEER = Peer(
    "abess", ("abess",), {"bins": METHODS, "terms": METHODS}, modest=dict.fromkeys(METHODS, 20_000)
)
