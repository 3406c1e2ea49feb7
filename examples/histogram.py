"""Ten thousand bins to fifty: what a histogram keeps when its cumulative distribution is preserved.

Prints Kolmogorov distance, mean, standard deviation and quantiles before and after, and plots both cumulative
distributions. Run: python examples/histogram.py [counts.npy]   (lognormal charges without a file)
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fewer import bins

K, WIDTH = 50, 1000.0


def made_up_charges(seed: int = 0) -> np.ndarray:
    """Counts of 740,817 lognormal charges (median 20,000, sigma 1.1) in 10,000 bins of 1000."""
    rng = np.random.default_rng(seed)
    charges = np.exp(rng.normal(np.log(20000), 1.1, 740817))
    return np.bincount((charges[charges < 1e7] / WIDTH).astype(int), minlength=10000)


def describe(p: np.ndarray) -> dict[str, float]:
    middle = WIDTH * (np.arange(p.size) + 0.5)
    cdf = np.cumsum(p)
    mean = p @ middle
    quantiles = {
        f"{100 * q:g} % quantile": middle[min(np.searchsorted(cdf, q), p.size - 1)] for q in (0.1, 0.5, 0.9, 0.99)
    }
    return {"mean": mean, "standard deviation": np.sqrt(p @ (middle - mean) ** 2), **quantiles}


def main() -> None:
    counts = np.load(sys.argv[1], allow_pickle=False) if len(sys.argv) > 1 else made_up_charges()
    p = counts / counts.sum()
    bins(p[:100] + 1e-9, 3)  # compile before timing
    began = time.perf_counter()
    result = bins(counts, K)
    took = time.perf_counter() - began
    print(f"{p.size} bins ({np.count_nonzero(p)} not empty) to {K} in {took:.3f} s; {result.status}")
    print(f"{'':20s} {'before':>12s} {'after':>12s}")
    for (name, before), after in zip(describe(p).items(), describe(result.p).values(), strict=True):
        print(f"{name:20s} {before:12.1f} {after:12.1f}")
    print(f"Kolmogorov distance  {np.abs(np.cumsum(result.p) - np.cumsum(p)).max():12.5f}")
    x = WIDTH * np.arange(1, p.size + 1)
    figure, axis = plt.subplots(figsize=(7, 4.2))
    axis.step(x, np.cumsum(p), where="post", color="0.65", linewidth=4, label=f"all {p.size} bins")
    axis.step(x, np.cumsum(result.p), where="post", color="C3", label=f"{K} bins")
    axis.set(
        xscale="log", xlim=(WIDTH, x[np.searchsorted(np.cumsum(p), 0.9999)]), xlabel="value", ylabel="share at or below"
    )
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    out = Path("demo")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "histogram.png", dpi=130)
    print(f"picture: {out / 'histogram.png'}")


if __name__ == "__main__":
    main()
