"""skscope (JAX): IHT, HTP and Scope on least squares with k columns; the answer is brought onto the simplex after.

Each is run with its own unconstrained refits, and Scope also with its option for another convex solver on a support:
non-negative least squares, so that splicing compares supports by weights that a distribution can have.
"""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def nonnegative(problem: Any, scale: float) -> Any:
    """A `numeric_solver` of skscope: the best non-negative weights on a support."""
    from scipy.optimize import nnls

    def solve(objective: Any, value_and_grad: Any, params: Any, support: Any, data: Any) -> tuple[float, Any]:
        params[support], norm = nnls(problem.A[:, support], problem.b)
        return scale * norm**2, params

    return solve


def solver(name: str, positive: bool = False) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        import jax.numpy as jnp
        import skscope

        A, b = jnp.asarray(problem.A), jnp.asarray(problem.b)
        # its step is fixed at 0.005: a loss of smoothness 200 makes that the usual 1/L, where the plain one diverges
        scale = 100.0 / np.linalg.norm(problem.A, 2) ** 2
        own = {"numeric_solver": nonnegative(problem, scale)} if positive else {}
        made = getattr(skscope, name)(problem.A.shape[1], k, **own)
        return Found(np.asarray(made.solve(lambda q: scale * jnp.sum((A @ q - b) ** 2), jit=True), float))

    return solve


METHODS = {
    "IHT": solver("IHTSolver"),
    "HTP": solver("HTPSolver"),
    "Scope": solver("ScopeSolver"),
    "Scope, non-negative": solver("ScopeSolver", positive=True),
    "OMP, non-negative": solver("OMPSolver", positive=True),
}
SLOW = {"OMP, non-negative": 400}
PEER = Peer(
    "skscope", ("skscope", "jax"), {"bins": METHODS, "terms": METHODS}, modest=dict.fromkeys(METHODS, 12_000) | SLOW
)
