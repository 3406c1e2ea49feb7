"""Sums over many rows in float32 lanes: similarities to points, and waves.

Sums of sums are float64.

NumPy makes a tile of squared distances, one of exponentials and a product; here a pair never leaves
the processor. With 2,000 points and 512 waves it takes half of the time for 8 columns
(`benchmarks/scale.py --part block`).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled, compiled_for_threads

Floats = npt.NDArray[np.float32]
Sums = npt.NDArray[np.float64]

f32 = np.float32
LANES = 512
"""Points, or frequencies, that are worked on at once: their columns stay in the fastest memory."""
RUN = 64
"""Rows that are summed in float32."""
ROUND = f32(1.5 * 2.0**23)
"""Added and subtracted, it leaves the nearest whole number."""
LOG2_E = f32(math.log2(math.e))
LEAST = f32(-126.0)
"""The least power of two: below it a similarity counts as 1e-38."""


def _fitted(function: Any, low: float, high: float, degree: int) -> tuple[np.float32, ...]:
    """The coefficients of the polynomial through Chebyshev's nodes, the highest first."""
    found = np.polynomial.Chebyshev.interpolate(function, degree, [low, high]).convert(
        kind=np.polynomial.Polynomial
    )
    return tuple(f32(c) for c in found.coef[::-1])


EXP2 = _fitted(np.exp2, -0.5, 0.5, 6)
"""2^f for f in [-1/2, 1/2]: to 4e-9."""
COS = _fitted(lambda s: np.cos(2 * np.pi * np.sqrt(s)), 1e-12, 0.25, 8)
"""cos 2πf for f in [-1/2, 1/2], a polynomial of f²: to 2e-8."""
SIN = _fitted(lambda s: np.sin(2 * np.pi * np.sqrt(s)) / np.sqrt(s), 1e-12, 0.25, 8)
"""sin(2πf) / f, the same way."""


@compiled
def _horner(coefficients: Any, x: Any) -> Any:
    value = coefficients[0]
    for i in range(1, len(coefficients)):
        value = value * x + coefficients[i]
    return value


@compiled
def _add_squares(squared: Floats, column: Floats, x: Any) -> None:
    for c in range(len(squared)):
        off = column[c] - x
        squared[c] += off * off


@compiled
def _add_products(phase: Floats, column: Floats, x: Any) -> None:
    for c in range(len(phase)):
        phase[c] += column[c] * x


@compiled
def _add_exponentials(total: Floats, squared: Floats, scale: Any, weight: Any) -> None:
    """Add weight · 2^(scale · squared)."""
    for c in range(len(total)):
        y = scale * squared[c]
        y = y if y > LEAST else LEAST
        whole = (y + ROUND) - ROUND
        power = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
        total[c] += weight * (_horner(EXP2, y - whole) * power)


@compiled
def _add_waves(real: Floats, imaginary: Floats, turns: Floats, weight: Any) -> None:
    """Add weight · exp(2πi · turns)."""
    for c in range(len(real)):
        f = turns[c] - ((turns[c] + ROUND) - ROUND)
        square = f * f
        real[c] += weight * _horner(COS, square)
        imaginary[c] += weight * (f * _horner(SIN, square))


@compiled_for_threads
def rbf_sums(points: Floats, rows: Floats, weights: Floats, gamma: Any, sums: Sums) -> None:
    """Add Σ_i weights_i exp(-gamma ‖x_i - point‖²) to `sums` (m,).

    points: (d, m), rows: (n, d), weights: (n,).
    """
    d, m = points.shape
    scale = f32(-gamma) * LOG2_E
    kept, squares = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(0, m, LANES):
        wide = min(m - first, LANES)
        total, squared = kept[:wide], squares[:wide]
        for start in range(0, len(rows), RUN):
            total[:] = 0
            for i in range(start, min(start + RUN, len(rows))):
                squared[:] = 0
                for j in range(d):
                    _add_squares(squared, points[j, first : first + wide], rows[i, j])
                _add_exponentials(total, squared, scale, weights[i])
            for c in range(wide):
                sums[first + c] += np.float64(total[c])


@compiled_for_threads
def turn_sums(
    frequencies: Floats, rows: Floats, weights: Floats, real: Sums, imaginary: Sums
) -> None:
    """Add Σ_i weights_i exp(2πi ωᵀx_i), of each frequency.

    frequencies: (d, D), in turns, rows: (n, d).
    """
    d, m = frequencies.shape
    kept = np.empty((3, LANES), np.float32)
    for first in range(0, m, LANES):
        wide = min(m - first, LANES)
        cosines, sines, turns = kept[0, :wide], kept[1, :wide], kept[2, :wide]
        for start in range(0, len(rows), RUN):
            cosines[:] = 0
            sines[:] = 0
            for i in range(start, min(start + RUN, len(rows))):
                turns[:] = 0
                for j in range(d):
                    _add_products(turns, frequencies[j, first : first + wide], rows[i, j])
                _add_waves(cosines, sines, turns, weights[i])
            for c in range(wide):
                real[first + c] += np.float64(cosines[c])
                imaginary[first + c] += np.float64(sines[c])
