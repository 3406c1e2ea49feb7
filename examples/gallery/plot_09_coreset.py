"""
Train on a coreset, with sample weights
=======================================

A support vector machine is slow on many rows, but it can be trained on a few weighted ones.
`counts_` says how many rows each one represents, which is what ``sample_weight`` expects. With
weights that sum to one the regularisation would be far too strong.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from fewer import FewerPoints

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)


def accuracy(rows, weights=None):
    """Of a support vector machine that has seen these rows."""
    model = SVC(C=1.0, gamma=0.001).fit(X_train[rows], y_train[rows], sample_weight=weights)
    return model.score(X_test, y_test)


# %%
# `by_label=True` matches each class by points of its own.

sizes = (20, 40, 80, 160, 320)
curves = {
    "coreset, counts as sample_weight": [],
    "coreset, weights that sum to one": [],
    "random rows": [],
}
rng = np.random.default_rng(0)
for k in sizes:
    few = FewerPoints(k, by_label=True, solver="exchange", random_state=0).fit(X_train, y_train)
    curves["coreset, counts as sample_weight"].append(accuracy(few.indices_, few.counts_))
    curves["coreset, weights that sum to one"].append(accuracy(few.indices_, few.weights_))
    drawn = []
    while len(drawn) < 10:
        rows = rng.choice(len(X_train), k, replace=False)
        drawn += (
            [accuracy(rows, np.full(k, len(X_train) / k))] if len(set(y_train[rows])) > 1 else []
        )
    curves["random rows"].append(np.mean(drawn))
everything = accuracy(np.arange(len(X_train)))

figure, axis = plt.subplots(figsize=(7.5, 4.5))
for (name, curve), style in zip(curves.items(), ("o-", "^:", "s--"), strict=True):
    axis.semilogx(sizes, curve, style, label=name)
axis.axhline(everything, color="0.5", label=f"all {len(X_train)} rows")
axis.set(
    xlabel="rows to train on", ylabel="accuracy on test digits", xticks=sizes, xticklabels=sizes
)
axis.minorticks_off()
axis.legend(frameon=False)
plt.show()

# %%
# What it saves.

start = time.perf_counter()
accuracy(np.arange(len(X_train)))
whole = time.perf_counter() - start
start = time.perf_counter()
accuracy(few.indices_, few.counts_)
print(
    f"training and testing take {(time.perf_counter() - start) / whole:.2f} of the time with"
    f" {sizes[-1]} rows"
)
