"""What a user keeps: a few states and their weights."""

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .door import Indices, InvalidInput, Vector, as_units
from .spaces import Space

FORMAT, VERSION = "fewer.distribution", 1


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution with few states: `codes` (s, d) on the dimensions `dims` (d,), zero on all others.

    `shape` holds the cardinality of each of the n dimensions and `weights` (s,) sums to one. A state of
    one dimension (an atom) is written as a plain integer, one of several as a row of n.

    >>> from fewer import Lattice
    >>> d = Distribution.of(Lattice(3, 2), [0, 0.25, 0, 0.75, 0, 0, 0, 0])
    >>> d.states.tolist(), d.weights.tolist(), d.dims.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0.25, 0.75], [1, 2])
    >>> d.pmf([0, 1, 1]), d.expect(lambda x: x.sum())
    (0.75, 1.75)
    """

    codes: npt.NDArray[np.int64]
    weights: Vector
    dims: Indices
    shape: tuple[int, ...]

    @classmethod
    def of(cls, space: Space, p: npt.ArrayLike) -> "Distribution":
        """The non-zero part of the vector p on `space`."""
        table = np.asarray(p, np.float64).reshape(-1)
        support = np.flatnonzero(table)
        states = space.unravel(support)
        rows = states.reshape(support.size, -1)
        dims = np.flatnonzero(rows.any(axis=0))
        return cls(np.ascontiguousarray(rows[:, dims]), table[support], dims, space.cardinalities)

    @property
    def states(self) -> npt.NDArray[np.int64]:
        """The support states: (s, n), or (s,) when there is one dimension."""
        rows = np.zeros((self.weights.size, len(self.shape)), np.int64)
        rows[:, self.dims] = self.codes
        return rows if len(self.shape) > 1 else rows[:, 0]

    def __len__(self) -> int:
        return self.weights.size

    def __repr__(self) -> str:
        return f"Distribution({len(self)} states on {self.dims.size} of {len(self.shape)} dimensions)"

    @cached_property
    def _table(self) -> dict[bytes, float]:
        table: dict[bytes, float] = {}
        for code, weight in zip(self.codes, self.weights, strict=True):
            table[code.tobytes()] = table.get(code.tobytes(), 0.0) + float(weight)
        return table

    def pmf(self, x: npt.ArrayLike) -> Any:
        """The probability of a state, or of each of many; zero for one that was not kept."""
        rows = np.asarray(x)
        n = len(self.shape)
        if n == 1 and rows.shape[-1:] != (1,):
            rows = rows[..., None]
        if rows.shape[-1:] != (n,) or rows.dtype.kind not in "iub":
            raise InvalidInput(f"x must be integers of shape (..., {n}), got {rows.dtype} of shape {np.shape(x)}")
        flat = rows.reshape(-1, n).astype(np.int64)
        zero_elsewhere = np.delete(flat, self.dims, axis=1) == 0
        codes = np.ascontiguousarray(flat[:, self.dims])
        found = [self._table.get(code.tobytes(), 0.0) for code in codes]
        values = np.where(zero_elsewhere.all(axis=1), found, 0.0).reshape(rows.shape[:-1])
        return float(values) if values.ndim == 0 else values

    def sample(self, size: int, rng: Any = None) -> npt.NDArray[np.int64]:
        """`size` independent states; `rng` is a seed, a Generator or None."""
        draws = np.random.default_rng(rng).choice(len(self), size=size, p=self.weights)
        return self.states[draws]

    def expect(self, f: Callable[[Any], Any]) -> Any:
        """E f(X) = Σ p(x) f(x); f takes one state and returns a number or an array."""
        values = np.array([f(x) for x in self.states], np.float64)
        mean = np.tensordot(self.weights, values, axes=1)
        return float(mean) if mean.ndim == 0 else mean

    def marginal(self, dims: npt.ArrayLike) -> "Distribution":
        """The distribution of these dimensions alone, renumbered from zero in ascending order."""
        units = as_units(dims, len(self.shape), "dimensions")
        if units.size == 0:
            raise InvalidInput("marginal needs at least one dimension, got none")
        rows = self.states.reshape(len(self), -1)[:, units]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        weights = np.zeros(len(distinct))
        np.add.at(weights, inverse.reshape(-1), self.weights)
        used = np.flatnonzero(distinct.any(axis=0))
        return Distribution(distinct[:, used], weights, used, tuple(self.shape[i] for i in units))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "shape": list(self.shape),
            "states": self.states.tolist(),
            "weights": self.weights.tolist(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file, whole or not at all; nothing in it is pickled."""
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(
                    file,
                    format=np.array(FORMAT),
                    version=np.array(VERSION),
                    codes=self.codes,
                    weights=self.weights,
                    dims=self.dims,
                    shape=np.array(self.shape, np.int64),
                )
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Distribution":
        """Read what `save` wrote; a file that is damaged, newer or not ours is refused with a sentence."""
        try:
            with Path(path).open("rb") as file:
                loaded = np.load(file, allow_pickle=False)
                content = {name: loaded[name] for name in getattr(loaded, "files", ())}
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError) as error:
            raise InvalidInput(f"{path} is damaged or is not a distribution saved by fewer: {error}") from None
        if str(content.get("format")) != FORMAT:
            raise InvalidInput(f"{path} is not a distribution saved by fewer: it has no format entry {FORMAT!r}")
        if content.get("version") != VERSION:
            raise InvalidInput(f"{path} has version {content.get('version')}; this fewer reads version {VERSION}")
        return cls(**_checked(content, path))


def _checked(content: dict[str, npt.NDArray[Any]], path: object) -> dict[str, Any]:
    """The fields of a loaded file, if they make a distribution."""
    missing = {"codes", "weights", "dims", "shape"} - content.keys()
    if missing:
        raise InvalidInput(f"{path} is damaged: it lacks {', '.join(sorted(missing))}")
    codes, weights, dims, shape = (content[name] for name in ("codes", "weights", "dims", "shape"))
    integers = all(a.dtype.kind == "i" for a in (codes, dims, shape)) and weights.dtype.kind == "f"
    if not integers or codes.shape != (weights.size, dims.size) or weights.ndim != 1 or shape.ndim != 1:
        raise InvalidInput(f"{path} is damaged: its arrays do not fit together")
    inside = not dims.size or (dims.min() >= 0 and dims.max() < shape.size)
    if not inside or ((codes < 0) | (codes >= shape[dims])).any():
        raise InvalidInput(f"{path} is damaged: a state lies outside its space")
    if not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-6:
        raise InvalidInput(f"{path} is damaged: its weights are not a distribution (sum {weights.sum():.6g})")
    return {"codes": codes, "weights": weights, "dims": dims, "shape": tuple(int(c) for c in shape)}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
