"""`fewer points`."""

from typing import Any

import click
import numpy as np

from ._options import asked, for_all_jobs, shape
from ._points_options import about_rows, assigned, check_together, limits_of, target_of

SIMILARITIES = (
    "rbf",
    "laplace",
    "matern32",
    "matern52",
    "cosine",
    "linear",
    "hamming",
    "precomputed",
)
SPELLING = {"labels": "label", "sample_weight": "weight", "n_criticisms": "criticisms"}
"""Options whose names differ from those of the library's parameters."""
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


@click.command(
    epilog="Example: fewer points digits.csv -k 20 --label digit --image-shape 8x8 --report digits.html"
)
@for_all_jobs
@click.option(
    "--label", metavar="COL", help="Class labels; rows of different classes are not compared."
)
@click.option("--weight", metavar="COL", help="Sample weights.")
@click.option(
    "--units",
    metavar="COL",
    help="Keep k whole units, all rows with one label: a patient, a household.",
)
@click.option(
    "--columns",
    metavar="A,B,…",
    help="Use only these, or say what they are: age:number,plan:category.",
)
@click.option("--ignore", metavar="A,B,…", help="Leave these columns out.")
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="error",
    show_default=True,
    help="How to treat missing values.",
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
@click.option(
    "--image-shape", type=shape, metavar="HxW", help="Rows are pictures: show them on the page."
)
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

    The weighted rows are as near as possible to all rows in maximum mean discrepancy (MMD). Numbers
    and dates are scaled, categories and texts compared by equality; identifiers are left out. With
    --path a random part of the rows is held out. With --target the kept rows stand for those of
    another file. FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for
    stdin.
    """
    common = asked(options)
    check_together(options)
    if gamma == "cv" and label is None:
        raise click.UsageError(
            "--gamma cv needs --label: it is chosen by how well the points tell labels apart"
        )
    from ..io.files import open_table
    from ._run import Data, of_all, perform
    from ._table import asked_columns, check_weights, known_column, noted, refuse_in_blocks, stored
    from ._write import check_target, check_targets

    check_targets(common)
    if options["assign"] is not None:
        check_target("--assign", options["assign"], common.force)
    table = open_table(common.files)
    named = (
        (label, "--label"),
        (weight, "--weight"),
        (options["groups"], "--groups"),
        (units, "--units"),
    )
    apart = list(dict.fromkeys(known_column(table, name, option) for name, option in named if name))
    names, kinds = asked_columns(table, columns, ignore, apart)
    used = [*apart, *(name for name in names if name not in apart)]
    X = stored(table, used, common)
    plain = table.plain or similarity == "precomputed"
    if X is not None:
        if table.plain and apart:
            raise click.UsageError(
                "--label and --weight name columns of tables, and npy files have none"
            )
        refuse_in_blocks(options, "assign", "target")
    texts = [name for name, kind in kinds.items() if kind == "category"]
    texts += [label] if label and label not in table.numeric else []
    data: dict[str, Any] = {
        "similarity": similarity,
        "gamma": gamma,
        "n_criticisms": options["criticisms"] or 0,
    }
    data |= {"labels": label, "sample_weight": weight, "units": units}
    data |= limits_of(options, table, plain and X is None)
    other = ""
    if options["target"]:
        found, other = target_of(options, names, label, texts, plain)
        data |= found
    if X is None and plain:
        X = table.numbers(names)
        data["labels"], data["units"] = (
            None if name is None else np.asarray(table.values(name)) for name in (label, units)
        )
        data["sample_weight"] = None if weight is None else table.numbers([weight])[:, 0]
    else:
        data |= {"missing": missing} | ({"columns": kinds} if kinds else {})
        if X is None:
            X = table.frame(used, categories=texts)
            if weight is not None:
                check_weights(X[weight], table.label)
    check_image(common.image_shape, len(names), table.label)
    if standardize is not None or common.image_shape is not None:
        data["standardize"] = bool(standardize)

    def title(problem: Any) -> str:
        return f"{of_all(problem, 'rows')} of {table.label}" + (
            f" that stand for {other}" if other else ""
        )

    whole = None if "move" in data else table
    called = names if plain else None
    rows = Data(
        X,
        data,
        title,
        noted(table),
        names=called,
        table=whole,
        rows=table.stored_rows,
        spelling=SPELLING,
    )
    also = None if options["assign"] is None else (options["assign"], assigned)
    return perform("points", rows, common, also=also)


def check_image(image: tuple[int, int] | None, columns: int, label: str) -> None:
    """Refuse pictures that have another number of pixels than rows have numbers."""
    if image is not None and image[0] * image[1] != columns:
        height, width = image
        raise click.UsageError(
            f"--image-shape {height}x{width} needs {height * width} columns, {label} gives {columns}"
        )
