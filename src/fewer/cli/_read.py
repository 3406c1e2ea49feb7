"""Files at the door: which kind they are, and a table of their columns that is read when asked."""

import atexit
import sys
import tempfile
from pathlib import Path

from ..door import InvalidInput
from ._table import Table

ENDINGS = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".npy": "npy", ".npz": "npz"}
STARTS = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}
TASTE = 65536


def located(file: str) -> tuple[Path, str]:
    """Where the bytes are and what to call them; stdin is copied to a file that goes when we do."""
    if file != "-":
        path = Path(file)
        if path.is_dir():
            raise InvalidInput(f"{file}: is a folder; give a csv, tsv, parquet, npy or npz file")
        if not path.exists():
            raise InvalidInput(f"{file}: there is no such file")
        return path, file
    with tempfile.NamedTemporaryFile(prefix="fewer-", suffix=".stdin", delete=False) as copy:
        atexit.register(Path(copy.name).unlink, missing_ok=True)
        while chunk := sys.stdin.buffer.read(1 << 20):
            copy.write(chunk)
    return Path(copy.name), "standard input"


def kind_of(path: Path) -> str:
    """By its first bytes, then by its ending, then by whether its first line has tabs."""
    with path.open("rb") as file:
        start = file.read(TASTE)
    for magic, kind in STARTS.items():
        if start.startswith(magic):
            return kind
    if path.suffix.lower() in ENDINGS and ENDINGS[path.suffix.lower()] in ("csv", "tsv"):
        return ENDINGS[path.suffix.lower()]
    if path.suffix.lower() in ENDINGS:
        raise InvalidInput(f"{path}: is damaged or is not a {ENDINGS[path.suffix.lower()]} file")
    line = start.split(b"\n", 1)[0]
    return "tsv" if line.count(b"\t") > line.count(b",") else "csv"


def open_table(file: str) -> Table:
    """The columns of a file; nothing but the head is read yet."""
    path, label = located(file)
    if path.stat().st_size == 0:
        raise InvalidInput(f"{label}: is empty; expected a table")
    kind = kind_of(path)
    if kind in ("npy", "npz"):
        from ._array import open_arrays

        return open_arrays(path, label)
    from ._frame import open_csv, open_parquet

    return open_parquet(path, label) if kind == "parquet" else open_csv(path, label, kind)
