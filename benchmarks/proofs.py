"""How the gap of `exact` falls with seconds: terms with 31 to 457 columns, points with 150 to 1,797 rows.

    python benchmarks/proofs.py --data DIR [--marks 1,10,60] [--k 10] [--inputs hangseng31 ftse89
    ...]

DIR holds `index_tracking.npz` (OR-Library's Hang Seng and FTSE 100, and the S&P 500 of 2010);
without it only made-up inputs are run: returns of a market, ten sectors and noise over 290 weeks,
with an index of all columns. Seconds are those of the processor, of one thread, so that a busy
machine gives much the same table; the search before the proof is counted. A cell is 1 - bound /
value, or "proven", where the last column has the seconds it took.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from fewer import points, terms

REAL = {"hangseng31": "orlib1_hangseng31_prices", "ftse89": "orlib3_ftse89_prices"}
SHAPES = {
    "factors225": (225, 0),
    "factors225b": (225, 1),
    "factors457": (457, 0),
    "factors457b": (457, 1),
}
WEEKS, SECTORS = 290, 10


def factor_returns(columns: int, seed: int) -> tuple[Any, Any]:
    """Weekly returns (290, columns) with heavy tails, and those of an index with lognormal capitalisations."""
    rng = np.random.default_rng(seed)
    market = 0.02 * rng.standard_t(5, WEEKS)
    sectors = 0.015 * rng.standard_t(5, (WEEKS, SECTORS))
    sector, beta, load = (
        rng.integers(SECTORS, size=columns),
        rng.normal(1, 0.25, columns),
        rng.normal(1, 0.3, columns),
    )
    noise = 0.024 * np.exp(0.35 * rng.normal(size=columns)) * rng.standard_t(5, (WEEKS, columns))
    X = np.outer(market, beta) + sectors[:, sector] * load + noise
    capital = np.exp(1.2 * rng.normal(size=columns))
    return X, X @ (capital / capital.sum())


def inputs(data: Path | None) -> dict[str, tuple[Any, Any]]:
    """Every input by name: columns and target."""
    tables = {}
    if data is not None and (data / "index_tracking.npz").exists():
        with np.load(data / "index_tracking.npz", allow_pickle=False) as stored:
            for name, key in REAL.items():
                prices = stored[key]
                returns = prices[1:] / prices[:-1] - 1
                tables[name] = returns[:, 1:], returns[:, 0]
            X, y = stored["sp500_2010_asset_returns"], stored["sp500_2010_index_returns"]
        some = np.sort(np.random.default_rng(0).permutation(X.shape[1])[:225])
        tables["sp500_225"], tables["sp500_386"] = (X[:, some], y), (X, y)
    return tables | {name: factor_returns(*shape) for name, shape in SHAPES.items()}


def row_inputs() -> dict[str, Any]:
    """Rows for points by name: digits, and normal ones in the plane."""
    digits = load_digits().data
    plane = np.random.default_rng(0).normal(size=(300, 2))
    return {f"digits{n}": digits[:n] for n in (150, 300, 600, 1000, 1797)} | {"plane300": plane}


def gaps(solve: Callable[..., Any], marks: list[float]) -> tuple[list[str], float, float]:
    """The gap at each mark, the value at the end, and the seconds used."""
    began, cells = time.process_time(), []

    def watch(progress: Any) -> bool:
        used = time.process_time() - began
        while len(cells) < len(marks) and used >= marks[len(cells)]:
            cells.append(f"{100 * (1 - (progress.bound or 0.0) / progress.best):.1f} %")
        return len(cells) == len(marks)

    result = solve(callback=watch)
    used = time.process_time() - began
    cells += ["proven"] * (len(marks) - len(cells)) if result.gap <= 1e-8 * result.value else []
    return cells, result.value, used


def main() -> None:
    """Run the inputs asked for, one row each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--marks", default="1,10,60")
    parser.add_argument("--inputs", nargs="*")
    args = parser.parse_args()
    marks = [float(mark) for mark in args.marks.split(",")]
    available = inputs(args.data)
    rows = row_inputs()
    X, y = factor_returns(20, 0)
    terms(X, y, k=3, solver="exact", rng=0)  # compile
    points(X[:12], k=2, solver="exact", rng=0)
    print("| input | of | value |", " | ".join(f"{mark:g} s" for mark in marks), "| seconds |")
    print("|---|" + "---|" * (len(marks) + 3))
    with threadpool_limits(1):
        for name in args.inputs or [*available, *rows]:
            if name in rows:
                size, solve = len(rows[name]), partial(points, rows[name])
            else:
                X, y = available[name]
                size, solve = X.shape[1], partial(terms, X, y)
            cells, value, used = gaps(
                partial(solve, k=args.k, solver="exact", rng=0, time_limit=1e6), marks
            )
            print(
                f"| {name} | {size} | {value:.4g} |",
                " | ".join(cells),
                f"| {used:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
