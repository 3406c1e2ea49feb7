"""`fewer points`, `fewer bins`, `fewer terms` and `fewer dims`: from files to a call of the library."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._validation import InvalidInput, Vector, as_bytes, as_number
from ..io.files import FileTable, expanded, open_table
from ..jobs.bins.options import BinsOptions
from ..jobs.dims.options import DimsOptions
from ..jobs.points.options import PointsOptions
from ..jobs.terms.options import TermsOptions
from ..similarity import SIMILARITIES
from ..tables.baskets import long_columns, open_transactions
from ..tables.column import columns_of
from ..tables.frames import nearest
from ..tables.prices import RETURNS
from ..tables.schema import KINDS
from ..tables.source import Source, of_table, source_of
from ._options import (
    TARGET_FILE,
    Request,
    Spelling,
    by_label,
    ends,
    flag,
    height_and_width,
    job_command,
    number_or_text,
    parts,
    reader,
    row_numbers,
)
from ._run import Data, check_target, check_targets, perform

ROLES = ("labels", "sample_weight", "groups", "units")
MAX_BINS = 10_000_000
"""Bins up to which edges are made."""
MAX_COLUMNS_READ_WHOLE = 2000
"""Columns up to which a table is read with its types; wider ones in parts that keep no zeros."""
MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NOTES = 5
"""Sentences about how a file was read."""
BY_LABEL = "a number, or numbers by label such as a=3,b=1"
PER_GROUP = Spelling(reader(BY_LABEL, by_label(int)), "N")
GROUP_WEIGHT = Spelling(reader(BY_LABEL, by_label(float)), "W")
BOX = Spelling(reader("range, free, LOW:HIGH or COL=LOW:HIGH,...", by_label(ends)), "BOX")
RULE = "auto, zero, mode, or column=label with commas between them"
BASELINE = Spelling(reader(RULE, by_label(number_or_text)), "RULE")
ROWS = Spelling(reader("row numbers from 0 such as 3,17 or 0-9", row_numbers), "ROWS")
SHAPE = reader("height x width such as 16x16", height_and_width)
COLUMN, COLUMNS = Spelling(metavar="COL"), Spelling(parts, "A,B,…")
FILE, FILE_OR_COLUMN = Spelling(metavar="FILE"), Spelling(metavar="FILE|COL")
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
        "move": BOX,
        "include": ROWS,
        "exclude": ROWS,
        "min_per_group": PER_GROUP,
        "max_per_group": PER_GROUP,
        "similarity": Spelling(click.Choice([*SIMILARITIES, "precomputed"])),
        "gamma": Spelling(number_or_text, "G"),
    },
    click.Option(["--ignore"], type=parts, metavar="A,B,…", help="Leave these columns out."),
    click.Option(
        ["--image-shape"],
        type=SHAPE,
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
    check_target("--assign", assign, request.force, (".csv", ".parquet"))
    table, options = open_table(request.files), dict(request.options)
    roles = role_columns(table, request, ROLES)
    others = list(dict.fromkeys(roles.values()))
    names, kinds = chosen_columns(table, options.pop("columns", ()), ignore or (), others)
    precomputed = options.get("similarity") == "precomputed"
    if table.plain:
        options.setdefault("standardize", False)
    if kinds and not precomputed:
        options["columns"] = kinds
    labels = roles.get("labels")
    if labels is not None and labels not in table.numeric:
        kinds = {**kinds, labels: "category"}
    words = f"of {table.label}"
    if "target" in options:
        target = open_table(options["target"])
        words += f" that stand for {target.label}"
        weight = options.get("target_weight")
        if weight is not None:
            known_column(target, weight, "target_weight")
        wanted = dict.fromkeys([*names, labels, weight])
        present = [name for name in wanted if name in target.names]
        known = {name: kind for name, kind in kinds.items() if name in present}
        options["target"] = frame_of(target, present, known)
    for name in ("min_per_group", "max_per_group"):
        if isinstance(options.get(name), dict) and roles.get("groups") in table.numeric:
            options[name] = {number_or_text(key): n for key, n in options[name].items()}
    X: Any = blocks_of(table, [*others, *names], request)
    if X is not None and assign is not None:
        raise click.UsageError("--assign is not for data in blocks; raise --max-memory, or omit it")
    if X is None and precomputed:
        X = table.numbers(names)
        options |= {name: np.asarray(table.values(column)) for name, column in roles.items()}
    elif X is None:
        X = frame_of(table, [*others, *names], kinds)
    image = request.image_shape
    if image is not None:
        options.setdefault("standardize", False)
        if image[0] * image[1] != len(names):
            needs = f"{image[0]}x{image[1]} needs {image[0] * image[1]} columns"
            raise click.UsageError(f"--image-shape {needs}, {table.label} gives {len(names)}")
    options["n_criticisms"] = criticisms or 0
    rows = None if "move" in options else table
    data = Data(X, options, words, notes(table), table, whole_rows=rows, assign=assign)
    return perform("points", data, request)


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
    if (counts or bin_width is not None) and {"grid", "n_bins"} & {*options}:
        own = "--counts are bins already" if counts else "--bin-width says what bins there are"
        raise click.UsageError(f"{own}; leave out --grid and --bins")
    if counts and bin_width is not None:
        raise click.UsageError("--counts are bins already; leave out --bin-width")
    check_targets(request)
    table = open_table(request.files)
    if column is not None:
        known_column(table, column, "column")
    elif len(table.numeric) == 1:
        (column,) = table.numeric
    else:
        some = ", ".join(table.numeric[:8]) + (", …" if len(table.numeric) > 8 else "")
        columns = f"{len(table.numeric)} columns of numbers ({some})"
        raise InvalidInput(f"{table.label}: has {columns}; name one by --column")
    X: Any = None
    if counts:
        options["counts"] = table.numbers([column])[:, 0]
    else:
        whole = options.get("preserve") == "entries" or options.get("contiguous", False)
        if "n_bins" in options or whole:
            options.setdefault("grid", "equal")
        X = blocks_of(table, [column], request)
        if X is not None and bin_width is not None:
            raise click.UsageError("--bin-width is not for data in blocks; raise --max-memory")
        if X is None:
            gaps = options["missing"] != "error"
            X = table.frame([column])[column] if gaps else table.numbers([column])[:, 0]
        if bin_width is not None:
            options["grid"] = edges_by_width(float(X.min()), float(X.max()), bin_width)
    words = f"for the {'counts' if counts else 'values'} of {column} in {table.label}"
    return perform("bins", Data(X, options, words, notes(table), table), request)


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
        "include": COLUMNS,
        "exclude": COLUMNS,
        "groups": FILE,
        "max_per_group": PER_GROUP,
        "min_per_group": PER_GROUP,
        "max_group_weight": GROUP_WEIGHT,
        "min_group_weight": GROUP_WEIGHT,
        "previous": FILE,
        "constraints": FILE,
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
        flags = " and ".join(sorted(map(flag, tests)))
        raise click.UsageError(f"{flags} choose the rows to test on differently; give one of them")
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
    options |= column_tables(options, {"groups": "group", "previous": "weight"})
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
    rule, test = next(iter(tests.items()), ("test", None))
    rules = {"test_last": ("last", test), "test_from": ("from", test)}
    options |= {"y": target, "test": rules.get(rule, test)}
    words = f"of {table.label} that track {target}"
    data = Data(X, options, words, notes(table, note), table, columns=names, test=rule)
    return perform("terms", data, request)


@job_command(
    DimsOptions,
    {
        "columns": COLUMNS,
        "baseline": BASELINE,
        "order": COLUMN,
        "item": COLUMN,
        "units": FILE_OR_COLUMN,
        "costs": FILE_OR_COLUMN,
        "include": COLUMNS,
        "exclude": COLUMNS,
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
        request = replace(request, k=DimsOptions.of(options).limit(request.k))
    options.pop("budget", None)
    check_targets(request)
    lines = "--transactions" if transactions else "--order and --item"
    if (transactions or "order" in options) and (ignore or "columns" in options):
        raise click.UsageError(f"--columns and --ignore have no meaning with {lines}")
    if transactions:
        if "order" in options:
            raise click.UsageError(f"--order and --item have no meaning with {lines}")
        return perform("dims", basket_lines(request.files, options), request)
    table = open_table(request.files)
    if "order" in options:
        return perform("dims", order_lines(table, options, request), request)
    names, kinds = chosen_columns(table, options.pop("columns", ()), ignore or ())
    options |= ({"columns": kinds} if kinds else {}) | column_tables(options, UNITS_AND_COSTS)
    data = Data(None, options, f"of {table.label}", notes(table), table, columns=names)
    X: Any = blocks_of(table, names, request)
    wide = len(names) > MAX_COLUMNS_READ_WHOLE and set(names) <= set(table.numeric)
    if X is None and (table.plain or wide):
        X, called = table.whole(names), names
        return perform("dims", replace(data, X=X, names=called), request)
    if X is None:
        X = frame_of(table, names, kinds)
        pair = None
        if len(names) == len(table.names) == 2:
            try:
                pair = long_columns(columns_of(X))
            except InvalidInput as error:
                words = f"{table.label}: {error} (--order COL --item COL)"
                raise InvalidInput(words) from None
        if pair is not None:
            order, item, why = pair
            note = f"Read as a line for each item: orders are {order!r}, {why}; items {item!r}."
            options |= {"order": order, "item": item}
            X = table.frame([order, item], categories=[order, item])
            data = replace(data, options=options, columns=None, note=notes(table, note))
    return perform("dims", replace(data, X=X), request)


UNITS_AND_COSTS = {"units": "unit", "costs": "cost"}


def order_lines(table: FileTable, options: dict[str, Any], request: Request) -> Data:
    """Return a table with a line for each item of an order."""
    pair = [known_column(table, options[name], name) for name in ("order", "item")]
    X: Any = blocks_of(table, pair, request)
    inside = {name: options[name] for name in UNITS_AND_COSTS if options.get(name) in table.names}
    outside = {name: value for name, value in options.items() if name not in inside}
    options = options | column_tables(outside, UNITS_AND_COSTS)
    if X is None:
        texts = dict.fromkeys([*pair, *filter(None, [inside.get("units")])], "category")
        X = frame_of(table, list(dict.fromkeys([*pair, *inside.values()])), texts)
        for name, column in inside.items():
            both = X.select([pair[1], column]).unique()
            words = f"column {column!r}: expected one value for each {pair[1]!r}, {{}} has several"
            options[name] = unique_pairs(both, f"{table.label}, {words}")
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
    note = f"Left out {empty} of {before} baskets, which are empty." if empty else ""
    own = column_tables(options, UNITS_AND_COSTS)
    return Data(lines, {**options, "order": "basket", "item": "item", **own}, f"of {label}", note)


def known_columns(table: FileTable, names: Sequence[str], option: str) -> list[str]:
    """Return names that the table has; others are refused by what is near, or what there is."""
    known = set(table.names)
    for name in names:
        if name not in known:
            hint = nearest(name, table.names[:MAX_COMPARED_NAMES])
            raise InvalidInput(f"{table.label}: has no column {name!r} ({flag(option)}){hint}")
    return list(dict.fromkeys(names))


def known_column(table: FileTable, name: str, option: str) -> str:
    """Return a name that the table has."""
    return known_columns(table, [name], option)[0]


def role_columns(table: FileTable, request: Request, names: Sequence[str]) -> dict[str, str]:
    """Return the columns that options of these names name."""
    options = {name: request.options[name] for name in names if name in request.options}
    return {name: known_column(table, column, name) for name, column in options.items()}


def chosen_columns(
    table: FileTable, columns: Sequence[str], ignore: Sequence[str], without: Collection[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the columns to read, and what the options say some of them are.

    A name alone chooses; a name with a kind says what it is, and chooses too where names stand
    alone as well.
    """
    kinds: dict[str, str] = {}
    chosen: list[str] = []
    alone, known = False, set(table.names)
    for part in columns:
        name, _, kind = part.rpartition(":")
        if name and part not in known and (kind in KINDS or name in known):
            kinds[name] = kind
        else:
            name, alone = part, True
        chosen += table.expand([name])
    names = known_columns(table, chosen, "columns")
    if not alone:
        names = table.numeric if table.plain else table.names
    left = {*without, *known_columns(table, ignore, "ignore")}
    left.update(name for name, kind in kinds.items() if kind == "ignore")
    names = [name for name in names if name not in left]
    if not names:
        raise InvalidInput(f"{table.label}: has no column besides {', '.join(left)}")
    return names, {name: kind for name, kind in kinds.items() if name in names}


