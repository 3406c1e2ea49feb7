"""The page of a path: what was asked, kept and lost, the error against k, how it was computed."""

import base64
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from numbers import Real
from string import Template
from typing import Any

from ..text import csv_text, sentence, short
from .charts import Html, Series, chart, join, pictures, tag, weight_bar
from .path import Answer, Path
from .study import Table

Shape = tuple[int, int] | None
"""Height and width of rows that are pictures."""
BASELINES = ("baseline", "baseline2", "baseline3")
"""The styles of their curves."""
BARRED = ("weight", "share of rows")
"""Columns whose numbers have a bar."""
MAX_SHOWN_COLUMNS, MAX_SHOWN_ROWS = 9, 500
"""Columns of the user's table, but for pixels, and rows that are shown."""
MAX_UNBROKEN_CHARS = 20
"""Characters of a text up to which it stays on one line."""


def path_page(path: Path, title: str, how: Mapping[str, Any], shape: Shape = None) -> str:
    """Return one path as a whole page."""
    head = heading(path, tag("h1", title), "")
    return page(title, head, path_blocks(path, title, shape), computed(how, [path]))


def paths_page(
    title: str,
    lead: str,
    parts: Sequence[tuple[str, str, Path, Shape]],
    how: Mapping[str, Any],
) -> str:
    """Return several paths as a page: each with a heading, a sentence, and the shape of pictures."""
    articles = []
    for name, words, path, shape in parts:
        head = heading(path, tag("h2", name, class_="job"), f"{words} ")
        articles.append(tag("article", head, path_blocks(path, name, shape)))
    above = tag("h1", title), tag("p", lead, class_="lead")
    return page(title, above, articles, computed(how, [part[2] for part in parts]))


def page(title: str, head: Any, *sections: Any) -> str:
    """Return a whole HTML document whose policy lets nothing run but its own script.

    Style and script are inside, named by their hashes.

    >>> "&lt;b&gt;" in page("<b>", "text")
    True
    """
    template, style, script = (
        files(__package__).joinpath(f"page.{kind}").read_text("utf-8")
        for kind in ("html", "css", "js")
    )
    return Template(template).substitute(
        title=join(title),
        style=style,
        style_hash=digest(style),
        script=script,
        script_hash=digest(script),
        head=join(head),
        main=join(*sections),
    )


