"""HTML: text is escaped here and nowhere else; blocks of a page, and the page as one file."""

import base64
import hashlib
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files import written_whole
from ..text import short

VOID = frozenset({"br", "circle", "img", "input", "line", "meta", "path", "polyline", "rect"})
MAX_UNBROKEN_CHARS = 20
"""Characters of a text up to which it stays on one line."""
MAX_SHOWN_ROWS = 500
"""Rows of a table that are shown."""


class Html(str):
    """Text that is already HTML; any other string is escaped when it enters a tag."""

    __slots__ = ()


def text(child: Any) -> Html:
    """Return a child of a tag: HTML as it is, nothing for None, everything else escaped.

    >>> text("<script>"), text(Html("<b>bold</b>")), text(None)
    ('&lt;script&gt;', '<b>bold</b>', '')
    """
    if isinstance(child, Html):
        return child
    return Html("" if child is None else escape(str(child), quote=True))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element. `class_` is class, `data_k` is data-k.

    True is a bare attribute, None is none.

    >>> tag("td", "a & b", class_="name", hidden=True, title=None)
    '<td class="name" hidden>a &amp; b</td>'
    """
    start = name
    for key, value in attributes.items():
        word = key.rstrip("_").replace("_", "-")
        if value is True:
            start += f" {word}"
        elif value is not None and value is not False:
            start += f' {word}="{text(value)}"'
    if name in VOID and not children:
        return Html(f"<{start} />")
    return Html(f"<{start}>{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Return children one after the other; lists are flattened.

    >>> join("1 < 2 ", [tag("b", 3), None])
    '1 &lt; 2 <b>3</b>'
    """
    parts = (join(*one) if isinstance(one, (list, tuple)) else text(one) for one in children)
    return Html("".join(parts))


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, its values, and whether they get a bar or are shares."""

    name: str
    values: Sequence[Any]
    bar: bool = False
    share: bool = False

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(value is None or is_number(value) for value in self.values)

    def cell(self, i: int) -> Html:
        """Return one cell; numbers carry themselves unrounded for sorting."""
        value = self.values[i]
        if value is None:
            return tag("td", "–", class_="number")
        if not is_number(value):
            brief = len(str(value)) <= MAX_UNBROKEN_CHARS
            return tag("td", value, class_="short" if brief else None)
        inner: Any = number_text(value, self.share)
        if self.bar:
            largest = float(max(self.values))
            inner = tag("span", weight_bar(value, largest), inner, class_="barred")
        return tag("td", inner, class_="number", data_value=repr(float(value)))


def is_number(value: Any) -> bool:
    """Return whether a value is a number, which a truth value is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def number_text(value: Any, share: bool) -> str:
    """Return a number in few characters, or as a percentage."""
    return f"{100 * value:.2f} %" if share else short(float(value))


def weight_bar(weight: float, largest: float) -> Html:
    """Return a small bar of this weight's length."""
    share = 0.0 if largest <= 0 else min(max(weight / largest, 0.0), 1.0)
    bar = tag("rect", x=0, y=1, width=f"{100 * share:.1f}", height=8)
    look = {"class_": "bar", "aria_hidden": "true", "preserveAspectRatio": "none"}
    return tag("svg", bar, viewBox="0 0 100 10", **look)


def bars(pairs: Sequence[tuple[str, float]], style: str = "") -> Html:
    """Return named shares of one, each with a bar from one common edge."""
    rows = []
    for name, share in pairs:
        number = tag("span", f"{100 * share:.1f} %", class_="number")
        rows.append(tag("li", tag("span", name), weight_bar(share, 1.0), number))
    return tag("ul", rows, class_=f"bars {style}".strip())


def section(title: str, *children: Any) -> Html:
    """Return a part of the page under a heading."""
    return tag("section", tag("h2", title), *children)


def caption(words: str | None) -> Html | None:
    """Return a line of small print; None of none."""
    return tag("p", words, class_="caption") if words else None


def table(
    columns: Sequence[Column],
    *,
    title: str | None = None,
    label: str | None = None,
    keys: Sequence[int] = (),
    marked: int | None = None,
) -> Html:
    """Return a table that sorts by a click on a heading where there is JavaScript.

    It scrolls where it is large, by the keyboard too, and `label` names it. `keys` gives each row
    the k it belongs to; the row of the `marked` one is marked, and then that of the slider.
    """
    rows = len(columns[0].values) if columns else 0
    heads, body = [], []
    for column in columns:
        style = "number" if column.numeric else None
        heads.append(tag("th", tag("span", column.name), scope="col", class_=style))
    for i in range(min(rows, MAX_SHOWN_ROWS)):
        key = keys[i] if keys else None
        style = "chosen" if key is not None and key == marked else None
        body.append(tag("tr", [column.cell(i) for column in columns], data_k=key, class_=style))
    inner = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body), class_="sortable")
    name = label or title or "table"
    region = tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=name)
    more = f"{rows - MAX_SHOWN_ROWS} more rows are in the download."
    return join(caption(title), region, caption(more if rows > MAX_SHOWN_ROWS else None))


