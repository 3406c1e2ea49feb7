"""
Your own loss, differentiated for you
=====================================

Any convex function of a distribution can be minimised. Here the loss is the energy distance between
forecast and observation that meteorologists call CRPS, written with `jax.numpy`; the gradient comes
from jax, and greedy, local search and proof work on it as on any other loss.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from fewer import Atoms, Functional, SparseSimplex, minimize

temperatures = np.linspace(-10, 30, 21)
rng = np.random.default_rng(0)
observed = np.concatenate([rng.normal(4, 3, 300), rng.normal(17, 4, 200)]).clip(-10, 30)
below = (observed[:, None] <= temperatures).mean(axis=0)  # the observed cumulative distribution


def crps(p):
    """The mean over observations of the integral of (cdf - step)²."""
    return jnp.sum((jnp.cumsum(p) - below) ** 2) + jnp.sum(below * (1 - below))


F = Functional(Atoms(len(temperatures)), crps)
print(f"the gradient comes from {F.derivative}")
result = minimize(F, SparseSimplex(F.space, 4), rng=0)
result

# %%
# Four temperatures that make the best forecast of four, and their weights.

figure, axis = plt.subplots(figsize=(7.5, 4.2))
axis.hist(observed, bins=21, weights=np.full(500, 1 / 500), color="0.85", label="500 observations")
axis.vlines(
    temperatures[result.indices],
    0,
    result.weights,
    color="C3",
    lw=4,
    label="four weighted temperatures",
)
axis.set(xlabel="°C", ylabel="share")
axis.legend(frameon=False)
plt.show()

# %%
# The same forecast must not be wrong about frost. Add a penalty, which is convex too, and the
# optimum moves.


def careful(p):
    """CRPS, and fifty times the squared error of the share below 0 °C."""
    return crps(p) + 50.0 * (jnp.sum(p[:6]) - (observed <= 0).mean()) ** 2


frost = minimize(Functional(F.space, careful), SparseSimplex(F.space, 4), "exchange", rng=0)
print(f"share of frost: observed {(observed <= 0).mean():.3f}", end=", ")
print(f"before {result.p[:6].sum():.3f}, after {frost.p[:6].sum():.3f}")
