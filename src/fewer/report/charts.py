"""Charts, bars and pictures as HTML and inline SVG, coloured by the style sheet of the page."""

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..text import short

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 78, 614, 34, 294
"""Pixels of the axes."""
MAX_MARKED_PLACES = 14
"""Distinct x up to which each gets a tick of its own."""
MAX_TICKS = 6
"""Ticks of other axes, about."""
TICK_DISTANCE = 34
"""Pixels between two ticks on the axis of x, at least."""
MAX_BARS, MAX_DRAWN_ROWS, MAX_DRAWN_STEPS = 30, 1500, 600
"""Bars, rows behind kept points, and places of a long curve that are drawn, at most."""
LARGEST_DISC, SMALLEST_DISC = 18.0, 3.0
"""Radii of kept points in pixels."""
GOLDEN = 0.618034
"""Multiples of it, modulo one, are spread evenly."""


class Html(str):
    """Text that is already HTML; any other string is escaped when it enters a tag."""

    __slots__ = ()


def join(*children: Any) -> Html:
    """Return children one after the other: lists flattened, None left out, texts escaped.

    >>> join("1 < 2 ", [tag("b", 3), None])
    '1 &lt; 2 <b>3</b>'
    """
    text = ""
    for child in children:
        if isinstance(child, (list, tuple)):
            text += join(*child)
        elif child is not None:
            text += child if isinstance(child, Html) else escape(str(child))
    return Html(text)


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element: `class_` is class, `data_k` is data-k, None and False are left out.

    >>> tag("td", "a & b", class_="name", data_k=0, title=None), tag("br")
    ('<td class="name" data-k="0">a &amp; b</td>', '<br />')
    """
    start = name
    for key, value in attributes.items():
        if value is not None and value is not False:
            start += f' {key.rstrip("_").replace("_", "-")}="{join(value)}"'
    return Html(f"<{start}>{join(*children)}</{name}>" if children else f"<{start} />")


@dataclass(frozen=True)
class Series:
    """A named curve, y against x.

    `style` is ours, held, residual, baseline, baseline2 or baseline3. `form` is points (joined by
    lines), line, steps (level until the next x), dots, or discs (of these radii and captions).
    `spread` is half the height of a band.
    """

    name: str
    x: Any
    y: Any
    style: str = "baseline"
    form: str = "points"
    spread: Any = None
    radii: Any = ()
    captions: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """Numbers low..high on pixels start..end, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def of(cls, values: Any, start: float, end: float, log: bool = False) -> "Axis":
        """Make an axis around values; zero is on it unless they are all far from it."""
        low, high = float(np.min(values)), float(np.max(values))
        if not log and 0 < low < 0.5 * high:
            low = 0.0
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        return cls(low, high, start, end, log)

    def __call__(self, values: Any) -> Any:
        """Return the pixels of numbers; those outside are moved to the ends."""
        scale: Any = np.log if self.log else np.asarray
        return np.interp(scale(values), scale([self.low, self.high]), [self.start, self.end])

    def ticks(self) -> list[float]:
        """Return a few round numbers inside the axis.

        >>> Axis(0.0, 50.0, 0, 100).ticks()
        [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
        >>> np.array(Axis(0.004, 3.0, 0, 100, True).ticks()).tolist()
        [0.01, 0.1, 1.0]
        """
        numbers = np.outer(10.0 ** np.arange(-300, 300), [1, 2, 5]).ravel()
        if self.log:
            ticks = numbers[(numbers >= self.low) & (numbers <= self.high)]
            return list(ticks if len(ticks) < 9 else ticks[np.log10(ticks) % 1 == 0])
        step = numbers[numbers >= (self.high - self.low) / MAX_TICKS][0]
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(i * step) for i in range(first, last + 1)]


