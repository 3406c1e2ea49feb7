"""
Points that move, next to k-means
=================================

The best k *rows* can only be where rows are. With ``move=True`` places and weights are optimised
together, and the distance to the data (MMD) falls to a fraction. k-means minimises something else,
the squared distance of each row to the nearest centre. As a summary of the distribution it is
further away than the best rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons

from fewer import points

X = make_moons(3000, noise=0.12, random_state=0)[0]
k = 12
rows = points(X, k, rng=0)
moved = points(X, k, move=True, rng=0)
means = KMeans(k, n_init=5, random_state=0).fit(X)
shares = np.bincount(means.labels_) / len(X)


def mmd2(places, weights, X, gamma):
    """MMD² between weighted places and all rows."""

    def mean(A, a, B, b):
        return a @ np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2)) @ b

    all_of_them = np.full(len(X), 1 / len(X))
    own = np.mean([np.exp(-gamma * ((X - x) ** 2).sum(axis=1)).mean() for x in X])
    return mean(places, weights, places, weights) - 2 * mean(places, weights, X, all_of_them) + own


# %%
# The area is the weight. Points go to the dense middle and keep the ends; centres of k-means spread
# evenly.

gamma = 1 / np.median(((X[:1000, None] - X[1000:2000]) ** 2).sum(axis=2))
answers = {
    "the best rows": (rows.rows, rows.weights),
    "points that moved": (moved.rows, moved.weights),
    "k-means centres": (means.cluster_centers_, shares),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True)
for axis, (name, (places, weights)) in zip(axes, answers.items(), strict=True):
    axis.scatter(*X.T, s=2, color="0.8")
    axis.scatter(*places.T, s=2500 * weights, color="C3", alpha=0.75, edgecolor="black")
    axis.set_title(f"{name}\nMMD² = {mmd2(places, weights, X, gamma):.1e}")
    axis.axis("off")
figure.tight_layout()
plt.show()

# %%
# On digits a moved point is a picture that nobody wrote. It stays within the range of the data, so
# every pixel is a possible grey value.

digits = load_digits().data
rows, moved = (points(digits, 10, move=move, rng=0) for move in (False, True))
figure, axes = plt.subplots(2, 10, figsize=(10, 2.6))
for line, found in zip(axes, (rows, moved), strict=True):
    for axis, picture in zip(line, found.rows, strict=True):
        axis.imshow(picture.reshape(8, 8), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("rows")
axes[1, 0].set_ylabel("moved")
figure.suptitle(f"MMD² {rows.value:.4f} of the best ten rows, {moved.value:.4f} after they moved")
plt.show()
