"""Options of the command: those of the library as the command spells them, and its own."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..options import OneOf, Option, Options
from ..solvers import SOLVER_NAMES

FLAGS = {
    "k": "-k",
    "ks": "--path",
    "labels": "--label",
    "sample_weight": "--weight",
    "rng": "--seed",
    "n_bins": "--bins",
    "y": "--target",
    "n_criticisms": "--criticisms",
}
"""Parameters of the library whose options are not called like them."""
NEVER = ("callback", "progress")
"""Options of the library that no command has."""
PARAMETERS = {"k", "ks", "test", "y"}
"""Parameters of the library that options stand for, those of the jobs among them once these are
made."""
TARGET_FILE = click.Path(path_type=Path, dir_okay=False)


def flag(name: str) -> str:
    """Return the option for a parameter of the library.

    >>> flag("k"), flag("max_weight"), flag("labels")
    ('-k', '--max-weight', '--label')
    """
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def spelled(fix: Any) -> str:
    """Return a parameter of the library, with a value or without, as an option.

    >>> from .._validation import Fix
    >>> spelled(Fix("missing", "drop")), spelled(Fix("columns", {"age": "ignore"}))
    ('--missing drop', '--ignore age')
    """
    name, value = fix
    if value is None:
        return flag(name)
    if isinstance(value, dict):
        column, kind = next(iter(value.items()))
        return f"--ignore {column}" if kind == "ignore" else f"{flag(name)} {column}:{kind}"
    if isinstance(value, list):
        return f"{flag(name)} {','.join(map(str, value))}"
    return f"{flag(name)} {value}"


def sentence_of(error: Any) -> str:
    """Return the message of bad input with its parameters as options; it may begin with one."""
    first = str(error.args[0]).partition(" ")[0].rstrip(":")
    if error.parameter is None and first in PARAMETERS:
        error.parameter = first
    return str(error.spelled(spelled))


def reader(expected: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function of a text that says what was expected where `read` raises a ValueError."""

    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise click.BadParameter(f"expected {expected}, got {text!r}") from None

    return parse


def parts(text: str) -> list[str]:
    """Return what stands between commas.

    >>> parts("a, b,")
    ['a', 'b']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def row_numbers(text: str) -> list[int]:
    """Return numbers of rows and ranges of them.

    >>> row_numbers("7, 0-2")
    [7, 0, 1, 2]
    """
    rows: list[int] = []
    for part in parts(text):
        low, dash, high = part.partition("-")
        rows += range(int(low), int(high if dash else low) + 1)
    return rows


def by_label(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the reader of a value for all, or of values by label.

    >>> by_label(int)("2"), by_label(float)("north=0.3, south=1")
    (2, {'north': 0.3, 'south': 1.0})
    """

    def parse(text: str) -> Any:
        if "=" not in text:
            return read(text)
        pairs = [part.rpartition("=") for part in parts(text)]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError
        return {label.strip(): read(value) for label, _, value in pairs}

    return parse


def ends(text: str) -> Any:
    """Return where points may move: in the range of the data, anywhere, or between numbers.

    >>> ends("range"), ends("free"), ends("0:1.5")
    (True, 'free', (0.0, 1.5))
    """
    if text in ("range", "free"):
        return text == "range" or text
    low, high = map(float, text.split(":"))
    return low, high


def number_or_text(text: str) -> Any:
    """Return a number, or the name of a rule or a label, which the library checks.

    >>> number_or_text("2"), number_or_text("0.5"), number_or_text("median")
    (2, 0.5, 'median')
    """
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def height_and_width(text: str) -> tuple[int, int]:
    """Return height and width of a picture."""
    height, width = map(int, text.lower().split("x"))
    if height < 1 or width < 1:
        raise ValueError
    return height, width


def budgets(text: str) -> list[int]:
    """Return several k."""
    ks = sorted({int(part) for part in parts(text)})
    if not ks or ks[0] < 1:
        raise ValueError
    return ks


class Spelling(NamedTuple):
    """How the value of an option of the library is written: its reader, and its shape."""

    kind: Any = str
    metavar: str | None = None


COLUMN, FILE, NAMES = Spelling(metavar="COL"), Spelling(metavar="FILE"), Spelling(parts, "A,B,…")
SHARED = {
    "solver": Spelling(click.Choice(SOLVER_NAMES)),
    "max_memory": Spelling(metavar="SIZE"),
    "time_limit": Spelling(float, "S"),
    "rng": Spelling(int, "N"),
}
"""Options that all jobs have."""
TEXTS = {
    "columns": "Use only these columns, or say what they are: age:number,plan:category.",
    "exclude": "Columns that must not be held: a,b.",
    "include": "Columns that must be held: a,b.",
    "max_memory": "Read larger files in blocks.",
    "max_per_group": "At most N of each group: 2, or north=3,south=1.",
    "max_weight": "Largest weight of what is kept.",
    "min_per_group": "At least N of each group.",
    "min_weight": "Smallest weight of what is kept.",
    "missing": "How to treat missing values.",
    "rng": "Random seed.",
    "solver": "How the answer is searched for.",
    "time_limit": "Time limit of each search, in seconds, but for compiling.",
}
"""Texts that are shorter than those of the library, which the commands have in common."""


