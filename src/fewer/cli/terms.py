"""`fewer terms`."""

from typing import TYPE_CHECKING, Any

import click

from .._validation import InvalidInput
from ._options import asked, for_all_jobs

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ._options import Asked
    from ._run import Data

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
PER_GROUP = "max_per_group", "min_per_group", "max_group_weight", "min_group_weight"
EXAMPLE = "fewer terms prices.csv --target INDEX --date day --returns simple -k 20 --max-weight 0.2 --test-last 0.25"


@click.command(epilog=f"Example: {EXAMPLE}")
@for_all_jobs
@click.option("--target", required=True, metavar="COL", help="The column to track.")
@click.option("--columns", help="Use only these columns: a,b,c.")
@click.option(
    "--min-weight",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Smallest weight of a held column.",
)
@click.option(
    "--max-weight",
    type=click.FloatRange(0, 1),
    default=1.0,
    help="Largest weight of a held column.",
)
@click.option("--include", help="Columns that must be held: a,b.")
@click.option("--exclude", help="Columns that must not be held: c.")
@click.option("--groups", metavar="FILE", help="A table of two columns: column, group.")
@click.option(
    "--max-per-group", metavar="N", help="At most N columns of each group: 2, or tech=2,oil=1."
)
@click.option("--min-per-group", metavar="N", help="At least N columns of each group.")
@click.option(
    "--max-group-weight",
    metavar="W",
    help="Largest total weight of a group: 0.3, or tech=0.3,oil=0.2.",
)
@click.option("--min-group-weight", metavar="W", help="Smallest total weight of a group.")
@click.option(
    "--previous",
    metavar="FILE",
    help="Weights held before: a table of two columns, column and weight.",
)
@click.option(
    "--max-turnover", type=click.FloatRange(0), help="Largest sum of |weight - previous weight|."
)
@click.option(
    "--constraints",
    metavar="FILE",
    help="A table of conditions G q <= h: columns of the data, and one named limit.",
)
@click.option(
    "--loss",
    type=click.Choice(["squared", "absolute", "downside"]),
    default="squared",
    show_default=True,
    help="What is minimised: squared or absolute errors, or squared shortfalls.",
)
@click.option(
    "--ridge",
    type=click.FloatRange(0),
    default=0.0,
    help="Add so many times the squares of the weights to the loss.",
)
@click.option(
    "--returns",
    type=click.Choice(["simple", "log"]),
    help="The columns are prices; track their returns.",
)
@click.option("--date", metavar="COL", help="A column of dates; rows are sorted by it.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "impute", "ffill"]),
    default="error",
    show_default=True,
    help="Missing values: stop, drop the row, use the column's median, or the last price before.",
)
@click.option(
    "--test-fraction", type=SHARE, help="Test on this share of the rows, drawn at random."
)
@click.option("--test-last", type=SHARE, help="Test on this share of the rows, the last ones.")
@click.option(
    "--test-from", metavar="DATE", help="Test on the rows from this date on, such as 2019-01-31."
)
def terms(target: str, columns: str | None, groups: str | None, **options: Any) -> int:
    """Track a column of FILE by at most k others, with weights that sum to one.

    The weights are fitted on all rows. With --test-fraction, --test-last or --test-from a second
    fit leaves out some rows, and its error on them is shown. With --path that is 30 % of the rows:
    the last ones by --date, or random ones. FILE is csv, tsv, parquet, feather, xlsx, jsonl,
    sqlite, npy or npz, or - for stdin.
    """
    common = asked(options)
    from ..io.files import open_table
    from ._run import perform
    from ._write import check_targets

    check_targets(common)
    check_together(options, groups)
    data = tracked(open_table(common.files), target, columns, groups, options, common)
    return perform("terms", data, common, test=tested(options))


