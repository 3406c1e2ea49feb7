"""Which columns of a table a job uses, as which kind, and what stands for missing values: decided once for all rows."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_vector,
    gathered,
    is_frame,
    known,
    shown,
)
from ..threads import in_threads
from .column import NUMBER, Column, Levels, Mask, Table, objects, role, type_and_text
from .frames import height, take_rows, width
from .missing import (
    filled_note,
    missing_count,
    nothing_to_impute,
    refuse_missing,
    whole_rows,
)
from .names import known_name, quoted, refuse_twins
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
        y = None if self.y is None else take_rows(self.y, rows)
        return Rows(self.numbers[rows], levels, y, weight, self.size, rows)


class Fills(NamedTuple):
    """Values that stand for missing ones: numbers (p,), and a label for each column of labels, None for one of its own."""

    numbers: Vector
    labels: tuple[Any, ...]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns that are used, each with its kind, and those with a role, by its option.

    `table` are the names of all columns, those of an array their places. `ignored` are columns left
    out unasked; `notes` say so.

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
    ignored: tuple[Any, ...] = ()
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
        by_option = {option: role(X, value, option) for option, value in (roles or {}).items()}
        own = {option: column.name for option, column in by_option.items() if column is not None}
        how: dict[str, Any] = {"roles": own, "missing": missing, "rules": tuple(rules)}
        if not (is_frame(X) or isinstance(X, Table)):
            if columns is not None:
                words = f"columns are those of a table, but X is {type(X).__name__}"
                raise InvalidInput(words, "columns")
            places = tuple(range(width(X)))
            return cls(places, ("number",) * len(places), places, named=False, **how)
        table = Table.of(X)
        kinds = {} if columns is None else asked_kinds(columns, table.names)
        ignored = {*own.values(), *without, *(n for n, kind in kinds.items() if kind == "ignore")}
        compared = [column for column in table.columns if column.name not in ignored]
        in_threads(lambda column: column.levels, [c for c in compared if c.kind == "category"])
        used, left = [], dict[str, list[Any]]()
        for column in compared:
            why = "" if column.name in kinds else (reason or left_out)(column)
            if why:
                left.setdefault(why, []).append(column.name)
            else:
                used.append(as_kind(column, kinds.get(column.name, column.kind)))
        notes = tuple(f"{words} left out: {quoted(names)}" for words, names in left.items())
        unused = tuple(name for names in left.values() for name in names)
        if not used:
            raise nothing_to_use(table.names, unused, notes)
        names = tuple(column.name for column in used)
        refuse_twins([name for name in table.names if name in set(names)])
        asked = [kinds.get(column.name, column.kind) for column in used]
        taken = tuple((recode or {}).get(kind, kind) for kind in asked)
        return cls(names, taken, tuple(table.names), notes=notes, ignored=unused, **how)

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
        both = zip(self.names, self.kinds, strict=True)
        return [as_kind(columns[name], kind) for name, kind in both]

    def split(self, X: Any) -> tuple[list[Column], list[Column], dict[str, Column]]:
        """The columns of numbers, those of labels, and those with a role by its option."""
        X = gathered(X)
        if not self.named:
            X = _as_matrix(X)
        elif not (is_frame(X) or isinstance(X, Table)):
            raise InvalidInput(f"all blocks must be tables, got {shown(type(X).__name__)}")
        table = Table.of(X)
        names = set(table.names)
        lacking = [name for name in (*self.names, *self.roles.values()) if name not in names]
        if lacking:
            raise InvalidInput(
                f"all blocks must have the column {lacking[0]!r}, got {shown(table.names)}"
            )
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
        size = height(block.X)
        if not self.named and (sp.issparse(block.X) or self.missing == "error"):
            weight = checked_weights(block.weight, size)
            return Rows(_as_matrix(block.X, checked=True), [], block.y, weight, size)
        numbers, labels, roles = self.split(block.X)
        needed = [*(() if self.fills else (*numbers, *labels)), *roles.values()]
        if self.missing != "drop":
            refuse_missing(needed, self.rules[1:], ignorable=self.rules == RULES and self.named)
        kept = whole_rows(needed)
        target = roles.get("y", roles.get("labels"))
        weight = roles["sample_weight"].values if "sample_weight" in roles else block.weight
        rows = Rows(
            self._matrix(numbers, size),
            [self._filled_levels(column, j) for j, column in enumerate(labels)],
            block.y if target is None else target.values,
            checked_weights(weight, size),
            size,
            None,
            tuple(column.missing for column in numbers),
        )
        rows = rows if kept is None else rows.take(kept)
        refuse_infinite(rows.numbers, [column.name for column in numbers])
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
        values, codes = column.levels
        if self.fills is None or column.missing is None:
            return Levels(values, codes)
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
        plan = GapPlan(self, weighted, mode, whole)
        if isinstance(data, Block | list):
            blocks = [data] if isinstance(data, Block) else data
            gaps = Gaps.merged([Gaps.of(block, plan) for block in blocks])
        else:
            gaps = data.fold(f"{name}-0", Gaps.of, plan, Gaps.merged, rows)
        return replace(self, fills=gaps.fills())


class GapPlan(NamedTuple):
    """How what stands for missing values is found; see `Schema.filled`."""

    schema: Schema
    weighted: bool
    mode: bool
    whole: bool


@dataclass(frozen=True, eq=False)
class Gaps:
    """A sketch of each column of numbers, the weights of each column's labels, and how many are missing in each."""

    numbers: tuple[Sketch, ...]
    labels: tuple[dict[Any, float], ...]
    counts: tuple[int, ...]
    plan: GapPlan

    @classmethod
    def of(cls, block: Block, plan: GapPlan) -> "Gaps":
        """Count the values of a block."""
        numbers, labels, roles = plan.schema.split(block.X)
        mass = None
        if plan.weighted:
            own = roles.get("sample_weight")
            mass = checked_weights(block.weight if own is None else own.values, height(block.X))
        return cls(
            tuple(_sketch(column, mass, plan.whole) for column in numbers),
            tuple(label_weights(column.levels, mass) for column in labels),
            tuple(missing_count(column) for column in [*numbers, *labels]),
            plan,
        )

    @classmethod
    def merged(cls, parts: Sequence["Gaps"]) -> "Gaps":
        """Count the values of several blocks."""
        numbers = zip(*(part.numbers for part in parts), strict=True)
        labels = zip(*(part.labels for part in parts), strict=True)
        counts = zip(*(part.counts for part in parts), strict=True)
        return cls(
            tuple(Sketch.merged(each) for each in numbers),
            tuple(summed_labels(each, "labels") for each in labels),
            tuple(sum(each) for each in counts),
            parts[0].plan,
        )

    def fills(self) -> Fills:
        """Choose what stands for missing values: medians or most frequent values, or a category of their own."""
        schema, p = self.plan.schema, len(self.numbers)
        own = schema.missing == "category"
        counts = dict(zip([*schema.numbers, *schema.categories], self.counts, strict=True))
        gaps = [name for name, count in counts.items() if count]
        known_values = [*(sketch.x.size for sketch in self.numbers), *map(len, self.labels)]
        empty = [name for name, size in zip(counts, known_values, strict=True) if not size]
        for name in gaps:
            if own and name in schema.numbers and not self.plan.whole:
                raise InvalidInput(
                    f"column {name!r} holds numbers, and some are missing: in blocks"
                    " missing='category' is for labels, 'impute' and 'drop' for all"
                )
            if name in empty and not own:
                raise nothing_to_impute(name)
        middles = [sketch.mode if self.plan.mode else sketch.median for sketch in self.numbers]
        modes = [
            max(each, key=each.__getitem__) if each and not own else None for each in self.labels
        ]
        note = filled_note(counts, OWN_CATEGORY if own else MODES if self.plan.mode else MEDIANS)
        pairs = zip(self.numbers, self.counts[:p], strict=True)
        off = max((sketch.error / sketch.total for sketch, gone in pairs if gone), default=0.0)
        note += f"; ranks of medians are off by at most {off:.2g}" if note and off else ""
        return Fills(np.array(middles, np.float64), tuple(modes), note)