def library_option(one: Option, spelling: Spelling | None, text: str | None) -> click.Option:
    """Return an option of the library as one of the command.

    `text` stands for its first sentence.
    """
    name = flag(one.name)
    about: dict[str, Any] = {"type": str}
    if spelling is not None:
        about = {"type": spelling.kind, "metavar": spelling.metavar}
    elif isinstance(one.check, OneOf):
        about = {"type": click.Choice(one.check.words)}
    elif one.kind.startswith("bool"):
        about = {"is_flag": True}
        name = f"{name}/--no-{name[2:]}" if one.default == "auto" else name
    elif one.kind.startswith(("int", "float")):
        about = {"type": int if one.kind.startswith("int") else float}
    if isinstance(one.default, (str, float)) and one.default != "auto":
        about |= {"default": one.default, "show_default": True}
    if text is None:
        text = one.text.replace("`", "").partition(". ")[0].rstrip(".") + "."
    return click.Option([name, one.name], **{"default": None, "help": text, **about})


@dataclass(frozen=True)
class Request:
    """What all commands are asked alike; `options` are those of the library that were given."""

    files: tuple[str, ...]
    k: Any
    ks: list[int]
    out: Path | None
    report: Path | None
    baselines: bool
    workers: int
    quiet: bool
    json: bool
    force: bool
    options: dict[str, Any]
    image_shape: tuple[int, int] | None = None

    @property
    def file(self) -> str:
        """The files in one line."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return self.files[0] + more

    @property
    def writes_json(self) -> bool:
        """Whether the summary is printed or written."""
        return self.json or (self.out is not None and self.out.suffix.lower() == ".json")

    @property
    def compares(self) -> bool:
        """Whether baselines are wanted, and anything that is printed or written tells of them."""
        return self.baselines and (bool(self.report) or self.writes_json or not self.quiet)


OWN = (
    click.Argument(["files"], metavar="FILE...", nargs=-1, required=True),
    click.Option(["-k"], type=int, help="How many to keep."),
    click.Option(
        ["--path", "ks"],
        type=reader("whole numbers above 0 with commas between them, such as 5,10,20", budgets),
        metavar="K,K,…",
        help="Evaluate several k and recommend one.",
    ),
    click.Option(
        ["-o", "out"], type=TARGET_FILE, help="Write what was kept: .csv, .parquet, .json or .npz."
    ),
    click.Option(["--report"], type=TARGET_FILE, help="Write an HTML report: .html."),
    click.Option(
        ["--baselines/--no-baselines"],
        default=True,
        help="Compare with common alternatives; on by default.",
    ),
    click.Option(
        ["--workers"],
        type=click.IntRange(1),
        default=1,
        help="How many blocks to process at once.",
    ),
    click.Option(["-q", "--quiet"], is_flag=True, help="No progress bar, no table."),
    click.Option(["--json"], is_flag=True, help="JSON output."),
    click.Option(["--force"], is_flag=True, help="Overwrite existing files; links are followed."),
)
"""What all commands have beside the options of the library."""


def job_command(
    options: type[Options],
    spellings: Mapping[str, Spelling],
    *own: click.Parameter,
    texts: Mapping[str, str],
    without: Collection[str] = (),
    example: str,
) -> Callable[[Callable[..., int]], click.Command]:
    """Make a command of a function of a request and of the command's own options.

    All options of the library but those `without` are in the request.
    """
    fields = [one.name for one in options.fields() if one.name not in (*NEVER, *without)]
    spellings, texts = {**SHARED, **spellings}, {**TEXTS, **texts}
    PARAMETERS.update(fields)
    generated = [
        library_option(one, spellings.get(one.name), texts.get(one.name))
        for one in options.fields()
        if one.name in fields
    ]

    def decorated(function: Callable[..., int]) -> click.Command:
        def call(**values: Any) -> int:
            library = {name: values.pop(name) for name in fields}
            library = {name: value for name, value in library.items() if value is not None}
            shared = {one.name: values.pop(one.name) for one in OWN if one.name}
            shared["ks"] = shared["ks"] or []
            if shared["k"] is None and not shared["ks"] and "budget" not in library:
                raise click.UsageError("give -k, how many to keep, or --path with several k")
            shape = values.pop("image_shape", None)
            return function(Request(**shared, options=library, image_shape=shape), **values)

        params = [*OWN, *own, *generated]
        text, epilog = function.__doc__, f"Example: {example}"
        return click.Command(options.job, callback=call, params=params, help=text, epilog=epilog)

    return decorated
