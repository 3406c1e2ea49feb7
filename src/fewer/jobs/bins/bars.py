"""A histogram with k bars: constant on k runs of bins, by dynamic programming that can be stopped."""

import math
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._compiled.segments import advance, advance_bars
from ..._validation import Indices, InvalidInput, Vector, as_generator
from ...objectives.covered import L2
from ...result import Result, Status, Words
from ...solvers.loop import Outcome, Step, Steps, drive
from ...spaces import Atoms
from .options import BinsOptions

MAX_CHOICES = 50_000_000
"""Bars times runs of equal bins up to which all ends of bars are tried, at 4 bytes each; beyond
that neighbours that differ least are merged first."""
COMPARISONS = 4_000_000
"""Pieces looked at between two chances to stop: some hundredths of a second."""
MERGED_AT_ONCE = 0.25
"""The share of the runs that are merged before the costs of merging are looked at again."""
CEILING, ROUNDING = 1.0 + 1e-9, 1e-12
"""How far above the cost of the quick start one may be and still count, relative to it and to the
sum of squares."""
COARSE, COARSE_PER_BAR, WORTH_COARSE = 1000, 20, 4
"""Longer runs by which what follows is bounded, at least and for each bar, and how many times more
runs make it pay."""


class Runs(NamedTuple):
    """A sequence as runs: where each begins, (m,), how many entries it has and their mean."""

    starts: Indices
    widths: Vector
    means: Vector

    @classmethod
    def of(cls, x: Vector) -> "Runs":
        """Runs of equal entries.

        Some best bars end only where entries change: in between, the cost is concave.
        """
        starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        return cls(starts, np.diff(starts, append=len(x)).astype(np.float64), x[starts])

    def merged(self, most: int) -> "Runs":
        """At most so many runs: neighbours whose merging costs least become one, time after time."""
        runs = self
        while len(runs.starts) > most:
            w, x = runs.widths, runs.means
            costs: Vector = w[1:] * w[:-1] / (w[1:] + w[:-1]) * np.square(x[1:] - x[:-1])
            count = min(len(runs.starts) - most, max(int(MERGED_AT_ONCE * len(runs.starts)), 1))
            cheap = costs <= np.partition(costs, count - 1)[count - 1]
            places = np.arange(len(cheap))
            since = places - np.maximum.accumulate(np.where(cheap, -1, places))
            every_second = np.flatnonzero(cheap & (since % 2 == 1))[:count]
            runs = runs.at(np.delete(np.arange(len(runs.starts)), every_second + 1))
        return runs

    def at(self, first: Indices) -> "Runs":
        """Longer runs, which begin at these."""
        widths = np.add.reduceat(self.widths, first)
        sums = np.add.reduceat(self.widths * self.means, first)
        return Runs(self.starts[first], widths, sums / widths)

    def spread(self, n: int) -> Vector:
        """The mean of its run for each of n entries."""
        return np.repeat(self.means, np.diff(self.starts, append=n))

    def rounding(self) -> float:
        """How far rounding may move a cost."""
        return ROUNDING * float(self.widths @ np.square(self.means - self.means.mean()))

    def sums(self) -> tuple[Vector, Vector, Vector]:
        """Σ w, Σ w x and Σ w x² before each run, (m + 1,), of x about their mean."""
        off = self.means - float(self.widths @ self.means / self.widths.sum())
        terms = self.widths, self.widths * off, self.widths * off**2
        count, first, second = (np.append(0.0, np.cumsum(term)) for term in terms)
        return count, first, second


class Bars(NamedTuple):
    """Distributions that are constant on at most k runs; a unit is a run, named by its first entry."""

    space: Atoms
    k: int

    def contains(self, p: Vector) -> bool:
        """Whether p is a distribution with at most k bars, which improving bars always are."""
        whole = p.min() >= 0.0 and abs(p.sum() - 1.0) <= 1e-9
        return bool(whole and self.support(p).size <= self.k)

    def support(self, p: Vector) -> Indices:
        """Where bars begin."""
        return Runs.of(p).starts


def programme(
    runs: Runs,
    rounds: int,
    ceilings: Callable[[int], Vector],
    costs: list[Vector] | None = None,
) -> Generator[Step, float, Indices]:
    """The runs at which the best bars begin, with chances to stop.

    Divide and conquer where the runs rise or fall all the way (the cost of a bar is a Monge cost
    then), else functional pruning. ceilings(b) (m + 1,) says what b bars may cost before each position. What the first e runs cost
    by b + 1 bars is appended to `costs`.
    """
    m, sums = len(runs.starts), runs.sums()
    off = runs.means - float(runs.widths @ runs.means / runs.widths.sum())
    choices = np.zeros((rounds, m + 1), np.int32)
    rises = np.diff(runs.means) > 0.0
    monotone = bool(rises.all() or not rises.any())
    before = np.append(0.0, np.full(m, np.inf))
    ends, owners = np.empty((2, 2 * m + 2, 2)), np.empty((2, 2 * m + 2), np.int64)
    for bar in range(rounds):
        after, state, most = np.full(m + 1, np.inf), np.array([1, 0, 1]), ceilings(bar)
        ends[0, 0], owners[0, 0] = (off.min(), off.max()), -1
        stack, depth = np.empty((64, 4), np.int64), int(monotone)
        stack[0] = bar + 1, m, bar, m - 1
        while depth:
            depth = advance(before, sums, after, choices[bar], stack, depth, COMPARISONS)
            yield Step()
        while not monotone and state[2] <= m:
            advance_bars(before, sums, after, choices[bar], ends, owners, state, most, COMPARISONS)
            yield Step()
        before = after
        if costs is not None:
            costs.append(after)
    at = [m]
    for row in choices[::-1]:
        at.append(int(row[at[-1]]))
    return np.unique(at[1:])


