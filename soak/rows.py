"""Rows that are lost, change or do not belong together: the answer of all rows of one state, or a sentence."""

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import fewer

from .draws import Generator, one_of

NAME = "rows"
SECONDS = 120.0
SMALL = "100KB"
"""So little memory that rows are read in blocks."""
JOBS = ("points", "terms", "dims", "bins")
ENDINGS = ("parquet", "csv", "arrow")
Rows = dict[str, Any]


def case(rng: Generator) -> tuple[str, list[str]]:
    """One kind of change; polars writes of its own panics to stderr."""
    with open(os.devnull, "w") as nothing:
        kept = os.dup(2)
        os.dup2(nothing.fileno(), 2)
        try:
            return one_of(rng, (damaged, rewritten, passes, summaries), (3, 3, 4, 4))(rng)
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def solved(job: str, rows: Any, memory: str) -> Any:
    """The answer of a job: indices, weights and value; or the sentence that refuses."""
    try:
        if job == "bins":
            result = fewer.bins(rows, 3, max_memory=memory, rng=0)
        elif job == "terms":
            result = fewer.terms(rows, "y", 2, max_memory=memory, rng=0)
        elif job == "dims":
            result = fewer.dims(rows, 2, max_memory=memory, rng=0)
        else:
            result = fewer.points(rows, 3, gamma=1.0, solver="greedy", max_memory=memory, rng=0)
    except fewer.InvalidInput as error:
        return str(error)
    weights = None if result.weights is None else result.weights.tobytes()
    return result.indices.tolist(), weights, result.value


def rows_of(rng: Generator, job: str) -> int:
    """How many rows; comparing all with all in little memory takes long."""
    return int(rng.integers(500, 3000 if job == "points" else 20_000))


def drawn(rng: Generator, job: str, count: int) -> pl.DataFrame:
    """Rows that suit a job."""
    if job == "dims":
        return pl.DataFrame({name: (rng.random(count) < 0.3).astype(np.int64) for name in "abcy"})
    return pl.DataFrame({name: rng.random(count) for name in ("x" if job == "bins" else "abcy")})


WRITE: dict[str, Callable[..., Any]] = {
    "parquet": pl.DataFrame.write_parquet,
    "csv": pl.DataFrame.write_csv,
    "arrow": pl.DataFrame.write_ipc,
}


def written(table: pl.DataFrame, path: Path) -> None:
    """Write a table in the way that the ending of its file names."""
    WRITE[path.suffix[1:]](table, path)


def damaged(rng: Generator) -> tuple[str, list[str]]:
    """The pages of one of some parquet files are cut, its footer is whole.

    Or the end of a file is missing.
    """
    job, memory, ending = (
        one_of(rng, JOBS),
        one_of(rng, ("1GB", SMALL)),
        one_of(rng, ("parquet", "arrow")),
    )
    sizes = rng.integers(300, 1000 if job == "points" else 6000, 3)
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        for i, count in enumerate(sizes):
            written(drawn(rng, job, int(count)), Path(name) / f"v{i}.{ending}")
        path = Path(name) / f"v{rng.integers(3)}.{ending}"
        content, pages = path.read_bytes(), ending == "parquet" and rng.random() < 0.7
        cut = int(rng.uniform(0.1, 0.6) * len(content))
        path.write_bytes(content[:4] + content[cut:] if pages else content[:cut])
        outcome = solved(job, f"{name}/v*.{ending}", memory)
    what = "pages" if pages else "all"
    text = (
        f"{job} of {sizes.tolist()} rows in {ending}, {what} of {path.name} cut at {cut}, {memory}"
    )
    return text, refused(outcome, path.name)


def refused(outcome: Any, word: str) -> list[str]:
    """Whether an answer is a sentence with a word."""
    if not isinstance(outcome, str):
        return [f"it answers {outcome[0]}, {outcome[2]!r}"]
    return [] if word in outcome else [f"the sentence does not name {word}: {outcome}"]


def one_state(outcome: Any, states: list[Any]) -> list[str]:
    """Say where an answer is no sentence, nor that of one state of the rows, to rounding of its value."""
    if isinstance(outcome, str):
        return []
    for state in states:
        if outcome[0] == state[0] and np.isclose(outcome[2], state[2], rtol=1e-9, atol=1e-12):
            return []
    shown = [(state[0], state[2]) for state in states]
    return [f"it answers {outcome[0]}, {outcome[2]!r}; the states of the rows give {shown}"]


