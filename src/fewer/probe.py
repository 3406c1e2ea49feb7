"""A few calls of the members of a user's own objective and constraint: does what they return fit, and how large is it.

The gradient of a convex F supports it from below, F[q] >= F[p] + <dF/dp, q - p>, which every bound
relies on.
"""

import math
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ._validation import InvalidInput, Vector, shown
from .protocols import Centred, Quadratic, Scaled, implements

OURS = f"{__name__.partition('.')[0]}."
FULL_SAMPLES = 4
"""Random distributions of full support; then one on half of the entries, on a quarter, ..."""
SHORT = 1e-2
"""The share of a segment on which a gradient is compared with differences of F."""
NEAR = 1e-7
"""The share of a segment on which F hardly changes, but for its own rounding."""
SLOPE_TOLERANCE, SINGLE, NOISE_TOLERANCE = 1e-3, 3e-6, 30.0
"""What F may lie below a tangent: a share of the terms of the slope, a share of |F|, and so many times its rounding."""

MOST_COMPARED, NEGATIVE = 200, 1e-8
"""Entries whose inner products are looked at, and the share of the largest eigenvalue that may be negative."""


@runtime_checkable
class Derived(Protocol):
    """An objective of functions that the user wrote, and where its gradient comes from."""

    @property
    def derivative(self) -> str:
        """One of "given", "autodiff", "differences"."""
        ...


def samples(size: int) -> list[Vector]:
    """Some distributions, always the same: of full support, and of fewer and fewer entries."""
    rng = np.random.default_rng(0)
    points = []
    for held in [size] * FULL_SAMPLES + [
        max(size >> i, 1) for i in range(1, size.bit_length() + 1)
    ]:
        p = np.zeros(size)
        p[rng.choice(size, held, replace=False)] = rng.dirichlet(np.ones(held))
        points.append(p)
    return points


def values(objective: Any, points: list[Vector]) -> Vector:
    """F at each point; infinite where it is not a number."""
    with np.errstate(all="ignore"):
        found = np.array([float(objective.value(p.copy())) for p in points])
    return np.where(np.isnan(found), np.inf, found)


def scale_of(objective: Any) -> float:
    """The size of F's terms: what the objective states, else the median |F| of some distributions; 0 where unknown."""
    if implements(objective, Scaled):
        return float(objective.scale)
    sizes = np.abs(values(objective, samples(objective.space.size)))
    sizes = sizes[np.isfinite(sizes)]
    return float(np.median(sizes)) if sizes.size else 0.0


def probe(objective: Any, constraint: Any) -> None:
    """Raise a sentence where a member returns another kind or shape of thing; parts of this package are not asked.

    What a member itself raises goes through as it is: it is the caller's own code.
    """
    size = constraint.space.size
    uniform = np.full(size, 1.0 / size)
    if not is_ours(objective):
        _expect(objective, "value(p)", "a number", objective.value(uniform.copy()), _is_number)
        vector = f"a vector of {size} numbers"
        _expect(
            objective,
            "gradient(p)",
            vector,
            objective.gradient(uniform.copy()),
            lambda g: _is_vector(g, size),
        )
    if implements(objective, Derived) or not is_ours(objective):
        require_convex(objective)
        if implements(objective, Quadratic) and not is_ours(objective):
            _require_quadratic(objective)
        if implements(objective, Quadratic, Centred):
            _require_distance(objective)
    if not is_ours(constraint):
        p = constraint.project(uniform.copy())
        _expect(
            constraint,
            "project(v)",
            f"a vector of {size} numbers",
            p,
            lambda p: _is_vector(p, size),
        )
        _expect(constraint, "contains(p)", "True or False", constraint.contains(p), _is_answer)
        support = constraint.support(p)
        _expect(
            constraint,
            "support(p)",
            "a vector of whole numbers, the units that p uses",
            support,
            _is_units,
        )


def _require_quadratic(objective: Any) -> None:
    """Raise a sentence where the members of a quadratic contradict its value and its gradient."""
    size, name = objective.space.size, type(objective).__name__
    units = np.unique(np.linspace(0, size - 1, min(size, 3)).astype(np.int64))
    weights = np.arange(1.0, units.size + 1) / np.arange(1.0, units.size + 1).sum()
    p = np.zeros(size)
    p[units] = weights
    pairs = {
        "value_at(units, weights) must be value(p)": (
            objective.value_at(units, weights),
            objective.value(p.copy()),
        ),
        "slopes(units, weights) must be -gradient(p) / 2": (
            objective.slopes(units, weights),
            -0.5 * np.asarray(objective.gradient(p.copy())),
        ),
    }
    for sentence, (got, expected) in pairs.items():
        apart = float(np.abs(np.asarray(got) - expected).max())
        largest = max(float(np.abs(expected).max()), float(np.abs(objective.constant)))
        if apart > SLOPE_TOLERANCE * largest:
            raise InvalidInput(f"{name}.{sentence}, for the same p; they differ by {apart:.3g}")


