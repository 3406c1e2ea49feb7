"""
What the prototypes miss
========================

Prototypes show what is typical. `criticisms` shows the rows that they represent worst: rare shapes,
slips of the pen, mistakes in the data. Look at both.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from fewer import criticisms, points

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
# In two dimensions one can see why. Eight points represent two moons; a third group of fifteen rows
# is too small to get a point. The witness function is above zero (red) where the points put too
# little weight, and below (blue) where they put too much. The criticisms (crosses) are rows far
# from all points.

rng = np.random.default_rng(0)
moons = make_moons(600, noise=0.08, random_state=0)[0]
rows = np.vstack([moons, rng.normal((2.0, 1.2), 0.08, (15, 2))])
found = points(rows, 8, gamma=3.0, rng=0)
xs, ys = np.meshgrid(np.linspace(-1.6, 2.6, 150), np.linspace(-1.1, 1.7, 110))
ground = np.column_stack([xs.ravel(), ys.ravel()])
heights = (
    rbf_kernel(ground, rows, 3.0).mean(axis=1) - rbf_kernel(ground, found.rows, 3.0) @ found.weights
)
odd = criticisms(found, rows, 5)
top = np.abs(heights).max()

figure, axis = plt.subplots(figsize=(8, 5))
shown = axis.contourf(
    xs, ys, heights.reshape(xs.shape), cmap="coolwarm", levels=np.linspace(-top, top, 25)
)
axis.scatter(*rows.T, s=4, color="0.2", alpha=0.5)
axis.scatter(
    *found.rows.T, s=2000 * found.weights, facecolor="gold", edgecolor="black", label="points"
)
axis.scatter(*rows[odd].T, marker="x", s=90, color="black", linewidth=2, label="criticisms")
figure.colorbar(shown, label="witness function", format="%.3f")
axis.legend(loc="lower left")
axis.axis("off")
# sphinx_gallery_thumbnail_number = 2
plt.show()
