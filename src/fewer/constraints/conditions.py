"""Linear side conditions on weights: G q <= h, and how far q may be from weights held before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, Vector, as_array, as_number, as_vector, shown
from ..programmes import Solved  # noqa: TC001 - in a public signature

Matrix = npt.NDArray[np.float64]

CUT, THIN = 1e-11, 1e-9
"""A turnover exceeded by less is kept, and one that leaves less room leaves none."""
LARGEST = 2.0
"""What no row of G q <= h reaches on the simplex, once its coefficients are below it."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Linear conditions on a distribution, beside those on its support.

        G p <= h   and   Σ |p - previous| <= max_turnover

    Parameters
    ----------
    G : array of shape (m, size), optional
        One row for each condition, in any unit: row and right side are stored divided by a power of
        two, which brings the largest coefficient into [1, 2).
    h : array of shape (m,), optional
        Given together with G.
    previous : array of shape (size,), optional
        What was held before; it need not sum to one.
    max_turnover : float, optional
        Given together with `previous`. 2 allows everything where both sum to one.
    names : sequence of str, optional
        What messages call the rows.

    Examples
    --------
    >>> C = Conditions(G=[[1.0, 1.0, 0.0]], h=[0.5], previous=[0.0, 0.2, 0.8], max_turnover=0.5)
    >>> C.holds(np.array([0.25, 0.2, 0.55])), C.holds(np.array([0.0, 0.6, 0.4]))
    (True, False)
    """

    G: Any = None
    h: Any = None
    previous: Any = None
    max_turnover: float | None = None
    names: Any = ()

    def __post_init__(self) -> None:
        store = object.__setattr__
        if (self.G is None) != (self.h is None):
            raise InvalidInput("constraints must be two arrays, G and h, for G q <= h")
        if (self.previous is None) != (self.max_turnover is None):
            raise InvalidInput("previous and max_turnover go together: give both or neither")
        if self.G is not None:
            G = as_array(self.G, "G")
            if G.ndim != 2:
                raise InvalidInput(
                    f"G must have two dimensions, one row for each condition, got shape {G.shape}"
                )
            G, h = as_unit_rows(np.asarray(G, np.float64), as_vector(self.h, (len(G),), "h"))
            store(self, "G", G)
            store(self, "h", h)
            names = tuple(self.names) or tuple(f"row {i} of constraints" for i in range(len(G)))
            if len(names) != len(G):
                raise InvalidInput(
                    f"names must be one for each of the {len(G)} rows of G, got {len(names)}"
                )
            store(self, "names", names)
        if self.previous is not None:
            previous = as_array(self.previous, "previous")
            if previous.ndim != 1:
                raise InvalidInput(
                    f"previous must be a vector of weights, got shape {previous.shape}"
                )
            store(self, "previous", np.asarray(previous, np.float64))
            store(
                self, "max_turnover", as_number(self.max_turnover, "max_turnover", allow_equal=True)
            )

    def check(self, n: int) -> None:
        """Refuse what is not about n entries."""
        if self.G is not None and self.G.shape[1] != n:
            raise InvalidInput(
                f"G must have {n} columns, one for each entry, got {self.G.shape[1]}"
            )
        if self.previous is not None and len(self.previous) != n:
            raise InvalidInput(
                f"previous must have {n} weights, one for each entry, got {len(self.previous)}"
            )

    @property
    def size(self) -> int:
        """How many entries they are about."""
        return len(self.previous) if self.G is None else int(self.G.shape[1])

    def rows(self, entries: Indices) -> tuple[Matrix, Vector]:
        """The rows of G at these entries, and h."""
        if self.G is None:
            return np.zeros((0, len(entries))), np.zeros(0)
        return np.ascontiguousarray(self.G[:, entries]), self.h

    def turnover(self, p: Vector) -> float:
        """`Σ |p - previous|`; 0 where there is none."""
        return 0.0 if self.previous is None else float(np.abs(p - self.previous).sum())

    def holds(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether every condition does, to within tol times the size of its row."""
        if self.G is not None:
            over = self._products(p) - self.h
            if (over > tol).any() and (over > tol * np.linalg.norm(self.G, axis=1)).any():
                return False
        return self.max_turnover is None or self.turnover(p) <= self.max_turnover + tol * max(
            1, p.size**0.5
        )

    def _products(self, p: Vector) -> Vector:
        """G p, by the few entries that have mass."""
        held = np.flatnonzero(p)
        return np.asarray(self.G[:, held] @ p[held])

    def binding(self, p: Vector, tol: float = 1e-6) -> list[str]:
        """The names of the conditions that hold with equality."""
        found: list[str] = []
        if self.G is not None:
            found = [
                self.names[i] for i in np.flatnonzero(np.abs(self._products(p) - self.h) <= tol)
            ]
        if self.max_turnover is not None and self.turnover(p) >= self.max_turnover - tol:
            found.append(f"max_turnover = {self.max_turnover:g}")
        return found

    def solved(
        self, entries: Indices, solve: "Callable[[Matrix, Vector], Solved | None]"
    ) -> "Conditioned | None":
        """Solve a programme of weights on some entries under all conditions; None where nothing is feasible.

        `solve(rows, right)` minimises over rows (w, d) <= right with some d >= 0. For the turnover,
        d is what w lacks to `previous`: where the sum is one, `Σ |q - previous| = 1 - Σ previous +
        2 Σ max(previous - q, 0)`, and an entry that had no weight can lack nothing.
        """
        G, h = self.rows(entries)
        if self.previous is None:
            found = solve(G, h)
            return (
                None
                if found is None
                else Conditioned(found.weights, *self._price(found.multipliers))
            )
        held = np.flatnonzero(self.previous[entries] > 0.0)
        sold = np.maximum(self.previous, 0.0)
        sold[entries] = 0.0
        room = self._room - 2.0 * float(sold.sum())
        if room < -CUT:
            return None
        found = solve(*self._with_lacks(G, h, entries, held, room))
        if found is None:
            return None
        lacks, rates = (
            found.multipliers[len(h) : len(h) + len(held)],
            found.multipliers[len(h) + len(held) :],
        )
        rate = float(rates[0]) if len(rates) else 0.5 * float(lacks.max(initial=0.0))
        paid = np.where(sold > 0.0, 2.0 * rate, 0.0)
        paid[entries[held]] = np.minimum(lacks, 2.0 * rate)
        price, charge = self._price(found.multipliers[: len(h)])
        return Conditioned(
            found.weights, price - paid, charge + rate * self._room - float(paid @ self.previous)
        )

    def _with_lacks(
        self, G: Matrix, h: Vector, entries: Indices, held: Indices, room: float
    ) -> tuple[Matrix, Vector]:
        """Rows over weights and what they lack: previous - w <= d for those held before, and 2 Σ d <= room.

        Where there is no room, nothing may lack, and there is no d.
        """
        s, m, at = len(entries), len(G), np.arange(len(held))
        free = len(held) if room > THIN else 0
        rows = np.zeros((m + len(held) + (free > 0), s + free))
        rows[:m, :s] = G
        rows[m + at, held] = -1.0
        lacked = -self.previous[entries[held]]
        if not free:
            return rows, np.append(h, lacked + CUT)
        rows[m + at, s + at] = -1.0
        rows[-1, s:] = 2.0
        return rows, np.concatenate([h, lacked, [room]])

    @property
    def _room(self) -> float:
        """Twice what entries may lack to `previous` in all."""
        most = 0.0 if self.max_turnover is None else self.max_turnover
        return float(most - 1.0 + self.previous.sum())

    def _price(self, multipliers: Vector) -> tuple[Vector, float]:
        """What rows of G cost: for each entry, and in all."""
        if self.G is None:
            return np.zeros(len(self.previous)), 0.0
        return np.asarray(multipliers @ self.G), float(multipliers @ self.h)


