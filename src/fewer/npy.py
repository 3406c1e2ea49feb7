"""npy and npz files, read without trusting them: nothing is unpickled, nothing is inflated before its size is known."""

import math
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ._validation import InvalidInput

MAX_RATIO = 200
"""Times its size on disk that a file may be inflated to ..."""
ALWAYS_INFLATED = 1 << 28
"""... unless it is inflated to fewer bytes than this."""
SIMPLE = "?bhilqBHILQefdgFDGSUMm"
"""Types of arrays that hold numbers, texts or times; no objects and no records."""
Check = Callable[[str, int, int], None]


class UnusableType(InvalidInput):
    """An array of something else than numbers, texts or times."""


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array in a file: type and shape are known, the data are read when `data` is first asked for.

    `member` is its name in an npz file, None in an npy file.
    """

    path: Path
    label: str
    member: str | None
    dtype: Any
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the header declares."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @cached_property
    def data(self) -> Any:
        """The array itself, read-only: of npz a member is read, npy is mapped into memory."""
        with readable(self.label, "npy" if self.member is None else "npz"):
            stored = np.load(self.path, None if self.member else "r", allow_pickle=False)
            if self.member is None:
                return unicode_only(stored)
            with stored as archive:
                return unicode_only(archive[self.member])


def check_inflated(label: str, size: int, compressed: int) -> None:
    """Refuse what would fill the memory: more than there is, or far more than honest data are compressed by."""
    if size > ALWAYS_INFLATED and size > MAX_RATIO * compressed:
        hint = "if it is meant so, store it uncompressed (numpy.savez)"
        raise InvalidInput(
            f"{label}: would be inflated from {amount(compressed)} to {amount(size)}; {hint}"
        )
    check_memory(label, size)


def stored_arrays(
    path: Path, label: str, names: Collection[str] | None = None, check: Check = check_inflated
) -> dict[str, StoredArray]:
    """The arrays of an npz file by their names, or the one of an npy file under the name ``""``.

    Only headers are read. Members that are no arrays, or arrays of Python objects or records, are
    passed over if there are others; what is damaged, encrypted, or declares more than it can hold
    is refused. With `names` the other members are not looked at, and none is passed over. `check`
    (label, bytes, bytes on disk) refuses what is too large.
    """
    with path.open("rb") as file:
        packed = file.read(4) == b"PK\x03\x04"
        file.seek(0)
        if not packed:
            size = os.fstat(file.fileno()).st_size
            with readable(label, "npy"):
                return {"": _declared(file, size, path, label, None)}
    with readable(label, "npz"), zipfile.ZipFile(path) as archive:
        return _members(archive, path, label, names, check)


def _members(
    archive: zipfile.ZipFile, path: Path, label: str, names: Collection[str] | None, check: Check
) -> dict[str, StoredArray]:
    """The arrays of an npz file, or those of them that have one of these names."""
    members = [
        (member.filename.removesuffix(".npy"), member)
        for member in archive.infolist()
        if member.filename.endswith(".npy")
        and (names is None or member.filename.removesuffix(".npy") in names)
    ]
    if len(dict(members)) < len(members):
        raise InvalidInput(f"{label}: has two arrays of the same name")
    check(label, sum(member.file_size for _, member in members), path.stat().st_size)
    arrays: dict[str, StoredArray] = {}
    refused = None
    for name, member in members:
        with archive.open(member) as file:
            called = f"{label}, array {name!r}"
            try:
                arrays[name] = _declared(file, member.file_size, path, called, member.filename)
            except UnusableType as error:
                refused = error
    if refused is not None and (names is not None or not arrays):
        raise refused
    return arrays


@contextmanager
def readable(label: str, kind: str) -> Iterator[None]:
    """Turn what parsers raise about a broken file into an error that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of old versions
            yield
    except (InvalidInput, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        if isinstance(error, zlib.error | OSError):
            reason = "what it holds in compressed form is damaged"
        raise InvalidInput(f"{label}: cannot be read as {kind}: {reason}") from None


def _declared(file: Any, size: int, path: Path, label: str, member: str | None) -> StoredArray:
    """An array by its head; one that declares other bytes than follow is refused."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        declared, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        declared, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise InvalidInput(
            f"{label}: is in version {version[0]}.{version[1]} of npy; expected 1.0 or 2.0"
        )
    shape = tuple(int(length) for length in declared)
    if dtype.hasobject:
        raise UnusableType(
            f"{label}: holds Python objects, which are never unpickled; expected numbers or texts"
        )
    if dtype.char not in SIMPLE or dtype.itemsize == 0:
        raise UnusableType(f"{label}: holds {str(dtype)[:60]}; expected numbers or texts")
    if any(length < 0 for length in shape):
        raise InvalidInput(f"{label}: declares a shape with negative numbers, {shape}")
    array, left = StoredArray(path, label, member, dtype, shape), size - file.tell()
    if array.nbytes > left or (member is not None and array.nbytes != left):
        owner = "file" if member is None else "archive"
        raise InvalidInput(
            f"{label}: its head declares {amount(array.nbytes)}, the {owner} {amount(left)}"
        )
    return array


def unicode_only(array: Any) -> Any:
    """`array`; texts that are not Unicode, which would break whatever shows them, are refused."""
    if array.dtype.kind == "U" and array.size:
        codes = array.ravel(order="K").view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if int(codes.max()) > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError("its texts are not Unicode")
    return array


def check_memory(label: str, size: int) -> None:
    """Refuse what is larger than the memory of this machine."""
    if size > memory():
        raise InvalidInput(
            f"{label}: needs {amount(size)} of memory, this machine has {amount(memory())}"
        )


def memory() -> int:
    """The bytes of memory that this process may use: of the machine, or of the limit set for it."""
    sizes = [1 << 62]
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        sizes += [limit] if limit != resource.RLIM_INFINITY else []
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        group = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        sizes += [int(group)] if group.isdigit() else []
    except (ImportError, OSError, ValueError):
        pass
    return min(sizes)


def amount(size: int) -> str:
    """A number of bytes for people.

    >>> amount(999), amount(123_456_789), amount(10**30)
    ('999 bytes', '123 MB', '1e+21 GB')
    """
    if size < 1000:
        return f"{size} bytes"
    unit, factor = ("kB", 1e3) if size < 1e6 else ("MB", 1e6) if size < 1e9 else ("GB", 1e9)
    return f"{size / factor:.3g} {unit}"
