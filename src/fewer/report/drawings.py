"""Pictures of answers: points in a plane, two distributions, a target and its track, shares."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..text import short
from .html import Html, bars, join, tag
from .svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Series, curve, figure, frame

Matrix = npt.NDArray[np.float64]
MAX_BARS = 30
"""Bars shown, at most."""
MAX_DRAWN_ROWS = 1500
"""Rows drawn behind the kept ones, at most."""
MAX_DRAWN_STEPS = 600
"""Places at which a long curve is drawn, at most."""
LARGEST_DOT, SMALLEST_DOT = 18.0, 3.0
"""Radii of kept points in pixels."""
SKEWED = 0.05
"""Where half of the mass lies in a smaller share of the axis than this, the axis is logarithmic."""
GOLDEN = 0.618034
"""Multiples of it, modulo one, are spread evenly."""


class Plane(NamedTuple):
    """A map of rows into two dimensions with named axes."""

    place: Callable[[Any], Matrix]
    axes: tuple[str, str]


def drawn_rows(n: int) -> Indices:
    """Return all of n rows, or as many as are drawn, at random."""
    if n <= MAX_DRAWN_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_DRAWN_ROWS, replace=False))


def plane_of(rows: Any, names: Sequence[str] = ()) -> Plane:
    """Map rows (m, d) to their principal components; one or two columns are drawn as they are."""
    d = rows.shape[1]
    if d == 1:
        return Plane(spread_across, (names[0] if names else "value", ""))
    if d == 2:
        first, second = names if len(names) == 2 else ("first column", "second column")
        return Plane(lambda some: np.asarray(some, np.float64), (first, second))
    some = np.asarray(rows, np.float64)
    centre = some.mean(axis=0)
    _, lengths, directions = np.linalg.svd(some - centre, full_matrices=False)
    sizes = np.append(lengths**2, 0.0)
    shares = sizes[:2] / max(float(sizes.sum()), 1e-300)
    first, second = (f"{100 * share:.0f} % of the variance" for share in shares)
    axes = np.vstack([directions, np.zeros(d)])[:2].T
    names = f"first principal component ({first})", f"second ({second})"
    return Plane(lambda some: np.asarray((some - centre) @ axes), (names[0], names[1]))


def spread_across(rows: Any) -> Matrix:
    """Return numbers (m, 1) with a height for each, spread evenly so that few hide others."""
    values = np.asarray(rows, np.float64)[:, 0]
    return np.column_stack([values, np.arange(len(values)) * GOLDEN % 1.0])


def cloud(
    plane: Plane, rows: Any, kept: Any, weights: Vector, total: int, captions: Sequence[str]
) -> Html | None:
    """Draw kept points over some of `total` rows, their areas by weight."""
    behind, points = plane.place(rows), plane.place(kept)
    every = np.concatenate([behind, points])
    if not drawable(every):
        return None
    across = Axis.padded(every[:, 0].tolist(), LEFT, WIDTH - RIGHT)
    up = Axis.padded(every[:, 1].tolist(), HEIGHT - BOTTOM, TOP)
    path = "".join(f"M{across(a):.1f} {up(b):.1f}h0" for a, b in behind.tolist())
    largest = float(weights.max(initial=1e-300))
    radii = np.maximum(LARGEST_DOT * np.sqrt(weights / largest), SMALLEST_DOT)
    dots = []
    for (a, b), radius, words in zip(points.tolist(), radii.tolist(), captions, strict=True):
        place = {"cx": f"{across(a):.1f}", "cy": f"{up(b):.1f}", "r": f"{radius:.1f}"}
        dots.append(tag("circle", tag("title", words), **place))
    some = f"{len(behind)} of {total} rows" if len(behind) < total else f"all {total} rows"
    flat = plane.axes[1] == ""  # of one column: the height means nothing
    return figure(
        f"{len(dots)} kept points among {some}",
        f"Each kept point is a disc whose area is its weight, at most {largest:.1%}.",
        [
            frame(across, None if flat else up, across.ticks(), *plane.axes),
            tag("path", d=path, class_="cloud"),
            tag("g", dots, class_="kept"),
        ],
        [("dot", some), ("disc", "kept, area: weight")],
    )


def cumulative(x: Vector, before: Vector, after: Vector, name: str) -> Html | None:
    """Draw the cumulative shares of two distributions on sorted places x."""
    P, Q, places = np.cumsum(before), np.cumsum(after), np.arange(len(x))
    if not drawable(x):
        return None
    if len(x) > MAX_DRAWN_STEPS:  # no step of `after` is lost
        levels = np.linspace(0.0, P[-1], MAX_DRAWN_STEPS // 2)
        by_share = np.minimum(np.searchsorted(P, levels), len(x) - 1)
        even = evenly(len(x), MAX_DRAWN_STEPS // 2)
        places = np.unique(np.concatenate([by_share, even, np.flatnonzero(after)]))
    low, high = x[np.searchsorted(P, P[-1] * np.array([0.25, 0.75]))]
    log = bool(x[0] > 0 and high - low < SKEWED * (x[-1] - x[0]))
    title, y = "Cumulative shares before and after", "cumulative share"
    words = f"Two rising steps from 0 to 1 against the {name}"
    return steps(x[places], P[places], Q[places], (name, y), "after", title, words, log)


def histograms(edges: Vector, before: Vector, after: Vector, name: str) -> Html | None:
    """Draw a histogram and its bars; of many bins, neighbours within a bar are drawn as one."""
    if not drawable(edges):
        return None
    starts = np.arange(len(before))
    if len(before) > MAX_DRAWN_STEPS:
        ends = np.flatnonzero(np.append(True, np.diff(after) != 0))
        starts = np.union1d(evenly(len(before), MAX_DRAWN_STEPS), ends)
    lengths = np.diff(starts, append=len(before))
    means = [np.add.reduceat(each, starts) / lengths for each in (before, after)]
    first, second = (np.append(each, each[-1]) for each in means)
    x, axes = np.append(edges[starts], edges[-1]), (name, "share of each bin")
    title, words = "The histogram and its bars", "The share of each bin, and of the bar it is in"
    return steps(x, first, second, axes, "bars", title, words, False)


def steps(
    x: Vector,
    before: Vector,
    after: Vector,
    axes: tuple[str, str],
    name: str,
    title: str,
    words: str,
    log: bool,
) -> Html:
    """Draw two curves of steps; `words` begin the description."""
    most = float(np.abs(before - after).max())
    words = f"{words}; where drawn they differ by at most {most:.2%}."
    lines = [
        Series(name, x.tolist(), after.tolist(), "ours", "steps"),
        Series("before", x.tolist(), before.tolist(), "baseline", "steps"),
    ]
    return curve(lines, x=axes[0], y=axes[1], title=title, words=words, logs=(log, False))


def tracks(target: Vector, track: Vector) -> Html | None:
    """Draw a target with its track, at evenly spaced rows of many, and below what is left."""
    if not drawable(target, track):
        return None
    n = len(target)
    at = np.arange(n) if n <= MAX_DRAWN_STEPS else evenly(n, MAX_DRAWN_STEPS)
    rows, left = at.astype(float).tolist(), (track - target)[at].tolist()
    some = "" if len(at) == n else f", {len(at)} of {n} rows"
    lines = [
        Series("tracked by the kept columns", rows, track[at].tolist(), "ours", "line"),
        Series("target", rows, target[at].tolist(), "baseline", "line"),
    ]
    logs, y = (False, False), "target and what tracks it"
    above = curve(lines, x="row", y=y, title=f"The {y}{some}", logs=logs)
    words = (
        "What tracks the target minus the target, row by row; where drawn at most "
        f"{short(max(map(abs, left)))} in size."
    )
    residual = [Series("residual", rows, left, "residual", "line")]
    title = f"Residual{some}"
    return join(above, curve(residual, x="row", y="residual", title=title, words=words, logs=logs))


def shares(covered: float, names: Sequence[Any], parts: Sequence[float], words: str) -> Html:
    """Draw a bar for all that is covered and one for each part."""
    whole = bars([("rows covered", covered)], "covered")
    return tag("figure", whole, *few_bars(names, parts, f"Below, {words}."))


def few_bars(names: Sequence[Any], parts: Sequence[float], words: str) -> tuple[Html, Html]:
    """Draw bars of named shares, and say how many more there are."""
    pairs = list(zip(map(str, names), parts, strict=True))
    more = f" {len(pairs) - MAX_BARS} more are not drawn." if len(pairs) > MAX_BARS else ""
    return bars(pairs[:MAX_BARS]), tag("figcaption", words + more)


def evenly(n: int, count: int) -> Indices:
    """Return evenly spaced places of n."""
    return np.linspace(0, n - 1, count).round().astype(np.int64)


def drawable(*arrays: Any) -> bool:
    """Return whether arrays fit on an axis: some numbers, whose differences are all finite."""
    with np.errstate(over="ignore"):
        return all(each.size and np.isfinite(4.0 * each).all() for each in arrays)
