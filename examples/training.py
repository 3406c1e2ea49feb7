"""Train on one per cent of the rows: a coreset with weights, beside random and stratified samples of the same size.

`FewerSampler.fit_resample` gives the rows and their labels, `counts_` how many rows each stands
for, which is the `sample_weight` of a fit. A smooth model such as logistic regression gains;
boosted trees, which cut single columns at places that a few rows do not show, gain less.

Run: python examples/training.py
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from fewer import FewerSampler

DRAWS = 5
MODELS = {
    "logistic regression": lambda: LogisticRegression(C=0.1, max_iter=1000),
    "gradient boosting": lambda: HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=5, random_state=0
    ),
}


def loss(model, train, test, weights=None) -> float:
    """The log loss on the test rows."""
    fitted = model.fit(*train, sample_weight=weights)
    return float(log_loss(test[1], fitted.predict_proba(test[0])))


def stratified(y, k: int, rng) -> np.ndarray:
    """K rows, of each class as many as its share."""
    parts = []
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        parts.append(rng.choice(own, max(round(k * len(own) / len(y)), 1), replace=False))
    return np.concatenate(parts)


def main(n: int = 10_000, share: float = 0.01) -> dict[str, dict[str, float]]:
    """The log loss of each model on rows that it has not seen, by what it was trained on."""
    X, y = make_classification(
        2 * n, 12, n_informative=6, n_redundant=3, weights=[0.8], flip_y=0.05, random_state=0
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    test, k, rng = (X_test, y_test), round(share * n), np.random.default_rng(0)
    sampler = FewerSampler(k, random_state=0)
    few = sampler.fit_resample(X, y)
    found: dict[str, dict[str, float]] = {}
    for name, model in MODELS.items():
        draws = {
            "random": lambda: rng.choice(n, k, replace=False),
            "stratified": lambda: stratified(y, k, rng),
        }
        found[name] = {f"all {n} rows": loss(model(), (X, y), test)}
        found[name][f"{k} points with counts"] = loss(model(), few, test, sampler.counts_)
        for kind, draw in draws.items():
            losses = [
                loss(model(), (X[some], y[some]), test) for some in (draw() for _ in range(DRAWS))
            ]
            found[name][f"{k} {kind} rows (mean of {DRAWS})"] = float(np.mean(losses))
    for name, losses in found.items():
        print(name)
        for what, value in losses.items():
            print(f"  {what:36s}{value:8.3f}")
    return found


if __name__ == "__main__":
    main()
