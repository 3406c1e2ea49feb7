"""Every face at once: subset sums over the 2^n masks of few dimensions."""

import numpy as np

from .._validation import Indices, Vector
from ..cover import KL, Cover, Ints
from ..rules import Rules

CACHED = 2**14
"""Numbers that stay in a core's cache: their bits are done block by block."""
SHORT = 16
"""Runs below this are not worth a loop of their own in NumPy: one strided sum for each of their
entries instead."""


def best_mask(cover: Cover, rules: Rules) -> Indices:
    """The best allowed face among all masks (of k dimensions where these count), of equals the lowest.

    n 2^n additions, some 2^n numbers.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(
    ...     *supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0])
    ... )
    >>> best_mask(cover, Rules(3, 2)).tolist()
    [1, 2]
    """
    masks = masks_of(cover)
    if rules.costs is None:
        allowed = np.flatnonzero(over_masks(np.ones(cover.n, np.int8)) == rules.most_held)
    else:
        allowed = np.flatnonzero(over_masks(rules.prices) <= rules.room)
    gains = subset_sums(np.bincount(masks, cover.mass, 1 << cover.n).astype(np.float64))[allowed]
    if cover.mode != KL:
        squares = subset_sums(np.bincount(masks, cover.squares, 1 << cover.n).astype(np.float64))
        uncovered = (1.0 - gains) ** 2 * np.exp(-over_masks(cover.log_m)[allowed])
        gains = squares[allowed] - uncovered
    return np.flatnonzero((allowed[gains.argmax()] >> np.arange(cover.n)) & 1)


def masks_of(cover: Cover) -> Ints:
    """The supports as bits of a number each, (E,)."""
    bits = np.append(np.left_shift(1, cover.indices, dtype=np.int64), 0)
    masks = np.bitwise_or.reduceat(bits, cover.indptr[:-1]) if len(cover) else np.zeros(0, np.int64)
    masks[np.diff(cover.indptr) == 0] = 0
    return np.asarray(masks)


def subset_sums(f: Vector) -> Vector:
    """f[S] becomes the sum of f[T] over all T inside S (the zeta transform), in place.

    >>> subset_sums(np.array([1.0, 2.0, 4.0, 8.0])).tolist()
    [1.0, 3.0, 5.0, 15.0]
    """
    blocks = f.reshape(-1, min(len(f), CACHED))
    for block in blocks:
        _add_bits(block, 1)
    _add_bits(f, blocks.shape[1])
    return f


def _add_bits(f: Vector, half: int) -> None:
    """Add f without a bit to f with it, in place, for the bit of value `half` and all higher ones."""
    while half < len(f):
        if half < SHORT:
            for first in range(half):
                f[half + first :: 2 * half] += f[first :: 2 * half]
        else:
            pairs = f.reshape(-1, 2, half)
            pairs[:, 1] += pairs[:, 0]
        half *= 2


def over_masks(x: Ints) -> Ints:
    """The sum of x (n,) over the bits of each of the 2^n masks.

    >>> over_masks(np.array([1, 10])).tolist()
    [0, 1, 10, 11]
    """
    sums = np.zeros(1, x.dtype)
    for value in x:
        sums = np.concatenate([sums, sums + value])
    return sums
