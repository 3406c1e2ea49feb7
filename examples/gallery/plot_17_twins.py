"""
Train and test sets that are alike
==================================

A random test set of 50 rows can be lucky or unlucky. `split_evenly` cuts a table into two parts
with nearly the same distribution, so an error measured on the small part says more about the whole.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from fewer import split_evenly

X, y = load_diabetes(return_X_y=True)
table = np.column_stack([X / X.std(axis=0), y / y.std()])


def error(train, test):
    """The root mean squared error on test rows of a model that has seen the others."""
    return (
        (LinearRegression().fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2
    ).mean() ** 0.5


# %%
# Thirty samples of 300 rows. Each is cut twice, at random and by `split_evenly`, into 250 and 50;
# what the 50 rows measure is compared with ten-fold cross-validation on the 300.

rng = np.random.default_rng(0)
missed = {"random test sets": [], "test sets by split_evenly": []}
for seed in range(30):
    some = rng.permutation(len(X))[:300]
    truth = np.sqrt(
        np.mean([error(np.delete(some, np.s_[i::10]), some[i::10]) ** 2 for i in range(10)])
    )
    first, second = split_evenly(table[some], 50, solver="greedy", rng=seed)
    missed["random test sets"].append(error(some[50:], some[:50]) - truth)
    missed["test sets by split_evenly"].append(error(some[first], some[second]) - truth)
figure, axis = plt.subplots(figsize=(7.5, 3))
for row, values in enumerate(missed.values()):
    axis.scatter(values, row + 0.3 * (rng.random(30) - 0.5), s=25, alpha=0.7)
axis.axvline(0, color="0.5", linestyle=":")
axis.set(yticks=(0, 1), yticklabels=list(missed), ylim=(-0.5, 1.5))
axis.set(xlabel="error measured on 50 rows, less the cross-validated error")
figure.tight_layout()
plt.show()
for name, values in missed.items():
    print(
        f"{name}: off by {np.abs(values).mean():.2f} on average, of an error of about {truth:.0f}"
    )
