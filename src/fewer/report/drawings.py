"""Pictures of answers, one for each kind of view: inline SVG that follows the page's colours."""

import math
from collections.abc import Sequence
from functools import singledispatch
from itertools import zip_longest
from typing import Any

import numpy as np

from ..text import short
from .html import Html, bars, join, tag
from .svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Series, curve, figure, frame
from .views import Cloud, Shares, Steps, Tracking

MAX_BARS = 30
"""Bars shown, at most."""
LARGEST_DOT, SMALLEST_DOT = 18.0, 3.0
"""Radii of kept points in pixels."""
SKEWED = 0.05
"""Where half of the mass lies in a smaller share of the axis than this, the axis is logarithmic."""
BEYOND = ""
"""What is drawn of numbers that no axis holds."""


@singledispatch
def picture(view: Any, captions: Sequence[str] = ()) -> Html | None:
    """Return the picture of a view; `captions` name what was kept, in its order. None of others."""
    return None


@picture.register
def _(view: Cloud, captions: Sequence[str] = ()) -> Html:
    """Draw kept points over the cloud of all, their areas by weight."""
    if not drawable(view.rows, view.kept):
        return Html(BEYOND)
    every = np.concatenate([view.rows, view.kept])
    across = Axis.padded(every[:, 0].tolist(), LEFT, WIDTH - RIGHT)
    up = Axis.padded(every[:, 1].tolist(), HEIGHT - BOTTOM, TOP)
    behind = "".join(f"M{across(a):.1f} {up(b):.1f}h0" for a, b in view.rows.tolist())
    weights = view.weights.tolist()
    largest, dots = max(weights, default=1.0), []
    for (a, b), weight, words in zip_longest(view.kept.tolist(), weights, captions[: len(weights)]):
        radius = max(LARGEST_DOT * math.sqrt(weight / largest), SMALLEST_DOT)
        place = {"cx": f"{across(a):.1f}", "cy": f"{up(b):.1f}", "r": f"{radius:.1f}"}
        dots.append(tag("circle", tag("title", words), **place))
    shown, total = len(view.rows), view.total
    some = f"{shown} of {total} rows" if shown < total else f"all {total} rows"
    flat = view.axes[1] == ""  # of one column: the height means nothing
    return figure(
        f"{len(dots)} kept points among {some}",
        f"Each kept point is a disc whose area is its weight, at most {largest:.1%}.",
        [
            frame(across, None if flat else up, across.ticks(), *view.axes),
            tag("path", d=behind, class_="cloud"),
            tag("g", dots, class_="kept"),
        ],
        [("dot", some), ("disc", "kept, area: weight")],
    )


@picture.register
def _(view: Steps, captions: Sequence[str] = ()) -> Html:
    """Draw two distributions: cumulative, or a histogram and its bars."""
    if not drawable(view.x):
        return Html(BEYOND)
    most = float(np.abs(view.before - view.after).max())
    differ = f"where drawn they differ by at most {most:.2%}."
    title, y, first, log = "The histogram and its bars", "share of each bin", "bars", False
    words = f"The share of each bin, and of the bar it is in; {differ}"
    if view.cumulative:
        title, y, first = "Cumulative shares before and after", "cumulative share", "after"
        words = f"Two rising steps from 0 to 1 against the {view.name}; {differ}"
        log = skewed(view)
    x = view.x.tolist()
    lines = [
        Series(first, x, view.after.tolist(), "ours", "steps"),
        Series("before", x, view.before.tolist(), "baseline", "steps"),
    ]
    return curve(lines, x=view.name, y=y, title=title, words=words, logs=(log, False))


def skewed(view: Steps) -> bool:
    """Return whether half of the mass lies in a small share of positive places."""
    low, high = view.x[np.searchsorted(view.before, view.before[-1] * np.array([0.25, 0.75]))]
    return bool(view.x[0] > 0 and high - low < SKEWED * (view.x[-1] - view.x[0]))


@picture.register
def _(view: Tracking, captions: Sequence[str] = ()) -> Html:
    """Draw the target with its track, and below what is left."""
    if not drawable(view.target, view.track):
        return Html(BEYOND)
    rows, left = view.rows.tolist(), (view.track - view.target).tolist()
    some = "" if len(rows) == view.total else f", {len(rows)} of {view.total} rows"
    lines = [
        Series("tracked by the kept columns", rows, view.track.tolist(), "ours", "line"),
        Series("target", rows, view.target.tolist(), "baseline", "line"),
    ]
    title, logs = "The target and what tracks it", (False, False)
    above = curve(lines, x="row", y=title.lower()[4:], title=f"{title}{some}", logs=logs)
    words = (
        "What tracks the target minus the target, row by row; where drawn at most "
        f"{short(max(map(abs, left), default=0.0))} in size."
    )
    residual = [Series("residual", rows, left, "residual", "line")]
    title = f"Residual{some}"
    below = curve(residual, x="row", y="residual", title=title, words=words, logs=logs)
    return join(above, below, limits(view))


def limits(view: Tracking) -> Html | None:
    """Return what limits say: a bar for each group, the turnover, and the conditions that bind."""
    parts: list[Any] = []
    if view.groups:
        words = f"Weight of each group.{more(len(view.groups), 'are not shown')}"
        parts += [bars(view.groups[:MAX_BARS]), tag("figcaption", words)]
    if view.turnover is not None:
        turnover, most = view.turnover
        words = f"Turnover from the previous weights: {turnover:.4g} of at most {most:g}."
        parts.append(tag("p", words))
    if view.binding is not None:
        names = "; ".join(view.binding)
        parts.append(
            tag("p", f"Conditions that bind: {names}." if names else "No condition binds.")
        )
    return tag("figure", parts) if parts else None


def more(count: int, where: str) -> str:
    """Return a sentence about the bars beyond those shown; none where there are none."""
    return f" {count - MAX_BARS} more {where}." if count > MAX_BARS else ""


@picture.register
def _(view: Shares, captions: Sequence[str] = ()) -> Html:
    """Draw a bar for all that is covered and one for each part."""
    whole = bars([("rows covered", view.covered)], "covered")
    pairs = list(zip(map(str, view.names), view.shares, strict=True))
    words = f"Below, {view.caption}.{more(len(pairs), 'are in the table')}"
    return tag("figure", whole, bars(pairs[:MAX_BARS]), tag("figcaption", words))


def drawable(*arrays: Any) -> bool:
    """Return whether arrays fit on an axis: some numbers, whose differences are all finite."""
    with np.errstate(over="ignore"):
        return all(each.size and np.isfinite(4.0 * each).all() for each in arrays)