def digest(source: str) -> str:
    """Return the hash by which a policy names an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def path_blocks(path: Path, title: str, shape: Shape) -> Html:
    """Return the blocks of one path: which k, what each keeps and loses, a download."""
    blocks, first = [], path.recommended
    panels = []
    for answer in path.answers:
        look = {"class_": "panel", "data_k": answer.k}
        panels.append(tag("div", tag("h3", f"k = {answer.k}"), panel(path, answer, shape), **look))
    if len(panels) > 1:
        blocks.append(tag("section", tag("h2", "Which k?"), which_k(path)))
        ends = {"min": 0, "max": len(panels) - 1, "step": 1, "value": path.ks.index(first)}
        about = {"type": "range", "aria_label": "k", "aria_valuetext": f"k = {first}"}
        name = tag("span", "k = ", tag("output", first))
        slider = tag("label", name, tag("input", **about, **ends), class_="slider", hidden=True)
        panels = [tag("div", slider, panels, class_="chooser")]
    else:
        panels = [panel(path, path.answer, shape)]
    rows = [[one.k, *row] for one in path.answers for row in zip(*one.kept.values(), strict=True)]
    content = csv_text(["k", *path.answers[0].kept], rows).encode()
    save = tag(
        "a",
        "Download what was kept as csv",
        href=f"data:text/csv;charset=utf-8;base64,{base64.b64encode(content).decode()}",
        download=f"fewer-{path.study.job}.csv",
        class_="save",
    )
    heading = tag("h2", "What was kept, what was lost")
    blocks.append(tag("section", heading, panels, tag("p", save)))
    return tag("div", blocks, class_="study", aria_label=title)


def heading(path: Path, title: Html, words: str) -> Html:
    """Return a title, what is proven, and what the best baseline needs to match it."""
    result = path.answer.result
    words += " ".join(sentence(x) for x in (str(result.status), result.note, path.comparison) if x)
    job = tag("p", f"fewer {path.study.job}", class_="eyebrow")
    return join(job, title, tag("p", words, class_="lead"))


def which_k(path: Path) -> Html:
    """Return the curve, the table, and the k to take with the reason."""
    metric, ks, errors = path.metric, path.ks, path.errors
    lines = [Series("fewer", ks, errors.pop("fewer"), "ours")]
    if path.held_out:
        name, band = "fewer, held out", None
        if path.answers[0].held_out_se is not None:
            splits = len(path.answers[0].splits)
            name += f" (mean of {splits} splits, band: standard error)"
            band = [answer.held_out_se for answer in path.answers]
        lines.append(Series(name, ks, path.held_out["fewer"], "held", spread=band))
    for (name, each), style in zip(errors.items(), BASELINES, strict=False):
        lines.append(Series(name, ks, each, style))
    values = [x for one in lines for x in one.y if math.isfinite(x)]
    logs = ks[-1] >= 8 * ks[0], bool(values) and 0 < 10 * min(values) <= max(values)
    title = f"{metric} against k"
    drawing = chart(lines, x="k", y=metric, title=title, logs=logs, marked=path.recommended)
    columns = path.columns()
    shares = [name for name in columns if name not in ("k", "gap")]
    title = f"Error: {metric}; lower is better."
    shown = table(columns, shares if metric in path.study.shares else (), title, ks)
    take = tag("p", tag("strong", f"Selected k = {path.recommended}: "), f"{path.reason}.")
    return join(take, drawing, caption(title), shown)


def panel(path: Path, answer: Answer, shape: Shape) -> Html:
    """Return what one k keeps and loses: numbers, a drawing, the table, and details of points."""
    study, kept, result = path.study, answer.kept, answer.result
    facts = {name: number_text(x, name in path.shares) for name, x in path.lost(answer).items()}
    weights, first = kept.get("weight", ()), next(iter(kept))
    shares = [f"{100 * weight:.1f} %" for weight in weights]
    names = [f"{first} {x}: {words}" for x, words in zip(kept[first], shares, strict=False)]
    parts: list[Any] = [facts_list(facts, "facts large")]
    if shape is None:
        parts.append(study.picture(result, names))
    else:
        parts.append(pictures(kept, shares, shape))
    parts.append(rows_table(kept, study.shares, f"{study.unit} kept", shape))
    for heading, words, more in study.details(result) if result.source is not None else ():
        parts += [tag("h3", heading), caption(words)]
        if shape is not None and "weight" not in more:
            numbers = [f"row {i}" for i in more["index"]]
            parts.append(pictures(more, numbers, shape))
        parts.append(rows_table(more, study.shares, heading, shape))
    return join(parts)


def rows_table(columns: Table, shares: Collection[str], label: str, shape: Shape) -> Html:
    """Return the first columns of a table of rows, but for pixels."""
    names = list(columns)
    if shape is not None and len(names) > math.prod(shape):
        names = names[: -math.prod(shape)]
    names = names[:MAX_SHOWN_COLUMNS]
    rest = len(columns) - len(names)
    if names == ["index"]:
        return Html("")  # the pictures have these numbers
    shown = table({name: columns[name] for name in names}, shares, label)
    return join(shown, caption(f"{rest} more columns are in the download.") if rest else None)


def table(columns: Table, shares: Collection[str], label: str, keys: Sequence[int] = ()) -> Html:
    """Return a table that sorts by a click on a heading where there is JavaScript.

    It scrolls where it is large, by the keyboard too, and `label` names it. `keys` gives each row
    the k it belongs to, which the slider marks.
    """
    heads, cells = [], []
    for name, values in columns.items():
        numeric = all(x is None or is_number(x) for x in values)
        style = "number" if numeric else None
        heads.append(tag("th", tag("span", name), scope="col", class_=style))
        largest = max(values, default=1.0) if numeric and name in BARRED else None
        cells.append([cell(x, name in shares, largest) for x in values[:MAX_SHOWN_ROWS]])
    rows = list(zip(*cells, strict=True))
    body = [tag("tr", row, data_k=keys[i] if keys else None) for i, row in enumerate(rows)]
    inner = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body), class_="sortable")
    shown = tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=label)
    more = len(next(iter(columns.values()), ())) - MAX_SHOWN_ROWS
    return join(shown, caption(f"{more} more rows are in the download.") if more > 0 else None)


def cell(value: Any, share: bool, largest: float | None) -> Html:
    """Return one cell; numbers carry themselves unrounded for sorting."""
    if value is None:
        return tag("td", "–", class_="number")
    if not is_number(value):
        brief = len(str(value)) <= MAX_UNBROKEN_CHARS
        return tag("td", value, class_="short" if brief else None)
    inner: Any = number_text(value, share)
    if largest is not None:
        inner = tag("span", weight_bar(value / (largest or 1.0)), inner, class_="barred")
    return tag("td", inner, class_="number", data_value=repr(float(value)))


def is_number(value: Any) -> bool:
    """Return whether a value is a number, which a truth value is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def number_text(value: Any, share: bool) -> str:
    """Return a number in few characters, or as a percentage."""
    return f"{100 * value:.2f} %" if share else short(float(value))


def caption(words: str) -> Html:
    """Return a line of small print."""
    return tag("p", words, class_="caption")


def facts_list(pairs: Mapping[str, Any], style: str = "facts") -> Html:
    """Return names and values."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs.items()]
    return tag("dl", items, class_=style)


def computed(how: Mapping[str, Any], paths: Sequence[Path]) -> Html:
    """Return how it was computed."""
    rest = {name: value for name, value in how.items() if name != "command"}
    rest["seconds"] = short(sum(path.seconds for path in paths))
    command = tag("pre", tag("code", how.get("command", "")))
    return tag("section", tag("h2", "How it was computed"), command, facts_list(rest))
