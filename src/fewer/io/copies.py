"""Where the bytes of a file are: standard input, pipes, compressed and recoded files are copied to a temporary one."""

import atexit
import bz2
import codecs
import gzip
import lzma
import math
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount
from ..text import shown_path

CHUNK_BYTES = 1 << 20
MAX_WINDOW_BYTES = 1 << 27
"""Memory that inflating may take."""
temporary: list[str] = []
"""Files to remove, however the program ends."""


def remove_copies() -> None:
    """Remove the temporary copies."""
    while temporary:
        with suppress(OSError):
            os.unlink(temporary.pop())


def located(file: str) -> tuple[Path, str]:
    """Where the bytes are and what to call them.

    Standard input, pipes, compressed files and those whose name is not UTF-8 are copied to a
    temporary file.
    """
    if file == "-":
        label = "standard input"
        return inflated(copied(sys.stdin.buffer, label, ""), label), label
    path, label = Path(file), shown_path(file)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(f"{label}: there is no such file") from None
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{label}: is a folder; give its files, such as {label}/*.csv in quotes")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise InvalidInput(f"{label}: is a device; give a file, or - for standard input")
    is_unicode = file.encode("utf-8", "ignore") == os.fsencode(file)  # as polars needs it
    if stat.S_ISFIFO(mode) or not is_unicode:
        with path.open("rb") as stream:
            path = copied(stream, label, "".join(path.suffixes[-2:]))
    return inflated(path, label), label


def inflated(path: Path, label: str) -> Path:
    """The file, or what it is inflated to if it is compressed."""
    with path.open("rb") as file:
        start = file.read(8)
    opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), None)
    if opener is None:
        return path
    most = max(ALWAYS_INFLATED, MAX_RATIO * path.stat().st_size)
    with path.open("rb") as file, opener(file) as stream:
        return copied(stream, label, Path(path.stem).suffix, most)


def _zstd(file: BinaryIO) -> Any:
    """The inflated bytes of a file in zstd, whose reader is an extra."""
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    return reader.stream_reader(file, read_across_frames=True)


OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\x00": lzma.open,
}
"""How files start that are inflated, and by what."""


def copied(stream: Any, label: str, suffix: str, most: float = math.inf) -> Path:
    """A temporary file with what a stream gives, if that is no more than `most` bytes."""
    count = 0
    with new_copy(suffix) as copy:
        while chunk := _read(stream, label):
            count += len(chunk)
            if count > most:
                raise InvalidInput(
                    f"{label}: is inflated to more than {amount(int(most))}; inflate it yourself"
                )
            try:
                copy.write(chunk)
            except OSError as error:
                words = f"cannot be copied to {copy.name}: {error.strerror}"
                raise OSError(error.errno, words, label) from None
    return Path(copy.name)


def _read(stream: Any, label: str) -> bytes:
    """Some bytes of a stream.

    Whatever its reader raises about damage becomes an error with the file's name.
    """
    try:
        return bytes(stream.read(CHUNK_BYTES))
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:  # not of the data
            raise OSError(error.errno, f"cannot be read: {error.strerror}", label) from None
        raise InvalidInput(f"{label}: cannot be inflated: {error}") from None


def new_copy(suffix: str) -> Any:
    """A new temporary file, removed when the program ends."""
    if not temporary:
        atexit.register(remove_copies)
    copy = tempfile.NamedTemporaryFile(prefix="fewer-", suffix=suffix, delete=False)  # noqa: SIM115 - the caller's
    temporary.append(copy.name)
    return copy


def recoded(path: Path, label: str, encoding: str) -> Path:
    """A copy of a text file in UTF-8; what is no text in its `encoding` is refused.

    The five bytes that Windows-1252 leaves open are those of Latin-1.
    """
    decoder = codecs.getincrementaldecoder(encoding)("fewer-latin-1")
    with path.open("rb") as file, new_copy(path.suffix) as copy:
        while chunk := file.read(CHUNK_BYTES):
            try:
                copy.write(decoder.decode(chunk).encode())
            except UnicodeError as error:
                raise InvalidInput(f"{label}: is not text in {encoding}: {error}") from None
    return Path(copy.name)


def _latin(error: UnicodeError) -> tuple[str, int]:
    """A byte of a text in one byte for each character, by Latin-1."""
    if not isinstance(error, UnicodeDecodeError) or error.encoding != "charmap":
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("fewer-latin-1", _latin)


def trimmed(path: Path) -> Path:
    """The file without empty lines at its end: itself where there are none, which is the rule, else a copy."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - CHUNK_BYTES, 0))
        tail = file.read()
    bare = tail.rstrip(b"\r\n")
    if tail[len(bare) :] in (b"", b"\n", b"\r\n", b"\r") or not bare:
        return path
    with path.open("rb") as file, new_copy(path.suffix) as copy:
        shutil.copyfileobj(file, copy, CHUNK_BYTES)
        copy.truncate(size - len(tail) + len(bare))
        copy.seek(0, os.SEEK_END)
        copy.write(b"\n")
    return Path(copy.name)
