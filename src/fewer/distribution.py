"""What a user keeps: a few states and their weights."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_distribution,
    as_generator,
    as_integer,
    as_number,
    as_numbers,
    as_units,
    as_vector,
    magnitude,
    shown,
)
from .archive import as_path, read_arrays
from .files import written_whole
from .spaces import Lattice, Space, as_space
from .tables import physical_memory

FORMAT, VERSION = "fewer.distribution", 1
FIELDS = ("codes", "weights", "dims", "shape", "rest", "origin")
MOST_SPELLED = 2**20
"""A face with more states than this is not written out one by one."""
MOST_BYTES = 2**30
"""A file that would take more memory than this is only loaded when `max_bytes` says so."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution with few states, on a face {x : x = origin outside dims}.

        P(x) = the weight of x where it is listed, rest / (number of states not listed) elsewhere on the face, else 0

    A state of one dimension (an atom) is written as a plain integer, one of several as a row of n.

    Parameters
    ----------
    codes : array of int of shape (s, d)
        The listed states, on the dimensions `dims`.
    weights : array of shape (s,)
        Their masses; with `rest` they sum to one.
    dims : array of int of shape (d,)
        The dimensions of the face.
    shape : tuple of int
        The cardinality of each of the n dimensions.
    rest : float
        Mass spread evenly over the states of the face that are not listed, however many they are.
    origin : array of int of shape (n,), optional
        The state outside `dims`; zero unless given.

    Attributes
    ----------
    states : ndarray of int of shape (s, n), or (s,) for one dimension
        The listed states, whole.

    Examples
    --------
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
        weights = as_array(self.weights, "weights")
        sizes = as_integers(self.shape, "shape")
        origin = np.zeros(sizes.shape, np.int64) if self.origin is None else as_integers(self.origin, "origin")
        codes, dims = as_integers(self.codes, "codes"), as_integers(self.dims, "dims")
        check_states(codes, weights, dims, sizes, origin)
        rest = as_number(self.rest, "rest", allow_equal=True)
        with np.errstate(over="ignore"):
            total = float(weights.sum()) + rest
        if (weights < 0).any() or not abs(total - 1.0) <= 1e-6:
            raise InvalidInput(f"the weights are not a distribution: with rest they sum to {total:.6g}, not to 1")
        fields = {"codes": codes, "weights": weights, "dims": dims, "shape": tuple(sizes.tolist())}
        for name, value in {**fields, "rest": rest, "origin": origin}.items():
            object.__setattr__(self, name, value)
        if rest and self._unlisted < 1:
            raise InvalidInput(
                f"rest must be 0 where all {len(self._table)} states of the face are listed, got {rest:g}"
            )

    @classmethod
    def of(cls, space: Space, p: npt.ArrayLike) -> "Distribution":
        """The non-zero part of the distribution p on `space`."""
        as_space(space, "Distribution.of")
        table = as_distribution(as_vector(p, space.shape, "p"), "p")
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
        rows = as_numbers(x, "x")
        n, given = len(self.shape), rows.shape
        if n == 1 and given[-1:] != (1,):
            rows = rows[..., None]
        if rows.shape[-1:] != (n,) or (rows.dtype.kind not in "iub" and rows.size):
            raise InvalidInput(f"x must be integers of shape (..., {n}), got {rows.dtype} of shape {given}")
        flat = rows.reshape(-1, n).astype(np.int64)  # a code beyond int64 turns negative: outside, as it should be
        on_face = np.delete(flat == self.origin, self.dims, axis=1).all(axis=1)
        on_face &= ((flat >= 0) & (flat < np.array(self.shape))).all(axis=1)
        codes = np.ascontiguousarray(flat[:, self.dims])
        found = [self._table.get(code.tobytes(), self._share) for code in codes]
        values = np.where(on_face, found, 0.0).reshape(rows.shape[:-1])
        return float(values) if values.ndim == 0 else values

    def sample(self, size: int, rng: Any = None) -> npt.NDArray[np.int64]:
        """`size` independent states; `rng` is a seed, a Generator or None."""
        size = as_integer(size, "size", 0)
        if 8 * size * len(self.shape) > physical_memory():
            raise InvalidInput(f"size = {shown(size)} states of {len(self.shape)} integers do not fit in memory")
        generator, _ = as_generator(rng)
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
        every = Lattice(len(m), m).unravel(np.arange(math.prod(m))) if m else np.zeros((1, 0), np.int64)
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
        if not callable(f):
            raise InvalidInput(f"f must be a function of one state, got {shown(f)}")
        whole = self.spelled_out()
        values = as_numbers([f(x) for x in whole.states], "what f returns").astype(np.float64)
        held = whole.weights > 0  # an infinite f does not matter where there is no mass
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.tensordot(whole.weights[held], values[held], axes=1)
        return float(mean) if mean.ndim == 0 else mean

    def marginal(self, dims: npt.ArrayLike) -> "Distribution":
        """The distribution of these dimensions alone, renumbered from zero in ascending order."""
        units = as_units(dims, len(self.shape), "dimensions", "dims")
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
        with written_whole(as_path(path)) as file:
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
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> "Distribution":
        """Read what `save` wrote; a file that is damaged, newer or not ours is refused with a sentence.

        Nothing in it is unpickled, and a file that would take more than `max_bytes` of memory is refused before it is
        unpacked. A file that is not there, or that may not be read, raises `OSError` as `open` does.
        """
        most = as_integer(max_bytes, "max_bytes", 1)
        content = read_arrays(path, ("format", "version", *FIELDS), most)
        if "format" not in content or str(content["format"]) != FORMAT:
            raise InvalidInput(f"{path} is not a distribution saved by fewer: it has no format entry {FORMAT!r}")
        version = content["version"].tolist() if "version" in content else None
        if not isinstance(version, int) or version != VERSION:
            raise InvalidInput(f"{path} has version {shown(version)}; this fewer reads version {VERSION}")
        missing = sorted(set(FIELDS) - content.keys())
        if missing:
            raise InvalidInput(f"{path} is damaged: it lacks {', '.join(missing)}")
        fields: dict[str, Any] = {name: content[name] for name in FIELDS}
        try:
            return cls(**fields)
        except InvalidInput as error:
            raise InvalidInput(f"{path} is damaged: {error}") from None