def look_ahead(
    runs: Runs, rounds: int, most: float
) -> Generator[Step, float, Callable[[int], Vector]]:
    """What bars may cost before each position: the cost `most` of known ones less what must follow.

    What follows is bounded by fewer, longer runs, solved from behind: no bars come nearer to the
    runs than the best ones for the longer runs do to those, less the distance between the two. The
    best bars of the longer runs may cost less than `most`.
    """
    m = len(runs.starts)
    coarse = runs.merged(max(COARSE, COARSE_PER_BAR * rounds))
    size, costs = len(coarse.starts), list[Vector]()
    behind = Runs(coarse.starts, coarse.widths[::-1], coarse.means[::-1])
    free = np.full(size + 1, np.finfo(float).max)
    begins = yield from programme(behind, rounds, lambda bar: free, costs)
    rest = np.sqrt(np.minimum.accumulate(np.array(costs), axis=0)[:, ::-1])
    rest[:, -1] = 0.0
    places = np.append(np.searchsorted(runs.starts, coarse.starts), m)
    off = runs.means - np.repeat(coarse.means, np.diff(places))
    lost = np.sqrt(np.append(np.cumsum((runs.widths * off**2)[::-1])[::-1], 0.0)[places])
    after = np.searchsorted(places, np.arange(m + 1))
    first = places[np.sort(np.append(0, size - begins[1:]))]
    off = runs.means - np.repeat(runs.at(first).means, np.diff(first, append=m))
    most = CEILING * min(most, float(runs.widths @ off**2)) + runs.rounding()
    return lambda bar: most - np.square(np.maximum(rest[rounds - bar - 1] - lost, 0.0))[after]


def improving_bars(x: Vector, k: int) -> Steps:
    """Neighbours merged, then the best k bars: O(k n log n) time for most sequences, O(k n²) at worst; 4 k n bytes.

    Where runs had to be merged, by `lost` in all, the bound is (√cost - √lost)²: no other bars are
    nearer to x.
    """
    n = len(x)
    runs = Runs.of(x).merged(max(MAX_CHOICES // k, k))
    quick, merged = runs.merged(k).spread(n), runs.spread(n)
    yield Step(quick, 0.0)
    m = len(runs.starts)
    rounds, most = min(k, m), float(np.square(quick - merged).sum())
    if m >= WORTH_COARSE * max(COARSE, COARSE_PER_BAR * rounds):
        ceilings = yield from look_ahead(runs, rounds, most)
    else:
        every = np.full(m + 1, CEILING * most + runs.rounding())
        ceilings = lambda bar: every  # noqa: E731 - the other branch makes a function too
    best = runs.at((yield from programme(runs, rounds, ceilings))).spread(n)
    cost, lost = (float(np.square(y - merged).sum()) for y in (best, x))
    bound = max(math.sqrt(cost) - math.sqrt(lost), 0.0) ** 2
    yield Step(best, bound)
    return Outcome(Status.OPTIMAL, bound)


def best_bars(histogram: Any, k: int, options: BinsOptions) -> tuple[Result, Vector, Vector]:
    """The best histogram with k bars: each with its mass, its middle, and from where to where it reaches."""
    x, n = histogram.shares, histogram.shares.size
    if options.solver not in ("auto", "exact"):
        raise InvalidInput(
            "contiguous=True is solved exactly: solver must be 'auto' or 'exact', got"
            f" {options.solver!r}"
        )
    constraint: Any = Bars(Atoms(n), k)
    result = drive(
        L2(constraint.space, x),
        constraint,
        improving_bars(x, k),
        time_limit=options.deadline,
        solver=options.solver,
        callback=options.callback,
        seed=as_generator(options.rng)[1],
    )
    starts, stops = result.indices, np.append(result.indices[1:], n)
    at = np.arange(n, dtype=np.float64) if histogram.positions is None else histogram.positions
    lows, highs = at[starts], at[stops - 1]
    if histogram.edges is not None:
        lows, highs = histogram.edges[starts], histogram.edges[stops]
    values = np.clip(np.add.reduceat(at, starts) / (stops - starts), lows, highs)
    result = replace(
        result,
        weights=np.add.reduceat(result.p, starts),
        table=result.p,
        seconds=options.deadline.elapsed(),
        words=Words("bars", n, "squared difference"),
    )
    return result, values, np.column_stack([lows, highs])
