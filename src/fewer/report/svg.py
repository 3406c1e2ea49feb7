"""Curves as inline SVG, coloured by the page's style sheet so that they follow light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..text import short
from .html import Html, join, tag

WIDTH, HEIGHT = 640.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 26.0, 34.0, 46.0
MAX_MARKED_PLACES = 14
"""Distinct x up to which each gets a tick of its own."""
TICK_DISTANCE = 34
"""Pixels between two ticks on the axis of x, at least."""
LOG_SPANS = (8, 10.001)
"""The ratios of largest to least x and y from which an axis is logarithmic."""


@dataclass(frozen=True)
class Series:
    """A named curve: y against x.

    `style` is ours, held, baseline, baseline2 or baseline3; `form` is points (joined by lines),
    line, or steps (level until the next x). `spread` is half the height of a band around the curve,
    one for each x.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "baseline"
    form: str = "points"
    spread: Sequence[float] = ()


@dataclass(frozen=True)
class Axis:
    """Numbers low..high on pixels start..end, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float, log: bool) -> "Axis":
        """Make an axis around values; zero is on it unless they are all far from it."""
        low, high = min(values), max(values)
        if not log and 0 < low < 0.5 * high:
            low = 0.0
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        return cls(low, high, start, end, log)

    @classmethod
    def padded(cls, values: Sequence[float], start: float, end: float) -> "Axis":
        """Make an axis with some room at both ends."""
        low, high = min(values), max(values)
        room = 0.06 * (high - low) or 0.5
        return cls(low - room, high + room, start, end, False)

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        numbers = [self.low, self.high, value]
        low, high, at = map(math.log, numbers) if self.log else numbers
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return a few round numbers inside the axis.

        >>> Axis(0.0, 50.0, 0, 100, False).ticks()
        [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
        >>> Axis(0.004, 3.0, 0, 100, True).ticks()
        [0.01, 0.1, 1.0]
        """
        if self.log:
            return self.log_ticks()
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(digit * unit for digit in (1, 2, 5, 10) if digit * unit >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def log_ticks(self) -> list[float]:
        """Return powers of ten, and three times these where there are few."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        low, high = self.low * 0.999, self.high * 1.001
        decades = [10.0**power for power in powers if low <= 10.0**power <= high]
        if len(decades) >= 3 or len(powers) > 4:
            return decades or [self.low, self.high]
        ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
        return [tick for tick in ticks if low <= tick <= high] or [self.low, self.high]


def curve(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    title: str,
    marked: float | None = None,
    words: str = "",
    logs: tuple[bool | None, bool | None] = (None, None),
) -> Html:
    """Return curves with axes and a legend, by logarithms where they span much, or as `logs` says.

    A line marks one x, which the page's slider moves. `words` describe the picture to who does not
    see it.
    """
    xs = [value for one in series for value in one.x]
    ys = [value for one in series for value in one.y if math.isfinite(value)]
    if not ys:
        return Html("")
    log_x, log_y = (
        min(values) > 0 and max(values) >= span * min(values) if log is None else log
        for values, span, log in zip((xs, ys), LOG_SPANS, logs, strict=True)
    )
    across = Axis.of(xs, LEFT, WIDTH - RIGHT, log_x)
    up = Axis.of(ys, HEIGHT - BOTTOM, TOP, log_y)
    every = sorted(set(xs))
    ticks = every if len(every) <= MAX_MARKED_PLACES else across.ticks()
    return figure(
        title,
        words,
        [
            frame(across, up, ticks, x, y),
            None if marked is None else marker(across, every, marked),
            [line(one, across, up) for one in reversed(series)],
        ],
        [(one.style, one.name) for one in series],
    )


def figure(title: str, words: str, drawing: Any, keys: Sequence[tuple[str, str]]) -> Html:
    """Return a drawing with a legend of styles and names."""
    look = {"role": "img", "aria_label": title, "class_": "curve"}
    head = tag("title", title), tag("desc", words) if words else None
    svg = tag("svg", *head, drawing, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", **look)
    items = [tag("li", tag("span", class_=f"key {style}"), name) for style, name in keys]
    return tag("figure", svg, tag("figcaption", tag("ul", items, class_="legend")))


def frame(across: Axis, up: Axis | None, xs: Sequence[float], x: str, y: str) -> Html:
    """Return grid lines, ticks at some x, and the names of the axes.

    Without `up` heights mean nothing.
    """
    rows, columns = [], []
    for value in [] if up is None else up.ticks():
        height = up(value) if up is not None else 0.0
        ends = {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": f"{height:.1f}", "y2": f"{height:.1f}"}
        rows.append(tag("line", **ends, class_="grid"))
        rows.append(label(value, LEFT - 8, height + 4, "end"))
    last = -math.inf
    for value in xs:
        if across(value) - last > TICK_DISTANCE:
            last = across(value)
            columns.append(label(value, last, HEIGHT - BOTTOM + 20, "middle"))
    middle = {"x": (LEFT + WIDTH - RIGHT) / 2, "y": HEIGHT - 6, "text_anchor": "middle"}
    names = tag("text", x, **middle, class_="axis"), tag("text", y, x=4, y=16, class_="axis")
    return join(rows, columns, names)


def label(value: float, x: float, y: float, anchor: str) -> Html:
    """Return the number at a tick."""
    return tag("text", short(value), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def line(series: Series, across: Axis, up: Axis) -> Html:
    """Return one curve; values that are not on the axis are left out."""
    pairs = [pair for pair in zip(series.x, series.y, strict=True) if on_axis(pair[1], up)]
    points = [(f"{across(x):.1f}", f"{up(y):.1f}") for x, y in pairs]
    if series.form == "steps":
        return tag("g", tag("path", d=stairs(points)), class_=f"series {series.style}")
    path = tag("polyline", points=" ".join(map(",".join, points)))
    if series.form == "line":
        return tag("g", path, class_=f"series thin {series.style}")
    dots = []
    for (a, b), (x, y) in zip(points, pairs, strict=True):
        name = tag("title", f"{series.name}, {short(x)}: {short(y)}")
        dots.append(tag("circle", name, cx=a, cy=b, r=3.4))
    return tag("g", band(series, across, up), path, dots, class_=f"series {series.style}")


def on_axis(y: float, up: Axis) -> bool:
    """Return whether an axis can show a value."""
    return math.isfinite(y) and (y > 0 or not up.log)


def band(series: Series, across: Axis, up: Axis) -> Html | None:
    """Return the band around a curve, cut off where the axis ends."""
    if not len(series.spread):
        return None
    upper, lower = [], []
    for x, y, half in zip(series.x, series.y, series.spread, strict=True):
        if math.isfinite(y) and math.isfinite(half):
            upper.append(f"{across(x):.1f},{up(min(y + half, up.high)):.1f}")
            lower.append(f"{across(x):.1f},{up(max(y - half, up.low)):.1f}")
    return tag("polygon", points=" ".join([*upper, *reversed(lower)]), class_="band")


def stairs(points: Sequence[tuple[str, str]]) -> str:
    """Return a path that is level until the next point, where it goes up or down.

    >>> stairs([("0.0", "9.0"), ("5.0", "4.0"), ("6.0", "4.0"), ("7.0", "1.0")])
    'M0.0 9.0H5.0V4.0H7.0V1.0'
    """
    (x, y), *rest = points
    path, turned = f"M{x} {y}", True
    for x, height in rest:
        turned = height != y
        if turned:
            path += f"H{x}V{height}"
        y = height
    return path if turned else f"{path}H{x}"


def marker(across: Axis, xs: Sequence[float], marked: float) -> Html:
    """Return a vertical line at an x; it carries where the others are, for the slider."""
    at = f"{across(marked):.1f}"
    positions = " ".join(f"{x:g}:{across(x):.1f}" for x in xs)
    ends = {"x1": at, "x2": at, "y1": TOP, "y2": HEIGHT - BOTTOM}
    return tag("line", **ends, class_="marker", data_positions=positions)
