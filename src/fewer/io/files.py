"""Files as tables: csv, parquet, feather, xlsx, jsonl, sqlite, npy and npz, one or several, compressed or not."""

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

import polars

from .._validation import InvalidInput
from .arrays import ArrayTable
from .copies import located
from .csv import open_csv
from .formats import format_of
from .scans import open_scan
from .table import FileTable, LoadedTable, SeveralTables

__all__ = ["FileTable", "LoadedTable", "expanded", "open_table"]
MIN_POLARS = (1, 37, 1)
"""Versions before end a file that they read in parts at a bad cell, without an error."""


def open_table(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> FileTable:
    """The table in a file, or in several that have the same columns; nothing but heads is read yet.

    Formats: csv, tsv and other text with a separator; parquet; feather and arrow; xlsx; jsonl;
    sqlite; npy and npz; all of them also compressed by gzip, bzip2, zstd or xz.

    Parameters
    ----------
    files : path or sequence of paths
        Files, patterns such as ``data/*.parquet``, or ``-`` for standard input.
        ``base.sqlite::orders`` is a table of a database, ``book.xlsx::May`` a sheet of a workbook.

    Returns
    -------
    FileTable
        Its columns, to be read by `frame`.
    """
    paths = expanded(files)
    if not paths:
        raise InvalidInput("no file was given")
    return SeveralTables.of([opened(path) for path in paths])


def expanded(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that paths and patterns mean, those of a pattern in the order of their names."""
    if not isinstance(files, str | os.PathLike):
        return [path for file in files for path in expanded(file)]
    file = os.fspath(files)
    if file == "-" or Path(file).exists() or not glob.has_magic(file):
        return [file]
    paths = sorted(path for path in glob.glob(file) if Path(path).is_file())
    if not paths:
        raise InvalidInput(f"{file}: no file has a name like this")
    return paths


def opened(file: str) -> FileTable:
    """The table in one file."""
    name = None
    if "::" in file and not Path(file).exists():
        file, name = file.rsplit("::", 1)
    path, label = located(file)
    if path.stat().st_size == 0:
        raise InvalidInput(f"{label}: is empty; expected a table")
    kind = format_of(path, label)
    if name is not None and kind not in ("sqlite", "xlsx"):
        raise InvalidInput(
            f"{label}::{name}: only sqlite and xlsx files have named tables; this is {kind}"
        )
    if kind in ("npy", "npz"):
        return ArrayTable.of(path, label)
    if tuple(map(int, re.findall(r"\d+", polars.__version__)[:3])) < MIN_POLARS:
        least = ".".join(map(str, MIN_POLARS))
        raise InvalidInput(
            f"{label}: reading files needs polars {least} or later, got {polars.__version__}"
        )
    if kind == "csv":
        return open_csv(path, label)
    if kind in ("xlsx", "sqlite"):
        from . import sheets  # whose reader is an extra

        read = sheets.open_xlsx if kind == "xlsx" else sheets.open_sqlite
        return read(path, label, name)
    return open_scan(path, label, kind)
