"""Answers to plain or equal inputs, recomputed: what the campaign of inputs can check in microseconds."""

from typing import Any

import numpy as np


def held(p: Any, k: int) -> list[str]:
    """What keeps p from being a distribution on at most k entries."""
    wrong = []
    if p.min() < -1e-12 or abs(p.sum() - 1.0) > 1e-9:
        wrong.append(f"p is no distribution: least {p.min():.3g}, sum {p.sum():.12g}")
    if np.count_nonzero(p) > k:
        wrong.append(f"p has {np.count_nonzero(p)} entries, k = {k}")
    return wrong


def near(name: str, got: float, true: float, scale: float) -> list[str]:
    """Say where two numbers differ by more than rounding."""
    close = got == true or abs(got - true) <= 1e-7 * max(abs(true), scale)
    return [] if close else [f"{name} is {got!r}, recomputed {true!r}"]


def judge_dims(result: Any, a: dict[str, Any]) -> list[str]:
    """Coverage and value recomputed row by row."""
    X, weights = a["X"], a.get("sample_weight", np.ones(len(a["X"])))
    base = (
        np.asarray(a.get("baseline", np.zeros(X.shape[1])))
        if not isinstance(a.get("baseline"), str)
        else None
    )
    if base is None and a["baseline"] == "mode":
        return []
    base = np.zeros(X.shape[1]) if base is None else base
    outside = np.setdiff1d(np.arange(X.shape[1]), result.support)
    Q = weights[(X[:, outside] == base[outside]).all(axis=1)].sum() / weights.sum()
    wrong = (
        [] if len(result.support) <= a["k"] else [f"{len(result.support)} columns, k = {a['k']}"]
    )
    if a.get("objective", "kl") == "kl":
        wrong += near("value", result.value, -np.log(Q) if Q > 0 else np.inf, 1.0)
    return wrong


def judge_terms(result: Any, a: dict[str, Any]) -> list[str]:
    """The squared error and the ridge recomputed."""
    error = (a["X"] @ result.p - a["y"]) ** 2
    true = float(a.get("sample_weight", np.ones(4)) @ error) + a.get("ridge", 0.0) * float(
        result.p @ result.p
    )
    return held(result.p, a["k"]) + near("value", result.value, true, 1.0)


def judge_bins(result: Any, a: dict[str, Any]) -> list[str]:
    """The difference of the cumulative distributions recomputed."""
    wrong = held(result.p, a["k"])
    if a.get("preserve", "cdf") == "cdf":
        difference = np.cumsum(result.p - a["counts"] / a["counts"].sum())[:-1]  # the last is 1 - 1
        true = float(
            (np.diff(a["positions"]) if "positions" in a else np.ones(difference.size))
            @ difference**2
        )
        wrong += near("value", result.value, true, 1.0)
    return wrong


def judge_points(result: Any, a: dict[str, Any]) -> list[str]:
    """The discrepancy recomputed, for rbf with a given gamma."""
    wrong = held(result.p, a["k"])
    if a.get("similarity", "rbf") == "rbf" and isinstance(a.get("gamma"), float):
        X = a["X"]
        K = np.exp(-a["gamma"] * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        if "labels" in a:
            K = K * (a["labels"][:, None] == a["labels"][None])
        t = a.get("sample_weight", np.ones(len(X)))
        difference = result.p - t / t.sum()
        wrong += near("value", result.value, float(difference @ K @ difference), 1.0)
    return wrong


def judge_solver(result: Any, a: dict[str, Any]) -> list[str]:
    """A member of the constraint, whose value is F of it."""
    F, C = a["objective"], a["constraint"]
    wrong = [] if C.contains(result.p, 1e-7) else ["the answer is not a member of the constraint"]
    return wrong + near("value", result.value, float(F.value(result.p)), 1.0)
