"""Which k products let the most orders ship complete, from a file with a line for each product of an order.

An order ships complete when every product in it is stocked, so stocking k products is `fewer.dims`
with the KL objective: the share of orders whose products all lie among the k kept. Greedy adds one
product at a time; the optimum is proven, and judged on orders it has not seen. A product that is
discontinued is excluded: its orders are lost.

Run: python examples/orders.py [FOLDER] [ORDERS.csv]   (columns order_id and sku; made-up orders without a file)
The same by the command line:

    fewer dims orders.csv --order order_id --item sku --exclude P007 -k 12 -o stock.csv
"""

import sys
from pathlib import Path
from typing import Any

import polars as pl

from fewer import Result, dims
from fewer.datasets import orders

BUDGETS = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30)
LINES = {"order": "order_id", "item": "sku"}
GONE = "P007"


def write_orders(folder: Path, n_orders: int = 5000, n_products: int = 60, seed: int = 1) -> Path:
    """Made-up lines of orders, as a csv."""
    pl.DataFrame(orders(n_orders, n_products, rng=seed)).write_csv(folder / "orders.csv")
    return folder / "orders.csv"


def stocked(lines: pl.DataFrame, result: Result) -> float:
    """The share of orders all of whose products are stocked."""
    complete = lines.group_by("order_id").agg(pl.col("sku").is_in(result.labels.tolist()).all())
    return float(complete["sku"].mean())


def main(
    folder: Path, file: Path | None = None, budgets: tuple[int, ...] = BUDGETS, **search: Any
) -> Result:
    """Print and draw the shares for each k, and write what to stock for the sixth."""
    lines = pl.read_csv(write_orders(folder) if file is None else file)
    half = lines["order_id"] % 2 == 0
    train, test = lines.filter(half), lines.filter(~half)
    curves: dict[str, list[float]] = {
        "greedy": [],
        "proven optimum": [],
        "optimum, on held-out orders": [],
    }
    print(
        f"{train['order_id'].n_unique()} orders of {lines['sku'].n_unique()} products; share that"
        " ships complete"
    )
    print(f"{'k':>3s} {'greedy':>8s} {'optimum':>8s} {'gap':>8s} {'held out':>9s}")
    for k in budgets:
        best = dims(train, k, **LINES, **search)
        greedy = dims(train, k, **LINES, solver="greedy")
        shares = [stocked(train, greedy), stocked(train, best), stocked(test, best)]
        for curve, share in zip(curves.values(), shares, strict=True):
            curve.append(share)
        print(f"{k:3d} {shares[0]:8.4f} {shares[1]:8.4f} {best.gap:8.1e} {shares[2]:9.4f}")
    draw(budgets, curves, folder / "orders.png")
    stock = dims(lines, budgets[len(budgets) // 2], **LINES, exclude=[GONE], **search)
    pl.DataFrame({"column": stock.labels.tolist(), "index": stock.indices}).write_csv(
        folder / "stock.csv"
    )
    print(
        f"without {GONE}: {stocked(lines, stock):.4f}; {folder / 'stock.csv'},"
        f" {folder / 'orders.png'}"
    )
    return stock


def draw(budgets: tuple[int, ...], curves: dict[str, list[float]], path: Path) -> None:
    """The shares against k."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.2))
    for (name, curve), style in zip(curves.items(), ("o--", "D-", "kx"), strict=True):
        axis.plot(budgets, curve, style, label=name, markersize=5)
    axis.set(
        xlabel="products stocked (k)", ylabel="share of orders that ship complete", ylim=(0, None)
    )
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    home = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    home.mkdir(exist_ok=True)
    main(home, Path(sys.argv[2]) if len(sys.argv) > 2 else None, rng=0)