def notes(table: FileTable, note: str = "") -> str:
    """Return what is to be said about how the file was read, a line each."""
    lines = [note] if note else []
    for each in table.notes[:MAX_NOTES]:
        words = f"Column {each}"
        if each[0].isalpha():
            words = each[0].upper() + each[1:]
        lines.append(f"{words}.")
    if len(table.notes) > MAX_NOTES:
        lines.append(f"And {len(table.notes) - MAX_NOTES} notes more.")
    return "\n".join(lines)


def blocks_of(table: FileTable, names: Sequence[str], request: Request) -> Source | None:
    """Return columns as blocks, if they take more than half of --max-memory and can be read so."""
    memory = as_bytes(request.options.get("max_memory", "1GB"), "max_memory")
    size = table.stored_bytes(names)
    if size is None or size <= memory // 2:
        return None
    mapped = list(names) == list(table.names) and all(one.endswith(".npy") for one in request.files)
    return source_of(list(request.files)) if mapped else of_table(table, names)


def frame_of(table: FileTable, names: Sequence[str], kinds: Mapping[str, str] | None = None) -> Any:
    """Return columns as a frame in which a column without a name has none, so that it is left out."""
    texts = [name for name, kind in (kinds or {}).items() if kind == "category"]
    frame = table.frame(names, categories=texts)
    if list(names).count("") != 1:
        return frame
    return frame.rename({frame.columns[list(names).index("")]: ""})


