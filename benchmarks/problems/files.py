"""Files that anybody has: csv, npz and DEBD tables of a folder, each for the job that its shape and content suit.

| what the file holds | job |
|---|---|
| zeros and ones in at least four columns (DEBD: no header, commas or spaces) | dims: which k columns cover most rows |
| numbers and a column called target, y or index (npz: arrays X, y of fractions) | terms: k other columns follow it |
| one column of numbers, or an array of one dimension | bins: 100 random expectations of its histogram |
| any other table with at least two columns of numbers | points: k rows stand for all |

Numbers are standardised for points and terms; a column that falls with the target is turned around
for terms. Rows with missing values and columns that are text or constant are left out, and so are
rows beyond 100,000.
"""

import csv
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .dims import Baskets
from .least_squares import LeastSquares
from .points import Rows

TARGETS = ("target", "y", "index")
MAX_ROWS = 100_000
MAX_BINS = 2000
EXPECTATIONS = 100


class Table(NamedTuple):
    """Numbers (N, n) and the names of their columns."""

    numbers: np.ndarray
    names: tuple[str, ...]


def tables_of(path: Path) -> Iterator[tuple[str, Table]]:
    """The tables of a file by name: one, or one for each array of an npz file."""
    if path.suffix == ".npz":
        yield from arrays_of(path)
    elif path.suffix in (".csv", ".data", ".txt"):
        yield path.name, text_table(path)


def arrays_of(path: Path) -> Iterator[tuple[str, Table]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {
            name: file[name]
            for name in file.files
            if file[name].dtype.kind in "biuf" and file[name].ndim in (1, 2)
        }
    X, y = arrays.get("X"), arrays.get("y")
    if X is not None and y is not None and X.ndim == 2 and y.shape == X.shape[:1]:
        if y.dtype.kind == "f":
            yield (
                path.name,
                kept(np.column_stack([X, y]), [*(f"x{j}" for j in range(X.shape[1])), "y"]),
            )
        else:
            yield path.name, kept(X, [f"x{j}" for j in range(X.shape[1])])
        return
    for name, array in arrays.items():
        columns = array.reshape(len(array), -1)
        if array.ndim == 1 and array.size < 20:
            continue
        yield f"{path.name}:{name}", kept(columns, [f"x{j}" for j in range(columns.shape[1])])


def text_table(path: Path) -> Table:
    """A csv file with a header, or lines of numbers without one."""
    with path.open(newline="", encoding="utf-8") as file:
        first = file.readline()
        cells = first.replace(",", " ").split()
        bare = bool(cells) and all(number(cell) is not None for cell in cells)
        file.seek(0)
        if bare:
            lines = (line.replace(",", " ").split() for line in file)
            rows = [[float(cell) for cell in line] for line in lines if line]
            return kept(np.array(rows), [f"x{j}" for j in range(len(rows[0]))])
        names, *body = list(csv.reader(file))
    columns = [
        [number(row[j]) for row in body if len(row) == len(names)] for j in range(len(names))
    ]
    # a column is of numbers when at least half of its cells are
    used = [
        j
        for j, column in enumerate(columns)
        if sum(value is not None for value in column) >= 0.5 * len(column)
    ]
    values = np.array([[np.nan if v is None else v for v in columns[j]] for j in used], float).T
    return kept(values.reshape(-1, len(used)), [names[j] for j in used])


def number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def kept(values: np.ndarray, names: list[str]) -> Table:
    """Rows without missing values, columns that are not constant."""
    values = np.asarray(values, float)[:MAX_ROWS]
    values = values[np.isfinite(values).all(axis=1)]
    varies = np.ptp(values, axis=0) > 0 if len(values) else np.zeros(len(names), bool)
    return Table(
        values[:, varies], tuple(name for name, used in zip(names, varies, strict=True) if used)
    )


def job_of(table: Table) -> str:
    """The job that a table serves; nothing where it is too small for any."""
    N, n = table.numbers.shape
    if N < 20 or n == 0:
        return ""
    if n >= 4 and np.isin(table.numbers, (0.0, 1.0)).all():
        return "dims"
    if n >= 4 and target_of(table) is not None:
        return "terms"
    return "bins" if n == 1 else "points"


def target_of(table: Table) -> int | None:
    return next(
        (at for at, name in enumerate(table.names) if name.strip().lower() in TARGETS), None
    )


def size_of(job: str, table: Table) -> int:
    """k: the root of the number of rows up to 50; a fifth of the columns; 20 bins."""
    N, n = table.numbers.shape
    if job == "points":
        return int(np.clip(round(np.sqrt(N)), 2, 50))
    if job == "bins":
        return 20
    return int(np.clip(round(n / 5), 2, 20))


@lru_cache(maxsize=1)
def loaded(path: Path, name: str) -> Table:
    return next(table for label, table in tables_of(path) if label == name)


def listed(data: Path) -> Iterator[tuple[str, str, str, int]]:
    """(job, name, shape, k) of each table of a folder, or of one file.

    With an empty job where it serves none.
    """
    for path in sorted(data.iterdir()) if data.is_dir() else [data]:
        if path.suffix not in (".npz", ".csv", ".data", ".txt"):
            continue
        for name, table in tables_of(path):
            job = job_of(table)
            yield (
                job,
                name,
                "{} x {}".format(*table.numbers.shape),
                size_of(job, table) if job else 0,
            )


def problem(job: str, file: str, data: Path) -> Any:
    """The problem of a table."""
    path = data / file.split(":")[0] if data.is_dir() else data
    table = loaded(path, file)
    X = table.numbers
    if job == "dims":
        return Baskets(sp.csr_array(X.astype(np.int8)))
    if job == "bins":
        return histogram(X[:, 0])
    if job == "points":
        return Rows((X - X.mean(axis=0)) / X.std(axis=0))
    at = target_of(table)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y, A = Z[:, at], np.delete(Z, at, axis=1)
    return LeastSquares(A * np.where(A.T @ y < 0.0, -1.0, 1.0), y)


def histogram(values: np.ndarray) -> LeastSquares:
    """Random expectations of the histogram of these values, as the paper's section 4.1 has them."""
    counts = np.histogram(values, min(MAX_BINS, max(len(np.unique(values)), 40)))[0]
    p = counts / counts.sum()
    A = np.random.default_rng(1000).standard_normal((EXPECTATIONS, p.size))
    return LeastSquares(A, A @ p, p)


def maker(job: str) -> Any:
    def make(file: str, shape: str, data: Path) -> Any:
        return problem(job, file, data)

    return make


KINDS = {f"file of {job}": maker(job) for job in ("points", "bins", "terms", "dims")}
