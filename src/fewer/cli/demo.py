"""`fewer demo`: the four jobs on bundled and made-up data, a table each, and one page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..files import written_whole

SEARCH = {"solver": "exchange"}
"""A search without proof, by its default work: what it needs is compiled in half the time."""
LEAD = (
    "Bundled and made-up data, said with fewer points, bins, terms and dimensions, "
    "and what each loses."
)
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(epilog="Example: fewer demo --folder demo")
@click.option("--folder", type=FOLDER, default=Path("demo"), show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Only the path of the page.")
def demo(folder: Path, quiet: bool) -> int:
    """Points, bins, terms and dims in turn on bundled data; ends with the path of a page."""
    import polars as pl

    from ..report.page import paths_page
    from ..report.path import path
    from . import stoppable
    from ._run import command, console, show, versions

    folder.mkdir(parents=True, exist_ok=True)
    tables = bundled()
    for name, columns in tables.items():
        with written_whole(folder / f"{name}.csv") as file:
            file.write(pl.DataFrame(columns).write_csv().encode())
    out, articles, seconds = console(), [], {}
    try:
        with stoppable():
            for title, words, (job, X, ks), options, shape in parts(tables):
                answers = path(job, X, ks, progress=not quiet, **options)
                title = f"{answers.recommended} {title}"
                articles.append((title, words, answers, shape))
                seconds[f"seconds for {job}"] = round(answers.seconds, 1)
                if not quiet:
                    show(out, answers, f"{job}: {title}")
                    out.print()
                if answers.interrupted:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {folder} has the tables, but no page") from None
    used = ", ".join(map(" ".join, versions().items()))
    how = {"command": command(), "seed": 0, "versions": used, **seconds}
    text = paths_page("The same thing, with fewer", LEAD, articles, how)
    with written_whole(folder / "fewer.html") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    click.echo(f"page: {folder / 'fewer.html'}")
    return 0


def bundled() -> dict[str, dict[str, Any]]:
    """Return the tables: digits, their average, customers, latencies, and what is unusual in patients."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_digits

    from ..datasets import customers, latencies

    digits, patients = load_digits(), load_breast_cancer()
    X = digits.data
    high = (patients.data > np.percentile(patients.data, 90, axis=0)).astype(np.int8)
    pixels = {f"pixel {i // 8 + 1},{i % 8 + 1}": column for i, column in enumerate(X.T)}
    return {
        "digits": {**pixels, "digit": digits.target},
        "average": {**{f"digit {i + 1}": X[i] for i in range(len(X))}, "average": X.mean(axis=0)},
        "customers": customers(1000, rng=0, missing=0.03),
        "latencies": {"ms": latencies(1000, rng=0)},
        "unusual": dict(zip(map(str, patients.feature_names), high.T, strict=True)),
    }


def parts(tables: dict[str, dict[str, Any]]) -> Iterator[Any]:
    """Give a title, a sentence, job, data and ks, options, and the shape of pictures, for each part."""
    import numpy as np
    import polars as pl

    *pixels, digit = tables["digits"].values()
    yield (
        "digits stand for all 1,797",
        "A few weighted digits, as near as possible to all in maximum mean discrepancy.",
        ("points", np.column_stack(pixels), (5, 10, 20, 50)),
        {**SEARCH, "captions": {"digit": digit}},
        (8, 8),
    )
    yield (
        "customers stand for all 1,000",
        "A table as it comes: dates, categories, numbers and missing values.",
        ("points", pl.DataFrame(tables["customers"]), (4, 8, 16, 32)),
        {**SEARCH, "missing": "impute"},
        None,
    )
    yield (
        "values for the latencies",
        "How long requests took: few weighted values with the nearest cumulative shares.",
        ("bins", tables["latencies"]["ms"], (4, 8, 16, 32)),
        {},
        None,
    )
    *digits, average = tables["average"].values()
    yield (
        "digits mix to the average digit",
        "A few digits laid over each other, with weights that sum to one, give the average of all.",
        ("terms", np.column_stack(digits), (2, 4, 8, 16)),
        {**SEARCH, "y": average, "names": list(tables["average"])[:-1]},
        None,
    )
    yield (
        "of 30 measurements cover the most patients",
        "Which measurements hold everything unusual (the top tenth) about the most patients?",
        ("dims", np.column_stack(list(tables["unusual"].values())), (5, 10, 15, 20)),
        {"names": list(tables["unusual"])},
        None,
    )
