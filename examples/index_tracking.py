"""Track an index with few assets: weights between 1 % and 20 %, fitted on the first half, judged on the second.

Run: python examples/index_tracking.py [index_tracking.npz]   (made-up returns of 120 assets without a file)
The file is that of OR-Library and of R's sparseIndexTracking: sp500_2010_asset_returns, sp500_2010_index_returns.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fewer import terms
from fewer.baselines.least_squares import lasso

BUDGETS = (20, 30, 40, 50, 60)


def made_up_returns(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Daily returns of 120 assets with a market and six sector factors, and of their cap-weighted index."""
    rng = np.random.default_rng(seed)
    sector = rng.integers(0, 6, 120)
    market, sectors = rng.normal(0.0004, 0.01, 252), rng.normal(0, 0.006, (252, 6))
    assets = rng.uniform(0.6, 1.4, 120) * market[:, None] + sectors[:, sector] + rng.normal(0, 0.01, (252, 120))
    return assets, assets @ rng.dirichlet(np.full(120, 0.7))


def error(returns: np.ndarray, index: np.ndarray, q: np.ndarray) -> float:
    """Root mean squared daily tracking error, in basis points."""
    return 1e4 * float(np.sqrt(np.mean((returns @ q - index) ** 2)))


def main() -> None:
    assets, index = made_up_returns()
    if len(sys.argv) > 1:
        with np.load(sys.argv[1], allow_pickle=False) as file:
            assets, index = file["sp500_2010_asset_returns"], file["sp500_2010_index_returns"].reshape(-1)
    half = len(index) // 2
    print(
        f"{assets.shape[1]} assets, {half} days to fit, {len(index) - half} days to judge; error in basis points a day"
    )
    print("  k  fewer in    out      gap  greedy in    out  Lasso in    out")
    curves: dict[str, list[float]] = {"fewer": [], "greedy": [], "Lasso, refitted": []}
    for k in BUDGETS:
        best = terms(assets[:half], index[:half], k, min_weight=0.01, max_weight=0.2, time_limit=10, rng=0)
        baselines = {
            "fewer": best.p,
            "greedy": terms(assets[:half], index[:half], k, solver="greedy").p,
            "Lasso, refitted": lasso(assets[:half], index[:half], k, refit=True),
        }
        cells = [
            (error(assets[:half], index[:half], q), error(assets[half:], index[half:], q)) for q in baselines.values()
        ]
        for name, cell in zip(curves, cells, strict=True):
            curves[name].append(cell)
        (a, b), (c, d), (e, f) = cells
        print(f"{k:3d} {a:9.2f} {b:6.2f} {best.gap:8.1e} {c:10.2f} {d:6.2f} {e:9.2f} {f:6.2f}")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for side, (axis, title) in enumerate(zip(axes, ("days fitted", "days judged"), strict=True)):
        for (name, curve), style in zip(curves.items(), ("D-", "o--", "s:"), strict=True):
            axis.plot(BUDGETS, [cell[side] for cell in curve], style, label=name)
        axis.set(xlabel="assets held (k)", title=title)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("tracking error (bp a day)")
    axes[0].set_ylim(bottom=0)
    axes[1].legend(frameon=False)
    figure.tight_layout()
    out = Path("demo")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "index_tracking.png", dpi=130)
    print(f"picture: {out / 'index_tracking.png'}")


if __name__ == "__main__":
    main()
