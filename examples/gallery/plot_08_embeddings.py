"""
A representative subset of embeddings
=====================================

Which few texts represent a collection? Here the texts are the documentation of scikit-learn's
estimators, as TF-IDF vectors reduced to 30 dimensions and scaled to length one. On such rows the
default similarity (rbf) compares angles and sees clusters. The cosine similarity itself does not.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize
from sklearn.utils.discovery import all_estimators

from fewer import assign, points

pages = {name: inspect.getdoc(estimator) for name, estimator in all_estimators()}
names = np.array(list(pages))
counts = TfidfVectorizer(stop_words="english", max_df=0.3, min_df=3).fit_transform(pages.values())
vectors = normalize(TruncatedSVD(30, random_state=0).fit_transform(counts))
result = points(vectors, k=12, rng=0)
print(f"{len(names)} pages; read these first:")
for i in np.argsort(-result.weights):
    print(f"{100 * result.weights[i]:5.1f} %  {names[result.indices[i]]}")

# %%
# A map of all pages, coloured by the nearest of the twelve.

nearest = assign(result, vectors)
places = TSNE(2, init="pca", random_state=0, perplexity=15).fit_transform(vectors)
figure, axis = plt.subplots(figsize=(9, 6.5))
axis.scatter(*places.T, c=plt.get_cmap("tab20")(nearest % 20), s=40, alpha=0.6)
for label, (x, y), weight in zip(
    names[result.indices], places[result.indices], result.weights, strict=True
):
    axis.scatter(x, y, s=2500 * weight, facecolor="none", edgecolor="black")
    axis.annotate(
        label,
        (x, y),
        fontsize=9,
        ha="center",
        va="bottom",
        xytext=(0, 7),
        textcoords="offset points",
    )
axis.axis("off")
plt.show()
