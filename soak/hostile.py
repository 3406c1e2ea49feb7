"""Hostile files: nothing is run, nothing is unpickled, memory is bounded, and one sentence says what is wrong.

Each case is one seeded file, handed to one of the four commands. It takes 0.1 s in this process
once everything is compiled. Bombs take about 3 s and a million columns 5 to 30 s, in processes of
their own; a page in Chromium 3 s.
"""

import csv
import gzip
import io
import json
import pickle
import re
import shutil
import string
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

NAME = "hostile"
SECONDS = 400.0
JOBS = ("points", "bins", "terms", "dims")
MEMORY = 1 << 30
"""Bytes by which a command may grow while it reads any of these files."""
TEXTS = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "a;=1",
    "＝1+1",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\u202etxt",
    "[red]x[/red]",
    "[/b]",
    "<script>window.harmed = 1</script>",
    '"><img src=x onerror="window.harmed = 2">',
    "</script><script>window.harmed = 3</script>",
    "javascript:window.harmed=4",
    "a\x00b",
    "'; DROP TABLE",
    "%s%n{0}",
)


class Payload:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """One hostile file in a temporary folder, and what was wrong with how it was taken."""
    names = list(KINDS)
    kind = names[
        int(rng.choice(len(names), p=np.array([KINDS[name][1] for name in names]) / TOTAL))
    ]
    job = JOBS[int(rng.integers(len(JOBS)))]
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        folder = Path(name)
        return f"{kind} {job}", KINDS[kind][0](rng, folder, job)


def options(job: str, path: Path | str, column: str = "a") -> list[str]:
    """A small call of the job."""
    more = {
        "bins": ["--column", column],
        "terms": ["--target", column],
        "points": ["--gamma", "1"],
        "dims": [],
    }[job]
    return [job, str(path), "-k", "1", "--time-limit", "1", *more]


def call(arguments: list[str]) -> tuple[int, str, str]:
    """The command in this process: exit code, stdout, stderr."""
    from fewer.cli import _app

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = _app.run(arguments)
    return code, out.getvalue(), err.getvalue()


def alone(arguments: list[str], memory: int) -> tuple[int, str, str]:
    """The command in a process of its own that may grow by `memory` once everything is imported."""
    code = (
        "import sys, resource, fewer.cli.jobs, fewer.io.csv, fewer.io.arrays,"
        " sklearn.cluster\nfrom fewer.cli import _app\nsize ="
        " int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() +"
        f" {memory}\nresource.setrlimit(resource.RLIMIT_AS, (size,"
        " size))\nsys.exit(_app.run(sys.argv[1:]))\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments], capture_output=True, timeout=300
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def judged(ended: tuple[int, str, str], codes: tuple[int, ...] = (0, 2)) -> list[str]:
    """Faults of how a command ended: its code, more than one sentence, escape codes, a traceback."""
    code, out, err = ended
    wrong = [] if code in codes else [f"exit code {code}, expected {codes}: {err[-300:]!r}"]
    if code == 2 and (not err.startswith("fewer: ") or err.count("\n") != 1 or len(err) > 4000):
        wrong.append(f"not one sentence: {err[:300]!r}")
    if "Traceback" in err or "Warning" in err:
        wrong.append(f"a traceback or a warning: {err[:300]!r}")
    for text in (out, err):
        bad = re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        if bad:
            wrong.append(f"control character {bad[0]!r} goes to the terminal")
    return wrong


def pickles(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Pickles where arrays should be."""
    mark, path = folder / "unpickled", folder / ("a.npy" if rng.random() < 0.5 else "a.npz")
    objects = np.array([Payload(mark), 1.0], object)
    if path.suffix == ".npy":
        np.save(path, objects, allow_pickle=True)
    elif rng.random() < 0.5:
        np.savez(path, a=objects, b=np.arange(2.0))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", pickle.dumps(Payload(mark)))
    wrong = judged(call(options(job, path)), (0, 2))
    return [*wrong, "a pickle was loaded"] if mark.exists() else wrong


def header(text: str, data: bytes) -> bytes:
    """An npy file with any header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text.encode())) + text.encode() + data


