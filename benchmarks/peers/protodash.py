"""ProtoDash's algorithm, written here from its description: AIX360, which has it, pins old SciPy and does not install.

The row of the steepest gradient joins, then all weights are refitted without the sum constraint (q
>= 0). Source: Gurumoorthy, Dhurandhar, Cecchi & Aggarwal, "Efficient data representation by
selecting prototypes with importance weights", ICDM 2019.
"""

from typing import Any

import numpy as np

from peers import Found, Peer


def protodash(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import nnls

    means = np.concatenate(
        [problem.means(part) for part in np.array_split(problem.X, max(len(problem.X) // 500, 1))]
    )
    units: list[int] = []
    columns = np.empty((k, len(means)))
    slope, weights = means.copy(), np.zeros(0)
    while len(units) < k:
        slope[units] = -np.inf
        units.append(int(slope.argmax()))
        columns[len(units) - 1] = problem.similarity(problem.X[units[-1:]], problem.X)[0]
        block = columns[: len(units)]
        L = cholesky(block[:, units] + 1e-10 * np.eye(len(units)), lower=True)
        weights = nnls(L.T, solve_triangular(L, means[units], lower=True))[0]
        slope = means - weights @ block
    return Found(np.array(units), np.maximum(weights, 1e-300))


PEER = Peer(
    "ProtoDash",
    ("numpy", "scipy"),
    {"points": {"gradient greedy": protodash}},
    modest={"gradient greedy": 20_000},
)
