"""Lower bounds for branches of supports of a quadratic: doubly non-negative relaxations.

The relaxation is that of `dnn_admm`, its bounds those of `certificate`. Linear conditions G q <= h
enter by prices: as 1'q = 1, for multipliers v >= 0

    q'Hq + v'(Gq - h) = q'(H + (price 1' + 1 price') / 2 - charge 11') q,    price = G'v, charge = v'h,

so the relaxation of the priced matrix, which need not be semi-definite, bounds q'Hq wherever the
conditions hold. The multipliers of a node follow its relaxed indicators.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from .._compiled import certificate, dnn_admm
from .._validation import Indices, Vector
from ..constraints.conditions import Conditioned
from ..rules import Rules
from ..threads import own_threads
from .engine import Branch
from .fits import (
    Fit,
    Mask,
    Matrix,
    bounds,
    conditioned_weights,
    feasible_weights,
    spread,
    vertex,
)

PROVABLE = 600
"""Units up to which a proof forms their whole matrix."""
RELATIVE = 5e-10
"""A branch that could win less than this share of the value is closed."""
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
"""The same for a root with multipliers from the best value, times bound / value: far below the
value branches are of no use, and the bound rises slowly."""
BETA = 0.5
"""The first penalty of the ADMM, in |H|^1.5: what suited 31 to 386 columns, see the benchmark."""
SOFTER = 0.15
"""The penalty where a unit has just entered, at most, in first penalties: the multipliers have far
to go there."""
UNBALANCED = 2.0
"""Ratio of the residuals at which the penalty is changed."""
LEAN = 2.0
"""The ratio that the root aims at: bounds come from the multipliers, whose residual a lower penalty
keeps small."""
UNLIKELY = 1e-2
"""An indicator counts for at least so much where conditions are priced."""
SETTLING = 0.3
"""The share of the way that prices go at a time: whole steps swing from one side of the best ones
to the other."""
POWER = 0.4
"""Eigenvalues e of H shrink by a multiple of e^POWER: what those of M do on digits, for 150 and 300
rows alike."""
LOST = 2.0
"""delta in k times the best value; tau is the best value."""
PENALTY = 0.05
"""The first penalty of a spectral start in delta m k, that is, in d_i / X_ii."""
HALVINGS = 60
"""Of the bracket of the multiple: as many as a double has digits, about."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Where the ADMM of a node stands, see `dnn_admm`: the m units not out, which of them are in, and the iterates.

    `limits` (2, m) hold for all weights better than those known; `price` (m,) and `charge` are what
    conditions cost; `mark` is the bound when progress was last looked at, `rounds` the ADMM rounds
    since.
    """

    units: Indices
    inside: Mask
    limits: Matrix
    Y: Matrix
    Z: Matrix
    z: Vector
    y: Vector
    beta: float
    price: Vector
    charge: float = 0.0
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
            price=self.price[at],
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

    def priced(self, H: Matrix) -> Matrix:
        """H + (price 1' + 1 price') / 2 - charge 11', (m, m)."""
        return np.asarray(H + 0.5 * (self.price[:, None] + self.price) - self.charge)

    def reprice(self, price: Vector, charge: float) -> "Relaxation":
        """The same relaxation with other prices.

        Its multipliers change so that `certificate.splitting` keeps M and d.
        """
        root, Z = math.sqrt(self.Y[0, 0]), self.Z.copy()
        dearer, charged = price - self.price, charge - self.charge
        Z[1:, 1:] -= 0.5 * (dearer[:, None] + dearer) - charged
        Z[0, 1:] += 0.5 * dearer / root
        Z[1:, 0] += 0.5 * dearer / root
        Z[0, 0] -= charged / self.Y[0, 0]
        return replace(self, Z=Z, price=price, charge=charge)


