"""Put runs into docs/benchmarks.md and the README, between their markers.

Nothing else of either is touched.

    python benchmarks/publish.py [build/again ...] build/bench
    python benchmarks/publish.py --readme build/bench

Written: the summary, what unseen data gave, all tables and plots, and the README's table, each with
the command, the commit and the machine of its run; the short table of costs in
docs/how-to-choose.md is taken from the page. Several runs become one page that names every command;
those that replace some rows of a run come before it. What no run has (unseen data, say) stays as it
is. With --readme the README's rows are printed and nothing is written.
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

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SUMMARY, UNSEEN, TABLE = (
    f"<!-- {name}: written by benchmarks/publish.py -->\n"
    for name in ("summary", "unseen data", "measured")
)
END = "<!-- end of what was written -->\n"
MARKER = "<!-- what follows is written by benchmarks/publish.py -->\n"


Groups = dict[tuple[Any, ...], list[tables.Row]]


def measured(path: Path) -> Groups:
    """The rows of a run by input and method, but for those it was told to leave out."""
    groups: Groups = {}
    for row in tables.read_csv(path):
        if not str(row["note"]).startswith("left out"):
            groups.setdefault(
                tuple(row.get(key) for key in ("case", "axis", "peer", "method", "what")), []
            ).append(row)
    return groups


def joined(runs: list[Path], into: Path) -> None:
    """The rows of all runs in one directory, with all commands.

    Of a method on an input the first run counts.
    """
    for name in ("results", "curves", "own", "unseen"):
        taken: Groups = {}
        for run in runs:
            taken = {**measured(run / f"{name}.csv"), **taken}
        if taken:
            tables.write_csv(into / f"{name}.csv", [row for rows in taken.values() for row in rows])
    heads = [json.loads((run / "run.json").read_text()) for run in runs]
    (into / "run.json").write_text(json.dumps(several(heads[::-1])))


def several(heads: list[dict[str, Any]]) -> dict[str, Any]:
    """The head of several runs: all commands and commits, and the sum of their seconds where each is known."""
    head = {**heads[0], "command": "`, `".join(dict.fromkeys(head["command"] for head in heads))}
    head["commit"] = ", ".join(dict.fromkeys(head.get("commit", "unknown") for head in heads))
    head.pop("seconds", None)
    return head | (
        {"seconds": sum(h["seconds"] for h in heads)} if all("seconds" in h for h in heads) else {}
    )


def told(head: dict[str, Any]) -> str:
    """How the numbers of a run were taken, in one line."""
    minutes = f", {head['seconds'] / 60:.0f} minutes" if "seconds" in head else ""
    return (
        f"Measured by `{head['command']}` at commit {head['commit']}{minutes}. Machine:"
        f" {head['machine']}."
    )


def summarised(rows: list[tables.Row], head: dict[str, Any], picture: str) -> str:
    """The summary and its picture, with the command that measured it."""
    drawn = summary.draw(rows, DOCS / "images" / picture)
    shown = [f"![both ratios, input by input](images/{picture})", ""] if drawn else []
    return "\n".join([*summary.summary(rows), *shown, told(head), "", ""])


def filled(page: str, marker: str, text: str) -> str:
    """The page with this text after its marker, up to the next end."""
    above, rest = page.split(marker)
    return f"{above}{marker}\n{text}{END}{rest.split(END, 1)[1]}"


def pictures(out: Path) -> list[str]:
    """The plots of a run, copied beside the page, as lines of it."""
    shown = []
    for name, what in [
        *((job, f"{job}: quality against time") for job in tables.JOBS),
        ("growth", "cost curves"),
    ]:
        picture = out / f"bench_{name}.png"
        if picture.exists():
            shutil.copy(picture, DOCS / "images" / picture.name)
            shown += [f"![{what}](images/{picture.name})", ""]
    return tables.folded("pictures: quality against time, cost curves", shown) if shown else []


def publish(runs: list[Path]) -> None:
    """Both pages from these runs; each is written only when all of it was made."""
    page, front = DOCS / "benchmarks.md", ROOT / "README.md"
    text, readme = page.read_text(), front.read_text()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        joined(runs, out)
        head = json.loads((out / "run.json").read_text())
        rows, fresh = (tables.read_csv(out / f"{name}.csv") for name in ("results", "unseen"))
        if fresh:
            text = filled(text, UNSEEN, summarised(fresh, head, "bench_unseen.png"))
        if rows:
            tables.write_report(out)
            plots.draw(out)
            text = filled(text, SUMMARY, summarised(rows, head, "bench_summary.png"))
            below = "\n".join([*pictures(out), (out / "tables.md").read_text()])
            text = f"{text.split(MARKER)[0]}{MARKER}\n{below}"
            measured_here = {row["case"] for row in rows if tables.done(row)}
            if measured_here.issuperset(summary.README):
                readme = filled(
                    readme, TABLE, "\n".join([*summary.readme(rows), "", told(head), "", ""])
                )
            else:
                print("the README stays as it is: these runs lack some of its inputs")
    page.write_text(text)
    front.write_text(readme)
    costs.write()


def readme_rows(runs: list[Path]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        joined(runs, Path(folder))
        return summary.readme(tables.read_csv(Path(folder) / "results.csv"))


def main(asked: list[str]) -> None:
    runs = [Path(name) for name in asked if not name.startswith("--")]
    absent = [str(run) for run in runs if not (run / "run.json").exists()]
    if absent or not runs:
        sys.exit(
            f"runs must be folders written by benchmarks/run.py, got {', '.join(absent) or 'none'}"
        )
    if "--readme" in asked:
        print("\n".join(readme_rows(runs)))
    else:
        publish(runs)


if __name__ == "__main__":
    main(sys.argv[1:])
