"""
Your own constraint: k windows of time
======================================

A shop may open for a few windows of three hours a day. Which windows follow the demand best? A constraint is
a union of faces, each named by a few units; here a unit is a window, and its face the hours in it. Four small
methods are enough, and every solver works.
"""

from dataclasses import dataclass
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from fewer import L2, Atoms, Simplex, exchange


@dataclass(frozen=True, eq=False)
class Windows:
    """Mass in at most k windows of `length` neighbouring hours."""

    space: Atoms
    length: int
    k: int
    whole_faces: bool = True

    @property
    def n_units(self):
        """How many windows there are."""
        return self.space.size - self.length + 1

    def face(self, units):
        """The hours in these windows."""
        return np.unique(np.add.outer(np.asarray(units, int), np.arange(self.length)))

    def support(self, p):
        """Windows that hold the mass, taken from the left."""
        hours, windows = np.flatnonzero(p), []
        for hour in hours:
            if not windows or hour >= windows[-1] + self.length:
                windows.append(min(int(hour), self.n_units - 1))
        return np.array(windows, int)

    def contains(self, p, tol=1e-9):
        """Whether p is a distribution on so few windows."""
        return abs(p.sum() - 1) <= tol and p.min() >= -tol and len(self.support(np.where(p > tol, p, 0))) <= self.k

    def project(self, v, near=None):
        """The nearest member, by trying all choices."""
        trials = []
        for units in combinations(range(self.n_units), self.k):
            p, face = np.zeros(len(v)), self.face(units)
            p[face] = Simplex(Atoms(len(face))).project(v[face])
            trials.append(p)
        return min(trials, key=lambda p: ((p - v) ** 2).sum())


hours = np.arange(24)
rng = np.random.default_rng(0)
peaks = [
    2.0 * np.exp(-((hours - 8) ** 2) / 3),
    1.4 * np.exp(-((hours - 13) ** 2) / 2),
    2.2 * np.exp(-((hours - 19) ** 2) / 5),
]
demand = sum(peaks) + 0.15 * rng.random(24)
demand /= demand.sum()

# %%
# Local search over the windows, and the best of all choices beside it, by trying them.

F = L2(Atoms(24), demand)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True)
for axis, k in zip(axes, (1, 2, 3), strict=True):
    constraint = Windows(F.space, 3, k)
    result = exchange(F, constraint, rng=0)
    best = min(F.value_on(constraint.face(units)) for units in combinations(range(constraint.n_units), k))
    axis.bar(hours, demand, color="0.85", label="demand")
    axis.bar(hours, result.p, color="C0", alpha=0.7, label="open")
    axis.set(title=f"{k} window{'s' if k > 1 else ''}: {result.value:.4f} (best of all {best:.4f})", xlabel="hour")
axes[0].set_ylabel("share of the demand")
axes[0].legend(frameon=False)
figure.tight_layout()
plt.show()
