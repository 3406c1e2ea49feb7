"""skscope (JAX): IHT, HTP and Scope on least squares with k places; the answer is brought onto the simplex after."""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def solver(name: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        import jax.numpy as jnp
        import skscope

        A, b = jnp.asarray(problem.A), jnp.asarray(problem.b)
        size = problem.A.shape[1]
        made = getattr(skscope, name)(size, k)
        return Found(np.asarray(made.solve(lambda q: jnp.sum((A @ q - b) ** 2), jit=True), float))

    return solve


METHODS = {"IHT": solver("IHTSolver"), "HTP": solver("HTPSolver"), "Scope": solver("ScopeSolver")}
PEER = Peer("skscope", ("skscope", "jax"), {"bins": METHODS, "terms": METHODS}, modest=dict.fromkeys(METHODS, 12_000))
