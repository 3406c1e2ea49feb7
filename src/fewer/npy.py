"""npy and npz files, read without trusting them: nothing is unpickled, nothing is inflated before its size is known."""

import errno
import math
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

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
    """An array in a file: type and shape are known, the data are read when `data` is first asked for."""

    dtype: Any
    shape: tuple[int, ...]
    load: Callable[[], Any]

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
        """The array itself, read-only."""
        return self.load()


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
    with readable(label, "npz" if packed else "npy"):
        return _archive(path, label, names, check) if packed else {"": _single(path, label)}


@contextmanager
def readable(label: str, kind: str) -> Iterator[None]:
    """What parsers say about a broken file, whatever they raise, as a sentence that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of old versions
            yield
    except InvalidInput:
        raise
    except Exception as error:
        damage = (
            None,
            errno.EINVAL,
        )  # a damaged archive sends its reader to a place before its start
        if isinstance(error, OSError) and error.errno not in damage:
            raise
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        if isinstance(error, zlib.error):
            reason = "what it holds in compressed form is damaged"
        elif isinstance(error, OSError) and error.errno == errno.EINVAL:
            reason = "its list of members is damaged"
        raise InvalidInput(f"{label}: cannot be read as {kind}: {reason}") from None


def _single(path: Path, label: str) -> StoredArray:
    """The array of an npy file, mapped into memory when it is read."""
    with path.open("rb") as file:
        dtype, shape = _header(file, label)
        start, size = file.tell(), os.fstat(file.fileno()).st_size
    array = StoredArray(dtype, shape, partial(_loaded, path, label, None))
    if array.nbytes > size - start:
        raise InvalidInput(
            f"{label}: is cut short: its head declares {amount(array.nbytes)}, {size - start} bytes follow"
        )
    return array


def _archive(
    path: Path, label: str, names: Collection[str] | None, check: Check
) -> dict[str, StoredArray]:
    """The arrays of an npz file, or those of them that have one of these names."""
    with zipfile.ZipFile(path) as archive:
        members = _chosen(archive, label, names)
        check(label, sum(member.file_size for member in members), path.stat().st_size)
        found: dict[str, StoredArray] = {}
        refused = None
        for member in members:
            name = member.filename.removesuffix(".npy")
            try:
                found[name] = _member(archive, member, path, f"{label}, array {name!r}")
            except UnusableType as error:
                refused = error
    if refused is not None and (names is not None or not found):
        raise refused
    return found


def _chosen(
    archive: zipfile.ZipFile, label: str, names: Collection[str] | None
) -> list[zipfile.ZipInfo]:
    """The members that are arrays, and have one of these names."""
    if "[Content_Types].xml" in archive.namelist():
        raise InvalidInput(f"{label}: is an office document, such as xlsx; save the sheet as csv")
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    if names is not None:
        members = [member for member in members if member.filename.removesuffix(".npy") in names]
    if len({member.filename for member in members}) < len(members):
        raise InvalidInput(f"{label}: has two arrays of the same name")
    return members


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, label: str
) -> StoredArray:
    """One array of an npz file."""
    with archive.open(member) as file:
        dtype, shape = _header(file, label)
        start = file.tell()
    array = StoredArray(dtype, shape, partial(_loaded, path, label, member.filename))
    if start + array.nbytes != member.file_size:
        left = member.file_size - start
        raise InvalidInput(
            f"{label}: its head declares {amount(array.nbytes)}, the archive {amount(left)}"
        )
    return array


def _loaded(path: Path, label: str, member: str | None) -> Any:
    """An array whose declared size was checked: of npz a member is read, npy is mapped into memory."""
    with readable(label, "npy" if member is None else "npz"):
        if member is None:
            return unicode_only(np.load(path, mmap_mode="r", allow_pickle=False))
        with np.load(path, allow_pickle=False) as archive:
            return unicode_only(archive[member])


def unicode_only(array: Any) -> Any:
    """`array`; texts that are not Unicode, which would break whatever shows them, are refused."""
    if array.dtype.kind == "U" and array.size:
        codes = array.ravel(order="K").view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if int(codes.max()) > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError("its texts are not Unicode")
    return array


def _header(file: BinaryIO | Any, label: str) -> tuple[Any, tuple[int, ...]]:
    """Type and shape of an array, as its head declares them."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        declared, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        declared, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise InvalidInput(
            f"{label}: is in version {version[0]}.{version[1]} of npy; expected 1.0 or 2.0"
        )
    if dtype.hasobject:
        raise UnusableType(
            f"{label}: holds Python objects, which are never unpickled; expected numbers or texts"
        )
    if dtype.char not in SIMPLE or dtype.itemsize == 0:
        raise UnusableType(f"{label}: holds {str(dtype)[:60]}; expected numbers or texts")
    shape = tuple(int(length) for length in declared)
    if any(length < 0 for length in shape):
        raise InvalidInput(f"{label}: declares a shape with negative numbers, {shape}")
    return dtype, shape


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

        sizes += [
            limit
            for limit in resource.getrlimit(resource.RLIMIT_AS)
            if limit != resource.RLIM_INFINITY
        ]
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        sizes += [int(limit)] if limit.isdigit() else []
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
