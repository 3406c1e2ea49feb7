"""What a command does to its process: streams that are there, and Ctrl-C with one meaning at any moment."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

INTERRUPTED = 130
temporary: list[str] = []
"""Files to remove, however the command ends."""
_seen = False
_noted = False


def prepare() -> None:
    """Before anything else is imported: standard streams, and Ctrl-C ends the command without a traceback."""
    for number in range(3):  # else the next file that is opened would take the place, and get what is said to stderr
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
    sys.unraisablehook = _unraisable
    handle(_end)


def handle(handler: Any) -> Any:
    """Let `handler` have Ctrl-C, and give the one before; only in the main thread, and not where it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return None
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
    return before


def seen() -> bool:
    """Whether there was a Ctrl-C."""
    return _seen


def clean_up() -> None:
    """Remove temporary files."""
    while temporary:
        with suppress(OSError):
            os.unlink(temporary.pop())


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in the block, and after it waits until the answer is written."""
    global _seen, _noted
    _seen = _noted = False
    handle(_raise)
    try:
        yield
    finally:
        handle(_note)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once, without a look at what is half imported."""
    clean_up()
    with suppress(OSError):
        os.write(2, b"fewer: interrupted before there was an answer; nothing was written.\n")
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt


def _note(number: int, frame: FrameType | None) -> None:
    """Let the answer be written first; who cannot wait, presses again."""
    global _seen, _noted
    if _noted:
        raise KeyboardInterrupt("interrupted twice; not everything was written")
    _seen = _noted = True


def _unraisable(found: Any) -> None:
    """A Ctrl-C in a finalizer, where it cannot be raised, is raised again outside."""
    if found.exc_type is not None and issubclass(found.exc_type, KeyboardInterrupt):
        import _thread

        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(found)
