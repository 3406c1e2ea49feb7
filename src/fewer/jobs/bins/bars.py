"""A histogram with k bars: constant on k runs of bins, by dynamic programming that can be stopped."""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._compiled.segments import advance, advance_bars
from ..._validation import Indices, InvalidInput, Vector, as_generator
from ...objectives.covered import L2
from ...result import Result, Status, Words
from ...solvers.loop import Outcome, Step, Steps, drive
from ...spaces import Atoms
from .options import BinsOptions
from .values import place_on_line

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
LOSS = "squared difference"
Choices = npt.NDArray[np.int32]
Pause = tuple[None, None]


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
        return cls(starts, np.diff(np.append(starts, len(x))).astype(np.float64), x[starts])

    def merged(self, most: int) -> "Runs":
        """At most so many runs: neighbours whose merging costs least become one, time after time."""
        runs = self
        while len(runs.starts) > most:
            w, x = runs.widths, runs.means
            costs: Vector = w[1:] * w[:-1] / (w[1:] + w[:-1]) * np.square(x[1:] - x[:-1])
            count = min(len(runs.starts) - most, max(int(MERGED_AT_ONCE * len(runs.starts)), 1))
            cheap = costs <= np.partition(costs, count - 1)[count - 1]
            place = np.arange(len(cheap)) - np.maximum.accumulate(
                np.where(cheap, -1, np.arange(len(cheap)))
            )
            joined = (
                np.flatnonzero(cheap & (place % 2 == 1))[:count] + 1
            )  # of neighbours every second
            runs = runs.at(np.delete(np.arange(len(runs.starts)), joined))
        return runs

    def at(self, first: Indices) -> "Runs":
        """Longer runs, which begin at these."""
        widths = np.add.reduceat(self.widths, first)
        return Runs(
            self.starts[first], widths, np.add.reduceat(self.widths * self.means, first) / widths
        )

    def spread(self, n: int) -> Vector:
        """The mean of its run for each of n entries."""
        return np.repeat(self.means, np.diff(np.append(self.starts, n)))

    def cost(self, others: "Runs", n: int) -> float:
        """The sum of squared differences to another sequence of n entries."""
        return float(np.square(self.spread(n) - others.spread(n)).sum())


@dataclass(frozen=True)
class Bars:
    """Distributions that are constant on at most k runs.

    a unit is a run, named by its first entry.
    """

    space: Atoms
    k: int

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution with at most k bars."""
        return bool(
            p.min() >= -tol and abs(p.sum() - 1.0) <= tol and self.support(p).size <= self.k
        )

    def support(self, p: Vector) -> Indices:
        """Where bars begin."""
        return Runs.of(p).starts

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A distribution with k bars near v: neighbours merged."""
        return Runs.of(np.maximum(v, 0.0) / np.maximum(v, 0.0).sum()).merged(self.k).spread(len(v))


class Sums(NamedTuple):
    """Σ w, Σ w x and Σ w x² before each run, (m + 1,), and the x themselves, about their mean."""

    before: tuple[Vector, Vector, Vector]
    means: Vector

    @classmethod
    def of(cls, runs: Runs) -> "Sums":
        """Those of some runs."""
        off = runs.means - float(runs.widths @ runs.means / runs.widths.sum())
        terms = runs.widths, runs.widths * off, runs.widths * off**2
        count, first, second = (np.append(0.0, np.cumsum(term)) for term in terms)
        return cls((count, first, second), off)

    @property
    def monotone(self) -> bool:
        """Whether the x rise or fall all the way: then the cost of a bar is a Monge cost."""
        steps = np.diff(self.means)
        return bool((steps >= 0.0).all() or (steps <= 0.0).all())


def programme(
    sums: Sums, rounds: int, room: Callable[[int], Vector], costs: list[Vector] | None = None
) -> Generator[Pause, None, Choices]:
    """Where the last of b + 1 bars over the first e runs begins: row b of (rounds, m + 1), with chances to stop.

    By divide and conquer where x is monotone, else by functional pruning. room(b) says what b bars
    may cost before each position, (m + 1,). What the first e runs cost by b bars goes to `costs`.
    """
    m = len(sums.means)
    choices = np.zeros((rounds, m + 1), np.int32)
    before = np.append(0.0, np.full(m, np.inf))
    ends, owners = np.empty((2, 2 * m + 2, 2)), np.empty((2, 2 * m + 2), np.int64)
    for bar in range(rounds):
        after, tables = np.full(m + 1, np.inf), (before, sums.before)
        if sums.monotone:
            stack, depth = np.empty((64, 4), np.int64), 1
            stack[0] = bar + 1, m, bar, m - 1
            while depth:
                depth = advance(*tables, after, choices[bar], stack, depth, COMPARISONS)
                yield None, None
        else:
            state, ceilings = np.array([1, 0, 1]), room(bar)
            ends[0, 0], owners[0, 0] = (sums.means.min(), sums.means.max()), -1
            while state[2] <= m:
                advance_bars(
                    *tables, after, choices[bar], ends, owners, state, ceilings, COMPARISONS
                )
                yield None, None
        before = after
        if costs is not None:
            costs.append(after)
    return choices


def begins(choices: Choices) -> Indices:
    """Where the best bars begin."""
    at = [choices.shape[1] - 1]
    for row in choices[::-1]:
        at.append(int(row[at[-1]]))
    return np.unique(at[1:])


