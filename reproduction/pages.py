"""Pictures and claims.md, made from the rows alone."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from fewer.files import written_whole

from .experiment import Claim, Experiment
from .picture import STYLE
from .store import Finished, finished, write_whole

LEAD = (
    "What the paper *Learning Sparse Distributions using Iterative Hard Thresholding* (Zhang,"
    " Khanna, Kyrillidis and Koyejo, NeurIPS 2019) says, and what was measured. Numbers are those"
    " of the first reading: where the paper leaves a choice open, each choice is a reading."
)
RULES = (
    "Verdicts are computed from the rows of the csv files: *reproduced* when every reading holds,"
    " *in 3 of 6 readings* when only these do, *not reproduced* when all fail, else *undecided*. A"
    " reading that compares methods holds or fails when the 95 % t-interval of their mean"
    " difference, run by run, lies on one side of zero; else it is undecided and the numbers say"
    " *within chance*. Spreads are compared by the jackknife of their ratio. Each interval is taken"
    " by itself, and chance is that of the runs: test rows are taken as they are."
)
COLUMNS = (
    "Every csv file has the columns figure, seed, method, then iteration, k or what else the figure"
    " runs along, train, test and seconds (wall time of the method; the one column that differs"
    " between two runs). A seed and a method name one unit of work. NAME.json holds the command and"
    " every parameter of the rows."
)


def write_pictures(folder: Path, experiment: Experiment) -> None:
    """NAME.png and NAME.svg from NAME.csv."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    results = finished(folder, experiment)
    if experiment.picture is None or results is None:
        return
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=experiment.size, layout="constrained")
        FigureCanvasAgg(figure)
        experiment.picture(figure, results.table, results.setting)
        for kind in ("png", "svg"):
            picture = io.BytesIO()
            figure.savefig(
                picture,
                format=kind,
                metadata={"Date": None} if kind == "svg" else {"Software": None},
            )
            with written_whole(folder / f"{experiment.name}.{kind}") as file:
                file.write(picture.getvalue())


def write_claims(
    folder: Path,
    experiments: Mapping[str, Experiment],
    results: Mapping[str, Finished],
    claims: Mapping[str, list[Claim]],
) -> None:
    """claims.md over the finished experiments of a folder."""
    every = [(name, claim) for name in results for claim in claims[name]]
    theirs = [(name, claim) for name, claim in every if not claim.ours]
    ours = [(name, claim) for name, claim in every if claim.ours]
    lines = ["# The paper's claims, measured", "", LEAD, ""]
    lines += table(("", "claim", "the paper says", "measured", "verdict"), theirs)
    if ours:
        lines += [
            "## Claims of this library",
            "",
            *table(("", "claim", "says", "measured", "verdict"), ours),
        ]
    reasons = [(name, claim) for name, claim in theirs if claim.why]
    if reasons:
        lines += ["## Why some are not reproduced", ""]
        lines += [f"- **{name}, {claim.claim}**: {claim.why}" for name, claim in reasons]
        lines.append("")
    lines += ["## Readings and pictures", "", RULES, ""]
    for name in results:
        lines += experiment_part(folder, experiments[name], results[name], claims[name])
    lines += ["## How the rows were made", "", COLUMNS]
    write_whole(folder / "claims.md", "\n".join(lines) + "\n")


def table(head: Iterable[str], claims: Iterable[tuple[str, Claim]]) -> list[str]:
    """The lines of a Markdown table of claims, and an empty one."""
    heads = list(head)
    lines = [cells(heads), cells(["---"] * len(heads))]
    lines += [
        cells((name, claim.claim, claim.says, claim.measured, f"**{claim.verdict}**"))
        for name, claim in claims
    ]
    return [*lines, ""]


def cells(values: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return (
        "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"
    )


def folded(title: str, lines: Iterable[str]) -> list[str]:
    """Lines of Markdown that a reader opens."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


def experiment_part(
    folder: Path, experiment: Experiment, results: Finished, claims: list[Claim]
) -> list[str]:
    """One experiment, folded: its picture, every reading of its claims, and what its columns hold."""
    name = experiment.name
    lines = [f"![{experiment.title}]({name}.png)", ""] if (folder / f"{name}.png").exists() else []
    for claim in claims:
        place = f" ({claim.where})" if claim.where else ""
        lines += [f"**{claim.claim}**{place}: {claim.says}. *{claim.verdict}*", ""]
        lines += [
            f"- {reading.outcome} · {reading.name}: {reading.measured}"
            for reading in claim.readings
        ]
        lines.append("")
    lines += [f"Setting: {claims[0].setting}.", ""] if claims else []
    lines.append(
        f"`{results.command}`; data: {results.setting.source}. {experiment.x}:"
        f" {experiment.x_means}; train: {experiment.train}; test: {experiment.test}."
    )
    return folded(f"{name}: {experiment.title}", lines)
