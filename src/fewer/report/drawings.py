"""Pictures of answers, one for each kind of view: inline SVG that follows the page's colours and needs no script."""

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from .html import Html, join, tag
from .svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Series,
    curve,
    frame,
    short,
    weight_bar,
)
from .views import Cloud, Cumulative, Profile, Shares, Tracking

MAX_BARS = 30
"""Bars shown, at most."""
LARGEST_DOT, SMALLEST_DOT = 18.0, 3.0
"""Radii of kept points in pixels."""
SKEWED = 0.05
"""Where half of the mass lies in a smaller share of the axis than this, the axis is logarithmic."""


@singledispatch
def picture(view: Any, captions: Sequence[str] = ()) -> Html | None:
    """The picture of a view; `captions` name what was kept, in the order of the view. Nothing for other views."""
    return None


@picture.register
def _(view: Cloud, captions: Sequence[str] = ()) -> Html:
    """Kept points over the cloud of all, their areas by weight."""
    if not drawable(view.rows, view.kept):
        return Html("")
    xs, ys = ([*view.rows[:, i].tolist(), *view.kept[:, i].tolist()] for i in (0, 1))
    across, up = padded(xs, LEFT, WIDTH - RIGHT), padded(ys, HEIGHT - BOTTOM, TOP)
    behind = "".join(f"M{across(a):.1f} {up(b):.1f}h0" for a, b in view.rows.tolist())
    largest = float(view.weights.max(initial=1e-300))
    dots = [
        tag(
            "circle",
            tag("title", caption),
            cx=f"{across(a):.1f}",
            cy=f"{up(b):.1f}",
            r=f"{max(LARGEST_DOT * math.sqrt(weight / largest), SMALLEST_DOT):.1f}",
        )
        for (a, b), weight, caption in zip(
            view.kept.tolist(), view.weights.tolist(), filled(captions, len(view.kept)), strict=True
        )
    ]
    shown, total = len(view.rows), view.total
    some = f"{shown} of {total} rows" if shown < total else f"all {total} rows"
    title = f"{len(dots)} kept points among {some}"
    one = view.axes[1] == ""  # one column: the height means nothing
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", f"Each kept point is a disc whose area is its weight, at most {largest:.1%}."),
        frame(across, None if one else up, across.ticks(), *view.axes),
        tag("path", d=behind, class_="cloud"),
        tag("g", dots, class_="kept"),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        aria_label=title,
        class_="curve",
    )
    keys = (
        tag("li", tag("span", class_="key dot"), some),
        tag("li", tag("span", class_="key disc"), "kept, area: weight"),
    )
    return tag("figure", drawing, tag("figcaption", tag("ul", keys, class_="legend")))


@picture.register
def _(view: Cumulative, captions: Sequence[str] = ()) -> Html:
    """Both cumulative curves."""
    if not drawable(view.x):
        return Html("")
    x, before, after = view.x.tolist(), view.before.tolist(), view.after.tolist()
    width = x[-1] - x[0]
    first, last = (
        x[next(i for i, share in enumerate(before) if share >= level * before[-1])]
        for level in (0.25, 0.75)
    )
    log = x[0] > 0 and last - first < SKEWED * width
    most = max(abs(a - b) for a, b in zip(before, after, strict=True))
    title = "Cumulative shares before and after"
    words = f"Two rising steps from 0 to 1 against the {view.name}; where drawn they differ by at most {most:.2%}."
    lines = [
        Series("after", x, after, "ours", "steps"),
        Series("before", x, before, "baseline", "steps"),
    ]
    return curve(
        lines, x=view.name, y="cumulative share", title=title, words=words, logs=(log, False)
    )


