"""Pictures of a run: quality against time for each input, and time and memory against size with fitted exponents."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from tables import FLOOR, JOBS, Row, done, exponent, grouped, label, read_csv

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS, THEIRS, LIGHT = "#c0392b", "#34495e", "#95a5a6"


def draw(out: Path) -> None:
    """Every picture of a run into its directory."""
    rows, curves = (read_csv(out / f"{name}.csv") for name in ("results", "curves"))
    for job, mine in grouped(rows, "job").items():
        cases = {
            name: [r for r in these if done(r)] for name, these in grouped(mine, "case").items()
        }
        cases = {name: these for name, these in cases.items() if len(these) > 1}
        if job != "core" and cases:
            quality(job, cases, out / f"bench_{job}.png")
    grown = sorted((row for row in curves if done(row)), key=lambda row: JOBS.index(row["job"]))
    if grown:
        growth(grown, out / "bench_growth.png")


def quality(job: str, cases: dict[str, list[Row]], path: Path) -> None:
    """A panel for each input: value against seconds, `fewer` in red; below and left is better."""
    across = min(len(cases), 2)
    down = -(-len(cases) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(7.5 * across, 5.2 * down), squeeze=False, layout="constrained"
    )
    for place in axes.flat[len(cases) :]:
        place.set_visible(False)
    for place, (name, rows) in zip(axes.flat, cases.items(), strict=False):
        panel(place, rows)
        place.set_title(f"{job}: {name}", fontsize=11, loc="left")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def panel(place: Any, rows: list[Row]) -> None:
    shown = [(row, row["cpu"], max(row["value"], FLOOR)) for row in rows]
    for row, x, y in shown:
        mine = row["peer"] == "fewer"
        plain = row["variant"] in ("equal weights", "projected")
        place.scatter(
            x,
            y,
            s=60 if mine else 26,
            c=OURS if mine else LIGHT if plain else THEIRS,
            zorder=3 if mine else 2,
        )
    place.set(xscale="log", yscale="log", xlabel="CPU seconds", ylabel="loss")
    place.grid(alpha=0.3, which="major")
    place.xaxis.set_minor_formatter(NullFormatter())
    place.margins(x=0.28, y=0.08)
    if max(y for *_, y in shown) < 3 * min(
        y for *_, y in shown
    ):  # no two powers of ten: plain numbers
        place.yaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
        place.yaxis.set_minor_formatter(StrMethodFormatter("{x:.3g}"))
    for colour, size, text in (
        (OURS, 60, "fewer"),
        (THEIRS, 26, "peer, weights re-optimised (*) or its own"),
    ):
        place.scatter([], [], s=size, c=colour, label=text)
    place.scatter([], [], s=26, c=LIGHT, label="peer, equal weights or projected")
    place.legend(fontsize=7, loc="best", framealpha=0.6)
    named(place, shown)


def named(place: Any, shown: list[tuple[Row, float, float]]) -> None:
    """Names beside the marks, of each method its best weights; where there is no room, none."""
    place.figure.canvas.draw()
    marks = [place.transData.transform((x, y)) for _, x, y in shown]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in marks]
    better = {
        (row["peer"], row["method"]) for row, _, _ in shown if row["variant"] == "re-optimised"
    }
    shown = [
        item
        for item in shown
        if item[0]["variant"] == "re-optimised"
        or (item[0]["peer"], item[0]["method"]) not in better
    ]
    for row, x, y in sorted(shown, key=lambda item: (item[0]["peer"] != "fewer", item[2])):
        text = short(row)
        px, py = place.transData.transform((x, y))
        wide, high = 5.6 * len(text), 12.0
        for dx, dy in (
            (7, -4),
            (7, 8),
            (7, -16),
            (-wide - 7, -4),
            (-wide - 7, 8),
            (-wide - 7, -16),
            (7, 20),
            (7, -28),
        ):
            box = (px + dx, py + dy, px + dx + wide, py + dy + high)
            inside = place.bbox.x0 < box[0] and box[2] < place.bbox.x1
            if inside and all(
                box[2] < t[0] or box[0] > t[2] or box[3] < t[1] or box[1] > t[3] for t in taken
            ):
                taken.append(box)
                scale = 72 / place.figure.dpi
                colour = OURS if row["peer"] == "fewer" else THEIRS
                place.annotate(
                    text,
                    (x, y),
                    (dx * scale, dy * scale),
                    textcoords="offset points",
                    fontsize=7,
                    color=colour,
                )
                break


def short(row: Row) -> str:
    """The name of a row in a picture: a star where weights were re-optimised."""
    star = "*" if row["variant"] == "re-optimised" else ""
    return (
        f"{row['peer']}: {row['method']}{star}"
        if row["method"] != row["peer"]
        else f"{row['peer']}{star}"
    )


def growth(rows: list[Row], path: Path) -> None:
    """Time above and memory below, a column for each job and number that grows."""
    columns: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        columns.setdefault((row["job"], row["axis"]), []).append(row)
    across = 4
    bands = -(-len(columns) // across)
    figure, axes = plt.subplots(
        2 * bands, across, figsize=(4.4 * across, 6.6 * bands), squeeze=False, layout="constrained"
    )
    for place in axes.flat:
        place.set_visible(False)
    for at, ((job, axis), these) in enumerate(columns.items()):
        for below, (key, unit) in enumerate(
            (("cpu", "CPU seconds"), ("peak_mb", "MB above the input"))
        ):
            place = axes[2 * (at // across) + below, at % across]
            place.set_visible(True)
            lines(place, these, key)
            place.set(xscale="log", yscale="log", xlabel=axis, ylabel=unit)
            place.grid(alpha=0.3)
            place.xaxis.set_minor_formatter(NullFormatter())
            place.set_title(
                f"{job}: {'time' if not below else 'memory'} against {axis}",
                fontsize=10,
                loc="left",
            )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def lines(place: Any, rows: list[Row], key: str) -> None:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if isinstance(row[key], float) and row["variant"] not in ("projected", "equal weights"):
            groups.setdefault(label(row), []).append(row)
    for name, line in groups.items():
        points = sorted(
            (row["size"], max(row[key], 0.1 if key == "peak_mb" else 1e-7)) for row in line
        )
        mine = name.startswith("fewer")
        power = exponent(points)
        place.plot(
            *zip(*points, strict=True),
            "o-" if mine else "s--",
            color=(
                OURS
                if mine
                else THEIRS
                if name.endswith("re-optimised") or len(groups) == 2
                else LIGHT
            ),
            lw=2 if mine else 1,
            ms=5 if mine else 3,
            label=f"{name} ~ {power:.2f}" if power == power else name,
        )
    place.legend(fontsize=6.5, frameon=False, title="~ fitted exponent", title_fontsize=6.5)
