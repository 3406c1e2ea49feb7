"""The first default call of each job in a fresh process with an empty numba cache: CPU seconds, and what is compiled.

Seconds are those of the call, after the imports, on one thread. Signatures are the compiled ones of the package's own
functions after the call. "all" makes the four calls in one process. With --against both versions are run in turn, each
with a cache of its own. Exit status 1 means that a limit is broken: at most 80 signatures after all four calls; with
--against at most 0.3 of the old seconds for points and terms, and 0.6 for dims and bins.
Run: python benchmarks/first_call.py [--against COMMIT] [--only bins]
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from default_calls import write
from versions import ROOT, Version, tree_of

JOBS = ("points", "terms", "dims", "bins")
ALL = "all"
TIME_RATIOS = {"points": 0.3, "terms": 0.3, "dims": 0.6, "bins": 0.6}
MAX_SIGNATURES = 80


class First(NamedTuple):
    """CPU seconds of first calls, signatures compiled by them; `error` where there was no answer."""

    seconds: float
    signatures: int
    error: str = ""


def inputs() -> dict[str, tuple[dict[str, Any], int]]:
    """The arrays of each job and its k: small, so that compiling is nearly all of the time."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    return {
        "points": ({"0": rng.standard_normal((1000, 4))}, 10),
        "terms": ({"0": X, "1": X[:, :6].mean(axis=1) + 0.1 * rng.standard_normal(60)}, 5),
        "dims": ({"0": (rng.random((400, 30)) < 0.15).astype(np.int8)}, 6),
        "bins": ({"counts": rng.integers(1, 100, 300)}, 10),
    }


def measured(tree: Path, jobs: tuple[str, ...], folder: Path) -> First:
    """First calls of these jobs in one new process with an empty cache."""
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        version, seconds, signatures = Version(str(tree), tree, Path(cache)), 0.0, 0
        try:
            for job in jobs:
                k = inputs()[job][1]
                found = version.ask(
                    job=job, input=str(folder / f"{job}.npz"), k=k, options={}, seed=0
                )
                if "error" in found:
                    return First(seconds, signatures, f"{job}: {found['error']}")
                seconds, signatures = seconds + found["seconds"], found["signatures"]
        finally:
            version.end()
    return First(seconds, signatures)


def broken(job: str, new: First, old: First | None) -> Iterator[str]:
    """Each limit that does not hold, as a sentence."""
    if new.error:
        yield f"{job}: no answer ({new.error})"
        return
    if job == ALL and new.signatures > MAX_SIGNATURES:
        yield f"{new.signatures} signatures after all four calls, at most {MAX_SIGNATURES}"
    if job in TIME_RATIOS and old is not None and not old.error:
        ratio = new.seconds / old.seconds
        if ratio > TIME_RATIOS[job]:
            yield f"{job}: {ratio:.2f} of the old seconds, at most {TIME_RATIOS[job]}"


def line(job: str, new: First, old: First | None) -> str:
    text = f"{job:7s} {new.seconds:8.1f} s {new.signatures:5d} signatures {new.error}".rstrip()
    if old is None:
        return text
    beside = (
        old.error
        or f"{new.seconds / old.seconds:5.2f} of {old.seconds:.1f} s, {old.signatures} signatures"
    )
    return f"{text}   {beside}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", metavar="COMMIT", help="the old version")
    parser.add_argument("--only", choices=[*JOBS, ALL])
    options = parser.parse_args()
    faults: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        old_tree = (
            stack.enter_context(tree_of(options.against, folder)) if options.against else None
        )
        for job, (arrays, _) in inputs().items():
            write(folder / f"{job}.npz", arrays)
        for name in [options.only] if options.only else [*JOBS, ALL]:
            jobs = JOBS if name == ALL else (name,)
            old = None if old_tree is None else measured(old_tree, jobs, folder)
            new = measured(ROOT, jobs, folder)
            print(line(name, new, old), flush=True)
            faults += broken(name, new, old)
    print("\n".join(["", *(faults or ["every limit holds"])]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
