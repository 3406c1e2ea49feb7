"""
A classifier that compares with twelve rows
===========================================

`FewerPointsClassifier` predicts the label of the nearest of k rows. The border between two classes
is made of straight lines, and two rows explain each of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from fewer import FewerPointsClassifier

X, y = make_moons(800, noise=0.22, random_state=0)
xs, ys = np.meshgrid(np.linspace(-1.7, 2.7, 250), np.linspace(-1.2, 1.8, 250))
ground = np.column_stack([xs.ravel(), ys.ravel()])
few = FewerPointsClassifier(k=12, gamma="median", random_state=0).fit(X, y)
full = KNeighborsClassifier(1).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True)
colours = ListedColormap(["#c6dbef", "#fdd0a2"])
for axis, model, name in zip(axes, (few, full), ("12 rows", "all 800 rows"), strict=True):
    axis.contourf(xs, ys, model.predict(ground).reshape(xs.shape), cmap=colours, levels=1)
    axis.scatter(*X.T, c=y, cmap=ListedColormap(["C0", "C1"]), s=5, alpha=0.5)
    axis.set_title(name)
    axis.axis("off")
axes[0].scatter(
    *few.points_.T, c=few.labels_, cmap=ListedColormap(["C0", "C1"]), s=120, edgecolor="black"
)
figure.tight_layout()
plt.show()

# %%
# On digits: error against the number of rows kept, with the full nearest-neighbour rule and random
# rows beside it.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
sizes = (10, 20, 50, 100)
rng = np.random.default_rng(0)
ours = [
    1
    - FewerPointsClassifier(k, gamma="median", random_state=0)
    .fit(X_train, y_train)
    .score(X_test, y_test)
    for k in sizes
]
drawn = []
for k in sizes:
    trials = [rng.choice(len(X_train), k, replace=False) for _ in range(20)]
    scores = [
        KNeighborsClassifier(1).fit(X_train[rows], y_train[rows]).score(X_test, y_test)
        for rows in trials
    ]
    drawn.append(1 - np.mean(scores))
whole = 1 - KNeighborsClassifier(1).fit(X_train, y_train).score(X_test, y_test)
figure, axis = plt.subplots(figsize=(7, 4))
axis.loglog(sizes, ours, "o-", lw=2.5, label="FewerPointsClassifier")
axis.loglog(sizes, drawn, "s--", label="random rows (mean of 20)")
axis.axhline(whole, color="0.5", label=f"all {len(X_train)} rows")
axis.set(
    xlabel="rows kept",
    ylabel="share of test digits that are wrong",
    xticks=sizes,
    xticklabels=sizes,
)
axis.minorticks_off()
axis.legend(frameon=False)
plt.show()
