"""Which format a file has: by its first bytes, then by its ending.

What is not read is refused before it is.
"""

from pathlib import Path

from .._validation import InvalidInput

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
FOREIGN = {
    b"x\x01": "zlib; expected gzip, bzip2, zstd or xz",
    b"x\x9c": "zlib; expected gzip, bzip2, zstd or xz",
    b"x\xda": "zlib; expected gzip, bzip2, zstd or xz",
    b"\xd0\xcf\x11\xe0": "an old office document, such as xls; save the sheet as xlsx or csv",
    b"%PDF": "pdf",
    b"\x89HDF": "hdf5; save it as parquet or npz",
    b"\xff\xff\xff\xff": "a stream of arrow; write it as a file (.arrow, .parquet)",
    b"Obj\x01": "avro; save it as parquet",
    b"\x80\x04\x95": "pickle, which is never unpickled; save it as parquet or npz",
    b"\x80\x05\x95": "pickle, which is never unpickled; save it as parquet or npz",
}
"""Files that are not read, by how they start, and what to say."""
HINTS = {
    ".json": "json; write one object per line (.jsonl)",
    ".xls": "xls; save the sheet as xlsx or csv",
    ".pkl": "pickle, which is never unpickled; save it as parquet or npz",
    ".pickle": "pickle, which is never unpickled; save it as parquet or npz",
}
READ = (
    "csv, tsv, parquet, feather, arrow, xlsx, jsonl, sqlite, npy or npz, or one of them compressed"
)
SNIFFED_BYTES = 65536
MAX_ZERO_SHARE = 0.02
"""The share of zero bytes up to which bytes are text: a name may hold one."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def unsupported(label: str, what: str) -> InvalidInput:
    """The sentence about a format that is not read."""
    hint = "" if ";" in what else f"; expected {READ}"
    return InvalidInput(f"{label}: format not supported: {what}{hint}")


def start_of(path: Path) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)


def check_text(start: bytes, label: str) -> None:
    """Refuse what is not text."""
    for magic, words in FOREIGN.items():
        if start.startswith(magic):
            raise unsupported(label, words)


def format_of(path: Path, label: str) -> str:
    """By its first bytes, then by its ending.

    Without an ending a line that opens a brace is jsonl.
    """
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
    """Tell what a zip file holds: arrays or a workbook."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return (
            "xlsx" if path.suffix.lower() == ".xlsx" else "npz"
        )  # whose reader says what is wrong
    if "xl/workbook.xml" in names:
        return "xlsx"
    if any(name.endswith(".npy") for name in names) or path.suffix.lower() == ".npz":
        return "npz"
    raise unsupported(label, "zip; unpack it")


def encoding_of(start: bytes, label: str) -> str | None:
    """The encoding of a text that is not UTF-8, by its byte order mark or its zero bytes.

    None where it may be.
    """
    if start.startswith(UTF16_MARKS):
        return "utf-16"
    sample = start[:4000]
    if sample.count(0) <= MAX_ZERO_SHARE * len(sample):
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if max(even, odd) > 0.4 * len(sample) / 2 and min(even, odd) < 0.05 * len(sample):
        return "utf-16-be" if even > odd else "utf-16-le"
    raise unsupported(label, "bytes that are no text")