class Room:
    """What bars may cost before each position: the best known cost less what must follow, and rounding."""

    def __init__(self, runs: Runs, known: float) -> None:
        self.runs, self.known = runs, known
        self.rounding = ROUNDING * float(runs.widths @ np.square(runs.means - runs.means.mean()))
        self.costs: Vector | None = None  # of what follows each longer run, by the number of bars

    def looked_ahead(self, rounds: int) -> Iterator[Pause]:
        """Bound what follows by fewer, longer runs, solved from behind.

        Their bars may lower the best known cost.

        No bars come nearer to the runs than the best ones for the longer runs do to those, less the
        distance between the two.
        """
        runs, m = self.runs, len(self.runs.starts)
        coarse = runs.merged(max(COARSE, COARSE_PER_BAR * rounds))
        size, costs = len(coarse.starts), list[Vector]()
        behind = Runs(coarse.starts, coarse.widths[::-1], coarse.means[::-1])
        free = np.full(size + 1, np.finfo(float).max)
        choices = yield from programme(Sums.of(behind), rounds, lambda bar: free, costs)
        self.costs = np.minimum.accumulate(np.array(costs), axis=0)[:, ::-1]
        self.costs[:, -1] = 0.0
        places = np.searchsorted(runs.starts, coarse.starts)
        off = runs.means - np.repeat(coarse.means, np.diff(np.append(places, m)))
        self.lost = np.append(np.cumsum((runs.widths * off**2)[::-1])[::-1], 0.0)[
            np.append(places, m)
        ]
        self.after = np.searchsorted(np.append(places, m), np.arange(m + 1))
        first = size - begins(choices)[1:]
        bars = runs.at(places[np.sort(np.append(0, first))])
        steps = np.repeat(
            bars.means, np.diff(np.append(np.searchsorted(runs.starts, bars.starts), m))
        )
        self.known = min(self.known, float(runs.widths @ np.square(runs.means - steps)))

    def __call__(self, bar: int) -> Vector:
        """What `bar` bars may cost before each position, (m + 1,)."""
        most = CEILING * self.known + self.rounding
        if self.costs is None:
            return np.full(len(self.runs.starts) + 1, most)
        rest = np.sqrt(self.costs[len(self.costs) - bar - 1])
        least = np.square(np.maximum(rest - np.sqrt(self.lost), 0.0))
        return np.asarray(most - least[self.after])


def improving_bars(x: Vector, k: int) -> Iterator[tuple[Vector | None, float | None]]:
    """Neighbours merged, then the best k bars: O(k n log n) time for most sequences, O(k n²) at worst; 4 k n bytes.

    Where runs had to be merged, by `lost` in all, the bound is (√cost - √lost)²: no other bars are
    nearer to x.
    """
    n, every = len(x), Runs.of(x)
    runs = every.merged(max(MAX_CHOICES // k, k))
    quick = runs.merged(k)
    yield quick.spread(n), 0.0
    rounds, sums = min(k, len(runs.starts)), Sums.of(runs)
    room = Room(runs, quick.cost(runs, n))
    if (
        len(runs.starts) >= WORTH_COARSE * max(COARSE, COARSE_PER_BAR * rounds)
        and not sums.monotone
    ):
        yield from room.looked_ahead(rounds)
    best = runs.at(begins((yield from programme(sums, rounds, room))))
    yield (
        best.spread(n),
        max(math.sqrt(best.cost(runs, n)) - math.sqrt(every.cost(runs, n)), 0.0) ** 2,
    )


def best_bars(histogram: Any, k: int, options: BinsOptions) -> Result:
    """The best histogram with k bars: each with its mass, from where to where it reaches, and its middle."""
    x, n = histogram.shares, histogram.shares.size
    if options.solver not in ("auto", "exact"):
        raise InvalidInput(
            "contiguous=True is solved exactly: solver must be 'auto' or 'exact', got"
            f" {options.solver!r}"
        )

    def steps() -> Steps:
        bound = 0.0
        for p, proven in improving_bars(x, k):
            bound = bound if proven is None else proven
            yield Step(p, proven)
        return Outcome(Status.OPTIMAL, bound)

    space, seed = Atoms(n), as_generator(options.rng)[1]
    result = drive(
        L2(space, x),
        Bars(space, k),
        steps(),
        time_limit=options.deadline,
        solver=options.solver,
        callback=options.callback,
        seed=seed,
    )
    notes, runs, most = [result.note], len(Runs.of(x).starts), max(MAX_CHOICES // k, k)
    if runs > most:
        notes.append(
            f"bars end at {most} of {runs} places, those of the largest steps; others could gain at"
            " most the gap"
        )
    starts, stops = result.indices, np.append(result.indices[1:], n)
    weights = np.add.reduceat(result.p, starts)
    at = np.arange(n, dtype=np.float64) if histogram.positions is None else histogram.positions
    lows, highs = at[starts], at[stops - 1]
    if histogram.edges is not None:
        lows, highs = histogram.edges[starts], histogram.edges[stops]
    values = np.clip(np.add.reduceat(at, starts) / (stops - starts), lows, highs)
    result = replace(
        result,
        weights=weights,
        table=result.p,
        total=histogram.total,
        note="; ".join(filter(None, notes)),
        seconds=options.deadline.elapsed(),
        words=Words("bars", n, LOSS),
    )
    return place_on_line(result, values, np.column_stack([lows, highs]))