def _as_matrix(X: Any, checked: bool = False) -> Any:
    """Rows of numbers with two axes, dense or CSR; with `checked` they are finite."""
    if sp.issparse(X):
        rows = sp.csr_array(X)
        return rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    array = as_array(X, "X") if checked else np.asarray(X, np.float64)
    return array[:, None] if array.ndim == 1 else array


def _sketch(column: Column, weight: Vector | None, whole: bool) -> Sketch:
    """The numbers of a column that are not missing."""
    values = column.values
    if column.missing is not None:
        values = values[~column.missing]
        weight = None if weight is None else weight[~column.missing]
    return Sketch.of(values, weight, max(len(values), 1) if whole else None)


def label_weights(levels: Levels, weight: Vector | None) -> dict[Any, float]:
    """The weight of each label."""
    present = levels.codes >= 0
    mass = None if weight is None else weight[present]
    sums = np.bincount(levels.codes[present], mass, len(levels.values))
    return dict(zip(levels.values, sums.astype(np.float64).tolist(), strict=True))


def summed_labels(parts: Sequence[Mapping[Any, float]], name: Any) -> dict[Any, float]:
    """The labels of several blocks in order, each with its weight in all of them."""
    labels = united([list(part) for part in parts], name)
    return {label: math.fsum(part.get(label, 0.0) for part in parts) for label in labels}


def united(levels: Sequence[Sequence[Any]], name: Any) -> npt.NDArray[Any]:
    """All labels of a column, sorted where they can be; too many are refused."""
    labels = {label for part in levels for label in part}
    if len(labels) > MAX_LEVELS:
        fix = Fix("columns", {name: "ignore"})
        text = (
            f"column {name!r} has more than {MAX_LEVELS} different labels; leave it out with {fix}"
        )
        raise InvalidInput(text, fixes=[fix])
    try:
        return objects(sorted(labels))
    except TypeError:  # of different types
        return objects(sorted(labels, key=type_and_text))


