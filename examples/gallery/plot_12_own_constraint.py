"""
Your own constraint: k windows of time
======================================

A shop may open for a few windows of three hours a day. Which windows follow the demand best? A
constraint is a union of faces, each named by a few units; here a unit is a window, and its face the
hours in it. Four small methods are enough, and every solver works.
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
        return (
            abs(p.sum() - 1) <= tol
            and p.min() >= -tol
            and len(self.support(np.where(p > tol, p, 0))) <= self.k
        )

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
# Local search over the windows. There are few enough choices to try them all, so the best possible
# loss is known too.

F = L2(Atoms(24), demand)
figure, axes = plt.subplots(3, 1, figsize=(7.5, 6.5), sharex=True, sharey=True)
for axis, k in zip(axes, (1, 2, 3), strict=True):
    constraint = Windows(F.space, 3, k)
    result = exchange(F, constraint, rng=0)
    best = min(
        F.value_on(constraint.face(units)) for units in combinations(range(constraint.n_units), k)
    )
    for start in result.support:
        axis.axvspan(start - 0.5, start + 2.5, color="C1", alpha=0.2)
    axis.bar(hours, result.p, color="C0", alpha=0.6, label="share of the opening hours")
    axis.plot(hours, demand, "ko-", ms=4, label="share of the demand")
    axis.set_title(
        f"{k} window{'s' if k > 1 else ''}: loss {result.value:.4f}, best possible {best:.4f}",
        fontsize=10,
    )
axes[-1].set(xlabel="hour", xticks=range(0, 24, 3))
axes[0].legend(frameon=False, loc="upper left")
figure.tight_layout()
plt.show()
