"""A study as a page: what was asked, kept and lost, the error against k with baselines, how it was computed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..text import csv_text, sentence
from .blocks import Column, chooser, download, facts, pictures, section, table
from .drawings import picture
from .html import Html, join, tag
from .page import page
from .path import Answer, Path
from .svg import Series, curve, short

BASELINES = ("baseline", "baseline2", "baseline3")
"""The styles of their curves."""
SHARES = ("share of rows", "weight")
MAX_SHOWN_COLUMNS = 9
"""Columns of the user's table that are shown; those of pictures are not."""


def study_page(
    study: Path, title: str, how: Mapping[str, Any], image_shape: tuple[int, int] | None = None
) -> str:
    """One study as a whole page."""
    blocks = study_blocks(study, title, image_shape), computed(how, [study])
    return page(title, *blocks, lead=verdict(study), eyebrow=f"fewer {study.problem.job}")


def studies_page(
    title: str,
    lead: str,
    named: Sequence[tuple[str, str, Path, tuple[int, int] | None]],
    how: Mapping[str, Any],
) -> str:
    """Several studies on one page: each with a heading, a sentence, the study and the shape of its pictures."""
    parts = [article(*part) for part in named]
    return page(title, parts, computed(how, [s for _, _, s, _ in named]), lead=lead)


def article(name: str, words: str, study: Path, image_shape: tuple[int, int] | None) -> Html:
    """One study among several."""
    above = tag("p", f"fewer {study.problem.job}", class_="eyebrow")
    head = tag(
        "header",
        above,
        tag("h2", name, class_="job"),
        tag("p", f"{words} {verdict(study)}", class_="lead"),
    )
    return tag("article", head, study_blocks(study, name, image_shape))


def study_blocks(study: Path, title: str, image_shape: tuple[int, int] | None) -> Html:
    """The blocks of one study."""
    several = len(study.answers) > 1
    curves = section("Which k?", which_k(study)) if several else None
    panels = {a.k: panel(study, a, image_shape) for a in study.answers}
    kept = chooser(panels, study.chosen.k) if several else panels[study.chosen.k]
    save = download(
        f"fewer-{study.problem.job}.csv", kept_csv(study), "Download what was kept as csv"
    )
    return tag(
        "div",
        curves,
        section("What was kept, what was lost", kept, save),
        class_="study",
        aria_label=title,
    )


def spoken(study: Path, answer: Answer) -> dict[str, str]:
    """The losses as texts."""
    shares = study.problem.shares
    texts = {n: f"{100 * v:.2f} %" if n in shares else short(v) for n, v in answer.lost.items()}
    if answer.held_out is not None:
        name, held = study.problem.metric, answer.held_out
        texts[f"held-out {name}"] = f"{100 * held:.2f} %" if name in shares else short(held)
    return texts


def verdict(study: Path) -> str:
    """What is proven, and what the best baseline needs to match it."""
    return " ".join(
        map(
            sentence,
            filter(
                None, (str(study.chosen.result.status), study.chosen.result.note, study.comparison)
            ),
        )
    )


def which_k(study: Path) -> Html:
    """The curve, the table, and the k to take with the reason."""
    answers = study.answers
    ks = [a.k for a in answers]
    lines = [Series("fewer", ks, [a.error for a in answers], "ours")]
    held = [a for a in answers if a.held_out is not None]
    if held:
        values, spread = [float(a.held_out or 0.0) for a in held], [a.held_out_se for a in held]
        several = (
            ""
            if None in spread
            else f" (mean of {len(held[0].held_outs)} splits, band: standard error)"
        )
        around = () if None in spread else tuple(float(each or 0.0) for each in spread)
        lines.append(
            Series(f"fewer, held out{several}", [a.k for a in held], values, "held", spread=around)
        )
    names = list(answers[0].baselines)
    for name, style in zip(names, BASELINES, strict=False):
        having = [a for a in answers if name in a.baselines]
        lines.append(
            Series(name, [a.k for a in having], [a.baselines[name] for a in having], style)
        )
    picture = curve(
        lines,
        x="k",
        y=study.problem.metric,
        title=f"{study.problem.metric} against k",
        chosen=study.chosen.k,
    )
    share = study.problem.metric in study.problem.shares
    columns = [Column("k", ks), Column("error", [a.error for a in answers], share=share)]
    if held:
        columns.append(Column("held out", [a.held_out for a in answers], share=share))
        if any(a.held_out_se is not None for a in answers):
            columns.append(
                Column("± standard error", [a.held_out_se for a in answers], share=share)
            )
    columns += [
        Column(name, [a.baselines.get(name) for a in answers], share=share) for name in names
    ]
    if any("gap" in a.lost for a in answers):
        columns.append(Column("gap", [a.lost.get("gap") for a in answers]))
    take = tag("p", tag("strong", f"Selected k = {study.chosen.k}: "), f"{study.reason}.")
    return join(
        take,
        picture,
        table(
            columns,
            keys=ks,
            chosen=study.chosen.k,
            caption=f"Error: {study.problem.metric}; lower is better.",
        ),
    )


