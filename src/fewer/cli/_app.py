"""The group of commands, and what its exit codes mean: 0 done, 1 our bug, 2 bad input or options, 130 interrupted."""

import os
import sys
import traceback
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

from .. import __version__
from ..text import shown_path, visible
from . import INTERRUPTED, handle, handler, seen

JOBS = ("points", "bins", "terms", "dims")
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
"""What each does, as `fewer --help` says without importing any."""
MODULES = {**dict.fromkeys(JOBS, "jobs"), "look": "look", "demo": "demo"}
"""The module of each command; the others are here."""
BUG, BAD = 1, 2
MAX_MESSAGE_CHARS = 1000
"""Characters of a sentence about an error, which may quote the file."""
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
        """Return the commands, in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__package__}.{MODULES.get(cmd_name, '_app')}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments; for a wrong name say the nearest that is one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name.lower(), COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, help=HELP, context_settings=SETTINGS)
@click.version_option(
    __version__, "-V", "--version", prog_name="fewer", message="%(prog)s %(version)s"
)
def app() -> None:
    """Say the same thing with fewer points, bins, terms or dimensions."""


@click.command(epilog="Example: echo 'eval \"$(fewer completion bash)\"' >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows all three
    click.echo(kind(ctx.find_root().command, {}, "fewer", "_FEWER_COMPLETE").source())


@click.command(epilog="Example: RUN fewer warm  (in the recipe of an image)")
@click.argument("jobs", nargs=-1, type=click.Choice(JOBS))
def warm(jobs: tuple[str, ...]) -> None:
    """Compile what JOBS (all unless named) need, so that first calls are as fast as later ones."""
    from .._warm import compiled_by

    functions, seconds = compiled_by(jobs or JOBS)
    names = ", ".join(jobs or JOBS)
    click.echo(f"compiled {functions} functions for {names} in {seconds:.1f} s")


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; what went wrong is one sentence on stderr."""
    before = handler()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = shown_by(warnings.showwarning)
            return exit_code(arguments)
    finally:
        silence()
        handle(before)


def shown_by(otherwise: Any) -> Any:
    """Return how warnings are shown: ours to users as a sentence, others as they were."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category is UserWarning:
            complain(str(message), 0)
        else:
            otherwise(message, category, *where, **more)

    return show


def exit_code(arguments: list[str] | None) -> int:
    """Run the command line; each error becomes a sentence and a code."""
    try:
        code = app.main(args=arguments, prog_name="fewer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit:
        if "_FEWER_COMPLETE" in os.environ:  # click, after it has printed completions
            raise
        return INTERRUPTED if seen() else 0  # a broken pipe, as below
    except BrokenPipeError:
        return INTERRUPTED if seen() else 0  # the reader has seen enough
    except Interrupted as stop:
        words = "interrupted before there was an answer; nothing was written"
        return complain(str(stop) or words, INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        click.echo(help_wanted.format_message())
        return 0
    except click.ClickException as error:
        return complain(error.format_message(), BAD)
    except OSError as error:
        return complain(file_sentence(error), BAD)
    except MemoryError as error:
        return complain(f"not enough memory: {error}; name fewer columns, or take fewer rows", BAD)
    except Exception as error:
        return other_error(error)


def other_error(error: Exception) -> int:
    """Tell bad input from what compiled modules make of Ctrl-C, and both from our own bugs."""
    from .._validation import InvalidInput  # not sooner: NumPy takes longer than --help

    if isinstance(error, InvalidInput):
        from ._options import sentence_of

        return complain(sentence_of(error), BAD)
    if isinstance(error, ImportError) and seen():
        return complain("interrupted while libraries were imported", INTERRUPTED)
    if os.environ.get("FEWER_TRACEBACK"):
        traceback.print_exc()
    more = "set FEWER_TRACEBACK=1 to see where, and report it"
    return complain(f"this is a bug of fewer, {type(error).__name__}: {error}; {more}", BUG)


def file_sentence(error: OSError) -> str:
    """Return an error as a sentence that names its file.

    All errors of files do, but for stdout's.
    """
    if error.strerror is None:
        return str(error)
    name = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return f"{shown_path(name)}: {error.strerror}"


def complain(message: str, code: int) -> int:
    """Write one line on stderr, where there is somebody to read it."""
    line = visible(" ".join(message.split())).rstrip(".")
    line = line if len(line) <= MAX_MESSAGE_CHARS else f"{line[:MAX_MESSAGE_CHARS]}…"
    with suppress(OSError):
        sys.stderr.write(f"fewer: {line}{'' if line.endswith('?') else '.'}\n")
        sys.stderr.flush()
    return code


def silence() -> None:
    """Let streams that cannot be written to end in nothing, so that the end does not try again."""
    sys.stdout, sys.stderr = (
        getattr(stream, "wrapped", stream) for stream in (sys.stdout, sys.stderr)
    )  # by click
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