class Relaxations:
    """Bounds for branches of supports, given the best weights known.

    min q'Gq  over  q >= 0, 1'q = 1, at most k non-zeros, and `rules`;  G: (n, n), the inner products
    with the target for origin. A branch decides some units in or out. Its bound comes from a few
    rounds of the ADMM in `dnn_admm`, which begin where its parent stood and go on while they pay;
    bounds also decide units, and narrow the limits of weights, where the rest could not win.
    `nodes` counts branchings and leaves. With `spectral` the root starts from multipliers that the
    best value known suggests; else from none.
    """

    def __init__(self, G: Matrix, rules: Rules, spectral: bool = False) -> None:
        self.rules, self.conditions = rules, rules.conditions
        self.spectral = spectral and self.conditions is None
        self.k, self.nodes = rules.sizes[1], 0
        self.work = 0.0  # multiplications so far, about
        self.value, self.support, self.weights = math.inf, np.zeros(0, np.int64), np.zeros(0)
        self._group, self._caps, self._fewest = rules.classes
        self._scale = float(np.diag(G).mean()) or 1.0
        self._H = np.ascontiguousarray(G / self._scale)
        self._H[np.diag_indices(rules.n)] = np.maximum(np.diag(self._H), 0.0)  # rounding of a zero
        self._beta = BETA * max(float(np.linalg.norm(self._H)), 1.0) ** 1.5
        self._floor = math.inf  # the least bound among closed leaves
        self._left: list[Branch] = []

    def root(self) -> Relaxation:
        """The relaxation of all supports before its first round: even weights, no multipliers."""
        units = np.flatnonzero(self.rules.open)
        inside = np.isin(units, self.rules.include)
        m, border = len(units), 2.0 / self.k**2
        side = np.append(math.sqrt(border), np.full(m, 1.0 / max(m, 1)))
        z = np.full(m, border * min(self.k / max(m, 1), 1.0))
        limits = np.outer((self.rules.min_weight, min(self.rules.max_weight, 1.0)), np.ones(m))
        Y, Z = np.outer(side, side), np.zeros((m + 1, m + 1))
        return Relaxation(units, inside, limits, Y, Z, z, np.zeros(m), self._beta, np.zeros(m))

    @property
    def proven(self) -> float:
        """No weights in a branch that was closed have a lower value."""
        return min(self._floor, self._cutoff) * self._scale

    def look(self, branch: Branch, best: Fit | None = None) -> tuple[Branch, ...]:
        """Tighten a branch by one bounded call, given the best answer elsewhere: what is left of it."""
        if best is not None:
            self.offer(best.units, best.weights)
        self._left = []
        node = self.root() if branch.memory is None else branch.memory
        bound = max(branch.bound / self._scale, 0.0)
        if bound < self._cutoff and self._possible(node) and not self._easy(bound, node):
            with own_threads():  # matrices this small are slower on several threads, by far
                if self.spectral and branch.memory is None and 0.0 < self.value < math.inf:
                    self._push(bound, self._started(node))
                else:
                    self._tighten(bound, node)
        return tuple(self._left)

    def offer(self, support: Indices, weights: Vector) -> bool:
        """Take weights that obey the rules over if they are better than those known.

        Their value is recomputed.
        """
        support, weights = np.asarray(support, np.int64), np.asarray(weights, float)
        found = float(weights @ self._H[np.ix_(support, support)] @ weights) * self._scale
        if not found < self.value:
            return False
        order = np.argsort(support)
        self.support, self.weights, self.value = support[order], weights[order], max(found, 0.0)
        return True

    @property
    def _cutoff(self) -> float:
        """Scaled bounds from here on are of no interest."""
        if self.value == math.inf:
            return math.inf
        slack = RELATIVE * self.value + ABSOLUTE * self._scale
        return max(self.value - slack, 0.0) / self._scale

    def _push(self, bound: float, node: Relaxation) -> None:
        if bound < self._cutoff:
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
        if not (self.rules.allows(node.units[node.inside]) and self.rules.reachable(node.units)):
            return False
        room, left = self._room(node)
        free = np.bincount(self._group[node.units[~node.inside]], minlength=len(left))
        most = self.k - room + min(room, int(np.minimum(free, left).sum()))
        return most > 0 and most * self.rules.max_weight >= 1.0 - 1e-12

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
        fit = self._fit(node.units, node.inside)
        if fit is None:
            if self._feasible(node):
                self._floor = min(self._floor, bound)
            return True
        q, low = fit.weights, max(bound, self._bound_of(fit, node))
        broken = np.flatnonzero(free & self._broken(node, q))
        if broken.size == 0:
            self.nodes += 1
            used = node.inside | (q > 0.0)
            self.offer(node.units[used], q[used])
            self._floor = min(self._floor, low)
        elif low < self._cutoff:
            self._branch(low, node, int(broken[np.argmax(q[broken])]), 0.0, 0.0)
        return True

    def _broken(self, node: Relaxation, q: Vector) -> Mask:
        """Which weights are none: too small, or zero in a group that lacks units with weight."""
        low = self.rules.min_weight * (1.0 - 1e-12)
        group = self._group[node.units]
        used = np.bincount(group[node.inside | (q > 0.0)], minlength=len(self._fewest))
        short = (used < self._fewest)[group] & (low > 0.0)
        return np.asarray((q < low) & ((q > 0.0) | short))

    def _fit(self, units: Indices, inside: Mask, bend: Vector | None = None) -> Conditioned | None:
        """The best weights (s,) on units, those inside with their least weight.

        None where conditions leave none.

        `bend` (s,) is added to the diagonal of H.
        """
        H = self._H[np.ix_(units, units)]
        if bend is not None:
            H = H + np.diag(bend)
        ends = bounds(self.rules, inside)
        start, zero = vertex(np.diag(H), *ends), np.zeros(len(units))
        return conditioned_weights(H, zero, ends, start, self.conditions, units)

    def _bound_of(self, fit: Conditioned, node: Relaxation) -> float:
        """No weights on the units of a node that meet all conditions have a lower value: by the slopes, priced."""
        q, slopes = fit.weights, 2.0 * (self._H[np.ix_(node.units, node.units)] @ fit.weights)
        priced = slopes + np.broadcast_to(fit.price, len(self._group))[node.units]
        least = float(priced @ vertex(priced, *bounds(self.rules, node.inside)))
        return min(float(-0.5 * slopes @ q) + least - fit.charge, 0.5 * float(slopes @ q))

    def _feasible(self, node: Relaxation) -> bool:
        """Whether some weights on the units of a node meet all conditions."""
        return feasible_weights(self.rules, node.units, node.inside)

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
        places = dnn_admm.Places(node.inside, room, group, left)
        at = dnn_admm.Iterate(node.Y, node.Z, node.z, node.y)
        priced = node.priced(H)
        away, moved, Z = dnn_admm.rounds(priced, node.limits, places, node.beta, at, few)
        before, node = node.rounds, replace(node, rounds=node.rounds + few)
        if node.rounds // LOOK == before // LOOK:
            self._push(bound, node)
            return
        if node.mark == -math.inf:
            self._round(node)
        cutoff = self._cutoff
        if node.mark == -math.inf or node.rounds >= WATCH:
            repriced = self._repriced(node, Z)
            if repriced is None:
                return
            Z, node = Z + (repriced.Z - node.Z), repriced
        border, priced = float(node.Y[0, 0]), node.priced(H)
        low, price_in, price_out, limits = certificate.certify(
            priced, border, Z, node.limits, places, cutoff
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

    def _repriced(self, node: Relaxation, Z: Matrix) -> Relaxation | None:
        """A node with the prices of its conditions anew.

        None where no weights on its units meet them.

        With the indicators z of the relaxation and d of the certificate, they are those of
        min q'(H - diag(d)) q + sum d_i q_i^2 / z_i.
        """
        q = spread(node.units, node.weights(), len(self._group))
        if self.conditions is None or (not node.price.any() and self.conditions.holds(q)):
            return node
        d = np.maximum(np.diag(self._H)[node.units] + np.diag(Z)[1:], 0.0)
        z = np.clip(node.indicators(), UNLIKELY, 1.0)
        fit = self._fit(node.units, node.inside, d * (1.0 / z - 1.0))
        self.work += float(len(d)) ** 3 + ROUND_OVERHEAD
        if fit is None:
            return node if self._feasible(node) else None
        price = np.broadcast_to(fit.price, len(self._group))[node.units]
        return node.reprice(
            node.price + SETTLING * (price - node.price),
            node.charge + SETTLING * (fit.charge - node.charge),
        )

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
            places = dnn_admm.Places(node.inside, room, self._group[node.units], left)
            chosen = certificate.choose(node.weights() + 1e-300, places)
            units = node.units[chosen]
        low, high = self.rules.min_weight, self.rules.max_weight
        if len(units) * low > 1.0 or len(units) * high < 1.0:
            return
        fit = self._fit(units, np.ones(len(units), np.bool_))
        if fit is not None:
            used = np.isin(units, node.units[node.inside]) | (fit.weights > 0.0)
            self.offer(units[used], fit.weights[used])


def rebalanced(beta: float, away: float, moved: float) -> float:
    """The penalty of the next rounds, from the primal and dual residuals of the last.

    >>> rebalanced(10.0, 1.0, 1.0), rebalanced(10.0, 0.1, 6.0)
    (15.0, 6.666666666666667)
    """
    if beta * away > UNBALANCED * moved:
        return min(1.5 * beta, 1e8)
    return max(beta / 1.5, 1e-4) if moved > UNBALANCED * beta * away else beta


def shrunk(values: Vector, lost: float) -> Vector:
    """Eigenvalues (e - c e^POWER)_+ with the c for which they lose `lost` in sum, or all they have.

    >>> shrunk(np.array([0.0, 1.0, 4.0]), 5.0).round(3).tolist()
    [0.0, 0.0, 0.0]
    >>> 5.0 - shrunk(np.array([0.0, 1.0, 4.0]), 1.5).sum().round(6)
    np.float64(1.5)
    """
    e = np.maximum(values, 0.0)
    power, low, high = e**POWER, 0.0, float(e.max(initial=0.0)) ** (1.0 - POWER)
    for _ in range(HALVINGS):
        c = 0.5 * (low + high)
        low, high = (c, high) if np.minimum(e, c * power).sum() < lost else (low, c)
    return np.asarray(np.maximum(e - high * power, 0.0))


def spectral_start(
    H: Matrix, k: int, value: float, border: float
) -> tuple[Matrix, Matrix, Vector, float]:
    """What the ADMM starts from, given a best value > 0: Y, Z, y and the penalty, as in `dnn_admm`.

    The weights in Y are even, all pairs of units equally likely, and H: (m, m).
    """
    m, r, delta = len(H), np.sqrt(border), LOST * k * value
    w = 2.0 * (delta + value) / k
    mu = w - value
    e, U = np.linalg.eigh(H)
    e = shrunk(e, delta * m)
    root = U[:, e > 0.0] * np.sqrt(e[e > 0.0])
    Z = np.full((m + 1, m + 1), -0.5 * w / r)
    Z[0, 0], Z[1:, 1:] = mu / border, w - mu - np.dot(root, root.T)
    Y = np.full((m + 1, m + 1), (1.0 - 1.0 / k) / (m * max(m - 1, 1)))
    Y[0, 0], Y[0, 1:], Y[1:, 0] = border, r / m, r / m
    np.fill_diagonal(Y[1:, 1:], 1.0 / (m * k))
    return Y, Z, np.full(m, 0.25 * w * w / (delta + value) / border), PENALTY * delta * m * k