def facts(pairs: Mapping[str, Any], *, large: bool = False) -> Html:
    """Return names and values; `large` ones are the page's headline numbers."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs.items()]
    return tag("dl", items, class_="facts large" if large else "facts")


def download(name: str, content: str, label: str) -> Html:
    """Return a link that saves `content`, which lies in the page itself."""
    address = f"data:text/csv;charset=utf-8;base64,{encoded(content.encode())}"
    return tag("p", tag("a", label, href=address, download=name, class_="save"))


def encoded(data: bytes) -> str:
    """Return bytes in base 64."""
    return base64.b64encode(data).decode()


def chooser(panels: Mapping[int, Any], first: int) -> Html:
    """Return one panel for each k: all in a row without JavaScript, one under a slider with it."""
    ks = sorted(panels)
    ends = {"min": 0, "max": len(ks) - 1, "step": 1, "value": ks.index(first)}
    spoken = {"aria_label": "k", "aria_valuetext": f"k = {first}"}
    name = tag("span", "k = ", tag("output", first))
    handle = tag("input", type="range", **ends, **spoken)
    slider = tag("label", name, handle, class_="slider", hidden=True)
    shown = []
    for k in ks:
        look = {"class_": "panel", "data_k": k, "data_chosen": k == first}
        shown.append(tag("div", tag("h3", f"k = {k}"), panels[k], **look))
    return tag("div", slider, shown, class_="chooser")


def pictures(rows: npt.ArrayLike, captions: Sequence[str], shape: tuple[int, int]) -> Html:
    """Return rows as grey pictures of `shape`, all on one scale, dark where the value is large."""
    values = np.asarray(rows, np.float64)
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    grey = np.round(255 * (1.0 - (values - low) / ((high - low) or 1.0))).astype(np.uint8)
    items = []
    for row, words in zip(grey, captions, strict=True):
        image = tag("img", src=png(row.reshape(shape)), alt=words)
        items.append(tag("figure", image, tag("figcaption", words)))
    return tag("div", items, class_="pictures")


def png(grey: npt.NDArray[np.uint8]) -> str:
    """Return a grey picture (height, width) as a data address.

    >>> png(np.zeros((2, 2), np.uint8))[:22]
    'data:image/png;base64,'
    """
    height, width = grey.shape
    lines = b"".join(b"\x00" + row.tobytes() for row in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    image = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        check = struct.pack(">I", zlib.crc32(name + data))
        image += struct.pack(">I", len(data)) + name + data + check
    return f"data:image/png;base64,{encoded(image)}"


def page(title: str, *sections: Any, lead: Any = None, eyebrow: Any = None) -> str:
    """Return a whole HTML document whose policy lets nothing run but its own script.

    Style and script are inside, named by their hashes. `eyebrow` is a line above the title, `lead`
    a sentence below it.

    >>> "&lt;b&gt;" in page("<b>", "text")
    True
    """
    folder = files(__package__)
    style, script = (folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src '{digest(style)}'; "
        f"script-src '{digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    meta = {
        "viewport": "width=device-width, initial-scale=1",
        "color-scheme": "light dark",
        "referrer": "no-referrer",
    }
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        [tag("meta", name=name, content=content) for name, content in meta.items()],
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    above = tag("p", eyebrow, class_="eyebrow") if eyebrow else None
    below = tag("p", lead, class_="lead") if lead else None
    header = tag("header", above, tag("h1", title), below)
    body = tag("body", header, tag("main", *sections), Html(f"<script>{script}</script>"))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def digest(source: str) -> str:
    """Return the hash by which a policy names an inline style or script."""
    return f"sha256-{encoded(hashlib.sha256(source.encode()).digest())}"


def save_page(path: str | os.PathLike[str], content: str, *, replace: bool = True) -> Path:
    """Write the page whole or not at all; `replace`: also where there is a file already."""
    with written_whole(path, replace=replace) as file:
        file.write(content.encode("utf-8", "backslashreplace"))
    return Path(path)
