"""
What the prototypes miss
========================

Prototypes show what is typical. `criticisms` shows the rows that they represent worst: rare shapes, slips of
the pen, mistakes in the data. Both together tell more than either.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from fewer import criticisms, points, witness

X, y = load_digits(return_X_y=True)
result = points(X, k=20, rng=0)
odd = criticisms(result, X, 20)

figure, axes = plt.subplots(4, 10, figsize=(10, 4.6))
for axis, i in zip(axes.flat, [*result.indices, *odd], strict=True):
    axis.imshow(X[i].reshape(8, 8), cmap="gray_r")
    axis.set_title(y[i], fontsize=8, pad=2)
    axis.axis("off")
figure.suptitle("Above: 20 digits that stand for all. Below: the 20 that these represent worst.")
plt.show()

# %%
# The witness function is above zero (red) where the points leave too little weight, and below (blue) where they
# put too much. It shrinks as k grows.

places = PCA(2, random_state=0).fit_transform(X)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
for axis, k in zip(axes, (3, 20), strict=True):
    found = points(X, k, rng=0)
    heights = witness(found, X)
    shown = axis.scatter(*places.T, c=heights, cmap="coolwarm", s=8, vmin=-0.06, vmax=0.06)
    axis.scatter(*places[found.indices].T, s=60, facecolor="none", edgecolor="black")
    axis.set(title=f"k = {k}: largest {np.abs(heights).max():.3f}")
    axis.axis("off")
figure.colorbar(shown, ax=axes, shrink=0.8, label="witness function")
plt.show()
