"""goodpoints on JAX: its weighted compressions (Li, Dwivedi & Mackey 2024) for the rows themselves as the target.

They want a kernel of mean zero: k(x, y) - m(x) - m(y) + c with the mean similarities m of the rows
and their mean c. The rows are unbiased, so nothing is debiased (their "noop") but in the low-rank
variants, which are run as they come.
"""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def centred(x: Any, y: Any) -> Any:
    """The kernel of mean zero; one function for all calls, since JAX compiles anew for each."""
    import jax.numpy as jnp

    return jnp.exp(-((x.get("p") - y.get("p")) ** 2).sum(-1)) - x.get("m") - y.get("m")


def points_of(problem: Any) -> Any:
    import jax
    from goodpoints.jax.sliceable_points import SliceablePoints

    jax.config.update("jax_enable_x64", True)
    parts = np.array_split(problem.X, max(len(problem.X) // 500, 1))
    means = np.concatenate([problem.means(part) for part in parts])
    rows, half = np.sqrt(problem.gamma) * problem.X, 0.5 * means.mean()
    return SliceablePoints({"p": jax.numpy.asarray(rows), "m": jax.numpy.asarray(means - half)})


def compressed(name: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from goodpoints.jax import chol_thin, dtc, recomb_thin, st

        points, rng = points_of(problem), np.random.default_rng(seed)
        equal = np.full(points.length, 1.0 / points.length)
        weights, units = {
            "Cholesky": lambda: chol_thin.chol_thin(centred, points, equal, rng, out_size=k),
            "recombination": lambda: recomb_thin.recomb_thin(
                centred, points, equal, rng, out_size=k
            ),
            "Stein thinning": lambda: st.stein_thin(centred, points, k, weight_type="simplex"),
            "low-rank Cholesky": lambda: dtc.lsc(centred, points, k, seed=seed),
            "low-rank recombination": lambda: dtc.lsr(centred, points, k, seed=seed),
        }[name]()
        units = np.unique(np.asarray(units))[:k]
        weights = np.maximum(
            np.asarray(weights, float)[units], 0.0
        )  # those of Cholesky may be negative
        return Found(units, weights if weights.sum() > 0.0 else None)

    return solve


NAMES = (
    "Cholesky",
    "recombination",
    "Stein thinning",
    "low-rank Cholesky",
    "low-rank recombination",
)
PEER = Peer(
    "goodpoints (JAX)",
    ("goodpoints", "jax", "qpsolvers", "proxsuite"),
    {"points": {name: compressed(name) for name in NAMES}},
    modest=dict.fromkeys(NAMES, 20_000),
)
