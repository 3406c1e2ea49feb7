"""Curves and bars as inline SVG, coloured by the page's style sheet so that they follow light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .html import Html, join, tag

WIDTH, HEIGHT = 640.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 26.0, 34.0, 46.0
MAX_MARKED_PLACES = 14
"""Distinct x up to which each gets a tick of its own."""


@dataclass(frozen=True)
class Series:
    """A named curve: y against x, in the order given.

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
        """An axis around these values; zero is on it unless they are all far from it."""
        low, high = min(values), max(values)
        if not log and low > 0 and low < 0.5 * high:
            low = 0.0
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        return cls(low, high, start, end, log)

    def __call__(self, value: float) -> float:
        """The pixel of a number."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """A few round numbers inside the axis.

        >>> Axis(0.0, 50.0, 0, 100, False).ticks()
        [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
        >>> Axis(0.004, 3.0, 0, 100, True).ticks()
        [0.01, 0.1, 1.0]
        """
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            digits = (1,) if last - first > 3 else (1, 3)
            found = [d * 10.0**e for e in range(first, last + 1) for d in digits]
            inside = [t for t in found if self.low * 0.999 <= t <= self.high * 1.001]
            decades = [t for t in inside if round(math.log10(t)) == math.log10(t)]
            return decades if len(decades) >= 3 else inside or [self.low, self.high]
        raw = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """A number in few characters.

    >>> short(0.25), short(46020.0), short(12345.6), short(0.00012), short(0.0), short(math.inf)
    ('0.25', '46020', '12346', '1.2e-4', '0', 'inf')
    """
    if not math.isfinite(value):
        return f"{value}"
    if value == round(value) and abs(value) < 1e9:
        return f"{value:.0f}"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    digits, power = f"{value:.2e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def curve(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    title: str,
    chosen: float | None = None,
    words: str = "",
    logs: tuple[bool | None, bool | None] = (None, None),
) -> Html:
    """Curves with axes and a legend; x and y by their logarithms where they span much, or as `logs` says.

    `chosen` marks one x by a line, which the page's slider moves. `words` describe the picture to
    who does not see it.
    """
    xs = [v for s in series for v in s.x]
    ys = [v for s in series for v in s.y if math.isfinite(v)]
    if not ys:
        return Html("")
    log_x, log_y = (
        low > 0 and high >= times * low if log is None else log
        for log, low, high, times in zip(
            logs, (min(xs), min(ys)), (max(xs), max(ys)), (8, 10.001), strict=True
        )
    )
    across = Axis.of(xs, LEFT, WIDTH - RIGHT, log_x)
    up = Axis.of(ys, HEIGHT - BOTTOM, TOP, log_y)
    every = sorted(set(xs))
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", words) if words else None,
        frame(across, up, every if len(every) <= MAX_MARKED_PLACES else across.ticks(), x, y),
        None if chosen is None else marker(across, every, chosen),
        [line(s, across, up) for s in reversed(series)],
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        aria_label=title,
        class_="curve",
    )
    keys = [tag("li", tag("span", class_=f"key {s.style}"), s.name) for s in series]
    return tag("figure", drawing, tag("figcaption", tag("ul", keys, class_="legend")))


def frame(across: Axis, up: Axis | None, xs: Sequence[float], x: str, y: str) -> Html:
    """Grid lines, ticks at the given x (thinned where they would overlap), and the names of the axes.

    Without `up` the height means nothing.
    """
    rows = (
        []
        if up is None
        else [
            join(
                tag(
                    "line",
                    x1=LEFT,
                    x2=WIDTH - RIGHT,
                    y1=f"{up(t):.1f}",
                    y2=f"{up(t):.1f}",
                    class_="grid",
                ),
                tag("text", short(t), x=LEFT - 8, y=f"{up(t) + 4:.1f}", text_anchor="end"),
            )
            for t in up.ticks()
        ]
    )
    shown: list[float] = []
    for t in xs:
        if not shown or across(t) - across(shown[-1]) > 34:
            shown.append(t)
    columns = [
        tag("text", short(t), x=f"{across(t):.1f}", y=HEIGHT - BOTTOM + 20, text_anchor="middle")
        for t in shown
    ]
    names = [
        tag(
            "text",
            x,
            x=(LEFT + WIDTH - RIGHT) / 2,
            y=HEIGHT - 6,
            text_anchor="middle",
            class_="axis",
        ),
        tag("text", y, x=4, y=16, class_="axis"),
    ]
    return join(rows, columns, names)


def line(series: Series, across: Axis, up: Axis) -> Html:
    """One curve and its points; values that are not finite are left out."""
    pairs = [
        (x, y)
        for x, y in zip(series.x, series.y, strict=True)
        if math.isfinite(y) and (y > 0 or not up.log)
    ]
    points = [(f"{across(x):.1f}", f"{up(y):.1f}") for x, y in pairs]
    if series.form == "steps":
        return tag("g", tag("path", d=stairs(points)), class_=f"series {series.style}")
    path = " ".join(f"{a},{b}" for a, b in points)
    if series.form == "line":
        return tag("g", tag("polyline", points=path), class_=f"series thin {series.style}")
    dots = [
        tag("circle", tag("title", f"{series.name}, {short(x)}: {short(y)}"), cx=a, cy=b, r=3.4)
        for (a, b), (x, y) in zip(points, pairs, strict=True)
    ]
    return tag(
        "g",
        band(series, across, up),
        tag("polyline", points=path),
        dots,
        class_=f"series {series.style}",
    )


def band(series: Series, across: Axis, up: Axis) -> Html | None:
    """The band around a curve, cut off where the axis ends."""
    if not len(series.spread):
        return None
    rows = zip(series.x, series.y, series.spread, strict=True)
    known = [(x, y, half) for x, y, half in rows if math.isfinite(y) and math.isfinite(half)]
    upper = [(x, min(y + half, up.high)) for x, y, half in known]
    lower = [(x, max(y - half, up.low)) for x, y, half in known]
    corners = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in [*upper, *reversed(lower)])
    return tag("polygon", points=corners, class_="band")


def stairs(points: Sequence[tuple[str, str]]) -> str:
    """A path that is level until the next point, where it goes up or down.

    >>> stairs([("0.0", "9.0"), ("5.0", "4.0"), ("6.0", "4.0"), ("7.0", "1.0")])
    'M0.0 9.0H5.0V4.0H7.0V1.0'
    """
    (x, y), *rest = points
    path = f"M{x} {y}"
    for i, (a, b) in enumerate(rest):
        if b != y:
            path += f"H{a}V{b}"
        elif i == len(rest) - 1:
            path += f"H{a}"
        y = b
    return path


def marker(across: Axis, xs: Sequence[float], chosen: float) -> Html:
    """A vertical line at the chosen x; it carries where the others are, for the slider."""
    at = f"{across(chosen):.1f}"
    positions = " ".join(f"{x:g}:{across(x):.1f}" for x in xs)
    return tag(
        "line", x1=at, x2=at, y1=TOP, y2=HEIGHT - BOTTOM, class_="marker", data_positions=positions
    )


def weight_bar(weight: float, largest: float) -> Html:
    """A small bar of this weight's length, for a table's cell."""
    share = 0.0 if largest <= 0 else min(max(weight / largest, 0.0), 1.0)
    bar = tag("rect", x=0, y=1, width=f"{100 * share:.1f}", height=8)
    return tag(
        "svg",
        bar,
        viewBox="0 0 100 10",
        class_="bar",
        aria_hidden="true",
        preserveAspectRatio="none",
    )
