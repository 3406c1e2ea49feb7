"""What must be true of a folder after a fault."""

import contextlib
import csv
import io
import json
import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

OLD = b"what was here before\n"
COUNTS = np.random.default_rng(5).permutation(6000) + 1


def write_counts(folder: Path) -> None:
    """The table that the commands read."""
    (folder / "counts.csv").write_text("n\n" + "\n".join(map(str, COUNTS)) + "\n")


@cache
def expected_csv() -> bytes:
    """What a command that nothing disturbs writes, worked out apart: the 2000 largest counts, heaviest first."""
    with TemporaryDirectory() as folder:
        from fewer.cli import _app

        path = Path(folder)
        write_counts(path)
        words = ["--column", "n", "--counts", "--preserve", "entries", "-k", "2000", "--quiet"]
        with contextlib.redirect_stdout(io.StringIO()):
            code = _app.run(["bins", str(path / "counts.csv"), *words, "-o", str(path / "out.csv")])
        content = (path / "out.csv").read_bytes()
    kept = {int(row["index"]) for row in csv.DictReader(io.StringIO(content.decode()))}
    if code != 0 or kept != set(np.argsort(-COUNTS)[:2000].tolist()):
        raise AssertionError("the command does not even work undisturbed")
    return content


def whole_problems(folder: Path, *, must_be_new: bool = False, must_be_old: bool = False) -> list[str]:
    """out.csv and page.html are what they were or what they shall be, and nothing between."""
    problems = []
    for name in ("out.csv", "page.html"):
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is gone")
            continue
        content = path.read_bytes()
        new = content == expected_csv() if name == "out.csv" else is_page(content)
        if not new and content != OLD:
            problems.append(f"{name} is half written: {len(content)} bytes")
        elif must_be_new and not new:
            problems.append(f"{name} was not written")
        elif must_be_old and new:
            problems.append(f"{name} was written, but that was denied")
    return problems


def is_page(content: bytes) -> bool:
    """Whether this is a whole page."""
    return content.startswith(b"<!doctype html>") and content.endswith(b"</html>\n")


def left_over(folder: Path) -> list[str]:
    """Parts of files that nobody writes any more."""
    return [f"{path.name} is left over" for path in folder.iterdir() if path.name.endswith(".part")]


def reproduction_problems(folder: Path, *, done: bool) -> list[str]:
    """The files of a reproduction are whole; after its end they are all there and hold the rows they shall."""
    checks = {
        "theorem1.csv": lambda content: rows(content) is not None,
        "theorem1.json": lambda content: bool(json.loads(content)["made"]),
        "theorem1.png": lambda content: content.startswith(b"\x89PNG") and content[-8:-4] == b"IEND",
        "theorem1.svg": lambda content: content.rstrip().endswith(b"</svg>"),
        "claims.md": lambda content: content.startswith(b"# ") and content.endswith(b"\n"),
        "index.html": is_page,
    }
    problems = []
    for name, check in checks.items():
        if not (folder / name).exists():
            problems += [f"{name} is missing"] if done else []
            continue
        try:
            right = check((folder / name).read_bytes())
        except (ValueError, KeyError, IndexError):
            right = False
        problems += [] if right else [f"{name} is half written"]
    if done and not problems:
        found = rows((folder / "theorem1.csv").read_bytes())
        keys = {row[:4] for row in found or []}
        if not found or len(keys) != len(found) or not all(math.isfinite(float(row[4])) for row in found):
            problems.append("theorem1.csv has rows twice, or none")
    return problems


def rows(content: bytes) -> list[tuple[str, ...]] | None:
    """The rows of a csv file that ends with a whole line, all of the same width; None for any other."""
    text = content.decode()
    lines = [tuple(line) for line in csv.reader(io.StringIO(text))]
    if not text.endswith("\n") or len({len(line) for line in lines}) != 1 or lines[0][0] != "figure":
        return None
    return lines[1:]