@picture.register
def _(view: Profile, captions: Sequence[str] = ()) -> Html:
    """The histogram and its bars."""
    if not drawable(view.x):
        return Html("")
    x = view.x.tolist()
    lines = [Series("bars", x, view.after.tolist(), "ours", "steps")]
    lines.append(Series("before", x, view.before.tolist(), "baseline", "steps"))
    most = float(abs(view.before - view.after).max())
    words = f"The share of each bin, and of the bar it is in; where drawn they differ by at most {most:.2%}."
    title = "The histogram and its bars"
    return curve(
        lines, x=view.name, y="share of each bin", title=title, words=words, logs=(False, False)
    )


@picture.register
def _(view: Tracking, captions: Sequence[str] = ()) -> Html:
    """The target with what tracks it, and below what is left."""
    if not drawable(view.target, view.tracked):
        return Html("")
    rows = view.rows.tolist()
    target, tracked, left = (
        view.target.tolist(),
        view.tracked.tolist(),
        (view.tracked - view.target).tolist(),
    )
    some = "" if len(rows) == view.total else f", {len(rows)} of {view.total} rows"
    lines = [Series("tracked by the kept columns", rows, tracked, "ours", "line")]
    lines.append(Series("target", rows, target, "baseline", "line"))
    above = curve(
        lines,
        x="row",
        y="target and what tracks it",
        title=f"The target and what tracks it{some}",
        logs=(False, False),
    )
    largest = max(map(abs, left), default=0.0)
    words = f"What tracks the target minus the target, row by row; where drawn at most {short(largest)} in size."
    below = curve(
        [Series("residual", rows, left, "residual", "line")],
        x="row",
        y="residual",
        title=f"Residual{some}",
        words=words,
        logs=(False, False),
    )
    return join(above, below, held(view))


def held(view: Tracking) -> Html:
    """What the limits say: a bar for each group, the turnover, and the conditions that bind."""
    parts = []
    if view.groups:
        more = (
            f" {len(view.groups) - MAX_BARS} more are not shown."
            if len(view.groups) > MAX_BARS
            else ""
        )
        parts += [bars(view.groups[:MAX_BARS]), tag("figcaption", f"Weight of each group.{more}")]
    if view.turnover is not None:
        turned, most = view.turnover
        parts.append(
            tag("p", f"Turnover from the previous weights: {turned:.4g} of at most {most:g}.")
        )
    if view.binding is not None:
        what = (
            f"Conditions that bind: {'; '.join(view.binding)}."
            if view.binding
            else "No condition binds."
        )
        parts.append(tag("p", what))
    return tag("figure", parts) if parts else Html("")


@picture.register
def _(view: Shares, captions: Sequence[str] = ()) -> Html:
    """A bar for all that is covered and one for each part."""
    whole = bars([("rows covered", view.covered)], "covered")
    pairs = list(zip(map(str, view.names), view.shares, strict=True))
    more = f"{len(pairs) - MAX_BARS} more are in the table." if len(pairs) > MAX_BARS else ""
    words = f"Below, {view.what}. {more}".strip()
    return tag("figure", whole, bars(pairs[:MAX_BARS]), tag("figcaption", words))


def bars(pairs: Sequence[tuple[str, float]], style: str = "") -> Html:
    """Named shares of one, each with a bar from one common edge."""
    rows = [
        tag(
            "li",
            tag("span", name),
            weight_bar(share, 1.0),
            tag("span", f"{100 * share:.1f} %", class_="number"),
        )
        for name, share in pairs
    ]
    return tag("ul", rows, class_=f"bars {style}".strip())


def drawable(*values: Any) -> bool:
    """Whether these arrays fit on an axis: some numbers, all finite, and none whose differences are not."""
    return all(
        each.size
        and math.isfinite(4.0 * float(each.max()))
        and math.isfinite(4.0 * float(each.min()))
        for each in values
    )


def padded(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis with some room at both ends."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    return Axis(low - room, high + room, start, end, False)


def filled(captions: Sequence[str], n: int) -> list[str]:
    """A caption for each of n, where they are given or not."""
    return [*captions[:n], *([""] * (n - len(captions)))]
