"""
Survey weights: forty people who add up to a country
====================================================

A microsimulation needs a small population whose totals are right: shares of regions, plans and
channels, mean age and income, and shares by age group. That is `terms` with a row for each total:
weights on at most k people, such that all totals are met.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fewer import terms
from fewer.datasets import customers

people = pd.DataFrame(customers(1500, rng=0))
facts = pd.get_dummies(people[["region", "plan", "channel"]]).astype(float)
facts["paperless"] = people["paperless"].astype(float)
for low, high in ((18, 30), (30, 50), (50, 70), (70, 100)):
    facts[f"age {low}-{high}"] = people["age"].between(low, high, inclusive="left").astype(float)
facts["age / 100"] = people["age"] / 100
facts["income / 100,000"] = people["income"] / 100_000
facts["minutes / 1,000"] = people["minutes"] / 1_000
totals = facts.mean()
print(f"{len(people)} people, {len(totals)} totals")

# %%
# A handful of people cannot meet all totals; from some k on they can, exactly. By Carathéodory's
# theorem 23 weights are enough for 22 totals. The smallest error that was found for each k:

sizes = (5, 8, 10, 12, 15, 20, 25)
found = [terms(facts.T.to_numpy(), totals.to_numpy(), k, solver="exchange", rng=0) for k in sizes]
errors = [np.abs(facts.iloc[r.indices].T @ r.weights - totals).max() for r in found]
rng = np.random.default_rng(0)
random_errors = []
for k in sizes:
    rows = facts.iloc[rng.choice(len(facts), k, replace=False)].T
    fitted = terms(rows.to_numpy(), totals.to_numpy(), k, solver="exchange", rng=0)
    random_errors.append(np.abs(rows.to_numpy() @ fitted.p - totals.to_numpy()).max())
figure, axis = plt.subplots(figsize=(7, 4))
axis.semilogy(sizes, np.maximum(errors, 1e-9), "o-", label="people chosen by terms")
axis.semilogy(sizes, random_errors, "s--", label="random people, best weights")
axis.set(xlabel="people", ylabel="largest error of a total")
axis.legend(frameon=False)
plt.show()

# %%
# Uneven weights make estimates noisy. With at least 1 % and at most 5 % for each person, forty
# people still meet all totals.

even = terms(
    facts.T.to_numpy(),
    totals.to_numpy(),
    40,
    min_weight=0.01,
    max_weight=0.05,
    solver="exchange",
    rng=0,
)
met = facts.iloc[even.indices].T @ even.weights
figure, axis = plt.subplots(figsize=(7, 5.5))
axis.barh(totals.index, totals, color="0.8", height=0.8, label="1,500 people")
axis.plot(met, range(len(met)), "o", color="C3", ms=5, label="40 weighted people")
axis.tick_params(axis="y", labelsize=8)
axis.set(xlabel="share or mean")
axis.legend(frameon=False)
figure.tight_layout()
# sphinx_gallery_thumbnail_number = 2
plt.show()
print(f"largest error of a total {np.abs(met - totals).max():.1e}")
