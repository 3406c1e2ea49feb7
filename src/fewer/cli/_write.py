"""Results as files: the format by the ending, whole or not at all, nothing overwritten unless told."""

import io
import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import InvalidInput
from ..files import check_writable, destination, written_whole
from ..text import CONTROL, csv_text
from ._options import Asked

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ..report.path import Answer
    from ..report.path import Path as JobPath

Columns = dict[str, list[Any]]
MAX_WHOLE_COLUMNS = 20_000
"""Columns up to which whole rows are written; beyond, those that were used."""
ENDINGS = (".csv", ".parquet", ".json", ".npz")


def check_targets(asked: Asked) -> None:
    """Before any work: endings are known, folders exist, nothing is overwritten."""
    if asked.out is not None and asked.out.suffix.lower() not in ENDINGS:
        raise InvalidInput(
            f"-o {asked.out}: expected an ending of {', '.join(ENDINGS)}, got {asked.out.suffix!r}"
        )
    if asked.report is not None and asked.report.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(
            f"--report {asked.report}: expected an ending of .html, got {asked.report.suffix!r}"
        )
    for option, path in (("-o", asked.out), ("--report", asked.report)):
        if path is not None:
            check_target(option, path, asked.force)


def check_target(option: str, path: Path, force: bool) -> None:
    """The file may be written here: by the rules of `fewer.files`, so a symbolic link is followed."""
    try:
        target = destination(path)
    except OSError as error:
        raise InvalidInput(f"{option} {path}: {error.strerror}") from None
    if path.is_symlink() and not target.exists() and not force:
        raise InvalidInput(
            f"{option} {path}: is a link to {target}, which is not there; add --force to write that"
        )
    if not target.parent.is_dir():
        raise InvalidInput(
            f"{option} {path}: there is no folder {target.parent if path.is_symlink() else path.parent}"
        )
    if target.exists() and not force:
        raise InvalidInput(f"{option} {path}: the file exists; add --force to overwrite it")
    try:
        check_writable(path)
    except OSError as error:
        raise InvalidInput(f"{option} {path}: cannot be written here ({error.strerror})") from None


@dataclass(frozen=True, eq=False)
class Kept:
    """What a path kept, to be written: whole rows of the file where `table` is given, their weights first."""

    path: "JobPath"
    table: "FileTable | None" = None

    @cached_property
    def written(self) -> Columns:
        """As csv: cells as the file has them."""
        return self._one_table(self._answers(typed=False))

    @cached_property
    def typed(self) -> Columns:
        """As parquet: numbers, dates and texts."""
        return self._one_table(self.answers)

    @cached_property
    def answers(self) -> list[Columns]:
        """What each answer kept, as values."""
        return self._answers(typed=True)

    def _answers(self, *, typed: bool) -> list[Columns]:
        own = [answer.kept for answer in self.path.answers]
        if self.table is None or len(self.table.names) > MAX_WHOLE_COLUMNS:
            return own
        ends = np.cumsum([0, *(len(kept["index"]) for kept in own)])
        rows = self.table.rows(np.concatenate([kept["index"] for kept in own]), typed=typed)
        cells = {beside(name, rows.columns): rows[name].to_list() for name in rows.columns}
        found = []
        for kept, (start, end) in zip(own, pairwise(ends), strict=True):
            part = {name: values[start:end] for name, values in cells.items()}
            found.append({"weight": kept["weight"], "index": kept["index"], **part})
        return found

    def _one_table(self, answers: list[Columns]) -> Columns:
        """With several k one after the other, with a first column that says which."""
        if len(answers) == 1:
            return answers[0]
        table: Columns = {"k": [], **{name: [] for name in answers[0]}}
        for k, kept in zip(self.path.ks, answers, strict=True):
            table["k"] += [k] * len(next(iter(kept.values())))
            for name, values in kept.items():
                table[name] += values
        return table


def beside(name: str, names: Sequence[str]) -> str:
    """The name of a column of the file beside our own: one that is called like ours gets an ending.

    >>> beside("weight", ["weight", "x"]), beside("x", ["weight", "x"])
    ('weight_in_file', 'x')
    """
    if name in ("k", "weight", "index"):
        name = f"{name}_in_file"
        while name in names:
            name += "_"
    return name


def as_csv(table: Columns) -> str:
    r"""A table as csv.

    >>> as_csv({"name": ["a,b"], "weight": [0.5]})
    'name,weight\n"a,b",0.5\n'
    """
    return csv_text(table, zip(*table.values(), strict=True))


