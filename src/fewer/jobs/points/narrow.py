"""Similarities and waves of very many rows in float32, by compiled loops, where float32 resolves what counts."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._compiled.narrow_sums import rbf_sums, turn_sums
from ..._validation import Indices, Vector
from ...similarity import Similarity
from .waves import Complex

MAX_NARROW_COLUMNS = 16
"""Columns up to which the loops are quicker than a product of matrices (`benchmarks/scale.py --part block`)."""
MAX_NARROW_LENGTH = 1e3
"""The largest squared length of rows, in bandwidths: differences of float32 then give similarities to about 1e-5."""


class NarrowSums:
    """Candidates (m, d) of classes, and frequencies (D, d) or None, ready to be compared with rows."""

    def __init__(
        self,
        rows: Vector,
        labels: Indices | None,
        classes: int,
        centre: Any,
        gamma: float,
        frequencies: Any,
    ) -> None:
        self.centre, self.gamma, self.classes, self.count = centre, gamma, classes, len(rows)
        near = np.asarray(rows - centre, np.float32)
        every = np.zeros(len(rows), np.int64) if labels is None else labels
        self.members = [np.flatnonzero(every == c) for c in range(classes)]
        self.points = [np.ascontiguousarray(near[mine].T) for mine in self.members]
        self.turns = np.zeros((rows.shape[1], 0), np.float32)
        if frequencies is not None:
            self.turns = np.ascontiguousarray((frequencies / (2.0 * math.pi)).T.astype(np.float32))

    @classmethod
    def of(
        cls,
        similarity: Similarity,
        rows: Any,
        labels: Indices | None,
        classes: int,
        centre: Any,
        frequencies: Any,
    ) -> "NarrowSums | None":
        """For rbf and dense rows of few columns; None for others."""
        if (
            similarity.name != "rbf"
            or similarity.gamma is None
            or sp.issparse(rows)
            or centre is None
        ):
            return None
        near = float(np.square(rows - centre).sum(axis=1).max(initial=0.0)) * similarity.gamma
        if rows.shape[1] > MAX_NARROW_COLUMNS or near > MAX_NARROW_LENGTH:
            return None
        return cls(rows, labels, classes, centre, similarity.gamma, frequencies)

    def near(self, part: Any) -> Any:
        """Rows in float32; None where some are too far away for that."""
        off = part - self.centre
        lengths = np.einsum("ij,ij->i", off, off)
        resolved = self.gamma * float(lengths.max(initial=0.0)) <= MAX_NARROW_LENGTH
        return off.astype(np.float32) if resolved else None

    def sums(self, near: Any, weights: Vector, codes: Indices) -> tuple[Vector, Complex]:
        """Σ w s(candidate, row) (m,), and Σ w exp(iωᵀx) of each class (classes, D)."""
        sums = np.zeros(self.count)
        waves = np.zeros((self.classes, self.turns.shape[1]), complex)
        narrow = weights.astype(np.float32)
        for c in range(self.classes):
            mine = slice(None) if self.classes == 1 else np.flatnonzero(codes == c)
            rows, w = near[mine], narrow[mine]
            if not len(w):
                continue
            found = np.zeros(len(self.members[c]))
            rbf_sums(self.points[c], rows, w, np.float32(self.gamma), found)
            sums[self.members[c]] = found
            real, imaginary = np.zeros((2, waves.shape[1]))
            turn_sums(self.turns, rows, w, real, imaginary)
            waves[c] = real + 1j * imaginary
        return sums, waves
