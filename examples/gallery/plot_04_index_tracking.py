"""
Track an index with twelve assets
=================================

At most twelve of 60 assets, each between 1 % and 20 %, at most three of a sector. `terms` finds the
weights, and a lower bound under the same rules. Prices are made up: a market, eight sectors, noise.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fewer import terms
from fewer.datasets import prices

columns, sectors = prices(days=500, assets=60, rng=0)
table = pd.DataFrame(columns)
rules = {"min_weight": 0.01, "max_weight": 0.20, "groups": sectors, "max_per_group": 3}
result = terms(table, "INDEX", k=12, date="day", returns="simple", **rules, rng=0)
print(result.message, f"squared error {result.value:.6f}, at least {result.bound:.6f}")

# %%
# The weights, coloured by sector, and how the twelve assets follow the index.

returns = table.set_index("day").pct_change().iloc[1:]
names = sorted(set(sectors.values()))
colours = [plt.get_cmap("tab10")(names.index(sectors[label])) for label in result.labels]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), gridspec_kw={"width_ratios": [2, 3]})
order = np.argsort(result.weights)
left.barh(result.labels[order], 100 * result.weights[order], color=[colours[i] for i in order])
left.axvline(20, color="black", linestyle=":")
left.set(xlabel="weight in %; the colour is the sector")
right.plot((1 + returns["INDEX"]).cumprod(), color="0.7", lw=5, label="the index, 60 assets")
right.plot(
    (1 + returns[result.labels] @ result.weights).cumprod(),
    color="C3",
    label="12 assets, rebalanced daily",
)
right.set(ylabel="growth of 1")
right.legend(frameon=False)
figure.autofmt_xdate()
figure.tight_layout()
plt.show()

# %%
# What does a rule cost?
# ----------------------
# Each bar is the tracking error with one more rule. The thin line is the proven lower bound: no
# choice of assets and weights can be to the left of it.

ladder = {
    "12 assets": {},
    "and none above 10 %": {"max_weight": 0.10},
    "and two of a sector": {"max_weight": 0.10, "groups": sectors, "max_per_group": 2},
    "and none below 5 %": {
        "max_weight": 0.10,
        "groups": sectors,
        "max_per_group": 2,
        "min_weight": 0.05,
    },
}
found = {
    name: terms(table, "INDEX", k=12, date="day", returns="simple", **rule, rng=0)
    for name, rule in ladder.items()
}
days = len(returns)
figure, axis = plt.subplots(figsize=(8, 3.2))
for row, held in enumerate(found.values()):
    axis.barh(row, 1e4 * np.sqrt(held.value / days), color="C0", alpha=0.7)
    if held.bound:
        axis.plot([1e4 * np.sqrt(held.bound / days)] * 2, [row - 0.4, row + 0.4], color="black")
axis.set(
    yticks=range(len(found)), yticklabels=list(found), xlabel="tracking error, basis points a day"
)
axis.invert_yaxis()
plt.show()