def chart(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    title: str,
    words: str = "",
    logs: tuple[bool, bool] = (False, False),
    marked: float | None = None,
) -> Html:
    """Draw curves with axes and a legend; `logs` says which axes are logarithmic.

    Without a name for y heights mean nothing. A line marks one x, which the slider of the page
    moves. `words` describe the chart to those who do not see it.
    """
    xs, ys = (np.concatenate([getattr(one, name) for one in series]) for name in "xy")
    if not np.isfinite(ys).any():
        return Html("")
    across = Axis.of(xs, LEFT, RIGHT, logs[0])
    up = Axis.of(ys[np.isfinite(ys)], BOTTOM, TOP, logs[1])
    marks, last = "", 0.0
    for value in up.ticks() if y else ():
        height = up(value)
        marks += f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{height}" y2="{height}" />'
        marks += f'<text x="{LEFT - 8}" y="{height + 4}" text-anchor="end">{short(value)}</text>'
    places = np.unique(xs)
    for value in places if len(places) <= MAX_MARKED_PLACES else across.ticks():
        at = across(value)
        if at - last > TICK_DISTANCE:
            place = f'x="{at}" y="{BOTTOM + 20}" text-anchor="middle"'
            marks += f"<text {place}>{short(float(value))}</text>"
            last = at
    if marked is not None:
        ends = f'x1="{across(marked)}" x2="{across(marked)}" y1="{TOP}" y2="{BOTTOM}"'
        positions = " ".join(f"{k:g}:{across(k)}" for k in places)
        marks += f'<line class="marker" {ends} data-positions="{positions}" />'
    svg = tag(
        "svg",
        tag("title", title),
        tag("desc", words),
        Html(marks),
        [curve(one, across, up) for one in reversed(series)],
        tag("text", x, x=(LEFT + RIGHT) / 2, y=HEIGHT - 6, text_anchor="middle", class_="axis"),
        tag("text", y, x=4, y=16, class_="axis"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=title,
        class_="curve",
    )
    legend = [tag("li", tag("span", "", class_=f"key {one.style}"), one.name) for one in series]
    return tag("figure", svg, tag("figcaption", tag("ul", legend, class_="legend")))


def curve(series: Series, across: Axis, up: Axis) -> Html:
    """Draw one curve; values that are not on the axis are left out."""
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    shown = np.isfinite(y) & ((y > 0) | (not up.log))
    x, y = x[shown], y[shown]
    a, b = across(x).round(1), up(y).round(1)
    radii, captions = series.radii, series.captions
    marks = []
    if series.spread is not None:
        half = np.asarray(series.spread)[shown]
        lower, upper = up(np.maximum(y - half, up.low)), up(y + half)
        around = f"{corners(a, lower)} {corners(a[::-1], upper[::-1])}"
        marks.append(tag("polygon", points=around, class_="band"))
    if series.form == "points":
        radii = np.full(len(x), 3.4)
        captions = [f"{series.name}, {short(x[i])}: {short(y[i])}" for i in range(len(x))]
    elif series.form == "steps":
        a, b = np.repeat(a, 2)[1:], np.repeat(b, 2)[:-1]
    if series.form == "dots":
        marks.append(tag("path", d="".join(f"M{u} {v}h0" for u, v in zip(a, b, strict=True))))
    elif series.form != "discs":
        marks.append(tag("polyline", points=corners(a, b)))
    for u, v, radius, caption in zip(a, b, radii, captions, strict=False):
        marks.append(tag("circle", tag("title", caption), cx=u, cy=v, r=f"{radius:.1f}"))
    return tag("g", marks, class_=f"series {series.form} {series.style}")


def corners(x: Any, y: Any) -> str:
    """Return pixels as the points of a polyline."""
    return " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(x, y, strict=True))


def drawn_rows(n: int) -> Indices:
    """Return all of n rows, or as many as are drawn, at random."""
    return np.sort(np.random.default_rng(0).permutation(n)[:MAX_DRAWN_ROWS])


def in_plane(rows: Any, n: int, names: Sequence[str] = ()) -> tuple[Any, Sequence[str]]:
    """Return rows (m, d) in two dimensions, and the names of the axes.

    Of more than two columns these are the principal components of the first n rows. A single column
    is spread evenly over a height that means nothing, and has no name.
    """
    rows = np.asarray(rows, np.float64)
    if rows.shape[1] > 2:
        mean = rows[:n].mean(axis=0)
        _, lengths, directions = np.linalg.svd(rows[:n] - mean, full_matrices=False)
        shares = 100 * lengths**2 / max(float(lengths @ lengths), 1e-300)
        rows = (rows - mean) @ directions[:2].T
        heads = ("first principal component", "second")
        names = [
            f"{head} ({share:.0f} % of the variance)"
            for head, share in zip(heads, shares, strict=False)
        ]
    if rows.shape[1] == 1:
        rows = np.column_stack([rows, np.arange(len(rows)) * GOLDEN % 1.0])
        names = (*(names or ["value"]), "")
    return rows, names or ("first column", "second column")


def cloud(
    rows: Any, kept: Any, weights: Vector, total: int, captions: Sequence[str], names: Sequence[str]
) -> Html:
    """Draw kept points over some of `total` rows, their areas by weight."""
    n, largest = len(rows), float(weights.max(initial=1e-300))
    places, (x, y) = in_plane(np.concatenate([rows, kept]), n, names)
    a, b = places.T
    radii = np.maximum(LARGEST_DISC * np.sqrt(weights / largest), SMALLEST_DISC)
    some = f"{n} of {total} rows" if n < total else f"all {total} rows"
    discs = Series("kept, area: weight", a[n:], b[n:], "disc", "discs", None, radii, captions)
    title = f"{len(kept)} kept points among {some}"
    words = f"Each kept point is a disc whose area is its weight, at most {largest:.1%}."
    return chart(
        [discs, Series(some, a[:n], b[:n], "dot", "dots")], x=x, y=y, title=title, words=words
    )


def steps(
    x: Vector, before: Vector, after: Vector, axes: tuple[str, str], title: str, log: bool = False
) -> Html:
    """Draw two curves of steps, of many places only some, but each step of `after`."""
    at = np.union1d(evenly(len(x)), np.flatnonzero(np.diff(after, prepend=np.nan)))
    x, before, after = x[at], before[at], after[at]
    most = float(np.abs(before - after).max())
    words = f"Two curves against the {axes[0]}; where drawn they differ by at most {most:.2%}."
    lines = [Series("after", x, after, "ours", "steps"), Series("before", x, before, form="steps")]
    return chart(lines, x=axes[0], y=axes[1], title=title, words=words, logs=(log, False))


def cumulative(x: Vector, before: Vector, after: Vector, name: str) -> Html:
    """Draw cumulative shares at sorted places x, by logarithms where most of the mass is at one end."""
    low, high = x[np.searchsorted(before, [0.25 * before[-1], 0.75 * before[-1]])]
    log = bool(x[0] > 0 and high - low < 0.05 * (x[-1] - x[0]))
    axes = name, "cumulative share"
    return steps(x, before, after, axes, "Cumulative shares before and after", log)


def tracks(target: Vector, track: Vector) -> Html:
    """Draw a target with its track, at evenly spaced rows of many, and below what is left."""
    at = evenly(len(target))
    left = (track - target)[at]
    some = "" if len(at) == len(target) else f", {len(at)} of {len(target)} rows"
    lines = [
        Series("tracked by the kept columns", at, track[at], "ours", "line"),
        Series("target", at, target[at], form="line"),
    ]
    y, words = "target and what tracks it", f"At most {short(float(np.abs(left).max()))} in size."
    residual = [Series("residual", at, left, "residual", "line")]
    return join(
        chart(lines, x="row", y=y, title=f"The {y}{some}"),
        chart(residual, x="row", y="residual", title=f"Residual{some}", words=words),
    )


def evenly(n: int) -> Indices:
    """Return all of n places, or as many as are drawn, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, MAX_DRAWN_STEPS).round().astype(np.int64))


def weight_bar(share: float) -> Html:
    """Return a small bar of this share of its length."""
    box = 'class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"'
    return Html(f'<svg {box}><rect y="1" width="{100 * share:.1f}" height="8" /></svg>')


def bars(names: Sequence[Any], shares: Sequence[float], words: str, style: str = "bars") -> Html:
    """Draw named shares of one as bars from a common edge, with `words` below."""
    rows = []
    for name, share in zip(names[:MAX_BARS], shares, strict=False):
        number = tag("span", f"{100 * share:.1f} %", class_="number")
        rows.append(tag("li", tag("span", name), weight_bar(share), number))
    if len(names) > MAX_BARS:
        words += f" {len(names) - MAX_BARS} more are not drawn."
    return tag("figure", tag("ul", rows, class_=style), tag("figcaption", words))


def pictures(table: Mapping[str, Any], captions: Sequence[str], shape: tuple[int, int]) -> Html:
    """Return rows as grey pictures of `shape`, all on one scale, dark where the value is large.

    Pixels are the last columns of the table.
    """
    rows = np.array(list(table.values())[-math.prod(shape) :], np.float64).T
    low, high = rows.min(initial=0.0), rows.max(initial=0.0)
    grey = np.round(255 * (1.0 - (rows - low) / ((high - low) or 1.0))).astype(np.uint8)
    items = []
    for row, caption in zip(grey, captions, strict=True):
        image = tag("img", src=png(row.reshape(shape)), alt=caption)
        items.append(tag("figure", image, tag("figcaption", caption)))
    return tag("div", items, class_="pictures")


def png(grey: Any) -> str:
    """Return a grey picture (height, width) of bytes as a data address.

    >>> png(np.zeros((2, 2), np.uint8))[:22]
    'data:image/png;base64,'
    """
    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress(np.pad(grey, ((0, 0), (1, 0))).tobytes(), 9)
    image = b"\x89PNG\r\n\x1a\n"
    for chunk in (b"IHDR" + header, b"IDAT" + lines, b"IEND"):
        image += struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"
