"""Rows as users hand them in, checked and encoded: those of X, and below them those of another target."""

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
    as_weights,
    gathered,
    is_frame,
    library_of,
    read,
    shown,
)
from ...bandwidths import largest
from ...codes import as_csr
from ...similarity import require_semidefinite, similarity_of
from ...tables.column import Column, Table, below, below_array, role
from ...tables.encode import Encoding, encoded
from ...tables.frames import height, is_table
from ...tables.missing import refuse_missing
from ...tables.schema import RULES, Schema
from ...tables.source import Block
from .options import GROUP_LIMITS, PointsOptions
from .sample import Sample

MAX_FLOAT_CLASSES, MIN_ROWS_PER_FLOAT_CLASS = 20, 10
"""Different floats beyond which they are no labels where they have fractions, or fewer rows for
each than this."""
PRECISIONS = (np.float32, np.float64)
ROLES = ("labels", "sample_weight", "groups", "units")
"""Options that may name a column of a table, which is then not compared."""
OF_ROWS = ("labels", "sample_weight")
"""Those of them whose missing values are treated with the row's."""
SHAPE = "X must have shape (rows, columns) with at least one of each, got"


@dataclass(frozen=True, eq=False)
class RowInput:
    """Encoded rows (M, d) of X and, below these, of another target, which rows they are, and how they were encoded.

    `kept` (M,) are positions among the `size` rows of both, None where these are all. `labels` (M,)
    are codes of `classes`, `weights` (M,) belong to the rows, `top` is the largest |x_ij|. Of a
    target `mass` (others,) are the weights of all its rows.
    """

    rows: Any
    size: int
    top: float | None = None
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    weights: Any = None
    kept: Indices | None = None
    encoding: Encoding | None = None
    notes: tuple[str, ...] = ()
    mass: Vector | None = None

    @property
    def others(self) -> int:
        """The number of rows of the target where it is another set."""
        return 0 if self.mass is None else len(self.mass)

    @property
    def n(self) -> int:
        """The number of rows of X."""
        return self.size - self.others

    def at(self, rows: Indices, name: str) -> Indices:
        """Find where rows of X, which an option names, are among those that are compared."""
        if self.kept is None:
            return rows
        at = np.minimum(np.searchsorted(self.kept, rows), len(self.kept) - 1)
        gone = rows[self.kept[at] != rows]
        if gone.size:
            raise InvalidInput(
                f"{name} names row {gone[0]}, which is left out: it has a missing value"
            )
        return at

    def split(self, sample: Sample) -> tuple[Sample, Sample]:
        """Split a sample into the rows to choose from and those to stand for: twice itself without a target."""
        if self.mass is None:
            return sample, sample
        first = sample.at(np.arange(len(sample.weights)))
        own = sample.take(np.flatnonzero(first < self.n))
        target = sample.take(np.flatnonzero(first >= self.n))
        for part, name in ((own, "X"), (target, "the target")):
            if not len(part.weights):
                fix = Fix("missing", "drop")
                raise InvalidInput(f"{fix} leaves no row of {name}", fixes=[fix])
        mass = (
            self.mass if self.kept is None else self.mass[self.kept[self.kept >= self.n] - self.n]
        )
        total = float(mass.sum())
        return own.as_shares(self.n, total), target.as_shares(self.others, total)


