"""What an experiment is: units of work that give flat rows, a picture of the rows, and claims measured on them."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arrays import Vector
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
    """Runs from a seed on, at full or quick size.

    The folder of the data, what they are and their checksum.
    """

    runs: int
    quick: bool = False
    seed: int = 0
    data: Path | None = None
    source: str = ""
    checksum: str = ""

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
    """A claim: a few words, what the paper says, what was measured, and every reading of it.

    where: section and figure, empty for a claim of this library. why: one sentence that says, from
    the rows, why the claim does not hold under every reading; empty where nothing is known.
    """

    claim: str
    says: str
    where: str
    measured: str
    readings: tuple[Reading, ...]
    setting: str
    why: str = ""

    @property
    def ours(self) -> bool:
        """Whether this is a claim of this library, not of the paper."""
        return not self.where

    @property
    def holding(self) -> list[Reading]:
        """The readings that hold."""
        return [reading for reading in self.readings if reading.holds is True]

    @property
    def verdict(self) -> str:
        """Reproduced when every reading holds, under some readings when only these do, else undecided or not.

        >>> good, bad = Reading("a", True, "1 < 2"), Reading("b", False, "3 > 2")
        >>> open_ = Reading("c", None, "2 ± 1")
        >>> [
        ...     Claim("", "", "", "", each, "").verdict
        ...     for each in [(good,), (bad,), (good, bad), (bad, open_)]
        ... ]
        ['reproduced', 'not reproduced', 'in 1 of 2 readings', 'undecided']
        """
        if not self.holding:
            return (
                "undecided"
                if any(reading.holds is None for reading in self.readings)
                else "not reproduced"
            )
        if len(self.holding) == len(self.readings):
            return "reproduced"
        return f"in {len(self.holding)} of {len(self.readings)} readings"


Methods = Callable[[Setting], Mapping[str, Any]]
Measure = Callable[[Setting, int, str], Iterable[Row]]
Picture = Callable[[Any, "Table", Setting], None]
Claims = Callable[["Table", Setting], list[Claim]]


def options_of(value: Any) -> Any:
    """A method as what a JSON file can hold: a function by its name, a partial call by its name and options.

    >>> options_of(partial(math.pow, 2.0)), options_of({"step": Setting})
    ({'call': 'pow', 'arguments': [2.0]}, {'step': 'Setting'})
    """
    if isinstance(value, partial):
        arguments = {"arguments": [options_of(each) for each in value.args]} if value.args else {}
        return {"call": value.func.__name__, **arguments, **options_of(value.keywords)}
    if isinstance(value, Mapping):
        return {str(name): options_of(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [options_of(each) for each in value]
    return value.__name__ if callable(value) else value


def generated(setting: Setting) -> tuple[str, str]:
    """Return the source and the checksum of data that the seeds generate: none."""
    return "generated", ""


@dataclass(frozen=True)
class Experiment:
    """A figure or theorem of the paper.

    A unit of work is (seed, method): `measure` gives its rows, the same at every call but for the
    seconds. `methods` maps the name of each method to its options, `sizes` holds every other number
    that rows depend on. `drawn` names the methods that depend on the seed, None for all; the rows
    of another are measured once and serve every seed. `x`, `train` and `test` say what these
    columns hold. `source` gives a description and a checksum of the data, and raises InvalidInput
    where they cannot be read. `twin` names an experiment with the same rows. `picture` draws on a
    figure; None where there is nothing to see.
    """

    name: str
    title: str
    x: str
    x_means: str
    train: str
    test: str
    runs: int
    quick_runs: int
    sizes: Callable[[Setting], Mapping[str, Any]]
    methods: Methods
    measure: Measure
    claims: Claims
    picture: Picture | None = None
    source: Callable[[Setting], tuple[str, str]] = generated
    size: tuple[float, float] = (6.4, 4.2)
    twin: str | None = None
    drawn: Collection[str] | None = None

    def source_seed(self, setting: Setting, seed: int, method: str) -> int:
        """The seed whose rows serve a unit of work."""
        return seed if self.drawn is None or method in self.drawn else setting.seed


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
        ends = {
            row.seed: getattr(row, column)
            for row in sorted(self.of(method), key=lambda row: (row.seed, row.x))
        }
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


def path_rows(
    seed: int, method: str, values: Sequence[float], seconds: Sequence[float], length: int
) -> list[Row]:
    """The best value along a path of iterations 0..length, at the iterations that are written down.

    A path that ended earlier keeps its best to the end.
    """
    best = np.minimum.accumulate(np.asarray(values, np.float64))
    rows = []
    for t in thinned(length):
        at = min(t, len(best) - 1)
        rows.append(Row(seed, method, t, float(best[at]), math.nan, float(seconds[at])))
    return rows
