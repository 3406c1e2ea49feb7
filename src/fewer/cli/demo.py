"""`fewer demo`: the four jobs on the digits bundled with scikit-learn, a table each, and one page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True)
class Part:
    """One job of the demo: a heading, a sentence, the problem, the k to try and how to search."""

    name: str
    words: str
    problem: Any
    path: tuple[int, ...]
    search: dict[str, Any]
    image_shape: tuple[int, int] | None = None


@click.command(epilog="Example: fewer demo --folder demo")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("demo"), show_default=True)
@click.option("--quiet", is_flag=True, help="Only the path of the page.")
def demo(folder: Path, quiet: bool) -> int:
    """Points, bins, terms and dims in turn on bundled data; ends with the path of a page."""
    from ..report import save_page
    from ..report.studies import studies_page
    from ..studies.study import study
    from ._run import command, versions
    from ._show import Watcher, console, show

    folder.mkdir(parents=True, exist_ok=True)
    out, done, seconds = console(), [], {}
    for part in parts():
        watch = Watcher(part.search.get("time_limit"), quiet)
        found = study(part.problem, part.path, held_out=0.3, watch=watch, **part.search)
        kept = f"{len(found.chosen.result.support)} {part.name}"
        done.append((kept, part.words, found, part.image_shape))
        seconds[f"seconds for {part.problem.job}"] = round(found.seconds, 1)
        if not quiet:
            show(out, found, f"{part.problem.job}: {kept}")
            out.print()
        if found.interrupted:
            raise KeyboardInterrupt
    how = {"command": command(), "seed": 0, "versions": ", ".join(f"{n} {v}" for n, v in versions().items()), **seconds}
    lead = "1,797 handwritten digits, said with fewer points, bins, terms and dimensions; and what each saving loses."
    page = save_page(folder / "fewer.html", studies_page("The same digits, with fewer", lead, done, how))
    click.echo(f"page: {page}")
    return 0


def parts() -> Iterator[Part]:
    """The four jobs on 1,797 pictures of 8 x 8 pixels in 0..16."""
    import numpy as np
    from sklearn.datasets import load_digits

    from ..studies.bins import BinsProblem
    from ..studies.dims import DimsProblem
    from ..studies.points import PointsProblem
    from ..studies.terms import TermsProblem
    from .bins import binned

    digits = load_digits()
    X, pixels = digits.data, [f"row {i + 1}, column {j + 1}" for i in range(8) for j in range(8)]
    problem = PointsProblem.of(X, 20, 0, "median", shown={"digit": digits.target})
    words = "A few weighted digits stand for all of them: as near as possible in maximum mean discrepancy."
    yield Part("points: digits that stand for all", words, problem, (5, 10, 20, 50), {"time_limit": 2.0}, (8, 8))
    ink = X.sum(axis=1)
    words = "How much ink a digit takes, as a histogram of few weighted bins with the nearest cumulative shares."
    yield Part("bins: the ink of a digit", words, BinsProblem(*binned(ink, None, None)), (3, 5, 10, 20, 40), {})
    words = "A few weighted pixels track the mean of all 64, from digit to digit, as a small portfolio tracks an index."
    tracked = TermsProblem(X, X.mean(axis=1), pixels)
    yield Part(
        "terms: pixels that track them all", words, tracked, (4, 8, 16), {"time_limit": 2.0, "solver": "exchange"}
    )
    words = "Which pixels draw the most digits whole, with every dark pixel (above 8 of 16) among them?"
    dark = DimsProblem((X > 8).astype(np.int8), pixels)
    yield Part("dims: pixels that draw digits whole", words, dark, (20, 30, 40, 50), {"time_limit": 5.0})
