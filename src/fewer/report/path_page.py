"""A path as a page: what was asked, kept and lost, the error against k, how it was computed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..text import csv_text, sentence, short
from .html import (
    Column,
    Html,
    caption,
    chooser,
    download,
    facts,
    join,
    number_text,
    page,
    pictures,
    section,
    table,
    tag,
)
from .path import Answer, Path
from .points import PointsStudy
from .study import Table
from .svg import Series, curve

Shape = tuple[int, int] | None
"""Height and width of rows that are pictures."""
BASELINES = ("baseline", "baseline2", "baseline3")
"""The styles of their curves."""
MAX_SHOWN_COLUMNS = 9
"""Columns of the user's table that are shown; those of pictures are not."""


def path_page(path: Path, title: str, how: Mapping[str, Any], shape: Shape = None) -> str:
    """Return one path as a whole page."""
    blocks = path_blocks(path, title, shape), computed(how, [path])
    return page(title, *blocks, lead=verdict(path), eyebrow=f"fewer {path.study.job}")


def paths_page(
    title: str,
    lead: str,
    parts: Sequence[tuple[str, str, Path, Shape]],
    how: Mapping[str, Any],
) -> str:
    """Return several paths as a page: each with a heading, a sentence, and the shape of pictures."""
    articles = []
    for name, words, path, shape in parts:
        head = tag(
            "header",
            tag("p", f"fewer {path.study.job}", class_="eyebrow"),
            tag("h2", name, class_="job"),
            tag("p", f"{words} {verdict(path)}", class_="lead"),
        )
        articles.append(tag("article", head, path_blocks(path, name, shape)))
    return page(title, articles, computed(how, [part[2] for part in parts]), lead=lead)


def path_blocks(path: Path, title: str, shape: Shape) -> Html:
    """Return the blocks of one path."""
    panels = {answer.k: panel(path, answer, shape) for answer in path.answers}
    curves, kept = None, panels[path.recommended]
    if len(panels) > 1:
        curves, kept = section("Which k?", which_k(path)), chooser(panels, path.recommended)
    save = download(f"fewer-{path.study.job}.csv", kept_csv(path), "Download what was kept as csv")
    last = section("What was kept, what was lost", kept, save)
    return tag("div", curves, last, class_="study", aria_label=title)


def verdict(path: Path) -> str:
    """Return what is proven, and what the best baseline needs to match it."""
    result = path.answer.result
    words = str(result.status), result.note, path.comparison
    return " ".join(sentence(one) for one in words if one)


def which_k(path: Path) -> Html:
    """Return the curve, the table, and the k to take with the reason."""
    metric, ks = path.metric, path.ks
    errors, spreads = path.errors, [answer.held_out_se for answer in path.answers]
    lines = [Series("fewer", ks, errors.pop("fewer").tolist(), "ours")]
    if path.held_out:
        name, band = "fewer, held out", [spread or 0.0 for spread in spreads]
        if None in spreads:
            band = []
        else:
            splits = len(path.answers[0].held_outs)
            name += f" (mean of {splits} splits, band: standard error)"
        held = path.held_out["fewer"].tolist()
        lines.append(Series(name, ks, held, "held", spread=band))
    for (name, each), style in zip(errors.items(), BASELINES, strict=False):
        lines.append(Series(name, ks, each.tolist(), style))
    drawing = curve(lines, x="k", y=metric, title=f"{metric} against k", marked=path.recommended)
    share = metric in path.study.shares
    columns = [
        Column(name, values, share=share and name not in ("k", "gap"))
        for name, values in path.columns().items()
    ]
    title = f"Error: {metric}; lower is better."
    take = tag("p", tag("strong", f"Selected k = {path.recommended}: "), f"{path.reason}.")
    return join(take, drawing, table(columns, keys=ks, marked=path.recommended, title=title))


def panel(path: Path, answer: Answer, shape: Shape) -> Html:
    """Return what one k keeps: pictures where rows are pictures, then the table."""
    study = path.study
    names = shown_names(answer.kept, shape)
    columns = [
        Column(name, answer.kept[name], bar=name == "weight", share=name in study.shares)
        for name in names
    ]
    drawing = None
    if shape is not None:
        captions = [f"{100 * weight:.1f} %" for weight in answer.kept["weight"]]
        drawing = pictures(study.pixels(answer.kept, math.prod(shape)), captions, shape)
    if drawing is None or not isinstance(study, PointsStudy):
        drawing = join(drawing, study.picture(answer.result, captions_of(answer)))
    rest = len(answer.kept) - len(names)
    return join(
        facts(spoken(path, answer), large=True),
        drawing,
        table(columns, label=f"{study.unit} kept"),
        caption(f"{rest} more columns are in the download." if rest else None),
        explained(study, answer, shape) if isinstance(study, PointsStudy) else None,
    )


def shown_names(rows: Table, shape: Shape) -> list[str]:
    """Return the columns of a table of rows that are shown: few, and no pixels."""
    names = list(rows)
    if shape is not None and len(names) > math.prod(shape):
        names = names[: -math.prod(shape)]
    return names[:MAX_SHOWN_COLUMNS]


def spoken(path: Path, answer: Answer) -> dict[str, str]:
    """Return the losses as texts."""
    losses = dict(answer.lost)
    texts = {name: number_text(value, name in path.study.shares) for name, value in losses.items()}
    if answer.held_out is not None:
        share = path.metric in path.study.shares
        texts[f"held-out {path.metric}"] = number_text(answer.held_out, share)
    return texts


def explained(study: PointsStudy, answer: Answer, shape: Shape) -> Html | None:
    """Return what each point represents, and the rows that the points represent worst."""
    if answer.result.source is None:
        return None
    shares, missed = study.stands_for(answer.result), study.criticisms(answer.result)
    columns = [
        Column(name, values, bar=name == "share of rows", share=name in ("share of rows", "weight"))
        for name, values in shares.items()
    ]
    words = "The rows that are more similar to this point than to any other, beside its weight."
    each = tag("h3", "What each point represents"), table(columns, title=words)
    words = "The rows that the points represent worst, the worst first."
    worst = tag("h3", "Criticisms")
    names = shown_names(missed, shape)
    if shape is None:
        return join(*each, worst, table([Column(n, missed[n]) for n in names], title=words))
    numbers = [f"row {i}" for i in missed["index"]]
    drawing = pictures(study.pixels(missed, math.prod(shape)), numbers, shape)
    if names == ["index"]:  # the pictures have these numbers
        return join(*each, worst, caption(words), drawing)
    return join(*each, worst, drawing, table([Column(n, missed[n]) for n in names], title=words))


def captions_of(answer: Answer) -> list[str]:
    """Return a caption for each that was kept: its first column and its weight."""
    if "weight" not in answer.kept:
        return []
    first = next((name for name in answer.kept if name != "weight"), "weight")
    pairs = zip(answer.kept[first], answer.kept["weight"], strict=True)
    return [f"{first} {value}: {100 * weight:.2f} %" for value, weight in pairs]


def kept_csv(path: Path) -> str:
    """Return what was kept, for every k, as csv."""
    rows = [[one.k, *row] for one in path.answers for row in zip(*one.kept.values(), strict=True)]
    return csv_text(["k", *path.answers[0].kept], rows)


def computed(how: Mapping[str, Any], paths: Sequence[Path]) -> Html:
    """Return how it was computed."""
    rest = {name: value for name, value in how.items() if name != "command"}
    rest["seconds"] = short(sum(path.seconds for path in paths))
    command = tag("pre", tag("code", how.get("command", "")))
    return section("How it was computed", command, facts(rest))