def rewritten(rng: Generator) -> tuple[str, list[str]]:
    """A file is replaced by other rows, or written again in its place, at some moment of a call."""
    job, ending = one_of(rng, JOBS), one_of(rng, ENDINGS)
    count = rows_of(rng, job)
    first, later = drawn(rng, job, count), drawn(rng, job, int(rng.integers(500, 2 * count)))
    memory, share, replaces = (
        one_of(rng, ("1GB", SMALL)),
        float(rng.random()),
        bool(rng.random() < 0.7),
    )
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        path = Path(name) / f"t.{ending}"
        written(later, path)
        states = [solved(job, path, memory)]
        written(first, path)
        began = time.perf_counter()
        states.append(solved(job, path, memory))
        delay = share * (time.perf_counter() - began)

        def change() -> None:
            time.sleep(delay)
            new = Path(name) / f"new.{ending}" if replaces else path
            written(later, new)
            os.replace(new, path)

        other = threading.Thread(target=change)
        other.start()
        outcome = solved(job, path, memory)
        other.join()
    how = "replaced" if replaces else "written again"
    text = f"{job} of {ending}, {count} rows {how} by {len(later)} after {delay:.3f} s, {memory}"
    return text, [
        f"undisturbed: {state}" for state in states if isinstance(state, str)
    ] or one_state(outcome, states)


def passes(rng: Generator) -> tuple[str, list[str]]:
    """A callable that yields other rows from one of its calls on: the answer of either, or a sentence."""
    job = one_of(rng, JOBS)
    count = rows_of(rng, job)
    first = drawn(rng, job, count)
    kind = one_of(rng, ("fewer", "more", "in another order", "one row changed"))
    later = {
        "fewer": lambda: first.head(int(rng.integers(1, count))),
        "more": lambda: pl.concat([first, drawn(rng, job, int(rng.integers(1, count)))]),
        "in another order": first.reverse,
        "one row changed": lambda: pl.concat([first.head(count - 1), drawn(rng, job, 1)]),
    }[kind]()
    until, parts, memory = (
        int(rng.integers(1, 5)),
        int(rng.integers(1, 12)),
        one_of(rng, ("1GB", SMALL)),
    )

    def changing(before: pl.DataFrame, after: pl.DataFrame) -> Callable[[], Any]:
        calls: list[int] = []

        def rows() -> Any:
            calls.append(1)
            table = before if len(calls) <= until else after
            size = -(-len(table) // parts)
            return (table[i : i + size] for i in range(0, len(table), size))

        return rows

    states = [solved(job, changing(table, table), memory) for table in (first, later)]
    problems = [f"undisturbed: {state}" for state in states if isinstance(state, str)]
    text = f"{job} of {count} rows in {parts} blocks, {kind} after {until} calls, {memory}"
    return text, problems or one_state(solved(job, changing(first, later), memory), states)


def summaries(rng: Generator) -> tuple[str, list[str]]:
    """Summaries of two blocks: merged they answer as one of all rows.

    Those that differ are refused by name.
    """
    job, count = one_of(rng, JOBS), int(rng.integers(20, 200))
    table, cut = drawn(rng, job, count), int(rng.integers(5, count - 5))
    options: Rows = {"terms": {"y": "y"}, "points": {"gamma": 1.0, "rng": 0}}.get(job, {})
    changes: dict[str, tuple[Callable[[pl.DataFrame], Any], Rows]] = {
        "nothing": (lambda block: block, {}),
        "columns": (lambda block: block.select(reversed(block.columns)), {}),
        "names": (lambda block: block.rename({block.columns[0]: "z"}), {}),
        "missing": (lambda block: block, {"missing": "drop"}),
        "array": (lambda block: block.to_numpy(), {}),
    }
    if job == "bins":
        del changes["columns"]
    if job == "terms":
        changes |= {"y": (lambda block: block, {"y": "a"})}
        del changes["array"]
    if job == "points":
        changes |= {
            "gamma": (lambda block: block, {"gamma": 2.0}),
            "rng": (lambda block: block, {"rng": 1}),
            "similarity": (lambda block: block, {"similarity": "laplace"}),
            "standardize": (lambda block: block, {"standardize": False}),
        }
    what = one_of(rng, list(changes))
    form, more = changes[what]
    text = f"summaries of {job}, {cut} and {count - cut} rows, another one in {what}"
    first = fewer.summarize(table.head(cut), job, **options)
    try:
        both = first.merge(fewer.summarize(form(table.tail(count - cut)), job, **options | more))
    except fewer.InvalidInput as error:
        return text, [f"it refuses: {error}"] if what == "nothing" else []
    if what != "nothing":
        return text, ["it merges them"]
    whole, k = fewer.summarize(table, job, **options), 2
    if job == "points":
        both = fewer.summarize(table.head(cut), plan=both).merge(
            fewer.summarize(table.tail(count - cut), plan=both)
        )
        whole = fewer.summarize(table, plan=whole)
    values = [summary.solve(k, rng=0).value for summary in (both, whole)]
    return text, (
        []
        if np.isclose(*values, rtol=1e-6, atol=1e-12)
        else [f"merged {values[0]!r}, whole {values[1]!r}"]
    )