def panel(study: Path, answer: Answer, image_shape: tuple[int, int] | None) -> Html:
    """What one k keeps: pictures where rows are pictures, then the table."""
    shares = study.problem.shares
    names = list(answer.kept)[:MAX_SHOWN_COLUMNS]
    if image_shape is not None and len(answer.kept) > math.prod(image_shape):
        names = names[: len(answer.kept) - math.prod(image_shape)]
    columns = [Column(n, answer.kept[n], bar=n == "weight", share=n in shares) for n in names]
    left = len(answer.kept) - len(names)
    more = tag("p", f"{left} more columns are in the download.", class_="caption") if left else None
    shown = images(study, answer, image_shape) if image_shape is not None else None
    drawn = (
        None
        if shown and study.problem.job == "points"
        else picture(study.problem.view(answer.result), named(answer))
    )
    label = f"{study.problem.unit} kept"
    first = (
        facts(spoken(study, answer), large=True),
        shown,
        drawn,
        table(columns, label=label),
        more,
    )
    return join(*first, explained(study, answer, image_shape))


def explained(study: Path, answer: Answer, image_shape: tuple[int, int] | None) -> Html | None:
    """What each point represents, and the rows that the points represent worst, where the job knows."""
    problem: Any = study.problem
    if not hasattr(problem, "stands_for") or answer.result.source is None:
        return None
    own, missed = problem.stands_for(answer.result), problem.criticisms(answer.result)
    columns = [
        Column(n, values, bar=n == "share of rows", share=n in SHARES) for n, values in own.items()
    ]
    words = "The rows that are more similar to this point than to any other, beside its weight."
    each = tag("h3", "What each point represents"), table(columns, caption=words)
    names = list(missed)[:MAX_SHOWN_COLUMNS]
    drawn = None
    if image_shape is not None:
        names = names[: max(len(missed) - math.prod(image_shape), 1)]
        drawn = pictures(
            problem.pixels(missed["index"]), [f"row {i}" for i in missed["index"]], image_shape
        )
    words = "The rows that the points represent worst, the worst first."
    if drawn is not None and names == ["index"]:  # the pictures have these numbers
        return join(*each, tag("h3", "Criticisms"), tag("p", words, class_="caption"), drawn)
    worst = table([Column(n, missed[n]) for n in names], caption=words)
    return join(*each, tag("h3", "Criticisms"), drawn, worst)


def images(study: Path, answer: Answer, image_shape: tuple[int, int]) -> Html | None:
    """The kept rows as pictures, where they are."""
    if not hasattr(study.problem, "rows_of"):
        return None
    weights = answer.kept.get("weight", [])
    return pictures(
        study.problem.rows_of(answer.result), [f"{100 * w:.1f} %" for w in weights], image_shape
    )


def named(answer: Answer) -> list[str]:
    """A caption for each that was kept: its first column and its weight."""
    first = next((name for name in answer.kept if name != "weight"), "")
    weights = answer.kept.get("weight", [])
    values = answer.kept.get(first, weights)[: len(weights)]
    return [
        f"{first} {value}: {100 * weight:.2f} %"
        for value, weight in zip(values, weights, strict=True)
    ]


def kept_csv(study: Path) -> str:
    """What was kept, for every k, as csv."""
    rows = [[a.k, *row] for a in study.answers for row in zip(*a.kept.values(), strict=True)]
    return csv_text(["k", *study.answers[0].kept], rows)


def computed(how: Mapping[str, Any], studies: Sequence[Path]) -> Html:
    """How it was computed."""
    rest = {name: value for name, value in how.items() if name != "command"}
    rest["seconds"] = short(sum(s.seconds for s in studies))
    return section(
        "How it was computed", tag("pre", tag("code", how.get("command", ""))), facts(rest)
    )
