"""skscope (JAX): IHT, HTP and Scope on least squares with k columns.

The answer is brought onto the simplex after.

Each is run with its own unconstrained refits. Splicing is also run with its option for another
convex solver on a support, so that it compares supports by weights that a distribution can have:
non-negative ones, and those of the simplex (a heavy further row asks for a sum of one).
"""

from typing import Any

import numpy as np

from peers import Found, Method, Peer

HEAVY = 10.0
"""The row of the sum weighs this many times an average column."""


def nonnegative(A: Any, b: Any, scale: float) -> Any:
    """A `numeric_solver` of skscope: the best non-negative weights on a support."""
    from scipy.optimize import nnls

    def solve(
        objective: Any, value_and_grad: Any, params: Any, support: Any, data: Any
    ) -> tuple[float, Any]:
        params[support], norm = nnls(A[:, support], b)
        return scale * norm**2, params

    return solve


def with_sum(A: Any, b: Any) -> tuple[Any, Any]:
    """Least squares with a heavy row that asks for a sum of one."""
    weight = HEAVY * float(np.linalg.norm(A, axis=0).mean())
    return np.vstack([A, np.full(A.shape[1], weight)]), np.r_[b, weight]


def solver(name: str, refits: str = "") -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        import jax.numpy as jnp
        import skscope

        A, b = with_sum(problem.A, problem.b) if refits == "simplex" else (problem.A, problem.b)
        # its step is fixed at 0.005: a loss of smoothness 200 makes that the usual 1/L, where the
        # plain one diverges
        scale = 100.0 / np.linalg.norm(A, 2) ** 2
        own = {"numeric_solver": nonnegative(A, b, scale)} if refits else {}
        made = getattr(skscope, name)(A.shape[1], k, **own)
        rows, target = jnp.asarray(A), jnp.asarray(b)
        return Found(
            np.asarray(
                made.solve(lambda q: scale * jnp.sum((rows @ q - target) ** 2), jit=True), float
            )
        )

    return solve


METHODS = {
    "IHT": solver("IHTSolver"),
    "HTP": solver("HTPSolver"),
    "Scope": solver("ScopeSolver"),
    "Scope, non-negative": solver("ScopeSolver", "non-negative"),
    "Scope, simplex": solver("ScopeSolver", "simplex"),
    "OMP, non-negative": solver("OMPSolver", "non-negative"),
}
PEER = Peer(
    "skscope",
    ("skscope", "jax"),
    {"bins": METHODS, "terms": METHODS},
    modest=dict.fromkeys(METHODS, 12_000),
)
