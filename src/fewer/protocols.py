"""What objectives and constraints offer each other's partners: capabilities, not classes.

A user's own parts are called a few times before they are used: does what they return fit, and does
the gradient support F from below, F[q] >= F[p] + <dF/dp, q - p>, which every bound relies on.
"""

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ._validation import Indices, InvalidInput, Vector, lacking, shown
from .cover import Cover
from .rules import Rules
from .spaces import Space, Units

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


@runtime_checkable
class Objective(Protocol):
    """A convex functional F over distributions on a space, with its variational derivative.

    Further members are optional, each with a default:

    - `smoothness`, infinite: beta with F[q] <= F[p] + <dF/dp, q - p> + beta/2 ‖q - p‖²
    - `lower_bound`, -infinite: no distribution has a lower value; `lower_bound_for(entries)`: none
      on at most so many entries; `lower_bound_attained`, False: some distribution has that value
    - `scale`, the median of abs(F) over some distributions: the size, above zero, of the terms that
      F is summed from, of ‖Ap - b‖² the squared lengths of the columns; rounding is measured by it
    - `slope_error(value)`, 0: how far rounding may move an entry of `slopes` where F has this value
    - `work`: multiplications so far, about, so that a budget does not depend on the machine;
      `entry_cost`, 1: those for one entry of a quadratic's H
    - `prepare()`: a long first computation that can be done beforehand, with pauses
    - `normalised()`: (G, e) with F = 2**e G and numbers near one; `near_one()`: without any work
    - `centred(units, others)`: of a quadratic that is a squared distance, F[p] = pᵀGp where Σp = 1,
      the block of G, the inner products with the target for origin. A quadratic without it may be
      negative, and is served by quadratic programmes.
    """

    @property
    def space(self) -> Space:
        """Where p lives."""
        ...

    def value(self, p: Vector) -> float:
        """F[p]."""
        ...

    def gradient(self, p: Vector) -> Vector:
        """The variational derivative at p, a new vector of `space.size` entries."""
        ...


@runtime_checkable
class FaceSolvable(Protocol):
    """An objective whose minimum over the distributions on one face is known exactly."""

    def best_on(self, face: Indices) -> Vector:
        """argmin F over distributions on the entries `face`, as a vector on the whole space."""
        ...

    def value_on(self, face: Indices) -> float:
        """min F over distributions on the entries `face`, without forming p.

        Infinite for an empty face.
        """
        ...


@runtime_checkable
class Quadratic(Protocol):
    """An objective F[p] = pᵀHp - 2 cᵀp + constant whose H (size, size) is only ever asked for in blocks."""

    @property
    def space(self) -> Space:
        """Where p lives."""
        ...

    @property
    def constant(self) -> float:
        """F at p = 0."""
        ...

    @property
    def diagonal(self) -> Vector:
        """The diagonal of H."""
        ...

    def linear(self, units: Indices) -> Vector:
        """c at these entries."""
        ...

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of H at these entries."""
        ...

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """c - Hp for p with these weights: minus half the gradient."""
        ...

    def value_at(self, units: Indices, weights: Vector) -> float:
        """F for p with these weights."""
        ...


@runtime_checkable
class Direct(Protocol):
    """An objective that finds its own optimum over all distributions on at most k entries."""

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """Iterates and lower bounds, None where there is none, with pauses.

        The last iterate is the optimum.
        """
        ...


@runtime_checkable
class Programmed(Protocol):
    """An objective that finds its best weights on some entries under linear conditions by itself, with their proof."""

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> Any:
        """min F over Σw = 1, low <= w <= high, rows w <= right: (weights and multipliers, g), or None: nothing fits.

        F[q] >= F[w] + <g, q - w> for every q, and with the multipliers this is tight.
        """
        ...

    def distances(self, p: Vector) -> Vector:
        """How far apart, squared, each entry's own outcome and that of p are, (size,)."""
        ...

    def fit_cost(self, count: int) -> float:
        """Multiplications of one such fit, about."""
        ...


@runtime_checkable
class Covered(Protocol):
    """An objective whose minimum over a face of dimensions depends only on the mass the face covers."""

    @property
    def target(self) -> Vector:
        """The mass at each entry of the space."""
        ...

    def cover(self, k: int) -> Cover | None:
        """The cover for faces of k dimensions, or None where this q or space does not allow it."""
        ...


@runtime_checkable
class Constraint(Protocol):
    """A set of distributions with its projection."""

    @property
    def space(self) -> Space:
        """Where p lives."""
        ...

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A nearest member of the set.

        a projection that is not exact may look at the member `near`.
        """
        ...

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a member, to within tol."""
        ...

    def support(self, p: Vector) -> Indices:
        """The units that p uses, sorted."""
        ...


@runtime_checkable
class Sparsity(Protocol):
    """A constraint made of faces, each named by at most k of n_units units."""

    @property
    def k(self) -> int:
        """How many units a member may use."""
        ...

    @property
    def n_units(self) -> int:
        """How many units there are."""
        ...

    @property
    def whole_faces(self) -> bool:
        """Whether every distribution on a face of at most k units is a member.

        False where further bounds cut them.
        """
        ...

    def face(self, units: Units) -> Indices:
        """The entries that use no unit outside `units`."""
        ...


@runtime_checkable
class Choosing(Protocol):
    """A sparse set whose faces are not whole, that knows what is best on one."""

    def best_with(self, objective: Any, units: Indices) -> Vector | None:
        """The best member on the face of these units, or a good one; None where there is none."""
        ...


def implements(thing: object, *protocols: type) -> bool:
    """Whether `thing` has every member; unlike isinstance it never evaluates a costly property."""
    kind = thing if isinstance(thing, type) else type(thing)
    return all(
        _in_class(kind, protocol) or not lacking(thing, members(protocol)) for protocol in protocols
    )


