"""`fewer demo`: the four jobs on data bundled with scikit-learn and on made-up requests, a table each, and one page."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..files import written_whole

REQUESTS = 1000
SEARCH = {"solver": "exchange"}
"""A search without proof, by its default work: what it needs is compiled in half the time."""


@dataclass(frozen=True)
class Part:
    """One job of the demo: a heading, a sentence, the problem, the k to try and how to search.

    `small` is a problem of the same kind: solving it first compiles what has to be, outside the
    time limit.
    """

    name: str
    words: str
    problem: Any
    small: Any
    path: tuple[int, ...]
    search: dict[str, Any]
    image_shape: tuple[int, int] | None = None


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
    from ..report import save_page
    from ..report.path_page import paths_page
    from ._process import stoppable
    from ._run import command, versions

    folder.mkdir(parents=True, exist_ok=True)
    write_tables(folder)
    try:
        with stoppable():
            done, seconds = studied(quiet)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {folder} has the tables, but no page") from None
    how = {
        "command": command(),
        "seed": 0,
        "versions": ", ".join(f"{n} {v}" for n, v in versions().items()),
        **seconds,
    }
    lead = "Bundled and made-up data, said with fewer points, bins, terms and dimensions, and what each loses."
    page = save_page(
        folder / "fewer.html", paths_page("The same thing, with fewer", lead, done, how)
    )
    click.echo(f"page: {page}")
    return 0


def studied(quiet: bool) -> tuple[list[Any], dict[str, float]]:
    """Every part with its path, each shown as it is done, and the seconds they took."""
    from ..progress import search_bar
    from ..report.path import solve_path
    from ._show import console, show

    out, done, seconds = console(), [], {}
    for part in parts():
        with (
            nullcontext()
            if quiet
            else search_bar(f"{part.problem.job}: compiling, once", None) as callback
        ):
            part.small.solve(2, solver=part.search.get("solver", "auto"), rng=0, callback=callback)
        bar = partial(search_bar, time_limit=part.search.get("time_limit"))
        watch = (lambda label: nullcontext()) if quiet else bar
        found = solve_path(part.problem, part.path, held_out=0.3, watch=watch, **part.search)
        kept = f"{len(found.answer.result.indices)} {part.name}"
        done.append((kept, part.words, found, part.image_shape))
        seconds[f"seconds for {part.problem.job}"] = round(found.seconds, 1)
        if not quiet:
            show(out, found, f"{part.problem.job}: {kept}")
            out.print()
        if found.interrupted:
            raise KeyboardInterrupt
    return done, seconds


def bundled() -> dict[str, dict[str, Any]]:
    """The data as the tables that the commands read: digits, their ink, their average, what is unusual in patients."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_digits

    digits, patients = load_digits(), load_breast_cancer()
    X = digits.data
    high = patients.data > np.percentile(patients.data, 90, axis=0)
    pixels = {f"pixel {i + 1},{j + 1}": X[:, 8 * i + j] for i in range(8) for j in range(8)}
    names = [str(name) for name in patients.feature_names]
    return {
        "digits": {**pixels, "digit": digits.target},
        "ink": {"ink": X.sum(axis=1)},
        "average": {**{f"digit {i + 1}": X[i] for i in range(len(X))}, "average": X.mean(axis=0)},
        "unusual": dict(zip(names, high.astype(np.int8).T, strict=True)),
        "requests": requests(),
    }


def requests() -> dict[str, Any]:
    """A thousand made-up requests to a server, as a log has them: a time, categories, numbers, some missing."""
    import numpy as np

    rng = np.random.default_rng(0)
    ways = np.array(["search", "cart", "login", "report"])
    way = rng.choice(4, REQUESTS, p=[0.55, 0.25, 0.15, 0.05])
    region = np.where(rng.random(REQUESTS) < 0.7, "europe", "america")
    latency = np.round(
        rng.lognormal(np.array([3.0, 3.4, 2.6, 5.5])[way] + 0.4 * (region == "america"), 0.5), 1
    )
    when = np.datetime64("2024-03-01", "ms") + np.sort(rng.integers(0, 86_400, REQUESTS)).astype(
        "timedelta64[s]"
    )
    size = [
        None if rng.random() < 0.03 else float(x)
        for x in np.round(rng.gamma(2.0, 4.0, REQUESTS), 1)
    ]
    return {
        "when": when,
        "endpoint": ways[way],
        "region": region,
        "latency": latency,
        "kilobytes": size,
    }


def write_tables(folder: Path) -> None:
    """The tables as csv, to try the commands on."""
    import polars as pl

    for name, columns in bundled().items():
        with written_whole(folder / f"{name}.csv") as file:
            file.write(pl.DataFrame(columns).write_csv().encode())


def parts() -> Iterator[Part]:
    """The four jobs on 1,797 pictures of 8 x 8 pixels, 569 patients with 30 measurements, and 1,000 requests."""
    import numpy as np
    import polars as pl

    from ..report.bins import bins_study
    from ..report.dims import DimsStudy
    from ..report.points import PointsStudy
    from ..report.terms import TermsStudy

    data = bundled()
    digits = data["digits"].pop("digit")
    X = np.column_stack(list(data["digits"].values()))
    problem = PointsStudy.of(X, 20, captions={"digit": digits})
    small = PointsStudy.of(X[:60], 2)
    words = "A few weighted digits, as near as possible to all of them in maximum mean discrepancy."
    yield Part("digits stand for all 1,797", words, problem, small, (5, 10, 20, 50), SEARCH, (8, 8))
    log = pl.DataFrame(data["requests"])
    mixed = PointsStudy.of(log, 20, missing="impute")
    tiny = PointsStudy.of(log[:60], 2, missing="impute")
    words = "A log as it comes: a time, categories, numbers and missing values; a few weighted requests stand for all."
    yield Part("requests stand for all 1,000", words, mixed, tiny, (4, 8, 16, 32), SEARCH)
    latencies = bins_study(data["requests"]["latency"])
    few_values = bins_study(np.arange(9.0))
    words = "How long the requests took: few weighted values with the nearest cumulative shares."
    yield Part("values for the latencies", words, latencies, few_values, (4, 8, 16, 32), {})
    ink = bins_study(data["ink"]["ink"])
    words = "How much ink a digit takes: few weighted values with the nearest cumulative shares."
    yield Part("values for the ink of a digit", words, ink, few_values, (3, 5, 10, 20, 40), {})
    average = data["average"].pop("average")
    mix = TermsStudy.of(np.ascontiguousarray(X.T), average, names=list(data["average"]))
    few = TermsStudy.of(np.ascontiguousarray(X[:60].T), average, names=list(data["average"])[:60])
    words = "A few digits laid over each other, with weights that sum to one, give the average of all 1,797."
    yield Part("digits mix to the average digit", words, mix, few, (2, 4, 8, 16), SEARCH, (8, 8))
    high, names = np.column_stack(list(data["unusual"].values())), list(data["unusual"])
    unusual = DimsStudy.of(high, names=names)
    rare = DimsStudy.of(high[:60, :24], names=names[:24])
    words = "Which measurements hold everything unusual (the top tenth of each) about the most of 569 patients?"
    yield Part(
        "of 30 measurements cover the most patients", words, unusual, rare, (5, 10, 15, 20), {}
    )
