"""
Patches of a photograph
=======================

A photograph is made of small patches, and a few of them say most about it. Here 64 weighted patches
of 10 x 10 pixels represent 4,000 that were cut out at random. The weights say how common each is:
much sky, few roofs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from fewer import points

photo = load_sample_image("china.jpg").mean(axis=2) / 255.0
patches = extract_patches_2d(photo, (10, 10), max_patches=4000, random_state=0).reshape(4000, -1)
result = points(patches, k=64, rng=0)
result

# %%
# The 64 patches, the most common first.

order = np.argsort(-result.weights)
figure, axes = plt.subplots(8, 8, figsize=(6.4, 6.8))
for axis, i in zip(axes.flat, order, strict=True):
    axis.imshow(result.rows[i].reshape(10, 10), cmap="gray", vmin=0, vmax=1)
    axis.set_title(f"{100 * result.weights[i]:.1f} %", fontsize=7, pad=2)
    axis.axis("off")
figure.suptitle("64 patches that stand for 4,000")
plt.show()

# %%
# Rebuild the photograph from them: each tile is replaced by the nearest of the 64 patches, or of 64
# random ones.

height, width = (side // 10 for side in photo.shape)
tiles = (
    photo[: 10 * height, : 10 * width]
    .reshape(height, 10, width, 10)
    .swapaxes(1, 2)
    .reshape(-1, 100)
)


def rebuilt(few):
    """The photograph with every tile replaced by the nearest of a few patches."""
    nearest = ((tiles[:, None] - few) ** 2).sum(axis=2).argmin(axis=1)
    return (
        few[nearest].reshape(height, width, 10, 10).swapaxes(1, 2).reshape(10 * height, 10 * width)
    )


at_random = patches[np.random.default_rng(0).choice(len(patches), 64, replace=False)]
pictures = {"the photograph": photo, "from 64 chosen patches": rebuilt(result.rows)}
pictures["from 64 random patches"] = rebuilt(at_random)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2))
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axis.set_title(name)
    axis.axis("off")
figure.tight_layout()
# sphinx_gallery_thumbnail_number = 2
plt.show()

# %%
# What it is not good at
# ----------------------
# The points match the distribution of whole patches, not of every number that can be computed from
# one. The contrast of a patch (its standard deviation) is such a number: the few keep too many flat
# patches, and random ones are mostly nearer.

contrast = patches.std(axis=1)
flat = contrast < 0.05
draws = [np.random.default_rng(seed).choice(len(patches), 64, replace=False) for seed in range(20)]
print(f"share of patches with contrast below 0.05: all {flat.mean():.2f}", end=", ")
print(f"64 weighted {result.weights @ flat[result.indices]:.2f}", end=", ")
print(
    f"64 random {min(flat[rows].mean() for rows in draws):.2f} to"
    f" {max(flat[rows].mean() for rows in draws):.2f}"
)
