"""Files are written whole or not at all."""

import errno
import importlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""Locks; not on Windows, where a file that is open cannot be removed by others."""
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
_begun: dict[Path, int] = {}
"""Parts that were begun and not ended, and the process that did: known before they are there."""


@contextmanager
def written_whole(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when the block ends well and vanishes when it does not.

    A symbolic link is written through: the file it leads to is replaced and the link stays. The
    mode of a file that is replaced is kept. Pipes, devices and folders are refused. What killed
    writers of the same file left behind is removed. Errors are OSErrors that name `path`.

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
        remove_stale(target)
        file, part = _new_part(target)
        try:
            yield file
            _finish(file, part, target, replace)
            file.close()
        except BaseException:
            with suppress(OSError):  # of a full disk, again, for what is still in the buffer
                file.close()
            _discard(part)
            raise
        _begun.pop(part, None)
        _flush_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """That a file can be written here, found out by beginning one; an OSError that names `path` where it cannot."""
    with _named(path):
        file, part = _new_part(destination(path))
        file.close()
        _discard(part)


def remove_begun() -> None:
    """Remove what this process has begun to write, for a process that ends at once."""
    for part, process in list(_begun.items()):
        if process == os.getpid():  # a forked one knows of its parent's too
            with suppress(OSError):
                _discard(part)


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _begun.pop(part, None)


def destination(path: str | os.PathLike[str]) -> Path:
    """The regular file, there or not, that a path leads to; an OSError where it leads to something else."""
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


def remove_stale(target: Path) -> None:
    """Remove the parts of `target` that no living process holds."""
    part = re.compile(re.escape(_part_prefix(target)) + r"[a-z0-9_]{8}\.part")
    with suppress(OSError):
        for name in filter(part.fullmatch, os.listdir(target.parent)):
            with suppress(OSError):
                _remove_unheld(target.parent / name)


def _remove_unheld(part: Path) -> None:
    """Remove a part unless its writer lives; the lock of a writer goes with it, however it ends."""
    handle = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
    finally:
        os.close(handle)
    if fcntl is None:
        part.unlink()


def _part_prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:LONGEST])}."


def _new_part(target: Path) -> tuple[BinaryIO, Path]:
    """A new file beside the target, held by a lock as long as it is open."""
    while True:
        part = target.parent / f"{_part_prefix(target)}{secrets.token_hex(4)}.part"
        _begun[part] = os.getpid()
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(part, flags, 0o666)  # less what the umask takes away
            if _held(handle, part):
                return os.fdopen(handle, "wb"), part
            os.close(handle)
            _begun.pop(part)
        except FileExistsError:  # somebody else's
            _begun.pop(part)
        except BaseException:
            _discard(part)
            raise


def _held(handle: int, part: Path) -> bool:
    """Whether the new part is locked and still there: it might have been taken for a stale one before it was."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return part.stat().st_ino == os.fstat(handle).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks, where stale parts stay
        return True


def _finish(file: BinaryIO, part: Path, target: Path, replace: bool) -> None:
    """Give a part that is on the disk the name of its target."""
    file.flush()
    _flush(file.fileno())
    with suppress(FileNotFoundError):
        part.chmod(stat.S_IMODE(target.stat().st_mode))
    if fcntl is None:
        file.close()  # Windows renames closed files only
    if replace:
        part.replace(target)
    else:
        _link(part, target)


def _link(part: Path, target: Path) -> None:
    """Rename, unless the target is there."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        part.replace(target)
    else:
        part.unlink()


def _flush(handle: int) -> None:
    """Wait until a file is on the disk, where the file system can say so."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def _flush_folder(folder: Path) -> None:
    """Wait until a new name is on the disk, where the system can say so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
