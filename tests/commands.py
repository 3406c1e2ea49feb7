"""The installed command, run as people run it, and small tables to run it on."""

import io
import os
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl

from fewer.cli._app import run as fewer_run

FEWER = Path(sys.executable).with_name("fewer")
RNG = np.random.default_rng(7)
WIDE = (RNG.random((120, 9)) < 0.3).astype(np.int64)
VALUES = np.round(RNG.lognormal(3.0, 0.8, 400), 3)
RETURNS = RNG.standard_normal((60, 8))
TARGET = RETURNS[:, [1, 4]] @ [0.7, 0.3] + 0.01 * RNG.standard_normal(60)
CLOUD = np.concatenate([RNG.normal(0, 0.3, (30, 2)), RNG.normal(4, 0.3, (60, 2))])


def run(*args, stdin=None, code=0, cwd=None, env=None):
    """Run the command line on a line or on these arguments: in this process, or with an environment of its own in another.

    Starting an interpreter and importing takes two seconds, the commands take milliseconds; what
    only a process shows (signals, closed streams, terminals) is tested in test_terminal.py and
    test_files.py.
    """
    words = shlex.split(args[0]) if len(args) == 1 else [str(a) for a in args]
    ended, out, err = inside(words, stdin, cwd) if env is None else outside(words, stdin, cwd, env)
    assert ended == code, (out, err)
    assert "Traceback" not in err
    assert "\x1b" not in out + err  # piped: no colour, no bar
    return out, err


def inside(words, stdin, cwd):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin or b""), "utf-8")
    with (
        chdir(cwd or "."),
        patch.multiple(sys, stdin=given, stdout=out, stderr=err, argv=["fewer", *words]),
    ):
        ended = fewer_run(words)
    return ended, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def outside(words, stdin, cwd, env):
    command = [str(FEWER)] if FEWER.exists() else [sys.executable, "-m", "fewer"]
    environment = {**os.environ, **env}
    done = subprocess.run(
        [*command, *words], input=stdin, capture_output=True, cwd=cwd, env=environment
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def write_tables(folder):
    pl.DataFrame(WIDE, schema=[f"item{i}" for i in range(9)]).write_csv(folder / "wide.csv")
    pl.DataFrame({"who": [f"p{i}" for i in range(400)], "cost": VALUES}).write_csv(
        folder / "cost.csv"
    )
    returns = pl.DataFrame(RETURNS, schema=[f"S{i}" for i in range(8)])
    returns.with_columns(pl.Series("INDEX", TARGET)).write_csv(folder / "returns.csv")
    cloud = pl.DataFrame(CLOUD, schema=["x", "y"]).with_columns(
        pl.Series("kind", ["a"] * 30 + ["b"] * 60)
    )
    cloud.with_columns(pl.Series("mass", np.arange(90.0))).write_csv(folder / "cloud.csv")


def table(text):
    return pl.read_csv(text.encode())
