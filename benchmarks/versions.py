"""Versions of `fewer` side by side: the tree of a commit, and a process that answers calls with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CALLER = Path(__file__).resolve().parent / "caller.py"
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")


def git(*arguments: str) -> str:
    """What git prints in this repository."""
    return subprocess.check_output(["git", "-C", str(ROOT), *arguments], text=True).strip()  # noqa: S603, S607


@contextmanager
def tree_of(commit: str, folder: Path, keep: bool = False) -> Iterator[Path]:
    """A worktree of the commit below the folder.

    One that is there from an earlier run is used again.
    """
    name = git("rev-parse", "--short=12", f"{commit}^{{commit}}")
    tree = folder.resolve() / name
    if not tree.exists():
        git("worktree", "add", "--detach", str(tree), name)
    try:
        yield tree
    finally:
        if not keep:
            git("worktree", "remove", "--force", str(tree))


def environment(tree: Path) -> dict[str, str]:
    """What a process needs to import the tree's package on one thread."""
    threads = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    return {**os.environ, "PYTHONPATH": str(tree / "src"), **threads}


class Version:
    """One version in a long-lived process.

    a process that ended is started anew by the next call.
    """

    def __init__(self, name: str, tree: Path) -> None:
        self.name, self.tree = name, tree
        self.process: Any = None

    def ask(self, **call: Any) -> dict[str, Any]:
        """The answer to a call: see `caller`; {"error": sentence} where there is none."""
        if self.process is None or self.process.poll() is not None:
            self.process = self.started()
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return (
            json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}
        )

    def started(self) -> Any:
        """A process of this version, which has imported the package."""
        command = [sys.executable, "-P", str(CALLER), str(self.tree / "src")]
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self.tree),
        )

    def end(self) -> None:
        """Let the process go."""
        if self.process is not None:
            self.process.communicate()
            self.process = None
