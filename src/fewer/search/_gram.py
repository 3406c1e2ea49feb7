"""Blocks of a quadratic with its target for origin."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..protocols import Centred, implements

Matrix = npt.NDArray[np.float64]


def target_gram(problem: Any, units: Indices, others: Indices) -> Matrix:
    """The block of G = H - c1ᵀ - 1cᵀ + constant, so that F = pᵀGp where Σp = 1; without cancellation if possible."""
    if implements(problem, Centred):
        return np.asarray(problem.centred(units, others))
    left, right = problem.linear(units), problem.linear(others)
    block = np.asarray(problem.cross(units, others), np.float64)
    if not block.flags.owndata or not block.flags.writeable:  # the caller's own
        block = block.copy()
    block += problem.constant - right
    block -= left[:, None]
    return block


def steepest_units(slopes: Vector, count: int) -> Indices:
    """Indices of the `count` largest slopes, steepest first; minus infinity never counts.

    >>> steepest_units(np.array([1.0, 3.0, -np.inf, 2.0]), 3).tolist()
    [1, 3, 0]
    """
    count = min(count, len(slopes))
    top = np.argpartition(-slopes, count - 1)[:count]
    top = top[np.argsort(-slopes[top], kind="stable")]
    return top[slopes[top] > -np.inf]
