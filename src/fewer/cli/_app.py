"""The group of commands, and what its exit codes mean: 0 done, 1 our bug, 2 bad input or options, 130 interrupted."""

import os
import sys
import traceback
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from .. import __version__
from ..text import shown_path, visible
from ._process import INTERRUPTED, handle, handler, seen

COMMANDS = {
    "points": "Keep k weighted rows that stand for all of them.",
    "bins": "Keep k weighted bins of the histogram of a column.",
    "terms": "Track a column by at most k others, with weights that sum to one.",
    "dims": "Keep the k columns that cover the most rows.",
    "look": "Show the columns of a file, and what each job would use.",
    "demo": "All four on bundled data, and a page to look at.",
    "warm": "Compile ahead, so that first calls are as fast as later ones.",
    "completion": "Print the script that completes commands and options in a shell.",
}
"""What each does, as `fewer --help` says without importing any; a module and a command of its own name each."""
BUG, BAD = 1, 2
MAX_MESSAGE_CHARS = 1000
"""Characters of a sentence about an error, which may quote the file."""


class Interrupted(Exception):  # noqa: N818 - it is none
    """Ctrl-C, which click would announce by an empty line."""


class Commands(click.Group):
    """Commands that are imported when they are called or listed."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as stop:
            raise Interrupted(str(stop)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands there are, in the order people meet them."""
        return [name for name in COMMANDS if find_spec(f"{__package__}.{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(import_module(f"{__package__}.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; a name that is none gets the nearest that is one."""
        name = args[0]
        if name not in (listed := self.list_commands(ctx)) and not name.startswith("-"):
            near = get_close_matches(name.lower(), listed, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(listed)}"
            raise click.UsageError(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


HELP = """Say the same thing with fewer points, bins, terms or dimensions.

\b
fewer points photos.npy -k 50                 50 weighted rows that stand for all
fewer bins claims.csv --column cost -k 50     50 weighted bins of a histogram
fewer terms returns.csv --target INDEX -k 20  20 weighted columns that track another
fewer dims orders.txt --transactions -k 20    20 items that cover the most orders
fewer demo                                    all four on bundled data, and a page to look at

Add --path 5,10,20,50 to evaluate several k and recommend one, --report page.html for a page, -o out.csv for a file.
"""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Commands, help=HELP, context_settings=SETTINGS)
@click.version_option(
    __version__, "-V", "--version", prog_name="fewer", message="%(prog)s %(version)s"
)
def app() -> None:
    """Say the same thing with fewer points, bins, terms or dimensions."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; what went wrong is one sentence on stderr."""
    before = handler()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = warned(warnings.showwarning)
            return guarded(arguments)
    finally:
        silence()
        handle(before)


def warned(otherwise: Any) -> Any:
    """How warnings are shown: ours to users as a sentence, others as they were."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category is UserWarning:
            complain(str(message), 0)
        else:
            otherwise(message, category, *where, **more)

    return show


def guarded(arguments: list[str] | None) -> int:
    """The same, where Ctrl-C may be left in other hands."""
    try:
        code = app.main(args=arguments, prog_name="fewer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and "_FEWER_COMPLETE" in os.environ:
            raise  # click, after it has printed completions; else it was a broken pipe
        return INTERRUPTED if seen() else 0  # the reader has seen enough
    except Interrupted as stop:
        return complain(
            str(stop) or "interrupted before there was an answer; nothing was written", INTERRUPTED
        )
    except click.exceptions.NoArgsIsHelpError as help_asked:
        click.echo(help_asked.format_message())
        return 0
    except click.ClickException as error:
        return complain(error.format_message(), BAD)
    except OSError as error:
        return complain(sentence(error), BAD)
    except MemoryError as error:
        return complain(f"not enough memory: {error}; name fewer columns, or take fewer rows", BAD)
    except Exception as error:
        from .._validation import InvalidInput  # not sooner: NumPy takes longer than --help

        if isinstance(error, InvalidInput):
            from ._options import spelled

            return complain(error.spelled(spelled), BAD)
        if (
            isinstance(error, ImportError) and seen()
        ):  # what compiled modules make of Ctrl-C while they are imported
            return complain("interrupted while libraries were imported", INTERRUPTED)
        if os.environ.get("FEWER_TRACEBACK"):  # our own bug: say so, and how to see more
            traceback.print_exc()
        more = "set FEWER_TRACEBACK=1 to see where, and report it"
        return complain(f"this is a bug of fewer, {type(error).__name__}: {error}; {more}", BUG)


def sentence(error: OSError) -> str:
    """An error as a sentence that names its file; all errors of files do, so one that does not is of stdout."""
    if error.strerror is not None:
        name = "standard output" if error.filename is None else os.fsdecode(error.filename)
        return f"{shown_path(name)}: {error.strerror}"
    return str(error)


def complain(message: str, code: int) -> int:
    """One line on stderr, where there is somebody to read it."""
    line = visible(" ".join(message.split())).rstrip(".")
    line = line if len(line) <= MAX_MESSAGE_CHARS else f"{line[:MAX_MESSAGE_CHARS]}…"
    with suppress(OSError):
        sys.stderr.write(f"fewer: {line}{'' if line.endswith('?') else '.'}\n")
        sys.stderr.flush()
    return code


def silence() -> None:
    """Let streams that cannot be written to end in nothing, so that the end of the process does not try again."""
    sys.stdout, sys.stderr = (
        getattr(stream, "wrapped", stream) for stream in (sys.stdout, sys.stderr)
    )  # by click
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
