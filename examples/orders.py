"""Which k products let the most orders ship complete: a table, and a plot of that share against k.

An order ships complete when every product in it is stocked, so stocking k products is `fewer.dims` with the KL
objective: the share of orders whose products all lie among the k kept. Greedy adds one product at a time; the
optimum is proven, and judged on orders it has not seen.

Run: python examples/orders.py [orders.csv]   (one row an order, one column a product; made-up ones without)
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fewer import coverage, dims

BUDGETS = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30)


def made_up_orders(n_orders: int = 5000, n_products: int = 60, seed: int = 1) -> np.ndarray:
    """Orders come in kits: each customer buys most of one kit of three to six products, and now and then more."""
    rng = np.random.default_rng(seed)
    kits = [rng.choice(n_products, rng.integers(3, 7), replace=False) for _ in range(25)]
    popularity = rng.dirichlet(np.full(len(kits), 0.8))
    orders = np.zeros((n_orders, n_products), np.int8)
    for order, kit in zip(orders, rng.choice(len(kits), n_orders, p=popularity), strict=True):
        order[kits[kit][rng.random(len(kits[kit])) < 0.9]] = 1
        order[rng.choice(n_products, rng.binomial(2, 0.1))] = 1
    return orders[orders.any(axis=1)]


def main() -> None:
    orders = made_up_orders()
    if len(sys.argv) > 1:
        orders = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, dtype=np.int64)
    budgets = [k for k in BUDGETS if k <= orders.shape[1]]
    train, test = orders[::2], orders[1::2]
    curves: dict[str, list[float]] = {"greedy": [], "proven optimum": [], "optimum, on held-out orders": []}
    print(f"{len(train)} orders of {orders.shape[1]} products; share that ships complete")
    print(f"{'k':>3s} {'greedy':>8s} {'optimum':>8s} {'gap':>8s} {'held out':>9s}")
    for k in budgets:
        best = dims(train, k, time_limit=20, rng=0)
        greedy = dims(train, k, solver="greedy")
        shares = [coverage(train, greedy.indices), coverage(train, best.indices), coverage(test, best.indices)]
        for curve, share in zip(curves.values(), shares, strict=True):
            curve.append(share)
        print(f"{k:3d} {shares[0]:8.4f} {shares[1]:8.4f} {best.gap:8.1e} {shares[2]:9.4f}")
    figure, axis = plt.subplots(figsize=(7, 4.2))
    for (name, curve), style in zip(curves.items(), ("o--", "D-", "kx"), strict=True):
        axis.plot(budgets, curve, style, label=name, markersize=5)
    axis.set(xlabel="products stocked (k)", ylabel="share of orders that ship complete", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    out = Path("demo")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "orders.png", dpi=130)
    print(f"picture: {out / 'orders.png'}")


if __name__ == "__main__":
    main()
