"""Where the bytes of a file are: standard input, pipes, compressed and recoded files are copied to a temporary one."""

import atexit
import bz2
import codecs
import gzip
import lzma
import math
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount
from ..text import shown_path

COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
}
"""How files start that are inflated."""
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
        return inflated(
            copied(sys.stdin.buffer, "standard input", ""), "standard input"
        ), "standard input"
    path, label = Path(file), shown_path(file)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(f"{label}: there is no such file") from None
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{label}: is a folder; give its files, such as {label}/*.csv in quotes")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise InvalidInput(f"{label}: is a device; give a file, or - for standard input")
    if stat.S_ISFIFO(mode) or not is_unicode(file):
        with path.open("rb") as stream:
            path = copied(stream, label, "".join(path.suffixes[-2:]))
    return inflated(path, label), label


def is_unicode(name: str) -> bool:
    """Whether a file name can be written in UTF-8, as polars needs it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def compression(path: Path) -> str | None:
    """What a file is compressed by."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((name for magic, name in COMPRESSED.items() if start.startswith(magic)), None)


def inflated(path: Path, label: str) -> Path:
    """The file, or what it is inflated to if it is compressed."""
    method = compression(path)
    if method is None:
        return path
    most = max(ALWAYS_INFLATED, MAX_RATIO * path.stat().st_size)
    with _inflating(path, method) as stream:
        return copied(stream, label, Path(path.stem).suffix, most)


@contextmanager
def _inflating(path: Path, method: str) -> Iterator[Any]:
    """The inflated bytes of a file."""
    if method == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        with path.open("rb") as file, reader.stream_reader(file, read_across_frames=True) as stream:
            yield stream
        return
    openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    with openers[method](path) as stream:
        yield stream


def damages() -> tuple[type[Exception], ...]:
    """What damaged compressed files raise."""
    found: list[type[Exception]] = [EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError]
    if "zstandard" in sys.modules:
        found.append(sys.modules["zstandard"].ZstdError)
    return tuple(found)


def copied(stream: Any, label: str, suffix: str, most: float = math.inf) -> Path:
    """A temporary file with what a stream gives, if that is no more than `most` bytes."""
    count = 0
    with new_copy(suffix) as copy:
        try:
            while chunk := stream.read(CHUNK_BYTES):
                count += len(chunk)
                if count > most:
                    raise InvalidInput(
                        f"{label}: is inflated to more than {amount(int(most))}; inflate it yourself"
                    )
                copy.write(chunk)
        except damages() as error:
            raise InvalidInput(f"{label}: cannot be inflated: {error}") from None
        except OSError as error:
            if error.errno is None:  # of bz2: the data are not what they should be
                raise InvalidInput(f"{label}: cannot be inflated: {error}") from None
            raise OSError(
                error.errno, f"cannot be copied to {copy.name}: {error.strerror}", label
            ) from None
    return Path(copy.name)


def new_copy(suffix: str) -> Any:
    """A new temporary file, removed when the program ends."""
    if not temporary:
        atexit.register(remove_copies)
    copy = tempfile.NamedTemporaryFile(prefix="fewer-", suffix=suffix, delete=False)  # noqa: SIM115 - the caller's
    temporary.append(copy.name)
    return copy


def recoded(path: Path, label: str, encoding: str) -> Path:
    """A copy of a text file in UTF-8; the first byte that is no `encoding` is refused."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file, new_copy(path.suffix) as copy:
        while chunk := file.read(CHUNK_BYTES):
            try:
                copy.write(decoder.decode(chunk).encode("utf-8", "replace"))
            except UnicodeDecodeError as error:
                raise InvalidInput(f"{label}: is not text in {encoding}: {error.reason}") from None
        copy.write(decoder.decode(b"", final=False).encode())
    return Path(copy.name)


def trimmed(path: Path) -> Path:
    """The file without empty lines at its end: itself where there are none, which is the rule, else a copy."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - CHUNK_BYTES, 0))
        tail = file.read()
        bare = tail.rstrip(b"\r\n")
        if tail[len(bare) :] in (b"", b"\n", b"\r\n", b"\r") or not bare:
            return path
        left = size - len(tail) + len(bare)
        file.seek(0)
        with new_copy(path.suffix) as copy:
            while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
                copy.write(chunk)
                left -= len(chunk)
            copy.write(b"\n")
    return Path(copy.name)
