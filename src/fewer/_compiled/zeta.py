"""Every face at once: the subset-sum (zeta) transform over 2^n masks and the best mask of k bits."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@compiled
def fold_masks(indptr: Ints, indices: Ints, values: Vector, n: int) -> Vector:
    """Add values (E,) up by support mask: out (2^n,)."""
    out = np.zeros(1 << n)
    for e in range(len(indptr) - 1):
        mask = 0
        for j in range(indptr[e], indptr[e + 1]):
            mask |= 1 << indices[j]
        out[mask] += values[e]
    return out


@compiled
def _zeta_block(f: Vector, start: int, low: int, high: int) -> None:
    """The bits low..high-1 of f[start:start + 2^high], in place."""
    for bit in range(low, high):
        half = 1 << bit
        for block in range(start, start + (1 << high), 2 * half):
            for x in range(block, block + half):
                f[x + half] += f[x]


@compiled
def zeta(f: Vector, n: int) -> None:
    """Subset sums in place: f[S] becomes the sum of f[T] over all T inside S; n 2^n / 2 additions.

    Low bits are done block by block while the block sits in cache, high bits by long runs.
    """
    low = min(n, 14)
    for start in range(0, 1 << n, 1 << low):
        _zeta_block(f, start, 0, low)
    if n > low:
        _zeta_block(f, 0, low, n)


@compiled
def _shrink(log_m: Vector, first: int, count: int) -> Vector:
    """exp(-log M) of each of the 2^count masks over dimensions first..first+count-1."""
    out = np.ones(1 << count)
    for x in range(1, 1 << count):
        bit = 0
        while not (x >> bit) & 1:
            bit += 1
        out[x] = out[x & (x - 1)] * np.exp(-log_m[first + bit])
    return out


@compiled
def best_mask(q: Vector, q2: Vector, log_m: Vector, n: int, k: int, mode: int) -> int:
    """The mask of k bits with the largest gain, lowest mask first: mode 0 Q, mode 1 Q2 - (1-Q)^2 / M."""
    half = n // 2
    below, above = _shrink(log_m, 0, half), _shrink(log_m, half, n - half)
    best, best_gain = (1 << k) - 1, -np.inf
    mask = best
    while mask < 1 << n:
        gain = q[mask]
        if mode == 1:
            rest = 1.0 - gain
            gain = q2[mask] - rest * rest * below[mask & ((1 << half) - 1)] * above[mask >> half]
        if gain > best_gain:
            best, best_gain = mask, gain
        if mask == 0:
            break
        lowest = mask & -mask  # Gosper's hack: the next mask with as many bits
        carried = mask + lowest
        mask = carried | (((mask ^ carried) // lowest) >> 2)
    return best
