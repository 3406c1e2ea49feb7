"""The bytes of a file: where they are, which format and encoding they have, and plain copies of them.

Standard input, pipes, compressed files and texts in other encodings are copied to temporary files.
"""

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
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount
from ..text import shown_path

ENDINGS = {
    **dict.fromkeys([".csv", ".txt", ".tsv", ".tab", ".psv", ".dat", ".data", ""], "csv"),
    **dict.fromkeys([".parquet", ".pq"], "parquet"),
    **dict.fromkeys([".feather", ".arrow", ".ipc"], "arrow"),
    **dict.fromkeys([".jsonl", ".ndjson"], "jsonl"),
    **dict.fromkeys([".sqlite", ".sqlite3", ".db", ".db3"], "sqlite"),
    ".xlsx": "xlsx",
    ".npy": "npy",
    ".npz": "npz",
}
STARTS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"SQLite format 3\x00": "sqlite",
    b"\x93NUMPY": "npy",
}
ZLIB = "zlib; expected gzip, bzip2, zstd or xz"
PICKLE = "pickle, which is never unpickled; save it as parquet or npz"
FOREIGN = {
    b"x\x01": ZLIB,
    b"x\x9c": ZLIB,
    b"x\xda": ZLIB,
    b"\xd0\xcf\x11\xe0": "an old office document, such as xls; save the sheet as xlsx or csv",
    b"%PDF": "pdf",
    b"\x89HDF": "hdf5; save it as parquet or npz",
    b"\xff\xff\xff\xff": "a stream of arrow; write it as a file (.arrow, .parquet)",
    b"Obj\x01": "avro; save it as parquet",
    b"\x80\x04\x95": PICKLE,
    b"\x80\x05\x95": PICKLE,
}
"""Formats that are not read, by their first bytes."""
HINTS = {
    ".json": "json; write one object per line (.jsonl)",
    ".xls": "xls; save the sheet as xlsx or csv",
    ".pkl": PICKLE,
    ".pickle": PICKLE,
}
READ = (
    "csv, tsv, parquet, feather, arrow, xlsx, jsonl, sqlite, npy or npz, or one of them compressed"
)
WINDOWS = "cp1252"
WINDOWS_CHARACTERS = {i: bytes([i]).decode(WINDOWS, "ignore") or chr(i) for i in range(128, 160)}
"""What Windows-1252 has in place of Latin-1; the five bytes that it leaves open stay."""
SNIFFED_BYTES = 65536
MAX_ZERO_SHARE = 0.02
"""The share of zero bytes up to which bytes are text: a name may hold one."""
CHUNK_BYTES = 1 << 20
MAX_WINDOW_BYTES = 1 << 27
"""Memory that inflating zstd may take."""
temporary: list[str] = []
"""Files to remove, however the program ends."""


def zstd_stream(file: BinaryIO) -> Any:
    """The inflated bytes of a file in zstd, whose reader is an extra."""
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    return reader.stream_reader(file, read_across_frames=True)


OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": zstd_stream,
    b"\xfd7zXZ\x00": lzma.open,
}
"""Readers of compressed files, by their first bytes."""


def unsupported(label: str, what: str) -> InvalidInput:
    """The error about a format that is not read."""
    hint = "" if ";" in what else f"; expected {READ}"
    return InvalidInput(f"{label}: format not supported: {what}{hint}")


def start_of(path: Path) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)


def check_text(start: bytes, label: str) -> None:
    """Refuse a file whose first bytes are those of a format that is not read."""
    for magic, words in FOREIGN.items():
        if start.startswith(magic):
            raise unsupported(label, words)


def format_of(path: Path, label: str) -> str:
    """The format of a file, by its first bytes, then by its ending."""
    start, ending = start_of(path), path.suffix.lower()
    for magic, kind in STARTS.items():
        if start.startswith(magic):
            return kind
    if start.startswith(b"PK\x03\x04"):
        return zipped_format(path, label)
    check_text(start, label)
    if ending in HINTS or ending not in ENDINGS:
        raise unsupported(label, HINTS.get(ending, ending))
    kind = ENDINGS[ending]
    if kind not in ("csv", "jsonl"):
        raise InvalidInput(f"{label}: is damaged or is not a {kind} file")
    if ending == "" and start.lstrip().startswith(b"{"):
        return "jsonl"
    return kind


def zipped_format(path: Path, label: str) -> str:
    """Whether a zip file holds arrays or a workbook; what is damaged is left to the reader."""
    ending = path.suffix.lower()
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return "xlsx" if ending == ".xlsx" else "npz"
    if "xl/workbook.xml" in names:
        return "xlsx"
    if ending == ".npz" or any(name.endswith(".npy") for name in names):
        return "npz"
    raise unsupported(label, "zip; unpack it")


def encoding_of(start: bytes, label: str) -> str | None:
    """The encoding of a text by its byte order mark or its zero bytes; None where it may be UTF-8."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = start[:4000]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if even + odd <= MAX_ZERO_SHARE * len(sample):
        return None
    if min(even, odd) > 0.05 * len(sample) or max(even, odd) < 0.2 * len(sample):
        raise unsupported(label, "bytes that are no text")
    return "utf-16-be" if even > odd else "utf-16-le"


def remove_copies() -> None:
    """Remove the temporary copies."""
    while temporary:
        with suppress(OSError):
            os.unlink(temporary.pop())


def new_copy(suffix: str) -> Any:
    """A new temporary file, removed when the program ends."""
    if not temporary:
        atexit.register(remove_copies)
    copy = tempfile.NamedTemporaryFile(prefix="fewer-", suffix=suffix, delete=False)  # noqa: SIM115 - the caller's
    temporary.append(copy.name)
    return copy


def located(file: str) -> tuple[Path, str]:
    """A regular file with the inflated bytes of `file` ("-" is standard input), and its name in messages."""
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
    """The file, or a copy inflated up to a limit."""
    start = start_of(path)
    opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), None)
    if opener is None:
        return path
    most = max(ALWAYS_INFLATED, MAX_RATIO * path.stat().st_size)
    with path.open("rb") as file, opener(file) as stream:
        return copied(stream, label, Path(path.stem).suffix, most)


def copied(stream: Any, label: str, suffix: str, most: float = math.inf) -> Path:
    """A temporary file with the bytes of a stream, which must be no more than `most`."""
    count = 0
    with new_copy(suffix) as copy:
        while chunk := read_chunk(stream, label):
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


def read_chunk(stream: Any, label: str) -> bytes:
    """Some bytes of a stream; damage is an error with the file's name."""
    try:
        return bytes(stream.read(CHUNK_BYTES))
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:  # not of the data
            raise OSError(error.errno, f"cannot be read: {error.strerror}", label) from None
        raise InvalidInput(f"{label}: cannot be inflated: {error}") from None


def recoded(path: Path, label: str, encoding: str) -> Path:
    """A copy of a text file in UTF-8; bytes that are no text in its `encoding` are refused."""
    windows = encoding == WINDOWS
    decoder = codecs.getincrementaldecoder("latin-1" if windows else encoding)()
    with path.open("rb") as file, new_copy(path.suffix) as copy:
        while chunk := file.read(CHUNK_BYTES):
            try:
                text = decoder.decode(chunk)
                text = text.translate(WINDOWS_CHARACTERS) if windows else text
                copy.write(text.encode())
            except UnicodeError as error:
                raise InvalidInput(f"{label}: is not text in {encoding}: {error}") from None
    return Path(copy.name)


def trimmed(path: Path) -> Path:
    """The file, or a copy without the empty lines at its end."""
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
