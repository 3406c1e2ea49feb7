"""Stored rows against today's code: some units of a finished experiment measured again."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from .experiment import Experiment, Row
from .store import finished, parameters

RTOL, ATOL = 1e-6, 1e-9
"""How far a number may be from the stored one, relative and absolute: what other processors and
libraries round."""


def differences(
    folder: Path,
    experiment: Experiment,
    *,
    data: Path | None = None,
    seconds: float = 2.0,
    most: int = 1000,
) -> list[str]:
    """Where the stored rows of an experiment are not those of today's code, one sentence each.

    Compares the parameters, then measures one unit of each method again, the quickest first, until
    their stored seconds pass `seconds` or there are `most` of them; one at least.

    Parameters
    ----------
    folder : Path
        Where NAME.csv and NAME.json are.
    experiment : Experiment
        The experiment.
    data : Path, optional
        The folder with the files that it reads.
    seconds : float
        Stored seconds of the units that are measured again, about.
    most : int
        Units that are measured again, at most.

    """
    results = finished(folder, experiment)
    if results is None:
        return [f"{experiment.name} is not finished in {folder}"]
    setting = replace(results.setting, data=data)
    source, checksum = experiment.source(setting)
    today = parameters(experiment, replace(setting, source=source, checksum=checksum))
    changed = [key for key in today if today[key] != results.parameters.get(key)]
    if changed:
        return [
            f"{experiment.name}: {key} in {experiment.name}.json is not that of today"
            for key in changed
        ]
    problems = []
    with threadpool_limits(1):
        for seed, method in quick_units(results.table.rows, seconds, most):
            stored = [row for row in results.table.rows if (row.seed, row.method) == (seed, method)]
            rows = list(
                experiment.measure(setting, experiment.source_seed(setting, seed, method), method)
            )
            problems += compared(f"{experiment.name}, seed {seed}, {method}", stored, rows)
    return problems


def quick_units(rows: Iterable[Row], seconds: float, most: int) -> list[tuple[int, str]]:
    """The first seed of each method, the quickest methods first, as many as fit."""
    cost: dict[str, tuple[float, int]] = {}
    for row in rows:
        took, seed = cost.get(row.method, (0.0, row.seed))
        if row.seed == seed:
            cost[row.method] = (max(took, 0.0 if math.isnan(row.seconds) else row.seconds), seed)
    units: list[tuple[int, str]] = []
    for method, (took, seed) in sorted(cost.items(), key=lambda item: item[1]):
        seconds -= took
        if units and (seconds < 0.0 or len(units) == most):
            break
        units.append((seed, method))
    return units


def compared(unit: str, stored: list[Row], rows: list[Row]) -> list[str]:
    """Where the rows of one unit differ in anything but their seconds."""
    if [row.x for row in stored] != [float(f"{row.x:.10g}") for row in rows]:
        return [f"{unit}: {len(rows)} rows where {len(stored)} others are stored"]
    return [
        f"{unit}, at {row.x:g}: {column} is {new:.10g}, stored is {old:.10g}"
        for row, now in zip(stored, rows, strict=True)
        for column, old, new in (("train", row.train, now.train), ("test", row.test, now.test))
        if not (
            math.isclose(old, new, rel_tol=RTOL, abs_tol=ATOL)
            or (math.isnan(old) and math.isnan(new))
        )
    ]
