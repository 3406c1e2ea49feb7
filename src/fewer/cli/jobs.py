"""`fewer points`, `fewer bins`, `fewer terms` and `fewer dims`: from files to a call of the library."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._validation import InvalidInput, Vector, as_number
from ..io.files import expanded, open_table
from ..jobs.bins.options import BinsOptions
from ..jobs.dims.options import DimsOptions
from ..jobs.points.options import PointsOptions
from ..jobs.terms.options import TermsOptions
from ..similarity import SIMILARITIES
from ..tables.baskets import long_columns, open_transactions
from ..tables.column import columns_of
from ..tables.prices import RETURNS
from ._options import (
    COLUMN,
    FILE,
    NAMES,
    TARGET_FILE,
    Request,
    Spelling,
    bandwidth,
    baseline,
    box,
    by_label,
    job_command,
    parts,
    row_numbers,
    shape,
)
from ._read import (
    blocks_of,
    chosen_columns,
    conditions_in,
    frame_of,
    known_column,
    known_columns,
    notes,
    pairs_in,
    pairs_of,
    role_columns,
)
from ._run import Data, assigned, check_target, check_targets, perform

ROLES = ("labels", "sample_weight", "groups", "units")
MAX_BINS = 10_000_000
"""Bins up to which edges are made."""
MAX_COLUMNS_READ_WHOLE = 2000
"""Columns up to which a table is read with its types; wider ones in parts that keep no zeros."""
PER_GROUP = Spelling(by_label(int), "N")
GROUP_WEIGHT = Spelling(by_label(float), "W")
COLUMNS = Spelling(parts, "A,B,…")
TABLE, TABLE_OR_COLUMN = Spelling(metavar="FILE"), Spelling(metavar="FILE|COL")
POINTS_TEXTS = {
    "equal_weights": "Exactly k rows of weight 1/k.",
    "exclude": "Never keep these rows.",
    "gamma": "Bandwidth: a number, median, scale or cv.",
    "groups": "The column that says which group a row is in.",
    "include": "Always keep rows 3,17 or 0-9, counted from 0.",
    "labels": "Class labels; rows of different classes are not compared.",
    "move": (
        "Move points off their rows, within: range (of the data), free, LOW:HIGH or"
        " COL=LOW:HIGH,..."
    ),
    "sample_weight": "Sample weights.",
    "similarity": "How rows are compared.",
    "standardize": "Scale numbers to mean 0, deviation 1; on for tables, off for npy.",
    "target": "Represent the rows of another file with the same columns.",
    "target_weight": "The column of --target with the weights of its rows.",
    "units": "Keep k whole units, all rows with one label: a patient, a household.",
}
BINS_TEXTS = {
    "contiguous": "A histogram with k bars that cover all bins.",
    "grid": (
        "Where kept values may sit: anywhere (auto), or one in each bin of equal width, ratio or"
        " share."
    ),
    "n_bins": "This many bins; of equal width unless --grid is given.",
    "preserve": "Keep cumulative shares, or shares.",
}
TERMS_TEXTS = {
    "constraints": "A table of conditions G q <= h: columns of the data, and one named limit.",
    "date": "A column of dates; rows are sorted by it.",
    "groups": "A table of two columns: column, group.",
    "loss": "What is minimised: squared or absolute errors, or squared shortfalls.",
    "max_group_weight": "Largest total weight of a group: 0.3, or tech=0.3,oil=0.2.",
    "max_turnover": "Largest sum of |weight - previous weight|.",
    "min_group_weight": "Smallest total weight of a group.",
    "missing": (
        "Missing values: stop, drop the row, use the column's median, or the last price before."
    ),
    "previous": "Weights held before: a table of two columns, column and weight.",
    "returns": "The columns are prices; track their returns.",
    "ridge": "Add so many times the squares of the weights to the loss.",
}
DIMS_TEXTS = {
    "baseline": (
        "What counts as absent: zero, mode (the most frequent) or plan=free,...; auto: the mode of"
        " labels, else 0."
    ),
    "budget": "How much the columns may cost together; replaces -k.",
    "costs": "What columns cost: a table column,cost; or a column of a long table.",
    "exclude": "Columns or items that must not be held; rows with one are not covered.",
    "item": "For a table with a line per item: the column of the item.",
    "missing": (
        "Missing values: stop, drop the row, use the most frequent value, or a label of their own."
    ),
    "order": "For a table with a line per item: the column of the order.",
    "units": "Columns chosen together: a table column,unit; or a column of a long table.",
}


@job_command(
    PointsOptions,
    {
        **dict.fromkeys(ROLES, COLUMN),
        "target": FILE,
        "target_weight": COLUMN,
        "columns": COLUMNS,
        "move": Spelling(box, "BOX"),
        "include": Spelling(row_numbers, "ROWS"),
        "exclude": Spelling(row_numbers, "ROWS"),
        "min_per_group": PER_GROUP,
        "max_per_group": PER_GROUP,
        "similarity": Spelling(click.Choice([*SIMILARITIES, "precomputed"])),
        "gamma": Spelling(bandwidth, "G"),
    },
    click.Option(["--ignore"], type=parts, metavar="A,B,…", help="Leave these columns out."),
    click.Option(
        ["--image-shape"],
        type=shape,
        metavar="HxW",
        help="Rows are pictures: show them on the page.",
    ),
    click.Option(
        ["--assign"],
        type=TARGET_FILE,
        metavar="FILE",
        help="Write the most similar point of each row: .csv or .parquet.",
    ),
    click.Option(
        ["--criticisms"],
        type=click.IntRange(1),
        metavar="N",
        help="List the N rows represented worst.",
    ),
    texts=POINTS_TEXTS,
    example="fewer points digits.csv -k 20 --label digit --image-shape 8x8 --report digits.html",
)
def points(
    request: Request, ignore: list[str] | None, assign: Path | None, criticisms: int | None
) -> int:
    """Keep k weighted rows of FILE that stand for all of them.

    The weighted rows are as near as possible to all rows in maximum mean discrepancy (MMD). Numbers
    and dates are scaled, categories and texts compared by equality; identifiers are left out. With
    --path a random part of the rows is held out. With --target the kept rows stand for those of
    another file. FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for
    stdin.
    """
    check_targets(request)
    if assign is not None:
        check_target("--assign", assign, request.force, (".csv", ".parquet"))
    table, options = open_table(request.files), dict(request.options)
    roles = role_columns(table, request, ROLES)
    no_features = list(dict.fromkeys(roles.values()))
    names, kinds = chosen_columns(table, options.pop("columns", ()), ignore or (), no_features)
    plain = table.plain or options.get("similarity") == "precomputed"
    if not plain and kinds:
        options["columns"] = kinds
    labels = roles.get("labels")
    if labels is not None and labels not in table.numeric:
        kinds = {**kinds, labels: "category"}
    words = f"of {table.label}"
    if "target" in options:
        other = open_table(options["target"])
        words += f" that stand for {other.label}"
        options |= target_rows(other, names, labels, kinds, options, plain)
    if roles.get("groups") in table.numeric:
        options |= numbered_groups(options)
    X: Any = blocks_of(table, [*no_features, *names], request)
    if X is not None and assign is not None:
        raise click.UsageError("--assign is not for data in blocks; raise --max-memory, or omit it")
    if X is None and plain:
        X = table.numbers(names)
        options |= {name: np.asarray(table.values(column)) for name, column in roles.items()}
        if isinstance(options.get("move"), dict):
            ends = options["move"].items()
            numbers = {names.index(known_column(table, name, "move")): end for name, end in ends}
            options["move"] = numbers
    elif X is None:
        X = frame_of(table, [*no_features, *names], kinds)
    image = request.image_shape
    if image is not None:
        options.setdefault("standardize", False)
        if image[0] * image[1] != len(names):
            needs = f"{image[0]}x{image[1]} needs {image[0] * image[1]} columns"
            raise click.UsageError(f"--image-shape {needs}, {table.label} gives {len(names)}")
    options["n_criticisms"] = criticisms or 0
    rows = None if "move" in options else table
    called = names if plain else None
    data = Data(X, options, words, notes(table), table, names=called, whole_rows=rows)
    return perform("points", data, request, None if assign is None else (assign, assigned))


def numbered_groups(options: dict[str, Any]) -> dict[str, Any]:
    """Return limits of groups whose labels are numbers."""
    limits = {name: options.get(name) for name in ("min_per_group", "max_per_group")}
    return {
        name: {bandwidth(label): count for label, count in limit.items()}
        for name, limit in limits.items()
        if isinstance(limit, dict)
    }


def target_rows(
    table: Any,
    names: list[str],
    labels: str | None,
    kinds: dict[str, str],
    options: dict[str, Any],
    plain: bool,
) -> dict[str, Any]:
    """Return the rows of another file as the library takes them."""
    weight = options.get("target_weight")
    if weight is not None:
        known_column(table, weight, "target_weight")
    if plain:
        X = table.numbers([known_column(table, name, "target") for name in names])
        return {"target": X} | ({} if weight is None else {"target_weight": table.values(weight)})
    wanted = dict.fromkeys(filter(None, [*names, labels, weight]))
    present = [name for name in wanted if name in table.names]
    return {"target": frame_of(table, present, {name: kinds.get(name, "") for name in present})}


@job_command(
    BinsOptions,
    {
        "grid": Spelling(click.Choice(["auto", "equal", "log", "quantile"])),
        "preserve": Spelling(click.Choice(["cdf", "entries"])),
    },
    click.Option(["--column"], metavar="COL", help="The column; not needed if there is only one."),
    click.Option(
        ["--bin-width"], type=float, metavar="W", help="Bins of this width, from a multiple of it."
    ),
    click.Option(["--counts"], is_flag=True, help="The column holds counts of bins, not values."),
    without=("counts", "sample_weight", "edges", "positions", "validation", "ridge"),
    texts=BINS_TEXTS,
    example="fewer bins requests.csv --column ms -k 50 -o ms50.csv",
)
def bins(request: Request, column: str | None, bin_width: float | None, counts: bool) -> int:
    """Keep k weighted values of a column of FILE whose distribution is nearest to that of all values.

    --grid, --bins and --bin-width limit where the kept values may sit; the error is still measured
    on the values themselves. With --counts the column holds the counts of bins. With --contiguous k
    bars cover all bins, with the least squared error (v-optimal). With --path a random part is held
    out. FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for stdin.
    """
    options = dict(request.options)
    if bin_width is not None and {"grid", "n_bins"} & {*options}:
        raise click.UsageError("give --bin-width or --bins with or without --grid, not both")
    if counts and (bin_width is not None or {"grid", "n_bins"} & {*options}):
        raise click.UsageError(
            "--counts are bins already; leave out --grid, --bins and --bin-width"
        )
    check_targets(request)
    table = open_table(request.files)
    name = the_column(table, column)
    X: Any = None if counts else blocks_of(table, [name], request)
    if counts:
        options["counts"] = table.numbers([name])[:, 0]
    else:
        whole = options.get("preserve") == "entries" or options.get("contiguous", False)
        if "n_bins" in options or whole:
            options.setdefault("grid", "equal")
        if bin_width is not None and X is not None:
            raise click.UsageError("--bin-width is not for data in blocks; raise --max-memory")
        if X is None and options["missing"] != "error":
            X = table.frame([name])[name]
        elif X is None:
            X = table.numbers([name])[:, 0]
        if bin_width is not None:
            options["grid"] = edges_by_width(float(X.min()), float(X.max()), bin_width)
    words = f"for the {'counts' if counts else 'values'} of {name} in {table.label}"
    return perform("bins", Data(X, options, words, notes(table), table), request)


def the_column(table: Any, name: str | None) -> str:
    """Return the column that was named, or the only one there is."""
    if name is not None:
        return known_column(table, name, "column")
    if len(table.numeric) != 1:
        some = ", ".join(table.numeric[:8]) + (", …" if len(table.numeric) > 8 else "")
        columns = f"{len(table.numeric)} columns of numbers ({some})"
        raise InvalidInput(f"{table.label}: has {columns}; name one by --column")
    return str(table.numeric[0])


def edges_by_width(low: float, high: float, width: float) -> Vector:
    """Return edges at multiples of a width, from below the least to above the largest value.

    >>> edges_by_width(1.5, 4.0, 2.0).tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    start = np.floor(low / as_number(width, "bin_width"))
    n = np.floor(high / width) - start + 1
    if not n <= MAX_BINS:
        limit = f"more than {MAX_BINS} bins from {low:g} to {high:g}"
        raise InvalidInput(f"--bin-width {width:g} makes {limit}")
    return np.asarray(width * (start + np.arange(int(n) + 1)))


