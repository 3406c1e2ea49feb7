"""Files are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when the block ends well and vanishes when it does not.

    >>> with tempfile.TemporaryDirectory() as folder, written_whole(Path(folder) / "a.txt") as file:
    ...     _ = file.write(b"all of it")
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
