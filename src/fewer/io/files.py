"""Files as tables: csv, parquet, feather, xlsx, jsonl, sqlite, npy and npz, one or several, compressed or not."""

import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector
from .copies import located
from .formats import format_of
from .source import Refuse, Source, at_once, bad_cell

__all__ = ["FileTable", "open_table"]
MIN_POLARS = (1, 37, 1)
"""Versions before end a file that they read in parts at a bad cell, without an error."""
MAX_WHOLE = 2**24
"""Whole numbers are below this."""


@dataclass(frozen=True, eq=False)
class FileTable:
    """Named columns of one or several files, which are read when they are asked for.

    Rows are numbered from 0, through all files.

    Attributes
    ----------
    source : Source
        The reader of the format.
    plain : bool
        Whether the file is an array: numbers without names, which are not scaled unless told.
    """

    source: Source
    plain: bool = False

    @property
    def label(self) -> str:
        """What to call the file."""
        return self.source.label

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.source.names

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers, or are meant to."""
        return self.source.numeric

    @property
    def notes(self) -> list[str]:
        """Sentences about how the file is read: its encoding, numbers in disguise, dates that could be others."""
        return list(dict.fromkeys(self.source.notes))

    def frame(
        self,
        names: Sequence[str] | None = None,
        *,
        categories: Collection[str] = (),
        refuse: Refuse = at_once,
    ) -> Any:
        """Columns as a polars DataFrame with honest types, missing values as nulls.

        Parameters
        ----------
        names : sequence of str, optional
            The columns; all by default.
        categories : collection of str
            Columns to be read as texts, whatever is in them.
        refuse : callable
            What to do with the InvalidInput about a column most of which is numbers and some is
            not: it is raised by default; where it is only noted, the column comes as texts.

        Returns
        -------
        polars.DataFrame
            A column for each name.
        """
        chosen = self.names if names is None else list(names)
        frame = self.source.read(chosen, set(categories) & set(chosen), refuse)
        if frame.height == 0:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return frame

    def rows(self, indices: Any, names: Sequence[str] | None = None, *, typed: bool = False) -> Any:
        """Rows as the file has them: of csv the cells as they are written, of others with their own types.

        Only these rows are kept in memory, with all their columns.

        Parameters
        ----------
        indices : array of int
            Numbers of rows, from 0.
        names : sequence of str, optional
            The columns; all by default.
        typed : bool
            Whether the cells of csv are to be numbers, dates and texts, as in `frame`.

        Returns
        -------
        polars.DataFrame
            The rows, in the order of `indices`.
        """
        chosen = self.names if names is None else list(names)
        return self.source.original(np.asarray(indices, np.int64), chosen, typed)

    def expand(self, names: Sequence[str]) -> list[str]:
        """The columns that names stand for: of an npz file the name of a matrix means all its columns."""
        found: list[str] = (
            self.source.expand(names) if hasattr(self.source, "expand") else list(names)
        )
        return found

    def numbers(self, names: Sequence[str]) -> Vector:
        """Columns as finite numbers, (rows, columns); a cell that is none is refused by its row and column."""
        if hasattr(self.source, "matrix"):
            return np.asarray(self.source.matrix(names))
        frame = self.frame(names)
        matrix = np.empty((frame.height, len(names)))
        for j, name in enumerate(names):
            matrix[:, j] = self._numbers(frame[name])
        return matrix

    def _numbers(self, column: Any, before: int = 0) -> Any:
        """A column as finite numbers."""
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            raise InvalidInput(
                f"{self.label}, column {column.name!r}: expected numbers, got {said_type(column.dtype)}"
            )
        if column.null_count():
            raise bad_cell(
                self.label, before + column.is_null().arg_max(), column.name, None, "a number"
            )
        values = column.cast(float).to_numpy()
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise bad_cell(
                self.label, before + row, column.name, float(values[row]), "a finite number"
            )
        return values

    def whole(self, names: Sequence[str]) -> Any:
        """Columns as non-negative whole numbers, a CSR array (rows, columns); read in parts that keep no zeros."""
        import scipy.sparse as sp

        parts, rows = [], 0
        for matrix in self._matrices(names):
            with np.errstate(invalid="ignore", over="ignore"):
                right = (matrix >= 0) & (matrix == np.floor(matrix)) & (matrix < MAX_WHOLE)
            if not right.all():
                row, column = np.unravel_index(int(np.argmin(right)), matrix.shape)
                cell = f"{matrix[row, column]:g}"
                raise InvalidInput(
                    f"{self.label}, row {rows + row}, column {names[int(column)]!r}: "
                    f"expected a small non-negative whole number, got {cell}"
                )
            parts.append(sp.csr_array(matrix.astype(np.int32)))
            rows += len(matrix)
        if not rows:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """Parts of the columns as numbers."""
        if hasattr(self.source, "matrices"):
            yield from self.source.matrices(names)
            return
        rows = 0
        for batch in self.source.batches(names):
            for start in range(0, batch.height, size := max(4_000_000 // max(len(names), 1), 1)):
                part = batch.slice(start, size)
                yield np.column_stack([self._numbers(part[name], rows) for name in names])
                rows += part.height

    def values(self, name: str) -> Any:
        """A column as it is, (rows,); missing values are refused."""
        column = self.frame([name])[name]
        if column.null_count():
            raise bad_cell(self.label, column.is_null().arg_max(), name, None, "a value")
        return column.to_numpy()


def said_type(dtype: Any) -> str:
    """A type of polars for people."""
    return (
        "texts"
        if str(dtype) in ("String", "Categorical")
        else "dates"
        if dtype.is_temporal()
        else str(dtype)
    )


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
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    paths = [path for file in given for path in expanded(os.fspath(file))]
    if not paths:
        raise InvalidInput("no file was given")
    if len(paths) == 1:
        return opened(paths[0])
    from .several import joined

    tables = [opened(path) for path in paths]
    return FileTable(
        joined([table.source for table in tables]), all(table.plain for table in tables)
    )


def expanded(file: str) -> list[str]:
    """The files that a pattern means, in the order of their names; a file that is there is none."""
    if file == "-" or Path(file).exists() or not glob.has_magic(file):
        return [file]
    found = sorted(path for path in glob.glob(file) if Path(path).is_file())
    if not found:
        raise InvalidInput(f"{file}: no file has a name like this")
    return found


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
        from .arrays import open_arrays

        return FileTable(open_arrays(path, label), plain=True)
    return FileTable(read_by_polars(path, label, kind, name))


def read_by_polars(path: Path, label: str, kind: str, name: str | None) -> Source:
    """The reader of a format; polars is imported only here and inside it."""
    import polars

    if tuple(map(int, re.findall(r"\d+", polars.__version__)[:3])) < MIN_POLARS:
        least = ".".join(map(str, MIN_POLARS))
        raise InvalidInput(
            f"{label}: reading files needs polars {least} or later, got {polars.__version__}"
        )
    if kind == "csv":
        from .csv import open_csv

        return open_csv(path, label)
    if kind in ("xlsx", "sqlite"):
        from . import sheets

        return (
            sheets.open_xlsx(path, label, name)
            if kind == "xlsx"
            else sheets.open_sqlite(path, label, name)
        )
    from .scans import open_scan

    return open_scan(path, label, kind)