@job_command(
    TermsOptions,
    {
        "include": NAMES,
        "exclude": NAMES,
        "groups": TABLE,
        "max_per_group": PER_GROUP,
        "min_per_group": PER_GROUP,
        "max_group_weight": GROUP_WEIGHT,
        "min_group_weight": GROUP_WEIGHT,
        "previous": TABLE,
        "constraints": TABLE,
        "returns": Spelling(click.Choice(list(RETURNS))),
        "date": COLUMN,
    },
    click.Option(["--target"], required=True, metavar="COL", help="The column to track."),
    click.Option(["--columns"], type=parts, metavar="A,B,…", help="Use only these columns."),
    click.Option(
        ["--test-fraction"], type=float, help="Test on this share of the rows, drawn at random."
    ),
    click.Option(
        ["--test-last"], type=float, help="Test on this share of the rows, the last ones."
    ),
    click.Option(
        ["--test-from"], metavar="DATE", help="Test on the rows from this date on: 2019-01-31."
    ),
    without=("sample_weight",),
    texts=TERMS_TEXTS,
    example=(
        "fewer terms prices.csv --target INDEX --date day --returns simple -k 20 --max-weight 0.2"
        " --test-last 0.25"
    ),
)
def terms(request: Request, target: str, columns: list[str] | None, **tests: Any) -> int:
    """Track a column of FILE by at most k others, with weights that sum to one.

    The weights are fitted on all rows. With --test-fraction, --test-last or --test-from a second
    fit leaves out some rows, and its error on them is shown. With --path that is 30 % of the rows:
    the last ones by --date, or random ones. FILE is csv, tsv, parquet, feather, xlsx, jsonl,
    sqlite, npy or npz, or - for stdin.
    """
    tests = {name: value for name, value in tests.items() if value is not None}
    if len(tests) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in sorted(tests))
        raise click.UsageError(f"{flags} choose the rows to test on differently; give one of them")
    if "test_from" in tests and "date" not in request.options:
        raise click.UsageError("--test-from needs --date, the column of dates")
    check_targets(request)
    table, options = open_table(request.files), dict(request.options)
    no_terms = [known_column(table, target, "y"), *role_columns(table, request, ["date"]).values()]
    names = table.names
    if columns:
        wanted = known_columns(table, table.expand(columns), "columns")
        names = list(dict.fromkeys([*wanted, *no_terms]))
    for option in ("include", "exclude"):
        for name in known_columns(table, options.get(option, []), option):
            if name not in names or name in no_terms:
                which = f"{name!r} (--{option}) is not among the columns that may be held"
                raise InvalidInput(f"{table.label}: {which}")
    for option, second in (("groups", "group"), ("previous", "weight")):
        if option in options:
            options[option] = pairs_in(options[option], second, numbers=option == "previous")
    if "constraints" in options:
        options["constraints"] = conditions_in(options["constraints"])
    numbers = [name for name in names if name in {*table.numeric, *no_terms}]
    X: Any = blocks_of(table, numbers, request)
    note = ""
    if X is not None:
        names = numbers
    else:
        X = frame_of(table, names)
        texts = [
            name for name in X.columns if str(X[name].dtype) == "String" and name not in no_terms
        ]
        options["exclude"] = list(dict.fromkeys([*options.get("exclude", ()), *texts]))
        note = f"Not used (text): {', '.join(map(repr, texts))}." if texts else ""
    rule, test = next(iter(tests.items()), ("", None))
    rules = {"test_last": ("last", test), "test_from": ("from", test)}
    options |= {"y": target, "test": rules.get(rule, test)}
    words = f"of {table.label} that track {target}"
    said = notes(table, note)
    data = Data(X, options, words, said, table, columns=names, test=rule or "test")
    return perform("terms", data, request)


