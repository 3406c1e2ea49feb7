"""Algorithm 3 for quadratics: the unit that lowers F most, ranked by gain formulas and refitted."""

from dataclasses import replace

import numpy as np

from .._validation import Indices, Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Quadratic
from ._gram import Matrix, target_gram
from .fit import Answers, Found, promising, refitted

LISTED = 32
"""Units whose gain is worked out exactly at each step."""
FITTED = 4
"""Of these, units that are refitted at most."""


def affine_gains(problem: Quadratic, found: Found, others: Indices) -> Vector:
    """How much F falls if one more unit enters and all weights move freely, their sum kept at one.

    g_j² / s_j: g_j = s_j - wᵀs the slope above the level, s_j = G_jj - [h_j; 1]ᵀ [G_SS, 1; 1ᵀ, 0]⁻¹ [h_j; 1] the
    curvature, h_j = G_Sj, all with the target for origin. Exact where no weight turns negative. others: (m,).
    Returns (m,).
    Source: order-recursive matching pursuit, with the sum constraint as a border.
    """
    units, size = found.units, len(found.units)
    K: Matrix = np.ones((size + 1, size + 1))
    K[:size, :size] = target_gram(problem, units, units)
    K[size, size] = 0.0
    h = np.ones((size + 1, len(others)))
    h[:size] = target_gram(problem, units, others)
    slope = -found.weights @ h[:size]
    level = -found.weights @ K[:size, :size] @ found.weights
    response = np.linalg.lstsq(K, h, rcond=None)[0]
    diagonal = target_gram(problem, others, others).diagonal()
    curvature = np.maximum(diagonal - np.einsum("ij,ij->j", h, response), 1e-12 * np.maximum(diagonal, 1e-300))
    gains: Vector = np.square(np.maximum(slope - level, 0.0)) / curvature
    return gains


def first_unit(problem: Quadratic, limits: SparseSimplex) -> Indices:
    """The held units, or the best vertex: argmin H_jj - 2 c_j."""
    if len(limits.include):
        return np.sort(limits.include)
    values = problem.diagonal - 2.0 * problem.slopes(np.empty(0, np.int64), np.empty(0))
    values[~limits.open] = np.inf
    return np.array([int(np.argmin(values))])


def additions(problem: Quadratic, limits: SparseSimplex) -> Answers:
    """Algorithm 3: add the unit that lowers F most, k times; yields each feasible answer.

    One look at all slopes ranks the units by the gain on the line to their vertex, the LISTED best by
    `affine_gains`, and these are refitted in that order until the gain of the next cannot be the best: FITTED at
    most. While the support is too small for the bounds on the weights it grows without them.
    """
    loose = replace(limits, min_weight=0.0, max_weight=1.0) if limits.bounded else limits
    most = limits.sizes[1]
    found = refitted(problem, loose, first_unit(problem, limits))
    units = found.units
    while True:
        if not limits.lacking(units):
            yield refitted(problem, limits, units) if limits.bounded else found
        if len(units) >= most:
            return
        listed = promising(problem, limits, found, problem.space.size if limits.groups is not None else LISTED)
        if limits.counts is not None or len(units) > len(found.units):  # some are held without weight
            listed = _that_fit(limits, units, listed)
        if not len(listed):
            return
        found, units = _one_more(problem, loose, found, units, listed[:LISTED])


def _one_more(
    problem: Quadratic, loose: SparseSimplex, found: Found, units: Indices, listed: Indices
) -> tuple[Found, Indices]:
    """The best answer with one unit of a list added, and its support."""
    gains = affine_gains(problem, found, listed)
    order = np.argsort(-gains, kind="stable")[:FITTED]
    support = with_unit(units, listed[order[0]])
    best = refitted(problem, loose, support)
    for position in order[1:]:
        if best.value <= found.value - gains[position]:
            break
        other = with_unit(units, listed[position])
        trial = refitted(problem, loose, other)
        if trial.value < best.value:
            best, support = trial, other
    return best, support


def with_unit(units: Indices, unit: int) -> Indices:
    """Sorted units with one more, in their order."""
    at = int(units.searchsorted(unit))
    return np.concatenate([units[:at], [unit], units[at:]])


def _that_fit(limits: SparseSimplex, units: Indices, others: Indices) -> Indices:
    """The units of a list that are not held and whose group has room."""
    held = set(units.tolist())
    others = others[[unit not in held for unit in others.tolist()]]
    if limits.counts is None:
        return others
    return others[limits.counts.room(units, limits.sizes[1])[limits.counts.codes[others]]]