def as_integers(x: Any, name: str) -> Indices:
    """`x` as int64 of any shape, in C order; whatever integer type and byte order it came in."""
    array = as_numbers(x, name)
    if array.size and (array.dtype.kind not in "iu" or int(array.max()) >= 2**63):
        raise InvalidInput(f"{name} must hold integers below 2^63, got {array.dtype} ({shown(x)})")
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


def check_states(codes: Indices, weights: Vector, dims: Indices, sizes: Indices, origin: Indices) -> None:
    """Refuse arrays that do not list states of one space."""
    if not weights.ndim == dims.ndim == sizes.ndim == 1 or codes.shape != (weights.size, dims.size):
        raise InvalidInput(
            f"the arrays do not fit together: codes {codes.shape}, weights {weights.shape}, dims {dims.shape}, "
            f"shape {sizes.shape}; codes must have a row for each weight and a column for each of dims"
        )
    if origin.shape != sizes.shape or sizes.size == 0:
        raise InvalidInput(f"the arrays do not fit together: origin {origin.shape}, shape {sizes.shape}")
    if (sizes < 1).any():
        raise InvalidInput(f"shape must hold the entries of each dimension, at least 1, got {sizes.min()}")
    if np.unique(dims).size != dims.size:
        raise InvalidInput(f"dims must be distinct, got {shown(dims.tolist())}")
    inside = not dims.size or (dims.min() >= 0 and dims.max() < sizes.size)
    if not inside or ((codes < 0) | (codes >= sizes[dims])).any() or ((origin < 0) | (origin >= sizes)).any():
        raise InvalidInput("a state lies outside its space")
