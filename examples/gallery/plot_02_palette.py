"""
A photograph in twelve colours
==============================

A palette is a set of weighted points in colour space. `points` picks colours that are in the
picture and keeps their distribution; k-means takes averages, which are greyer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from fewer import points

photo = load_sample_image("china.jpg")[::2, ::2] / 255.0
pixels = photo.reshape(-1, 3)
sample = pixels[np.random.default_rng(0).choice(len(pixels), 4000, replace=False)]

kept = points(sample, k=12, rng=0)
means = KMeans(12, n_init=1, random_state=0).fit(sample).cluster_centers_


def painted(colours):
    """The photograph with each pixel in the nearest of these colours."""
    nearest = ((pixels[:, None, :] - colours) ** 2).sum(axis=2).argmin(axis=1)
    return colours[nearest].reshape(photo.shape)


# %%
# The bars below are the palettes: for `points` as wide as the weights.

figure, axes = plt.subplots(2, 3, figsize=(11, 4.6), gridspec_kw={"height_ratios": [9, 1]})
pictures = {
    "all colours": photo,
    "12 colours by points": painted(kept.rows),
    "12 colours by k-means": painted(means),
}
for axis, (name, picture) in zip(axes[0], pictures.items(), strict=True):
    axis.imshow(picture)
    axis.set_title(name)
for axis, colours, weights in zip(
    axes[1, 1:], (kept.rows, means), (kept.weights, np.full(12, 1 / 12)), strict=True
):
    order = np.argsort(colours.sum(axis=1))
    axis.barh(
        0, weights[order], left=np.cumsum(weights[order]) - weights[order], color=colours[order]
    )
    axis.set(xlim=(0, 1))
for axis in axes.flat:
    axis.axis("off")
figure.tight_layout()
plt.show()

# %%
# How lively are the colours? The mean saturation says how much of it each palette keeps.


def saturation(colours):
    """Largest less smallest of red, green and blue."""
    return colours.max(axis=1) - colours.min(axis=1)


shares = np.bincount(
    ((sample[:, None] - means) ** 2).sum(axis=2).argmin(axis=1), minlength=12
) / len(sample)
print(f"mean saturation: all {saturation(sample).mean():.3f}", end=", ")
print(
    f"points {kept.weights @ saturation(kept.rows):.3f}, k-means {shares @ saturation(means):.3f}"
)
