"""Rows on disk: flat csv files, written whole or not at all, and found again by the next run."""

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewer.files import written_whole

from .experiment import Experiment, Row, Setting, Table, options_of

UNREADABLE = (OSError, ValueError, KeyError, IndexError, TypeError, csv.Error, RecursionError)
"""What reading files of another kind, or damaged ones, may raise."""


def write_whole(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with written_whole(path) as file:
        file.write(text.encode())


def parameters(experiment: Experiment, setting: Setting) -> dict[str, Any]:
    """Every number and name that rows depend on besides the seed: rows are only taken over where these agree."""
    return {
        "experiment": experiment.name,
        "quick": setting.quick,
        "sizes": options_of(experiment.sizes(setting)),
        "data": setting.source,
        "sha256": setting.checksum,
        "methods": options_of(experiment.methods(setting)),
    }


def number(value: float) -> str:
    """Ten digits, which read back and written again are the same; empty for nothing."""
    return "" if math.isnan(value) else f"{value:.10g}"


def as_text(experiment: Experiment, rows: Iterable[Row]) -> str:
    """The csv file of these rows."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["figure", "seed", "method", experiment.x, "train", "test", "seconds"])
    for row in rows:
        numbers = [number(value) for value in (row.x, row.train, row.test)]
        seconds = "" if math.isnan(row.seconds) else f"{row.seconds:.4g}"
        writer.writerow([experiment.name, row.seed, row.method, *numbers, seconds])
    return file.getvalue()


def from_text(text: str) -> tuple[Row, ...]:
    """The rows of a csv file; a ValueError where it is none."""
    lines = list(csv.reader(io.StringIO(text)))[1:]

    def value(cell: str) -> float:
        return float(cell) if cell else math.nan

    return tuple(Row(int(line[1]), line[2], *(value(cell) for cell in line[3:7])) for line in lines)


def stored(folder: Path, name: str) -> tuple[dict[str, Any], tuple[Row, ...]] | None:
    """The note and the rows of an experiment in the folder, or None where there are no whole ones."""
    try:
        note = json.loads((folder / f"{name}.json").read_text())
        rows = from_text((folder / f"{name}.csv").read_text())
        return ({**note, "parameters": dict(note["parameters"])}, rows) if rows else None
    except UNREADABLE:
        return None


def kept(folder: Path, experiment: Experiment, setting: Setting) -> tuple[Row, ...]:
    """The rows in the folder, of the experiment or its twin, whose parameters are those of today."""
    today = parameters(experiment, setting)
    methods = today["methods"]
    for name in (experiment.name, experiment.twin):
        there = None if name is None else stored(folder, name)
        if there is None:
            continue
        note, rows = there
        made = note["parameters"]
        if {**made, "experiment": experiment.name, "methods": methods} == today:
            same = {
                name for name, options in made["methods"].items() if options == methods.get(name)
            }
            return tuple(row for row in rows if row.method in same)
    return ()


def save_rows(folder: Path, experiment: Experiment, rows: Iterable[Row]) -> None:
    """Write the csv file."""
    write_whole(folder / f"{experiment.name}.csv", as_text(experiment, rows))


def save_setting(folder: Path, experiment: Experiment, setting: Setting) -> None:
    """Write down the parameters, the seeds and the command."""
    data = " --data DIR" if setting.data is not None else ""
    quick = " --quick" if setting.quick else ""
    command = (
        f"python -m reproduction {experiment.name} --runs {setting.runs} --seed"
        f" {setting.seed}{quick}{data}"
    )
    note = {
        "command": command,
        "seeds": {"first": setting.seed, "runs": setting.runs},
        "parameters": parameters(experiment, setting),
    }
    write_whole(folder / f"{experiment.name}.json", json.dumps(note, indent=1) + "\n")


@dataclass(frozen=True)
class Finished:
    """A finished experiment found in a folder: its rows, setting, command and parameters as they were written."""

    table: Table
    setting: Setting
    command: str
    parameters: dict[str, Any]


def finished(folder: Path, experiment: Experiment) -> Finished | None:
    """The finished experiment in the folder, or None."""
    there = stored(folder, experiment.name)
    if there is None:
        return None
    note, rows = there
    made, seeds = note["parameters"], note["seeds"]
    first, runs = int(seeds["first"]), int(seeds["runs"])
    setting = Setting(
        runs, bool(made["quick"]), first, source=str(made["data"]), checksum=str(made["sha256"])
    )
    methods = experiment.methods(setting)
    units = {(seed, method) for seed in setting.seeds for method in methods}
    if {(row.seed, row.method) for row in rows} != units:
        return None
    return Finished(Table(rows), setting, str(note["command"]), made)
