"""Put runs into docs/benchmarks.md, after its marker, and their plots beside it.

Several runs (one for each job, say) become one page that names every command:
python benchmarks/publish.py build/points build/terms ...
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import plots
import tables

DOCS = Path(__file__).parents[1] / "docs"
MARKER = "<!-- what follows is written by benchmarks/publish.py -->\n"


def joined(runs: list[Path], into: Path) -> None:
    """The rows of all runs in one directory, with all commands."""
    for name in ("results", "curves", "own"):
        rows = [row for run in runs for row in tables.read_csv(run / f"{name}.csv")]
        marks = [tuple(row.get(key) for key in ("case", "axis", "peer", "method", "variant", "what")) for row in rows]
        rows = [row for at, row in enumerate(rows) if marks[at] not in marks[:at]]  # the first run of a row counts
        if rows:
            tables.write_csv(into / f"{name}.csv", rows)
    heads = [json.loads((run / "run.json").read_text()) for run in runs]
    command = "`, `".join(dict.fromkeys(head["command"] for head in heads))
    (into / "run.json").write_text(json.dumps({**heads[0], "command": command}))


def main(runs: list[Path]) -> None:
    page = DOCS / "benchmarks.md"
    kept = page.read_text().split(MARKER)[0]
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        joined(runs, out)
        tables.write_report(out)
        plots.draw(out)
        pictures = sorted(out.glob("bench_*.png"))
        for picture in pictures:
            shutil.copy(picture, DOCS / "images" / picture.name)
        shown = [f"![{picture.stem.replace('_', ' ')}](images/{picture.name})\n" for picture in pictures]
        page.write_text(kept + MARKER + "\n" + "\n".join([*shown, (out / "tables.md").read_text()]))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
