"""The first table of the page: for each input the default call of `fewer` beside the best peer.

Value at equal time: the lowest value among the peers' rows that took no more CPU time than the
default call, divided by the default call's value. Time at equal value: the least CPU time among the
peers' rows whose value is no higher than the default call's, divided by the default call's time.
Above 1 is good for `fewer` in both; below 1 it is behind.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

from tables import BETTER, FLOOR, JOBS, Row, done, grouped, label, ratio, reference

matplotlib.use("Agg")
import matplotlib.pyplot as plt

README = {
    "usps, k = 100": "USPS digits, 7,291 rows",
    "mixture (N = 1000000), k = 100": "mixture, 1,000,000 rows",
    "sensing (r = 500, n = 10000), k = 100": "10,000 bins, 500 expectations",
    "tracking (index = sp500), k = 40": "S&P 500, 386 assets",
    "debd (table = plants), k = 20": "plants, 69 columns",
}
"""The inputs of the README's table, and what they are called there."""
GREEN, YELLOW, RED, GREY = "#2c7a51", "#d68910", "#c0392b", "#95a5a6"
LOSSES = {
    "points": "MMD²",
    "bins": "squared error",
    "terms": "squared error",
    "dims": "rows not covered",
}


@dataclass(frozen=True)
class Standing:
    """How the default call stands on one input: its row, the best peer's, and the two ratios (nan: no such peer)."""

    job: str
    case: str
    ours: Row
    best: Row | None
    at_equal_time: float
    at_equal_value: float
    rival: Row | None
    """The peer of the ratio of values."""
    racer: Row | None
    """The peer of the ratio of times."""

    @property
    def is_behind(self) -> bool:
        """Whether a peer has a better value in no more time."""
        return self.at_equal_time < 1.0 - BETTER

    @property
    def is_slower(self) -> bool:
        """Whether a peer has the value, or a better one, in less time."""
        return self.at_equal_value < 1.0

    @property
    def proves_more(self) -> bool:
        """Whether the default call proved its answer where the faster peer did not."""
        return (
            self.racer is not None
            and self.ours["proven"] is True
            and self.racer["proven"] is not True
        )


def no_worse(value: float, than: float) -> bool:
    return value - than <= max(BETTER * abs(than), FLOOR)


def standing(rows: list[Row]) -> Standing | None:
    """How the default call stands among the rows of one input; nothing where it has no answer."""
    ours = reference(rows)
    if ours is None:
        return None
    theirs = sorted(
        (row for row in rows if row["peer"] != "fewer" and done(row)),
        key=lambda r: (r["value"], r["cpu"]),
    )
    rival = next((row for row in theirs if row["cpu"] <= ours["cpu"]), None)
    racer = min(
        (row for row in theirs if no_worse(row["value"], ours["value"])),
        key=lambda r: r["cpu"],
        default=None,
    )
    values = math.nan if rival is None else ratio(rival["value"], ours["value"])
    if rival is not None and abs(rival["value"] - ours["value"]) <= max(
        BETTER * abs(ours["value"]), FLOOR
    ):
        values = 1.0
    times = math.nan if racer is None else racer["cpu"] / max(ours["cpu"], 1e-9)
    return Standing(
        ours["job"], ours["case"], ours, theirs[0] if theirs else None, values, times, rival, racer
    )


def standings(rows: list[Row]) -> list[Standing]:
    """One for each input, by job; projections are left out: all are exact."""
    rows = [row for row in rows if row["job"] != "core"]
    each = [standing(these) for these in grouped(rows, "case").values()]
    return sorted((one for one in each if one is not None), key=lambda one: JOBS.index(one.job))


def told(value: float, mark: str, none: str) -> str:
    """A ratio, with its mark where `fewer` is behind."""
    if math.isnan(value):
        return none
    return f"{mark} **{value:.2g}**" if mark else f"{value:.3g}"


def line(one: Standing) -> str:
    ours, best = one.ours, one.best
    proven = ", proven" if ours["proven"] is True else ""
    peer = f"{best['value']:.4g} in {best['cpu']:.3g} s ({label(best)})" if best else "none ran"
    values = told(one.at_equal_time, "🔴" if one.is_behind else "", "no peer is as fast")
    sooner = "" if not one.is_slower else "🟡" if one.proves_more else "🔴"
    times = told(one.at_equal_value, sooner, "no peer gets there")
    return (
        f"| {one.job} | {one.case} | {ours['value']:.4g}{proven} in {ours['cpu']:.3g} s | {peer} |"
        f" {values} | {times} |"
    )


