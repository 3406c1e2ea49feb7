"""Rows of small codes, read from arrays and tables, in memory or in blocks, and what the codes stand for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_indices,
    as_integer,
    as_numbers,
    is_frame,
    known,
    shown,
)
from ...codes import MOST_CODES, as_table, distinct_rows
from ...result import Result, Status
from ...row_blocks import canonical_rows
from ...tables.column import Column, Table, dropped_note, objects
from ...tables.frames import known_name, positions, quoted, width
from ...tables.schema import Rows, Schema, asked_kinds, checked_weights, left_out, united
from ...tables.source import Block, Source
from .options import DimsOptions

BYTES_PER_ENTRY, BYTES_PER_STATE = 5, 24
"""What an entry of a state takes, and a state beside its entries; merging takes some times as much.
"""
MEMORY_SHARE = 0.125
"""The share of `max_memory` that states may take: merging holds several lists of them."""
HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""
Labels = npt.NDArray[Any]


class DimsPlan(NamedTuple):
    """How rows are read (baskets have no schema), and what may be left out.

    States of more than `most` columns are only counted, and those kept may take `memory` bytes;
    rows in memory have neither limit.
    """

    schema: Schema | None
    most: int | None = None
    memory: float = math.inf


def schema_of(X: Any, options: DimsOptions) -> Schema:
    """The columns that the first rows suggest, or all of them."""
    columns = options.columns
    if options.missing != "error" and not sp.issparse(X):
        X = Table.of(X)
    if options.missing == "category":  # numbers with gaps are labels
        columns = asked_kinds(columns, X.names)
        for column in X.columns:
            if column.kind == "number" and column.missing is not None:
                columns.setdefault(column.name, "category")
    weight = options.sample_weight
    roles = {"sample_weight": weight} if is_frame(X) or isinstance(X, Table) else {}
    return Schema.of(X, columns, roles, options.missing, reason=unasked)


def unasked(column: Column) -> str:
    """Why a column is left out unasked, "" where it is not."""
    if column.name == "":
        return "columns without a name"
    return "dates" if column.kind == "date" else left_out(column)


@dataclass(frozen=True, eq=False)
class DimsSummary:
    """Rows of small codes as states, a CSR table (s, n), with their weights (s,), and what is only counted.

    `names` (n,) are those of the columns or None; `levels` the labels of each column
    whose codes are no numbers.
    `rows` were read, of which `dropped` had missing values. `heavy` is the weight of states that
    use more than `plan.most` columns, which no face holds; `lost` the weight of rare ones that did
    not fit into the memory: any face may hold them.
    """

    table: Any
    weights: Vector
    plan: DimsPlan
    names: list[Any] | None = None
    levels: Mapping[int, Labels] = field(default_factory=dict)
    rows: int = 0
    dropped: int = 0
    heavy: float = 0.0
    lost: float = 0.0
    note: str = ""
    job = "dims"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: DimsPlan) -> "DimsSummary":
        """Read a block."""
        schema: Any = plan.schema
        names = list(schema.table) if is_frame(block.X) else None
        levels: dict[int, Labels] = {}
        if schema.named:
            read = schema.read(block)
            table, levels = coded_rows(read, schema)
            weights, size = read.weight, read.size
        else:
            table = as_table(block.X, "X")
            size = table.shape[0]
            weights = checked_weights(block.weight, size)
        weights = np.ones(table.shape[0]) if weights is None else weights
        dropped = size - table.shape[0]
        return cls(table, weights, plan, names, levels, size, dropped).fold()

    @classmethod
    def merged(cls, parts: Sequence["DimsSummary"]) -> "DimsSummary":
        """Put together the summaries of blocks."""
        if len({part.table.shape[1] for part in parts}) > 1:
            raise InvalidInput(f"all blocks must have {parts[0].table.shape[1]} columns")
        parts = unite_levels(parts)
        counts = ("rows", "dropped", "heavy", "lost")
        return replace(
            parts[0],
            table=sp.csr_array(sp.vstack([part.table for part in parts], format="csr")),
            weights=np.concatenate([part.weights for part in parts]),
            **{name: sum(getattr(part, name) for part in parts) for name in counts},
        ).fold()

    def fold(self) -> "DimsSummary":
        """The distinct states that are to be kept; rows that are all in memory stay as they are."""
        plan = self.plan
        if plan.memory == math.inf:
            return self
        most = self.n if plan.most is None else plan.most
        summary = self.part(np.diff(self.table.indptr) <= most, "heavy")
        if summary.table.shape[0]:
            first, inverse = distinct_rows(summary.table)
            weights = np.bincount(inverse, summary.weights, len(first)).astype(np.float64)
            summary = replace(summary, table=summary.table[first], weights=weights)
        sizes = np.diff(summary.table.indptr) * BYTES_PER_ENTRY + BYTES_PER_STATE
        order = np.argsort(-summary.weights, kind="stable")
        fits = np.ones(len(order), bool)
        fits[order[1:]] = np.cumsum(sizes[order])[1:] <= MEMORY_SHARE * plan.memory
        return summary.part(fits, "lost")

    def part(self, states: npt.NDArray[np.bool_], others: str = "") -> "DimsSummary":
        """The summary with some of the states; the weight of the others is added to a field."""
        if states.all():
            return self
        left = {}
        if others:
            left[others] = getattr(self, others) + float(self.weights[~states].sum())
        table, weights = self.table[np.flatnonzero(states)], self.weights[states]
        return replace(self, table=table, weights=weights, **left)

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    @property
    def lost_share(self) -> float:
        """The share of the rows' weight in states that did not fit into the memory."""
        return self.lost / (float(self.weights.sum()) + self.heavy + self.lost)

    @property
    def unused(self) -> Indices:
        """The columns of the table that are left out."""
        schema = self.plan.schema
        places = range(self.n) if schema is None else schema.places
        return np.setdiff1d(np.arange(self.n), places)

    @property
    def notes(self) -> str:
        """Sentences about columns and rows that were left out."""
        schema = self.plan.schema
        notes = [self.note] if schema is None else [*schema.notes, schema.note]
        if self.dropped:
            notes.append(dropped_note(self.dropped, self.rows))
        return "; ".join(filter(None, notes))

    def labels(self, indices: Indices) -> Any:
        """The names of some columns, as objects; None where there are none."""
        if self.names is None:
            return None
        return objects([self.names[i] for i in indices])

    def label(self, column: int, code: int) -> Any:
        """What a code of a column stands for."""
        labels = self.levels.get(column)
        if labels is None:
            return int(code)
        return labels[code] if code < len(labels) else None

    def origin(self, baseline: Any) -> Indices:
        """The code that counts as absent in each column, (n,)."""
        n, names = self.n, range(self.n) if self.names is None else self.names
        if not isinstance(baseline, str | Mapping):
            return as_codes(baseline, n)
        rule = baseline if isinstance(baseline, str) else "auto"
        known(rule, dict.fromkeys(("auto", "mode", "zero")), "baseline")
        if rule == "zero" and self.levels:
            place = min(self.levels)
            raise InvalidInput(
                f"column {shown(names[place])} holds labels, none of which is zero; give"
                f" baseline='mode', or baseline={{{names[place]!r}: {self.levels[place][0]!r}}}"
                " for one of them"
            )
        moved = {"auto": sorted(self.levels), "mode": list(range(n)), "zero": []}[rule]
        origin = np.zeros(n, np.int64)
        if moved:
            origin[moved] = heaviest_codes(self.table[:, moved], self.weights)
        for name, label in baseline.items() if isinstance(baseline, Mapping) else ():
            known_name(name, names, "baseline")
            place = int(positions([name], list(names), "baseline")[0])
            labels = self.levels.get(place)
            if labels is None:
                what = f"baseline of column {shown(name)}"
                origin[place] = as_integer(label, what, 0, MOST_CODES - 1)
            elif label in labels.tolist():
                origin[place] = labels.tolist().index(label)
            else:
                raise InvalidInput(
                    f"baseline: column {shown(name)} has no label {shown(label)}; it has"
                    f" {quoted(list(labels))}"
                )
        return origin

    def judge(self, result: Result, objective: str) -> Result:
        """A result for the states that were kept, with what is proven of all rows where some were lost."""
        share = self.lost_share
        if objective != "kl":
            raise InvalidInput(
                f"l2 needs all states, but rare ones of share {share:.2g} did not fit into the"
                " memory; raise max_memory"
            )
        value = result.value - math.log1p(-share)
        bound = 0.0
        if result.bound is not None:
            most = math.exp(-result.bound) * (1.0 - share) + share
            bound = min(max(-math.log(min(most, 1.0)), 0.0), value)
        status = Status.FINISHED if result.status is Status.OPTIMAL else result.status
        lost = f"rare states of share {share:.3g} did not fit into the memory; the bound allows for them"
        note = "; ".join(filter(None, (result.note, lost)))
        return replace(result, value=value, bound=bound, status=status, note=note)


