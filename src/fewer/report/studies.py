"""A study as a page: what was asked, kept and lost, the error against k with rivals, how it was computed."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ..studies import Answer, Study
from .blocks import Column, chooser, download, facts, pictures, section, table
from .html import Html, join, tag
from .page import page
from .svg import Series, curve, short

RIVALS = ("rival", "rival2", "rival3")


def study_page(study: Study, title: str, how: Mapping[str, Any], image_shape: tuple[int, int] | None = None) -> str:
    """One study as a whole page."""
    lead = f"{study.comparison}." if study.comparison else str(study.chosen.result.status)
    return page(title, study_blocks(study, title, image_shape), computed(how, [study]), lead=lead)


def studies_page(
    title: str, lead: str, named: Sequence[tuple[str, str, Study, tuple[int, int] | None]], how: Mapping[str, Any]
) -> str:
    """Several studies on one page: each with a heading, a sentence, the study and the shape of its pictures."""
    parts = [
        tag("article", tag("h2", name, class_="job"), tag("p", words, class_="lead"), study_blocks(s, name, shape))
        for name, words, s, shape in named
    ]
    return page(title, parts, computed(how, [s for _, _, s, _ in named]), lead=lead)


def study_blocks(study: Study, title: str, image_shape: tuple[int, int] | None) -> Html:
    """The blocks of one study."""
    several = len(study.answers) > 1
    headline = section("What was lost", facts(spoken(study, study.chosen), large=True), verdict(study))
    curves = section("Which k?", which_k(study)) if several else None
    panels = {a.k: panel(study, a, image_shape) for a in study.answers}
    kept = chooser(panels, study.chosen.k) if several else panels[study.chosen.k]
    save = download(f"fewer-{study.problem.job}.csv", kept_csv(study), "Download what was kept as csv")
    return tag("div", headline, curves, section("What was kept", kept, save), class_="study", aria_label=title)


def spoken(study: Study, answer: Answer) -> dict[str, str]:
    """The losses as texts."""
    shares = study.problem.shares
    texts = {n: f"{100 * v:.2f} %" if n in shares else short(v) for n, v in answer.lost.items()}
    if answer.held_out is not None:
        texts[f"held-out {study.problem.measure}"] = short(answer.held_out)
    return texts


def verdict(study: Study) -> Html:
    """What is proven, and what the best simple rival would need."""
    status = str(study.chosen.result.status)
    rival = f" {study.comparison[:1].upper()}{study.comparison[1:]}." if study.comparison else ""
    return tag("p", tag("strong", f"k = {study.chosen.k}. "), status, rival)


def which_k(study: Study) -> Html:
    """The curve, the table, and the k to take with the reason."""
    answers = study.answers
    ks = [a.k for a in answers]
    lines = [Series("fewer", ks, [a.error for a in answers], "ours")]
    held = [a for a in answers if a.held_out is not None]
    if held:
        lines.append(Series("fewer, held out", [a.k for a in held], [float(a.held_out or 0.0) for a in held], "held"))
    names = list(answers[0].rivals)
    for name, style in zip(names, RIVALS, strict=False):
        having = [a for a in answers if name in a.rivals]
        lines.append(Series(name, [a.k for a in having], [a.rivals[name] for a in having], style))
    picture = curve(
        lines, x="k", y=study.problem.measure, title=f"{study.problem.measure} against k", chosen=study.chosen.k
    )
    columns = [Column("k", ks), Column("error", [a.error for a in answers])]
    if held:
        columns.append(Column("held out", ["–" if a.held_out is None else a.held_out for a in answers]))
    columns += [Column(name, [a.rivals.get(name, "–") for a in answers]) for name in names]
    columns.append(Column("gap", ["–" if a.result.gap is None else a.result.gap for a in answers]))
    take = tag("p", tag("strong", f"Take k = {study.chosen.k}: "), f"{study.why}.")
    return join(take, picture, table(columns, keys=ks, caption=f"Error: {study.problem.measure}; less is better."))


def panel(study: Study, answer: Answer, image_shape: tuple[int, int] | None) -> Html:
    """What one k keeps: pictures where rows are pictures, then the table."""
    shares = study.problem.shares
    columns = [Column(name, v, bar=name == "weight", share=name in shares) for name, v in answer.kept.items()]
    shown = None
    if image_shape is not None and hasattr(study.problem, "rows_of"):
        weights = answer.kept.get("weight", [])
        shown = pictures(study.problem.rows_of(answer.result), [f"{100 * w:.1f} %" for w in weights], image_shape)
    lost = facts(spoken(study, answer)) if len(study.answers) > 1 else None
    return join(lost, shown, table(columns))


def kept_csv(study: Study) -> str:
    """What was kept, for every k, as csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["k", *study.answers[0].kept])
    for answer in study.answers:
        writer.writerows([answer.k, *row] for row in zip(*answer.kept.values(), strict=True))
    return out.getvalue()


def computed(how: Mapping[str, Any], studies: Sequence[Study]) -> Html:
    """How it was computed."""
    rest = {name: value for name, value in how.items() if name != "command"}
    rest["seconds"] = short(sum(s.seconds for s in studies))
    return section("How it was computed", tag("pre", tag("code", how.get("command", ""))), facts(rest))