@job_command(
    DimsOptions,
    {
        "columns": COLUMNS,
        "baseline": Spelling(baseline, "RULE"),
        "order": COLUMN,
        "item": COLUMN,
        "units": TABLE_OR_COLUMN,
        "costs": TABLE_OR_COLUMN,
        "include": NAMES,
        "exclude": NAMES,
    },
    click.Option(["--ignore"], type=parts, metavar="A,B,…", help="Leave these columns out."),
    click.Option(
        ["--transactions"],
        is_flag=True,
        help="One basket per line, items separated by comma, space or tab.",
    ),
    without=("sample_weight",),
    texts=DIMS_TEXTS,
    example="fewer dims orders.csv --order order_id --item sku --path 5,10,20 --report orders.html",
)
def dims(request: Request, ignore: list[str] | None, transactions: bool) -> int:
    """Keep the k columns that cover the most rows of FILE.

    A row is covered when it equals the baseline in every column that is not kept: the order ships
    complete. FILE is a wide table of labels or small whole numbers (csv, tsv, parquet, feather,
    xlsx, jsonl, sqlite, npy, npz, or - for stdin). With --order and --item it has a line per item,
    with --transactions a line per basket. With --units k counts units; with --costs give --budget
    instead.
    """
    options = dict(request.options)
    if request.k is not None or "budget" in options or not request.ks:
        limit = DimsOptions.of(options).limit(request.k)
        request = replace(request, k=limit)
    options.pop("budget", None)
    check_targets(request)
    if transactions:
        if ignore or {"columns", "order"} & {*options}:
            flags = "--columns, --ignore, --order and --item"
            raise click.UsageError(f"{flags} have no meaning with --transactions")
        return perform("dims", basket_lines(request.files, options), request)
    table = open_table(request.files)
    if "order" in options:
        if ignore or "columns" in options:
            raise click.UsageError("--columns and --ignore have no meaning with --order and --item")
        return perform("dims", order_lines(table, options, request), request)
    names, kinds = chosen_columns(table, options.pop("columns", ()), ignore or ())
    options |= ({"columns": kinds} if kinds else {}) | column_tables(options)
    words, said = f"of {table.label}", notes(table)
    X: Any = blocks_of(table, names, request)
    if X is not None:
        return perform("dims", Data(X, options, words, said, table, columns=names), request)
    wide = len(names) > MAX_COLUMNS_READ_WHOLE and set(names) <= set(table.numeric)
    if table.plain or wide:
        matrix, called = table.whole(names), names
        data = Data(matrix, options, words, said, table, columns=names, names=called)
        return perform("dims", data, request)
    X = frame_of(table, names, kinds)
    pair = None
    if len(names) == len(table.names) == 2:
        try:
            pair = long_columns(columns_of(X))
        except InvalidInput as error:
            raise InvalidInput(f"{table.label}: {error} (--order COL --item COL)") from None
    if pair is None:
        return perform("dims", Data(X, options, words, said, table, columns=names), request)
    order, item, why = pair
    said = notes(
        table, f"Read as a line for each item: orders are {order!r}, {why}; items {item!r}."
    )
    X = table.frame([order, item], categories=[order, item])
    options |= {"order": order, "item": item}
    return perform("dims", Data(X, options, words, said, table), request)


