"""What objectives and constraints offer each other's partners: capabilities, not classes."""

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Protocol, cast, runtime_checkable

from ._validation import Indices, InvalidInput, Vector, lacking
from .cover import Cover
from .spaces import Space, Units


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


def whole_faces(constraint: object) -> bool:
    """Whether the constraint is made of faces, and every distribution on one of them is a member."""
    return implements(constraint, Sparsity) and bool(cast("Sparsity", constraint).whole_faces)


def projection_note(constraint: object) -> str:
    """What to say of projections onto a constraint; empty where they are exact."""
    return str(getattr(constraint, "projection_note", ""))


def refits(constraint: object) -> bool:
    """Whether every distribution on the face of a member's support is a member."""
    return whole_faces(constraint) or hasattr(constraint, "costs")


def require_whole_faces(constraint: object, who: str) -> None:
    """Raise a sentence where a solver that takes faces whole meets further bounds."""
    require(constraint, Sparsity, f"{who}'s constraint")
    if not whole_faces(constraint) and not implements(constraint, Choosing):
        raise InvalidInput(
            f"{who} takes faces whole and cannot keep weight bounds, include, exclude or groups;"
            " use iht, whose projection keeps them exactly"
        )