def headers(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Files of npy whose header is odd or broken, alone or in an archive."""
    descr = str(
        rng.choice(
            [
                "'<f8'",
                "'>i4'",
                "'|O'",
                "'|V0'",
                "'|S0'",
                "'<U3'",
                "[('a','<f8')]",
                "('<f8', (3,))",
                "5",
                "'<M8[s]'",
            ]
        )
    )
    shape = str(
        rng.choice(
            [
                "(6, 2)",
                "(-6, 2)",
                "(True, 2)",
                "(10**9,)",
                "(1000000000000, 2000000)",
                "()",
                "(0, 2)",
                "(6, 0)",
                "6",
                "(2, 2, 2)",
                "(1.5,)",
            ]
        )
    )
    order = str(rng.choice(["False", "True", "0", "'x'"]))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    content = bytearray(header(text, rng.integers(0, 256, 96, np.uint8).tobytes()))
    for _ in range(int(rng.integers(0, 4))):
        content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
    cut = int(rng.integers(0, len(content))) if rng.random() < 0.2 else len(content)
    path = folder / "a.npy"
    if rng.random() < 0.5:
        path.write_bytes(content[:cut])
    else:
        path = folder / "a.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", bytes(content[:cut]))
    return judged(call(options(job, path)))


def archives(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Zip files with some bytes changed, most of them in the directory."""
    stream, path = io.BytesIO(), folder / "a.npz"
    np.savez_compressed(stream, a=np.arange(6.0), b=rng.random((6, 2)))
    content = bytearray(stream.getvalue())
    low = content.rfind(b"PK\x01\x02", 0, len(content) - 60) if rng.random() < 0.7 else 0
    for _ in range(int(rng.integers(1, 5))):
        content[int(rng.integers(max(low, 0), len(content)))] = int(rng.integers(0, 256))
    path.write_bytes(
        content[: int(rng.integers(10, len(content)))] if rng.random() < 0.1 else content
    )
    return judged(call(options(job, path)))


def bombs(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Some kilobytes that would be inflated to gigabytes, or that only say so."""
    size = int(rng.integers(1, 4)) << 30
    kind = str(rng.choice(["gzip", "zip", "declared by both", "declared by the archive"]))
    path = folder / ("a.csv.gz" if kind == "gzip" else "a.npz")
    count = 10 if kind == "declared by the archive" else size // 8
    head = header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}\n", b"")
    if kind == "gzip":
        path.write_bytes(
            gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"0,0\n" * (1 << 18)) * (size >> 20)
        )
    else:
        path.write_bytes(
            zipped(deflated(head, size >> 20 if kind == "zip" else 0), len(head) + size)
        )
    code, out, err = alone([*options(job, path), "--quiet"], MEMORY // 2)
    wrong = judged((code, out, err), (2,))
    if not re.search("would be inflated|is inflated to more|its head declares", err):
        wrong.append(f"{kind}: not refused by its size but after it was inflated: {err[:300]!r}")
    return wrong


def deflated(head: bytes, megabytes: int) -> bytes:
    """A head and megabytes of zeros, compressed.

    The blocks are all the same, so only two are ever made.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + block * megabytes + b"\x03\x00"


def zipped(content: bytes, declared: int) -> bytes:
    """A zip file of one member, `a.npy`, that declares its size."""
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, 0, len(content), declared, 5, 0)
    local = b"PK\x03\x04" + fields + b"a.npy" + content
    entry = (
        b"PK\x01\x02"
        + struct.pack("<H", 20)
        + fields
        + struct.pack("<HHHII", 0, 0, 0, 0, 0)
        + b"a.npy"
    )
    return (
        local
        + entry
        + b"PK\x05\x06"
        + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    )


def columns(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """A csv file of more columns than any text file may have."""
    count = int(rng.choice([120_000, 1_000_000]))
    names = ",".join(["a", *(f"c{i}" for i in range(count - 1))])
    row = ",".join("1" if i % 7 else "0" for i in range(count))
    (folder / "a.csv").write_text(f"{names}\n{row}\n{row}\n")
    return judged(alone([*options(job, folder / "a.csv"), "--quiet"], 2 * MEMORY), (2,))


def tables(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """csv, tsv and text with NULs, ragged rows, stray quotes, wrong encodings, odd numbers and line ends."""
    cells = [
        "1",
        "2.5",
        "-3",
        "1e400",
        "nan",
        "inf",
        "",
        "\x00",
        '"',
        '""',
        '"a\nb"',
        "\xff",
        "é",
        "1_0",
        "0x1",
        "=1",
        "\x1b[1m",
        "9" * 400,
    ]
    width = int(rng.integers(1, 5))
    lines = [",".join(["a", *string.ascii_lowercase[1:width]])]
    for _ in range(int(rng.integers(0, 6))):
        length = width if rng.random() < 0.8 else int(rng.integers(0, 8))
        odd = rng.random() < 0.3
        lines.append(
            ",".join(
                str(rng.choice(cells)) if odd and rng.random() < 0.5 else str(rng.integers(0, 9))
                for _ in range(length)
            )
        )
    ends = str(rng.choice(["\n", "\r\n", "\r", "\n\n"], p=[0.6, 0.2, 0.1, 0.1]))
    text = ends.join(lines) + (ends if rng.random() < 0.8 else "")
    encoding = str(rng.choice(["utf-8", "latin-1", "utf-16", "utf-8-sig"], p=[0.6, 0.2, 0.1, 0.1]))
    ending = str(
        rng.choice(
            [".csv", ".tsv", ".txt", ".parquet", ".npy", ".xlsx", ""],
            p=[0.6, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05],
        )
    )
    path = folder / f"a{ending}"
    path.write_bytes(text.encode(encoding, "replace"))
    arguments = options(job, path)
    if job == "dims" and rng.random() < 0.5:
        arguments.append("--transactions")
    return judged(call(arguments))


def start_of(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Files of other kinds, or random bytes after the first bytes of known ones."""
    starts = [
        b"",
        b"PAR1",
        b"\x93NUMPY",
        b"PK\x03\x04",
        b"\x1f\x8b\x08\x00",
        b"\x28\xb5\x2f\xfd",
        b"BZh9",
        b"\xd0\xcf\x11\xe0",
        b"%PDF-1.4",
        b"\x7fELF",
        b"SQLite format 3\x00",
        b"x\x9c",
    ]
    ending = str(rng.choice(["", ".csv", ".npz", ".npy", ".parquet", ".csv.gz"]))
    path = folder / f"a{ending}"
    path.write_bytes(
        starts[int(rng.integers(len(starts)))]
        + rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8).tobytes()
    )
    return judged(call(options(job, path)), (0, 2))


def texts(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Formulas, escape codes and markup in names and labels, written to csv and JSON, and shown."""
    names, arguments = hostile_table(rng, folder, job)
    wrong = []
    for kind in ("csv", "json"):
        wrong += judged(call([*arguments, "-o", str(folder / f"out.{kind}")]), (0,))
    if wrong:
        return wrong
    text = (folder / "out.csv").read_text()
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if cell.lstrip()[:1] in ("=", "+", "-", "@", "＝", "\t", "\r") and not is_number(cell):
                wrong.append(f"a spreadsheet would run {cell!r} of the csv file")
    for line in (
        text.splitlines()
    ):  # where semicolons separate, what is not quoted must not begin a formula
        wrong += [
            f"a spreadsheet would run a part of {line!r}"
            for part in re.sub('"[^"]*"', "", line).split(";")[1:]
            if part[:1] in "=+-@"
        ]
    for name in ("out.csv", "out.json"):
        if re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", (folder / name).read_text()):
            wrong.append(f"a control character in {name}")
    kept = json.loads((folder / "out.json").read_text())["answers"][0]["kept"]
    if job in ("terms", "dims") and not {"a", "who", *names}.issuperset(kept["column"]):
        wrong.append(f"JSON does not keep the names: {kept['column']}")
    return wrong


def is_number(cell: str) -> bool:
    """Whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def hostile_table(rng: np.random.Generator, folder: Path, job: str) -> tuple[list[str], list[str]]:
    """A table with hostile names (and labels), and a call of the job on it."""
    count = 5
    names = [TEXTS[i] for i in rng.choice(len(TEXTS), count, replace=False)]
    with (folder / "a.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "a", "who"])
        for i in range(8):
            writer.writerow([*rng.integers(0, 2, count), i % 3, TEXTS[i % len(TEXTS)]])
    arguments = [*options(job, folder / "a.csv"), "--force"]
    if job == "points":
        arguments += ["--label", "who"]
    if job == "bins":
        arguments[arguments.index("--column") + 1] = next(
            name for name in names if not name[:1].isspace()
        )
    return names, arguments


def pages(rng: np.random.Generator, folder: Path, job: str) -> list[str]:
    """Markup and scripts in names, labels and the file's name on the page, in Chromium."""
    _, arguments = hostile_table(rng, folder, job)
    file = folder / "<img src=x onerror=window.harmed=5>.csv"
    shutil.move(folder / "a.csv", file)
    arguments = [str(file) if word == str(folder / "a.csv") else word for word in arguments]
    wrong = judged(call([*arguments, "--report", str(folder / "page.html")]), (0,))
    return wrong or looked_at(folder / "page.html")


def looked_at(page: Path) -> list[str]:
    """What a browser says about a page; nothing where there is no browser."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if chromium is None:
        return []
    noise: list[str] = []
    flags = [
        "--no-sandbox",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-gpu",
    ]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        view = browser.new_page()
        view.on("console", lambda message: noise.append(f"the page says {message.text}"))
        view.on("pageerror", lambda error: noise.append(f"the page fails: {error}"))
        view.on("dialog", lambda dialog: (noise.append("a dialog"), dialog.dismiss()))
        view.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("data:", page.as_uri()))
                else noise.append(f"a request to {request.url}")
            ),
        )
        view.goto(page.as_uri())
        view.wait_for_timeout(100)
        if view.evaluate("window.harmed") is not None:
            noise.append("a script of the file was run")
        browser.close()
    return noise


KINDS: dict[str, tuple[Callable[[np.random.Generator, Path, str], list[str]], float]] = {
    "pickles": (pickles, 10),
    "headers": (headers, 20),
    "archives": (archives, 20),
    "tables": (tables, 30),
    "start": (start_of, 15),
    "texts": (texts, 20),
    "bombs": (bombs, 1.5),
    "columns": (columns, 0.7),
    "pages": (pages, 2),
}
"""The kinds of cases and how often each is drawn: those in processes of their own are rare."""
TOTAL = sum(weight for _, weight in KINDS.values())
