"""The jobs users come for: a function each, and its scikit-learn estimator in a module beside it."""
