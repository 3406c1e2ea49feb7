"""
Twenty digits that stand for 1,797
==================================

Which pictures should a person look at to know a data set? `fewer.points` chooses k rows and weights
such that the weighted few are as near as possible to all rows in maximum mean discrepancy (MMD).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin

from fewer import RowsMMD, points
from fewer.similarity import bandwidth, similarity_of

images = load_digits().data
result = points(images, k=20, rng=0)
result

# %%
# The area of a picture is its weight: the share of all digits that it stands for.

order = np.argsort(-result.weights)
figure, axes = plt.subplots(2, 10, figsize=(10, 2.6))
for axis, i in zip(axes.flat, order, strict=True):
    side = np.sqrt(result.weights[i] / result.weights.max())
    axis.imshow(result.rows[i].reshape(8, 8), cmap="gray_r", extent=(-side, side, -side, side))
    axis.set(xlim=(-1, 1), ylim=(-1, 1), title=f"{100 * result.weights[i]:.1f} %")
    axis.axis("off")
figure.suptitle(
    f"20 weighted digits stand for {len(images)}: MMD = {result.value**0.5:.3f}", y=1.06
)
plt.show()

# %%
# Against other ways to choose
# ----------------------------
# Every method gets the best weights on the rows it chose, so that only the choice is compared.
# Lower is better.

gamma = bandwidth(images, "rbf", "median")
F = RowsMMD.between(images, np.full(len(images), 1 / len(images)), similarity_of("rbf", gamma))


def snapped(k):
    centres = KMeans(k, n_init=1, random_state=0).fit(images).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres, images))


def random_rows(k):
    return np.sort(np.random.default_rng(0).choice(len(images), k, replace=False))


methods = {"k-means, snapped to rows": snapped, "random rows": random_rows}
sizes = (5, 10, 20, 50, 100)
curves = {"fewer.points": [points(images, k, gamma=gamma, rng=0).value for k in sizes]}
for name, method in methods.items():
    curves[name] = [F.value_on(method(k)) for k in sizes]

figure, axis = plt.subplots(figsize=(7, 4.5))
for name, curve in curves.items():
    ours = name == "fewer.points"
    axis.loglog(
        sizes, np.sqrt(curve), "o-" if ours else "o--", lw=3 if ours else 1.2, ms=4, label=name
    )
axis.set(xlabel="k", ylabel="MMD to all digits", xticks=sizes, xticklabels=sizes)
axis.minorticks_off()
axis.legend(frameon=False)
plt.show()
