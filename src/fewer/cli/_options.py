"""What all jobs are asked alike."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..solvers.names import SOLVER_NAMES

WHOLE = click.IntRange(min=1)
SEEDS = click.IntRange(min=0)


def budgets(text: Any) -> tuple[int, ...]:
    """Several k, with commas between them: sorted distinct whole numbers above zero."""
    if isinstance(text, tuple):
        return text
    try:
        ks = sorted({int(part) for part in str(text).split(",") if part.strip()})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise click.BadParameter(
            f"expected whole numbers above 0 with commas between them, such as 5,10,20, got {text!r}"
        )
    return tuple(ks)


def shape(text: str) -> tuple[int, int]:
    """Height x width of a picture."""
    parts = str(text).lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise click.BadParameter(f"expected height x width such as 16x16, got {text!r}")
    return int(parts[0]), int(parts[1])


def seconds(text: str) -> float:
    """A finite number of seconds above zero."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise click.BadParameter(f"expected a number of seconds above 0, got {text!r}")
    return number


def spelled(fix: Any) -> str:
    """A parameter of the library, with a value or without, as an option.

    >>> from .._validation import Fix
    >>> spelled(Fix("missing", ("drop", "impute"))), spelled(Fix("columns", {"age": "ignore"})), spelled(Fix("ks"))
    ('--missing drop or impute', '--ignore age', '--path')
    """
    name, value = fix
    option = {"k": "-k", "ks": "--path"}.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return option
    if isinstance(value, dict):
        column, kind = next(iter(value.items()))
        return f"--ignore {column}" if kind == "ignore" else f"{option} {column}:{kind}"
    if isinstance(value, list):
        return f"{option} {','.join(map(str, value))}"
    *some, last = map(str, value if isinstance(value, tuple) else (value,))
    return f"{option} {', '.join(some)} or {last}" if some else f"{option} {last}"


@dataclass(frozen=True)
class Asked:
    """The options that all jobs share."""

    files: tuple[str, ...]
    k: float | None
    path: tuple[int, ...]
    out: Path | None
    report: Path | None
    solver: str
    time_limit: float | None
    seed: int
    quiet: bool
    json: bool
    force: bool
    baselines: bool = True
    image_shape: tuple[int, int] | None = None
    max_memory: str = "1GB"
    workers: int = 1

    @property
    def file(self) -> str:
        """The files in one line."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return self.files[0] + more

    @property
    def ks(self) -> list[Any]:
        """Every k to solve for."""
        return sorted({*self.path, *([] if self.k is None else [self.k])})


def for_all_jobs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument FILE and the options -k, --path, -o, --report, --solver and so on."""
    paths = click.Path(path_type=Path, dir_okay=False)
    options = [
        click.argument("files", metavar="FILE...", nargs=-1, required=True),
        click.option("-k", type=WHOLE, help="How many to keep."),
        click.option(
            "--path",
            type=budgets,
            default=(),
            metavar="K,K,…",
            help="Evaluate several k and recommend one.",
        ),
        click.option(
            "-o", "out", type=paths, help="Write what was kept: .csv, .parquet, .json or .npz."
        ),
        click.option("--report", type=paths, help="Write an HTML report: .html."),
        click.option(
            "--solver", type=click.Choice(SOLVER_NAMES), default="auto", show_default=True
        ),
        click.option(
            "--time-limit",
            type=seconds,
            metavar="S",
            help="Time limit of each search, in seconds, but for compiling.",
        ),
        click.option("--seed", type=SEEDS, default=0, show_default=True, help="Random seed."),
        click.option(
            "--baselines/--no-baselines",
            default=True,
            help="Compare with common alternatives; on by default.",
        ),
        click.option(
            "--max-memory",
            default="1GB",
            show_default=True,
            metavar="SIZE",
            help="Read larger files in blocks.",
        ),
        click.option(
            "--workers",
            type=WHOLE,
            default=1,
            show_default=True,
            help="How many blocks to process at once.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="No progress bar, no table."),
        click.option("--json", "as_json", is_flag=True, help="JSON output."),
        click.option("--force", is_flag=True, help="Overwrite existing files; links are followed."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def asked(options: dict[str, Any]) -> Asked:
    """The shared options, taken out of all options."""
    common = {
        name: options.pop(name)
        for name in ("files", "k", "path", "out", "report", "solver", "time_limit")
    }
    common |= {name: options.pop(name) for name in ("seed", "quiet", "force", "baselines")}
    common |= {name: options.pop(name) for name in ("max_memory", "workers")}
    common |= {"json": options.pop("as_json"), "image_shape": options.pop("image_shape", None)}
    if common["k"] is None and not common["path"]:
        raise click.UsageError("give -k, how many to keep, or --path with several k")
    return Asked(**common)
