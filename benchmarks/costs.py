"""The cost curves of fewer in docs/benchmarks.md, as the short table of docs/how-to-choose.md.

python benchmarks/costs.py   # writes it; publish.py does so too
"""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
MARKER, END = (
    "<!-- costs: written by benchmarks/costs.py -->\n",
    "<!-- end of what was written -->\n",
)
CURVE = re.compile(
    r"^\| (points|bins|terms|dims) \| (\w+) \| fewer (\w+) \| ([^|]+) \| ([^|]+) \|[^|]*\|"
    r" ([^|]+) \|",
    re.MULTILINE,
)
AXES = {
    ("points", "N"): "rows",
    ("points", "d"): "columns",
    ("bins", "n"): "bins",
    ("terms", "n"): "columns",
    ("terms", "r"): "rows",
    ("dims", "rows"): "rows",
    ("dims", "items"): "columns",
}


def table(page: str) -> str:
    """A row for each job and what grows: sizes, seconds and megabytes."""
    lines = ["| job | what grows | sizes | seconds | MB |", "|---|---|---|---|---|"]
    for job, axis, solver, *numbers in CURVE.findall(page):
        name = f"`{job}`" if solver == "auto" else f'`{job}`, `solver="{solver}"`'
        # "1,000, 10,000": a comma and a space part the numbers
        sizes, seconds, megabytes = (" / ".join(column.strip().split(", ")) for column in numbers)
        lines.append(
            f"| {name} | {AXES.get((job, axis), axis)} | {sizes} | {short(seconds)} | {megabytes} |"
        )
    return "\n".join(lines) + "\n"


def short(seconds: str) -> str:
    """Two digits of each number."""
    return " / ".join(f"{float(f'{float(x):.2g}'):g}" for x in seconds.split(" / "))


def write() -> None:
    target = DOCS / "how-to-choose.md"
    above, rest = target.read_text(encoding="utf-8").split(MARKER)
    filled = table((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    target.write_text(f"{above}{MARKER}\n{filled}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    write()
