"""skscope (JAX): IHT, HTP and Scope on least squares with k columns; the answer is brought onto the simplex after."""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def solver(name: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        import jax.numpy as jnp
        import skscope

        A, b = jnp.asarray(problem.A), jnp.asarray(problem.b)
        # its step is fixed at 0.005: a loss of smoothness 200 makes that the usual 1/L, where the plain one diverges
        scale = 100.0 / np.linalg.norm(problem.A, 2) ** 2
        made = getattr(skscope, name)(problem.A.shape[1], k)
        return Found(np.asarray(made.solve(lambda q: scale * jnp.sum((A @ q - b) ** 2), jit=True), float))

    return solve


METHODS = {"IHT": solver("IHTSolver"), "HTP": solver("HTPSolver"), "Scope": solver("ScopeSolver")}
PEER = Peer("skscope", ("skscope", "jax"), {"bins": METHODS, "terms": METHODS}, modest=dict.fromkeys(METHODS, 12_000))
