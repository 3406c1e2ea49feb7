"""`fewer demo`: the four jobs on bundled and made-up data, a table each, and one page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..files import written_whole

REQUESTS = 1000
SEARCH = {"solver": "exchange"}
"""A search without proof, by its default work: what it needs is compiled in half the time."""
LEAD = (
    "Bundled and made-up data, said with fewer points, bins, terms and dimensions, "
    "and what each loses."
)


class Part(NamedTuple):
    """One job of the demo: a heading, a sentence, the call of `path`, and the shape of pictures."""

    name: str
    words: str
    job: str
    X: Any
    ks: tuple[int, ...]
    options: dict[str, Any]
    shape: tuple[int, int] | None = None


@click.command(epilog="Example: fewer demo --folder demo")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
)
@click.option("-q", "--quiet", is_flag=True, help="Only the path of the page.")
def demo(folder: Path, quiet: bool) -> int:
    """Points, bins, terms and dims in turn on bundled data; ends with the path of a page."""
    from ..report.page import paths_page
    from ..report.path import path
    from ._process import stoppable
    from ._run import command, versions
    from ._show import console, show

    folder.mkdir(parents=True, exist_ok=True)
    tables = bundled()
    for name, columns in tables.items():
        write_csv(folder / f"{name}.csv", columns)
    out, articles, seconds = console(), [], {}
    try:
        with stoppable():
            for part in parts(tables):
                answers = path(part.job, part.X, part.ks, progress=not quiet, **part.options)
                title = f"{answers.recommended} {part.name}"
                articles.append((title, part.words, answers, part.shape))
                seconds[f"seconds for {part.job}"] = round(answers.seconds, 1)
                if not quiet:
                    show(out, answers, f"{part.job}: {title}")
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


def write_csv(file: Path, columns: dict[str, Any]) -> None:
    """Write a table as csv, to try the commands on."""
    import polars as pl

    with written_whole(file) as target:
        target.write(pl.DataFrame(columns).write_csv().encode())


def bundled() -> dict[str, dict[str, Any]]:
    """Return the tables: digits, their ink, their average, what is unusual in patients, requests."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_digits

    digits, patients = load_digits(), load_breast_cancer()
    X = digits.data
    high = (patients.data > np.percentile(patients.data, 90, axis=0)).astype(np.int8)
    pixels = {f"pixel {i + 1},{j + 1}": X[:, 8 * i + j] for i in range(8) for j in range(8)}
    return {
        "digits": {**pixels, "digit": digits.target},
        "ink": {"ink": X.sum(axis=1)},
        "average": {**{f"digit {i + 1}": X[i] for i in range(len(X))}, "average": X.mean(axis=0)},
        "unusual": dict(zip(map(str, patients.feature_names), high.T, strict=True)),
        "requests": requests(),
    }


def requests() -> dict[str, Any]:
    """Return a thousand made-up requests to a server, as a log has them: some values are missing."""
    import numpy as np

    rng = np.random.default_rng(0)
    way = rng.choice(4, REQUESTS, p=[0.55, 0.25, 0.15, 0.05])
    region = np.where(rng.random(REQUESTS) < 0.7, "europe", "america")
    means = np.array([3.0, 3.4, 2.6, 5.5])[way] + 0.4 * (region == "america")
    latency = np.round(rng.lognormal(means, 0.5), 1)
    second = np.sort(rng.integers(0, 86_400, REQUESTS)).astype("timedelta64[s]")
    size = np.round(rng.gamma(2.0, 4.0, REQUESTS), 1)
    gone = rng.random(REQUESTS) < 0.03
    return {
        "when": np.datetime64("2024-03-01", "ms") + second,
        "endpoint": np.array(["search", "cart", "login", "report"])[way],
        "region": region,
        "latency": latency,
        "kilobytes": [None if lost else float(x) for lost, x in zip(gone, size, strict=True)],
    }


def parts(tables: dict[str, dict[str, Any]]) -> Iterator[Part]:
    """Give the jobs: 1,797 pictures of 8 x 8 pixels, 569 patients with 30 measurements, 1,000 requests."""
    import numpy as np
    import polars as pl

    *pixels, digit = tables["digits"].values()
    X = np.column_stack(pixels)
    words = "A few weighted digits, as near as possible to all of them in maximum mean discrepancy."
    options = {**SEARCH, "captions": {"digit": digit}}
    yield Part("digits stand for all 1,797", words, "points", X, (5, 10, 20, 50), options, (8, 8))
    log = pl.DataFrame(tables["requests"])
    words = (
        "A log as it comes: a time, categories, numbers and missing values; a few weighted requests"
        " stand for all."
    )
    options = {**SEARCH, "missing": "impute"}
    yield Part("requests stand for all 1,000", words, "points", log, (4, 8, 16, 32), options)
    words = "How long the requests took: few weighted values with the nearest cumulative shares."
    latency = tables["requests"]["latency"]
    yield Part("values for the latencies", words, "bins", latency, (4, 8, 16, 32), {})
    words = "How much ink a digit takes: few weighted values with the nearest cumulative shares."
    ink = tables["ink"]["ink"]
    yield Part("values for the ink of a digit", words, "bins", ink, (3, 5, 10, 20, 40), {})
    *digits, average = tables["average"].values()
    words = (
        "A few digits laid over each other, with weights that sum to one, give the average of all"
        " 1,797."
    )
    options = {**SEARCH, "y": average, "names": list(tables["average"])[:-1]}
    mixed = np.column_stack(digits)
    yield Part(
        "digits mix to the average digit", words, "terms", mixed, (2, 4, 8, 16), options, (8, 8)
    )
    words = (
        "Which measurements hold everything unusual (the top tenth of each) about the most of 569"
        " patients?"
    )
    unusual = np.column_stack(list(tables["unusual"].values()))
    options = {"names": list(tables["unusual"])}
    name = "of 30 measurements cover the most patients"
    yield Part(name, words, "dims", unusual, (5, 10, 15, 20), options)
