"""Pictures, claims.md and index.html, all made from the rows alone."""

import base64
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import written_whole
from ..report import Column, Html, facts, page, section, tag
from ..report import table as page_table
from .experiment import Claim, Experiment
from .picture import STYLE
from .store import Finished, finished, write_whole

LEAD = (
    "What the paper Learning Sparse Distributions using Iterative Hard Thresholding (Zhang, Khanna, Kyrillidis and "
    "Koyejo, NeurIPS 2019) says, and what was measured. Verdicts are computed from the rows of the csv files: "
    '"reproduced" when every reading of a claim holds, "reproduced under this reading" when only some do, "not '
    'reproduced" when all fail, else "undecided". A reading that compares methods holds or fails when the 95 % '
    "t-interval of their mean difference, run by run, lies on one side of zero; else it is undecided and the numbers "
    'say "within chance". Spreads are compared by the jackknife of their ratio. Each interval is taken by itself, and '
    "chance is that of the runs: test rows are taken as given."
)
COLUMNS = (
    "Every csv file has the columns figure, seed, method, then iteration, k or what else the figure runs along, train, "
    "test, seconds (wall time of the method; the one column that differs between two runs) and version. A seed and a "
    "method name one unit of work."
)


def write_pictures(folder: Path, experiment: Experiment) -> None:
    """NAME.png and NAME.svg from NAME.csv."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    results = finished(folder, experiment)
    assert results is not None  # noqa: S101 - its last row was just written
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=experiment.size, layout="constrained")
        FigureCanvasAgg(figure)
        experiment.picture(figure, results.table, results.setting)
        for kind in ("png", "svg"):
            picture = io.BytesIO()
            figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
            with written_whole(folder / f"{experiment.name}.{kind}") as file:
                file.write(picture.getvalue())


def write_pages(
    folder: Path, table: Mapping[str, Experiment], found: Mapping[str, Finished], claims: Mapping[str, list[Claim]]
) -> None:
    """claims.md and index.html over all experiments found in the folder."""
    write_whole(folder / "claims.md", as_markdown(table, found, claims))
    write_whole(folder / "index.html", as_page(folder, table, found, claims))


def cells(values: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def as_markdown(
    table: Mapping[str, Experiment], found: Mapping[str, Finished], claims: Mapping[str, list[Claim]]
) -> str:
    """The table of claims, each claim's readings where there are several, and how the rows were made."""
    lines = ["# The paper's claims, measured", "", LEAD, ""]
    lines += [cells(("", "claim", "where", "setting", "measured", "verdict")), cells(["---"] * 6)]
    for name in found:
        for claim in claims[name]:
            verdict = f"**{claim.verdict}**"
            lines.append(cells((name, claim.claim, claim.where, claim.setting, claim.measured, verdict)))
    lines += ["", "## Readings", ""]
    for name in found:
        for claim in claims[name]:
            if len(claim.readings) > 1:
                lines += [f"**{name}: {claim.claim}** ({claim.verdict.split(':')[0]})", ""]
                lines += [f"- {r.outcome} · {r.name}: {r.measured}" for r in claim.readings]
                lines.append("")
    lines += ["## How the rows were made", "", COLUMNS, ""]
    for name, results in found.items():
        about = table[name]
        lines.append(
            f"- **{name}** ({about.title}): `{results.command}`, version {__version__}, data: "
            f"{results.setting.source}. {about.x}: {about.x_means}; train: {about.train}; test: {about.test}."
        )
    return "\n".join(lines) + "\n"


def as_page(
    folder: Path, table: Mapping[str, Experiment], found: Mapping[str, Finished], claims: Mapping[str, list[Claim]]
) -> str:
    """The same as one file with the pictures inside."""
    every = [(name, claim) for name in found for claim in claims[name]]
    whole = [claim.verdict for _, claim in every]
    counts = {
        "claims": str(len(whole)),
        "reproduced": str(whole.count("reproduced")),
        "under some readings": str(sum(v.startswith("reproduced under") for v in whole)),
        "undecided": str(whole.count("undecided")),
        "not reproduced": str(whole.count("not reproduced")),
    }
    overview = page_table(
        [
            Column("experiment", [name for name, _ in every]),
            Column("claim", [claim.claim for _, claim in every]),
            Column("where", [claim.where for _, claim in every]),
            Column("measured", [claim.measured for _, claim in every]),
            Column("verdict", [claim.verdict for _, claim in every]),
        ]
    )
    parts = [part(folder, table[name], results, claims[name]) for name, results in found.items()]
    first = section("Claims", facts(counts, large=True), overview, tag("p", COLUMNS))
    return page("The paper, reproduced", first, *parts, lead=LEAD)


def part(folder: Path, experiment: Experiment, results: Finished, claims: list[Claim]) -> Html:
    """One experiment: its picture, what was asked for, every reading of its claims."""
    picture = base64.b64encode((folder / f"{experiment.name}.png").read_bytes()).decode()
    readings = [(claim, reading) for claim in claims for reading in claim.readings]
    columns: dict[str, list[Any]] = {
        "claim": [claim.claim for claim, _ in readings],
        "reading": [reading.name for _, reading in readings],
        "outcome": [reading.outcome for _, reading in readings],
        "measured": [reading.measured for _, reading in readings],
    }
    about = {
        "command": tag("code", results.command),
        "data": results.setting.source,
        experiment.x: experiment.x_means,
        "train": experiment.train,
        "test": experiment.test,
    }
    return section(
        experiment.title,
        tag("img", src=f"data:image/png;base64,{picture}", alt=experiment.title, class_="curve"),
        facts(about),
        tag("p", claims[0].setting) if claims else None,
        page_table([Column(name, values) for name, values in columns.items()]),
        tag("p", f"The rows are in {experiment.name}.csv beside this page."),
    )
