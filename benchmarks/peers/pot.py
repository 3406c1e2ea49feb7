"""POT: projections onto the simplex and onto the sparse simplex."""

from typing import Any

import numpy as np

from peers import Found, Peer


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from ot.utils import proj_simplex

    return Found(np.asarray(proj_simplex(problem.v)).reshape(-1))


def sparse(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from ot.utils import projection_sparse_simplex

    return Found(np.asarray(projection_sparse_simplex(problem.v, k)).reshape(-1))


PEER = Peer(
    "POT",
    ("POT",),
    {"simplex": {"proj_simplex": simplex}, "sparse simplex": {"projection_sparse_simplex": sparse}},
)
