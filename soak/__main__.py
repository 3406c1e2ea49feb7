"""`python -m soak`: run the campaign, print one table, exit 1 when anything is wrong."""

import argparse
import signal
import subprocess
import sys
import threading
import time

from .parts import PARTS, attempt, existing, find
from .runner import Campaign

EVERY = 10.0
"""Seconds between two lines of progress."""


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for.

    0 all right, 1 something wrong, 130 after Ctrl-C with nothing wrong.
    """
    asked = parser().parse_args(arguments)
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # a shell's background job: its children would ignore it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked.case:
        return repeat(asked.case)
    modules = asked.parts.split(",") if asked.parts else existing()
    if not set(modules).isdisjoint(PARTS):
        warm()
    try:
        campaign = Campaign(modules, asked.seed, asked.jobs, 60.0 * asked.minutes, asked.cases)
    except ModuleNotFoundError as error:
        print(f"no such part: {error.name}; there are {', '.join(existing())}", file=sys.stderr)
        return 2
    stopped = threading.Event()
    threading.Thread(target=show, args=(campaign, stopped), daemon=True).start()
    interrupted = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        interrupted = True
    stopped.set()
    print("\n".join(campaign.table(asked.failures)), flush=True)
    if interrupted:
        return 1 if any(row.wrong for row in campaign.rows.values()) else 130
    return int(campaign.failed)


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    options.add_argument("--seed", type=int, default=0, help="the seed of all cases (0)")
    options.add_argument("--parts", help="names, separated by commas (all that exist)")
    options.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    options.add_argument("--cases", type=int, help="end each part after so many cases")
    options.add_argument(
        "--failures", type=int, default=5, help="how many failures of each part are shown (5)"
    )
    options.add_argument(
        "--case", metavar="PART:SEED:INDEX", help="run one case here, in this process"
    )
    return options


def warm() -> None:
    """Compile ahead, before the clock starts: the cases are about answers, not about first calls."""
    print("compiling ahead (fewer.warm)", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-c", "import fewer; fewer.warm()"], check=True)


def repeat(name: str) -> int:
    """One case in this process, so that a debugger can look at it."""
    module, seed, index = name.rsplit(":", 2)
    began = time.monotonic()
    description, problems = attempt(find(module), int(seed), int(index))
    print(f"{description}\n" + "\n".join(f"  - {problem}" for problem in problems))
    print(f"{len(problems)} problems, {time.monotonic() - began:.2f} s")
    return int(bool(problems))


def show(campaign: Campaign, stopped: threading.Event) -> None:
    """Lines of progress on stderr until the end."""
    while not stopped.wait(EVERY):
        counts = ", ".join(
            f"{row.part.name} {row.tried} ({row.wrong} wrong)" for row in campaign.rows.values()
        )
        print(
            f"{max(campaign.until - time.monotonic(), 0):.0f} s left: {counts}",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
