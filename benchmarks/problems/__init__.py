"""The inputs of the benchmarks, and who judges an answer: plain NumPy, the same for `fewer` and for every peer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import core, dims, files, least_squares, points

KINDS: dict[str, Any] = {
    **points.KINDS,
    **least_squares.KINDS,
    **dims.KINDS,
    **core.KINDS,
    **files.KINDS,
}
"""Name of a kind of problem -> how to make it from its parameters."""
FILES = {
    "usps": "usps.npz",
    "charges": "hospital_charges.npz",
    "tracking": "index_tracking.npz",
    "debd": "debd.npz",
}
"""Kinds that need a file of --data."""


@dataclass(frozen=True)
class Case:
    """One input and one k: the row group of a table.

    `axis` names what grows where it is a point of a cost curve.
    """

    job: str
    kind: str
    params: tuple[tuple[str, Any], ...]
    k: int
    axis: str = ""

    @property
    def name(self) -> str:
        """As it stands in the tables."""
        if self.kind in files.KINDS:
            parameters = dict(self.params)
            return f"{parameters['file']} ({parameters['shape']}), k = {self.k}"
        inside = ", ".join(f"{key} = {value}" for key, value in self.params if key != "seed")
        return f"{self.kind}{f' ({inside})' if inside else ''}" + (
            f", k = {self.k}" if self.k else ""
        )

    @property
    def size(self) -> float:
        """The number that grows along the axis."""
        return float(self.k if self.axis == "k" else dict(self.params)[self.axis])

    def missing(self, data: Path) -> str:
        """Why the input cannot be had, or nothing."""
        file = FILES.get(self.kind)
        return f"{file} is not in --data" if file and not (data / file).exists() else ""

    def problem(self, data: Path) -> Any:
        """The input itself."""
        return KINDS[self.kind](data=data, **dict(self.params))


def case(job: str, kind: str, k: int, axis: str = "", **params: Any) -> Case:
    return Case(job, kind, tuple(params.items()), k, axis)


def file_cases(data: Path) -> list[Case]:
    """Every table of a folder that serves a job, by its shape and content."""
    tables = [(job, name, shape, k) for job, name, shape, k in files.listed(data) if job]
    return [
        case(job, f"file of {job}", k, file=name, shape=shape) for job, name, shape, k in tables
    ]


def quick_cases() -> list[Case]:
    return [
        case("points", "digits", 50),
        case("points", "mixture", 50, N=4000),
        case("bins", "sensing", 40, r=100, n=2000),
        case("terms", "returns", 6, T=150, n=30),
        case("terms", "tracking", 10, index="hangseng31"),
        case("dims", "baskets", 8, rows=2000, items=40),
        case("dims", "debd", 10, table="plants"),
        *(case("core", "simplex", 0, n=n) for n in (1000, 100_000)),
        case("core", "sparse simplex", 100, n=100_000),
        case("core", "greedy projection", 7, n=15),
    ]


def full_cases() -> list[Case]:
    tracking = [
        ("hangseng31", 5),
        ("hangseng31", 10),
        ("ftse89", 10),
        ("ftse89", 20),
        ("sp500", 40),
    ]
    tables = [
        ("nltcs", 6),
        ("msnbc", 7),
        ("plants", 10),
        ("plants", 20),
        ("tretail", 15),
        ("kosarek", 20),
    ]
    return [
        *(case("points", "digits", k) for k in (10, 50, 200)),
        case("points", "usps", 100),
        case("points", "mixture", 50, N=1000),
        *(case("points", "mixture", 100, N=N) for N in (10_000, 100_000, 1_000_000)),
        case("bins", "sensing", 40, r=100, n=2000),
        *(case("bins", "sensing", k, r=500, n=10_000) for k in (100, 200)),
        *(case("bins", "charges", k, r=500) for k in (100, 200)),
        case("terms", "returns", 10, T=200, n=60),
        *(case("terms", "tracking", k, index=index) for index, k in tracking),
        case("dims", "baskets", 8, rows=2000, items=40),
        *(case("dims", "debd", k, table=table) for table, k in tables),
        *(case("core", "simplex", 0, n=n) for n in (1000, 10_000, 100_000, 1_000_000)),
        *(case("core", "sparse simplex", 100, n=n) for n in (10_000, 1_000_000)),
        case("core", "greedy projection", 7, n=15),
    ]


def curve_cases(quick: bool = False) -> list[Case]:
    """Growth of time and memory, one number at a time: two decades and more in full, small ones if quick."""
    cut = 2 if quick else 9
    rows = [1000, 10_000, 100_000, 1_000_000][:cut]
    return [
        *(case("points", "mixture", 50, "N", N=N) for N in rows),
        *(case("points", "mixture", 20, "d", N=3000, d=d) for d in (4, 40, 400)[:cut]),
        *(case("points", "mixture", k, "k", N=10_000) for k in (5, 50, 500)[:cut]),
        *(case("bins", "histogram", 50, "n", n=n) for n in (1000, 10_000, 100_000)[:cut]),
        *(case("bins", "histogram", k, "k", n=10_000) for k in (5, 50, 500)[:cut]),
        *(
            case("terms", "columns", 20, "n", r=200, n=n)
            for n in (1000, 10_000, 100_000, 1_000_000)[:cut]
        ),
        *(case("terms", "columns", 20, "r", r=r, n=5000) for r in (50, 500, 5000)[:cut]),
        *(case("terms", "columns", k, "k", r=1000, n=5000) for k in (5, 50, 500)[:cut]),
        *(
            case("dims", "baskets", 20, "rows", rows=N, items=1000)
            for N in (10_000, 100_000, 1_000_000)[:cut]
        ),
        *(
            case("dims", "baskets", 20, "items", rows=100_000, items=n)
            for n in (100, 1000, 10_000)[:cut]
        ),
        *(case("dims", "baskets", k, "k", rows=100_000, items=10_000) for k in (5, 50, 500)[:cut]),
    ]
