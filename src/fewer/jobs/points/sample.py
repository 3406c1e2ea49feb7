"""Rows as they are handed in, dense or sparse: checked, equal ones merged, weightless ones left out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_numbers,
    as_weights,
    is_frame,
    read,
    shown,
    unmasked,
)
from ...bandwidths import largest
from ...codes import as_csr
from ...deadline import Deadline
from ...lazy_rows import some_rows
from ...similarity import require_semidefinite
from ...tables.column import Column, Table
from ...tables.frames import is_table
from .merge import merged, seconds_for

MERGING_TIME_SHARE = 0.2
"""The share of a time limit that looking for equal rows may take."""
MIN_MERGING_SECONDS = 0.05
"""Seconds that it may take under any time limit."""
MAX_FLOAT_CLASSES, MIN_ROWS_PER_FLOAT_CLASS = 20, 10
"""Different floats beyond which they are no labels where they have fractions, or fewer rows for each than this."""
PRECISIONS = (np.float32, np.float64)


def as_rows(X: Any, sparse: bool = True) -> Any:
    """X as finite rows (N, d); see `rows_and_top`."""
    return rows_and_top(X, sparse)[0]


def rows_and_top(X: Any, sparse: bool = True) -> tuple[Any, float]:
    """X as finite rows (N, d) and the largest |x_ij|: float32 and float64 stay so, CSR where it is sparse.

    X itself is never changed.
    """
    if sp.issparse(X):
        if not sparse:
            raise InvalidInput(
                "this similarity needs dense rows, got a sparse matrix; use rbf, matern, cosine or linear"
            )
        rows = _as_csr(X)
    else:
        rows = as_numbers(X, "X")
        if rows.ndim != 2:
            raise InvalidInput(
                f"X must have shape (rows, columns) with at least one of each, got {rows.shape}"
            )
        with np.errstate(over="ignore"):  # a longdouble beyond float64 is met below
            rows = np.ascontiguousarray(
                rows, rows.dtype if rows.dtype in PRECISIONS else np.float64
            )
    if 0 in rows.shape:
        raise InvalidInput(
            f"X must have shape (rows, columns) with at least one of each, got {rows.shape}"
        )
    with np.errstate(invalid="ignore"):
        top = largest(rows)
    if not np.isfinite(top):
        raise InvalidInput("X must be finite, got NaN or infinity")
    return rows, top


def _as_csr(X: Any) -> Any:
    """Any sparse matrix as CSR of real numbers, in order and without repeated entries."""
    if X.ndim != 2:
        raise InvalidInput(
            f"X must have shape (rows, columns), got a sparse array of shape {X.shape}"
        )
    if X.dtype.kind not in "fiub":
        raise InvalidInput(f"X must hold real numbers, got a sparse matrix of dtype {X.dtype}")
    rows = as_csr(X, "X")
    return rows if rows.dtype in PRECISIONS and rows.dtype.isnative else rows.astype(np.float64)


def as_gram(X: Any) -> Any:
    """X as a symmetric positive semi-definite matrix of similarities (N, N)."""
    gram = as_rows(X, sparse=False)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(
            f"precomputed similarities must be square (rows, rows), got {gram.shape}"
        )
    top = max(largest(gram), 1e-300)
    skew = max(
        float(np.abs(gram[a : a + 256] / top - gram[:, a : a + 256].T / top).max())
        for a in range(0, len(gram), 256)
    )
    if skew > 1e-6:
        raise InvalidInput(
            f"precomputed similarities must be symmetric, got entries {skew * top:.3g} from their mirror"
        )
    require_semidefinite(gram, "precomputed similarities")
    return gram


@dataclass(frozen=True, eq=False)
class Sample:
    """The distinct rows with weight: `rows` (M, d), `weights` (M,) of sum 1, `first` (M,) their indices in X.

    `labels` (M,) are codes of `classes`, or None. Equal rows with different labels are different.
    `size` is len(X); `first` None means all rows of X. `note` says what was left undone; `top` is
    the largest |x_ij|, where known; `total` is what the weights are shares of.
    """

    rows: Any
    weights: Vector
    first: Indices | None
    size: int
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    note: str = ""
    top: float | None = None
    total: float = 0.0
    apart: Indices | None = None

    @property
    def kinds(self) -> Indices | None:
        """Numbers that differ where rows are different whatever they hold: by labels, and where told."""
        if self.apart is None or self.labels is None:
            return self.apart if self.labels is None else self.labels
        return np.asarray(self.labels * (int(self.apart.max()) + 1) + self.apart)

    @classmethod
    def of(
        cls,
        rows: Any,
        y: Any,
        sample_weight: Any,
        merge: bool = True,
        deadline: Deadline | None = None,
        always: Indices | None = None,
        apart: Indices | None = None,
    ) -> "Sample":
        """Check the labels and weights of checked rows, and merge equal rows where a time limit allows it.

        Rows `always` stay even without weight, and rows are merged only where `apart` (N,) is equal
        too.
        """
        size = rows.shape[0]
        classes, labels = (None, None) if y is None else as_labels(y, size)
        sample = cls(
            rows,
            np.broadcast_to(1.0 / size, size),
            None,
            size,
            labels,
            classes,
            total=float(size),
            apart=apart,
        )
        if sample_weight is not None:
            weights = as_weights(sample_weight, size, "sample_weight")
            with np.errstate(over="ignore"):
                sample = replace(
                    sample,
                    weights=weights,
                    total=float(as_array(sample_weight, "sample_weight").sum()),
                )
            if not weights.all():
                used = weights > 0
                used[[] if always is None else always] = True
                sample = sample.take(np.flatnonzero(used))
        return sample.merged(deadline) if merge else sample

    def within(self, kept: Indices, size: int) -> "Sample":
        """The same rows, where those of this sample are the kept ones of `size`."""
        return replace(self, first=kept[self.at(np.arange(self.rows.shape[0]))], size=size)

    def take(self, index: Indices, weights: Vector | None = None) -> "Sample":
        """Some of the rows, with their weights or with others."""
        return replace(
            self,
            rows=some_rows(self.rows, index),
            weights=self.weights[index] if weights is None else weights,
            first=self.at(index),
            labels=None if self.labels is None else self.labels[index],
            apart=None if self.apart is None else self.apart[index],
        )

    def as_shares(self, size: int, total: float) -> "Sample":
        """The same rows of `size` in all, with weights of sum one that are shares of `total`."""
        return replace(self, size=size, weights=self.weights / self.weights.sum(), total=total)

    def at(self, index: Indices) -> Indices:
        """Indices in X of some of the rows."""
        return index if self.first is None else self.first[index]

    @property
    def n_classes(self) -> int:
        """The number of classes of the labels, 1 where there are none."""
        return 1 if self.classes is None else len(self.classes)

    def loaded(self) -> "Sample":
        """The same rows as an array or CSR."""
        return replace(self, rows=self.rows[:])

    def distinct(self, index: Indices) -> Indices:
        """Those of some rows that are not equal, in order."""
        if self.note == "":  # equal rows are merged already
            return index
        some = self.take(index).loaded()
        first, _ = merged(some.rows, some.kinds, np.ones(len(index)))
        return index if first is None else np.sort(index[first])

    def merged(self, deadline: Deadline | None) -> "Sample":
        """The distinct rows, or all of them with a note where there is no time to compare them."""
        if deadline is not None and seconds_for(self.rows) > max(
            MERGING_TIME_SHARE * deadline.seconds, MIN_MERGING_SECONDS
        ):
            return replace(self, note="equal rows were not merged within the time limit")
        until = (
            None
            if deadline is None
            else Deadline.after(max(MERGING_TIME_SHARE * deadline.left(), MIN_MERGING_SECONDS))
        )
        first, weights = merged(self.rows, self.kinds, self.weights, until)
        return self if first is None else self.take(first, weights)


def as_labels(y: Any, size: int) -> tuple[npt.NDArray[Any], Indices]:
    """The classes of labels, sorted, and the code of each row; a column of a table has them already."""
    if is_table(y) and not is_frame(y):
        y = Table.of(y).columns[0]
    if isinstance(y, Column):
        return _of_column(y, size)
    labels = read(unmasked(y, "labels"), "labels")
    if labels.shape != (size,):
        raise InvalidInput(
            f"labels must have one label for each of the {size} rows, got shape {labels.shape}"
        )
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise InvalidInput("labels must not hold NaN or infinity")
    if labels.dtype.kind in "iub":
        return _whole_codes(labels.astype(np.int64))
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except Exception:  # labels are any objects, and so is what comparing them raises
        raise InvalidInput(
            f"labels must be such that they can be sorted, got {shown(labels[:3].tolist())}"
        ) from None
    if labels.dtype.kind == "f":
        refuse_continuous(classes, size)
    return classes, codes.reshape(-1).astype(np.int64)


def _of_column(y: Column, size: int) -> tuple[npt.NDArray[Any], Indices]:
    """The same of a column of a table or a Series."""
    classes, codes = y.levels
    if len(codes) != size:
        raise InvalidInput(
            f"labels must have one label for each of the {size} rows, got {len(codes)}"
        )
    if (codes < 0).any():
        raise InvalidInput(
            f"labels must not be missing, got one missing in row {int(np.argmin(codes))}"
        )
    if classes.dtype.kind == "f":
        if not np.isfinite(classes).all():
            raise InvalidInput("labels must not hold NaN or infinity")
        if (
            not y.dtype.lower().lstrip("u").startswith("int")
        ):  # whole numbers by their type are classes, as in arrays
            refuse_continuous(classes, size)
    return classes, codes


def refuse_continuous(classes: Vector, size: int) -> None:
    """A sentence where numbers are no labels: many different ones, and fractions, or few rows for each."""
    whole = bool((classes == np.floor(classes)).all())
    if len(classes) > MAX_FLOAT_CLASSES and (
        not whole or MIN_ROWS_PER_FLOAT_CLASS * len(classes) > size
    ):
        raise InvalidInput(
            f"labels must be classes, got {len(classes)} different numbers such as {classes[0]:g} and "
            f"{classes[1]:g} in {size} rows; leave them away, or bin them first"
        )


def _whole_codes(labels: Indices) -> tuple[npt.NDArray[Any], Indices]:
    """The same for whole numbers, by counting where they lie close together."""
    low, high = int(labels.min()), int(labels.max())
    if high - low > 4 * len(labels) + 1000:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.reshape(-1).astype(np.int64)
    present = np.zeros(high - low + 1, np.int64)
    present[labels - low] = 1
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[labels - low]
