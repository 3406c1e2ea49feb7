"""Columns of a table brought to mean 0 and standard deviation 1, and rows to an ordinary size."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, is_frame, shown
from ...bandwidths import ORDINARY, blocks, exponent_of, largest
from ...lazy_rows import LazyRows

AS_THEY_ARE = ("hamming", "precomputed")
"""Similarities of codes, or none of rows at all: nothing to standardize."""
NOTE = "columns were scaled to mean 0 and standard deviation 1 (standardize)"
Exponents = npt.NDArray[np.int32]


def standardizes(standardize: Any, X: Any, similarity: Any) -> bool:
    """Whether columns are to be scaled: as told, or for "auto" the columns of a DataFrame.

    Codes, matrices of similarities and what a function compares are left as they are.
    """
    if isinstance(standardize, (bool, np.bool_)):
        if standardize and isinstance(similarity, str) and similarity == "precomputed":
            raise InvalidInput("standardize=True needs rows to scale, got similarity='precomputed'")
        return bool(standardize)
    if not isinstance(standardize, str) or standardize != "auto":
        raise InvalidInput(f"standardize must be 'auto', True or False, got {shown(standardize)}")
    return is_frame(X) and isinstance(similarity, str) and similarity not in AS_THEY_ARE


@dataclass(frozen=True, eq=False)
class Standardization:
    """z = (x 2^-exponent - mean) / spread for each column; the exponents are 0 for columns of ordinary size.

    exponent, mean, spread: (d,). Sparse columns are not shifted.

    >>> scaling = Standardization.of(np.array([[1.0, 5.0], [3.0, 5.0]]), np.full(2, 0.5))
    >>> scaling(np.array([[1.0, 5.0], [3.0, 5.0]]))[:].tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    exponent: Exponents
    mean: Vector
    spread: Vector

    @classmethod
    def of(cls, rows: Any, weights: Vector, numbers: int | None = None) -> "Standardization":
        """From rows (N, d) with weights (N,) of sum one: a weight counts as so many rows; constant columns go to 0.

        Only the first `numbers` columns are scaled, all if None; the rest are codes of categories.
        """
        low, high = column_ends(rows)
        codes = np.arange(len(low)) >= (len(low) if numbers is None else numbers)
        exponent = _exponents(np.maximum(np.abs(low), np.abs(high)))
        view = LazyRows(rows, exponent=-exponent)
        mean = sum(weights[part] @ view[part] for part in blocks(rows))
        mean = np.where(low == high, np.ldexp(low, -exponent), mean)
        squares = np.zeros(len(low))
        for part in blocks(rows):
            squares += _weighted_squares(view[part], weights[part], mean)
        spread = np.sqrt(np.maximum(squares, 0.0))
        return cls(
            exponent, np.where(codes, 0.0, mean), np.where(codes | (spread == 0), 1.0, spread)
        )

    def __call__(self, rows: Any) -> LazyRows:
        """Rows whose columns are scaled when they are asked for."""
        exponent: Any = -self.exponent if self.exponent.any() else 0
        sparse = sp.issparse(rows) or getattr(rows, "sparse", False)
        base = rows if isinstance(rows, LazyRows) else LazyRows(rows)
        return LazyRows(
            base.X, base.index, exponent, None if sparse else self.mean, 1.0 / self.spread
        )

    def undone(self, rows: Vector, columns: Any = slice(None)) -> Vector:
        """Some columns of scaled rows as they were."""
        exponent, mean, spread = self.exponent[columns], self.mean[columns], self.spread[columns]
        return np.asarray(np.ldexp(rows * spread + mean, exponent))

    @property
    def means(self) -> Vector:
        """The means of the columns as they are, (d,)."""
        return np.ldexp(self.mean, self.exponent)

    @property
    def scales(self) -> Vector:
        """Their standard deviations, 1 where a column is constant, (d,)."""
        return np.ldexp(self.spread, self.exponent)


def column_ends(rows: Any) -> tuple[Vector, Vector]:
    """The least and largest entry of each column, (d,) each."""
    low, high = np.full(rows.shape[1], np.inf), np.full(rows.shape[1], -np.inf)
    for part in blocks(rows):
        here = rows[part]
        ends = (here.min(axis=0), here.max(axis=0))
        least, most = (end.toarray().reshape(-1) if sp.issparse(end) else end for end in ends)
        low, high = np.minimum(low, least), np.maximum(high, most)
    return low, high


def _exponents(tops: Vector) -> Exponents:
    """Of columns that are not of ordinary size, the exponent of their largest entry; 0 for the others."""
    ordinary = (tops == 0) | ((tops > ORDINARY[0]) & (tops < ORDINARY[1]))
    return np.where(ordinary, 0, np.frexp(tops)[1]).astype(np.int32)


def _weighted_squares(rows: Any, weights: Vector, mean: Vector) -> Vector:
    """Σ_i weights_i (x_ij - mean_j)² for each column, (d,)."""
    if not sp.issparse(rows):
        return np.asarray(weights @ (rows - mean) ** 2)
    stored = rows.copy()
    stored.data = np.ones_like(stored.data)
    off = rows.copy()
    off.data = (rows.data - mean[rows.indices]) ** 2
    return np.asarray(weights @ off + mean**2 * (weights.sum() - weights @ stored))


def centred(rows: Any, weights: Vector) -> Any:
    """Dense rows shifted to mean 0: an inner product then rounds by their spread, and MMD² stays what it is."""
    exponent = 0 if ORDINARY[0] < largest(rows) < ORDINARY[1] else -exponent_of(largest(rows))
    base = rows if isinstance(rows, LazyRows) else LazyRows(rows)
    view = LazyRows(base.X, base.index, exponent)
    if view.sparse:
        return view
    return LazyRows(
        base.X, base.index, exponent, sum(weights[part] @ view[part] for part in blocks(rows))
    )
