"""MMD² by random Fourier features: means of exp(i ωᵀx) over a target, and what weighted rows are worth by them."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...deadline import Deadline
from ...objectives.pairs import spans, spread, tile_rows
from ...objectives.rows_mmd import RowsMMD
from ...threads import threads

MAX_FLOAT32_PHASE = 1e3
"""The largest phase of a random feature that is computed in float32, in radians."""

Complex = npt.NDArray[np.complex128]


class Waves(NamedTuple):
    """Frequencies (D, d), the features' means of the target (classes, D), and the variance of these, (D,).

    `centre` (d,) is what is subtracted from all rows first, None where that is nothing.
    """

    frequencies: Any
    means: Complex
    variance: Vector
    centre: Any


def _student(freedom: int, D: int, d: int, rng: np.random.Generator) -> Vector:
    normal = rng.standard_normal((D, d))
    return np.asarray(normal / np.sqrt(rng.chisquare(freedom, D) / freedom)[:, None])


SPECTRA = {
    "rbf": lambda gamma, D, d, rng: math.sqrt(2.0 * gamma) * rng.standard_normal((D, d)),
    "laplace": lambda gamma, D, d, rng: gamma * rng.standard_cauchy((D, d)),
    "matern32": lambda gamma, D, d, rng: gamma * _student(3, D, d, rng),
    "matern52": lambda gamma, D, d, rng: gamma * _student(5, D, d, rng),
}
"""Draws of D frequencies in d dimensions from the Fourier transform of a similarity (Rahimi & Recht 2007)."""


def wave_sums(
    rows: Any,
    weights: Vector,
    codes: Indices,
    classes: int,
    frequencies: Vector,
    centre: Any,
    memory: int,
    deadline: Deadline | None = None,
    dtype: Any = np.float32,
) -> tuple[Complex, Vector, int]:
    """Σ_j weights_j exp(i ωᵀx_j) over each class, (classes, D), Σ_j weights_j² of each, and over how many rows.

    These are the first ones, as many as the deadline allows.
    """
    size = float(np.quantile(np.abs(frequencies), 0.99))
    high = min(
        max(1, 2**20 // len(frequencies)), tile_rows(rows.shape[1] + len(frequencies), memory)
    )
    parts = spans(rows.shape[0], high)

    def work(part: slice) -> Complex:
        block = rows[part] if centre is None else rows[part] - centre
        near = (
            size * float(np.abs(block.data if centre is None else block).max(initial=0.0))
            < MAX_FLOAT32_PHASE
        )
        narrow = dtype if near else np.float64
        phase = np.asarray(block.astype(narrow) @ frequencies.T.astype(narrow))
        w, own = weights[part].astype(narrow), codes[part]
        shares = (
            w[None]
            if classes == 1
            else sp.csr_array((w, (own, np.arange(len(w)))), (classes, len(w)))
        )
        return np.asarray(shares @ np.cos(phase) + 1j * (shares @ np.sin(phase)), np.complex128)

    sums, used = np.zeros((classes, len(frequencies)), np.complex128), 0
    for some in (parts[a : a + 2 * threads()] for a in range(0, len(parts), 2 * threads())):
        for block in spread(work, some):  # in this order, however many are done at once
            sums += block
        used = some[-1].stop
        if deadline is not None and deadline.passed:
            break
    return sums, np.bincount(codes[:used], weights[:used] ** 2, classes).astype(np.float64), used


def estimate(F: RowsMMD, waves: Waves, units: Indices, weights: Vector) -> tuple[float, float]:
    """MMD² of weights on candidates as the mean of |E_q exp(iωᵀx) - E_t exp(iωᵀx)|², and its standard error.

    Where the means of the target come from a sample of it, their variance is subtracted and counted
    as an error.
    """
    codes = np.zeros(len(units), np.int64) if F.labels is None else F.labels[units]
    how = (waves.frequencies, waves.centre, F.memory)
    own, _, _ = wave_sums(F.rows[units], weights, codes, len(waves.means), *how, dtype=np.float64)
    squared = (np.abs(own - waves.means) ** 2).sum(axis=0)
    extra = float(waves.variance.mean())
    value = max(float(squared.mean()) - extra, 0.0)
    error = float(squared.std() / math.sqrt(len(squared)))
    return value, error + extra + 2.0 * math.sqrt(value * extra)
