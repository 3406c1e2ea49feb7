"""How rows are compared: columns standardized, in an ordinary unit, by a similarity with its bandwidth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, is_frame, shown
from ...bandwidths import ORDINARY, Bandwidth, bandwidth_in_units, blocks, exponent_of, largest
from ...lazy_rows import LazyRows, in_memory
from ...similarity import BANDED, Similarity, from_matrix, require_semidefinite, similarity_of
from ...tables.encode import Encoding
from .bandwidth import validated_width
from .options import PointsOptions
from .sample import Sample

STANDARDIZED = "columns were scaled to mean 0 and standard deviation 1 (standardize)"
MEANS_ONLY = {
    "cosine": (
        "cosine compares means of rows of length one only: clusters can be missed; rbf on such rows"
        " sees them"
    ),
    "linear": "linear compares the means of the rows only: clusters can be missed; rbf sees them",
}
"""What similarities that are inner products do not see."""
MAX_CHECKED_ROWS = 100
"""Rows on which a function of the user is asked whether it is a similarity."""


def standardizes(X: Any, options: PointsOptions) -> bool:
    """Whether columns are scaled: as the user says, or for "auto" those of tables, but for codes and functions."""
    asked = options.standardize
    if isinstance(asked, (bool, np.bool_)):
        if asked and options.precomputed:
            raise InvalidInput("standardize=True needs rows to scale, got similarity='precomputed'")
        return bool(asked)
    if not isinstance(asked, str) or asked != "auto":
        raise InvalidInput(f"standardize must be 'auto', True or False, got {shown(asked)}")
    compares_numbers = isinstance(options.similarity, str) and options.similarity != "hamming"
    return is_frame(X) and compares_numbers and not options.precomputed


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Weight, and of each column the mean, Σ w (x - mean)², the least and the largest number: (p,) each."""

    total: float
    mean: Vector
    squares: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, numbers: Any, weights: Vector) -> "ColumnMoments":
        """Compute the moments of rows (n, p)."""
        p, total = numbers.shape[1], float(weights.sum())
        if total == 0.0:
            return cls(0.0, np.zeros(p), np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf))
        mean = np.asarray(weights @ numbers).reshape(-1) / total
        if not sp.issparse(numbers):
            squares = np.asarray(weights @ (numbers - mean) ** 2)
            return cls(total, mean, squares, numbers.min(axis=0), numbers.max(axis=0))
        numbers = sp.csr_array(numbers)
        stored, off = numbers.copy(), numbers.copy()
        stored.data = np.ones_like(numbers.data)
        off.data = (numbers.data - mean[numbers.indices]) ** 2
        squares = np.asarray(weights @ off + mean**2 * (total - weights @ stored))
        low, high = (
            end.toarray().reshape(-1) for end in (numbers.min(axis=0), numbers.max(axis=0))
        )
        return cls(total, mean, np.maximum(squares, 0.0), low, high)

    @classmethod
    def merged(cls, parts: Sequence["ColumnMoments"]) -> "ColumnMoments":
        """Merge moments of several sets of rows (Chan, Golub and LeVeque's update)."""
        total = sum(part.total for part in parts)
        if total == 0.0:
            return parts[0]
        mean = np.add.reduce([part.total * part.mean for part in parts]) / total
        squares = [part.squares + part.total * (part.mean - mean) ** 2 for part in parts]
        low = np.min([part.low for part in parts], axis=0)
        high = np.max([part.high for part in parts], axis=0)
        return cls(total, mean, np.add.reduce(squares), low, high)


