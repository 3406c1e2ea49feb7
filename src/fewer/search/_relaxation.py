"""Lower bounds for branches of supports of a quadratic: doubly non-negative relaxations.

The relaxation is that of `dnn_admm`, its bounds those of `certificate`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._compiled import certificate, dnn_admm
from ..active_set import box_weights
from ..constraints.sparse_simplex import SparseSimplex
from ..threads import own_threads
from ._spectral_start import spectral_start
from .engine import Branch

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RELATIVE = 5e-10
"""Of the value: a branch that could only win less is closed."""
ABSOLUTE = 1e-14
"""Of the mean squared distance of a column from the target: likewise."""
WORK = 3e7
"""Cubed units of ADMM rounds between two looks at the clock: a few hundredths of a second."""
ROUND_OVERHEAD = 3e5
"""Multiplications that an ADMM round costs beside its units cubed."""
LOOK = 5
"""ADMM rounds between two bounds, at least."""
WATCH = 25
"""ADMM rounds between two looks at a node's progress."""
STALL = 0.15
"""A node is branched on when such a span closes less than this share of its gap."""
PATIENT = 0.02
"""The same share for the root, where every branch begins."""
SLOW = 0.005
"""The same for a root with multipliers from the best value, times bound / value: far below the value branches are of no
use, and the bound rises slowly."""
BETA = 0.5
"""The first penalty of the ADMM, in |H|^1.5: what suited 31 to 386 columns, see the benchmark."""
SOFTER = 0.15
"""The penalty where a unit has just entered, at most, in first penalties: the multipliers have far to go there."""
UNBALANCED = 2.0
"""Ratio of the residuals at which the penalty is changed."""
LEAN = 2.0
"""The ratio that the root aims at: bounds come from the multipliers, whose residual a lower penalty keeps small."""


def labels(constraint: SparseSimplex) -> Indices:
    """The group of each unit (n,), numbered from 0; without groups every unit is in group 0."""
    return (
        np.zeros(constraint.space.size, np.int64)
        if constraint.groups is None
        else constraint.groups
    )


