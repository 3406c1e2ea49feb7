"""The jobs users come for: a function each, and its scikit-learn estimator beside it."""
