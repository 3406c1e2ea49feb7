"""Files as tables: named columns that are read when they are asked for, whole, in parts or by rows."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp

from .._validation import InvalidInput, Vector
from ..npy import check_memory
from ..threads import in_threads
from .cells import Parsed, Problem, parsed

Refuse = Callable[[InvalidInput], None]
"""What to do about a column that is refused: raise, or note it and take the column as texts."""
CHUNK_CELLS = 4_000_000
"""Cells in a part of a table."""
MAX_SHOWN_CHARS = 40
"""Characters of a cell in an error."""
MAX_WHOLE = 2**24
"""Whole numbers are below this."""
ROW = "\x00row"
"""A name that no column has."""
DAMAGES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises about a file."""
SCANS: dict[str, Callable[..., Any]] = {
    "parquet": lambda path: pl.scan_parquet(path, glob=False),
    "arrow": lambda path: pl.scan_ipc(path, glob=False),
    "jsonl": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
}
MAX_NESTING = 100
"""Brackets in brackets that a line of jsonl may open: each takes some of the reader's stack."""
HEAD_ROWS = 10_000
"""Rows of jsonl from which it is guessed what texts are: it has no dates."""


def raise_error(error: InvalidInput) -> None:
    """Refuse a column by raising."""
    raise error


