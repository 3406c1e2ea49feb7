"""Twenty weighted digits that stand for all 1,797: a table and a picture in `demo/`.

The objective is the maximum mean discrepancy between the kept digits and all of them; the paper's greedy
selection, its IHT, and one after the other compete with random choices. Run: make demo
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from fewer import MMD, Atoms, Result, SparseSimplex, greedy, iht

K = 20


def build(images: np.ndarray) -> tuple[MMD, SparseSimplex]:
    squared = euclidean_distances(images, squared=True)
    space = Atoms(len(images))
    similarity = np.exp(-squared / np.median(squared[squared > 0]))
    return MMD(space, similarity, np.full(space.size, 1 / space.size)), SparseSimplex(space, K)


def at_random(F: MMD, rng: np.random.Generator, reweighted: bool) -> float:
    face = np.sort(rng.choice(F.space.size, K, replace=False))
    equal = np.zeros(F.space.size)
    equal[face] = 1 / K
    return F.value_on(face) if reweighted else F.value(equal)


def picture(images: np.ndarray, result: Result, path: Path) -> None:
    order = result.support[np.argsort(-result.p[result.support])]
    figure, axes = plt.subplots(2, K // 2, figsize=(10, 3.0))
    for axis in axes.flat:
        axis.axis("off")
    for axis, i in zip(axes.flat, order, strict=False):
        axis.imshow(images[i].reshape(8, 8), cmap="gray_r", interpolation="nearest")
        axis.set_title(f"{100 * result.p[i]:.1f} %", fontsize=9)
    figure.suptitle(f"{len(order)} weighted digits stand for {len(images)}: MMD² = {result.value:.2e}", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    images = load_digits().data
    F, C = build(images)
    rng = np.random.default_rng(0)
    first = greedy(F, C)
    rows = {
        "random digits, equal weights (mean of 20)": np.mean([at_random(F, rng, False) for _ in range(20)]),
        "random digits, best weights (mean of 20)": np.mean([at_random(F, rng, True) for _ in range(20)]),
        "IHT from a random start": iht(F, C, rng=0).value,
        "Greedy": first.value,
    }
    result = iht(F, C, start=first.p)
    rows["IHT after Greedy"] = result.value
    print(f"{K} of {len(images)} digits, MMD² to all of them (smaller is better)")
    for name, value in rows.items():
        print(f"  {name:44s} {value:.6f}")
    out = Path("demo")
    out.mkdir(exist_ok=True)
    picture(images, result, out / "digits.png")
    result.distribution.save(out / "digits.npz")
    print(f"picture: {out / 'digits.png'}   the kept digits and weights: {out / 'digits.npz'}")


if __name__ == "__main__":
    main()
