"""
Which words let you read the most sentences?
============================================

A learner who knows k words can read a sentence whole when it has no other. Which words are the best
to learn? Not simply the most frequent ones: a sentence needs all of its words. The text is the
first line of every page of the documentation of scikit-learn, SciPy and NumPy.
"""

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.discovery import all_estimators, all_functions

from fewer import coverage, dims

things = [thing for _, thing in (*all_estimators(), *all_functions())]
for module in (
    np,
    np.linalg,
    scipy.signal,
    scipy.linalg,
    scipy.optimize,
    scipy.ndimage,
    scipy.spatial,
    scipy.fft,
):
    things += [getattr(module, name) for name in dir(module) if not name.startswith("_")]
texts = sorted(
    {(inspect.getdoc(thing) or "").split("\n")[0].lower() for thing in things if callable(thing)}
)
sentences = [
    text for text in texts if re.fullmatch(r"[a-z -]+\.", text) and 2 <= len(text.split()) <= 8
]
reader = CountVectorizer(binary=True, token_pattern=r"[a-z]+", dtype=np.int8)  # noqa: S106 - words, no password
table = reader.fit_transform(sentences)
words = reader.get_feature_names_out()
print(f"{len(sentences)} sentences, {len(words)} words; such as: {sentences[10]!r}")

# %%
# The share of sentences of which every word is known.

sizes = (10, 20, 40, 80, 160, 320)
often = np.argsort(-np.asarray(table.sum(axis=0)).ravel(), kind="stable")
found = [dims(table, k, solver="exchange", rng=0) for k in sizes]
shares = [coverage(table, result.indices) for result in found]
frequent = [coverage(table, often[:k]) for k in sizes]
figure, axis = plt.subplots(figsize=(7, 4.2))
axis.semilogx(sizes, shares, "D-", label="words chosen by dims")
axis.semilogx(sizes, frequent, "s:", label="the most frequent words")
axis.set(
    xlabel="words known", ylabel="share of sentences read whole", xticks=sizes, xticklabels=sizes
)
axis.minorticks_off()
axis.legend(frameon=False)
plt.show()

# %%
# The forty best words. The size of a word says how many of the readable sentences use it; orange
# words are not among the forty most frequent ones.

chosen = found[2].indices
whole = np.flatnonzero(
    np.asarray(table[:, np.setdiff1d(np.arange(len(words)), chosen)].sum(axis=1)).ravel() == 0
)
uses = np.asarray(table[whole].sum(axis=0)).ravel()
figure, axis = plt.subplots(figsize=(8, 4.5))
axis.set(xlim=(0, 1), ylim=(0, 1))
axis.axis("off")
x, y, line = 0.0, 0.97, 0.0  # where the next word goes, and the height of its line
for i in chosen[np.argsort(-uses[chosen], kind="stable")]:
    colour = "C0" if i in often[:40] else "C1"
    text = axis.text(x, y, words[i], fontsize=11 + 5 * np.sqrt(uses[i]), color=colour, va="top")
    box = text.get_window_extent().transformed(axis.transData.inverted())
    if box.x1 > 1:  # on to the next line
        x, y, line = 0.0, y - line, 0.0
        text.set_position((x, y))
    x, line = x + box.width + 0.025, max(line, box.height + 0.02)
# sphinx_gallery_thumbnail_number = 2
plt.show()

# %%
# Some of the sentences that these forty words are enough for:

for i in whole[:: max(1, len(whole) // 6)][:6]:
    print(" ", sentences[i])