def read_rows(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read the rows of X, and of another target, as their similarity compares them.

    `scales` says if that is scaled.
    """
    if options.target is not None:
        return _read_both(X, options, scales)
    if not options.precomputed:
        return _read(X, options, scales)
    if options.columns is not None or options.missing != "error":
        raise InvalidInput("columns and missing are about rows, got similarity='precomputed'")
    rows = np.arange(len(as_gram(X)))[:, None]
    return _with_labels(RowInput(rows, len(rows), weights=options.sample_weight), options.labels)


def is_encoded(X: Any, options: PointsOptions) -> bool:
    """Whether X goes column by column: a table does, and an array where columns or missing values are spoken of."""
    if is_frame(X) or isinstance(X, Table):
        return True
    if options.columns is None and options.missing == "error":
        return False
    if sp.issparse(X):
        raise InvalidInput(
            f"columns and missing are for tables and dense arrays, got a {type(X).__name__}"
        )
    return True


def _read(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read rows; labels and weights that are columns belong to them."""
    sparse = similarity_of(options.similarity).sparse
    labels: Any = options.labels
    weights: Any = options.sample_weight
    if not is_encoded(X, options):
        for option in ROLES:
            role(X, getattr(options, option), option)
        rows, top = finite_rows(X, sparse)
        return _with_labels(RowInput(rows, rows.shape[0], top, weights=weights), labels)
    table = Table.of(X)
    if 0 in table.shape:
        raise InvalidInput(f"{SHAPE} {table.shape}")
    source = table if is_frame(X) else X
    columns = {option: role(source, getattr(options, option), option) for option in ROLES}
    named = {option: column for option, column in columns.items() if column is not None}
    own = {option: column.name for option, column in named.items() if option in OF_ROWS}
    table_rows = encoded(
        Block(table, None, None if "sample_weight" in named else weights),
        options.columns,
        own,
        options.missing,
        without=[column.name for option, column in named.items() if option not in OF_ROWS],
        equality=isinstance(options.similarity, str) and options.similarity == "hamming",
        sparse=sparse,
        shifts=scales,
    )
    rows, top = finite_rows(table_rows.encoded, sparse)
    read, notes = table_rows.rows, tuple(table_rows.notes)
    entry = RowInput(rows, table.rows, top, None, None, read.weight, read.kept, notes=notes)
    return _with_labels(
        replace(entry, encoding=table_rows.encoding), named.get("labels", options.labels)
    )


def _read_both(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read the rows of X and of the target as one.

    Weights are such that rows of both count alike, on average.
    """
    labels, weight, own_weight = options.labels, options.sample_weight, options.target_weight
    if labels is not None and not isinstance(labels, str):
        raise InvalidInput(
            "labels beside a target must name a column that X and the target have, got an array for"
            " X alone"
        )
    target, columns = gathered(options.target), options.columns
    notes: tuple[str, ...] = ()
    if is_frame(X) != is_frame(target) or library_of(X) != library_of(target):
        container = f"a table of {library_of(X)}" if is_frame(X) else "an array"
        raise InvalidInput(
            f"target must be {container} as X is, got {shown(type(target).__name__)}"
        )
    if is_frame(X):
        here, there = Table.of(X), Table.of(target)
        named = [getattr(options, option) for option in ROLES]
        without = [name for name in named if isinstance(name, str)]
        schema = Schema.of(here, columns, without=without)
        columns, notes = dict(zip(schema.names, schema.kinds, strict=True)), schema.notes
        if options.missing == "error":
            try:
                refuse_missing([c for c in there.columns if c.name in columns], RULES[1:])
            except InvalidInput as error:
                raise error.at("target") from None
        weight = _values(here, weight, "sample_weight")
        own_weight = _values(there, own_weight, "target_weight")
        names = [*columns, *([] if labels is None else [labels])]
        both = below(X, target, names, "target")
    else:
        both = below_array(X, target, "target", options.missing != "error")
    m = height(target)
    n = height(both) - m
    pooled = None
    if weight is not None or own_weight is not None:
        parts = (weight, n, "sample_weight"), (own_weight, m, "target_weight")
        pooled = np.concatenate(
            [np.ones(c) if w is None else c * as_weights(w, c, name) for w, c, name in parts]
        )
    beside = dict.fromkeys(("target", "target_weight", "groups", *GROUP_LIMITS, "units"))
    read_as = options.replace(columns=columns, sample_weight=pooled, **beside)
    entry = _read(both, read_as, scales)
    mass = np.ones(m) if own_weight is None else np.asarray(own_weight, np.float64)
    return replace(entry, mass=mass, notes=(*notes, *entry.notes))


def _values(table: Table, weight: Any, option: str) -> Any:
    """Return weights, or those in the column that is named."""
    column = role(table, weight, option)
    return weight if column is None else column.values


def finite_rows(X: Any, sparse: bool = True) -> tuple[Any, float]:
    """Return X as finite rows (N, d) and the largest |x_ij|: float32 and float64 stay so, CSR where it is sparse."""
    if sp.issparse(X):
        if not sparse:
            raise InvalidInput(
                "this similarity needs dense rows, got a sparse matrix; use rbf, matern, cosine or"
                " linear"
            )
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise InvalidInput(
                f"X must hold real numbers in shape (rows, columns), got a sparse {X.dtype} of"
                f" shape {X.shape}"
            )
        rows = as_csr(X, "X")
        rows = rows if rows.dtype in PRECISIONS and rows.dtype.isnative else rows.astype(np.float64)
    else:
        rows = as_numbers(X, "X")
        if rows.ndim != 2:
            raise InvalidInput(f"{SHAPE} {rows.shape}")
        with np.errstate(over="ignore"):  # a longdouble beyond float64 is met below
            narrow = rows.dtype if rows.dtype in PRECISIONS else np.float64
            rows = np.ascontiguousarray(rows, narrow)
    if 0 in rows.shape:
        raise InvalidInput(f"{SHAPE} {rows.shape}")
    with np.errstate(invalid="ignore"):
        top = largest(rows)
    if not np.isfinite(top):
        raise InvalidInput("X must be finite, got NaN or infinity")
    return rows, top


def as_gram(X: Any) -> Any:
    """Return X as a symmetric positive semi-definite matrix of similarities (N, N)."""
    gram, top = finite_rows(X, sparse=False)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(
            f"precomputed similarities must be square (rows, rows), got {gram.shape}"
        )
    top = max(top, 1e-300)
    parts = (slice(a, a + 256) for a in range(0, len(gram), 256))
    skew = max(float(np.abs(gram[part] / top - gram[:, part].T / top).max()) for part in parts)
    if skew > 1e-6:
        raise InvalidInput(
            f"precomputed similarities must be symmetric, got entries {skew * top:.3g} from their"
            " mirror"
        )
    require_semidefinite(gram, "precomputed similarities")
    return gram


def _with_labels(entry: RowInput, y: Any) -> RowInput:
    """Add the codes of labels of all rows, of which some are kept."""
    if y is None:
        return entry
    classes, codes = as_labels(y, entry.size, entry.kept)
    return replace(entry, labels=codes, classes=classes)


def as_labels(y: Any, size: int, kept: Indices | None = None) -> tuple[npt.NDArray[Any], Indices]:
    """Return the classes of labels of so many rows, sorted, and the code of each row that is kept."""
    some: Any = slice(None) if kept is None else kept
    if is_table(y) and not is_frame(y):
        y = Table.of(y).columns[0]
    whole = False
    if isinstance(y, Column):
        classes, every = y.levels
        whole = y.dtype.lower().lstrip("u").startswith("int")  # classes, as in arrays
        count, codes = len(every), every[some]
        if (codes < 0).any():
            raise InvalidInput(
                f"labels must not be missing, got one missing in row {int(np.argmin(codes))}"
            )
    else:
        labels = read(y, "labels")
        count = len(labels) if labels.ndim == 1 else -1
        labels = labels[some] if count == size else labels
        whole = labels.dtype.kind in "iub"
        if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
            raise InvalidInput("labels must not hold NaN or infinity")
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except Exception:  # labels are any objects, and so is what comparing them raises
            raise InvalidInput(
                f"labels must be such that they can be sorted, got {shown(labels[:3].tolist())}"
            ) from None
    if count != size:
        raise InvalidInput(f"labels must have one label for each of the {size} rows, got {count}")
    if classes.dtype.kind == "f" and not whole:
        refuse_continuous(classes, size)
    return classes, codes.reshape(-1).astype(np.int64)


def refuse_continuous(classes: Vector, size: int) -> None:
    """Refuse numbers that are no labels: not finite, or many different ones, with fractions or few rows for each."""
    if not np.isfinite(classes).all():
        raise InvalidInput("labels must not hold NaN or infinity")
    fractions = bool((classes != np.floor(classes)).any())
    if len(classes) > MAX_FLOAT_CLASSES and (
        fractions or MIN_ROWS_PER_FLOAT_CLASS * len(classes) > size
    ):
        raise InvalidInput(
            f"labels must be classes, got {len(classes)} different numbers such as {classes[0]:g}"
            f" and {classes[1]:g} in {size} rows; drop labels, or bin them first"
        )
