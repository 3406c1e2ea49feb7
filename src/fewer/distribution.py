"""What a user keeps: a few states and their weights."""

import math
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .door import Indices, InvalidInput, Vector, as_units, magnitude
from .files import written_whole
from .spaces import Space

FORMAT, VERSION = "fewer.distribution", 1
MOST_SPELLED = 2**20
"""A face with more states than this is not written out one by one."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution with few states: `codes` (s, d) on the dimensions `dims` (d,), `origin` on all others.

    `shape` holds the cardinality of each of the n dimensions, `origin` (n,) is zero unless given. `weights`
    (s,) and `rest` sum to one: `rest` is mass spread evenly over the states of the face {x : x = origin
    outside dims} that are not listed, however many they are. A state of one dimension (an atom) is written
    as a plain integer, one of several as a row of n.

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
    rest: float = 0.0
    origin: Any = None

    def __post_init__(self) -> None:
        origin = np.zeros(len(self.shape), np.int64) if self.origin is None else self.origin
        object.__setattr__(self, "origin", origin)

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
        """The listed states: (s, n), or (s,) when there is one dimension."""
        rows = np.tile(self.origin, (self.weights.size, 1))
        rows[:, self.dims] = self.codes
        return rows if len(self.shape) > 1 else rows[:, 0]

    def __len__(self) -> int:
        return self.weights.size

    def __repr__(self) -> str:
        rest = f", {self.rest:.3g} spread over the rest" if self.rest else ""
        return f"Distribution({len(self)} states on {self.dims.size} of {len(self.shape)} dimensions{rest})"

    @cached_property
    def _table(self) -> dict[bytes, float]:
        table: dict[bytes, float] = {}
        for code, weight in zip(self.codes, self.weights, strict=True):
            table[code.tobytes()] = table.get(code.tobytes(), 0.0) + float(weight)
        return table

    @cached_property
    def _unlisted(self) -> int:
        """How many states of the face are not listed."""
        return int(math.prod(self.shape[i] for i in self.dims)) - len(self._table)

    @property
    def _share(self) -> float:
        """The mass of one state that is not listed."""
        return float(Fraction(self.rest) / self._unlisted) if self.rest else 0.0

    def pmf(self, x: npt.ArrayLike) -> Any:
        """The probability of a state, or of each of many; zero for one that was not kept."""
        rows = np.asarray(x)
        n = len(self.shape)
        if n == 1 and rows.shape[-1:] != (1,):
            rows = rows[..., None]
        if rows.shape[-1:] != (n,) or rows.dtype.kind not in "iub":
            raise InvalidInput(f"x must be integers of shape (..., {n}), got {rows.dtype} of shape {np.shape(x)}")
        flat = rows.reshape(-1, n).astype(np.int64)
        on_face = np.delete(flat == self.origin, self.dims, axis=1).all(axis=1)
        on_face &= ((flat >= 0) & (flat < np.array(self.shape))).all(axis=1)
        codes = np.ascontiguousarray(flat[:, self.dims])
        found = [self._table.get(code.tobytes(), self._share) for code in codes]
        values = np.where(on_face, found, 0.0).reshape(rows.shape[:-1])
        return float(values) if values.ndim == 0 else values

    def sample(self, size: int, rng: Any = None) -> npt.NDArray[np.int64]:
        """`size` independent states; `rng` is a seed, a Generator or None."""
        generator = np.random.default_rng(rng)
        masses = np.append(self.weights, self.rest)
        draws = generator.choice(masses.size, size=size, p=masses / masses.sum())
        listed = draws < len(self)
        rows = np.tile(self.origin, (size, 1))
        rows[np.ix_(listed, self.dims)] = self.codes[draws[listed]]
        rows[np.ix_(~listed, self.dims)] = self._sample_rest(int((~listed).sum()), generator)
        return rows if len(self.shape) > 1 else rows[:, 0]

    def _sample_rest(self, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Uniform codes of the face that are not listed: drawn again while they are."""
        m = np.array([self.shape[i] for i in self.dims], np.int64)
        if size and len(self._table) > self._unlisted:  # few are left: list them and choose
            left = self._all_codes()[len(self) :]
            return left[rng.integers(len(left), size=size)]
        codes = np.empty((size, m.size), np.int64)
        wrong = np.arange(size)
        while wrong.size:
            codes[wrong] = rng.integers(0, m, (wrong.size, m.size))
            wrong = wrong[[code.tobytes() in self._table for code in codes[wrong]]]
        return codes

    def _all_codes(self) -> npt.NDArray[np.int64]:
        """Every code of the face, the listed ones first."""
        m = tuple(self.shape[i] for i in self.dims)
        if math.prod(m) > MOST_SPELLED:
            raise InvalidInput(
                f"mass lies on all {magnitude(math.prod(m))} states of the face, too many to go through; "
                f"use sample or pmf"
            )
        every = np.indices(m).reshape(len(m), -1).T.astype(np.int64)
        fresh = [code.tobytes() not in self._table for code in np.ascontiguousarray(every)]
        return np.concatenate([self.codes, every[fresh]])

    def spelled_out(self) -> "Distribution":
        """The same distribution with every state of the face listed and no `rest`."""
        if not self.rest:
            return self
        codes = self._all_codes()
        weights = np.append(self.weights, np.full(len(codes) - len(self), self._share))
        return Distribution(codes, weights, self.dims, self.shape, origin=self.origin)

    def expect(self, f: Callable[[Any], Any]) -> Any:
        """E f(X) = Σ p(x) f(x); f takes one state and returns a number or an array."""
        whole = self.spelled_out()
        values = np.array([f(x) for x in whole.states], np.float64)
        mean = np.tensordot(whole.weights, values, axes=1)
        return float(mean) if mean.ndim == 0 else mean

    def marginal(self, dims: npt.ArrayLike) -> "Distribution":
        """The distribution of these dimensions alone, renumbered from zero in ascending order."""
        units = as_units(dims, len(self.shape), "dimensions")
        if units.size == 0:
            raise InvalidInput("marginal needs at least one dimension, got none")
        whole = self.spelled_out()
        rows = whole.states.reshape(len(whole), -1)[:, units]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        weights = np.zeros(len(distinct))
        np.add.at(weights, inverse.reshape(-1), whole.weights)
        origin = self.origin[units]
        used = np.flatnonzero((distinct != origin).any(axis=0))
        shape = tuple(self.shape[i] for i in units)
        return Distribution(np.ascontiguousarray(distinct[:, used]), weights, used, shape, origin=origin)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "shape": list(self.shape),
            "states": self.states.tolist(),
            "weights": self.weights.tolist(),
            "rest": self.rest,
            "dims": self.dims.tolist(),
            "origin": self.origin.tolist(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file, whole or not at all; nothing in it is pickled."""
        with written_whole(path) as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                codes=self.codes,
                weights=self.weights,
                dims=self.dims,
                shape=np.array(self.shape, np.int64),
                rest=np.array(self.rest),
                origin=self.origin,
            )

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
    names = ("codes", "weights", "dims", "shape", "rest", "origin")
    missing = set(names) - content.keys()
    if missing:
        raise InvalidInput(f"{path} is damaged: it lacks {', '.join(sorted(missing))}")
    codes, weights, dims, shape, rest, origin = (content[name] for name in names)
    kinds = "".join(a.dtype.kind for a in (codes, weights, dims, shape, rest, origin))
    one_axis = weights.ndim == dims.ndim == shape.ndim == 1 and rest.ndim == 0
    if kinds != "ifiifi" or not one_axis or codes.shape != (weights.size, dims.size) or origin.shape != shape.shape:
        raise InvalidInput(f"{path} is damaged: its arrays do not fit together")
    inside = not dims.size or (dims.min() >= 0 and dims.max() < shape.size)
    if not inside or ((codes < 0) | (codes >= shape[dims])).any() or ((origin < 0) | (origin >= shape)).any():
        raise InvalidInput(f"{path} is damaged: a state lies outside its space")
    total = weights.sum() + rest
    if not (weights >= 0).all() or not rest >= 0 or not abs(total - 1) <= 1e-6:
        raise InvalidInput(f"{path} is damaged: its weights are not a distribution (sum {total:.6g})")
    fields = {"codes": codes, "weights": weights, "dims": dims, "origin": origin}
    return {**fields, "rest": float(rest), "shape": tuple(int(c) for c in shape)}
