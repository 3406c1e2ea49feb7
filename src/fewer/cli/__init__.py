"""The command line: it parses, calls a job, prints. Here: streams, and Ctrl-C with one meaning at any moment.

Only what the interpreter has loaded already is imported here, `_signal` for `signal` as well: until
`prepare` has run, Ctrl-C ends in a traceback.
"""

import gc
import os
import sys
from _signal import SIG_IGN, SIGINT, getsignal, signal  # type: ignore[import-not-found] # has no stub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130
MIN_NEW_OBJECTS = 50_000
"""How many there must be before Python looks for garbage; its own 700 cost a tenth of a second of
importing."""
_seen = False
_noted = False


def main(arguments: list[str] | None = None) -> None:
    """Run `fewer`; without the extra `cli` say in one sentence what to install."""
    prepare()
    import sys
    from importlib.util import find_spec

    missing = [name for name in ("click", "polars", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f'fewer: the command line needs {missing[0]}; run: pip install "fewer[cli]"\n'
        )
        raise SystemExit(2)
    from ._app import run

    end(run(arguments))


def prepare() -> None:
    """Before anything else is imported: Ctrl-C ends the command without a traceback.

    Standard streams are open.
    """
    handle(_end)
    gc.set_threshold(MIN_NEW_OBJECTS)
    for number in range(
        3
    ):  # else the next file that is opened would take the place, and get what is said to stderr
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - standard streams stay open
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def end(code: int) -> None:
    """End the process: Ctrl-C comes too late, temporary files go."""
    handle(SIG_IGN)
    clean_up()
    gc.disable()
    gc.freeze()  # looking once more through all modules for garbage takes some 0.3 s
    if code == INTERRUPTED:  # the interpreter may remember a Ctrl-C in a library, and end by it
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                continue
        os._exit(code)
    raise SystemExit(code)


def handler() -> "Any":
    """Who has Ctrl-C."""
    return getsignal(SIGINT)


def handle(taker: "Any") -> None:
    """Let `taker` have Ctrl-C, where it is not ignored; only the main thread can."""
    if handler() is not SIG_IGN and taker is not None:
        try:
            signal(SIGINT, taker)
        except ValueError:
            return


def seen() -> bool:
    """Return True after a Ctrl-C."""
    return _seen


def clean_up() -> None:
    """Remove temporary copies of files and half written ones, if there are any."""
    for module, remove in (("fewer.io.formats", "remove_copies"), ("fewer.files", "remove_begun")):
        loaded = sys.modules.get(module)
        if hasattr(loaded, remove):  # else it is being imported
            getattr(loaded, remove)()


class stoppable:  # noqa: N801 - used as a function
    """Ctrl-C raises KeyboardInterrupt in the block, and after it waits until the answer is written."""

    def __enter__(self) -> None:
        global _seen, _noted
        _seen = _noted = False
        handle(_raise)

    def __exit__(self, *error: object) -> None:
        handle(_note)


def _end(number: int, frame: "Any") -> None:
    """End at once, without a look at what is half imported."""
    clean_up()
    try:
        os.write(2, b"fewer: interrupted before there was an answer; nothing was written.\n")
    finally:
        os._exit(INTERRUPTED)


def _raise(number: int, frame: "Any") -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt


def _note(number: int, frame: "Any") -> None:
    """Let the answer be written first; who cannot wait, presses again."""
    global _seen, _noted
    if _noted:
        raise KeyboardInterrupt("interrupted twice; not everything was written")
    _seen = _noted = True
