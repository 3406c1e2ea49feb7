"""
Patches of a photograph
=======================

A texture can be told by a few of its patches. Here 64 weighted patches of 10 x 10 pixels stand for the 4,000
that were cut from a photograph, and their weights say how common each is: much sky, few roofs.
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
# A test that was not optimised: the distribution of the contrast (standard deviation) of a patch, of all
# patches, of the weighted few, and of 64 random ones.

contrast = patches.std(axis=1)
rng = np.random.default_rng(0)
levels = np.sort(contrast)
kept = np.sort(result.indices)
figure, axis = plt.subplots(figsize=(7, 4))
axis.plot(levels, np.linspace(0, 1, len(levels)), color="0.7", lw=5, label="4,000 patches")
for i in range(10):
    some = np.sort(contrast[rng.choice(4000, 64, replace=False)])
    axis.step(some, np.linspace(0, 1, 64), color="C1", lw=0.6, alpha=0.7, label="64 random patches" if i == 0 else None)
few = np.argsort(contrast[result.indices])
axis.step(contrast[result.indices][few], np.cumsum(result.weights[few]), color="C0", label="64 weighted patches")
axis.set(xlabel="contrast of a patch", ylabel="share at or below")
axis.legend(frameon=False)
plt.show()
