"""Which columns of a table a job uses, as which kind, and what stands for missing values: decided once for all rows.

Tables as rows of numbers: numbers as they are, categories so that a mismatch adds to the squared
distance.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import (
    NUMBER,
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_vector,
    gathered,
    is_frame,
    known,
    refuse_negative,
    shown,
)
from .column import (
    Column,
    Levels,
    Mask,
    Table,
    dropped_note,
    filled_note,
    ignored,
    nothing_whole,
    objects,
    refuse_missing,
    role,
    sorted_values,
    whole_rows,
)
from .frames import height, known_name, quoted, refuse_twins, take_rows, width
from .sketch import Sketch
from .source import Block, Source

KINDS = ("number", "boolean", "category", "date", "ignore")
RULES = ("error", "drop", "impute", "category")
"""What is done about missing values; the last two put something in their place."""
MEDIANS, MODES = "replaced by medians and modes", "replaced by the most frequent of their column"
"""What was done about missing values by the rule "impute"."""
OWN_CATEGORY = "taken as a category of their own"
MAX_LEVELS = 10_000
"""Different labels that a column of data in blocks may have: all of them are kept."""
MIN_IDENTIFIER_ROWS = 20
"""Rows from which texts that are all different are taken for identifiers, whatever their column is
called."""
MAX_DISTINCT_SHARE, MIN_TEXT_ROWS = 0.5, 100
"""Texts of which more than this share of the rows differ are free text, in a table of at least so
many rows."""
MAX_EXACT = 2.0**53
"""Whole numbers beyond it are told apart no more by float64: they are names, not quantities."""
MISMATCH = 2.0
"""What a mismatch of categories adds to a squared distance: the mean squared difference of two
rows, drawn at random, in a column of standard deviation one."""
MARK = math.sqrt(MISMATCH / 2.0)
"""What stands in the column of a category where a row has it."""
MAX_DENSE_WIDTH, MAX_FILLED_SHARE = 100, 0.3
"""Encoded columns beyond which rows with a smaller share of entries than this are kept as CSR."""
NARROW = ("float16", "float32", "Float16", "Float32")
"""Types of numbers that float32 holds."""
EVERY_KIND = dict.fromkeys(("number", "date", "boolean"), "category")
IDENTIFIER = re.compile(r"(?:^|[\W_])(?i:id|uuid|guid|key|index)$|[a-z](?:Id|ID|Key)$|^Unnamed: 0$")


class Rows(NamedTuple):
    """Rows as columns: numbers (n, p) dense or CSR, labels of categories, and what belongs to the rows.

    `kept` (n,) are the rows of the block that these are, None where they are all `size` of it.
    `gone` are for each column of numbers the missing ones that were filled, None where none was.
    """

    numbers: Any
    categories: list[Levels]
    y: Any
    weight: Vector | None
    size: int
    kept: Indices | None = None
    gone: tuple[Mask | None, ...] = ()

    def take(self, rows: Indices) -> "Rows":
        """Some of the rows."""
        levels = [Levels(values, codes[rows]) for values, codes in self.categories]
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.numbers[rows], levels, take_rows(self.y, rows), weight, self.size, rows)


class Fills(NamedTuple):
    """Values that stand for missing ones: numbers (p,), and a label for each column of labels, None for one of its own."""

    numbers: Vector
    labels: tuple[Any, ...]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns that are used, each with its kind, and those with a role, by its option.

    `table` are the names of all columns, those of an array their places; `notes` say which columns
    are left out unasked.

    >>> import polars
    >>> table = polars.DataFrame({"id": [7, 8, 9], "age": [30, 40, 30], "plan": ["a", "b", "a"]})
    >>> schema = Schema.of(table, {"age": "category"})
    >>> schema.names, schema.kinds, schema.notes
    (('age', 'plan'), ('category', 'category'), ("identifiers left out: 'id'",))
    """

    names: tuple[Any, ...]
    kinds: tuple[str, ...]
    table: tuple[Any, ...]
    roles: Mapping[str, Any] = field(default_factory=dict)
    missing: str = "error"
    rules: tuple[str, ...] = RULES
    named: bool = True
    notes: tuple[str, ...] = ()
    fills: Fills | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        columns: Any = None,
        roles: Mapping[str, Any] | None = None,
        missing: str = "error",
        *,
        rules: Sequence[str] = RULES,
        reason: Callable[[Column], str] | None = None,
        recode: Mapping[str, str] | None = None,
        without: Sequence[Any] = (),
    ) -> "Schema":
        """Decide by the columns of X, which may be the first of many rows.

        Parameters
        ----------
        X : array, sparse matrix or table
            Arrays hold numbers, all of which are used.
        columns : mapping or sequence, optional
            Kinds by name, or the only names to use.
        roles : mapping, optional
            Options with the name of a column that belongs to rows and is no part of them; what is
            no name is passed over.
        missing : {"error", "drop", "impute", "category"}
            What is done about missing values; one of `rules`.
        reason : callable
            Why a column is left out unasked, "" where it is used: identifiers and free text, by
            default.
        recode : mapping, optional
            Kinds that are taken as others.
        without : sequence
            Names of columns that are not looked at.
        """
        known(missing, dict.fromkeys(rules), "missing")
        X = gathered(X)
        own = {option: name for option, name in (roles or {}).items() if isinstance(name, str)}
        for option, name in own.items():
            role(X, name, option)
        how: dict[str, Any] = {"roles": own, "missing": missing, "rules": tuple(rules)}
        if not (is_frame(X) or isinstance(X, Table)):
            if columns is not None:
                words = f"columns are those of a table, but X is {type(X).__name__}"
                raise InvalidInput(words, "columns")
            places = tuple(range(width(X)))
            return cls(places, ("number",) * len(places), places, named=False, **how)
        table = Table.of(X)
        asked = asked_kinds(columns, table.names)
        aside = {*own.values(), *without, *(name for name in asked if asked[name] == "ignore")}
        names, kinds, left = [], [], dict[str, list[Any]]()
        for column in table.columns:
            if column.name in aside:
                continue
            why = "" if column.name in asked else (reason or left_out)(column)
            if why:
                left.setdefault(why, []).append(column.name)
                continue
            kind = asked.get(column.name, column.kind)
            as_kind(column, kind)
            names.append(column.name)
            kinds.append((recode or {}).get(kind, kind))
        notes = tuple(f"{words} left out: {quoted(those)}" for words, those in left.items())
        if not names:
            fixes = [Fix("columns", {those[0]: "category"}) for those in left.values()][:1]
            reasons = f": {'; '.join(notes)}; {fixes[0]} takes it" if fixes else ""
            got = quoted(table.names) if table.names else "no columns"
            raise InvalidInput(f"X has no column to compare{reasons}, got {got}", fixes=fixes)
        refuse_twins([name for name in table.names if name in set(names)])
        return cls(tuple(names), tuple(kinds), tuple(table.names), notes=notes, **how)

    @property
    def places(self) -> list[int]:
        """Where in the table each used column is."""
        place = {name: at for at, name in enumerate(self.table)}
        return [place[name] for name in self.names]

    @property
    def numbers(self) -> list[Any]:
        """Names of the columns of numbers, dates and truth values."""
        return [n for n, kind in zip(self.names, self.kinds, strict=True) if kind != "category"]

    @property
    def categories(self) -> list[Any]:
        """Names of the columns of labels."""
        return [n for n, kind in zip(self.names, self.kinds, strict=True) if kind == "category"]

    @property
    def note(self) -> str:
        """The note on values that stand for missing ones."""
        return "" if self.fills is None else self.fills.note

    def columns(self, X: Any) -> list[Column]:
        """The columns of a table that are used, each of its kind."""
        columns = {column.name: column for column in Table.of(X).columns}
        lacking = [name for name in (*self.names, *self.roles.values()) if name not in columns]
        if lacking:
            raise InvalidInput(
                f"all blocks must have the column {lacking[0]!r}, got {shown(list(columns))}"
            )
        both = zip(self.names, self.kinds, strict=True)
        return [as_kind(columns[name], kind) for name, kind in both]

    def split(self, X: Any) -> tuple[list[Column], list[Column], dict[str, Column]]:
        """The columns of numbers, those of labels, and those with a role by its option."""
        X = gathered(X)
        if self.named and not (is_frame(X) or isinstance(X, Table)):
            raise InvalidInput(f"all blocks must be tables, got {shown(type(X).__name__)}")
        table = Table.of(X if self.named else as_matrix(X))
        both = list(zip(self.columns(table), self.kinds, strict=True))
        numbers = [column for column, kind in both if kind != "category"]
        labels = [column for column, kind in both if kind == "category"]
        return numbers, labels, {o: table.column(name, o) for o, name in self.roles.items()}

    def read(self, block: Block) -> Rows:
        """The rows of a block that are used; what is missing is refused, dropped or filled."""
        if self.missing in RULES[2:] and self.fills is None:
            raise InvalidInput(
                f"missing={self.missing!r} takes a pass of its own; in own loops fill the blocks"
                " first, or drop"
            )
        size, weight = height(block.X), block.weight
        if not self.named and (sp.issparse(block.X) or self.missing == "error"):
            numbers = as_matrix(block.X if sp.issparse(block.X) else as_array(block.X, "X"))
            return Rows(numbers, [], block.y, checked_weights(weight, size), size)
        numbers, labels, roles = self.split(block.X)
        needed = [*(() if self.fills else (*numbers, *labels)), *roles.values()]
        if self.missing != "drop":
            refuse_missing(needed, self.rules[1:], ignorable=self.rules == RULES and self.named)
        kept = whole_rows(needed)
        target = roles.get("y", roles.get("labels"))
        weight = roles["sample_weight"].values if "sample_weight" in roles else weight
        rows = Rows(
            self._matrix(numbers, size),
            [self._filled_levels(column, j) for j, column in enumerate(labels)],
            block.y if target is None else target.values,
            checked_weights(weight, size),
            size,
            gone=tuple(column.missing for column in numbers),
        )
        rows = rows if kept is None else rows.take(kept)
        if not np.isfinite(rows.numbers).all():
            row, place = np.argwhere(~np.isfinite(rows.numbers))[0].tolist()
            where = f"column {numbers[place].name!r}, row {row}"
            got = rows.numbers[row, place]
            raise InvalidInput(f"{where}: expected a finite number, got {got}")
        return rows

    def _matrix(self, numbers: Sequence[Column], size: int) -> Vector:
        """Columns of numbers side by side."""
        matrix = np.empty((size, len(numbers)))
        for j, column in enumerate(numbers):
            if column.kind == "category":
                raise InvalidInput(
                    f"column {column.name!r} holds numbers in the first rows, and texts here"
                )
            matrix[:, j] = column.values
            if self.fills is not None and column.missing is not None:
                matrix[column.missing, j] = self.fills.numbers[j]
        return matrix

    def _filled_levels(self, column: Column, place: int) -> Levels:
        """The labels of a column, and which of them each row has."""
        if self.fills is None or column.missing is None:
            return column.levels
        values, codes = column.levels
        labels, label = values.tolist(), self.fills.labels[place]
        if label not in labels:
            labels.append(label)
        return Levels(objects(labels), np.where(codes < 0, labels.index(label), codes))

    def filled(
        self,
        data: Source | Block | list[Block],
        name: str = "",
        rows: int = 0,
        *,
        weighted: bool = False,
        mode: bool = False,
        whole: bool = False,
    ) -> "Schema":
        """Return the schema with what stands for missing values, if its rule puts anything there.

        Medians and most frequent labels are those of all rows of a source, by a pass of its own, or
        of some blocks; with `whole` there will be no others.
        `weighted` says whether weights of rows count, `mode` whether numbers are replaced by the
        most frequent one.
        """
        if self.missing not in RULES[2:]:
            return self
        plan = (self, weighted, whole)
        if isinstance(data, Block | list):
            blocks = [data] if isinstance(data, Block) else data
            gaps = Gaps.merged([Gaps.of(block, plan) for block in blocks])
        else:
            gaps = data.fold(f"{name}-0", Gaps.of, plan, Gaps.merged, rows)
        return replace(self, fills=gaps.fills(self, mode, whole))


