"""A few calls of the members of a user's own objective and constraint: does what they return fit, and how large is it.

The gradient of a convex F supports it from below, F[q] >= F[p] + <dF/dp, q - p>, which every bound
relies on.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ._validation import InvalidInput, Vector, shown
from .protocols import Quadratic, implements

OURS = f"{__name__.partition('.')[0]}."
FULL_SAMPLES = 4
"""Random distributions of full support; then one on half of the entries, on a quarter, ..."""
SHORT, NEAR = 1e-2, 1e-7
"""Shares of a segment: where a gradient is compared with differences of F; where F hardly changes
but for rounding."""
SLOPE_TOLERANCE, SINGLE, NOISE_TOLERANCE = 1e-3, 3e-6, 30.0
"""What F may lie below a tangent: a share of the terms of the slope, a share of |F|, and so many
times its rounding."""
MOST_COMPARED, NEGATIVE = 200, 1e-8
"""Entries whose inner products are looked at, and the share of the largest eigenvalue that may be
negative."""


def samples(size: int) -> list[Vector]:
    """Some distributions, always the same: of full support, and of fewer and fewer entries."""
    rng = np.random.default_rng(0)
    counts = [size] * FULL_SAMPLES + [max(size >> i, 1) for i in range(1, size.bit_length() + 1)]
    points = []
    for count in counts:
        p = np.zeros(size)
        p[rng.choice(size, count, replace=False)] = rng.dirichlet(np.ones(count))
        points.append(p)
    return points


def values(objective: Any, points: list[Vector]) -> Vector:
    """F at each point; infinite where it is not a number."""
    with np.errstate(all="ignore"):
        results = np.array([float(objective.value(p.copy())) for p in points])
    return np.where(np.isnan(results), np.inf, results)


def scale_of(objective: Any) -> float:
    """The size of F's terms: what the objective states, else the median |F| of some distributions.

    0 where unknown.
    """
    if hasattr(objective, "scale"):
        return float(objective.scale)
    sizes = np.abs(values(objective, samples(objective.space.size)))
    sizes = sizes[np.isfinite(sizes)]
    return float(np.median(sizes)) if sizes.size else 0.0


def is_ours(thing: Any) -> bool:
    """Whether an object is of a class of this package."""
    return type(thing).__module__.startswith(OURS)


def probe(objective: Any, constraint: Any) -> None:
    """Raise a sentence where a member returns another kind or shape of thing.

    Parts of this package are not asked.

    What a member itself raises goes through as it is: it is the caller's own code.
    """
    size = constraint.space.size
    uniform, vector = np.full(size, 1.0 / size), f"a vector of {size} numbers"
    if not is_ours(objective):
        _expect(objective, "value(p)", "a number", objective.value(uniform.copy()), "biuf", ())
        gradient = objective.gradient(uniform.copy())
        _expect(objective, "gradient(p)", vector, gradient, "iuf", (size,))
    if hasattr(objective, "derivative") or not is_ours(objective):
        require_convex(objective)
        if implements(objective, Quadratic):
            _require_quadratic(objective)
            if hasattr(objective, "centred"):
                _require_distance(objective)
    if not is_ours(constraint):
        p = constraint.project(uniform.copy())
        _expect(constraint, "project(v)", vector, p, "iuf", (size,))
        _expect(constraint, "contains(p)", "True or False", constraint.contains(p), "b", ())
        units, words = constraint.support(p), "a vector of whole numbers, the units that p uses"
        kinds = "iuf" if np.size(units) == 0 else "iu"
        _expect(constraint, "support(p)", words, units, kinds, (np.size(units),))


def _expect(
    thing: Any, call: str, expected: str, got: Any, kinds: str, shape: tuple[int, ...]
) -> None:
    """Raise a sentence where an answer is not an array, or a number, of these kinds and this shape."""
    is_array = isinstance(got, np.ndarray)
    if np.shape(got) == shape and np.asarray(got).dtype.kind in kinds and (is_array or not shape):
        return
    words = f"an array of shape {got.shape} and type {got.dtype}" if is_array else shown(got)
    raise InvalidInput(f"{type(thing).__name__}.{call} must return {expected}, got {words}")


def _require_quadratic(objective: Any) -> None:
    """Raise a sentence where the members of a quadratic contradict its value and its gradient."""
    size = objective.space.size
    units = np.unique(np.linspace(0, size - 1, min(size, 3)).astype(np.int64))
    weights = np.arange(1.0, units.size + 1) / np.arange(1.0, units.size + 1).sum()
    p = np.zeros(size)
    p[units] = weights
    F, slopes = objective.value(p.copy()), -0.5 * np.asarray(objective.gradient(p.copy()))
    for sentence, got, expected in (
        ("value_at(units, weights) must be value(p)", objective.value_at(units, weights), F),
        (
            "slopes(units, weights) must be -gradient(p) / 2",
            objective.slopes(units, weights),
            slopes,
        ),
    ):
        difference = float(np.abs(np.asarray(got) - expected).max())
        largest = max(float(np.abs(expected).max()), abs(float(objective.constant)))
        if difference > SLOPE_TOLERANCE * largest:
            name = type(objective).__name__
            raise InvalidInput(
                f"{name}.{sentence}, for the same p; they differ by {difference:.3g}"
            )


def _require_distance(objective: Any) -> None:
    """Raise a sentence where the inner products about a target, of some entries, are none."""
    size = objective.space.size
    some = np.unique(np.linspace(0, size - 1, min(size, MOST_COMPARED)).astype(np.int64))
    eigenvalues = np.linalg.eigvalsh(objective.centred(some, some))
    if eigenvalues[0] < -NEGATIVE * abs(eigenvalues[-1]):
        raise InvalidInput(
            f"{type(objective).__name__}.centred(units, others) must return blocks of a positive"
            f" semi-definite matrix; got one with an eigenvalue of {eigenvalues[0]:.3g}; without"
            " centred any convex quadratic is served"
        )


def require_convex(objective: Any) -> None:
    """Raise a sentence where F lies below one of its own tangents, between some distributions where it is finite."""
    points = samples(objective.space.size)
    finite = values(objective, points) < math.inf
    inside = [p for p, is_finite in zip(points, finite, strict=True) if is_finite]
    for p, q in pairwise(inside[: FULL_SAMPLES + 1]):
        _require_tangent(objective, p, q)


def _require_tangent(objective: Any, p: Vector, q: Vector) -> None:
    """Compare F on the segment from p to q with its tangent in the middle, near by and at both ends."""
    middle, move = 0.5 * (p + q), q - p
    steps = np.array([0.0, -SHORT, SHORT, -0.5, 0.5, NEAR, -NEAR, 2.0 * NEAR])
    F = values(objective, [middle + step * move for step in steps])
    if not np.isfinite(F).all():
        return
    measured = float(F[2] - F[1]) / (2.0 * SHORT)
    noise = NOISE_TOLERANCE * float(np.abs(F[5:] - F[0]).max())
    if getattr(objective, "derivative", "") == "differences":  # a gradient made of F itself
        slope, size = measured, float(np.abs(F[[3, 4]] - F[0]).max())
        noise /= SHORT
    else:
        try:
            with np.errstate(all="ignore"):
                gradient = np.asarray(objective.gradient(middle.copy()), np.float64)
        except InvalidInput:  # infinite slopes beside a boundary, which searches avoid
            return
        terms = gradient[move != 0.0] * move[move != 0.0]
        if not np.isfinite(terms).all():
            return
        slope, size = float(terms.sum()), float(np.abs(terms).sum())
    below = F[0] + steps * slope - F
    allowed = SLOPE_TOLERANCE * np.abs(steps) * size + noise + SINGLE * float(np.abs(F).max())
    at = int(np.argmax(below - allowed))
    if below[at] <= allowed[at]:
        return
    name, tangent = type(objective).__name__, F[0] + steps[at] * slope
    raise InvalidInput(
        f"{name}.gradient(p) must be a subgradient of a convex {name}.value(p), F[q] >= F[p] +"
        f" <gradient(p), q - p>; got F[q] = {F[at]:.6g} below {tangent:.6g} (on a segment the"
        f" gradient says the slope {slope:.6g}, differences of F say {measured:.6g})"
    )