@dataclass(frozen=True, eq=False)
class Conditioned:
    """The best weights on some entries, and what the conditions cost: λ'(G q - h) = price'q - charge for all q."""

    weights: Vector
    price: Vector | float
    charge: float


def as_unit_rows(G: Matrix, h: Vector) -> tuple[Matrix, Vector]:
    """Rows of G q <= h divided by powers of two, so that the largest coefficient is in [1, 2).

    No weights change their side of a condition. On the simplex |G q| < 2 then, so h beyond 2 says
    no more than 2.

    >>> [part.tolist() for part in as_unit_rows(np.array([[0.0, 6.0], [0.0, 0.0]]), np.array([3.0, -7.0]))]
    [[[0.0, 1.5], [0.0, 0.0]], [0.75, -1.75]]
    """
    sizes = np.abs(G).max(axis=1, initial=0.0)
    exponents = np.frexp(np.where(sizes > 0.0, sizes, np.abs(h)))[1] - 1
    with np.errstate(over="ignore"):
        return np.ldexp(G, -exponents[:, None]), np.clip(np.ldexp(h, -exponents), -LARGEST, LARGEST)


def group_conditions(
    codes: Indices, labels: tuple[Any, ...], most: Vector | None, least: Vector | None
) -> Conditions | None:
    """The limits of the weights of groups, at most and at least; None where they say nothing."""
    rows, right, names = [], [], []
    for option, limits, sign, idle in (
        ("max_group_weight", most, 1.0, 1.0),
        ("min_group_weight", least, -1.0, 0.0),
    ):
        if limits is None:
            continue
        for g in np.flatnonzero(limits != idle):
            rows.append(sign * (codes == g))
            right.append(sign * limits[g])
            names.append(f"{option} = {limits[g]:g} of group {shown(labels[g])}")
    return Conditions(np.array(rows), np.array(right), names=names) if rows else None


def together(first: Conditions | None, second: Conditions | None) -> Conditions | None:
    """The conditions of both; at most one of them limits a turnover."""
    if first is None or second is None:
        return first or second
    parts = [c for c in (first, second) if c.G is not None]
    turning = second if second.previous is not None else first
    G = np.vstack([c.G for c in parts]) if parts else None
    h = np.concatenate([c.h for c in parts]) if parts else None
    names = tuple(name for c in parts for name in c.names)
    return Conditions(G, h, turning.previous, turning.max_turnover, names)