def check_together(options: dict[str, Any], groups: str | None) -> None:
    """At most one way to choose the rows to test on, and what goes together."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("test_fraction", "test_last", "test_from")
        if options[name]
    ]
    if len(given) > 1:
        raise click.UsageError(
            f"{' and '.join(given)} choose the rows to test on in different ways; give one of them"
        )
    if options["test_from"] and not options["date"]:
        raise click.UsageError("--test-from needs --date, the column of dates")
    given = [name for name in PER_GROUP if options[name] is not None]
    if groups is None and given:
        raise click.UsageError(
            f"--groups and --{given[0].replace('_', '-')} go together: give both or neither"
        )
    if groups is not None and not given:
        raise click.UsageError(
            "--groups and --max-per-group go together: give both, or another limit of groups"
        )
    if (options["previous"] is None) != (options["max_turnover"] is None):
        raise click.UsageError("--previous and --max-turnover go together: give both or neither")


def tracked(
    table: "FileTable",
    target: str,
    columns: str | None,
    groups: str | None,
    options: dict[str, Any],
    common: "Asked",
) -> "Data":
    """The file's columns as `terms` takes them, and its options."""
    from ..tables.names import quoted
    from ._run import Data
    from ._table import chosen_columns, framed, known_column, listed, noted, numbered, stored

    date = options["date"]
    apart = [target, *([date] if date else [])]
    for name, option in zip(apart, ("--target", "--date"), strict=False):
        known_column(table, name, option)
    names = table.names
    if columns:
        names = list(dict.fromkeys([*chosen_columns(table, columns, "--columns"), *apart]))
    chosen = {option: listed(options[option]) for option in ("include", "exclude")}
    for option, some in chosen.items():
        for name in some:
            if known_column(table, name, f"--{option}") not in names or name in apart:
                raise InvalidInput(
                    f"{table.label}: {name!r} (--{option}) is not among the columns that may be held"
                )
    note, X = noted(table), stored(table, names, common)
    if X is not None:
        names = [name for name in names if name in table.numeric or name in apart]
        X = stored(table, names, common)
    if X is None:
        X = framed(table, names)
        texts = [name for name in X.columns if str(X[name].dtype) == "String" and name not in apart]
        chosen["exclude"] += [name for name in texts if name not in chosen["exclude"]]
        note = "\n".join(
            filter(None, (f"Not used (text): {quoted(texts)}." if texts else "", note))
        )
    given = {"y": target, **chosen, **limits_of_options(options), "groups": grouping(groups)}
    given |= {name: options[name] for name in ("loss", "missing", "returns", "date")}
    kind = f"{options['returns']} returns" if options["returns"] else "rows"

    def title(problem: Any) -> str:
        from ._run import of_all

        count = f"{len(problem.data.y)} {kind}" if hasattr(problem, "data") else kind
        return f"{of_all(problem, 'columns')} of {table.label} that track {target}, on {count}"

    test = next(
        (name for name in ("test_fraction", "test_last", "test_from") if options[name]), "test"
    )
    return Data(
        X,
        given,
        title,
        note,
        places=numbered(table, names),
        rows=table.stored_rows,
        spelling={"test": test},
    )


def limits_of_options(options: dict[str, Any]) -> dict[str, Any]:
    """Limits on weights, groups, turnover and conditions, as `terms` takes them."""
    found = {name: options[name] for name in ("min_weight", "max_weight", "max_turnover", "ridge")}
    found |= {name: per_group(options[name], name) for name in PER_GROUP}
    found["previous"] = (
        None if options["previous"] is None else pairs(options["previous"], "weight")
    )
    found["constraints"] = (
        None if options["constraints"] is None else linear_rows(options["constraints"])
    )
    return found


def per_group(text: str | None, option: str) -> Any:
    """A number, or numbers by label: 0.3, or tech=0.3,oil=0.2."""
    if text is None:
        return None
    number: Any = int if option.endswith("per_group") else float
    kind = "a whole number" if number is int else "a number"
    found: dict[str, Any] = {}
    for part in text.split(",") if "=" in text else [text]:
        label, _, value = part.rpartition("=")
        try:
            found[label.strip()] = number(value)
        except ValueError:
            name = f"--{option.replace('_', '-')}"
            raise click.UsageError(
                f"{name}: expected {kind}, or label={kind}, got {part.strip()!r}"
            ) from None
    return found if "=" in text else found[""]


def linear_rows(file: str) -> Any:
    """The rows G of a table, but for its column `limit`, and that column: h."""
    from ..io.files import open_table
    from ._table import framed

    table = open_table(file)
    if "limit" not in table.names or len(table.names) < 2:
        raise InvalidInput(
            f"{table.label}: expected columns of the data and one named limit, for G q <= limit"
        )
    frame = framed(table, table.names)
    return frame.drop("limit"), frame["limit"].to_numpy()


def grouping(file: str | None) -> dict[str, str] | None:
    """The group of each column, from a table of two columns: `column` and `group`, or in this order."""
    return None if file is None else pairs(file, "group")


def pairs(file: str, value: str) -> dict[str, Any]:
    """What a table of two columns says of each column of the data: `column` and `value`, or in this order."""
    from ..io.files import open_table

    table = open_table(file)
    names = ["column", value] if {"column", value} <= set(table.names) else table.names
    if len(names) != 2:
        raise InvalidInput(
            f"{table.label}: expected two columns, column and {value}, got {len(names)}"
        )
    frame = table.frame(names, categories=names if value == "group" else names[:1])
    for name in names:
        if frame[name].null_count():
            raise InvalidInput(
                f"{table.label}, row {frame[name].is_null().arg_max()}, column {name!r}: is missing"
            )
    members = frame[names[0]].to_list()
    if len(set(members)) < len(members):
        twice = next(name for i, name in enumerate(members) if name in members[:i])
        raise InvalidInput(f"{table.label}: gives {twice!r} a {value} twice")
    return dict(zip(members, frame[names[1]].to_list(), strict=True))


def tested(options: dict[str, Any]) -> Any:
    """What is held out, as `fewer.path` is told; None where nothing was said."""
    if options["test_from"]:
        return "from", options["test_from"]
    if options["test_last"]:
        return "last", options["test_last"]
    return options["test_fraction"]
