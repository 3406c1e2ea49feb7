"""A histogram with k bars: constant on k runs of bins, by dynamic programming that can be stopped."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._compiled.segments import advance_bars
from .._validation import Indices, InvalidInput, Vector, as_generator
from ..deadline import answer_by
from ..distribution import Distribution
from ..objectives.l2 import L2
from ..result import Result, Status, Words
from ..solvers.loop import WARM, Outcome, Step, Steps, drive
from ..spaces import Atoms

MAX_CHOICES = 50_000_000
"""Bars times runs of equal bins up to which all ends of bars are tried, at 4 bytes each; beyond that neighbours that
differ least are merged first.
"""
COMPARISONS = 4_000_000
"""Pieces looked at between two chances to stop: some hundredths of a second."""
MERGED_AT_ONCE = 0.25
"""The share of the runs that are merged before the costs of merging are looked at again."""
FEW_LOWEST = 8
"""Where fewer than one in so many of the pairs to be merged cost less than their neighbours, others are taken."""
CEILING, ROUNDING = 1.0 + 1e-9, 1e-12
"""How far above the cost of the quick start one may be and still count, relative to it and to the sum of squares."""
LOSS = "squared difference"


class Runs(NamedTuple):
    """A sequence as runs: where each begins, (m,), how many entries it has and their mean."""

    starts: Indices
    widths: Vector
    means: Vector

    @classmethod
    def of(cls, x: Vector) -> "Runs":
        """Runs of equal entries. Some best bars end only where entries change: in between, the cost is concave."""
        starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        return cls(starts, np.diff(np.append(starts, len(x))).astype(np.float64), x[starts])

    def merged(self, most: int) -> "Runs":
        """At most so many runs: neighbours whose merging costs least become one, time after time."""
        runs = self
        while len(runs.starts) > most:
            w, x = runs.widths, runs.means
            costs: Vector = w[1:] * w[:-1] / (w[1:] + w[:-1]) * np.square(x[1:] - x[:-1])
            beside = np.minimum(np.append(np.inf, costs[:-1]), np.append(costs[1:], np.inf))
            lowest = np.flatnonzero((costs <= beside) & (costs < np.append(np.inf, costs[:-1])))
            count = min(len(runs.starts) - most, max(int(MERGED_AT_ONCE * len(runs.starts)), 1))
            if FEW_LOWEST * len(lowest) < count:  # costs that rise all along: the cheaper ones, each second
                lowest = apart(np.sort(np.argsort(costs, kind="stable")[:count]))
            joined = lowest[np.argsort(costs[lowest], kind="stable")[:count]] + 1
            runs = runs.at(np.delete(np.arange(len(runs.starts)), joined))
        return runs

    def at(self, first: Indices) -> "Runs":
        """Longer runs, which begin at these."""
        widths = np.add.reduceat(self.widths, first)
        return Runs(self.starts[first], widths, np.add.reduceat(self.widths * self.means, first) / widths)

    def spread(self, n: int) -> Vector:
        """The mean of its run for each of n entries."""
        return np.repeat(self.means, np.diff(np.append(self.starts, n)))

    def cost(self, others: "Runs", n: int) -> float:
        """The sum of squared differences to another sequence of n entries."""
        return float(np.square(self.spread(n) - others.spread(n)).sum())


def apart(numbers: Indices) -> Indices:
    """Of sorted numbers, in each sequence that follow each other every second one.

    >>> apart(np.array([1, 2, 3, 7, 9, 10])).tolist()
    [1, 3, 7, 9]
    """
    begins = np.append(True, np.diff(numbers) > 1)
    place = np.arange(len(numbers)) - np.maximum.accumulate(np.where(begins, np.arange(len(numbers)), 0))
    return np.asarray(numbers[place % 2 == 0])


@dataclass(frozen=True)
class Bars:
    """Distributions that are constant on at most k runs; a unit is a run, named by its first entry."""

    space: Atoms
    k: int

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution with at most k bars."""
        return bool(p.min() >= -tol and abs(p.sum() - 1.0) <= tol and self.support(p).size <= self.k)

    def support(self, p: Vector) -> Indices:
        """Where bars begin."""
        return Runs.of(p).starts

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A distribution with k bars near v: neighbours merged."""
        return Runs.of(np.maximum(v, 0.0) / np.maximum(v, 0.0).sum()).merged(self.k).spread(len(v))


def best_bars(x: Vector, k: int) -> Iterator[tuple[Vector | None, float | None]]:
    """Neighbours merged, then the best k bars: O(k n log n) time for most sequences, O(k n²) at worst; 4 k n bytes.

    Where runs had to be merged, by `lost` in all, the bound is (√cost - √lost)²: no other bars are nearer to x.
    """
    n, every = len(x), Runs.of(x)
    runs = every.merged(max(MAX_CHOICES // k, k))
    quick = runs.merged(k)
    yield quick.spread(n), 0.0
    rounds, m = min(k, len(runs.starts)), len(runs.starts)
    off = runs.means - float(x.mean())
    terms = runs.widths, runs.widths * off, runs.widths * off**2
    count, first, second = (np.append(0.0, np.cumsum(term)) for term in terms)
    ceiling = CEILING * quick.cost(runs, n) + ROUNDING * float(second[-1])
    before = np.append(0.0, np.full(m, np.inf))
    choices = np.zeros((rounds, m + 1), np.int32)
    ends, owners = np.empty((2, 2 * m + 2, 2)), np.empty((2, 2 * m + 2), np.int64)
    for bar in range(rounds):
        after, state = np.full(m + 1, np.inf), np.array([0, 0, 1])
        ends[0, 0] = off.min(), off.max()
        while state[2] <= m:
            advance_bars(before, (count, first, second), after, choices[bar], ends, owners, state, ceiling, COMPARISONS)
            yield None, None
        before = after
    begins = [m]
    for bar in range(rounds - 1, -1, -1):
        begins.append(int(choices[bar, begins[-1]]))
    best = runs.at(np.unique(begins[1:]))
    yield best.spread(n), max(math.sqrt(best.cost(runs, n)) - math.sqrt(every.cost(runs, n)), 0.0) ** 2


def with_bars(given: Any, k: int, search: dict[str, Any]) -> Result:
    """The best histogram with k bars."""
    x, n = given.shares, given.shares.size
    if search["solver"] not in ("auto", "exact"):
        raise InvalidInput(
            f"contiguous=True is solved exactly: solver must be 'auto' or 'exact', got {search['solver']!r}"
        )
    F, C, deadline = L2(Atoms(n), x), Bars(Atoms(n), k), search["deadline"]
    seed = as_generator(search["rng"])[1]

    def steps(proves: bool) -> Steps:
        status, bound = Status.OPTIMAL, 0.0
        for p, known in best_bars(x, k):
            if known is not None:
                bound = known
            yield Step(p, known)
            if not proves:
                status = Status.TIME_LIMIT
                break
        return Outcome(status, bound)

    def solved(proves: bool) -> Result:
        options = {"solver": search["solver"], "time_limit": deadline, "callback": search["callback"], "seed": seed}
        return drive(F, C, steps(proves), note="" if proves else WARM, **options)

    found = answer_by(deadline, lambda: solved(True), lambda: solved(False))
    runs, most = len(Runs.of(x).starts), max(MAX_CHOICES // k, k)
    merged = f"bars end at {most} of {runs} places, those of the largest steps; others could gain at most the gap"
    notes = "; ".join(filter(None, (merged if runs > most else "", found.note)))
    return placed(replace(found, note=notes, seconds=deadline.elapsed(), words=Words("bars", n, LOSS)), given)


def placed(found: Result, given: Any) -> Result:
    """The bars as a distribution on a line: each with its mass, from where to where it reaches, and its middle."""
    p, starts, n = found.p, found.indices, given.shares.size
    stops = np.append(starts[1:], n)
    weights = np.add.reduceat(p, starts)
    at = np.arange(n, dtype=np.float64) if given.positions is None else given.positions
    if given.edges is None:
        ends = np.column_stack([at[starts], at[stops - 1]])
    else:
        ends = np.column_stack([given.edges[starts], given.edges[stops]])
    middle = np.add.reduceat(at, starts) / (stops - starts)
    values = np.clip(middle, ends[:, 0], ends[:, 1])
    kept = Distribution(starts[:, None], weights, np.array([0]), (n,), values=values, edges=ends)
    return replace(found, weights=weights, table=p, kept=kept, labels=values, total=given.total)