def column_tables(options: Mapping[str, Any], seconds: Mapping[str, str]) -> dict[str, Any]:
    """Return what tables of two columns say of each name: `column` (or `item`), and `seconds`."""
    return {name: pairs_in(options[name], seconds[name]) for name in seconds if name in options}


def pairs_in(file: str, second: str) -> dict[str, Any]:
    """Return what a table of two columns says of each name; weights and costs are numbers."""
    table = open_table(file)
    first = next((name for name in ("column", "item") if name in table.names), None)
    names = [first, second] if first is not None and second in table.names else table.names
    if len(names) != 2:
        expected = f"two columns, column and {second}"
        raise InvalidInput(f"{table.label}: expected {expected}, got {len(names)}")
    numbers = second in ("weight", "cost")
    frame = table.frame(names, categories=names[:1] if numbers else names)
    for name in names:
        if frame[name].null_count():
            row = frame[name].is_null().arg_max()
            raise InvalidInput(f"{table.label}, row {row}, column {name!r}: is missing")
    if numbers:
        table.numbers(names[1:])
    return unique_pairs(frame, f"{table.label}: has {{}} twice")


def unique_pairs(frame: Any, words: str) -> dict[str, Any]:
    """Return a frame of two columns as a dictionary; a name that comes twice is refused."""
    names, values = frame.get_columns()
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise InvalidInput(words.format(repr(twice[0])))
    return dict(zip(names.to_list(), values.to_list(), strict=True))


def conditions_in(file: str) -> tuple[Any, Any]:
    """Return the rows G of a table, but for its column `limit`, and that column: h."""
    table = open_table(file)
    if "limit" not in table.names or len(table.names) < 2:
        expected = "columns of the data and one named limit, for G q <= limit"
        raise InvalidInput(f"{table.label}: expected {expected}")
    frame = frame_of(table, table.names)
    return frame.drop("limit"), frame["limit"].to_numpy()
