"""Rows of the dims job: checked, weighted, and recoded so that the baseline is zero."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_numbers,
    as_units,
    as_vector,
    as_weights,
    shown,
)
from ...codes import MOST_CODES, as_table
from ...spaces import States


@dataclass(frozen=True, eq=False)
class Rows:
    """N weighted rows of n small integers, as a CSR table in which every column's baseline is written as 0.

    A code below its baseline moves up by one to make room for it; `decode` undoes that. `origin`
    (n,) holds the baselines and `shape` the cardinalities, `given` the weights before they were
    divided by their sum.
    """

    table: Any
    weights: Vector
    given: Vector
    origin: Indices
    shape: tuple[int, ...]

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None, baseline: Any = "zero") -> "Rows":
        """Check X, dense, scipy.sparse or DataFrame; rows of weight zero are left out."""
        table = as_table(X, "X")
        N, n = table.shape
        given = (
            np.full(N, 1.0 / N)
            if sample_weight is None
            else as_vector(sample_weight, (N,), "sample_weight")
        )
        weights = given if sample_weight is None else as_weights(given, N, "sample_weight")
        if not weights.all():
            kept = np.flatnonzero(weights)
            table, weights, given = table[kept], weights[kept], given[kept]
        origin = as_baseline(baseline, table, weights)
        largest = np.zeros(
            n, table.data.dtype
        )  # of the data's type, for which NumPy's loop is fast
        np.maximum.at(largest, table.indices, table.data)
        largest = np.maximum(largest, origin)
        return cls(
            recode(table, origin), weights, given, origin, tuple(int(c) + 1 for c in largest)
        )

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    def inside(self, face: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which rows equal the baseline in every column outside the face."""
        chosen = np.zeros(self.n, np.bool_)
        chosen[as_units(face, self.n, "columns", "support")] = True
        return np.asarray(self.table @ (~chosen).astype(np.float64) == 0.0)

    def states(self, chosen: npt.NDArray[np.bool_] | None = None) -> States:
        """The distinct states of these rows, or of some of them."""
        if chosen is None or chosen.all():
            return States(self.table, self.given, self.shape)
        return States(self.table[np.flatnonzero(chosen)], self.given[chosen], self.shape)

    def decode(self, codes: npt.NDArray[np.int64], dims: Indices) -> npt.NDArray[np.int64]:
        """Codes (s, d) on these dimensions as they were in X."""
        base = self.origin[dims]
        return np.where(codes == 0, base, np.where(codes <= base, codes - 1, codes))


def listed(rows: Rows, reaches: Callable[[Any], bool]) -> States:
    """The distinct states; with the origin, of no mass, where what may be chosen reaches none of them."""
    seen = rows.states()
    if reaches(seen.rows):
        return seen
    table = sp.vstack([seen.rows, sp.csr_array((1, rows.n), dtype=seen.rows.dtype)], format="csr")
    return States(table, np.append(seen.weights, 0.0), rows.shape)


def as_baseline(baseline: Any, table: Any, weights: Vector) -> Indices:
    """One baseline code for each column: zeros, the heaviest code (of equals the smallest), or as given."""
    n = table.shape[1]
    if isinstance(baseline, str):
        if baseline == "zero":
            return np.zeros(n, np.int64)
        if baseline == "mode":
            return heaviest_codes(table, weights)
        raise InvalidInput(
            f"baseline must be 'zero', 'mode' or an array of {n} codes, got {shown(baseline)}"
        )
    codes = as_numbers(baseline, "baseline")
    if codes.shape != (n,) or codes.dtype.kind not in "iub":
        raise InvalidInput(
            f"baseline must be 'zero', 'mode' or {n} non-negative integers, got {codes.dtype} of shape {codes.shape}"
        )
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or high >= MOST_CODES:
        raise InvalidInput(f"baseline must hold codes in 0..2^31-1, got {low if low < 0 else high}")
    return codes.astype(np.int64)


def heaviest_codes(table: Any, weights: Vector) -> Indices:
    """The code of largest weight in each column; of equals the smallest. O(nnz log nnz), never dense."""
    n = table.shape[1]
    owner = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    keys = table.indices.astype(np.int64) * (int(table.data.max(initial=0)) + 1) + table.data
    distinct, inverse = np.unique(keys, return_inverse=True)
    masses = np.bincount(inverse, weights[owner], distinct.size)
    columns, codes = np.divmod(distinct, int(table.data.max(initial=0)) + 1)
    best = 1.0 - np.bincount(columns, masses, n)  # the weight of zero
    mode = np.zeros(n, np.int64)
    for column, code, mass in zip(columns, codes, masses, strict=True):
        if mass > best[column] + 1e-15:
            best[column], mode[column] = mass, code
    return mode


def recode(table: Any, origin: Indices) -> Any:
    """The table with 0 where a row equals `origin`, codes below it moved up by one; only such columns fill up."""
    moved = np.flatnonzero(origin)
    if moved.size == 0:
        return table
    base = origin[moved]
    part = table[:, moved].toarray().astype(np.int64)
    part = sp.csc_array(np.where(part == base, 0, np.where(part < base, part + 1, part)))
    columns = sp.csc_array(table, dtype=np.int64)
    rest = np.setdiff1d(np.arange(origin.size), moved)
    order = np.argsort(np.concatenate([rest, moved]))
    return as_table(sp.csr_array(sp.hstack([columns[:, rest], part], format="csc")[:, order]))