@dataclass(frozen=True, eq=False)
class Gaps:
    """A sketch of each column of numbers, the weights of each column's labels, and how many are missing in each."""

    numbers: tuple[Sketch, ...]
    labels: tuple[dict[Any, float], ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, block: Block, plan: tuple[Schema, bool, bool]) -> "Gaps":
        """Count the values of a block by a plan: a schema, whether weights count, whether it is all rows."""
        schema, weighted, whole = plan
        numbers, labels, roles = schema.split(block.X)
        own, size = roles.get("sample_weight"), height(block.X)
        given = block.weight if own is None else own.values
        mass = checked_weights(given, size) if weighted else None
        mass = np.ones(size) if mass is None else mass
        sketches, weights = [], []
        for column in numbers:
            present = ~np.isnan(column.values)
            most = max(int(present.sum()), 1) if whole else None
            sketches.append(Sketch.of(column.values[present], mass[present], most))
        for column in labels:
            levels, codes = column.levels
            sums = np.bincount(codes[codes >= 0], mass[codes >= 0], len(levels))
            weights.append(dict(zip(levels, sums.tolist(), strict=True)))
        gaps = [column.missing for column in (*numbers, *labels)]
        counts = tuple(0 if gap is None else int(gap.sum()) for gap in gaps)
        return cls(tuple(sketches), tuple(weights), counts)

    @classmethod
    def merged(cls, parts: Sequence["Gaps"]) -> "Gaps":
        """Count the values of several blocks."""
        numbers = zip(*(part.numbers for part in parts), strict=True)
        labels = zip(*(part.labels for part in parts), strict=True)
        counts = zip(*(part.counts for part in parts), strict=True)
        return cls(
            tuple(Sketch.merged(each) for each in numbers),
            tuple(
                {label: math.fsum(part.get(label, 0.0) for part in each) for label in united(each)}
                for each in labels
            ),
            tuple(map(sum, counts)),
        )

    def fills(self, schema: Schema, mode: bool, whole: bool) -> Fills:
        """Choose what stands for missing values: medians or most frequent values, or a category of their own."""
        own, p = schema.missing == "category", len(self.numbers)
        counts = dict(zip([*schema.numbers, *schema.categories], self.counts, strict=True))
        sizes = [*(sketch.x.size for sketch in self.numbers), *map(len, self.labels)]
        for j, (name, count) in enumerate(counts.items()):
            if count and own and j < p and not whole:
                raise InvalidInput(
                    f"column {name!r} holds numbers, and some are missing: in blocks"
                    " missing='category' is for labels, 'impute' and 'drop' for all"
                )
            if count and not own and not sizes[j]:
                fix = ignored(name)
                words = f"column {name!r} has no value to impute from; leave it out with {fix}"
                raise InvalidInput(words, fixes=[fix])
        middles = [
            (sketch.mode if mode else sketch.median) if sketch.x.size else 0.0
            for sketch in self.numbers
        ]
        labels = [
            None if own or not each else max(each, key=each.__getitem__) for each in self.labels
        ]
        note = filled_note(counts, OWN_CATEGORY if own else MODES if mode else MEDIANS)
        pairs = zip(self.numbers, self.counts[:p], strict=True)
        off = max(
            (sketch.error / sketch.total for sketch, gone in pairs if gone and sketch.error),
            default=0.0,
        )
        note += f"; ranks of medians are off by at most {off:.2g}" if off else ""
        return Fills(np.array(middles, np.float64), tuple(labels), note)


