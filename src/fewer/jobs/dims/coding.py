"""What dims is asked about: rows of small codes, from a table with labels, from baskets or from arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_numbers,
    as_vector,
    gathered,
    known,
    shown,
)
from ...codes import MOST_CODES
from ...tables.baskets import baskets_of
from ...tables.column import Column, Table, column_beside
from ...tables.frames import is_table
from ...tables.missing import (
    dropped_note,
    filled_note,
    missing_count,
    nothing_to_impute,
    refuse_missing,
    whole_rows,
)
from ...tables.names import known_name, positions, quoted, refuse_twins
from ...tables.schema import RULES, as_kind, left_out, told_kinds
from .column_units import ColumnUnits, as_costs
from .options import DimsOptions
from .rows import heaviest_codes

FILLED = {
    "error": "",
    "impute": "replaced by the most frequent of their column",
    "category": "taken as a category of their own",
}
"""What was done about missing values that stay."""
READ_AS_IT_IS = (None, "ignore", "category")
"""What columns may be told to be without being converted."""


@dataclass(frozen=True, eq=False)
class Coding:
    """Rows of codes `X` (N, n), and what they stand for: columns are those of the table, in its order.

    `levels` are the labels of each column, None where codes are numbers themselves; `baseline` the
    code that counts as absent in each column, or a rule for it. Columns that are left out are zero,
    `ignored` and among `exclude`. `units` are chosen whole, None where each column is one; `costs`
    (U,) what they cost, None where they are counted.
    """

    X: Any
    names: list[Any] | None = None
    levels: list[npt.NDArray[Any] | None] | None = None
    baseline: Any = "zero"
    include: Any = ()
    exclude: Any = ()
    sample_weight: Any = None
    note: str = ""
    ignored: frozenset[int] = frozenset()
    units: ColumnUnits | None = None
    costs: Vector | None = None

    @classmethod
    def of(cls, X: Any, options: DimsOptions, names: list[Any] | None = None) -> "Coding":
        """Rows of X as codes, with what the options say of columns; `names` are those of an array."""
        coded = cls.coded(X, options)
        coded = coded if names is None else replace(coded, names=names)
        units, costs, include, exclude = (
            options.units,
            options.costs,
            options.include,
            options.exclude,
        )
        grouped = paid = None
        if units is not None:
            grouped = ColumnUnits.of(units, coded.names, coded.n, coded.ignored)
            include, exclude = (
                grouped.expanded(include, coded.names),
                grouped.expanded(exclude, coded.names),
            )
        if costs is not None:
            paid = as_costs(costs, coded.names, coded.n, grouped, coded.ignored)
        held, never = (
            positions(include, coded.names, "include"),
            positions(exclude, coded.names, "exclude"),
        )
        clash = [i for i in held if i in coded.ignored] if coded.ignored else []
        if clash:
            name = shown((coded.names or [])[clash[0]])
            raise InvalidInput(f"include: the column {name} is left out; columns= may take it in")
        if len(coded.exclude):
            never = np.union1d(never, coded.exclude)
        return replace(coded, include=held, exclude=never, units=grouped, costs=paid)

    @property
    def n(self) -> int:
        """The number of columns."""
        if self.names is not None:
            return len(self.names)
        return int(_two_dimensional(self.X).shape[1])

    @classmethod
    def coded(cls, X: Any, options: DimsOptions) -> "Coding":
        """The rows as codes; arrays and sparse matrices without missing values pass as they are."""
        baseline, missing, columns = options.baseline, options.missing, options.columns
        order, item, sample_weight = options.order, options.item, options.sample_weight
        if order is not None:
            found = baskets_of(_long(X), order, item, missing)
            return cls(
                found.table,
                found.names,
                None,
                named_baseline(baseline, found.names),
                note=found.note,
            )
        if not is_table(X):
            if columns is not None:
                raise InvalidInput(f"columns are those of a table, but X is {type(X).__name__}")
            if missing == "error" or sp.issparse(X):
                rule = "zero" if isinstance(baseline, str) and baseline == "auto" else baseline
                return cls(X, None, None, rule, sample_weight=sample_weight)
            table = Table.of(_two_dimensional(X))
            return _Coder(table, None, {}, sample_weight, missing).coded(baseline)
        X = gathered(X)
        table = Table.of(X)
        names = table.names
        refuse_twins(names)
        weight, at = column_beside(X, sample_weight, "sample_weight")
        kinds = told_kinds(columns, names) | ({} if at is None else {names[at]: "ignore"})
        return _Coder(table, names, kinds, weight, missing).coded(baseline)

    def labels(self, indices: Indices) -> Any:
        """The names of some columns, as objects; None where there are none."""
        if self.names is None:
            return None
        found = np.empty(len(indices), object)
        found[:] = [self.names[i] for i in indices]
        return found

    def label(self, column: int, code: int) -> Any:
        """What a code of a column stands for."""
        levels = None if self.levels is None else self.levels[column]
        if levels is None:
            return int(code)
        return levels[code] if code < len(levels) else None

    def again(self, X: Any) -> Any:
        """The rows of another table with these columns as codes, a CSR array; a label not met before is no baseline."""
        table = Table.of(X)
        columns, names = table.columns, table.names
        if names != self.names or self.levels is None:
            raise InvalidInput(
                f"X must have the columns {quoted(self.names or [])}, got {quoted(names)}"
            )
        parts = {
            i: _recoded(columns[i], self.levels[i])
            for i in range(len(names))
            if i not in self.ignored
        }
        return stacked(parts, table.rows, len(names))


def _recoded(column: Column, levels: npt.NDArray[Any] | None) -> Indices:
    """Codes by labels that are known; any other is one more."""
    if levels is None:
        return whole_numbers(column) % MOST_CODES  # what is missing becomes the largest code
    code = {level: at for at, level in enumerate(levels)}
    of_level = np.array(
        [
            *(code.get(level, len(levels)) for level in column.levels.values),
            code.get(None, len(levels)),
        ]
    )
    return np.asarray(of_level[column.levels.codes], np.int64)


def _long(X: Any) -> Any:
    """X, if it is a table with lines of orders."""
    if not is_table(X):
        raise InvalidInput(f"order and item name columns of a table, but X is {type(X).__name__}")
    return X


def _two_dimensional(X: Any) -> Any:
    """X as an array (N, n), or sparse as it is."""
    array = X if sp.issparse(X) else as_numbers(X, "X")
    if len(array.shape) != 2 or 0 in array.shape:
        raise InvalidInput(
            f"X must be a table (N, n) with at least one row and one column, got shape {array.shape}"
        )
    return array


def named_baseline(baseline: Any, names: Sequence[Any]) -> Any:
    """A baseline for columns of numbers: a rule, codes, or a mapping of names to codes.

    >>> named_baseline({"b": 2}, ["a", "b"]).tolist(), named_baseline("auto", ["a", "b"])
    ([0, 2], 'zero')
    """
    if not isinstance(baseline, Mapping):
        return "zero" if isinstance(baseline, str) and baseline == "auto" else baseline
    codes = np.zeros(len(names), np.int64)
    for name, code in baseline.items():
        codes[positions([name], names, "baseline")] = code
    return codes


class _Coder:
    """Columns on their way to codes: which are left out and why, which rows are dropped, labels and baselines."""

    def __init__(
        self,
        table: Table,
        names: list[Any] | None,
        told: Mapping[Any, str],
        weight: Any,
        missing: str,
    ) -> None:
        if 0 in table.shape:
            raise InvalidInput(
                f"X must have at least one row and one column, got shape {table.shape}"
            )
        columns, rows = table.columns, table.rows
        self.rows, self.n, self.names, self.missing = rows, len(columns), names, missing
        self.columns = [
            column if told.get(column.name) in READ_AS_IT_IS else as_kind(column, told[column.name])
            for column in columns
        ]
        self.labelled = {
            i for i, c in enumerate(self.columns) if told.get(c.name, c.kind) == "category"
        }
        self.why: dict[int, str] = {}
        for i, column in enumerate(columns):
            if column.name not in told:
                reason = self._reason(column)
                self.why |= {i: reason} if reason else {}
        self.ignored = frozenset(
            {*self.why, *(i for i, c in enumerate(columns) if told.get(c.name) == "ignore")}
        )
        self.used = [i for i in range(self.n) if i not in self.ignored]
        if not self.used:
            raise InvalidInput("X has no column of labels or small whole numbers")
        self.given = None if weight is None else as_vector(weight, (rows,), "sample_weight")

    def _reason(self, column: Column) -> str:
        """Why a column is left out unasked, "" where it is not."""
        if self.names is None:
            return ""
        nameless = "columns without a name" if column.name == "" else ""
        return nameless or ("dates" if column.kind == "date" else left_out(column))

    def coded(self, baseline: Any) -> Coding:
        """The rows as codes."""
        kept, note = self._kept()
        weight = None if self.given is None else self.given[kept]
        levels: list[npt.NDArray[Any] | None] = [None] * self.n
        parts: dict[int, Indices] = {}
        for i in self.used:
            parts[i], levels[i] = self._codes(i, kept)
        origin = self._baselines(baseline, parts, levels, weight)
        table = stacked(parts, len(kept), self.n)
        left = [
            f"{reason} left out: {quoted(self._called(reason))}"
            for reason in dict.fromkeys(self.why.values())
        ]
        notes = "; ".join(filter(None, [note, *left]))
        without = np.array(sorted(self.ignored), np.int64)
        return Coding(table, self.names, levels, origin, (), without, weight, notes, self.ignored)

    def _called(self, reason: str) -> list[Any]:
        return [self.columns[i].name for i, why in self.why.items() if why == reason]

    def _kept(self) -> tuple[Indices, str]:
        """The rows in use, and what is to be said of the others."""
        used = [self.columns[i] for i in self.used]
        if self.missing == "error":
            refuse_missing(used, RULES[1:], ignorable=self.names is not None)
        if self.missing != "drop":
            counts = {column.name: missing_count(column) for column in used}
            return np.arange(self.rows), filled_note(counts, FILLED[self.missing])
        whole = whole_rows(used, self.rows)
        kept = np.arange(self.rows) if whole is None else whole
        return kept, dropped_note(self.rows - len(kept), self.rows)

    def _codes(self, i: int, kept: Indices) -> tuple[Indices, npt.NDArray[Any] | None]:
        """The codes of a column, and its labels where codes are not the numbers themselves."""
        column = self.columns[i]
        if i in self.labelled:
            levels: npt.NDArray[Any] | None = column.levels.values
            codes, last = column.levels.codes[kept], len(column.levels.values)
        else:
            codes, levels = whole_numbers(column)[kept], None
            last = int(codes.max(initial=-1)) + 1
        gone = codes < 0
        if gone.any() and self.missing == "impute":
            present = codes[~gone]
            if not present.size:
                raise nothing_to_impute(column.name)
            codes = np.where(gone, np.bincount(present).argmax(), codes)
        elif gone.any():
            codes = np.where(gone, last, codes)
            levels = np.array([*(range(last) if levels is None else levels), None], object)
        return codes, levels

    def _baselines(
        self, baseline: Any, parts: Mapping[int, Indices], levels: Sequence[Any], weight: Any
    ) -> Any:
        """The code that counts as absent in each column."""
        told = baseline if isinstance(baseline, Mapping) else {}
        rule = "auto" if isinstance(baseline, Mapping) else baseline
        if not isinstance(rule, str):
            return rule
        known(rule, dict.fromkeys(("auto", "mode", "zero")), "baseline")
        place = {self.columns[i].name: i for i in range(self.n)}
        for name in told:
            known_name(name, list(place), "baseline")
        origin = np.zeros(self.n, np.int64)
        for i, codes in parts.items():
            name = self.columns[i].name
            if name in told:
                origin[i] = self._named(name, told[name], levels[i])
            elif rule == "mode" or (rule == "auto" and i in self.labelled):
                origin[i] = most_frequent(codes, weight)
            elif i in self.labelled:
                raise InvalidInput(
                    f"column {shown(name)} holds labels, none of which is zero; give baseline='mode', or "
                    f"baseline={{{name!r}: {levels[i][0]!r}}} for one of them"
                )
        return origin

    def _named(self, name: Any, label: Any, levels: Any) -> int:
        """The code of a label."""
        if levels is None:
            whole = isinstance(label, (int, np.integer)) or (
                isinstance(label, float) and label.is_integer()
            )
            if whole and 0 <= label < MOST_CODES:
                return int(label)
            raise InvalidInput(
                f"baseline of column {shown(name)} must be a whole number, got {shown(label)}"
            )
        found = [code for code, level in enumerate(levels) if level == label]
        if not found:
            raise InvalidInput(
                f"baseline: column {shown(name)} has no label {shown(label)}; it has {quoted(levels)}"
            )
        return found[0]


def whole_numbers(column: Column) -> Indices:
    """A column of small whole numbers as codes, -1 where missing."""
    values = column.values
    gone = np.isnan(values)
    with np.errstate(invalid="ignore"):
        right = gone | ((values >= 0) & (values == np.floor(values)) & (values < MOST_CODES))
    if not right.all():
        row = int(np.argmin(right))
        ignored, labels = (Fix("columns", {column.name: kind}) for kind in ("ignore", "category"))
        raise InvalidInput(
            f"column {shown(column.name)}, row {row}: expected a small whole number, a label or a truth value, got "
            f"{values[row]:g}; {ignored} leaves it out, {labels} takes it as labels",
            fixes=[ignored, labels],
        )
    return np.where(gone, -1, values).astype(np.int64)


def most_frequent(codes: Indices, weight: Vector | None) -> int:
    """The code of largest weight; of equals the smallest.

    >>> most_frequent(np.array([2, 0, 2, 0]), None), most_frequent(np.array([2, 0, 2]), np.array([1.0, 3.0, 1.0]))
    (0, 0)
    """
    table = sp.csr_array(codes[:, None])
    weights = np.full(len(codes), 1.0 / len(codes)) if weight is None else weight / weight.sum()
    return int(heaviest_codes(table, weights)[0])


def stacked(parts: Mapping[int, Indices], rows: int, n: int) -> Any:
    """Columns of codes side by side as a CSR array (rows, n); those not given are zero."""
    used = {i: np.flatnonzero(codes) for i, codes in parts.items()}
    indices = np.concatenate([used[i] for i in sorted(used)]).astype(np.int32)
    data = np.concatenate([parts[i][used[i]] for i in sorted(used)]).astype(np.int32)
    sizes = np.zeros(n + 1, np.int64)
    sizes[np.array(sorted(used)) + 1] = [len(used[i]) for i in sorted(used)]
    return sp.csr_array(sp.csc_array((data, indices, np.cumsum(sizes)), shape=(rows, n)))
