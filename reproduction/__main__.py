"""python -m reproduction: figures and theorems of the paper, what it says of them and what was measured."""

import argparse
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from fewer import InvalidInput

from . import Reproduction, judged, run
from .catalogue import TITLES

BAD, INTERRUPTED = 2, 130


class Bars:
    """A progress bar for each experiment on stderr, only where that is a terminal."""

    def __init__(self) -> None:
        self.bars: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int) -> None:
        """Move the bar of an experiment."""
        if name not in self.bars:
            self.bars[name] = tqdm(total=total, desc=name, disable=None)
        self.bars[name].update(done - self.bars[name].n)


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        "python -m reproduction",
        description=(
            "Reproduce figures and theorems of the paper. Writes NAME.csv, NAME.json, NAME.png and"
            " NAME.svg for each, then claims.md. An interrupted run goes on when the same command"
            " is given again, without --fresh."
        ),
    )
    add = options.add_argument
    add("names", nargs="*", metavar="NAME", help="as --list shows them, or all")
    add("--list", action="store_true", dest="only_list", help="print the names and titles, and end")
    add(
        "--claims",
        action="store_true",
        dest="only_claims",
        help="judge the rows that are in --out, and end",
    )
    add("--runs", type=positive, help="runs of each; by default as many as in the paper")
    add(
        "--quick",
        action="store_true",
        help="few runs of small size: all of it in under two minutes",
    )
    add("--fresh", action="store_true", help="measure everything again, whatever rows are in --out")
    add("--data", type=Path, help="a folder with hospital_charges.npz and usps.npz")
    add(
        "--out",
        type=Path,
        default=Path("build/reproduction"),
        help="where to write (default: %(default)s)",
    )
    add("--seed", type=int, default=0, help="the seed of the first run")
    add("--jobs", type=positive, help="processes; two by default where there are two cores")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command: 0 done, 2 bad input, 130 interrupted."""
    command = parser()
    options = vars(command.parse_args(arguments))
    names, only_list, only_claims = (
        options.pop(name) for name in ("names", "only_list", "only_claims")
    )
    if only_list:
        print("\n".join(f"{name:10s} {title}" for name, title in TITLES.items()))
        return 0
    if not (set(names) <= {*TITLES, "all"} and (names or only_claims)):
        command.error(f"NAME must be all, or some of {', '.join(TITLES)}; got {names}")
    try:
        report(judged(options["out"]) if only_claims else run(*names, **options, progress=Bars()))
    except (InvalidInput, OSError) as error:
        sys.stderr.write(f"reproduction: {error}.\n")
        return BAD
    except KeyboardInterrupt:
        sys.stderr.write(
            f"\nreproduction: interrupted; the rows are in {options['out']}, go on without"
            " --fresh.\n"
        )
        return INTERRUPTED
    return 0


def report(done: Reproduction) -> None:
    """Print every claim with its verdict and its numbers."""
    for name, claims in done.claims.items():
        for claim in claims:
            print(
                f"{name}: {claim.claim}: {claim.says}\n  {claim.verdict}\n  measured:"
                f" {claim.measured}"
            )
    print(f"wrote {done.out}/claims.md")


if __name__ == "__main__":
    sys.exit(main())
