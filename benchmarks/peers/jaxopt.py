"""jaxopt (JAX), compiled and in double precision: projections onto the simplex and the sparse simplex."""

from functools import cache
from typing import Any

import numpy as np

from peers import Found, Peer


@cache
def compiled(name: str) -> Any:
    import jax
    from jaxopt import projection

    jax.config.update("jax_enable_x64", True)
    if name == "simplex":
        return jax.jit(projection.projection_simplex)
    from jaxopt._src.projection import projection_sparse_simplex

    return jax.jit(projection_sparse_simplex, static_argnums=1)


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(np.asarray(compiled("simplex")(problem.v)))


def sparse(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(np.asarray(compiled("sparse")(problem.v, k)))


PEER = Peer(
    "jaxopt",
    ("jaxopt", "jax"),
    {
        "simplex": {"projection_simplex": simplex},
        "sparse simplex": {"projection_sparse_simplex": sparse},
    },
)
