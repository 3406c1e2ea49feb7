"""Arrays out of an npz file that nobody vouches for: nothing is unpickled, and sizes are checked before unpacking."""

import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ._validation import InvalidInput, magnitude, shown

HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: str | os.PathLike[str], names: tuple[str, ...], most: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an npz file that have one of these names; together they take at most `most` bytes.

    What is not such a file, or is damaged, gets a sentence; that it is absent or may not be read is an `OSError`.
    """
    with as_path(path).open("rb") as file:
        try:
            return _members(file, names, most)
        except InvalidInput as error:
            raise InvalidInput(f"{path} {error}") from None
        except Exception as error:  # zip files and headers break in many ways
            raise InvalidInput(f"{path} is damaged or is not a distribution saved by fewer") from error


def as_path(path: Any) -> Path:
    """`path` as a Path, if a file can have such a name."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInput(f"path must be the name of a file, got {shown(path)}")
    return Path(name)


def _members(file: BinaryIO, names: tuple[str, ...], most: int) -> dict[str, npt.NDArray[Any]]:
    if file.read(6) == b"\x93NUMPY":
        return {}
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        listed = set(archive.namelist())
        found = [name for name in names if f"{name}.npy" in listed]
        size = sum(max(_declared(archive, name), archive.getinfo(f"{name}.npy").file_size) for name in found)
        if size > most:
            raise InvalidInput(f"would take {magnitude(size)} bytes of memory, more than max_bytes = {most}")
        return {name: _array(archive, name) for name in found}


def _declared(archive: zipfile.ZipFile, name: str) -> int:
    """The bytes of an array as its header declares them; objects, which would be unpickled, are refused."""
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        if version not in HEADERS:
            raise InvalidInput(f"is damaged: {name} has a header of version {version}")
        shape, _, dtype = HEADERS[version](member)
    if dtype.hasobject:
        raise InvalidInput(f"is damaged: {name} holds Python objects, which are never unpickled")
    if any(not isinstance(length, int) or length < 0 for length in shape):
        raise InvalidInput(f"is damaged: {name} has the shape {shown(shape)}")
    size = int(dtype.itemsize)
    for length in shape:
        size *= length
    return size


def _array(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """One array, read to the end of its member, so that its checksum is compared."""
    with archive.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise InvalidInput(f"is damaged: {name} is longer than its header says")
    return np.asarray(array)
