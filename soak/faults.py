"""Faults: commands that are killed, interrupted, out of disk, in each other's way: no half file, no lost one.

A case runs the command once or twice in processes of their own: 3 to 6 s with a warm cache, `reproduce` up to 20 s,
threads and processes 5 to 10 s. With a cold cache ("cold") a case compiles for a minute or two, so it is drawn rarely.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from .fault_checks import OLD, expected_csv, left_over, reproduction_problems, whole_problems, write_counts

NAME = "faults"
SECONDS = 600.0
PATIENCE = 300.0
"""Seconds after which a command hangs."""
COMMAND = [sys.executable, "-m", "fewer"]
"""What is run; a test puts a broken one in its place."""
BINS = ["bins", "counts.csv", "--column", "n", "--counts", "--preserve", "entries", "-k", "2000", "--quiet"]
FILES = ["-o", "out.csv", "--report", "page.html"]
REPRODUCE = ["reproduce", "theorem1", "--quick", "--runs", "1", "--out", "paper"]
NOTHING = "nothing was written"
SHORT = 0.05
"""Seconds after a part of a file is first seen in which the command is hit, in half of the cases."""


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


def start(folder: Path, *arguments: str, before: str = "", **options: object) -> subprocess.Popen[str]:
    """The command in a session of its own, as in a terminal of its own; its process runs the Python `before` first."""
    command = [*COMMAND, *arguments]
    if before:  # not preexec_fn: forking a process that has threads, such as a test's, may hang
        then = f"import os, resource, sys\n{before}\nos.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", then, *command]
    streams: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, start_new_session=True, **{**streams, **options})  # type: ignore[call-overload,no-any-return]  # noqa: S603


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and stderr of a command; one that hangs is killed with its children."""
    try:
        _, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return -1, f"it hangs: no end within {PATIENCE:.0f} s"
    return process.returncode, err


def hit(process: subprocess.Popen[str], folder: Path, sign: int, delay: float, at_part: bool) -> None:
    """Send a signal to all of a command after some seconds, or as many after a part of a file is seen."""
    until = time.monotonic() + PATIENCE
    while at_part and process.poll() is None and time.monotonic() < until:
        if any(name.endswith(".part") for name in os.listdir(folder)):
            break
        time.sleep(0.0002)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay)
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sign)


def moment(rng: np.random.Generator, longest: float) -> tuple[float, bool]:
    """When to hit: at any time, or just when files are written."""
    at_part = bool(rng.random() < 0.5)
    return float(rng.uniform(0.0, SHORT if at_part else longest)), at_part


@cache
def seconds(*arguments: str) -> float:
    """How long a command takes here."""
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        write_counts(Path(name))
        began = time.monotonic()
        finish(start(Path(name), *arguments))
        return time.monotonic() - began


