"""fewer reproduce: the paper's figures and theorems, and claim by claim what was said and what was measured."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._process import INTERRUPTED, stoppable

if TYPE_CHECKING:
    from ..paper import Reproduction

BAR_CHARS = 30


class Bar:
    """A progress bar on stderr, only where that is a terminal."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Draw how much of an experiment is done, over what was drawn before."""
        if self.shown:
            full = BAR_CHARS * done // total
            end = "\n" if done == total else ""
            sys.stderr.write(f"\r{name:10s} [{'#' * full}{'.' * (BAR_CHARS - full)}] {done}/{total}{end}")
            sys.stderr.flush()


@click.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--list", "only_list", is_flag=True, help="Say what there is, and end.")
@click.option("--claims", "only_claims", is_flag=True, help="Only judge the rows that are in --out, and end.")
@click.option("--runs", type=int, help="How many runs of each; by default as many as in the paper.")
@click.option("--quick", is_flag=True, help="Few runs of small size: all of it in under two minutes.")
@click.option("--data", type=click.Path(path_type=Path), help="A folder with hospital_charges.npz and usps.npz.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="reproduction", show_default=True, help="Where to write."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the first run.")
@click.option("--jobs", type=int, help="How many processes; two by default where there are two cores.")
def reproduce(names: tuple[str, ...], only_list: bool, only_claims: bool, **options: Any) -> int:
    """Reproduce figures and theorems of the paper: NAMEs as --list shows them, or all.

    Writes NAME.csv, NAME.json, NAME.png and NAME.svg for each, then claims.md and index.html. An interrupted run goes
    on from the rows it has when the same command is given again.
    """
    from ..paper import judged, listed, run

    if only_list:
        for name, title in listed().items():
            click.echo(f"{name:10s} {title}")
        return 0
    if only_claims:
        if not options["out"].is_dir():
            raise click.UsageError(f"--claims judges the rows in --out, and there is no folder {options['out']}")
        say(judged(options["out"]))
        return 0
    try:
        with stoppable():
            done = run(*names, **options, progress=Bar())
    except KeyboardInterrupt:
        sys.stderr.write(f"\nfewer: interrupted; the rows so far are in {options['out']}, the same command goes on.\n")
        return INTERRUPTED
    say(done)
    return 0


def say(done: "Reproduction") -> None:
    """Every claim with its verdict and its numbers."""
    for name, claims in done.claims.items():
        for claim in claims:
            click.echo(f"{name}: {claim.claim}\n  {claim.verdict}\n  measured: {claim.measured}")
    click.echo(f"wrote {done.out}/claims.md and {done.out}/index.html")
