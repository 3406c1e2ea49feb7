"""Twenty weighted digits that stand for all, and what is lost against k: two pictures in `demo/`.

MMD against k for `points`, greedy and baselines, each baseline with the best weights on its rows. Run:
python examples/prototypes.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fewer import FewerPoints, RowsMMD, points
from fewer.baselines import prototypes as baselines
from fewer.similarity import bandwidth, similarity_of

SIZES = (5, 10, 20, 50, 100, 200)
BASELINES = {
    "k-means snapped": baselines.kmeans_snapped,
    "k-medoids": baselines.k_medoids,
    "MMD-critic": baselines.mmd_critic,
    "random": baselines.random_rows,
}


def picture(model: FewerPoints, n: int, path: Path) -> None:
    figure, axes = plt.subplots(2, 10, figsize=(10, 3.0))
    for axis in axes.flat:
        axis.axis("off")
    for axis, image, weight in zip(axes.flat, model.points_, model.weights_, strict=False):
        axis.imshow(image.reshape(8, 8), cmap="gray_r", interpolation="nearest")
        axis.set_title(f"{100 * weight:.1f} %", fontsize=9)
    figure.suptitle(f"{len(model.indices_)} weighted digits stand for {n}: MMD = {model.mmd_:.3f}", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def curve(images: np.ndarray, path: Path) -> None:
    gamma = bandwidth(images, "rbf", "median")
    F = RowsMMD.between(images, np.full(len(images), 1 / len(images)), similarity_of("rbf", gamma))
    lines = {
        "points": [points(images, k, gamma=gamma, rng=0).value for k in SIZES],
        "greedy, refitted": [points(images, k, gamma=gamma, solver="greedy").value for k in SIZES],
    }
    for name, method in BASELINES.items():
        lines[name] = [F.value_on(method(images, k, gamma=gamma, rng=0)[0]) for k in SIZES]
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    for name, values in lines.items():
        axis.loglog(SIZES, np.sqrt(values), marker="o", ms=4, lw=2.5 if name == "points" else 1.2, label=name)
        print(f"{name:18s}" + "".join(f"{value:12.3e}" for value in values))
    axis.set_xticks(SIZES, [str(k) for k in SIZES])
    axis.minorticks_off()
    axis.set_xlabel("k, digits kept (all with their best weights)")
    axis.set_ylabel(f"MMD to all {len(images)} digits")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    images = load_digits().data
    out = Path("demo")
    out.mkdir(exist_ok=True)
    model = FewerPoints(k=20, random_state=0).fit(images)
    picture(model, len(images), out / "prototypes.png")
    print(f"MMD² against k = {', '.join(map(str, SIZES))}")
    curve(images, out / "prototypes_curve.png")
    print(f"pictures: {out / 'prototypes.png'}, {out / 'prototypes_curve.png'}")


if __name__ == "__main__":
    main()