def _require_distance(objective: Any) -> None:
    """Raise a sentence where the inner products about a target, of some entries, are none."""
    size = objective.space.size
    some = np.unique(np.linspace(0, size - 1, min(size, MOST_COMPARED)).astype(np.int64))
    eigenvalues = np.linalg.eigvalsh(objective.centred(some, some))
    if eigenvalues[0] < -NEGATIVE * abs(eigenvalues[-1]):
        raise InvalidInput(
            f"{type(objective).__name__}.centred(units, others) must return blocks of a positive semi-definite matrix; "
            f"got one with an eigenvalue of {eigenvalues[0]:.3g}; without centred any convex quadratic is served"
        )


def require_convex(objective: Any) -> None:
    """Raise a sentence where F lies below one of its own tangents, between some distributions where it is finite."""
    points = samples(objective.space.size)
    found = values(objective, points)
    finite = [p for p, value in zip(points, found, strict=True) if value < math.inf][
        : FULL_SAMPLES + 1
    ]
    for p, q in pairwise(finite):
        _require_tangent(objective, p, q)


def _require_tangent(objective: Any, p: Vector, q: Vector) -> None:
    """Compare F on the segment from p to q with its tangent in the middle, near by and at both ends."""
    middle, move = 0.5 * (p + q), q - p
    steps = np.array([0.0, -SHORT, SHORT, -0.5, 0.5, NEAR, -NEAR, 2.0 * NEAR])
    found = values(objective, [middle + step * move for step in steps])
    if not np.isfinite(found).all():
        return
    noise = NOISE_TOLERANCE * float(np.abs(found[5:] - found[0]).max())
    if getattr(objective, "derivative", "") == "differences":  # a gradient made of F itself
        slope, size = (
            float(found[2] - found[1]) / (2.0 * SHORT),
            float(np.abs(found[[3, 4]] - found[0]).max()),
        )
        noise /= SHORT
    else:
        try:
            with np.errstate(all="ignore"):
                gradient = np.asarray(objective.gradient(middle.copy()), np.float64)
        except InvalidInput:  # infinite slopes beside a boundary, which searches avoid
            return
        used = np.flatnonzero(move)
        if not np.isfinite(gradient[used]).all():
            return
        slope, size = (
            float(gradient[used] @ move[used]),
            float(np.abs(gradient[used]) @ np.abs(move[used])),
        )
    below = found[0] + steps * slope - found
    allowed = SLOPE_TOLERANCE * np.abs(steps) * size + noise + SINGLE * float(np.abs(found).max())
    if not (below > allowed).any():
        return
    name = type(objective).__name__
    at = int(np.argmax(below - allowed))
    measured = float(found[2] - found[1]) / (2.0 * SHORT)
    tangent = found[0] + steps[at] * slope
    raise InvalidInput(
        f"{name}.gradient(p) must be a subgradient of a convex {name}.value(p), F[q] >= F[p] + <gradient(p), q - p>; "
        f"got F[q] = {found[at]:.6g} below {tangent:.6g} (on a segment the gradient says the slope {slope:.6g}, "
        f"differences of F say {measured:.6g})"
    )


def is_ours(thing: Any) -> bool:
    """Whether an object is of a class of this package."""
    return type(thing).__module__.startswith(OURS)


def _expect(thing: Any, call: str, expected: str, got: Any, fits: Any) -> None:
    if not fits(got):
        raise InvalidInput(
            f"{type(thing).__name__}.{call} must return {expected}, got {_told(got)}"
        )


def _told(got: Any) -> str:
    """Arrays by their shape and type: their numbers are of no interest here."""
    return (
        f"an array of shape {got.shape} and type {got.dtype}"
        if isinstance(got, np.ndarray)
        else shown(got)
    )


def _is_number(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind in "biuf"


def _is_vector(x: Any, size: int) -> bool:
    return isinstance(x, np.ndarray) and x.shape == (size,) and x.dtype.kind in "iuf"


def _is_answer(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind == "b"


def _is_units(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 1 and (x.dtype.kind in "iu" or x.size == 0)
