"""`fewer points`."""

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._validation import InvalidInput
from ._options import asked, for_all_jobs, shape
from ._points_options import about_rows, assigned, check_together, limits_of, target_of

if TYPE_CHECKING:
    from ..data.files import FileTable

SIMILARITIES = ("rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming", "precomputed")
MISSING = ("error", "drop", "impute", "category")


def gamma(text: str) -> Any:
    """A number above zero, or the name of a rule."""
    if text in ("median", "scale", "cv"):
        return text
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (np.isfinite(number) and number > 0):
        raise click.BadParameter(f"expected a number above 0, median, scale or cv, got {text!r}")
    return number


@click.command(epilog="Example: fewer points digits.csv -k 20 --label digit --image-shape 8x8 --report digits.html")
@for_all_jobs
@click.option("--label", metavar="COL", help="Class labels; rows of different classes are not compared.")
@click.option("--weight", metavar="COL", help="Sample weights.")
@click.option("--units", metavar="COL", help="Keep k whole units, all rows with one label: a patient, a household.")
@click.option("--columns", metavar="A,B,…", help="Use only these, or say what they are: age:number,plan:category.")
@click.option("--ignore", metavar="A,B,…", help="Leave these columns out.")
@click.option(
    "--missing", type=click.Choice(MISSING), default="error", show_default=True, help="How to treat missing values."
)
@click.option("--similarity", type=click.Choice(SIMILARITIES), default="rbf", show_default=True)
@click.option(
    "--gamma",
    type=gamma,
    default="median",
    show_default=True,
    metavar="G",
    help="Bandwidth: a number, median, scale or cv.",
)
@click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Scale numbers to mean 0, deviation 1; on for tables, off for npy.",
)
@click.option("--image-shape", type=shape, metavar="HxW", help="Rows are pictures: show them on the page.")
@about_rows
def points(
    label: str | None,
    weight: str | None,
    units: str | None,
    columns: str | None,
    ignore: str | None,
    missing: str,
    similarity: str,
    gamma: Any,
    standardize: bool | None,
    **options: Any,
) -> int:
    """Keep k weighted rows of FILE that stand for all of them.

    The weighted rows are as near as possible to all rows in maximum mean discrepancy (MMD). Numbers and dates are
    scaled, categories and texts compared by equality; identifiers are left out. With --path a random part of the rows
    is held out. With --target the kept rows stand for those of another file. FILE is csv, tsv, parquet, feather, xlsx,
    jsonl, sqlite, npy or npz, or - for stdin.
    """
    common = asked(options)
    check_together(options)
    if gamma == "cv" and label is None:
        raise click.UsageError("--gamma cv needs --label: it is chosen by how well the points tell labels apart")
    from ..data.files import open_table
    from ._blocks import is_large, points_in_blocks
    from ._table import asked_columns, known_column, noted
    from ._write import check_target, check_targets

    check_targets(common)
    if options["assign"] is not None:
        check_target("--assign", options["assign"], common.force)
    table = open_table(common.files)
    if is_large(table, common):
        told = {"labels": label, "sample_weight": weight, "missing": missing, "similarity": similarity, "gamma": gamma}
        told |= {"standardize": "auto" if standardize is None else standardize}
        return points_in_blocks(table, common, columns, ignore, told, {**options, "units": units})
    named = (label, "--label"), (weight, "--weight"), (options["groups"], "--groups"), (units, "--units")
    apart = list(dict.fromkeys(known_column(table, name, option) for name, option in named if name))
    names, kinds = asked_columns(table, columns, ignore, apart)
    data: dict[str, Any] = {"similarity": similarity, "labels": label, "sample_weight": weight}
    plain = table.plain or similarity == "precomputed"
    texts = [name for name, kind in kinds.items() if kind == "category"]
    texts += [label] if label and label not in table.numeric else []
    data, other = data | limits_of(options, table, plain), ""
    if options["target"]:
        found, data["shown_target"], other = target_of(options, names, label, texts, plain)
        data |= found
    if plain:
        X, found, shown = plain_rows(table, names, label, weight)
        data |= found
    else:
        X, shown = mixed_rows(table, names, apart, texts, weight)
        data |= {"columns": kinds or None, "missing": missing}
    if units is not None:
        X, data["units"] = without_units(X, table, units)
        shown = {units: data["units"], **shown}
    check_image(common.image_shape, len(names), table.label)
    if standardize is not None or common.image_shape is not None:
        data["standardize"] = bool(standardize)
    from ..report.points import PointsProblem
    from ._run import perform

    try:
        problem = PointsProblem.of(
            X,
            max(common.ks),
            common.seed,
            gamma,
            shown=shown,
            time_limit=common.time_limit,
            n_criticisms=options["criticisms"] or 0,
            **data,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{common.file}: {error}") from None
    title = f"of {problem.size} rows of {table.label}" + (f" that stand for {other}" if other else "")
    also = None if options["assign"] is None else (options["assign"], assigned)
    return perform(problem, common, title, note=noted(table), table=None if problem.moves else table, also=also)


def plain_rows(
    table: "FileTable", names: list[str], label: str | None, weight: str | None
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Rows of numbers alone: the matrix, labels and weights for the job, and the columns that are shown."""
    X = table.numbers(names)
    labels = None if label is None else np.asarray(table.values(label))
    weights = None if weight is None else table.numbers([weight])[:, 0]
    shown = {} if label is None else {label: labels}
    return X, {"labels": labels, "sample_weight": weights}, shown | dict(zip(names, X.T, strict=True))


def mixed_rows(
    table: "FileTable", names: list[str], apart: list[str], texts: list[str], weight: str | None
) -> tuple[Any, dict[str, Any]]:
    """Rows with columns of any kind, and the columns that are shown."""
    from ._table import check_weights

    wanted = [*names, *(name for name in apart if name not in names)]
    X = table.frame(wanted, categories=texts)
    if weight is not None:
        check_weights(X[weight], table.label)
    return X, {name: X[name] for name in [*apart, *names]}


def without_units(X: Any, table: "FileTable", units: str) -> tuple[Any, Any]:
    """The rows without the column that names their units, and that column."""
    return (X.drop([units]) if hasattr(X, "drop") else X), np.asarray(table.values(units))


def check_image(image: tuple[int, int] | None, columns: int, label: str) -> None:
    """Refuse pictures that have another number of pixels than rows have numbers."""
    if image is not None and image[0] * image[1] != columns:
        height, width = image
        raise click.UsageError(
            f"--image-shape {height}x{width} needs {height * width} columns, {label} gives {columns}"
        )
