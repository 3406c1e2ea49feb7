"""A million latencies to fifty weighted values: from a csv to a distribution in JSON, and back.

Prints mean and quantiles of all values and of what was kept, and draws both cumulative distributions.
Run: python examples/latencies.py [latencies.csv [folder]]   (made-up latencies without a file)
The same in a terminal: fewer bins latencies.csv -k 50 -o latencies.json
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fewer import Distribution, bins
from fewer.datasets import latencies

K = 50


def made_up(path: Path, n: int = 1_000_000, seed: int = 0) -> None:
    """Milliseconds of made-up requests, as a csv."""
    ms = latencies(n, rng=seed)
    path.write_text("ms\n" + "\n".join(f"{value:.3f}" for value in ms) + "\n")


def compressed(ms: np.ndarray, path: Path) -> Distribution:
    """The best K values with their weights, saved as JSON and read again as another program would."""
    result = bins(ms, K)
    print(f"{len(ms)} values to {K} in {result.seconds:.2f} s. {result.message}")
    print(result.to_frame().head().to_string(index=False))
    result.distribution.save(path)
    return Distribution.load(path)


def compared(ms: np.ndarray, kept: Distribution) -> dict[str, tuple[float, float]]:
    """What people ask of latencies, of all values and of what was kept."""
    facts = {
        "mean": (float(ms.mean()), kept.mean()),
        "standard deviation": (float(ms.std()), kept.var() ** 0.5),
    }
    for q in (0.5, 0.95, 0.99):
        facts[f"p{100 * q:g}"] = float(np.quantile(ms, q)), kept.quantile(q, spread=True)
    return facts


def drawn(ms: np.ndarray, kept: Distribution, path: Path) -> None:
    """Both cumulative distributions."""
    q = np.linspace(0.0, 1.0, 1000)
    figure, axis = plt.subplots(figsize=(7, 4.2))
    axis.plot(np.quantile(ms, q), q, color="0.65", linewidth=4, label=f"all {len(ms)} values")
    axis.step(
        kept.values, kept.cdf(kept.values), where="post", color="C3", label=f"{len(kept)} values"
    )
    axis.set(xscale="log", xlabel="ms", ylabel="share at or below")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(csv: str | None = None, folder: str = "demo") -> dict[str, tuple[float, float]]:
    out = Path(folder)
    out.mkdir(exist_ok=True)
    source = out / "latencies.csv" if csv is None else Path(csv)
    if csv is None:
        made_up(source)
    ms = np.loadtxt(source, skiprows=1)
    target = out / "latencies.json"
    kept = compressed(ms, target)
    facts = compared(ms, kept)
    print(f"{'':20s} {'all values':>12s} {'kept':>12s}")
    for name, (before, after) in facts.items():
        print(f"{name:20s} {before:12.2f} {after:12.2f}")
    print(f"{source}: {source.stat().st_size} bytes; {target}: {target.stat().st_size} bytes")
    drawn(ms, kept, out / "latencies.png")
    print(f"picture: {out / 'latencies.png'}")
    return facts


if __name__ == "__main__":
    main(*sys.argv[1:])