@lru_cache(maxsize=512)
def _in_class(kind: type, protocol: type) -> bool:
    """Whether a class itself has every member, known after the first time: searches ask thousands of times."""
    return not lacking(kind, members(protocol))


@cache
def members(protocol: type) -> tuple[str, ...]:
    """The names a protocol asks for."""
    return tuple(sorted(name for name in vars(protocol) if not name.startswith("_")))


def require(thing: object, protocol: type, who: str) -> None:
    """Raise a sentence that names what `thing` lacks of `protocol`."""
    lacks = lacking(thing, members(protocol))
    if lacks:
        kind = f"{protocol.__name__} ({', '.join(members(protocol))})"
        raise InvalidInput(
            f"{who} needs a thing with {kind}; {type(thing).__name__} lacks {', '.join(lacks)}"
        )


def smoothness_of(objective: object) -> float:
    """The smoothness that an objective declares; infinite where it declares none."""
    return float(getattr(objective, "smoothness", math.inf))


def lower_bound_of(objective: Any, rules: Rules | None = None) -> float:
    """Known lower bound on F, under rules for entries if there are any."""
    if rules is not None and hasattr(objective, "lower_bound_for"):
        return float(objective.lower_bound_for(rules.sizes[1]))
    return float(getattr(objective, "lower_bound", -math.inf))


def slope_error(objective: Any, value: float) -> float:
    """How far rounding may move a slope where F has this value, as far as the objective can tell."""
    return float(objective.slope_error(value)) if hasattr(objective, "slope_error") else 0.0


def scale_of(objective: Any) -> float:
    """The size of F's terms: what the objective states, else the median |F| of some distributions, 0 where unknown."""
    if hasattr(objective, "scale"):
        return float(objective.scale)
    sizes = np.abs(_values(objective, samples(objective.space.size)))
    sizes = sizes[np.isfinite(sizes)]
    return float(np.median(sizes)) if sizes.size else 0.0


def projection_note(constraint: object) -> str:
    """What to say of projections onto a constraint; empty where they are exact."""
    return str(getattr(constraint, "projection_note", ""))


def whole_faces(constraint: object) -> bool:
    """Whether the constraint is made of faces, and every distribution on one of them is a member."""
    return implements(constraint, Sparsity) and bool(cast("Sparsity", constraint).whole_faces)


def refits(constraint: object) -> bool:
    """Whether every distribution on the face of a member's support is a member."""
    return whole_faces(constraint) or bool(getattr(constraint, "dimensions", False))


def entrywise(constraint: Any) -> bool:
    """Whether units are entries, each with a weight of its own."""
    return bool(getattr(constraint, "entrywise", False))


def distances(objective: Any, constraint: Any) -> bool:
    """Whether F is a squared distance, over entries whose weights meet no linear conditions.

    Tables and bounds of such problems need F[p] = pᵀGp with G positive semi-definite where Σp = 1.
    Any other quadratic, as one that falls below zero, is served by quadratic programmes.
    """
    if not (entrywise(constraint) and is_distance(objective)):
        return False
    return constraint.rules.conditions is None and constraint.rules.most_groups is None


def is_distance(objective: Any) -> bool:
    """Whether F is a quadratic F[p] = pᵀGp on the simplex with G positive semi-definite."""
    return implements(objective, Quadratic) and (
        is_ours(objective) or hasattr(objective, "centred")
    )


def programmed(objective: Any, constraint: Any) -> bool:
    """Whether weights of entries are found by convex programmes: a loss that has its own, conditions, few groups."""
    if not entrywise(constraint) or distances(objective, constraint):
        return False
    few_groups = constraint.rules.most_groups is not None
    return few_groups or implements(objective, Quadratic) or implements(objective, Programmed)


def is_ours(thing: Any) -> bool:
    """Whether an object is of a class of this package."""
    return type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]


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


def _values(objective: Any, points: list[Vector]) -> Vector:
    """F at each point; infinite where it is not a number."""
    with np.errstate(all="ignore"):
        results = np.array([float(objective.value(p.copy())) for p in points])
    return np.where(np.isnan(results), np.inf, results)


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
    slopes = -0.5 * np.asarray(objective.gradient(p.copy()))
    pairs = {
        "value_at(units, weights) must be value(p)": (
            objective.value_at(units, weights),
            objective.value(p.copy()),
        ),
        "slopes(units, weights) must be -gradient(p) / 2": (
            objective.slopes(units, weights),
            slopes,
        ),
    }
    for sentence, (got, expected) in pairs.items():
        difference = float(np.abs(np.asarray(got) - expected).max())
        largest = max(float(np.abs(expected).max()), abs(float(objective.constant)))
        if difference > SLOPE_TOLERANCE * largest:
            raise InvalidInput(
                f"{type(objective).__name__}.{sentence}, for the same p; they differ by"
                f" {difference:.3g}"
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
    finite = _values(objective, points) < math.inf
    inside = [p for p, is_finite in zip(points, finite, strict=True) if is_finite]
    for p, q in pairwise(inside[: FULL_SAMPLES + 1]):
        _require_tangent(objective, p, q)


def _require_tangent(objective: Any, p: Vector, q: Vector) -> None:
    """Compare F on the segment from p to q with its tangent in the middle, near by and at both ends."""
    middle, move = 0.5 * (p + q), q - p
    steps = np.array([0.0, -SHORT, SHORT, -0.5, 0.5, NEAR, -NEAR, 2.0 * NEAR])
    F = _values(objective, [middle + step * move for step in steps])
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
