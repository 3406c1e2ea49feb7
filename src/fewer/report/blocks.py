"""What a page is made of: sections, sortable tables, facts, pictures, downloads, and one answer for each k."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .html import Html, join, tag
from .svg import short, weight_bar

MAX_UNBROKEN_CHARS = 20
"""Characters of a text up to which it stays on one line."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, its values, and whether they get a bar or are shown as shares."""

    name: str
    values: Sequence[Any]
    bar: bool = False
    share: bool = False

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(v is None or is_number(v) for v in self.values)


def is_number(value: Any) -> bool:
    """Whether a value is a number, which a truth value is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def section(title: str, *children: Any) -> Html:
    """A part of the page under a heading."""
    return tag("section", tag("h2", title), *children)


def table(
    columns: Sequence[Column],
    *,
    most: int = 500,
    caption: str | None = None,
    label: str | None = None,
    keys: Sequence[int] = (),
    chosen: int | None = None,
) -> Html:
    """A table that sorts by a click on a heading where there is JavaScript; rows beyond `most` are only counted.

    It scrolls where it is large, by the keyboard too, and `label` names it. `keys` gives each row
    the k it belongs to; the row of `chosen` is marked, and then that of the slider.
    """
    rows = len(columns[0].values) if columns else 0
    heads = [
        tag("th", tag("span", c.name), scope="col", class_="number" if c.numeric else None)
        for c in columns
    ]
    largest = {c.name: max(c.values, default=0) for c in columns if c.bar}
    body = [
        tag(
            "tr",
            [cell(c, i, largest.get(c.name, 0)) for c in columns],
            data_k=keys[i] if keys else None,
            class_="chosen" if keys and keys[i] == chosen else None,
        )
        for i in range(min(rows, most))
    ]
    left = f"{rows - most} more rows are in the download." if rows > most else None
    inner = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body), class_="sortable")
    top = tag("p", caption, class_="caption") if caption else None
    region = tag(
        "div",
        inner,
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=label or caption or "table",
    )
    return join(top, region, tag("p", left, class_="caption") if left else None)


def cell(column: Column, i: int, largest: float) -> Html:
    """One cell; numbers carry themselves unrounded for sorting."""
    value = column.values[i]
    if value is None:
        return tag("td", "–", class_="number")
    if not is_number(value):
        return tag("td", value, class_="short" if len(str(value)) <= MAX_UNBROKEN_CHARS else None)
    number = float(value)
    shown = f"{100 * number:.2f} %" if column.share else short(number)
    inner = (
        tag("span", weight_bar(number, float(largest)), shown, class_="barred")
        if column.bar
        else shown
    )
    return tag("td", inner, class_="number", data_value=repr(number))


def facts(pairs: Mapping[str, Any], *, large: bool = False) -> Html:
    """Names and values; `large` ones are the page's headline numbers."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs.items()]
    return tag("dl", items, class_="facts large" if large else "facts")


def download(name: str, content: str, label: str) -> Html:
    """A link that saves `content`, which lies in the page itself."""
    data = base64.b64encode(content.encode()).decode()
    return tag(
        "p",
        tag(
            "a",
            label,
            href=f"data:text/csv;charset=utf-8;base64,{data}",
            download=name,
            class_="save",
        ),
    )


def chooser(panels: Mapping[int, Any], chosen: int, *, name: str = "k") -> Html:
    """One panel for each k: all in a row without JavaScript, one at a time under a slider with it."""
    ks = sorted(panels)
    slider = tag(
        "label",
        tag("span", f"{name} = ", tag("output", chosen)),
        tag(
            "input",
            type="range",
            min=0,
            max=len(ks) - 1,
            step=1,
            value=ks.index(chosen),
            aria_label=name,
            aria_valuetext=f"{name} = {chosen}",
        ),
        class_="slider",
        hidden=True,
    )
    shown = [
        tag(
            "div",
            tag("h3", f"{name} = {k}"),
            panels[k],
            class_="panel",
            data_k=k,
            data_chosen=True if k == chosen else None,
        )
        for k in ks
    ]
    return tag("div", slider, shown, class_="chooser")


def pictures(rows: npt.ArrayLike, captions: Sequence[str], shape: tuple[int, int]) -> Html:
    """Rows as grey pictures of `shape`, all on one scale, dark where the value is large."""
    values = np.asarray(rows, np.float64)
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    scaled = np.zeros(values.shape) if high == low else (values - low) / (high - low)
    grey = np.round(255 * (1.0 - scaled)).astype(np.uint8)
    items = [
        tag(
            "figure",
            tag("img", src=png(row.reshape(shape)), alt=caption),
            tag("figcaption", caption),
        )
        for row, caption in zip(grey, captions, strict=True)
    ]
    return tag("div", items, class_="pictures")


def png(grey: npt.NDArray[np.uint8]) -> str:
    """A grey picture (height, width) as a data address.

    >>> png(np.zeros((2, 2), np.uint8))[:22]
    'data:image/png;base64,'
    """
    height, width = grey.shape
    lines = b"".join(b"\x00" + row.tobytes() for row in grey)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts
    )
    return (
        "data:image/png;base64,"
        + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()
    )
