"""`python -m soak.prepared`: commands that start at once, for what is killed or interrupted a hundred times.

Most of a command's time goes into importing other packages, where nothing can be lost. This process
has imported them. It reads lines of JSON, and for each it forks a process that goes on as `fewer`
with these arguments, in that folder. It answers with the number of the process and, when that has
ended, with its exit code.
"""

import json
import os
import signal
import sys

LIBRARIES = (
    "numpy",
    "scipy.optimize",
    "scipy.sparse",
    "sklearn.base",
    "numba",
    "click",
    "rich.progress",
    "rich.table",
)
"""Modules imported ahead; not polars, whose threads a forked process would lack."""


def next_command() -> list[str]:
    """Fork for every line; returns in each forked process alone."""
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            become(asked["folder"], asked["err"])
            return list(asked["arguments"])
        os.setpgid(child, child)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    raise SystemExit


def become(folder: str, err: str) -> None:
    """A group of its own, nothing to read, nobody who reads, stderr in a file."""
    os.setpgid(0, 0)
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    for name in LIBRARIES:
        __import__(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
    command = next_command()
    from fewer.cli import main

    main(command)