def summary(rows: list[Row]) -> list[str]:
    """The table and a sentence that counts; what is marked is said again with the peer."""
    places = standings(rows)
    if not places:
        return []
    head = [
        "job",
        "input",
        "fewer, default call",
        "best peer, at any time",
        "value at equal time",
        "time at equal value",
    ]
    table = [
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *(line(one) for one in places),
    ]
    lines = ["<details open>", "<summary>job x input</summary>", "", *table, "", "</details>", ""]
    behind, slower = (
        [one for one in places if test(one)]
        for test in (lambda o: o.is_behind, lambda o: o.is_slower)
    )
    compared = [one for one in places if one.best is not None]
    better = sum(no_worse(one.ours["value"], one.best["value"]) for one in compared)
    lines += [
        (
            f"{len(compared)} inputs with an answer of a peer. At {better} of them no peer has a"
            f" better value than the default call at any time; at {len(behind)} a peer has a better"
            f" one in no more time, at {len(slower)} a peer has that value sooner."
        ),
        "",
    ]
    return [*lines, *(f"- {sentence}" for sentence in marked(behind, slower)), ""]


def marked(behind: list[Standing], slower: list[Standing]) -> list[str]:
    """What each mark of the table stands for."""
    lost = [
        f"{one.case}: {label(one.rival)} has {one.rival['value']:.4g} in {one.rival['cpu']:.3g} s."
        for one in behind
    ]
    return lost + [
        f"{one.case}: {label(one.racer)} needs {one.racer['cpu']:.3g} s for"
        f" {one.racer['value']:.4g}" + (", without the proof." if one.proves_more else ".")
        for one in slower
    ]


def readme(rows: list[Row]) -> list[str]:
    """The rows of the README's table."""
    lines = [
        "| job | data | k | loss | fewer | seconds | best of the others | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in standings(rows):
        if one.case not in README or one.best is None:
            continue
        proven = ", proven" if one.ours["proven"] is True else ""
        cells = [
            one.job,
            README[one.case],
            f"{one.ours['k']:g}",
            LOSSES[one.job],
            f"{one.ours['value']:.3g}{proven}",
        ]
        cells += [
            f"{one.ours['cpu']:.2g}",
            f"{one.best['value']:.3g} ({label(one.best)})",
            f"{one.best['cpu']:.2g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def panel(axis: Any, shown: list[tuple[float, str]], none: str) -> None:
    """A ratio for each input on a logarithmic axis.

    Where there is no such peer, an arrow at the right end.
    """
    for at, (value, colour) in enumerate(shown):
        if math.isnan(value):
            axis.scatter(0.97, at, marker=">", c=GREY, s=24, transform=axis.get_yaxis_transform())
        else:
            axis.scatter(max(value, 1e-3), at, c=colour, s=36, zorder=3)
    axis.scatter([], [], marker=">", c=GREY, s=24, label=none)
    axis.axvline(1.0, color="#34495e", lw=1)
    axis.set_xscale("log")
    axis.grid(alpha=0.3, axis="x")
    axis.legend(fontsize=8, loc="lower right")


def draw(rows: list[Row], path: Path) -> bool:
    """Both ratios of every input on one picture, above 1 to the right.

    Whether there was anything to draw.
    """
    places = standings(rows)[::-1]
    if not places:
        return False
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 1.2 + 0.26 * len(places)), sharey=True, layout="constrained"
    )
    panel(
        axes[0],
        [(one.at_equal_time, RED if one.is_behind else GREEN) for one in places],
        "no peer is as fast",
    )
    sooner = [
        (RED if not one.proves_more else YELLOW) if one.is_slower else GREEN for one in places
    ]
    panel(
        axes[1],
        list(zip([one.at_equal_value for one in places], sooner, strict=True)),
        "no peer gets there",
    )
    axes[0].set_title("value of the best peer at equal time / fewer", fontsize=10)
    axes[1].set_title("time of the fastest peer at equal value / fewer", fontsize=10)
    axes[0].set_yticks(range(len(places)), [f"{one.job}: {one.case}" for one in places], fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
