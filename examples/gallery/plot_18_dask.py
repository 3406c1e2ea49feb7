"""
Rows of a Dask array
====================

The rows are in blocks, on this machine or on a cluster. Each block is summarised where it is, and
only summaries are sent. There is no client argument: the active Dask client is used, or threads.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask import delayed

from fewer import FewerPoints, points


def block(seed, rows=8_000):
    """Rows along a spiral, made where they are needed."""
    rng = np.random.default_rng(seed)
    turn = 3 * np.pi * np.sqrt(rng.random(rows))
    return np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) + 0.4 * rng.standard_normal(
        (rows, 2)
    )


parts = [da.from_delayed(delayed(block)(seed), (8_000, 2), float) for seed in range(10)]
X = da.concatenate(parts)
result = points(X, k=40, gamma=0.1, max_memory="1MB", rng=0)
result

# %%
# 80,000 rows need 1.3 MB, and at most half of 1 MB is gathered, so two passes over the blocks found
# the candidates and compared them with all rows. The area of a point is its weight.

some = block(0)[::10]
figure, axis = plt.subplots(figsize=(7, 6))
axis.scatter(*some.T, s=3, color="0.75")
axis.scatter(*result.rows.T, s=4000 * result.weights, alpha=0.8, edgecolor="black")
axis.set_aspect("equal")
axis.axis("off")
plt.show()

# %%
# It does not matter how the rows are cut: other blocks give the same answer.

again = points(X.rechunk((3_333, 2)), k=40, gamma=0.1, max_memory="1MB", rng=0)
print((again.indices == result.indices).all(), abs(again.value / result.value - 1) < 1e-9)

# %%
# Estimators are eager in `fit` and lazy in `transform`: the answer is a Dask array.

model = FewerPoints(40, gamma=0.1, max_memory="1MB", random_state=0).fit(X)
model.transform(X)
