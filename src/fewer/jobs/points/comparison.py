"""How rows are compared: a similarity with its bandwidth, and what rows go through before."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector
from ...bandwidths import Bandwidth, exponent_of, largest
from ...lazy_rows import LazyRows
from ...similarity import Similarity, require_semidefinite, similarity_of
from ...tables.encode import Encoding
from .sample import Sample
from .scaling import Standardization, centred

MAX_CHECKED_ROWS = 100
"""Rows on which a function of the user is asked whether it is a similarity."""


class Compared(NamedTuple):
    """What a `Comparison` is made from again: it can be stored, as functions made here cannot."""

    similarity: Any
    width: float | None
    gamma: float | None
    exponent: int
    unit: int
    scaling: Standardization | None
    encoding: Encoding | None


def comparison_of(stored: Compared) -> "Comparison":
    """The same comparison again."""
    made = similarity_of(stored.similarity, *([] if stored.width is None else [stored.width]))
    return Comparison(made, *stored[2:])


class Comparison(NamedTuple):
    """A similarity with its bandwidth, for rows that were scaled; `unit` is the exponent of the unit of values.

    `gamma` is the bandwidth for the rows as they are (standardized or not); None where there is
    none.
    """

    similarity: Similarity
    gamma: float | None = None
    exponent: int = 0
    unit: int = 0
    scaling: Standardization | None = None
    encoding: Encoding | None = None

    def stored(self, similarity: Any) -> Compared:
        """What it is made from, `similarity` being what the user gave."""
        return Compared(similarity, self.similarity.gamma, *self[1:])

    @property
    def means_and_scales(self) -> tuple[Vector | None, Vector | None]:
        """What numbers were shifted and divided by, in the units of X; None where they were not."""
        if self.scaling is None:
            return None, None
        means, scales = self.scaling.means, self.scaling.scales
        if self.encoding is None:
            return means, scales
        numbers, shift = self.encoding.numbers, self.encoding.shift
        return means[:numbers] + (0.0 if shift is None else shift), scales[:numbers]

    def rows(self, X: Any, dtype: Any = None) -> Any:
        """New rows, encoded and scaled as those were that the similarity was made for."""
        if sp.issparse(X) and (self.encoding is not None or not self.similarity.sparse):
            raise InvalidInput(
                "X must be dense, as the rows were that the points were chosen from; got a sparse matrix"
            )
        rows = X if self.encoding is None else self.encoding(X)
        return self.scaled(rows if dtype is None else rows.astype(dtype))

    def scaled(self, rows: Any) -> Any:
        """Rows that are encoded already, scaled likewise."""
        view = LazyRows(rows) if self.scaling is None else self.scaling(rows)
        return view.times_power_of_two(-self.exponent)[:]

    def unscaled(self, rows: Any, columns: Any) -> Vector:
        """Some columns of compared rows, as they are encoded."""
        rows = np.ldexp(rows, self.exponent)
        return np.asarray(rows if self.scaling is None else self.scaling.undone(rows, columns))


def ordinary_exponent(size: float) -> int:
    """The exponent of a size that is not ordinary; 0 for one whose square is."""
    return 0 if 1e-100 < size < 1e100 else exponent_of(size)


def in_unit(sample: Sample) -> tuple[Sample, Comparison, str]:
    """Rows for the linear similarity: in an ordinary unit and, without labels, with their mean at the origin."""
    rows = sample.rows
    if sample.labels is None:
        view = centred(rows, sample.weights)
    else:
        view = (rows if isinstance(rows, LazyRows) else LazyRows(rows)).times_power_of_two(
            -ordinary_exponent(largest(rows))
        )
    exponent = -int(view.exponent)
    return (
        replace(sample, rows=view),
        Comparison(similarity_of("linear"), None, exponent, 2 * exponent),
        "",
    )


def odd(width: Bandwidth) -> str:
    """What is odd about the rows from which a bandwidth was taken, and whether it can be written in their units."""
    lost = (
        f"gamma is {width.gamma:g} in the units of X, beyond what float64 holds"
        if width.gamma in (0.0, math.inf)
        else ""
    )
    return "; ".join(filter(None, (width.note, lost)))


def checked_function(function: Any, sample: Sample) -> Similarity:
    """A function of the user, asked on some rows whether it is symmetric and positive semi-definite."""
    similarity = similarity_of(function)
    some = sample.rows[np.arange(min(MAX_CHECKED_ROWS, sample.rows.shape[0]))]
    block = similarity(some, some)
    skew, top = float(np.abs(block - block.T).max()), float(np.abs(block).max())
    if skew > 1e-6 * max(top, 1e-300):
        raise InvalidInput(
            f"similarity must be symmetric, got f(x, y) that differs from f(y, x) by {skew:.3g}"
        )
    require_semidefinite(block, "similarity's blocks f(X, X)")
    return similarity
