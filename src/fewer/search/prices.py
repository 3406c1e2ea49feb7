"""Bounding the allowed faces by prices: each support's value is split over its dimensions."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._compiled import prices as _prices
from .._compiled.prices import FREE, IN, LEAF, MORE, OUT, STUCK
from .._validation import Indices, Vector
from ..cover import KL, Cover
from ..rules import Rules

Fixed = npt.NDArray[np.int8]
ENTRIES_PER_CALL = 4_000_000
"""Entries levelled between two chances to stop: some hundredths of a second."""
ROUNDING = 1e-12
"""Bounds closer to the gain than this share of the total value count as reached."""
WHOLE, MOST_ROWS = 1e-6, 1e9
"""How far from whole numbers masses may be together, in rows; how many rows prices add up without
such an error."""


def common_unit(mass: Vector) -> tuple[float, float]:
    """The mass of one row where every mass is nearly a whole number of rows, and what their errors sum to; else 0, 0.

    >>> common_unit(np.array([2, 3]) / 16), common_unit(np.array([1.0, np.sqrt(2)]))
    ((0.0625, 0.0), (0.0, 0.0))
    """
    if len(mass) == 0:
        return 0.0, 0.0
    for divisor in range(1, 13):
        unit = float(mass.min()) / divisor
        error = float(np.abs(mass / unit - np.rint(mass / unit)).sum())
        if mass.sum() < MOST_ROWS * unit and error < WHOLE:
            return unit, error * unit
    return 0.0, 0.0


def tangent(cover: Cover, rules: Rules, fixed: Fixed, h: float) -> tuple[Vector, float]:
    """Values (E,) and a constant with values(S) + constant >= gain(S) for every face S that agrees with `fixed`.

    l2 is bounded by its tangent at h, with the largest M the branch allows:
    -(1 - Q)² / M <= 2 (1 - h) Q / M - (1 - h²) / M.
    """
    if cover.mode == KL:
        return cover.mass.copy(), 0.0
    inside = fixed == IN
    room = rules.room - float(rules.prices[inside].sum())
    largest = cover.log_m[inside].sum() + rules.most_worth(cover.log_m, fixed == FREE, room)
    shrink = float(np.exp(-largest))
    values: Vector = cover.squares + 2.0 * (1.0 - h) * shrink * cover.mass
    return values, -(1.0 - h * h) * shrink


def even_bound(cover: Cover, rules: Rules) -> float:
    """A gain that no allowed face exceeds: values split evenly, the dearest dimensions paid.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(
    ...     *supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0])
    ... )
    >>> even_bound(cover, Rules(3, 2))
    0.7
    """
    values, constant = tangent(cover, rules, np.zeros(cover.n, np.int8), 0.0)
    sizes = np.diff(cover.indptr)
    shares = np.repeat(values / np.maximum(sizes, 1), sizes)
    prices: Vector = np.bincount(cover.indices, shares, cover.n).astype(np.float64)
    return float(values[sizes == 0].sum() + rules.most_worth(prices)) + constant


class Node(NamedTuple):
    """What a proof knows of a branch.

    fixed: FREE, OUT or IN for each dimension; alive: the supports that a better face may cover, as
    packed bits; mark: the bound that the last look left; whole: whether nothing was branched on so
    far.
    """

    proof: "Proof"
    fixed: Fixed
    alive: npt.NDArray[np.uint8]
    mark: float = np.inf
    whole: bool = False


class Proof:
    """Branch and bound on prices (see `_compiled/prices.py`), which fix dimensions and discard supports on the way.

    Once the whole problem is stuck, `cover` shrinks to the supports that still matter: a face
    better than the best known one has the same gain there. l2 is bounded by its tangent at Q =
    `touch`.
    """

    def __init__(self, cover: Cover, rules: Rules, touch: float) -> None:
        self.cover, self.rules, self.touch = cover, rules, touch
        self.shrunk, self.steps, self.work = False, 0, 0.0
        self._unit, error = common_unit(cover.mass) if cover.mode == KL else (0.0, 0.0)
        self._split = np.zeros(len(cover.indices))
        total = float(self._linear(np.zeros(cover.n, np.int8))[0].sum())
        self.slack = (1.0 - WHOLE) * self._unit or ROUNDING * total
        self.rounding = 2.0 * error if self._unit else self.slack
        """How much larger than the best known gain that of a closed branch may be: of as many rows,
        by their errors."""

    def node(self, included: Indices, excluded: Indices) -> Node:
        """A branch to begin with."""
        fixed = np.zeros(self.cover.n, np.int8)
        fixed[included], fixed[excluded] = IN, OUT
        alive = np.packbits(np.ones(len(self.cover), np.bool_))
        return Node(self, fixed, alive, whole=not fixed.any())

    def rounded(self, bound: float) -> float:
        """A bound on gains in whole rows, or up by the rounding allowed."""
        if not self._unit:
            return bound + self.slack
        return float(np.floor(bound / self._unit + WHOLE)) * self._unit + self.rounding

    def look(self, node: Node, gain: float) -> tuple[float, list[Node], Indices | None]:
        """Tighten a branch by one bounded call: its bound, what is left of it, and the face where that is a single one.

        If the whole problem is stuck it shrinks; a branch that is stuck is divided.
        """
        cover = self.cover
        fixed = node.fixed.copy()
        values, constant = self._linear(fixed)
        values[~np.unpackbits(node.alive, count=len(cover)).view(np.bool_)] = 0.0
        scale = self._unit or 1.0
        floor = (gain + self.slack - constant) / scale
        rounds = _prices.PATIENCE + ENTRIES_PER_CALL // (1 + len(self._split))
        supports = cover.indptr, cover.indices, values, self._split, fixed
        limits = self.rules.prices, self.rules.room, floor, node.mark, rounds
        ended, raw, i, work = _prices.tighten(*supports, *limits)
        self.steps += 1
        self.work += work
        bound = raw * scale + constant
        after = Node(self, fixed, np.packbits(values > 0.0), whole=node.whole)
        if ended == LEAF:
            return bound, [], np.flatnonzero(fixed == IN)
        if ended == MORE:
            return bound, [after._replace(mark=raw)], None
        if ended != STUCK:
            return bound, [], None
        if node.whole and not self.shrunk:
            return bound, [self._shrink(fixed, values > 0.0)], None
        return bound, [self._child(after, i, side) for side in (OUT, IN)], None

    def _linear(self, fixed: Fixed) -> tuple[Vector, float]:
        """Values (E,) and a constant such that unit * values(S) + constant >= gain(S) for every S of the branch."""
        values, constant = tangent(self.cover, self.rules, fixed, self.touch)
        return (np.rint(values / self._unit) if self._unit else values), constant

    def _child(self, node: Node, i: int, side: int) -> Node:
        """A branch with dimension i fixed."""
        fixed = node.fixed.copy()
        fixed[i] = side
        return node._replace(fixed=fixed, whole=False)

    def _shrink(self, fixed: Fixed, alive: npt.NDArray[np.bool_]) -> Node:
        """Keep only these supports, and their splits."""
        self._split = self._split[np.repeat(alive, np.diff(self.cover.indptr))]
        self.cover = self.cover.take(np.flatnonzero(alive))
        self.shrunk = True
        return Node(self, fixed, np.packbits(np.ones(len(self.cover), np.bool_)), whole=True)
