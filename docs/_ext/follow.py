"""Follow a page of the guide literally: run its blocks in order and compare what they print with what the page shows.

A block of ```python is run; a block of ```text after it is what it printed. In a block of
```console a line `$ command` is run, and what follows is what it printed. `...` stands for
anything. A picture `![...](figures/NAME.png)` is the figure that the code before it drew.
Everything runs in a folder of its own.

Run: python docs/_ext/follow.py docs/guide/*.md README.md
With --write first, what a page shows is replaced by what its code prints.
It needs fewer with the extras cli and plot, and pandas; of the checkout nothing but the pages.
"""

import contextlib
import doctest
import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

FENCE = re.compile(r"^```(\w*)\s*$")
PICTURE = re.compile(r"^!\[.*\]\((figures/[\w-]+\.png)\)$")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block, or a picture: its kind, its text, and the line where the text begins."""

    kind: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks and the pictures of a page, in order."""
    kind, start, lines = "", 0, []
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        picture = PICTURE.match(line)
        if fence and not kind:
            kind, start, lines = fence[1] or "none", number + 1, []
        elif line.startswith("```") and kind:
            yield Block(kind, "\n".join(lines) + "\n", start)
            kind = ""
        elif kind:
            lines.append(line)
        elif picture:
            yield Block("picture", picture[1], number)


class MismatchError(AssertionError):
    """What a page shows is not what its code prints."""


def agree(expected: str, printed: str) -> bool:
    """Whether what a page shows is what was printed, but for blanks and `...`."""
    return doctest.OutputChecker().check_output(expected, printed, FLAGS)


def compare(expected: str, printed: str, where: str) -> None:
    """Raise where the two differ."""
    if not agree(expected, printed):
        raise MismatchError(f"{where}: the page shows\n{expected}\nand the code prints\n{printed}")


def run_python(block: Block, page: Path, names: dict[str, object]) -> str:
    """What a block prints."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)  # noqa: S102 - our own page
    return printed.getvalue()


def run_console(block: Block, page: Path) -> str:
    """Run the commands of a block; return the block as it is printed now."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    lines = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = f"{command[:-1]} {more.strip()}"
        if command.startswith("pip install"):
            lines.append(f"$ {part}")
            continue
        done = subprocess.run(  # noqa: S603 - our own page
            shlex.split(command),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path, "COLUMNS": "100"},
            executable=command_path(shlex.split(command)[0], path),
        )
        if done.returncode:
            raise MismatchError(
                f"{page}:{block.line}: {command!r} ended with {done.returncode}: {done.stderr}"
            )
        asked = part.removesuffix(expected)
        answered = re.sub(r" +$", "", done.stdout, flags=re.MULTILINE)
        lines.append(f"$ {asked}{expected if agree(expected, answered) else answered}")
    return "".join(lines)


def command_path(name: str, path: str) -> str:
    """Where a command is, those beside this Python first."""
    import shutil

    return shutil.which(name, path=path) or name


def save_figure(target: Path) -> None:
    """Keep the current figure, and begin anew."""
    import matplotlib.pyplot as plt

    if not plt.get_fignums():
        raise MismatchError(f"{target.name}: no figure was drawn before it")
    target.parent.mkdir(exist_ok=True)
    plt.savefig(target, dpi=120, bbox_inches="tight")
    plt.close("all")


def follow(page: Path, figures: bool = False, commands: bool = True) -> int:
    """Run a page.

    With `figures` its pictures are drawn beside it, unless they were, from the same text.

    `commands`: whether those of the shell are run too. Returns the number of blocks that were run.
    """
    page = page.resolve()
    text = page.read_text(encoding="utf-8")
    mark = page.parent / "figures" / f"{page.stem}.md5"
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    if figures and mark.exists() and mark.read_text() == digest:
        return 0
    count = run([b for b in blocks(text) if commands or b.kind != "console"], page, figures)
    if figures:
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(digest)
    return count


def run(found: list[Block], page: Path, figures: bool) -> int:
    """Run the blocks of a page in a folder of its own, and compare; return how many were run."""
    count = 0
    for shown, printed in answers(found, page, figures):
        compare(shown.text, printed, f"{page}:{shown.line}")
        count += 1
    return count


def write(page: Path) -> int:
    """Replace what a page shows by what its code prints; return how many blocks were run."""
    text = page.read_text(encoding="utf-8")
    count = 0
    for shown, printed in answers(list(blocks(text)), page.resolve(), figures=False):
        count += 1
        if shown.kind != "python" and not agree(shown.text, printed):
            fence = f"```{shown.kind}\n"
            text = text.replace(f"{fence}{shown.text}", f"{fence}{printed}")
    page.write_text(text, encoding="utf-8")
    return count


def answers(found: list[Block], page: Path, figures: bool) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder of its own: each block that shows output, and what was printed."""
    module = ModuleType("guide")
    sys.modules["guide"] = module  # dataclasses look their module up
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block, following in zip_longest(found, found[1:]):
                if block.kind == "python":
                    printed = run_python(block, page, vars(module))
                    silent = following is None or following.kind != "text"
                    yield block._replace(text="") if silent else following, printed
                elif block.kind == "console":
                    yield block, run_console(block, page)
                elif block.kind == "picture":
                    save_figure(page.parent / block.text if figures else Path(folder, "figure.png"))
        finally:
            os.chdir(home)
            sys.modules.pop("guide", None)


def main(pages: list[str]) -> int:
    """Follow the pages that are named, and say how it went."""
    import matplotlib

    matplotlib.use("Agg")
    failed = 0
    reading = write if pages[:1] == ["--write"] else follow
    for name in pages[reading is write :]:
        try:
            count = reading(Path(name))
        except Exception as error:
            failed += 1
            sys.stdout.write(f"{name}: {type(error).__name__}: {error}\n")
        else:
            sys.stdout.write(f"{name}: {count} blocks, all as shown\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
