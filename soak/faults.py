"""Faults: full disks, closed streams, odd outputs, commands in each other's way: no half file, no lost one.

A case runs the command once or a few times in processes of their own: about 3 s with a warm cache,
threads and processes 5 to 10 s. With a cold cache ("cold") a case compiles for a minute or two, so
it is drawn rarely. Kills and interrupts are parts of their own.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .commands import BINS, FILES, PATIENCE, code_problems, finish, start
from .fault_checks import OLD, expected_csv, left_over, write_counts

NAME = "faults"
SECONDS = 600.0


def case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """One fault in a temporary folder, and what was wrong after it."""
    names = list(KINDS)
    weights = np.array([KINDS[name][1] for name in names])
    kind = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        os.chmod(name, 0o755)  # noqa: S103 - another user looks into it
        folder = Path(name)
        write_counts(folder)
        return KINDS[kind][0](rng, folder)


def full(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """No file may become longer than some bytes, as on a full disk."""
    kind = str(rng.choice(["csv", "json", "parquet", "npz", "html"]))
    name = f"out.{kind}"
    (folder / name).write_bytes(OLD)
    limit = int(rng.choice([64, 100, 1000, 5000]))
    code, err = finish(
        start(
            folder,
            *BINS,
            *(["--report"] if kind == "html" else ["-o"]),
            name,
            "--force",
            before=f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    )
    problems = code_problems(code, err, (2,)) + left_over(folder)
    if (folder / name).read_bytes() != OLD:
        problems.append(f"the previous {name} is lost")
    return f"files of at most {limit} bytes, {name}", problems


def stream_full(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """Standard output or standard error is full, closed, or nobody reads it."""
    which = str(rng.choice(["stdout", "stderr"]))
    state = str(rng.choice(["full", "closed", "broken"]))
    number = {"stdout": 1, "stderr": 2}[which]
    with contextlib.ExitStack() as stack:
        options: dict[str, object] = {}
        if state == "full":
            options[which] = stack.enter_context(open("/dev/full", "w"))
        elif state == "closed":
            options["before"] = f"os.close({number})"
        else:
            read, options[which] = os.pipe()
            os.close(read)
        code, err = finish(start(folder, *BINS[:-1], **options))
        if state == "broken":
            os.close(options[which])  # type: ignore[arg-type]
    expected = (2,) if (which, state) == ("stdout", "full") else (0,)
    problems = [] if code in expected else [f"exit code {code}, expected {expected}: {err}"]
    return f"{which} {state}", problems + (["a traceback"] if "Traceback" in (err or "") else [])


def read_only(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """A folder that may not be written to; as another user if this one may do anything."""
    place = folder / "closed"
    place.mkdir()
    (place / "out.csv").write_bytes(OLD)
    place.chmod(0o555)
    name = str(rng.choice(["out.csv", "new.csv"]))
    script = (  # once, so that everything is imported, and then as a user who may not
        "import os, sys\n"
        "from fewer.cli import _app\n"
        f"assert _app.run({[*BINS, '-o', 'once.csv']}) == 0\n"
        "if os.geteuid() == 0: os.setegid(65534); os.seteuid(65534)\n"
        f"sys.exit(_app.run({[*BINS, '-o', f'closed/{name}', '--force']}))\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    problems = code_problems(done.returncode, done.stderr, (2,))
    if os.listdir(place) != ["out.csv"] or (place / "out.csv").read_bytes() != OLD:
        problems.append("the folder has changed")
    place.chmod(0o755)
    return f"read-only folder, {name}", problems


def special(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """The output is a link, a pipe, a folder or the input."""
    kind = str(rng.choice(["link", "dangling", "loop", "pipe", "folder", "input", "far link"]))
    force = bool(rng.random() < 0.5)
    (folder / "there").mkdir()
    real = folder / ("there/real.csv" if kind == "far link" else "real.csv")
    out = folder / "out.csv"
    if kind in ("link", "far link"):
        real.write_bytes(OLD)
    if kind in ("link", "far link", "dangling"):
        out.symlink_to(real.relative_to(folder))
    elif kind == "loop":
        out.symlink_to(out.name)
    elif kind == "pipe":
        os.mkfifo(out)
    elif kind == "folder":
        out.mkdir()
    else:
        out = folder / "counts.csv"
    before, shape = (folder / "counts.csv").read_bytes(), os.lstat(out).st_mode
    code, err = finish(start(folder, *BINS, "-o", out.name, *(["--force"] if force else [])))
    allowed = force and kind in ("link", "far link", "dangling", "input")
    problems = (
        code_problems(code, err, (0,) if allowed else (2,))
        + left_over(folder)
        + left_over(folder / "there")
    )
    if os.lstat(out).st_mode != shape:
        problems.append("what was there was replaced by something else")
    target = out if kind == "input" else real
    if allowed and target.read_bytes() != expected_csv():
        problems.append("the answer is not where the link leads")
    if not allowed and kind in ("link", "far link") and real.read_bytes() != OLD:
        problems.append("the previous file is lost")
    if not allowed and (
        (folder / "counts.csv").read_bytes() != before or (kind == "dangling" and real.exists())
    ):
        problems.append("something was written in spite of the refusal")
    return f"output is a {kind}{', --force' if force else ''}", problems


def together(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """Several commands write the same file at the same time."""
    count, force = int(rng.integers(2, 4)), bool(rng.random() < 0.5)
    more = ["--force"] if force else []
    ended = [
        finish(process)
        for process in [start(folder, *BINS, *FILES[:2], *more) for _ in range(count)]
    ]
    codes = sorted(code for code, _ in ended)
    problems = [
        problem
        for code, err in ended
        for problem in code_problems(code, err, (0,) if force else (0, 2))
    ]
    if 0 not in codes or (not force and codes.count(0) > 1):
        problems.append(f"exit codes {codes}: without --force exactly one writes the file")
    if (folder / "out.csv").read_bytes() != expected_csv():
        problems.append("the file is not whole")
    return f"{count} at once{', --force' if force else ''}", problems + left_over(folder)


def many_at_once(
    rng: np.random.Generator, folder: Path, cold: bool = False
) -> tuple[str, list[str]]:
    """Eight threads, then four processes, forked or spawned, solve at once.

    All answers are the same as one alone.
    """
    method = str(rng.choice(["fork", "spawn"]))
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(folder / "cache")} if cold else {})}
    command = [sys.executable, "-m", "soak.many", method]
    done = subprocess.run(  # noqa: S603
        command, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE
    )
    problems = (
        []
        if done.returncode == 0
        else [f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"]
    )
    return f"threads and processes ({method}), {'cold' if cold else 'warm'} cache", problems


def many_at_once_cold(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """Run while everything has to be compiled."""
    return many_at_once(rng, folder, cold=True)


KINDS: dict[str, tuple[Callable[[np.random.Generator, Path], tuple[str, list[str]]], float]] = {
    "full": (full, 12),
    "stream": (stream_full, 6),
    "read-only": (read_only, 3),
    "special": (special, 15),
    "together": (together, 6),
    "many": (many_at_once, 3),
    "cold": (many_at_once_cold, 0.5),
}
"""The kinds of faults and how often each is drawn."""