def column_tables(options: dict[str, Any]) -> dict[str, Any]:
    """Return the units and costs of columns that files say."""
    seconds = {"units": "unit", "costs": "cost"}
    return {
        name: pairs_in(options[name], second, numbers=name == "costs")
        for name, second in seconds.items()
        if name in options
    }


def order_lines(table: Any, options: dict[str, Any], request: Request) -> Data:
    """Return a table with a line for each item of an order."""
    pair = [known_column(table, options[name], name) for name in ("order", "item")]
    X: Any = blocks_of(table, pair, request)
    inside = {
        name: options[name] for name in ("units", "costs") if options.get(name) in table.names
    }
    outside = {name: value for name, value in options.items() if name not in inside}
    options = options | column_tables(outside)
    if X is None:
        texts = dict.fromkeys([*pair, *filter(None, [inside.get("units")])], "category")
        X = frame_of(table, list(dict.fromkeys([*pair, *inside.values()])), texts)
        for name, column in inside.items():
            options[name] = pairs_of(X, pair[1], column, table.label)
        X = X.select(pair)
    return Data(X, options, f"of {table.label}", notes(table), table)


def basket_lines(files: tuple[str, ...], options: dict[str, Any]) -> Data:
    """Return the baskets of files with one on each line."""
    import polars as pl

    frames, labels, before = [], [], 0
    for file in expanded(files):
        frame, label = open_transactions(file)
        frames.append(frame.with_columns((pl.col("basket") + before).cast(pl.Int64)))
        before += int(frame["basket"].max()) + 1
        labels.append(label)
    label = labels[0] + (f" and {len(labels) - 1} more" if len(labels) > 1 else "")
    lines = pl.concat(frames).drop_nulls("item")
    empty = before - lines["basket"].n_unique()
    are = "is" if empty == 1 else "are"
    note = f"{empty} of {before} baskets {are} empty and left out" if empty else ""
    options = options | {"order": "basket", "item": "item"} | column_tables(options)
    return Data(lines, options, f"of {label}", note)
