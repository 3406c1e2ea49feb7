"""
The paper's figure 1
====================

*Learning Sparse Distributions using Iterative Hard Thresholding* (NeurIPS 2019) compares greedy
selection with iterative hard thresholding (IHT) on a distribution over {0, 1}^15, of which the
answer may use seven dimensions. Here is one run, with what the paper could not draw: the proven
optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewer import L2, DimensionSparse, Doubling, Lattice, exact, exchange, greedy, iht

space = Lattice(15, 2)
rng = np.random.default_rng(4)
q = np.zeros(space.size)
q[rng.choice(space.size, 50, replace=False)] = rng.random(50)
F, C = L2(space, q / q.sum()), DimensionSparse(space, k=7)
optimum = exact(F, C).value

# %%
# IHT from a random start, greedy selection, and IHT that starts at greedy's answer; the step is
# doubled while the support does not change.

first = greedy(F, C)
runs = {
    "IHT": iht(F, C, step=Doubling(0.008), max_iter=500, rng=4),
    "IHT after greedy": iht(F, C, start=first.p, step=Doubling(0.008), max_iter=500),
}
figure, axis = plt.subplots(figsize=(7.5, 4.5))
for (name, run), colour in zip(runs.items(), ("C0", "C2"), strict=True):
    axis.plot(run.history, color=colour, alpha=0.25, lw=0.8)
    axis.plot(np.minimum.accumulate(run.history), color=colour, label=f"{name}, best so far")
axis.axhline(first.value, color="C1", linestyle="--", label="greedy")
axis.axhline(optimum, color="black", linestyle=":", label="optimum (proven)")
axis.set(xlabel="iteration", ylabel="squared distance", xscale="symlog", xlim=(0, 500))
axis.set(ylim=(0.98 * optimum, 1.1 * first.value))
axis.legend(frameon=False)
plt.show()

# %%
# Ten runs: how far each method stays from the optimum. Local search (`exchange`) reaches it in each
# of these. `greedy` is the paper's Algorithm 3, and IHT with `Doubling(0.008)` its Algorithm 1.

gaps = {"greedy": [], "IHT": [], "IHT after greedy": [], "exchange": []}
for seed in range(10):
    rng = np.random.default_rng(seed)
    q = np.zeros(space.size)
    q[rng.choice(space.size, 50, replace=False)] = rng.random(50)
    F = L2(space, q / q.sum())
    best, first = exact(F, C).value, greedy(F, C)
    gaps["greedy"].append(first.value - best)
    gaps["IHT"].append(iht(F, C, step=Doubling(0.008), max_iter=500, rng=seed).value - best)
    gaps["IHT after greedy"].append(
        iht(F, C, start=first.p, step=Doubling(0.008), max_iter=500).value - best
    )
    gaps["exchange"].append(exchange(F, C, rng=0).value - best)
figure, axis = plt.subplots(figsize=(7.5, 3))
axis.boxplot(list(gaps.values()), orientation="horizontal", tick_labels=list(gaps), widths=0.6)
axis.set(xlabel="squared distance above the optimum, 10 runs")
axis.invert_yaxis()
figure.tight_layout()
plt.show()