def as_matrix(X: Any) -> Any:
    """Rows of numbers with two axes, dense or CSR."""
    if sp.issparse(X):
        rows = sp.csr_array(X)
        return rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    array = np.asarray(X, np.float64)
    return array[:, None] if array.ndim == 1 else array


def united(parts: Sequence[Iterable[Any]], name: Any = "") -> npt.NDArray[Any]:
    """All labels of a column, sorted where they can be; too many are refused."""
    labels = {label for part in parts for label in part}
    if len(labels) > MAX_LEVELS:
        fix = ignored(name)
        raise InvalidInput(
            f"column {name!r} has more than {MAX_LEVELS} different labels; leave it out with {fix}",
            fixes=[fix],
        )
    return objects(sorted_values(labels))


def checked_weights(weight: Any, size: int) -> Vector | None:
    """Weights that are finite and not negative."""
    if weight is None:
        return None
    values = as_vector(weight, (size,), "sample_weight")
    refuse_negative(values, "sample_weight")
    return values


def asked_kinds(columns: Any, names: Sequence[Any]) -> dict[Any, str]:
    """Read what the user says of columns: a mapping of names to kinds, or a list of the only names to use."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        for name, kind in columns.items():
            known_name(name, names, "columns")
            known(kind, dict.fromkeys(KINDS), f"columns[{name!r}]")
        return dict(columns)
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        raise InvalidInput(f"columns must map names to kinds or list names, got {shown(columns)}")
    only = [known_name(name, names, "columns") for name in columns]
    return {name: "ignore" for name in names if name not in only}


def left_out(column: Column) -> str:
    """Why a column is left out unasked, "" where it is not; an error where nobody can tell what it is.

    Texts that are all different, and different whole numbers or texts in a column with a name such
    as id, are identifiers; texts that mostly differ are free text.
    """
    if column.kind == "other":
        fix = ignored(column.name)
        words = f"column {column.name!r} holds {column.dtype}, which cannot be compared"
        raise InvalidInput(f"{words}; leave it out with {fix}", fixes=[fix])
    called = is_identifier(column.name)
    if column.kind == "category" and column.dtype != "category":
        refuse_mixed(column)
        levels, codes = column.levels
        present = int((codes >= 0).sum())
        if len(levels) == present and (present >= MIN_IDENTIFIER_ROWS or (called and present > 1)):
            return "identifiers"
        if present >= MIN_TEXT_ROWS and len(levels) > MAX_DISTINCT_SHARE * present:
            return "free text"
    if column.kind == "number" and called and has_distinct_whole_numbers(column):
        return "identifiers"
    return ""


def is_identifier(name: Any) -> bool:
    """Whether a column is called as identifiers are.

    >>> names = ("id", "customer_id", "CustomerID", "uuid", "grid", "paid", 0)
    >>> [is_identifier(name) for name in names]
    [True, True, True, True, False, False, False]
    """
    return isinstance(name, str) and IDENTIFIER.search(name) is not None


def has_distinct_whole_numbers(column: Column) -> bool:
    """Whether the numbers are whole and all different, as far as float64 tells, and there are several."""
    values = column.values[~np.isnan(column.values)]
    if len(values) < 2 or not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    return float(np.abs(values).max()) > MAX_EXACT or len(np.unique(values)) == len(values)


def constant_note(columns: Sequence[Column]) -> str:
    """Name the columns in which all rows are alike."""
    constant = [
        column.name
        for column in columns
        if column.missing is None
        and all(
            (values == column.values[:1]).all() for values in (column.values[:9], column.values)
        )
    ]
    return f"constant: {quoted(constant)}" if constant else ""


def refuse_mixed(column: Column) -> None:
    """Refuse a column with the first text among numbers, or number among texts."""
    levels, codes = column.levels
    numbers = np.array([isinstance(value, NUMBER) for value in levels], bool)
    if numbers.all() or not numbers.any():
        return
    present = codes[codes >= 0]
    mostly = bool(2 * numbers[present].sum() >= len(present))
    row = int(np.argmax(np.append(numbers != mostly, False)[codes]))
    what = "no number among numbers" if mostly else "a number among texts"
    fixes = [Fix("columns", {column.name: kind}) for kind in ("category", "ignore")]
    raise InvalidInput(
        f"column {column.name!r}, row {row}: {shown(levels[codes[row]])} is {what}; mend it, or say"
        f" {fixes[0]} or {fixes[1]}",
        fixes=fixes,
    )


def as_kind(column: Column, kind: str) -> Column:
    """A column taken as another kind: text is parsed, and what cannot be is refused with its cell."""
    what = f"column {column.name!r}"
    if column.kind == "other":
        raise InvalidInput(f"{what} holds {column.dtype}, which cannot be a {kind}")
    if kind == "boolean" and len(column.levels.values) > 2:
        some = shown(column.levels.values[:3].tolist())
        raise InvalidInput(f"{what} must hold two values to be a boolean, got {some}")
    if column.kind != "category" or kind in ("category", "boolean"):
        return column
    levels, codes = column.levels
    values = np.append([_parsed(value, kind) for value in levels], np.nan)[codes]
    wrong = np.isnan(values) & (codes >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        got = shown(levels[codes[row]])
        raise InvalidInput(f"{what}, row {row}: expected a {kind}, got {got}")
    return Column(column.name, kind, column.missing, lambda: values)


def _parsed(value: Any, kind: str) -> float:
    """A level as a number, or as seconds from 1970; NaN where it is none."""
    try:
        if kind == "number":
            return float(value)
        moment = datetime.fromisoformat(str(value).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return np.nan


@dataclass(frozen=True, eq=False)
class Encoding:
    """A table's columns as rows z (N, width), fitted once, and new tables likewise.

        ‖z(x) - z(y)‖² = Σ_numbers (x_j - y_j)² + Σ_categories 2 [x_c ≠ y_c]

    so that rbf on z is the product of rbf on the numbers and of exp(-2 gamma [x_c ≠ y_c]) over the
    categories, which is positive definite. Numbers come first, to be standardized by whoever
    compares the rows; two rows drawn at random then differ by 2 in each of them too, on average. A
    category takes one column for each of its `levels`. With missing="category" a missing category
    is a level of its own, and a missing number is the median and counts as a mismatch with all rows
    where it is not missing: `flagged` numbers have a column that says so. What a new table has that
    the first had not (a category, a missing number) mismatches all: the last column says so. With
    `equality` (for hamming) rows are codes.

    `shift` is subtracted from numbers of sparse rows, which nobody shifts later.
    """

    schema: Schema
    levels: tuple[npt.NDArray[Any], ...]
    flagged: tuple[int, ...] = ()
    sparse: bool = False
    equality: bool = False
    dtype: Any = np.float64
    shift: Vector | None = None

    @cached_property
    def numbers(self) -> int:
        """The number of columns that hold numbers."""
        return len(self.schema.numbers)

    @property
    def width(self) -> int:
        """The number of encoded columns."""
        if self.equality:
            return self.numbers + len(self.levels)
        unknown = bool(self.levels) or self.schema.missing == "category"
        return self.numbers + len(self.flagged) + sum(map(len, self.levels)) + unknown

    @property
    def movable(self) -> list[tuple[int, Any, int, int]]:
        """Return for each column of plain numbers its place among them, its name, its place in the table, and its flag.

        The flag is the encoded column that says where a number was missing, -1 where there is none.
        """
        kinds = dict(zip(self.schema.names, self.schema.kinds, strict=True))
        flags = {j: self.numbers + at for at, j in enumerate(self.flagged)}
        return [
            (j, name, self.schema.table.index(name), flags.get(j, -1))
            for j, name in enumerate(self.schema.numbers)
            if kinds[name] == "number"
        ]

    def __call__(self, X: Any) -> Any:
        """Rows of a table with the same columns, or of an array with them in the same order."""
        table, schema = Table.of(X), replace(self.schema, roles={})
        if schema.fills is None:
            hint = "fit with missing='impute' or 'category' to allow it"
            refuse_missing(schema.columns(table), (), hint)
        rows = schema.read(Block(table))
        return self.rows(rows.numbers, rows.categories, rows.gone)

    def rows(
        self, numbers: Any, categories: Sequence[Levels], gone: Sequence[Mask | None] = ()
    ) -> Any:
        """Encode columns of numbers (N, p), labels, and what was missing in the numbers."""
        numbers = numbers if self.shift is None else numbers - self.shift
        if self.width == self.numbers and not self.sparse:
            return np.ascontiguousarray(numbers, self.dtype)
        codes = [level_codes(*pair) for pair in zip(categories, self.levels, strict=True)]
        sizes = [len(levels) for levels in self.levels]
        if self.equality:
            known = [np.where(at < 0, size, at) for at, size in zip(codes, sizes, strict=True)]
            return np.column_stack([numbers, *known]).astype(self.dtype)
        absent = [np.zeros(len(numbers), bool) if mask is None else mask for mask in gone]
        flags = [math.sqrt(MISMATCH) * absent[j] for j in self.flagged]
        unknown = MISMATCH / 2.0 * sum((at < 0 for at in codes), start=np.zeros(len(numbers)))
        if self.schema.missing == "category":
            for j in set(range(len(absent))) - set(self.flagged):
                unknown += MISMATCH * absent[j]
        marks = [one_hot(at, size) for at, size in zip(codes, sizes, strict=True)]
        blocks = [numbers, *(each[:, None] for each in flags), *marks, np.sqrt(unknown)[:, None]]
        if self.sparse:
            parts = [sp.csr_array(block) for block in blocks]
            return sp.csr_array(sp.hstack(parts, format="csr"), dtype=self.dtype)
        table, stop = np.empty((len(numbers), self.width), self.dtype), 0
        for block in blocks:
            start, stop = stop, stop + block.shape[1]
            table[:, start:stop] = block.toarray() if sp.issparse(block) else block
        return table


class Encoded(NamedTuple):
    """Encoded rows of a table, the rows before they were encoded, how they were, and what is to be said."""

    encoded: Any
    rows: Rows
    encoding: Encoding
    notes: list[str]


def encoded(
    block: Block,
    columns: Any = None,
    roles: Mapping[str, Any] | None = None,
    missing: str = "error",
    *,
    without: Sequence[Any] = (),
    equality: bool = False,
    sparse: bool = True,
    shifts: bool = False,
) -> Encoded:
    """Encode the rows of a table that are all in memory, by their own levels and medians.

    See `Schema.of`.

    `equality` asks for codes, `sparse` says whether rows may be CSR, which they are where encoded
    columns are mostly empty, and `shifts` whether numbers in these are to have mean zero.
    """
    recode = EVERY_KIND if equality else {"boolean": "category"}
    schema = Schema.of(block.X, columns, roles, missing, recode=recode, without=without)
    weighted = block.weight is not None or "sample_weight" in schema.roles
    schema = schema.filled(block, weighted=weighted, whole=True)
    rows, used = schema.read(block), schema.columns(block.X)
    kept = rows.size if rows.kept is None else len(rows.kept)
    if rows.kept is not None and not kept:
        raise nothing_whole([column.name for column in used if column.missing is not None])
    levels = tuple(values[np.unique(codes[codes >= 0])] for values, codes in rows.categories)
    own = schema.missing == "category" and not equality
    flagged = tuple(j for j, gone in enumerate(rows.gone) if gone is not None and own)
    numbers = [c.dtype for c, kind in zip(used, schema.kinds, strict=True) if kind != "category"]
    dtype = np.float32 if numbers and all(each in NARROW for each in numbers) else np.float64
    encoding = Encoding(schema, levels, flagged, False, equality, dtype)
    width = encoding.width
    if sparse and not equality and width > max(MAX_DENSE_WIDTH, len(used) / MAX_FILLED_SHARE):
        shift = np.average(rows.numbers, 0, rows.weight) if shifts else None
        encoding = replace(encoding, sparse=True, shift=shift)
    dropped = dropped_note(rows.size - kept, rows.size)
    notes = [*schema.notes, constant_note(used), schema.note, dropped]
    table = encoding.rows(rows.numbers, rows.categories, rows.gone)
    return Encoded(table, rows, encoding, [note for note in notes if note])


def one_hot(codes: Indices, width: int) -> Any:
    """Rows (N, width) with a mark at the code of each, nothing where it is negative; CSR."""
    present = codes >= 0
    starts = np.append(0, np.cumsum(present))
    return sp.csr_array((np.full(starts[-1], MARK), codes[present], starts), (len(codes), width))


def level_codes(column: Levels, levels: npt.NDArray[Any]) -> Indices:
    """Which of the fitted levels each row of a column has, -1 where it has none of them."""
    number = {value: i for i, value in enumerate(levels.tolist())}
    places = [*(number.get(value, -1) for value in column.values.tolist()), -1]
    return np.array(places, np.int64)[column.codes]
