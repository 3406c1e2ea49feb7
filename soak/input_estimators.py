"""The estimators in the campaign of inputs: fitted with odd data and parameters, refitted, and asked."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import fewer

from . import odd
from .input_calls import Rng, codes, eighths, matrix

PARAMETERS: dict[str, Callable[[Rng], odd.Form]] = {
    "k": lambda rng: odd.integer(rng, 2),
    "solver": lambda rng: odd.thing(rng),
    "time_limit": odd.seconds,
    "random_state": odd.seed,
    "objective": odd.thing,
    "baseline": odd.thing,
    "similarity": lambda rng: odd.thing(rng, calls=False),
    "gamma": lambda rng: odd.number(rng, 0.5),
    "max_memory": odd.thing,
    "refine": odd.thing,
    "min_weight": lambda rng: odd.number(rng, 0.125),
    "max_weight": lambda rng: odd.number(rng, 0.75),
    "include": lambda rng: odd.units(rng, 2),
    "exclude": lambda rng: odd.units(rng, 2),
    "groups": odd.thing,
    "max_per_group": lambda rng: odd.integer(rng, 2),
}


@cache
def known() -> dict[str, tuple[Any, Any, Any, tuple[str, ...]]]:
    """Each estimator fitted to plain data, the data, and what it offers after fit."""
    rng = np.random.default_rng(0)
    A, X = matrix(rng), eighths(rng, 7, 2) + 4.0 * (np.arange(7) % 3)[:, None]
    plain = {
        "FewerDims": (
            fewer.FewerDims,
            codes(rng),
            None,
            ("transform", "inverse_transform", "score"),
        ),
        "FewerBins": (fewer.FewerBins, eighths(rng, 9, 2), None, ("transform",)),
        "FewerTerms": (fewer.FewerTerms, A, A[:, 0] * 0.5 + A[:, 1] * 0.5, ("predict", "score")),
        "FewerPoints": (fewer.FewerPoints, X, None, ("transform",)),
        "FewerPointsClassifier": (
            fewer.FewerPointsClassifier,
            X,
            np.arange(7) % 2,
            ("predict", "score"),
        ),
    }
    return {
        name: (kind(k=2, random_state=0).fit(X, y), X, y, methods)
        for name, (kind, X, y, methods) in plain.items()
    }


def case(
    rng: Rng, watched: Callable[..., Any], troubles: Callable[..., list[str]]
) -> tuple[str, list[str]]:
    """One estimator: fitted again with something odd, or asked with something odd."""
    name = odd.pick(rng, known())
    fitted_once, X, y, methods = known()[name]
    model = copy.deepcopy(fitted_once)
    if rng.random() < 0.6:
        return refitted(rng, model, X, y, watched, troubles)
    method = odd.pick(rng, methods)
    if method == "inverse_transform":
        X = X[:, :2]
    form = odd.table(rng, X, sparse=True)
    extra = {"y": y} if method == "score" and y is not None else {}
    asked = type(model)() if rng.random() < 0.05 else model
    outcome, changed = watched(
        lambda: getattr(asked, method)(form.value, **extra), {"X": form.value}
    )
    return f"{name}.{method}(X={form.text})", troubles(outcome) + changed


def refitted(
    rng: Rng,
    model: Any,
    X: Any,
    y: Any,
    watched: Callable[..., Any],
    troubles: Callable[..., list[str]],
) -> tuple[str, list[str]]:
    """Fit a fitted model again.

    Where that fails it must be what it was, but for the parameters set.
    """
    forms = {"X": odd.Form("plain", X, same=True)}
    if y is not None:
        forms["y"] = odd.Form("plain", y, same=True)
    text = type(model).__name__
    draw = rng.random()
    if draw < 0.45:
        forms["X"] = odd.table(rng, X, sparse=True)
    elif draw < 0.6:
        at = "y" if y is not None and rng.random() < 0.6 else "sample_weight"
        forms[at] = odd.table(
            rng, np.asarray(y, float) if at == "y" else 1.0 + eighths(rng, len(X)), sparse=False
        )
    else:
        names = [name for name in PARAMETERS if name in model.get_params()]
        name = odd.pick(rng, names)
        form = PARAMETERS[name](rng)
        model.set_params(**{name: form.value})
        text += f"({name}={form.text})"
    before = fitted(model)
    arguments = {name: form.value for name, form in forms.items()}
    outcome, changed = watched(lambda: model.fit(**arguments), arguments)
    wrong = troubles(outcome) + changed
    if outcome.error is not None and odd.fingerprint(fitted(model)) != odd.fingerprint(before):
        wrong.append("a fit that failed changed the estimator")
    return f"{text}.fit({', '.join(f'{name}={form.text}' for name, form in forms.items())})", wrong


def fitted(model: Any) -> list[Any]:
    """What a fitted model holds, one attribute after the other."""
    attributes = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return [part for name in sorted(attributes) for part in (name, copy.copy(attributes[name]))]
