"""What must be true of a folder after a fault."""

import contextlib
import csv
import io
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


def whole_problems(
    folder: Path, *, must_be_new: bool = False, must_be_old: bool = False
) -> list[str]:
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
