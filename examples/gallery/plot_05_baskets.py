"""
Which products let the most orders ship complete?
=================================================

An order ships from the small warehouse only when all its products are there. Products come
together, so the most frequent ones are not the answer, and neither is adding one at a time. `dims`
finds the best choice and proves it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fewer import dims
from fewer.datasets import orders

lines = pd.DataFrame(orders(5000, 60, rng=1))
train, test = lines[lines["order_id"] % 2 == 0], lines[lines["order_id"] % 2 == 1]


def complete(lines, products):
    """The share of orders all of whose products are among these."""
    return lines["sku"].isin(products).groupby(lines["order_id"]).all().mean()


sizes = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30)
asked = {"order": "order_id", "item": "sku"}
best = [dims(train, k, **asked) for k in sizes]
often = train["sku"].value_counts().index
curves = {
    "proven optimum": [complete(train, result.labels) for result in best],
    "the same, on unseen orders": [complete(test, result.labels) for result in best],
    "greedy": [complete(train, dims(train, k, **asked, solver="greedy").labels) for k in sizes],
    "most frequent products": [complete(train, often[:k]) for k in sizes],
}
figure, axis = plt.subplots(figsize=(7.5, 4.5))
for (name, curve), style in zip(curves.items(), ("D-", "kx", "o--", "s:"), strict=True):
    axis.plot(sizes, curve, style, label=name, ms=5)
axis.set(
    xlabel="products in stock (k)", ylabel="share of orders that ship complete", ylim=(0, None)
)
axis.legend(frameon=False)
plt.show()

# %%
# What the stock looks like
# -------------------------
# Each column is a product, each row an order. Complete orders are blue. The optimum takes whole
# groups of products that are bought together.

table = pd.crosstab(train["order_id"], train["sku"]).clip(upper=1)
result = best[sizes.index(15)]
kept = table.columns.isin(result.labels)
order = np.argsort(~kept, kind="stable")
some = table.iloc[:250]
full = (some.loc[:, ~kept].sum(axis=1) == 0).to_numpy()
some = some.iloc[np.lexsort((*some.iloc[:, order].T.to_numpy()[::-1], ~full))]
full = np.sort(full)[::-1]
picture = np.ones((*some.shape, 3))
cells = some.iloc[:, order].to_numpy(bool)
picture[cells & full[:, None]] = (0.12, 0.47, 0.71)
picture[cells & ~full[:, None]] = (0.75, 0.75, 0.75)
figure, axis = plt.subplots(figsize=(7.5, 5))
axis.imshow(picture, aspect="auto", interpolation="nearest")
axis.axvline(14.5, color="C3")
axis.set(xlabel="products: left of the line the 15 in stock", ylabel="orders", xticks=[])
# sphinx_gallery_thumbnail_number = 2
plt.show()
