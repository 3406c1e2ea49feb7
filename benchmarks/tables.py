"""Rows of a run as csv and as Markdown tables with ratios to `fewer`, and where `fewer` is not ahead."""

import csv
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FIELDS = [
    "job",
    "case",
    "kind",
    "k",
    "axis",
    "size",
    "peer",
    "version",
    "method",
    "variant",
    "value",
    "test",
    "seconds",
]
FIELDS += ["cpu", "first", "peak_mb", "runs", "proven", "note"]
JOBS = ("points", "bins", "terms", "dims", "core")
REASONS = {
    "greedy": "Algorithm 3 keeps every unit it took",
    "iht": "Algorithm 1 ends where no step leads to a better support",
    "exchange, 0.01 s": "the limit ended its search",
    "auto, 5 s": "the limit ended its search",
    "exact": "its minute went into bounds",
}
"""Why a method of `fewer` may be behind a peer; others have no excuse."""
Row = dict[str, Any]
BETTER = 1e-4
"""Relative differences of quality below this are none; equal optima differ by rounding and by
solvers' tolerances."""
FLOOR = 1e-9
"""Values below this are zero for a comparison."""


def write_csv(path: Path, rows: list[Row]) -> None:
    """All rows, whole or not at all."""
    fields = FIELDS if rows and "job" in rows[0] else list(rows[0]) if rows else FIELDS
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def read_csv(path: Path) -> list[Row]:
    """The rows, numbers as numbers."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def number(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return float(text)
    except ValueError:
        return text


def done(row: Row) -> bool:
    """Whether the row has an answer."""
    return isinstance(row.get("value"), float) and isinstance(row.get("cpu"), float)


def one_line(row: Row) -> str:
    name = f"{row['case']:45s} {row['peer']} {row['method']}"
    if not done(row):
        return f"{name}: {row['note']}"
    return f"{name}, {row['variant']}: {row['value']:.4g} in {row['cpu']:.4g} s {row['note']}"


def reference(rows: Iterable[Row]) -> Row | None:
    """The row of `fewer` that ratios are taken to: its first method, the default."""
    return next((row for row in rows if row["peer"] == "fewer" and done(row)), None)


def ratio(a: float, b: float) -> float:
    """How many times b is a; both zero is one."""
    if abs(a) < FLOOR and abs(b) < FLOOR:
        return 1.0
    return a / b if b else math.inf


def behind(rows: list[Row]) -> list[tuple[Row, Row]]:
    """(a result of `fewer`, a peer's that is better in no more time): what must be explained."""
    ours = [row for row in rows if row["peer"] == "fewer" and done(row)]
    theirs = [row for row in rows if row["peer"] != "fewer" and done(row)]
    lines = []
    for mine in ours:
        worse = [
            row
            for row in theirs
            if row["cpu"] <= mine["cpu"]
            and mine["value"] - row["value"] > max(BETTER * abs(mine["value"]), FLOOR)
        ]
        if worse:
            lines.append((mine, min(worse, key=lambda row: row["value"])))
    return lines


def slower(rows: list[Row]) -> list[tuple[Row, Row]]:
    """(the fastest result of `fewer` that is as good as a peer's, that peer's result) where the peer was faster."""
    ours = [row for row in rows if row["peer"] == "fewer" and done(row)]
    lines = []
    for row in rows:
        if row["peer"] == "fewer" or not done(row):
            continue
        equal = [
            m for m in ours if m["value"] - row["value"] <= max(BETTER * abs(row["value"]), FLOOR)
        ]
        fastest = min(equal, key=lambda m: m["cpu"], default=None)
        if fastest is not None and row["cpu"] < fastest["cpu"] and not beaten_by(row, ours):
            lines.append((fastest, row))
    return lines


def beaten_by(row: Row, ours: list[Row]) -> bool:
    """Whether a result of `fewer` is at least as good in no more time."""
    return any(
        m["cpu"] <= row["cpu"]
        and m["value"] - row["value"] <= max(BETTER * abs(row["value"]), FLOOR)
        for m in ours
    )


def verdict(row: Row, rows: list[Row]) -> str:
    """How a row stands to `fewer`: which of its rows is as good and no slower, or what it is ahead of."""
    ours = [m for m in rows if m["peer"] == "fewer" and done(m)]
    if row["peer"] == "fewer":
        worse = [theirs for mine, theirs in behind(rows) if mine is row]
        return f"**behind {label(worse[0])}**{reason(row)}" if worse else "ahead"
    if beaten_by(row, ours):
        return ""
    if any(theirs is row for _, theirs in behind(rows)):
        return "ahead of a row of fewer"
    return "faster than fewer, and worse" if ours else ""


def reason(row: Row) -> str:
    """Why this result of `fewer` is behind, to be said beside it."""
    return f": {REASONS.get(row['method'], 'no reason is known, to be mended')}"


def label(row: Row) -> str:
    plain = row["variant"] in ("", "as returned")
    return f"{row['peer']} {row['method']}" + ("" if plain else f", {row['variant']}")


def cell(value: Any, form: str = ".4g") -> str:
    return format(value, form) if isinstance(value, float) and not math.isnan(value) else ""


def case_table(rows: list[Row]) -> list[str]:
    """One input: the rows in order of quality, then what was skipped."""
    base, answered = (
        reference(rows),
        sorted((r for r in rows if done(r)), key=lambda r: (r["value"], r["cpu"])),
    )
    tested = any(cell(row["test"]) for row in answered)
    head = [
        "method",
        "value",
        "/ fewer",
        *(["held out"] if tested else []),
        "CPU s",
        "/ fewer",
        "first call",
        "MB",
        "",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in answered:
        times = [ratio(row[key], base[key]) if base else math.nan for key in ("value", "cpu")]
        remark = "; ".join(
            t
            for t in (verdict(row, rows), "proven" if row["proven"] is True else "", row["note"])
            if t
        )
        cells = [
            f"**{label(row)}**" if row["peer"] == "fewer" else label(row),
            cell(row["value"]),
            cell(times[0], ".3g"),
        ]
        cells += [cell(row["test"])] if tested else []
        cells += [
            cell(row["cpu"], ".3g"),
            cell(times[1], ".3g"),
            cell(row["first"], ".3g"),
            cell(row["peak_mb"], ".0f"),
        ]
        lines.append("| " + " | ".join([*cells, remark]) + " |")
    skipped = {}
    for row in rows:
        if not done(row):
            skipped.setdefault(row["note"], []).append(f"{row['peer']} {row['method']}")
    return [
        *lines,
        "",
        *(f"Skipped: {', '.join(names)} – {why}." for why, names in skipped.items()),
    ]


def folded(title: str, lines: list[str]) -> list[str]:
    """Lines that are shown when their title is clicked, on GitHub and in the manual."""
    return [
        '<details class="long-table">',
        f"<summary>{title}</summary>",
        "",
        *lines,
        "",
        "</details>",
        "",
    ]


def grouped(rows: list[Row], key: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups


def versions(rows: list[Row]) -> str:
    seen = sorted({row["version"] for row in rows if done(row) and row["version"]}, key=str.lower)
    return ", ".join(dict.fromkeys(part for text in seen for part in text.split(", ")))


def exponent(points: list[tuple[float, float]]) -> float:
    """The slope of log y against log x."""
    usable = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(usable) < 2:
        return math.nan
    mx, my = (sum(column) / len(usable) for column in zip(*usable, strict=True))
    across = sum((x - mx) ** 2 for x, _ in usable)
    return sum((x - mx) * (y - my) for x, y in usable) / across if across else math.nan


def curve_table(rows: list[Row]) -> list[str]:
    """Growth along each axis, with the fitted exponents of time and memory."""
    lines = [
        "| job | grows | method | sizes | CPU seconds | ~ size^ | MB | ~ size^ |",
        "|---" * 8 + "|",
    ]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: JOBS.index(row["job"])):
        if done(row) and row["variant"] not in ("projected", "equal weights"):
            groups.setdefault((row["job"], row["axis"], label(row)), []).append(row)
    for (job, axis, name), line in groups.items():
        line.sort(key=lambda row: row["size"])
        seconds = [(row["size"], row["cpu"]) for row in line]
        peaks = [(row["size"], row["peak_mb"]) for row in line if isinstance(row["peak_mb"], float)]
        lists = [
            ", ".join(f"{y:{form}}" for _, y in pairs)
            for pairs, form in ((seconds, ".3g"), (peaks, ".0f"))
        ]
        sizes = ", ".join(f"{row['size']:,.0f}" for row in line)
        powers = [cell(exponent(pairs), ".2f") for pairs in (seconds, peaks)]
        lines.append(
            f"| {job} | {axis} | {name} | {sizes} | {lists[0]} | {powers[0]} | {lists[1]} |"
            f" {powers[1]} |"
        )
    return lines


def own_table(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    body = [
        f"| {row['what']} | {cell(row['value'])} {row['unit']} | {row['note']} |" for row in rows
    ]
    return ["### core: `fewer` itself", "", "| what | measured | |", "|---|---|---|", *body, ""]


def not_ahead(rows: list[Row]) -> list[str]:
    """What a peer betters in no more time, and who is faster at a quality that `fewer` reaches."""
    lost, fast = [], []
    for name, these in grouped(rows, "case").items():
        pairs = behind(these)
        lost += [
            f"- {name}: {label(mine)} has {mine['value']:.4g} in {mine['cpu']:.3g} s, "
            f"{label(theirs)} {theirs['value']:.4g} in {theirs['cpu']:.3g} s{reason(mine)}."
            for mine, theirs in pairs
        ]
        known = [theirs for _, theirs in pairs]
        faster = [
            (m, t)
            for m, t in slower(these)
            if all(t is not row for row in known) and t["variant"] != "projected"
        ]
        if faster:
            text = "; ".join(
                f"{label(t)} {t['value']:.3g} in {t['cpu']:.2g} s (fewer {m['cpu']:.2g} s)"
                for m, t in faster
            )
            fast.append(f"- {name}: {text}.")
    lines = [
        "### Where `fewer` is not ahead",
        "",
        "A peer is better in no more time:",
        "",
        *(lost or ["- nowhere."]),
        "",
    ]
    return [
        *lines,
        "A peer is faster at a quality that `fewer` reaches or betters:",
        "",
        *(fast or ["- nowhere."]),
        "",
    ]


def report(rows: list[Row], curves: list[Row], own: list[Row], head: dict[str, Any]) -> str:
    """All tables as Markdown."""
    ran = sorted(
        {row["peer"] for row in rows if done(row) and row["peer"] != "fewer"}, key=str.lower
    )
    share = sorted(
        row["cpu"] / row["seconds"] for row in rows if done(row) and row["seconds"] > 0.01
    )
    at_a_time = (
        f"{head['lanes']} peers at a time, each"
        if head.get("lanes", 1) > 1
        else "one peer at a time,"
    )
    lines = [
        f"Command: `{head['command']}`",
        "",
        f"Machine: {head['machine']}; {at_a_time} on one core.",
        "",
    ]
    if share:
        lines += [
            f"Share of its core that a call had, median: {100 * share[len(share) // 2]:.0f} %.",
            "",
        ]
    lines += [
        f"Peers that ran ({len(ran)}): {', '.join(ran)}.",
        "",
        f"Versions: {versions(rows + curves)}.",
        "",
    ]
    lines += not_ahead(rows) if rows else []
    for job, mine in sorted(grouped(rows, "job").items(), key=lambda item: JOBS.index(item[0])):
        lines += [f"### {job}", ""]
        cases = grouped(mine, "case")
        for name, these in sorted(
            cases.items(), key=lambda item: not any(done(row) for row in item[1])
        ):
            if any(done(row) for row in these):
                lines += folded(
                    f"{name}: {sum(done(row) for row in these)} rows", case_table(these)
                )
            else:
                lines += [f"{name}: skipped, {these[0]['note']}.", ""]
    lines += own_table(own)
    if curves:
        lines += [
            "### Cost curves",
            "",
            *folded("time and memory against size", curve_table(curves)),
        ]
    return "\n".join(lines)


def write_report(out: Path) -> None:
    rows, curves, own = (read_csv(out / f"{name}.csv") for name in ("results", "curves", "own"))
    head = json.loads((out / "run.json").read_text())
    (out / "tables.md").write_text(report(rows, curves, own, head))
