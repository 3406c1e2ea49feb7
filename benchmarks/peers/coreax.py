"""coreax (JAX): herding, kernel thinning, RP-Cholesky, each with its own simplex weights by OSQP as a second method."""

from typing import Any

from peers import Found, Method, Peer


def selected(name: str, weigh: bool) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        import jax
        import numpy as np
        from coreax import Data
        from coreax.kernels import SquaredExponentialKernel
        from coreax.solvers import KernelHerding, KernelThinning, RPCholesky
        from coreax.weights import MMDWeightsOptimiser

        kernel = SquaredExponentialKernel(length_scale=(2.0 * problem.gamma) ** -0.5)
        key, data = jax.random.key(seed), Data(jax.numpy.asarray(problem.X))
        solver = {
            "herding": lambda: KernelHerding(k, kernel, block_size=1000),
            "RP-Cholesky": lambda: RPCholesky(k, key, kernel),
            "kernel thinning": lambda: KernelThinning(k, kernel, key, 0.5, kernel),
        }[name]()
        coreset, _ = solver.reduce(data)
        units = np.asarray(coreset.unweighted_indices)
        if not weigh:
            return Found(units)
        weights = np.asarray(
            MMDWeightsOptimiser(kernel).solve(data, coreset.points, block_size=1000), float
        )
        return Found(units, np.maximum(weights, 0.0))

    return solve


PEER = Peer(
    "coreax",
    ("coreax", "jax"),
    {
        "points": {
            "herding": selected("herding", False),
            "herding + own weights": selected("herding", True),
            "RP-Cholesky + own weights": selected("RP-Cholesky", True),
            "kernel thinning": selected("kernel thinning", False),
        }
    },
    modest={
        "herding": 2000,
        "herding + own weights": 2000,
        "RP-Cholesky + own weights": 20_000,
        "kernel thinning": 1000,
    },
)
