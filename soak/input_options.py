"""Further options of the jobs that the campaign of inputs calls: limits, targets, units, costs, bars, blocks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fewer

from .input_calls import COMMON, Arg, Rng, Target, codes, eighths, matrix, some_space


def options(rng: Rng) -> Iterator[Target]:
    """The jobs once more, with what the plain targets leave out."""
    X = eighths(rng, 7, 2) + 4.0 * (np.arange(7) % 3)[:, None]
    limits = {"include": Arg([0], "units", 0.3), "exclude": Arg([1], "units", 0.3)}
    yield Target("points with limits", fewer.points, {
        "X": Arg(X, "table", sparse=True), "k": Arg(3, "integer"), "gamma": Arg(0.5, "bandwidth"), **limits,
        "groups": Arg(np.arange(7) % 3, "labels", 0.4),
        "max_per_group": Arg(2, "integer", 0.4), "min_per_group": Arg(1, "any", 0.2),
        "min_weight": Arg(0.125, "number", 0.3), "max_weight": Arg(0.75, "number", 0.3),
        "equal_weights": Arg(False, "any", 0.3), **COMMON,
    })  # fmt: skip
    yield Target("points for a target", fewer.points, {
        "X": Arg(X, "beside", sparse=True), "k": Arg(2, "integer"),
        "target": Arg(X[:5] + 0.125, "beside", sparse=True),
        "target_weight": Arg(1.0 + eighths(rng, 5), "table", 0.4), **COMMON,
    })  # fmt: skip
    yield Target("points of units", fewer.points, {
        "X": Arg(X, "table", sparse=True), "k": Arg(2, "integer"), "units": Arg(np.arange(7) // 2, "labels"), **limits,
        **COMMON,
    })  # fmt: skip
    yield Target("points that move", fewer.points, {
        "X": Arg(X, "beside", sparse=True), "k": Arg(2, "integer"), "move": Arg((0.0, 16.0), "any"), **COMMON,
    })  # fmt: skip
    yield Target("dims with options", fewer.dims, {
        "X": Arg(codes(rng), "table", sparse=True), "k": Arg(2, "integer", 0.8),
        "units": Arg(np.array([0, 0, 1, 2]), "labels", 0.4), "costs": Arg(1.0 + eighths(rng, 4), "table", 0.4),
        "budget": Arg(2.0, "number", 0.3), **limits, **COMMON,
    })  # fmt: skip
    yield Target("bins with bars", fewer.bins, {
        "counts": Arg(1.0 + eighths(rng, 6), "table"), "k": Arg(2, "integer"), "contiguous": Arg(True, "any"),
        "edges": Arg(np.arange(7.0), "table", 0.4), **COMMON,
    })  # fmt: skip
    yield from structured(rng)


def structured(rng: Rng) -> Iterator[Target]:
    """Conditions and losses of terms, groups, and data in blocks."""
    A = matrix(rng)
    y = A @ np.full(5, 0.2)
    yield Target("terms with conditions", fewer.terms, {
        "X": Arg(A, "table", sparse=True), "y": Arg(y, "table"), "k": Arg(3, "integer"),
        "previous": Arg(np.full(5, 0.2), "table", 0.4), "max_turnover": Arg(1.0, "number", 0.4),
        "groups": Arg(np.array([0, 0, 1, 1, 2]), "labels", 0.4), "max_group_weight": Arg(0.75, "number", 0.4),
        "min_group_weight": Arg(0.125, "any", 0.2),
        "constraints": Arg((np.ones((1, 5)), np.array([2.0])), "any", 0.3),
        "loss": Arg(("squared", "absolute", "downside"), "choice", 0.5), **COMMON,
    })  # fmt: skip
    space = some_space(rng)
    yield Target("GroupSparse", projected, {
        "space": Arg(space, "space"), "v": Arg(eighths(rng, space.size), "table"),
        "groups": Arg(np.arange(space.size) % 3, "labels"), "k": Arg(2, "integer"),
        "max_per_group": Arg(2, "integer", 0.3),
    })  # fmt: skip
    X = eighths(rng, 8, 2)
    yield Target("points of blocks", in_blocks(fewer.points), {
        "first": Arg(X[:4], "beside"), "second": Arg(X[4:], "beside"), "k": Arg(2, "integer"), **COMMON,
    })  # fmt: skip
    yield Target("dims of blocks", in_blocks(fewer.dims), {
        "first": Arg(codes(rng), "beside", sparse=True), "second": Arg(codes(rng), "beside", sparse=True),
        "k": Arg(2, "integer"), **COMMON,
    })  # fmt: skip


def projected(v: Any, **more: Any) -> Any:
    """A constraint made, and asked."""
    C = fewer.GroupSparse(**more)
    return C.project(v), C.contains(v), C.support(v)


def in_blocks(job: Callable[..., Any]) -> Callable[..., Any]:
    """A job on a callable that returns an iterator of two blocks, with too little memory for both."""
    return lambda first, second, k, **more: job(
        lambda: iter([first, second]), k, max_memory="200KB", **more
    )
