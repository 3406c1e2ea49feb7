"""Distributions as plain data: dicts, JSON and npz files, read without trust (docs/distribution-format.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ._validation import Indices, InvalidInput, as_indices, as_numbers, magnitude, shown
from .npy import stored_arrays

FORMAT, VERSION = "fewer.distribution", 2
FIELDS = ("codes", "weights", "dims", "shape", "rest", "origin")
ON_A_LINE = ("values", "edges")
"""Fields since version 2, and only where states have values."""


def as_integers(x: Any, name: str) -> Indices:
    """Return `x` as int64 of any shape, in C order.

    Whatever integer type and byte order it came in.
    """
    array = as_numbers(x, name)
    if array.size and (array.dtype.kind not in "iu" or int(array.max()) >= 2**63):
        raise InvalidInput(f"{name} must hold integers below 2^63, got {array.dtype} ({shown(x)})")
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


def check_content(
    content: Any, label: str, needed: tuple[str, ...] = ("shape", "states", "weights")
) -> None:
    """Refuse what is not a dict of a distribution, is of a version to come, or lacks entries."""
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"{label} must be a dict with the entries of a distribution, got {shown(content)}"
        )
    if content.get("format") != FORMAT:
        raise InvalidInput(
            f"{label} is not a distribution saved by fewer: it has no format entry {FORMAT!r}"
        )
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        raise InvalidInput(
            f"{label} has version {shown(version)}; this fewer reads versions 1 to {VERSION}"
        )
    missing = sorted(name for name in needed if content.get(name) is None)
    if missing:
        raise InvalidInput(f"{label} is damaged: it lacks {', '.join(missing)}")


def fields_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a distribution, from its arrays or from lists with whole `states`."""
    names = [name for name in (*FIELDS, *ON_A_LINE) if content.get(name) is not None]
    fields = {name: content[name] for name in names}
    if "codes" in fields:
        return fields
    shape = as_integers(content["shape"], "shape")
    n = shape.size
    if shape.ndim != 1 or not n:
        raise InvalidInput(
            f"shape must list the entries of each dimension, got {shown(content['shape'])}"
        )
    origin = as_integers(fields.get("origin", 0 * shape), "origin")
    dims = as_indices(fields.get("dims", range(n)), n, "dims", "dimensions")
    states = as_integers(content["states"], "states")
    rows = states.reshape(-1, n) if n == 1 or not states.size else states
    if rows.ndim != 2 or rows.shape[1] != n or origin.shape != (n,) or dims.ndim != 1:
        raise InvalidInput(
            f"states must be rows of {n} integers, and origin one, got {states.shape},"
            f" {origin.shape}"
        )
    off = np.delete(rows != origin, dims, axis=1).any(axis=1)
    if off.any():
        raise InvalidInput(f"state {off.argmax()} differs from the origin outside dims")
    return {**fields, "codes": rows[:, dims], "dims": dims, "shape": shape, "origin": origin}


def from_json(text: Any, label: str) -> Any:
    """Read a JSON text; numbers that JSON does not know are refused."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise InvalidInput(f"{label} must be JSON text, got {shown(text)}")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InvalidInput(f"{label} cannot be read as JSON: {reason}") from None


def read(path: Path, most: int) -> Mapping[str, Any]:
    """Return the content of a file of ours, JSON by its ending or npz, of at most `most` bytes."""
    if path.suffix.lower() == ".json":
        with path.open("rb") as file:
            text = file.read(most + 1)
        if len(text) > most:
            raise InvalidInput(f"{path} would take more bytes of memory than max_bytes = {most}")
        content = from_json(text, str(path))
        check_content(content, str(path))
        return dict(content)
    content = read_arrays(path, most)
    for name in content.keys() & {"format", "version"}:
        content[name] = content[name].tolist()
    check_content(content, str(path), FIELDS)
    return content


def read_arrays(path: Path, most: int) -> dict[str, Any]:
    """Return the arrays of a saved distribution, as they are in the file.

    More than `most` bytes are not unpacked.
    """

    def check(label: str, size: int, compressed: int) -> None:
        if size > most:
            raise InvalidInput(
                f"{path} would take {magnitude(size)} bytes of memory, more than max_bytes = {most}"
            )

    label = f"{path} is damaged or is not a distribution saved by fewer"
    stored = stored_arrays(path, label, ("format", "version", *FIELDS, *ON_A_LINE), check)
    return {name: array.data for name, array in stored.items() if name}


def write_npz(file: BinaryIO, fields: Mapping[str, Any]) -> None:
    """Write the fields as a compressed npz; nothing in it is pickled."""
    names = [name for name in (*FIELDS, *ON_A_LINE) if fields[name] is not None]
    arrays: dict[str, Any] = {name: np.asarray(fields[name]) for name in names}
    np.savez_compressed(file, format=np.array(FORMAT), version=np.array(VERSION), **arrays)
