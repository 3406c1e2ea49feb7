"""optax (JAX), compiled and in double precision: projection onto the simplex."""

from functools import cache
from typing import Any

import numpy as np

from peers import Found, Peer


@cache
def compiled() -> Any:
    import jax
    import optax

    jax.config.update("jax_enable_x64", True)
    return jax.jit(optax.projections.projection_simplex)


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(np.asarray(compiled()(problem.v)))


PEER = Peer("optax", ("optax", "jax"), {"simplex": {"projection_simplex": simplex}})