def as_json(summary: dict[str, Any]) -> str:
    """A summary as JSON; what is not a finite number becomes null, control characters are escaped."""
    text = json.dumps(plain(summary), ensure_ascii=False, indent=2, allow_nan=False)
    return (
        CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
        + "\n"
    )


def plain(value: Any) -> Any:
    """Python's own numbers, lists and dicts."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (date, time, timedelta, Decimal, bytes)):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summary_of(
    kept: Kept, asked: Asked, command: str, versions: dict[str, str], note: str = ""
) -> dict[str, Any]:
    """Everything a machine may want to know."""
    found = kept.path
    return {
        "job": found.study.job,
        "file": asked.file,
        "command": command,
        "versions": versions,
        "seed": asked.seed,
        "interrupted": found.interrupted,
        "seconds": found.seconds,
        "metric": found.study.metric,
        "k": found.answer.k,
        "why": found.reason,
        "comparison": found.comparison,
        "notes": note.splitlines(),
        "answers": [
            answer_summary(answer, own)
            for answer, own in zip(found.answers, kept.answers, strict=True)
        ],
    }


def answer_summary(answer: "Answer", kept: Columns) -> dict[str, Any]:
    """One k."""
    from .._result_display import proves

    result = answer.result
    found = {
        "value": result.value,
        "value_se": result.value_se,
        "bound": result.bound if proves(result) else None,
        "gap": result.gap if proves(result) else None,
        "status": result.status.name.lower(),
        "note": result.note,
    }
    errors = {
        "error": answer.error,
        "held_out": answer.held_out,
        "held_out_se": answer.held_out_se,
        "baselines": answer.baselines,
        "baselines_held_out": answer.baselines_held_out,
        "lost": answer.lost,
    }
    search = {
        "seconds": result.seconds,
        "iterations": result.n_iter,
        "indices": sorted(kept["index"]),
    }
    on_a_line = result.kept is not None and result.kept.values is not None
    more: dict[str, Any] = {"distribution": result.distribution.to_dict()} if on_a_line else {}
    more |= dict(answer.tables)
    return {"k": answer.k, **found, **errors, **search, "kept": kept, **more}


def write_result(kept: Kept, path: Path, summary: dict[str, Any], force: bool) -> None:
    """What was kept as csv or parquet; json: the summary; npz: the distribution of the chosen k, and what was kept."""
    kind = path.suffix.lower()
    if kind == ".csv":
        content = as_csv(kept.written).encode()
    elif kind == ".json":
        content = as_json(summary).encode()
    elif kind == ".npz":
        chosen = kept.path.ks.index(kept.path.answer.k)
        content = saved(kept.path.answer.result.distribution, kept.answers[chosen])
    else:
        content = as_parquet(kept.typed)
    with written_whole(path, replace=force) as file:
        file.write(content)


def as_parquet(table: Columns) -> bytes:
    """A table as parquet."""
    import polars as pl

    out = io.BytesIO()
    pl.DataFrame(table).write_parquet(out)
    return out.getvalue()


def saved(distribution: Any, table: Columns) -> bytes:
    """The bytes of a distribution's file, with the columns of what was kept beside it: `kept.NAME`."""
    with tempfile.TemporaryDirectory(prefix="fewer-") as folder:
        distribution.save(Path(folder) / "distribution.npz")
        with np.load(Path(folder) / "distribution.npz", allow_pickle=False) as own:
            arrays = dict(own)
    out = io.BytesIO()
    np.savez_compressed(
        out, **arrays, **{f"kept.{name}": as_array(values) for name, values in table.items()}
    )
    return out.getvalue()


def as_array(values: list[Any]) -> Any:
    """A column for NumPy: numbers with NaN where they are missing, dates with NaT, texts with empty ones.

    >>> as_array([1, None]).tolist(), as_array(["a", None]).tolist(), as_array([True]).dtype.kind
    ([1.0, nan], ['a', ''], 'b')
    """
    given = [value for value in values if value is not None]
    if given and all(
        isinstance(value, date) and getattr(value, "tzinfo", None) is None for value in given
    ):
        return np.array(
            values, "datetime64[us]" if isinstance(given[0], datetime) else "datetime64[D]"
        )
    if given and all(isinstance(value, (bool, int, float)) for value in given):
        numbers = np.array([math.nan if value is None else value for value in values])
        if numbers.dtype != object:  # which whole numbers beyond 64 bits are
            return numbers
    return np.array(["" if value is None else str(value) for value in values], np.str_)
