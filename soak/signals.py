"""Commands that are killed or interrupted at random moments: no half file, no lost one, and the next run ends well."""

import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .commands import BINS, FILES, before_us, begin, code_problems, finish, hit, moment, seconds
from .fault_checks import OLD, left_over, whole_problems, write_counts

NOTHING = "nothing was written"
FRESH, AGAIN = 0.2, 0.3
"""How often a new interpreter is hit, with its imports; the same command is run again."""
SHORTER = 0.7
"""A command that had ended before it was hit is hit sooner the next time."""


def struck(rng: np.random.Generator, sign: signal.Signals) -> tuple[str, list[str]]:
    """One signal to one command, and what was wrong after it."""
    fresh = bool(rng.random() < FRESH)
    arguments, prepare, check = files()
    delay, at_part = moment(rng, seconds(fresh, *arguments))
    while True:
        with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
            folder = Path(name)
            place = prepare(folder)
            process = begin(folder, arguments, fresh)
            struck = hit(process, place, sign, delay, at_part)
            code, err = finish(process)
            problems = check(folder, sign, code, err)
            if struck or problems:
                again = bool(rng.random() < AGAIN)
                problems += next_run(folder, arguments, check) if again else []
                what = f"{arguments[0]}{' in a new interpreter' if fresh else ''}"
                return (
                    (
                        f"{what}, {sign.name} {delay:.3f} s after"
                        f" {'a part' if at_part else 'the start'}"
                    ),
                    problems,
                )
        delay *= SHORTER


Check = Callable[[Path, signal.Signals | None, int, str], list[str]]


def next_run(folder: Path, arguments: list[str], check: Check) -> list[str]:
    """Run the command once more, with nothing in its way: it ends well."""
    code, err = finish(begin(folder, arguments, fresh=False))
    return [
        f"the next run: {problem}"
        for problem in code_problems(code, err, (0,)) + check(folder, None, code, err)
    ]


def files() -> tuple[list[str], Callable[[Path], Path], Check]:
    """A table and a page, both there before."""

    def prepare(folder: Path) -> Path:
        write_counts(folder)
        for name in ("out.csv", "page.html"):
            (folder / name).write_bytes(OLD)
        return folder

    def check(folder: Path, sign: signal.Signals | None, code: int, err: str) -> list[str]:
        if sign == signal.SIGKILL or (sign and before_us(code, err)):
            return whole_problems(folder)
        new = code == 0 or NOTHING not in err
        return (
            heeded(sign, code, err)
            + (left_over(folder) if sign else [])  # kill -9 leaves the part that was begun
            + whole_problems(folder, must_be_new=new, must_be_old=not new)
        )

    return [*BINS, *FILES, "--force"], prepare, check


def heeded(sign: signal.Signals | None, code: int, err: str) -> list[str]:
    """Faults of how a command ended after Ctrl-C."""
    if sign is None:
        return []
    return code_problems(code, err, (0, 130)) + (
        [f"a traceback: {err[-300:]}"] if "Traceback" in err else []
    )