def checked_weights(weight: Any, size: int, kept: Indices | None = None) -> Vector | None:
    """Weights that are finite and not negative."""
    if weight is None:
        return None
    array = gathered(weight)
    array = array.to_numpy() if hasattr(array, "to_numpy") else array
    values = as_vector(array, (size,), "sample_weight")
    if values.size and values.min() < 0:
        at = int(values.argmin())
        raise InvalidInput(f"sample_weight must be non-negative, got {values[at]} at index {at}")
    return values if kept is None else values[kept]


def refuse_infinite(matrix: Vector, names: Sequence[Any]) -> None:
    """Refuse the first number that is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = matrix.sum()  # not finite where a number is not, or where many are large
    if not np.isfinite(total) and not np.isfinite(matrix).all():
        row, place = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise InvalidInput(
            f"column {names[place]!r}, row {row}: expected a finite number, got"
            f" {matrix[row, place]}"
        )


def nothing_to_use(
    names: Sequence[Any], ignored: Sequence[Any], notes: Sequence[str]
) -> InvalidInput:
    """The error that all columns were left out."""
    fixes = [Fix("columns", {name: "category"}) for name in ignored[:1]]
    reasons = f": {'; '.join(notes)}; {fixes[0]} takes it" if ignored else ""
    got = quoted(names) if names else "no columns"
    return InvalidInput(f"X has no column to compare{reasons}, got {got}", fixes=fixes)


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
    """Why a column is left out unasked, "" where it is not.

    An error where nobody can tell what it is.

    Texts that are all different, and different whole numbers or texts in a column with a name such
    as id, are identifiers; texts that mostly differ are free text.
    """
    if column.kind == "other":
        fix = Fix("columns", {column.name: "ignore"})
        text = (
            f"column {column.name!r} holds {column.dtype}, which cannot be compared; leave it out"
            f" with {fix}"
        )
        raise InvalidInput(text, fixes=[fix])
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

    >>> [
    ...     is_identifier(name)
    ...     for name in ("id", "customer_id", "CustomerID", "uuid", "grid", "paid", 0)
    ... ]
    [True, True, True, True, False, False, False]
    """
    return isinstance(name, str) and IDENTIFIER.search(name) is not None


def has_distinct_whole_numbers(column: Column) -> bool:
    """Whether the numbers are whole and all different, as far as float64 tells, and there are several."""
    values = column.values[~np.isnan(column.values)]
    if len(values) < 2 or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return float(np.abs(values).max()) > MAX_EXACT or len(np.unique(values)) == len(values)


def constant_note(columns: Sequence[Column]) -> str:
    """Name the columns in which all rows are alike."""
    constant = [c.name for c in columns if c.missing is None and len(set(c.values[:2])) < 2]
    alike = {c.name: bool((c.values == c.values[:1]).all()) for c in columns if c.name in constant}
    constant = [name for name in constant if alike[name]]
    return f"constant: {quoted(constant)}" if constant else ""


def refuse_mixed(column: Column) -> None:
    """Refuse a column with the first text among numbers, or number among texts."""
    levels, codes = column.levels
    if len(set(map(type, levels))) < 2:
        return
    numbers = np.array([isinstance(value, NUMBER) for value in levels], bool)
    if numbers.all() or not numbers.any():
        return
    present = codes[codes >= 0]
    mostly = bool(2 * numbers[present].sum() >= len(present))
    row = int(np.argmax(np.append(numbers != mostly, False)[codes]))
    what, among = ("no number", "numbers") if mostly else ("a number", "texts")
    fixes = [Fix("columns", {column.name: kind}) for kind in ("category", "ignore")]
    raise InvalidInput(
        f"column {column.name!r}, row {row}: {shown(levels[codes[row]])} is {what} among {among};"
        f" mend it, or say {fixes[0]} or {fixes[1]}",
        fixes=fixes,
    )


def as_kind(column: Column, kind: str) -> Column:
    """A column taken as another kind: text is parsed, and what cannot be is refused with its cell."""
    if column.kind == "other":
        raise InvalidInput(f"column {column.name!r} holds {column.dtype}, which cannot be a {kind}")
    if kind == "boolean" and len(column.levels.values) > 2:
        some = shown(column.levels.values[:3].tolist())
        raise InvalidInput(
            f"column {column.name!r} must hold two values to be a boolean, got {some}"
        )
    if kind in (column.kind, "category", "boolean") or column.kind != "category":
        return column
    levels, codes = column.levels
    values = np.append([_parsed(value, kind) for value in levels], np.nan)[codes]
    wrong = np.isnan(values) & (codes >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"column {column.name!r}, row {row}: expected a {kind}, got {shown(levels[codes[row]])}"
        )
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
