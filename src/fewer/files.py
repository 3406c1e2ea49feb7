"""Files are written whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SPECIAL = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a named pipe, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
    stat.S_IFSOCK: "is a socket, not a file",
}
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
"""What file systems say that have no links, or where nothing can be flushed to the disk."""
LONGEST = 200
"""Bytes of the target's name in the name of its part."""
_begun: set[Path] = set()
"""Parts that were begun and not ended."""


@contextmanager
def written_whole(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when the block ends well and vanishes when it does not.

    A symbolic link is written through: the file it leads to is replaced and the link stays. The
    mode of a file that is replaced is kept. Pipes, devices and folders are refused. Errors are
    OSErrors that name `path`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, written_whole(Path(folder) / "a.txt") as file:
    ...     _ = file.write(b"all of it")

    Parameters
    ----------
    path : path
        Where the file is to be.
    replace : bool
        Whether a file that is there may be replaced; if not, FileExistsError.
    """
    with _named(path):
        target = destination(path)
        file, part = _new_part(target)
        try:
            with file:
                yield file
                file.flush()
                _flush(file.fileno())
            with suppress(FileNotFoundError):
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            if replace:
                part.replace(target)
            else:
                _link(part, target)
        finally:
            _discard(part)
        with suppress(OSError):  # where folders cannot be flushed
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Begin a file here, and leave none; an OSError that names `path` where that cannot be."""
    with _named(path):
        file, part = _new_part(destination(path))
        file.close()
        _discard(part)


def remove_begun() -> None:
    """Remove what this process has begun to write, for a process that ends at once."""
    for part in list(_begun):
        with suppress(OSError):
            _discard(part)


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _begun.discard(part)


def destination(path: str | os.PathLike[str]) -> Path:
    """The regular file, there or not, that a path leads to.

    An OSError where it leads to something else.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "is a symbolic link that leads to itself", str(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, SPECIAL.get(stat.S_IFMT(mode), "is not a file"), str(path))
    return target


def _new_part(target: Path) -> tuple[BinaryIO, Path]:
    """A new file beside the target."""
    name = os.fsdecode(os.fsencode(target.name)[:LONGEST])
    part = target.parent / f".{name}.{secrets.token_hex(4)}.part"
    _begun.add(part)
    try:
        return part.open("xb"), part
    except BaseException:
        _begun.discard(part)
        raise


def _link(part: Path, target: Path) -> None:
    """Give a part the name of its target, unless that is there."""
    try:
        os.link(part, target)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        part.replace(target)


def _flush(handle: int) -> None:
    """Wait until a file is on the disk, where the file system can say so."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system name the file that was asked for: not its part, where a link leads, or nothing."""
    try:
        yield
    except OSError as error:
        named = os.path.realpath(path) if error.filename is None else str(error.filename)
        if error.errno is None or not (named.endswith(".part") or named == os.path.realpath(path)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
