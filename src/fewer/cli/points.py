"""`fewer points`."""

from typing import Any

import click
import numpy as np

from .._validation import InvalidInput, Vector
from ._options import asked, for_all_jobs, shape

SIMILARITIES = ("rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming", "precomputed")
AS_THEY_ARE = ("hamming", "precomputed")
"""Similarities of codes, or none of rows at all: nothing to standardize. Nor are npy, npz and pictures by default."""


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
@click.option("--label", metavar="COL", help="Class labels: similarities across classes are zero.")
@click.option("--weight", metavar="COL", help="Sample weights.")
@click.option("--columns", help="Only these columns: a,b,c.")
@click.option("--similarity", type=click.Choice(SIMILARITIES), default="rbf", show_default=True)
@click.option(
    "--gamma", type=gamma, default="median", show_default=True, metavar="G", help="Number, median, scale or cv."
)
@click.option(
    "--standardize/--no-standardize", default=None, help="Columns to mean 0, deviation 1; on for csv, parquet."
)
@click.option("--image-shape", type=shape, metavar="HxW", help="Rows are pictures: show them on the page.")
def points(
    label: str | None,
    weight: str | None,
    columns: str | None,
    similarity: str,
    gamma: Any,
    standardize: bool | None,
    **options: Any,
) -> int:
    """Keep k weighted rows of FILE that stand for all of them.

    The weighted rows are as near as possible to all rows in maximum mean discrepancy (MMD). With --path a random part
    of the rows is held out. FILE is csv, tsv, parquet, npy, npz, or - for stdin.
    """
    common = asked(options)
    if gamma == "cv" and label is None:
        raise click.UsageError("--gamma cv needs --label: it is chosen by how well the points tell labels apart")
    from ..data.files import open_table
    from ._table import chosen_columns, known_column, noted
    from ._write import check_targets

    check_targets(common)
    table = open_table(common.files)
    apart = [known_column(table, name, option) for name, option in ((label, "--label"), (weight, "--weight")) if name]
    names = [name for name in chosen_columns(table, columns, "--columns", apart) if name not in apart]
    note = noted(table, None if columns else [*names, *apart])
    X = table.numbers(names)
    labels = None if label is None else np.asarray(table.values(label))
    weights = None if weight is None else checked_weights(table.label, weight, table.numbers([weight])[:, 0])
    if common.image_shape is not None and np.prod(common.image_shape) != len(names):
        height, width = common.image_shape
        raise click.UsageError(
            f"--image-shape {height}x{width} needs {height * width} columns, {table.label} gives {len(names)}"
        )
    if standardize is None:  # as the library does for arrays and tables
        kept = common.image_shape is not None or similarity in AS_THEY_ARE or table.plain
        standardize = not kept
    shown = ({} if labels is None else {label: labels}) | dict(zip(names, X.T, strict=True))
    data: dict[str, Any] = {
        "shown": shown,
        "labels": labels,
        "weights": weights,
        "similarity": similarity,
        "standardize": standardize,
    }
    from ..studies.points import PointsProblem
    from ._run import perform

    try:
        problem = PointsProblem.of(X, max(common.ks), common.seed, gamma, time_limit=common.time_limit, **data)
    except InvalidInput as error:
        raise InvalidInput(f"{common.file}: {error}") from None
    return perform(problem, common, f"of {len(X)} rows of {table.label}", note=note)


def checked_weights(file: str, name: str, weights: Vector) -> Vector:
    """Weights that are not negative and not all zero."""
    if weights.min() < 0:
        row = int(weights.argmin())
        raise InvalidInput(f"{file}, row {row}, column {name!r}: expected a weight, got {weights[row]:g}")
    if weights.max() == 0:
        raise InvalidInput(f"{file}, column {name!r}: all weights are zero")
    return weights
