"""What an experiment is: units of work that give flat rows, a picture of the rows, and claims measured on them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._validation import Vector
from .chance import Answer


class Row(NamedTuple):
    """One measured point: seed and method name the unit of work it came from, x is the iteration or k."""

    seed: int
    method: str
    x: float
    train: float
    test: float
    seconds: float


@dataclass(frozen=True)
class Setting:
    """What was asked for: how many runs from which seed, quick or in full, and the data: where, and what they are."""

    runs: int
    quick: bool = False
    seed: int = 0
    data: Path | None = None
    source: str = ""

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.seed, self.seed + self.runs)


class Reading(NamedTuple):
    """One way to read a claim: whether it holds on the rows (None: undecided), and the numbers that decide."""

    name: str
    holds: Answer
    measured: str

    @property
    def outcome(self) -> str:
        """In a word: holds, fails or undecided."""
        return "undecided" if self.holds is None else "holds" if self.holds else "fails"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, where it stands, how it was set up, and what each reading of it gave."""

    claim: str
    where: str
    setting: str
    readings: tuple[Reading, ...]

    @property
    def held(self) -> list[Reading]:
        """The readings that hold."""
        return [reading for reading in self.readings if reading.holds is True]

    @property
    def verdict(self) -> str:
        """Reproduced when every reading holds, under some readings when only these do, else undecided or not.

        >>> good, bad = Reading("a", True, "1 < 2"), Reading("b", False, "3 > 2")
        >>> Claim("", "", "", (good,)).verdict, Claim("", "", "", (bad,)).verdict
        ('reproduced', 'not reproduced')
        >>> Claim("", "", "", (good, bad)).verdict, Claim("", "", "", (bad, Reading("c", None, "2 ± 1"))).verdict
        ('reproduced under this reading: a', 'undecided')
        """
        if not self.held:
            return "undecided" if any(reading.holds is None for reading in self.readings) else "not reproduced"
        if len(self.held) == len(self.readings):
            return "reproduced"
        if len(self.held) > 3:
            return f"reproduced under some readings: {len(self.held)} of {len(self.readings)}, listed below"
        names = "; ".join(reading.name for reading in self.held)
        return f"reproduced under {'this reading' if len(self.held) == 1 else 'these readings'}: {names}"

    @property
    def measured(self) -> str:
        """The numbers: all of them while few, else those of the main reading, which is the first."""
        if len(self.readings) == 1:
            return self.readings[0].measured
        if len(self.readings) <= 3:
            return "; ".join(f"{reading.name}: {reading.measured}" for reading in self.readings)
        return f"{self.readings[0].name}: {self.readings[0].measured} (and {len(self.readings) - 1} more below)"


Units = Callable[[Setting], list[str]]
Measure = Callable[[Setting, int, str], Iterable[Row]]
Picture = Callable[[Any, "Table", Setting], None]
Claims = Callable[["Table", Setting], list[Claim]]


@dataclass(frozen=True)
class Experiment:
    """A figure or theorem of the paper.

    A unit of work is (seed, method): `measure` gives its rows, the same at every call but for the seconds.
    `x`, `train` and `test` say what these columns hold. `source` describes the data a setting leads to and raises a
    sentence where they cannot be read. `twin` names an experiment with the same rows.
    """

    name: str
    title: str
    x: str
    x_means: str
    train: str
    test: str
    runs: int
    quick_runs: int
    methods: Units
    measure: Measure
    picture: Picture
    claims: Claims
    source: Callable[[Setting], str] = lambda setting: "generated"
    size: tuple[float, float] = (6.4, 4.2)
    twin: str | None = None


@dataclass(frozen=True)
class Table:
    """The rows of an experiment."""

    rows: tuple[Row, ...]

    @property
    def methods(self) -> list[str]:
        """The methods in the order they were run."""
        return list(dict.fromkeys(row.method for row in self.rows))

    def of(self, method: str, x: float | None = None) -> list[Row]:
        """The rows of a method, at one x if given."""
        return [row for row in self.rows if row.method == method and (x is None or row.x == x)]

    def last(self, method: str, column: str = "train") -> Vector:
        """The column at the largest x of every seed, in the order of the seeds."""
        ends = {row.seed: getattr(row, column) for row in sorted(self.of(method), key=lambda row: (row.seed, row.x))}
        return np.array(list(ends.values()))

    def column(self, method: str, column: str, x: float | None = None) -> Vector:
        """A column of a method as a vector."""
        return np.array([getattr(row, column) for row in self.of(method, x)])

    def xs(self, method: str) -> list[float]:
        """The sorted x of a method."""
        return sorted({row.x for row in self.of(method)})


def thinned(iterations: int) -> list[int]:
    """The iterations that are written down: each of the first 20, then every twentieth, and the last.

    >>> thinned(75)[18:]
    [18, 19, 20, 40, 60, 75]
    """
    return sorted({*range(min(iterations, 20) + 1), *range(0, iterations + 1, 20), iterations})


def path_rows(seed: int, method: str, values: Sequence[float], seconds: Sequence[float], length: int) -> list[Row]:
    """The best value along a path of iterations 0..length, at the iterations that are written down.

    A path that ended earlier keeps its best to the end.
    """
    best = np.minimum.accumulate(np.asarray(values, np.float64))
    rows = []
    for t in thinned(length):
        at = min(t, len(best) - 1)
        rows.append(Row(seed, method, t, float(best[at]), math.nan, float(seconds[at])))
    return rows