@dataclass(frozen=True, eq=False, kw_only=True)
class FileTable:
    """Named columns of one or several files, of which nothing but the head is read until they are asked for.

    Rows are numbered from 0, through all files. A format says what its columns are (`schema`, types
    of polars), which of them are texts that may hold something else (`looks`), and how they are
    scanned (`lazy`). `said` are sentences about how the file is read. `path` is a file that is
    scanned where it lies and must not change meanwhile, and `stamp` its size and time of change.
    """

    label: str
    schema: dict[str, Any]
    looks: dict[str, Parsed] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    path: Path | None = None
    stamp: tuple[int, int] | None = None
    kind: str = "table"
    plain: ClassVar[bool] = False
    """Whether the file is an array: numbers without names, which are not scaled unless asked for.
    """

    def lazy(self, names: Sequence[str], as_text: Collection[str] = ()) -> Any:
        """Columns as a LazyFrame of polars; those in `as_text` as texts."""
        raise NotImplementedError

    def raw(self, names: Sequence[str]) -> Any:
        """Columns as the file has them."""
        return self.lazy(names)

    def counted(self) -> int:
        """Return the number of rows, by the footer or a count of lines."""
        raise NotImplementedError

    def amended(self, error: BaseException) -> Any:
        """Return the table read in another way where polars failed, if there is one."""
        raise unreadable(self.label, self.kind, error) from None

    @cached_property
    def declared(self) -> int:
        """The number of rows, counted once."""
        try:
            return self.counted()
        except DAMAGES as error:
            return int(self.amended(error).declared)

    @property
    def stored_rows(self) -> int | None:
        """The number of rows, where the file's head says so."""
        return None

    def stored_bytes(self, names: Sequence[str]) -> int | None:
        """About what columns take in memory; None for formats that are not read in parts."""
        return None if self.stored_rows is None else 8 * self.stored_rows * len(names)

    @cached_property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.schema)

    @cached_property
    def numeric(self) -> list[str]:
        """The columns that hold numbers, or are meant to."""
        kinds = {
            name: dtype.is_numeric() or dtype == pl.Boolean for name, dtype in self.schema.items()
        }
        kinds |= {name: look.numeric for name, look in self.looks.items()}
        return [name for name in self.names if name and kinds[name]]

    @property
    def notes(self) -> list[str]:
        """Sentences about encoding, numbers in disguise, and dates that could be others."""
        notes = [*self.said, *(look.note for look in self.looks.values() if look.note)]
        return list(dict.fromkeys(notes))

    def frame(
        self,
        names: Sequence[str] | None = None,
        *,
        categories: Collection[str] = (),
        refuse: Refuse = raise_error,
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
        columns = self.names if names is None else list(names)
        frame = self.read(columns, set(categories) & set(columns), refuse)
        if frame.height == 0:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return frame

    def read(
        self, names: Sequence[str], as_text: Collection[str] = (), refuse: Refuse = raise_error
    ) -> Any:
        """These columns with their types; those in `as_text` as texts."""
        try:
            frame = self.lazy(names, as_text).collect(engine="streaming")
        except DAMAGES as error:
            return self.amended(error).read(names, as_text, refuse)
        self._check_unchanged()
        return self._typed(frame, as_text, refuse)

    def _typed(self, frame: Any, as_text: Collection[str], refuse: Refuse) -> Any:
        """Columns as their cells say."""
        looks = in_threads(lambda column: self._look(column, as_text), frame.get_columns())
        for look in looks:
            if look.problem is not None:
                refuse(refusal(self.label, look.values.name, look.problem))
        return pl.DataFrame([look.values for look in looks])

    def _look(self, column: Any, as_text: Collection[str]) -> Parsed:
        """A column as its cells say."""
        name, dtype = column.name, column.dtype
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            return Parsed(column, problem=Problem(None, dtype, "single values"))
        if name in as_text:
            return Parsed(self.text(column.cast(pl.String)))
        if dtype == pl.String:
            disguised = name in self.looks or self.schema[name] != pl.String
            return self.parsed(column) if disguised else Parsed(self.text(column))
        has_nan = dtype.is_float() and column.is_nan().any()
        return Parsed(column.fill_nan(None) if has_nan else column)

    def text(self, column: Any) -> Any:
        """A column of texts with missing ones as nulls."""
        return column

    def parsed(self, column: Any) -> Parsed:
        """A column of texts by its cells."""
        return parsed(column)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """These columns with their types, in parts of some million cells.

        Fewer rows than the file declares are refused: where a page of it is damaged, polars may
        end a scan in parts without an error.
        """
        source, done = self, 0
        while True:
            try:
                for part in source._parts(names, done):
                    done += part.height
                    yield part
                break
            except DAMAGES as error:
                source = source.amended(error)
        self._check_unchanged()
        if self.path is not None and done != self.declared:
            raise InvalidInput(
                f"{self.label}: is damaged: it declares {self.declared} rows, {done} can be read"
            )

    def _parts(self, names: Sequence[str], skip: int) -> Iterator[Any]:
        """The columns without the first rows; those in disguise are looked at whole."""
        size, done = max(CHUNK_CELLS // max(len(names), 1), 1), skip
        whole = [name for name in names if name in self.looks]
        looked = self.read(whole) if whole else None
        if len(whole) == len(names) and looked is not None:
            yield from looked.slice(skip).iter_slices(size)
            return
        others = self.lazy([name for name in names if name not in self.looks]).slice(skip)
        for part in others.collect_batches(chunk_size=size, maintain_order=True):
            typed = self._typed(part, (), raise_error)
            if looked is not None:
                typed = typed.hstack(looked.slice(done, part.height)).select(names)
            done += part.height
            yield typed

    def rows(self, indices: Any, names: Sequence[str] | None = None, *, typed: bool = False) -> Any:
        """Rows in the order of `indices`, numbers from 0, with their own types.

        Cells of csv are texts as they are written, or, if `typed`, numbers, dates and texts as in
        `frame`. Only these rows are kept in memory.
        """
        wanted = np.asarray(indices, np.int64)
        numbered = self.raw(self.names if names is None else list(names)).with_row_index(ROW)
        those = pl.col(ROW).is_in(np.unique(wanted).tolist())
        try:
            rows = numbered.filter(those).collect(engine="streaming")
        except DAMAGES as error:
            return self.amended(error).rows(indices, names, typed=typed)
        self._check_unchanged()
        places = rows.drop_in_place(ROW).to_numpy()
        lost = np.setdiff1d(wanted, places)
        if len(lost):
            raise InvalidInput(
                f"{self.label}: must not change while it is read; row {lost[0]} is gone"
            )
        frame = rows[np.searchsorted(places, wanted)]
        return self._typed(frame, (), lambda _: None) if typed else frame

    def _check_unchanged(self) -> None:
        """Refuse a file that was changed since it was opened."""
        if self.path is not None and stamp_of(self.path) != self.stamp:
            raise InvalidInput(f"{self.label}: must not change while it is read; it was written to")

    def expand(self, names: Sequence[str]) -> list[str]:
        """The columns that names stand for: of an npz file the name of a matrix means all its columns."""
        return list(names)

    def numbers(self, names: Sequence[str]) -> Vector:
        """Columns as finite numbers, (rows, columns); any other cell is refused by row and column."""
        return self.as_matrix(self.frame(names), 0)

    def as_matrix(self, frame: Any, start: int) -> Vector:
        """Columns of rows from `start` on as finite numbers, side by side."""
        for column in frame.iter_columns():
            if broad(column) not in ("numbers", None):
                where = f"{self.label}, column {column.name!r}"
                raise InvalidInput(f"{where}: expected numbers, got {broad(column)}")
        matrix = np.ascontiguousarray(frame.cast(pl.Float64).to_numpy())
        self.check_finite(matrix, frame.columns, start)
        return matrix

    def check_finite(self, matrix: Vector, names: Sequence[str], start: int = 0) -> None:
        """Refuse the first number of rows from `start` on that is not finite; NaN is an empty cell."""
        if not np.isfinite(matrix).all():
            row, place = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
            value = float(matrix[row, place])
            cell = None if np.isnan(value) else value
            problem = Problem(start + row, cell, "a finite number")
            raise refusal(self.label, names[place], problem)

    def matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns side by side as numbers, in parts."""
        rows = 0
        for part in self.batches(names):
            yield self.as_matrix(part, rows)
            rows += part.height

    def whole(self, names: Sequence[str]) -> Any:
        """Columns as non-negative whole numbers, a CSR array (rows, columns), read in parts."""
        parts, rows = [], 0
        for matrix in self.matrices(names):
            with np.errstate(invalid="ignore", over="ignore"):
                right = (matrix >= 0) & (matrix == np.floor(matrix)) & (matrix < MAX_WHOLE)
            if not right.all():
                row, column = np.unravel_index(int(np.argmin(right)), matrix.shape)
                raise InvalidInput(
                    f"{self.label}, row {rows + row}, column {names[int(column)]!r}: "
                    f"expected a small non-negative whole number, got {matrix[row, column]:g}"
                )
            parts.append(sp.csr_array(matrix.astype(np.int32)))
            rows += len(matrix)
        if not rows:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def values(self, name: str) -> Any:
        """A column as it is, (rows,); missing values are refused."""
        column = self.frame([name])[name]
        if column.null_count():
            row = int(column.is_null().arg_max())
            raise refusal(self.label, name, Problem(row, None, "a value"))
        return column.to_numpy()


@dataclass(frozen=True, eq=False, kw_only=True)
class TypedTable(FileTable):
    """A table with types of its own: a file that polars scans, a sheet, or a table of a database."""

    content: Any

    def lazy(self, names: Sequence[str], as_text: Collection[str] = ()) -> Any:
        """Columns of the content."""
        lazy = self.content.lazy().select(names)
        return lazy.with_columns(pl.col(list(as_text)).cast(pl.String)) if as_text else lazy

    def counted(self) -> int:
        """Return the number of rows, by the footer of the file."""
        return int(self.content.lazy().select(pl.len()).collect().item())

    @property
    def stored_rows(self) -> int | None:
        """The number of rows, where the file has a footer."""
        return self.declared if self.kind in ("parquet", "arrow") else None

    def read(
        self, names: Sequence[str], as_text: Collection[str] = (), refuse: Refuse = raise_error
    ) -> Any:
        """These columns with their types: a few bytes of parquet can stand for any number of rows."""
        check_memory(self.label, 8 * len(names) * self.declared)
        return super().read(names, as_text, refuse)


def loaded(label: str, content: Any) -> TypedTable:
    """A DataFrame of polars as a file called `label`, with texts that are looked at as those of csv are."""
    if content.height == 0:
        raise InvalidInput(f"{label}: has a head but no rows")
    looks = {column.name: parsed(column) for column in content if column.dtype == pl.String}
    return TypedTable(label=label, schema=dict(content.schema), looks=looks, content=content)


def open_scan(path: Path, label: str, kind: str) -> TypedTable:
    """A parquet, arrow or jsonl file; of the first two only the head is read yet."""
    stamp = stamp_of(path)
    if kind == "jsonl":
        check_nesting(path, label)
    try:
        lazy = SCANS[kind](path)
        schema = dict(lazy.collect_schema())
        texts = [name for name, dtype in schema.items() if kind == "jsonl" and dtype == pl.String]
        head = lazy.select(texts).head(HEAD_ROWS).collect() if texts else pl.DataFrame()
    except DAMAGES as error:
        raise unreadable(label, kind, error) from None
    if not schema:
        raise InvalidInput(f"{label}: has no columns")
    looks = {column.name: parsed(column) for column in head}
    own: dict[str, Any] = {"path": path, "stamp": stamp, "kind": kind, "content": lazy}
    return TypedTable(label=label, schema=schema, looks=looks, **own)


def check_nesting(path: Path, label: str) -> None:
    """Refuse lines of jsonl that nest deeper than tables do; brackets in texts count as well."""
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line.count(b"[") + line.count(b"{") > MAX_NESTING and depth(line) > MAX_NESTING:
                raise InvalidInput(
                    f"{label}, row {number}: is nested deeper than {MAX_NESTING} levels"
                )


def depth(line: bytes) -> int:
    """How deep brackets nest.

    >>> depth(b'{"a": [1, [2]]}'), depth(b'{"a": 1}')
    (3, 1)
    """
    characters = np.frombuffer(line, np.uint8)
    steps = np.isin(characters, list(b"[{")).astype(int) - np.isin(characters, list(b"]}"))
    return int(np.cumsum(steps).max(initial=0))


@dataclass(frozen=True, eq=False, kw_only=True)
class SeveralTables(FileTable):
    """Files with the same columns as one table: their rows one after the other."""

    parts: list[FileTable]

    @classmethod
    def of(cls, parts: list[FileTable]) -> FileTable:
        """Join tables whose columns have the same names; the order is that of the first."""
        first = parts[0]
        if len(parts) == 1:
            return first
        for part in parts[1:]:
            for name in [*first.names, *part.names]:
                if name not in part.schema or name not in first.schema:
                    what = "has no column" if name in first.schema else "has the further column"
                    raise InvalidInput(
                        f"{part.label}: {what} {name!r}; expected the columns of {first.label}"
                    )
        label = f"{first.label} and {len(parts) - 1} more"
        return cls(label=label, schema=first.schema, parts=parts)

    @property
    def plain(self) -> bool:  # type: ignore[override] # of the parts
        """Whether all files are arrays."""
        return all(part.plain for part in self.parts)

    @cached_property
    def numeric(self) -> list[str]:
        """The columns that hold numbers in every file."""
        known = set.intersection(*(set(part.numeric) for part in self.parts))
        return [name for name in self.names if name in known]

    @property
    def notes(self) -> list[str]:
        """Sentences about how any of them is read."""
        return list(dict.fromkeys(note for part in self.parts for note in part.notes))

    @property
    def stored_rows(self) -> int | None:
        """The rows of all files, where their heads say so."""
        return summed([part.stored_rows for part in self.parts])

    def stored_bytes(self, names: Sequence[str]) -> int | None:
        """About what columns of all files take in memory."""
        return summed([part.stored_bytes(names) for part in self.parts])

    def read(
        self, names: Sequence[str], as_text: Collection[str] = (), refuse: Refuse = raise_error
    ) -> Any:
        """The columns of all files, of a type that holds those of each."""
        frames = [part.read(names, as_text, refuse) for part in self.parts]
        for name in names:
            kinds: dict[str, str] = {}
            for i, part in enumerate(self.parts):
                kind = broad(frames[i][name])
                if kind is None:
                    frames[i] = frames[i].with_columns(pl.lit(None).alias(name))
                else:
                    kinds.setdefault(kind, part.label)
            if len(kinds) > 1:
                (kind, first), (other, label) = list(kinds.items())[:2]
                words = f"{label}, column {name!r}: expected {kind} in {first}, got {other}"
                refuse(InvalidInput(words))
                frames = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in frames]
        return pl.concat(frames, how="vertical_relaxed", rechunk=False)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Parts of the columns, file by file."""
        for part in self.parts:
            yield from part.batches(names)

    def rows(self, indices: Any, names: Sequence[str] | None = None, *, typed: bool = False) -> Any:
        """Rows, numbered through all files, as their files have them."""
        columns = self.names if names is None else list(names)
        wanted = np.asarray(indices, np.int64)
        ends = np.cumsum([part.declared for part in self.parts])
        home = np.searchsorted(ends, wanted, side="right")
        frames, places = [], []
        for i in np.unique(home):
            here = np.flatnonzero(home == i)
            start = ends[i] - self.parts[i].declared
            frames.append(self.parts[i].rows(wanted[here] - start, columns, typed=typed))
            places.append(here)
        return pl.concat(frames, how="vertical_relaxed")[np.argsort(np.concatenate(places))]


def summed(counts: Sequence[int | None]) -> int | None:
    """The sum of numbers, if all are known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def broad(column: Any) -> str | None:
    """The kind of a column, None where all of it is missing."""
    if column.null_count() == len(column):
        return None
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return "numbers"
    return "dates" if column.dtype.is_temporal() else "texts"


def refusal(label: str, column: str, problem: Problem) -> InvalidInput:
    """The error about a cell of a column, or about all of it; rows count from 0."""
    where = f"{label}, " if problem.row is None else f"{label}, row {problem.row}, "
    return InvalidInput(
        f"{where}column {column!r}: expected {problem.expected}, got {shown_cell(problem.cell)}"
    )


def shown_cell(cell: Any) -> Any:
    """A cell in quotes, shortened; numbers and types as they are."""
    if cell is None or cell == "":
        return "an empty cell"
    if not isinstance(cell, str):
        return cell
    text = repr(cell)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…'"


def unreadable(label: str, kind: str, error: BaseException) -> InvalidInput:
    """The error that a file cannot be read, for the reason that its reader gives."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InvalidInput(f"{label}: cannot be read as {kind}: {reason}")


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of change of a file."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