def summary_of_rows(source: Source, k: Any, options: DimsOptions) -> DimsSummary:
    """Read rows: all at once where they fit into half of the memory, else block by block."""
    whole = source.whole(options.max_memory // 2)
    if whole is not None:
        named = is_frame(whole.X)
        if not named and (options.missing == "error" or sp.issparse(whole.X)):
            whole = whole._replace(X=as_table(whole.X, "X"))
        schema = schema_of(whole.X, options)
        if schema.named and not named:
            whole = whole._replace(X=Table.of(whole.X))
        return DimsSummary.of(whole, DimsPlan(schema.filled(whole, "dims", mode=True, whole=True)))
    rows = canonical_rows(width(source.head(HEAD_ROWS).X))
    head = source.head(rows).X
    schema = schema_of(head, options).filled(source, "dims", rows, mode=True)
    most = None if schema.categories else most_used(k, options)
    plan = DimsPlan(schema, most, options.max_memory)
    return source.fold("dims-1", DimsSummary.of, plan, DimsSummary.merged, rows)


def most_used(k: Any, options: DimsOptions) -> int | None:
    """How many columns a state may use to be kept: k where only the share covered counts, and absent is zero."""
    counted = options.objective == "kl" and options.units is None and options.costs is None
    from_zero = isinstance(options.baseline, str) and options.baseline in ("auto", "zero")
    return k if counted and from_zero and isinstance(k, int) else None


def coded_rows(read: Rows, schema: Schema) -> tuple[Any, dict[int, Labels]]:
    """Rows as a CSR table of codes, zero in columns that are not used, and the labels of some columns."""
    codes = np.zeros((len(read.numbers), len(schema.table)), np.int32)
    pairs = list(zip(schema.places, schema.kinds, strict=True))
    numbers = [place for place, kind in pairs if kind != "category"]
    labelled = [place for place, kind in pairs if kind == "category"]
    right = are_codes(read.numbers)
    if not right.all():
        row, j = (int(i) for i in np.argwhere(~right)[0])
        name, at = schema.numbers[j], row if read.kept is None else int(read.kept[row])
        ignored, labels = (Fix("columns", {name: kind}) for kind in ("ignore", "category"))
        raise InvalidInput(
            f"column {shown(name)}, row {at}: expected a small whole number, a label or a truth"
            f" value, got {read.numbers[row, j]:g}; {ignored} leaves it out, {labels} takes it as"
            " labels",
            fixes=[ignored, labels],
        )
    codes[:, numbers] = read.numbers
    for place, (_, own) in zip(labelled, read.categories, strict=True):
        codes[:, place] = own
    levels = [labels for labels, _ in read.categories]
    return sp.csr_array(codes), dict(zip(labelled, levels, strict=True))


def are_codes(values: Vector) -> npt.NDArray[np.bool_]:
    """Which numbers are small, whole and not negative."""
    with np.errstate(invalid="ignore"):
        codes = values.astype(np.int32)
    return np.asarray((codes == values) & (codes >= 0))


def largest_codes(table: Any) -> Indices:
    """The largest code of each column of a CSR table, (n,)."""
    largest = np.zeros(table.shape[1], table.data.dtype)  # of the data's type, for a fast loop
    np.maximum.at(largest, table.indices, table.data)
    return largest.astype(np.int64)


def heaviest_codes(table: Any, weights: Vector) -> Indices:
    """The code of largest weight in each column; of equals the smallest.

    >>> heaviest_codes(as_table([[2, 1], [0, 1], [2, 0], [0, 1]]), np.ones(4)).tolist()
    [0, 1]
    """
    columns, total = table.tocsc(), float(weights.sum())
    heaviest = np.zeros(table.shape[1], np.int64)
    for j, (start, stop) in enumerate(pairwise(columns.indptr)):
        codes, inverse = np.unique(columns.data[start:stop], return_inverse=True)
        masses = np.bincount(inverse, weights[columns.indices[start:stop]], len(codes))
        most = masses.max(initial=0.0)
        if most > total - masses.sum() + 1e-12 * total:
            heaviest[j] = codes[np.argmax(masses >= most - 1e-12 * total)]
    return heaviest


def as_codes(baseline: Any, n: int) -> Indices:
    """A code for each column."""
    codes = as_numbers(baseline, "baseline")
    if codes.shape != (n,) or codes.dtype.kind not in "iub":
        raise InvalidInput(
            f"baseline must be 'zero', 'mode' or {n} non-negative integers, got {codes.dtype} of"
            f" shape {codes.shape}"
        )
    return as_indices(codes, MOST_CODES, "baseline", "codes")


def replace_columns(table: Any, columns: Indices, dense: Any) -> Any:
    """A CSR table with other codes, dense (rows, columns), in some columns."""
    if not len(columns):
        return table
    rest = np.setdiff1d(np.arange(table.shape[1]), columns)
    parts = [sp.csc_array(table, dtype=np.int64)[:, rest], sp.csc_array(dense)]
    order = np.argsort(np.concatenate([rest, columns]))
    return as_table(sp.csr_array(sp.hstack(parts, format="csc")[:, order]))


def unite_levels(parts: Sequence[DimsSummary]) -> Sequence[DimsSummary]:
    """Summaries whose codes stand for the same labels."""
    schemas: list[Any] = [part.plan.schema for part in parts]
    if any((s.names, s.kinds) != (schemas[0].names, schemas[0].kinds) for s in schemas if s):
        raise InvalidInput(
            "all blocks must have the same columns of the same kinds; say what they are by columns="
        )
    changed: dict[int, Labels] = {}
    for place, labels in parts[0].levels.items():
        several = [part.levels[place].tolist() for part in parts]
        if any(labels.tolist() != others for others in several):
            known_labels = [[x for x in each if x is not None] for each in several]
            none = [None] if any(None in each for each in several) else []
            changed[place] = objects([*united(known_labels, schemas[0].table[place]), *none])
    return [relabel(part, changed) for part in parts] if changed else parts


def relabel(part: DimsSummary, levels: Mapping[int, Labels]) -> DimsSummary:
    """A summary with other labels of some columns; labels not among these are one more code."""
    columns = sorted(levels)
    dense = part.table[:, columns].toarray()
    for j, place in enumerate(columns):
        code = {label: at for at, label in enumerate(levels[place])}
        numbers = np.array([code.get(label, len(code)) for label in part.levels[place]], np.int64)
        dense[:, j] = numbers[dense[:, j]]
    table = replace_columns(part.table, np.array(columns, np.int64), dense)
    return replace(part, table=table, levels={**part.levels, **levels})
