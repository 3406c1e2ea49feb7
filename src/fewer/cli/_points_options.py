"""What `fewer points` is asked about the rows that it keeps, and what of it the library is told."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._validation import InvalidInput

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ..report.path import Path as JobPath

SHARE = click.FloatRange(0, 1)
ENDINGS = (".csv", ".parquet")


def row_numbers(text: str) -> list[int]:
    """Row numbers from 0 with commas between them, and ranges of them.

    >>> row_numbers("7, 0-2")
    [7, 0, 1, 2]
    """
    found: list[int] = []
    for part in filter(None, (piece.strip() for piece in str(text).split(","))):
        low, dash, high = part.partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise click.BadParameter(
                f"expected row numbers from 0 such as 3,17 or 0-9, got {part!r}"
            )
        found += range(int(low), int(high) + 1) if dash else [int(low)]
    return found


def per_group(text: str) -> Any:
    """A number for all groups, or numbers by label.

    >>> per_group("2"), per_group("north=3, south=1")
    (2, {'north': 3, 'south': 1})
    """
    if str(text).strip().isdigit():
        return int(text)
    found = {}
    for part in filter(None, (piece.strip() for piece in str(text).split(","))):
        label, sign, count = part.rpartition("=")
        if not sign or not count.strip().isdigit():
            raise click.BadParameter(
                f"expected a number, or numbers by label such as north=3,south=1, got {text!r}"
            )
        found[label.strip()] = int(count)
    return found


def as_box(text: Any) -> Any:
    """Where points may move: the range of the data, anywhere, between two numbers, or so for some columns.

    >>> as_box("range"), as_box("free"), as_box("0:1.5"), as_box("age=18:99")
    (True, 'free', (0.0, 1.5), {'age': (18.0, 99.0)})
    """
    if not isinstance(text, str) or text == "free":
        return text
    if text == "range":
        return True
    pairs: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        name, _, ends = part.rpartition("=")
        try:
            low, high = map(float, ends.split(":"))
        except ValueError:
            raise click.BadParameter(
                f"expected range, free, LOW:HIGH or COL=LOW:HIGH,..., got {text!r}"
            ) from None
        pairs[name.strip()] = low, high
    return pairs[""] if list(pairs) == [""] else pairs


def about_rows(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about which rows are kept, where they sit and what they stand for."""
    files = click.Path(path_type=Path, dir_okay=False)
    options = [
        click.option(
            "--move",
            type=as_box,
            metavar="BOX",
            help="Move points off their rows, within: range (of the data), free, LOW:HIGH or COL=LOW:HIGH,...",
        ),
        click.option(
            "--include",
            type=row_numbers,
            metavar="ROWS",
            help="Always keep rows 3,17 or 0-9, counted from 0.",
        ),
        click.option("--exclude", type=row_numbers, metavar="ROWS", help="Never keep these rows."),
        click.option(
            "--target",
            metavar="FILE",
            help="Represent the rows of another file with the same columns.",
        ),
        click.option(
            "--target-weight",
            metavar="COL",
            help="The column of --target with the weights of its rows.",
        ),
        click.option(
            "--groups", metavar="COL", help="The column that says which group a row is in."
        ),
        click.option(
            "--min-per-group",
            type=per_group,
            metavar="N",
            help="At least N rows of each: 2, or north=3,south=1.",
        ),
        click.option(
            "--max-per-group", type=per_group, metavar="N", help="At most N rows of each."
        ),
        click.option(
            "--min-weight", type=SHARE, default=0.0, help="Smallest weight of a kept row."
        ),
        click.option("--max-weight", type=SHARE, default=1.0, help="Largest weight of a kept row."),
        click.option("--equal-weights", is_flag=True, help="Exactly k rows of weight 1/k."),
        click.option(
            "--assign",
            type=files,
            metavar="FILE",
            help="Write the most similar point of each row: .csv.",
        ),
        click.option(
            "--criticisms",
            type=click.IntRange(1),
            metavar="N",
            help="List the N rows represented worst.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def check_together(options: dict[str, Any]) -> None:
    """What goes together, and what does not."""
    if options["target_weight"] and not options["target"]:
        raise click.UsageError("--target-weight needs --target, the file with that column")
    given = [name for name in ("min_per_group", "max_per_group") if options[name] is not None]
    if given and not options["groups"]:
        raise click.UsageError(
            f"--{given[0].replace('_', '-')} needs --groups, the column of groups"
        )
    if options["groups"] and not given:
        raise click.UsageError("--groups needs --min-per-group or --max-per-group")
    path = options["assign"]
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise InvalidInput(
            f"--assign {path}: expected an ending of {', '.join(ENDINGS)}, got {path.suffix!r}"
        )


def limits_of(options: dict[str, Any], table: "FileTable", plain: bool) -> dict[str, Any]:
    """The options of the library that limit and move the points."""
    from ._table import known_column

    found = {name: options[name] for name in ("include", "exclude") if options[name]}
    numeric = options["groups"] in table.numeric
    for name in ("min_per_group", "max_per_group"):
        if options[name] is not None:
            found[name] = (
                by_number(options[name], f"--{name.replace('_', '-')}")
                if numeric
                else options[name]
            )
    found |= (
        {name: options[name] for name in ("min_weight", "max_weight")}
        if not options["equal_weights"]
        else {}
    )
    if options["groups"]:
        found["groups"] = (
            np.asarray(table.values(options["groups"])) if plain else options["groups"]
        )
    if options["equal_weights"]:
        found["equal_weights"] = True
    if options["move"] is not None:
        found["move"] = options["move"]
    if plain and isinstance(options["move"], dict):
        box = options["move"].items()
        found["move"] = {
            table.names.index(known_column(table, name, "--move")): pair for name, pair in box
        }
    return found


def by_number(given: Any, option: str) -> Any:
    """Numbers by label, where labels are numbers."""
    if not isinstance(given, dict):
        return given
    try:
        return {float(label): count for label, count in given.items()}
    except ValueError:
        raise click.UsageError(
            f"{option}: the groups are numbers, got {', '.join(map(repr, given))}"
        ) from None


def target_of(
    options: dict[str, Any],
    names: Sequence[str],
    label: str | None,
    texts: Sequence[str],
    plain: bool,
) -> tuple[dict[str, Any], str]:
    """The other file as the library takes it, and its name."""
    from ..io.files import open_table
    from ._table import check_weights, known_column

    file, weight = options["target"], options["target_weight"]
    table = open_table(file)
    if weight is not None:
        known_column(table, weight, "--target-weight")
    if plain:
        X: Any = table.numbers([known_column(table, name, "--target") for name in names])
        return {
            "target": X,
            "target_weight": None if weight is None else table.numbers([weight])[:, 0],
        }, table.label
    wanted = dict.fromkeys([*names, *filter(None, (label, weight))])
    X = table.frame(
        [name for name in wanted if name in table.names],
        categories=[t for t in texts if t in table.names],
    )
    if weight is not None:
        check_weights(X[weight], table.label)
    return {"target": X, "target_weight": weight}, table.label


def assigned(path: Path, found: "JobPath") -> bytes:
    """The most similar point of each row, as csv or parquet: its position among those kept, and the row it began as."""
    from ._write import as_csv, as_parquet

    result = found.answer.result
    at = result.assignment.tolist()
    points = [None if i < 0 else int(result.indices[i]) for i in at]
    table: dict[str, list[Any]] = {
        "index": list(range(len(at))),
        "position": [None if i < 0 else i for i in at],
        "point": points,
    }
    return as_csv(table).encode() if path.suffix.lower() == ".csv" else as_parquet(table)
