"""Files as they come: which kind they are, and a table of their columns that is read when asked."""

import atexit
import gzip
import math
import stat
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount
from ..text import shown_path
from ._process import clean_up, temporary
from ._table import Table

ENDINGS = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".npy": "npy", ".npz": "npz"}
STARTS = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}
GZIP = b"\x1f\x8b"
FOREIGN = {
    b"\x28\xb5\x2f\xfd": "is compressed by zstd; expected it uncompressed or compressed by gzip",
    b"BZh": "is compressed by bzip2; expected it uncompressed or compressed by gzip",
    b"\xfd7zXZ": "is compressed by xz; expected it uncompressed or compressed by gzip",
    b"x\x01": "is compressed by zlib; expected it uncompressed or compressed by gzip",
    b"x\x9c": "is compressed by zlib; expected it uncompressed or compressed by gzip",
    b"x\xda": "is compressed by zlib; expected it uncompressed or compressed by gzip",
    b"\xff\xfe": "is text in UTF-16; expected UTF-8",
    b"\xfe\xff": "is text in UTF-16; expected UTF-8",
    b"\xd0\xcf\x11\xe0": "is an old office document, such as xls; save the sheet as csv",
}
"""Files that are not read, by how they start, and what to say."""
SNIFFED_BYTES = 65536
CHUNK_BYTES = 1 << 20


def located(file: str) -> tuple[Path, str]:
    """Where the bytes are and what to call them.

    Standard input, pipes, files compressed by gzip and those whose name is not UTF-8 are copied to a temporary file.
    """
    if file == "-":
        return inflated(copied(sys.stdin.buffer, "standard input", ""), "standard input"), "standard input"
    path, label = Path(file), shown_path(file)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(f"{label}: there is no such file") from None
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{label}: is a folder; give a csv, tsv, parquet, npy or npz file")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise InvalidInput(f"{label}: is a device; give a file, or - for standard input")
    if stat.S_ISFIFO(mode) or not is_unicode(file):
        with path.open("rb") as stream:
            path = copied(stream, label, path.suffix)
    return inflated(path, label), label


def is_unicode(name: str) -> bool:
    """Whether a file name can be written in UTF-8, as polars needs it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def inflated(path: Path, label: str) -> Path:
    """The file, or what it is inflated to if it is compressed by gzip."""
    with path.open("rb") as file:
        if file.read(len(GZIP)) != GZIP:
            return path
    size = path.stat().st_size
    with gzip.open(path) as stream:
        return copied(stream, label, Path(path.stem).suffix, max(ALWAYS_INFLATED, MAX_RATIO * size))


def copied(stream: Any, label: str, suffix: str, most: float = math.inf) -> Path:
    """A temporary file with what a stream gives, if that is no more than `most` bytes."""
    atexit.register(clean_up)
    count = 0
    with tempfile.NamedTemporaryFile(prefix="fewer-", suffix=suffix, delete=False) as copy:
        temporary.append(copy.name)
        try:
            while chunk := stream.read(CHUNK_BYTES):
                count += len(chunk)
                if count > most:
                    raise InvalidInput(f"{label}: is inflated to more than {amount(int(most))}; inflate it yourself")
                copy.write(chunk)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidInput(f"{label}: cannot be inflated: {error}") from None
        except OSError as error:
            raise OSError(error.errno, f"cannot be copied to {copy.name}: {error.strerror}", label) from None
    return Path(copy.name)


def kind_of(path: Path, label: str) -> str:
    """By its first bytes, then by its ending, then by whether its first line has tabs."""
    with path.open("rb") as file:
        start = file.read(SNIFFED_BYTES)
    for magic, kind in STARTS.items():
        if start.startswith(magic):
            return kind
    for magic, words in FOREIGN.items():
        if start.startswith(magic):
            raise InvalidInput(f"{label}: {words}")
    if path.suffix.lower() in ENDINGS and ENDINGS[path.suffix.lower()] in ("csv", "tsv"):
        return ENDINGS[path.suffix.lower()]
    if path.suffix.lower() in ENDINGS:
        raise InvalidInput(f"{label}: is damaged or is not a {ENDINGS[path.suffix.lower()]} file")
    line = start.split(b"\n", 1)[0]
    return "tsv" if line.count(b"\t") > line.count(b",") else "csv"


def open_table(file: str) -> Table:
    """The columns of a file; nothing but the head is read yet."""
    path, label = located(file)
    if path.stat().st_size == 0:
        raise InvalidInput(f"{label}: is empty; expected a table")
    kind = kind_of(path, label)
    if kind in ("npy", "npz"):
        from ._array import open_arrays

        return open_arrays(path, label)
    from ._frame import open_csv, open_parquet

    return open_parquet(path, label) if kind == "parquet" else open_csv(path, label, kind)