@dataclass(frozen=True, eq=False)
class Standardization:
    """z = (x 2^-exponent - mean) / spread for each column.

    The exponents are 0 for columns of ordinary size.

    exponent, mean, spread: (d,). Sparse columns are not shifted.

    >>> scaling = Standardization.of(np.array([[1.0, 5.0], [3.0, 5.0]]), np.full(2, 0.5))
    >>> scaling(np.array([[1.0, 5.0], [3.0, 5.0]]))[:].tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    exponent: npt.NDArray[np.int32]
    mean: Vector
    spread: Vector

    @classmethod
    def of(cls, rows: Any, weights: Vector, numbers: int | None = None) -> "Standardization":
        """Standardize the first `numbers` columns of rows (N, d): a weight counts as so many rows, constants go to 0."""
        low, high = column_ends(rows)
        tops = np.maximum(np.abs(low), np.abs(high))
        ordinary = (tops == 0) | ((tops > ORDINARY[0]) & (tops < ORDINARY[1]))
        exponent = np.where(ordinary, 0, np.frexp(tops)[1]).astype(np.int32)
        view = LazyRows(rows, exponent=-exponent)
        parts = [ColumnMoments.of(view[part], weights[part]) for part in blocks(rows)]
        return cls.by_moments(ColumnMoments.merged(parts), exponent, numbers)

    @classmethod
    def by_moments(
        cls,
        columns: ColumnMoments,
        exponent: Any,
        numbers: int | None = None,
        *,
        spreads: bool = True,
    ) -> "Standardization":
        """Shift columns to mean 0 and scale them to standard deviation 1, or not.

        Beyond `numbers` they are codes.
        """
        p = len(columns.mean) if numbers is None else numbers
        mean, spread = np.zeros(len(exponent)), np.ones(len(exponent))
        flat = columns.low[:p] == columns.high[:p]
        mean[:p] = np.where(flat, columns.low[:p], columns.mean[:p])
        if spreads:
            deviation = np.sqrt(columns.squares[:p] / max(columns.total, 1e-300))
            spread[:p] = np.where(flat | (deviation == 0), 1.0, deviation)
        return cls(exponent, mean, spread)

    def __call__(self, rows: Any) -> LazyRows:
        """Return rows whose columns are scaled when they are asked for."""
        exponent: Any = -self.exponent if self.exponent.any() else 0
        base = rows if isinstance(rows, LazyRows) else LazyRows(rows)
        shift = None if base.sparse else self.mean
        return LazyRows(base.X, base.index, exponent, shift, 1.0 / self.spread)

    def undone(self, rows: Vector, columns: Any = slice(None)) -> Vector:
        """Return some columns of scaled rows as they were."""
        exponent, mean, spread = self.exponent[columns], self.mean[columns], self.spread[columns]
        return np.asarray(np.ldexp(rows * spread + mean, exponent))


def column_ends(rows: Any) -> tuple[Vector, Vector]:
    """Find the least and the largest entry of each column, (d,) each."""
    ends = [[getattr(rows[part], name)(axis=0) for part in blocks(rows)] for name in ("min", "max")]
    low, high = (
        np.array([end.toarray().reshape(-1) if sp.issparse(end) else end for end in each])
        for each in ends
    )
    return low.min(axis=0), high.max(axis=0)


class Comparison(NamedTuple):
    """A similarity, by name or as a function, with its bandwidth `width` for rows that were scaled.

    `gamma` is the bandwidth for the rows as they are (standardized or not); None where there is
    none. `exponent` is that of the unit of rows, `unit` that of the unit of values.
    """

    kind: Any
    width: float | None = None
    gamma: float | None = None
    exponent: int = 0
    unit: int = 0
    scaling: Standardization | None = None
    encoding: Encoding | None = None

    @property
    def similarity(self) -> Similarity:
        """The similarity of scaled rows."""
        if isinstance(self.kind, Similarity):
            return self.kind
        return similarity_of(self.kind, 1.0 if self.width is None else self.width)

    @property
    def means_and_scales(self) -> tuple[Vector | None, Vector | None]:
        """What numbers were shifted and divided by, in the units of X; None where they were not."""
        if self.scaling is None:
            return None, None
        exponent, mean, spread = self.scaling.exponent, self.scaling.mean, self.scaling.spread
        means, scales = np.ldexp(mean, exponent), np.ldexp(spread, exponent)
        if self.encoding is None:
            return means, scales
        numbers, shift = self.encoding.numbers, self.encoding.shift
        return means[:numbers] + (0.0 if shift is None else shift), scales[:numbers]

    def rows(self, X: Any, dtype: Any = None) -> Any:
        """Encode and scale new rows."""
        if sp.issparse(X) and (self.encoding is not None or not self.similarity.sparse):
            raise InvalidInput(
                "X must be dense, as the rows were that the points were chosen from; got a sparse"
                " matrix"
            )
        rows = X if self.encoding is None else self.encoding(X)
        return self.scaled(rows if dtype is None else rows.astype(dtype))

    def scaled(self, rows: Any) -> Any:
        """Scale rows that are encoded."""
        view = LazyRows(rows) if self.scaling is None else self.scaling(rows)
        return view.times_power_of_two(-self.exponent)[:]

    def unscaled(self, rows: Any, columns: Any) -> Vector:
        """Return some columns of compared rows as they are encoded."""
        rows = np.ldexp(rows, self.exponent)
        return np.asarray(rows if self.scaling is None else self.scaling.undone(rows, columns))


def choose_bandwidth(
    sample: Sample,
    comparison: Comparison,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
    total: int | None = None,
) -> tuple[Sample, Comparison, str]:
    """Choose the unit of rows that are scaled already and their bandwidth, and say what is odd about them.

    `rng` is left as it is; `total` is how many rows k are chosen from where the sample is a part of
    them.
    """
    name, rows = options.similarity, sample.rows
    rows = rows if isinstance(rows, LazyRows) else LazyRows(rows)
    if callable(name):
        check_function(comparison.similarity, sample)
    elif name == "linear" and comparison.scaling is None:
        return _in_ordinary_unit(sample, rows, comparison)
    if callable(name) or name not in BANDED:
        return sample, comparison, ""
    if isinstance(options.gamma, str) and options.gamma == "cv":
        width = validated_width(sample, k, options, child_of(rng), total)
    else:
        width = bandwidth_in_units(sample.rows, name, options.gamma, sample.weights, sample.top)
    rows = in_memory(rows.times_power_of_two(-width.exponent), options.max_memory // 8)
    comparison = comparison._replace(width=width.scaled, gamma=width.gamma, exponent=width.exponent)
    return replace(sample, rows=rows), comparison, odd(width)


def _in_ordinary_unit(
    sample: Sample, rows: LazyRows, comparison: Comparison
) -> tuple[Sample, Comparison, str]:
    """Bring rows of an inner product to an ordinary size and, dense and without labels, to mean 0.

    MMD² stays what it is, and inner products then round by the spread of the rows.
    """
    top = largest(rows)
    ends = (1e-100, 1e100) if sample.labels is not None else ORDINARY
    exponent = 0 if ends[0] < top < ends[1] else exponent_of(top)
    view = rows.times_power_of_two(-exponent)
    if sample.labels is None and not view.sparse:
        shift = sum(sample.weights[part] @ view[part] for part in blocks(rows))
        view = replace(view, shift=shift)
    comparison = comparison._replace(exponent=exponent, unit=2 * exponent)
    return replace(sample, rows=view), comparison, ""


def of_matrix(gram: Any) -> Comparison:
    """Compare row numbers by a matrix of similarities, in an ordinary unit."""
    size = largest(gram)
    exponent = 0 if 1e-100 < size < 1e100 else exponent_of(size)
    return Comparison(from_matrix(gram, -exponent), unit=exponent)


def odd(width: Bandwidth) -> str:
    """Say what is odd about the rows from which a bandwidth was taken, and whether it can be written in their units."""
    lost = ""
    if width.gamma in (0.0, math.inf):
        lost = f"gamma is {width.gamma:g} in the units of X, beyond what float64 holds"
    return "; ".join(filter(None, (width.note, lost)))


def check_function(similarity: Similarity, sample: Sample) -> None:
    """Ask a function of the user on some rows whether it is symmetric and positive semi-definite."""
    some = sample.rows[np.arange(min(MAX_CHECKED_ROWS, sample.rows.shape[0]))]
    block = similarity(some, some)
    skew, top = float(np.abs(block - block.T).max()), float(np.abs(block).max())
    if skew > 1e-6 * max(top, 1e-300):
        raise InvalidInput(
            f"similarity must be symmetric, got f(x, y) that differs from f(y, x) by {skew:.3g}"
        )
    require_semidefinite(block, "similarity's blocks f(X, X)")


CHILD = 2**31
"""The spawn key of a child, beyond those that a parent gives itself."""


def child_of(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator that depends on `rng` and leaves it as it is, where it can have one."""
    parent: Any = getattr(rng.bit_generator, "seed_seq", None)
    if not isinstance(parent, np.random.SeedSequence):
        return rng
    key = *parent.spawn_key, CHILD
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=key))