def caps(constraint: SparseSimplex) -> Indices:
    """How many units each group may give."""
    return (
        np.array([constraint.space.size]) if constraint.counts is None else constraint.counts.most
    )


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Where the ADMM of a node stands, see `dnn_admm`: the m units not out, which of them are in, and the iterates.

    `limits` (2, m) hold for all weights better than those known; `mark` is the bound when progress
    was last looked at, `rounds` the ADMM rounds since.
    """

    units: Indices
    inside: Mask
    limits: Matrix
    Y: Matrix
    Z: Matrix
    z: Vector
    y: Vector
    beta: float
    mark: float = -math.inf
    rounds: int = 0

    def keep(self, stays: Mask, inside: Mask) -> "Relaxation":
        """The same relaxation after some units are decided; fewer units never lower its bound."""
        at = np.flatnonzero(stays)
        wide = np.ix_(np.append(0, at + 1), np.append(0, at + 1))
        return replace(
            self,
            units=self.units[at],
            inside=inside[at],
            limits=np.ascontiguousarray(self.limits[:, at]),
            Y=self.Y[wide],
            Z=self.Z[wide],
            z=self.z[at],
            y=self.y[at],
        )

    def decide(self, at: int, enters: bool) -> "Relaxation":
        """The child in which one unit, by its position, is in or out."""
        inside, stays = self.inside.copy(), np.ones(len(self.units), np.bool_)
        inside[at], stays[at] = enters, enters
        return replace(self.keep(stays, inside), mark=-math.inf, rounds=0)

    def weights(self) -> Vector:
        """The relaxed weights (m,)."""
        return self.Y[0, 1:] / math.sqrt(self.Y[0, 0])

    def indicators(self) -> Vector:
        """The relaxed indicators (m,), 1 for units that are in."""
        return np.where(self.inside, 1.0, self.z / self.Y[0, 0])


def begin(
    units: Indices, inside: Mask, ends: tuple[float, float], k: int, beta: float
) -> Relaxation:
    """A relaxation before its first round: even weights, no multipliers.

    >>> begin(np.arange(4), np.zeros(4, bool), (0.0, 1.0), 2, 1.0).weights()
    array([0.25, 0.25, 0.25, 0.25])
    """
    m, border = len(units), 2.0 / k**2
    side = np.append(math.sqrt(border), np.full(m, 1.0 / max(m, 1)))
    z = np.full(m, border * min(k / max(m, 1), 1.0))
    limits = np.outer(ends, np.ones(m))
    return Relaxation(
        units, inside, limits, np.outer(side, side), np.zeros((m + 1, m + 1)), z, np.zeros(m), beta
    )


class Relaxations:
    """Bounds for branches of supports, given the best weights known.

    min q'Hq - 2c'q + const  over  q >= 0, 1'q = 1, at most k non-zeros, and `rules`;  H = A'A: (n,
    n), c = A'b: (n,), const = b'b. A branch decides some units in or out. Its bound comes from a
    few rounds of the ADMM in `dnn_admm`, which begin where its parent stood and go on while they
    pay; bounds also decide units, and narrow the limits of weights, where the rest could not win.
    `nodes` counts branchings and leaves. With `spectral` the root starts from multipliers that the
    best value known suggests; else from none.
    """

    def __init__(
        self, H: Matrix, c: Vector, const: float, rules: SparseSimplex, spectral: bool = False
    ) -> None:
        self.rules, self.spectral = rules, spectral
        self.k = rules.sizes[1]
        self.nodes = 0
        self.work = 0.0  # multiplications so far, about
        self.value, self.support, self.weights = math.inf, np.zeros(0, np.int64), np.zeros(0)
        self._group, self._caps = labels(rules), caps(rules)
        self._fewest = np.zeros_like(self._caps) if rules.counts is None else rules.counts.fewest
        centred = H - c[:, None] - c[None, :] + const
        self._scale = float(np.diag(centred).mean()) or 1.0
        self._H = np.ascontiguousarray(centred / self._scale)
        np.fill_diagonal(
            self._H, np.maximum(np.diag(self._H), 0.0)
        )  # a column that is the target, but for rounding
        self._beta = BETA * max(float(np.linalg.norm(self._H)), 1.0) ** 1.5
        self._floor = math.inf  # the least bound among closed leaves
        self._left: list[Branch] = []

    def root(self) -> Relaxation:
        """The relaxation of all supports."""
        units = np.flatnonzero(self.rules.open)
        inside = np.isin(units, np.asarray(self.rules.include, np.int64))
        return begin(
            units,
            inside,
            (self.rules.min_weight, min(self.rules.max_weight, 1.0)),
            self.k,
            self._beta,
        )

    @property
    def proven(self) -> float:
        """No weights in a branch that was closed have a lower value."""
        return min(self._floor * self._scale, max(self.value - self._slack(), 0.0))

    def look(self, branch: Branch) -> tuple[Branch, ...]:
        """Tighten a branch by one bounded call: what is left of it."""
        self._left = []
        node = self.root() if branch.memory is None else branch.memory
        bound = max(branch.bound / self._scale, 0.0)
        if bound < self._cutoff() and self._possible(node) and not self._easy(bound, node):
            with own_threads():  # matrices this small are slower on several threads, by far
                if self.spectral and branch.memory is None and 0.0 < self.value < math.inf:
                    self._push(bound, self._started(node))
                else:
                    self._tighten(bound, node)
        return tuple(self._left)

    def offer(self, support: Indices, weights: Vector, value: float | None = None) -> bool:
        """Take weights that obey the rules over if they are better than those known; their value is recomputed."""
        support, weights = np.asarray(support, np.int64), np.asarray(weights, float)
        found = float(weights @ self._H[np.ix_(support, support)] @ weights) * self._scale
        if not found < self.value:
            return False
        order = np.argsort(support)
        self.support, self.weights, self.value = support[order], weights[order], max(found, 0.0)
        return True

    def _slack(self) -> float:
        return RELATIVE * self.value + ABSOLUTE * self._scale if self.value < math.inf else 0.0

    def _cutoff(self) -> float:
        """Scaled bounds from here on are of no interest."""
        return max(self.value - self._slack(), 0.0) / self._scale

    def _push(self, bound: float, node: Relaxation) -> None:
        if bound < self._cutoff():
            outside = np.setdiff1d(np.arange(len(self._group)), node.units)
            self._left.append(Branch(node.units[node.inside], outside, bound * self._scale, node))

    def _room(self, node: Relaxation) -> tuple[int, Indices]:
        """How many more units may enter: in all, and of each group, places kept for the fewest of the others."""
        inside = node.units[node.inside]
        used = np.bincount(self._group[inside], minlength=len(self._caps))
        spare = self.k - int(np.maximum(used, self._fewest).sum())
        return self.k - len(inside), np.minimum(
            self._caps - used, np.maximum(self._fewest - used, 0) + spare
        )

    def _possible(self, node: Relaxation) -> bool:
        """Whether counts and weights leave any support at all."""
        room, left = self._room(node)
        if room < 0 or left.min() < 0:
            return False
        free = np.bincount(self._group[node.units[~node.inside]], minlength=len(left))
        most = self.k - room + min(room, int(np.minimum(free, left).sum()))
        least = (self.k - room) * self.rules.min_weight
        here = np.bincount(self._group[node.units], minlength=len(left))
        if self.rules.strict and (here < self._fewest).any():
            return False
        return most > 0 and most * self.rules.max_weight >= 1.0 - 1e-12 and least <= 1.0 + 1e-12

    def _easy(self, bound: float, node: Relaxation) -> bool:
        """Whether no count binds, so that one quadratic programme settles the node, or a weight to branch on."""
        room, left = self._room(node)
        if room == 0 or (left[self._group[node.units[~node.inside]]] == 0).any():
            open_group = left[self._group[node.units]] > 0
            node = node.keep(node.inside | (open_group if room else False), node.inside)
        free = ~node.inside
        every = np.bincount(self._group[node.units], minlength=len(left))
        if np.maximum(every, self._fewest).sum() > self.k or (every > self._caps).any():
            return False
        lower = np.where(node.inside, self.rules.min_weight, 0.0)
        q, gap = self._refit(node.units, lower)
        value = float(q @ self._H[np.ix_(node.units, node.units)] @ q)
        low = max(bound, value - gap)
        broken = np.flatnonzero(free & self._broken(node, q))
        if broken.size == 0:
            self.nodes += 1
            used = node.inside | (q > 0.0)
            self.offer(node.units[used], q[used])
            self._floor = min(self._floor, low)
        elif low < self._cutoff():
            self._branch(low, node, int(broken[np.argmax(q[broken])]), 0.0, 0.0)
        return True

    def _broken(self, node: Relaxation, q: Vector) -> Mask:
        """Which weights are none: too small, or zero in a group that lacks units with weight."""
        low = self.rules.min_weight * (1.0 - 1e-12)
        group = self._group[node.units]
        used = np.bincount(group[node.inside | (q > 0.0)], minlength=len(self._fewest))
        short = (used < self._fewest)[group] & (low > 0.0)
        return np.asarray((q < low) & ((q > 0.0) | short))

    def _refit(self, units: Indices, lower: Vector) -> tuple[Vector, float]:
        """The best weights (s,) on given units between `lower` and the largest weight, and their duality gap."""
        H, zero = self._H[np.ix_(units, units)], np.zeros(len(units))
        upper = np.full(len(units), min(self.rules.max_weight, 1.0))
        w = box_weights(H, zero, lower, upper, vertex(np.diag(H), lower, upper))
        slopes = 2.0 * (H @ w)
        return w, max(float(slopes @ (w - vertex(slopes, lower, upper))), 0.0)

    def _started(self, node: Relaxation) -> Relaxation:
        """The same relaxation with the multipliers that the best value suggests, which cost as much as a round."""
        H, border = self._H[np.ix_(node.units, node.units)], float(node.Y[0, 0])
        self.work += (len(H) + 8.0) ** 3 + ROUND_OVERHEAD
        Y, Z, y, beta = spectral_start(H, self.k, self.value / self._scale, border)
        return replace(node, Y=Y, Z=Z, y=y, beta=beta)

    def _tighten(self, bound: float, node: Relaxation) -> None:
        """Some rounds of the ADMM, the bound they give, and what follows from it."""
        room, left = self._room(node)
        group = self._group[node.units]
        H = np.ascontiguousarray(self._H[np.ix_(node.units, node.units)])
        few = int(min(max(WORK / (len(group) + 8) ** 3, 1), WATCH))
        self.work += few * ((len(group) + 8.0) ** 3 + ROUND_OVERHEAD)
        state = node.Y, node.Z, node.z, node.y
        away, moved, Z = dnn_admm.rounds(
            H, node.limits, node.inside, room, group, left, node.beta, *state, few
        )
        before, node = node.rounds, replace(node, rounds=node.rounds + few)
        if node.rounds // LOOK == before // LOOK:
            self._push(bound, node)
            return
        if node.mark == -math.inf:
            self._round(node)
        cutoff = self._cutoff()
        low, price_in, price_out, limits = certificate.certify(
            H, float(node.Y[0, 0]), Z, node.limits, node.inside, room, group, left, cutoff
        )
        if low >= cutoff:
            return
        bound = max(bound, low)
        stays, inside = low + price_in < cutoff, node.inside | (low + price_out >= cutoff)
        moves = not stays.all() or inside.sum() > node.inside.sum()
        node = replace(node, limits=limits)
        if node.rounds >= WATCH:
            beta = rebalanced(node.beta, away if self.nodes else away / LEAN, moved)
            share = STALL if self.nodes else SLOW * low / cutoff if self.spectral else PATIENT
            moves |= low - node.mark >= share * (cutoff - low)
            moves |= (
                beta != node.beta and not self.nodes
            )  # a new penalty costs the bound for some rounds
            node = replace(node, rounds=0, mark=low, beta=beta)
            if not moves:
                self._split(bound, low, node, price_in, price_out)
                return
        self._push(bound, node.keep(stays, inside) if moves else node)

    def _split(
        self, bound: float, low: float, node: Relaxation, price_in: Vector, price_out: Vector
    ) -> None:
        """Branch on the unit of the largest weight times indicator variance, once the weights were rounded."""
        self._round(node)
        z = node.indicators()
        at = int(np.argmax(np.where(node.inside, -1.0, node.weights() * z * (1.0 - z))))
        self._branch(bound, node, at, low + price_in[at], low + price_out[at])

    def _branch(
        self, bound: float, node: Relaxation, at: int, low_in: float, low_out: float
    ) -> None:
        self.nodes += 1
        self._push(max(bound, low_out), node.decide(at, False))
        child = node.decide(at, True)
        self._push(max(bound, low_in), replace(child, beta=min(child.beta, SOFTER * self._beta)))

    def _round(self, node: Relaxation) -> None:
        """Offer the best weights on the units of the largest relaxed weights."""
        room, left = self._room(node)
        if self._fewest.any():
            order = node.units[np.lexsort((-node.weights(), ~node.inside))]
            units = self.rules.fitting(
                np.append(order, np.setdiff1d(np.flatnonzero(self.rules.open), order)), self.k
            )
        else:
            chosen = certificate.choose(
                node.weights() + 1e-300, node.inside, room, self._group[node.units], left
            )
            units = node.units[chosen]
        low, high = self.rules.min_weight, self.rules.max_weight
        if len(units) * low > 1.0 or len(units) * high < 1.0:
            return
        q, _ = self._refit(units, np.full(len(units), low))
        used = np.isin(units, node.units[node.inside]) | (q > 0.0)
        self.offer(units[used], q[used])


def vertex(slopes: Vector, lower: Vector, upper: Vector) -> Vector:
    """The vertex of {lower <= w <= upper, 1'w = 1} with the least slopes'w: lower bounds, the rest to the least slopes.

    >>> vertex(np.array([3.0, 1.0, 2.0]), np.zeros(3), np.full(3, 0.6)).tolist()
    [0.0, 0.6, 0.4]
    """
    order = np.argsort(slopes, kind="stable")
    room = (upper - lower)[order]
    taken = np.minimum(
        room, np.maximum(1.0 - lower.sum() - np.append(0.0, np.cumsum(room)[:-1]), 0.0)
    )
    w = lower.copy()
    w[order] += taken
    return w


def rebalanced(beta: float, away: float, moved: float) -> float:
    """The penalty of the next rounds, from the primal and dual residuals of the last.

    >>> rebalanced(10.0, 1.0, 1.0), rebalanced(10.0, 0.1, 6.0)
    (15.0, 6.666666666666667)
    """
    if beta * away > UNBALANCED * moved:
        return min(1.5 * beta, 1e8)
    return max(beta / 1.5, 1e-4) if moved > UNBALANCED * beta * away else beta
