"""Put runs into docs/benchmarks.md between its markers: the summary, what unseen data gave, all tables; and plots.

    python benchmarks/publish.py build/again build/bench
    python benchmarks/publish.py --unseen build/unseen-bench
    python benchmarks/publish.py --readme build/bench

The short table of costs in docs/how-to-choose.md is taken from the page. Several runs become one page that names every
command; those that replace some rows of a run come before it. With
--unseen the runs are of `run.py --part files` and fill their own section; with --readme the rows of the README's table
are printed and nothing is written.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import costs
import plots
import summary
import tables

DOCS = Path(__file__).parents[1] / "docs"
SUMMARY, UNSEEN = (f"<!-- {name}: written by benchmarks/publish.py -->\n" for name in ("summary", "unseen data"))
END = "<!-- end of what was written -->\n"
MARKER = "<!-- what follows is written by benchmarks/publish.py -->\n"


Groups = dict[tuple[Any, ...], list[tables.Row]]


def measured(path: Path) -> Groups:
    """The rows of a run by input and method, but for those it was told to leave out."""
    groups: Groups = {}
    for row in tables.read_csv(path):
        if not str(row["note"]).startswith("left out"):
            groups.setdefault(tuple(row.get(key) for key in ("case", "axis", "peer", "method", "what")), []).append(row)
    return groups


def joined(runs: list[Path], into: Path) -> None:
    """The rows of all runs in one directory, with all commands; of a method on an input the first run counts."""
    for name in ("results", "curves", "own"):
        taken: Groups = {}
        for run in runs:
            taken = {**measured(run / f"{name}.csv"), **taken}
        if taken:
            tables.write_csv(into / f"{name}.csv", [row for rows in taken.values() for row in rows])
    heads = [json.loads((run / "run.json").read_text()) for run in runs]
    command = "`, `".join(dict.fromkeys(head["command"] for head in reversed(heads)))
    (into / "run.json").write_text(json.dumps({**heads[-1], "command": command}))


def summarised(rows: list[tables.Row], head: dict[str, Any], picture: str) -> str:
    """The summary and its picture, with the command that measured it."""
    drawn = summary.draw(rows, DOCS / "images" / picture)
    shown = [f"![both ratios, input by input](images/{picture})", ""] if drawn else []
    minutes = f", {head['seconds'] / 60:.0f} minutes" if "seconds" in head else ""
    told = f"Measured by `{head['command']}`{minutes}. Machine: {head['machine']}."
    return "\n".join([*summary.summary(rows), *shown, told, "", ""])


def filled(page: str, marker: str, text: str) -> str:
    """The page with this text after its marker, up to the next end."""
    above, rest = page.split(marker)
    return f"{above}{marker}\n{text}{END}{rest.split(END, 1)[1]}"


def pictures(out: Path) -> list[str]:
    """The plots of a run, copied beside the page, as lines of it."""
    shown = []
    for name, what in [*((job, f"{job}: quality against time") for job in tables.JOBS), ("growth", "cost curves")]:
        picture = out / f"bench_{name}.png"
        if picture.exists():
            shutil.copy(picture, DOCS / "images" / picture.name)
            shown += [f"![{what}](images/{picture.name})", ""]
    return tables.folded("pictures: quality against time, cost curves", shown) if shown else []


def publish(runs: list[Path], unseen: bool) -> None:
    page = DOCS / "benchmarks.md"
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        joined(runs, out)
        rows, head = tables.read_csv(out / "results.csv"), json.loads((out / "run.json").read_text())
        if unseen:
            text = filled(text, UNSEEN, summarised(rows, head, "bench_unseen.png"))
        else:
            tables.write_report(out)
            plots.draw(out)
            text = filled(text, SUMMARY, summarised(rows, head, "bench_summary.png"))
            below = "\n".join([*pictures(out), (out / "tables.md").read_text()])
            text = f"{text.split(MARKER)[0]}{MARKER}\n{below}"
    page.write_text(text)
    costs.write()


def readme_rows(runs: list[Path]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        joined(runs, Path(folder))
        return summary.readme(tables.read_csv(Path(folder) / "results.csv"))


def main(asked: list[str]) -> None:
    runs = [Path(name) for name in asked if not name.startswith("--")]
    if "--readme" in asked:
        print("\n".join(readme_rows(runs)))
    else:
        publish(runs, "--unseen" in asked)


if __name__ == "__main__":
    main(sys.argv[1:])
