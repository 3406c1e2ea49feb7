"""Distributions as plain data: dicts, JSON and npz files, read without trust (docs/distribution-format.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ._distribution_checks import as_integers
from ._validation import InvalidInput, as_indices, magnitude, shown
from .npy import stored_arrays

FORMAT, VERSION = "fewer.distribution", 2
FIELDS = ("codes", "weights", "dims", "shape", "rest", "origin")
ON_A_LINE = ("values", "edges")
"""Fields since version 2, and only where states have values."""
NEEDED = ("shape", "states", "weights")
Fields = dict[str, Any]


def check_version(form: Any, version: Any, label: str) -> None:
    """Refuse what is not ours, or of a version to come."""
    if form != FORMAT:
        raise InvalidInput(
            f"{label} is not a distribution saved by fewer: it has no format entry {FORMAT!r}"
        )
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        raise InvalidInput(
            f"{label} has version {shown(version)}; this fewer reads versions 1 to {VERSION}"
        )


def check_content(content: Any, label: str, needed: tuple[str, ...] = NEEDED) -> None:
    """Refuse what is not a dict of a distribution, is of a version to come, or lacks entries."""
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"{label} must be a dict with the entries of a distribution, got {shown(content)}"
        )
    check_version(content.get("format"), content.get("version"), label)
    missing = sorted(set(needed) - content.keys())
    if missing:
        raise InvalidInput(f"{label} is damaged: it lacks {', '.join(missing)}")


def fields_of(content: Mapping[str, Any]) -> Fields:
    """The arguments of a distribution, from its arrays or from lists with whole `states`."""
    given = {name: content[name] for name in (*FIELDS, *ON_A_LINE) if name in content}
    if "codes" in given:
        return given
    sizes = as_integers(content["shape"], "shape")
    n, none = sizes.size, np.zeros(sizes.shape, np.int64)
    if sizes.ndim != 1 or not n:
        raise InvalidInput(
            f"shape must list the entries of each dimension, got {shown(content['shape'])}"
        )
    origin = none if given.get("origin") is None else as_integers(given["origin"], "origin")
    dims = as_indices(
        range(n) if given.get("dims") is None else given["dims"], n, "dims", "dimensions"
    )
    states = as_integers(content["states"], "states")
    rows = states.reshape(-1, n) if n == 1 or not states.size else states
    if rows.ndim != 2 or rows.shape[1] != n or origin.shape != (n,) or dims.ndim != 1:
        raise InvalidInput(
            f"states must be rows of {n} integers, and origin one, got {states.shape}, {origin.shape}"
        )
    off = np.flatnonzero((np.delete(rows, dims, axis=1) != np.delete(origin, dims)).any(axis=1))
    if off.size:
        raise InvalidInput(f"state {off[0]} differs from the origin outside dims")
    return {**given, "codes": rows[:, dims], "dims": dims, "shape": sizes, "origin": origin}


def from_json(text: Any, label: str) -> Any:
    """What a JSON text says; numbers that JSON does not know are refused."""
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
    """The content of a file of ours, JSON by its ending or npz, of at most `most` bytes."""
    if path.suffix.lower() == ".json":
        text = from_json(read_text(path, most), str(path))
        check_content(text, str(path))
        return dict(text)
    content = read_arrays(path, most)
    for name in content.keys() & {"format", "version"}:
        content[name] = content[name].tolist()
    check_content(content, str(path), FIELDS)
    return content


def read_text(path: Path, most: int) -> bytes:
    """A whole file of at most `most` bytes."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InvalidInput(f"{path} would take more bytes of memory than max_bytes = {most}")
    return content


def read_arrays(path: Path, most: int) -> dict[str, Any]:
    """The arrays of a saved distribution, as they are in the file; more than `most` bytes are not unpacked."""

    def check(label: str, size: int, compressed: int) -> None:
        if size > most:
            raise InvalidInput(
                f"{path} would take {magnitude(size)} bytes of memory, more than max_bytes = {most}"
            )

    label = f"{path} is damaged or is not a distribution saved by fewer"
    stored = stored_arrays(path, label, ("format", "version", *FIELDS, *ON_A_LINE), check)
    return {name: array.data for name, array in stored.items() if name}


def write_npz(file: BinaryIO, fields: Mapping[str, Any]) -> None:
    """The fields as a compressed npz; nothing in it is pickled."""
    given = {name: fields[name] for name in (*FIELDS, *ON_A_LINE) if fields[name] is not None}
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in given.items()}
    np.savez_compressed(file, format=np.array(FORMAT), version=np.array(VERSION), **arrays)