def killed(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """kill -9, then the same command again."""  # noqa: D403 - the name of a command
    for name in ("out.csv", "page.html"):
        (folder / name).write_bytes(OLD)
    arguments = [*BINS, *FILES, "--force"]
    delay, at_part = moment(rng, seconds(*arguments))
    process = start(folder, *arguments)
    hit(process, folder, signal.SIGKILL, delay, at_part)
    finish(process)
    problems = whole_problems(folder)
    code, err = finish(start(folder, *arguments))
    if code != 0:
        problems.append(f"exit code {code} of the next run: {err[-300:]}")
    problems += whole_problems(folder, must_be_new=True) + left_over(folder)
    return f"kill -9 {delay:.3f} s after {'a part is seen' if at_part else 'the start'}", problems


def interrupted(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """Ctrl-C, at any moment after the interpreter itself has started."""
    for name in ("out.csv", "page.html"):
        (folder / name).write_bytes(OLD)
    arguments = [*BINS, *FILES, "--force"]
    delay, at_part = moment(rng, seconds(*arguments))
    process = start(folder, *arguments)
    hit(process, folder, signal.SIGINT, delay, at_part)
    code, err = finish(process)
    text = f"SIGINT {delay:.3f} s after {'a part is seen' if at_part else 'the start'}"
    if before_us(code, err):
        return f"{text}, while the interpreter started", []
    problems = code_problems(code, err, (0, 130)) + left_over(folder)
    if "Traceback" in err:
        problems.append(f"a traceback: {err[-300:]}")
    new = code == 0 or NOTHING not in err
    return text, problems + whole_problems(folder, must_be_new=new, must_be_old=not new)


def before_us(code: int, err: str) -> bool:
    """Whether Ctrl-C came before the package could take it: the interpreter's traceback has no line of the command."""
    return code in (1, -signal.SIGINT) and "Traceback" in err and "fewer/cli" not in err


def code_problems(code: int, err: str, expected: tuple[int, ...]) -> list[str]:
    """What is wrong with an exit code, and with what was said about it."""
    if code not in expected:
        return [f"exit code {code}, expected {expected}: {err[-300:]}"]
    if code == 2 and (not err.startswith("fewer: ") or err.count("\n") != 1):
        return [f"not one sentence: {err[-300:]}"]
    return []


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
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)  # noqa: S603
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
    problems = code_problems(code, err, (0,) if allowed else (2,)) + left_over(folder) + left_over(folder / "there")
    if os.lstat(out).st_mode != shape:
        problems.append("what was there was replaced by something else")
    target = out if kind == "input" else real
    if allowed and target.read_bytes() != expected_csv():
        problems.append("the answer is not where the link leads")
    if not allowed and kind in ("link", "far link") and real.read_bytes() != OLD:
        problems.append("the previous file is lost")
    if not allowed and ((folder / "counts.csv").read_bytes() != before or (kind == "dangling" and real.exists())):
        problems.append("something was written in spite of the refusal")
    return f"output is a {kind}{', --force' if force else ''}", problems


def together(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """Several commands write the same file at the same time."""
    count, force = int(rng.integers(2, 4)), bool(rng.random() < 0.5)
    more = ["--force"] if force else []
    ended = [finish(process) for process in [start(folder, *BINS, *FILES[:2], *more) for _ in range(count)]]
    codes = sorted(code for code, _ in ended)
    problems = [problem for code, err in ended for problem in code_problems(code, err, (0,) if force else (0, 2))]
    if 0 not in codes or (not force and codes.count(0) > 1):
        problems.append(f"exit codes {codes}: without --force exactly one writes the file")
    if (folder / "out.csv").read_bytes() != expected_csv():
        problems.append("the file is not whole")
    return f"{count} at once{', --force' if force else ''}", problems + left_over(folder)


def reproduced(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """`reproduce` is killed or interrupted, and the same command goes on to its end."""
    sign = signal.SIGKILL if rng.random() < 0.5 else signal.SIGINT
    arguments = [*REPRODUCE, "--jobs", str(rng.integers(1, 3))]
    (folder / "paper").mkdir()
    delay, at_part = moment(rng, seconds(*arguments))
    process = start(folder, *arguments)
    hit(process, folder / "paper", sign, delay, at_part)
    code, err = finish(process)
    text = f"reproduce --jobs {arguments[-1]}, {sign.name} {delay:.3f} s after {'a part' if at_part else 'the start'}"
    problems = reproduction_problems(folder / "paper", done=code == 0)
    if sign == signal.SIGINT and not before_us(code, err):
        problems += code_problems(code, err, (0, 130)) + (["a traceback"] if "Traceback" in err else [])
    code, err = finish(start(folder, *arguments))
    problems += code_problems(code, err, (0,)) + reproduction_problems(folder / "paper", done=True)
    return text, problems + left_over(folder / "paper")


def many_at_once(rng: np.random.Generator, folder: Path, cold: bool = False) -> tuple[str, list[str]]:
    """Eight threads, then four processes, forked or spawned, solve at once; all answers are the same as one alone."""
    method = str(rng.choice(["fork", "spawn"]))
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(folder / "cache")} if cold else {})}
    command = [sys.executable, "-m", "soak.many", method]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE)  # noqa: S603
    problems = (
        [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"]
    )
    return f"threads and processes ({method}), {'cold' if cold else 'warm'} cache", problems


def many_at_once_cold(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """The same while everything has to be compiled."""
    return many_at_once(rng, folder, cold=True)


KINDS: dict[str, tuple[Callable[[np.random.Generator, Path], tuple[str, list[str]]], float]] = {
    "killed": (killed, 30),
    "interrupted": (interrupted, 30),
    "full": (full, 12),
    "stream": (stream_full, 6),
    "read-only": (read_only, 3),
    "special": (special, 15),
    "together": (together, 6),
    "reproduce": (reproduced, 6),
    "many": (many_at_once, 3),
    "cold": (many_at_once_cold, 0.5),
}
"""The kinds of faults and how often each is drawn."""
