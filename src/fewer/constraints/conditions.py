"""Linear side conditions on weights: G q <= h, and how far q may be from weights held before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, Vector, as_array, as_number, as_vector, shown
from ..programmes import Solved

Matrix = npt.NDArray[np.float64]

CUT, THIN = 1e-11, 1e-9
"""A turnover exceeded by less is kept, and one that leaves less room leaves none."""
TINY = float(np.finfo(np.float64).tiny)
LARGEST = 2.0
"""What no row of G q <= h reaches on the simplex, once its coefficients are below it."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Linear conditions on a distribution, beside those on its support.

        G p <= h   and   Σ |p - previous| <= max_turnover

    Parameters
    ----------
    G : array of shape (m, size), optional
        One row for each condition, in any unit: row and right side are stored divided by the
        largest coefficient.
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
        if (self.G is None) != (self.h is None):
            raise InvalidInput("constraints must be two arrays, G and h, for G q <= h")
        if (self.previous is None) != (self.max_turnover is None):
            raise InvalidInput("previous and max_turnover go together: give both or neither")
        if self.G is None and self.previous is None:
            raise InvalidInput(
                "Conditions needs G and h, or previous and max_turnover; got neither"
            )
        if self.previous is not None:
            previous = as_array(self.previous, "previous")
            if previous.ndim != 1:
                raise InvalidInput(
                    f"previous must be a vector of weights, got shape {previous.shape}"
                )
            most = as_number(self.max_turnover, "max_turnover", allow_equal=True)
            self.__dict__.update(previous=previous, max_turnover=most)
        G = np.zeros((0, len(self.previous))) if self.G is None else as_array(self.G, "G")
        if G.ndim != 2:
            raise InvalidInput(
                f"G must have two dimensions, one row for each condition, got shape {G.shape}"
            )
        h = as_vector([] if self.h is None else self.h, (len(G),), "h")
        names = tuple(self.names) or tuple(f"row {i} of constraints" for i in range(len(G)))
        if len(names) != len(G):
            raise InvalidInput(
                f"names must be one for each of the {len(G)} rows of G, got {len(names)}"
            )
        G, h = as_unit_rows(G, h)
        self.__dict__.update(G=G, h=h, names=names)

    def check(self, n: int) -> None:
        """Refuse what is not about n entries."""
        if self.size != n:
            raise InvalidInput(f"G must have {n} columns, one for each entry, got {self.size}")
        if self.previous is not None and len(self.previous) != n:
            raise InvalidInput(
                f"previous must have {n} weights, one for each entry, got {len(self.previous)}"
            )

    @property
    def size(self) -> int:
        """How many entries they are about."""
        return int(self.G.shape[1])

    def turnover(self, p: Vector) -> float:
        """`Σ |p - previous|`; 0 where there is none."""
        return 0.0 if self.previous is None else float(np.abs(p - self.previous).sum())

    def holds(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether every condition does, to within tol times the size of its row."""
        sizes = np.maximum(np.linalg.norm(self.G, axis=1), 1.0)
        if (self._excess(p) > tol * sizes).any():
            return False
        slack = tol * max(1.0, p.size**0.5)
        return self.max_turnover is None or self.turnover(p) <= self.max_turnover + slack

    def _excess(self, p: Vector) -> Vector:
        """G p - h, by the few entries that have mass."""
        units = np.flatnonzero(p)
        return np.asarray(self.G[:, units] @ p[units] - self.h)

    def binding(self, p: Vector, tol: float = 1e-6) -> list[str]:
        """The names of the conditions that hold with equality."""
        names = [self.names[i] for i in np.flatnonzero(np.abs(self._excess(p)) <= tol)]
        if self.max_turnover is not None and self.turnover(p) >= self.max_turnover - tol:
            names.append(f"max_turnover = {self.max_turnover:g}")
        return names

    def solved(
        self, entries: Indices, solve: "Callable[[Matrix, Vector], Solved | None]"
    ) -> "Conditioned | None":
        """Solve a programme of weights on some entries under all conditions.

        None where nothing is feasible.

        `solve(rows, right)` minimises over rows (w, d) <= right with some d >= 0. For the turnover,
        d is what w lacks to `previous`: where the sum is one, `Σ |q - previous| = 1 - Σ previous +
        2 Σ max(previous - q, 0)`, and an entry that had no weight can lack nothing.
        """
        G, h = np.ascontiguousarray(self.G[:, entries]), self.h
        if self.previous is None:
            plain = solve(G, h)
            return None if plain is None else Conditioned(plain.weights, *self._price(plain))
        held = np.flatnonzero(self.previous[entries] > 0.0)
        sold = np.maximum(self.previous, 0.0)
        sold[entries] = 0.0
        most = float(self.max_turnover or 0.0) - 1.0 + float(self.previous.sum())
        room = most - 2.0 * float(sold.sum())
        if room < -CUT:
            return None
        solution = solve(*self._with_lacks(G, entries, held, room))
        if solution is None:
            return None
        lacks, rates = np.split(solution.multipliers[len(h) :], [len(held)])
        rate = float(rates[0]) if len(rates) else 0.5 * float(lacks.max(initial=0.0))
        paid = np.where(sold > 0.0, 2.0 * rate, 0.0)
        paid[entries[held]] = np.minimum(lacks, 2.0 * rate)
        price, charge = self._price(solution)
        charge += rate * most - float(paid @ self.previous)
        return Conditioned(solution.weights, price - paid, charge)

    def _with_lacks(
        self, G: Matrix, entries: Indices, held: Indices, room: float
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
            return rows, np.append(self.h, lacked + CUT)
        rows[m + at, s + at] = -1.0
        rows[-1, s:] = 2.0
        return rows, np.concatenate([self.h, lacked, [room]])

    def _price(self, solution: Solved) -> tuple[Vector, float]:
        """What rows of G cost: for each entry, and in all."""
        multipliers = solution.multipliers[: len(self.h)]
        return np.asarray(multipliers @ self.G), float(multipliers @ self.h)


@dataclass(frozen=True, eq=False)
class Conditioned:
    """The best weights on some entries, and what the conditions cost: λ'(G q - h) = price'q - charge for all q."""

    weights: Vector
    price: Vector | float
    charge: float


def as_unit_rows(G: Matrix, h: Vector) -> tuple[Matrix, Vector]:
    """Rows of G q <= h divided by their largest coefficient.

    On the simplex |G q| <= 1 then, so h beyond 2 says no more than 2.

    >>> [part.tolist() for part in as_unit_rows(np.array([[0.0, 6.0]]), np.array([3.0]))]
    [[[0.0, 1.0]], [0.5]]
    """
    sizes = np.abs(G).max(axis=1, initial=0.0)
    sizes = np.where(sizes > 0.0, sizes, np.maximum(np.abs(h), TINY))
    return G / sizes[:, None], np.clip(h / sizes, -LARGEST, LARGEST)


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
    turning = second if second.previous is not None else first
    G, h = np.vstack([first.G, second.G]), np.concatenate([first.h, second.h])
    return Conditions(G, h, turning.previous, turning.max_turnover, (*first.names, *second.names))
