"""Put runs into docs/benchmarks.md, after its marker, and their plots beside it.

Several runs become one page that names every command; those that replace some rows of a run come before it:
python benchmarks/publish.py build/again build/bench
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import plots
import tables

DOCS = Path(__file__).parents[1] / "docs"
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


def main(runs: list[Path]) -> None:
    page = DOCS / "benchmarks.md"
    kept = page.read_text().split(MARKER)[0]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        joined(runs, out)
        tables.write_report(out)
        plots.draw(out)
        shown = []
        for name, what in [*((job, f"{job}: quality against time") for job in tables.JOBS), ("growth", "cost curves")]:
            picture = out / f"bench_{name}.png"
            if picture.exists():
                shutil.copy(picture, DOCS / "images" / picture.name)
                shown.append(f"![{what}](images/{picture.name})\n")
        page.write_text(kept + MARKER + "\n" + "\n".join([*shown, (out / "tables.md").read_text()]))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
