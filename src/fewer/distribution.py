"""What a user keeps: a few states and their weights."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _distribution_format as form
from ._distribution_format import as_integers
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
    as_path,
    as_units,
    as_vector,
    magnitude,
    shown,
)
from .files import written_whole
from .npy import check_memory
from .spaces import Lattice, Space, as_space

MOST_SPELLED = 2**20
"""A face with more states than this is not written out one by one."""
MOST_BYTES = 2**30
"""A file that would take more memory than this is only loaded when `max_bytes` says so."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution with few states, on a face {x : x = origin outside dims}.

        P(x) = the weight of x where it is listed, rest / (number of states not listed) elsewhere on
        the face, else 0

    A state of one dimension (an atom) is written as a plain integer, one of several as a row of n.
    In one dimension states may sit at `values`, floats; then `pmf`, `sample` and `expect` use
    these, and so do `cdf`, `quantile`, `mean` and `var`, which else take the integers for values.

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
    values : array of shape (s,), optional
        In one dimension, and without `rest`: where the listed states sit.
    edges : array of shape (s, 2), optional
        With `values`: from where to where each state reaches; the value lies between.

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
    >>> d = Distribution([[0], [1]], [0.25, 0.75], [0], (2,), values=[1.5, 9.0])
    >>> (
    ...     d.cdf(2.0),
    ...     d.quantile([0.25, 0.5]).tolist(),
    ...     d.mean(),
    ...     Distribution.from_json(d.to_json()).mean(),
    ... )
    (0.25, [1.5, 9.0], 7.125, 7.125)
    """

    codes: npt.NDArray[np.int64]
    weights: Vector
    dims: Indices
    shape: tuple[int, ...]
    rest: float = 0.0
    origin: Any = None
    values: Any = None
    edges: Any = None

    def __post_init__(self) -> None:
        sizes = as_integers(self.shape, "shape")
        fields = {
            "codes": as_integers(self.codes, "codes"),
            "weights": as_array(self.weights, "weights"),
            "dims": as_integers(self.dims, "dims"),
            "shape": tuple(sizes.reshape(-1).tolist()),
            "rest": as_number(self.rest, "rest", allow_equal=True),
            "origin": as_integers(0 * sizes if self.origin is None else self.origin, "origin"),
            "values": None if self.values is None else as_array(self.values, "values"),
            "edges": None if self.edges is None else as_array(self.edges, "edges"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_states(sizes)
        with np.errstate(over="ignore"):
            total = float(self.weights.sum()) + self.rest
        if (self.weights < 0).any() or not abs(total - 1.0) <= 1e-6:
            raise InvalidInput(
                f"the weights are not a distribution: with rest they sum to {total:.6g}, not to 1"
            )
        self._check_line()
        if self.rest and self._unlisted < 1:
            raise InvalidInput(
                f"rest must be 0 where all {len(self._table)} states of the face are listed, got"
                f" {self.rest:g}"
            )

    def _check_states(self, sizes: Indices) -> None:
        """Refuse arrays that do not list states of a space with so many entries in each dimension."""
        codes, dims, origin = self.codes, self.dims, self.origin
        fits = self.weights.ndim == dims.ndim == sizes.ndim == 1 and sizes.size > 0
        if not fits or codes.shape != (len(self), dims.size) or origin.shape != sizes.shape:
            raise InvalidInput(
                f"the arrays do not fit together: codes {codes.shape}, weights"
                f" {self.weights.shape}, dims {dims.shape}, shape {sizes.shape}, origin"
                f" {origin.shape}; codes must have a row for each weight and a column for each of"
                " dims"
            )
        if sizes.min() < 1:
            raise InvalidInput(
                f"shape must hold the entries of each dimension, at least 1, got {sizes.min()}"
            )
        if np.unique(dims).size != dims.size:
            raise InvalidInput(f"dims must be distinct, got {shown(dims.tolist())}")
        inside = not dims.size or (dims.min() >= 0 and dims.max() < sizes.size)
        inside = inside and ((codes >= 0) & (codes < sizes[dims])).all()
        if not inside or not ((origin >= 0) & (origin < sizes)).all():
            raise InvalidInput("a state lies outside its space")

    def _check_line(self) -> None:
        """Refuse values and edges that are not those of the states of one dimension."""
        values, edges, count = self.values, self.edges, len(self)
        if values is None:
            if edges is not None:
                raise InvalidInput("edges belong to values, and there are none")
            return
        if len(self.shape) > 1 or self.rest:
            raise InvalidInput(
                f"values are for one dimension without rest, got {len(self.shape)} dimensions and"
                f" rest {self.rest:g}"
            )
        if values.shape != (count,):
            raise InvalidInput(
                f"values must be one for each of {count} states, got shape {values.shape}"
            )
        if edges is None:
            return
        if edges.shape != (count, 2):
            raise InvalidInput(f"edges must have shape ({count}, 2), got {edges.shape}")
        outside = (values < edges[:, 0]) | (values > edges[:, 1])
        if outside.any():
            i = int(outside.argmax())
            raise InvalidInput(
                f"edges must hold their values: value {i} is {values[i]:g}, its edges are"
                f" {edges[i].tolist()}"
            )

    @classmethod
    def of(cls, space: Space, p: npt.ArrayLike) -> "Distribution":
        """Return the non-zero part of the distribution p on `space`."""
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
        return self._states_of(self.codes)

    def _states_of(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return whole states from their codes on `dims`."""
        rows = np.tile(self.origin, (len(codes), 1))
        rows[:, self.dims] = codes
        return rows if len(self.shape) > 1 else rows[:, 0]

    def __len__(self) -> int:
        return self.weights.size

    def __repr__(self) -> str:
        rest = f", {self.rest:.3g} spread over the rest" if self.rest else ""
        return (
            f"Distribution({len(self)} states on {self.dims.size} of {len(self.shape)}"
            f" dimensions{rest})"
        )

    @cached_property
    def _table(self) -> dict[Any, float]:
        """The mass of each listed state, by its value or by its code."""
        table: dict[Any, float] = {}
        keys = _keys(self.codes) if self.values is None else self.values.tolist()
        for key, weight in zip(keys, self.weights.tolist(), strict=True):
            table[key] = table.get(key, 0.0) + weight
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
        """Return the probability of a state, or of a value where states have values, or of each of many; zero for others."""
        if self.values is not None:
            at = as_points(x)
            masses = [self._table.get(value, 0.0) for value in at.reshape(-1).tolist()]
            return unwrapped(np.reshape(masses, at.shape))
        rows = as_numbers(x, "x")
        n, shape = len(self.shape), rows.shape
        if n == 1 and shape[-1:] != (1,):
            rows = rows[..., None]
        if rows.shape[-1:] != (n,) or (rows.dtype.kind not in "iub" and rows.size):
            raise InvalidInput(
                f"x must be integers of shape (..., {n}), got {rows.dtype} of shape {shape}"
            )
        flat = rows.reshape(-1, n).astype(np.int64)  # codes beyond int64 turn negative: outside
        on_face = np.delete(flat == self.origin, self.dims, axis=1).all(axis=1)
        on_face &= ((flat >= 0) & (flat < np.array(self.shape))).all(axis=1)
        masses = [self._table.get(key, self._share) for key in _keys(flat[:, self.dims])]
        return unwrapped(np.where(on_face, masses, 0.0).reshape(rows.shape[:-1]))

    @cached_property
    def _line(self) -> tuple[Vector, Vector]:
        """In one dimension: the distinct values that have mass, in order, and the cumulative mass at each."""
        if len(self.shape) > 1:
            raise InvalidInput(
                f"cdf and quantile are for one dimension, here are {len(self.shape)}; use"
                " marginal([i])"
            )
        whole = self.spelled_out()
        values, codes = np.unique(
            whole.states if self.values is None else self.values, return_inverse=True
        )
        masses = np.bincount(codes.reshape(-1), whole.weights, len(values))
        cumulative = np.cumsum(masses[masses > 0])
        return values[masses > 0].astype(np.float64), cumulative / cumulative[-1]

    @cached_property
    def _ramp(self) -> tuple[Vector, Vector]:
        """Points between which the cumulative distribution of spread mass is linear, and its levels there.

        Equal points are a jump. Half of each mass lies on either side of its value.
        """
        if self.edges is None:
            raise InvalidInput("spread needs edges, and this distribution has none")
        order = np.lexsort((self.edges[:, 1], self.edges[:, 0]))
        low, high = self.edges[order].T
        points = np.column_stack([low, self.values[order], high]).reshape(-1)
        if (points[1:] < points[:-1]).any():
            raise InvalidInput("spread needs edges that do not overlap")
        after = np.cumsum(self.weights[order])
        after /= after[-1]
        before = np.append(0.0, after[:-1])
        return points, np.column_stack([before, before / 2 + after / 2, after]).reshape(-1)

    def cdf(self, x: npt.ArrayLike, *, spread: bool = False) -> Any:
        """P(X <= x) in one dimension, for a number or for each of many.

        With `spread` half of the mass of each state is spread evenly from its lower edge to its
        value, half from there to its upper edge, instead of all sitting at its value.
        """
        at = as_points(x)
        if spread:  # of equal points the last one counts
            points, levels = self._ramp
            return unwrapped(np.asarray(np.interp(at, points, levels, left=0.0)))
        values, cumulative = self._line
        levels = np.append(0.0, cumulative)
        return unwrapped(levels[np.searchsorted(values, at, "right")])

    def quantile(self, q: npt.ArrayLike, *, spread: bool = False) -> Any:
        """Return the least x with P(X <= x) >= q (to 1e-12) in one dimension, for a number q or for each of many.

        With `spread` the mass of each state lies between its edges, as in `cdf`: much nearer to the
        quantiles of the values that `bins` was given.
        """
        levels = as_array(q, "q")
        if levels.size and not (levels.min() >= 0 and levels.max() <= 1):
            raise InvalidInput(f"q must be in 0..1, got {levels.min():g}..{levels.max():g}")
        levels = levels - 1e-12
        if spread:  # backwards, so that of equal levels the first point counts
            points, ramp = self._ramp
            return unwrapped(np.asarray(np.interp(-levels, -ramp[::-1], points[::-1])))
        values, cumulative = self._line
        return unwrapped(values[np.searchsorted(cumulative, levels)])

    def mean(self) -> Any:
        """E X: a float in one dimension, else an array (n,)."""
        return self._moment(lambda x: x, lambda m: (m - 1) / 2)

    def var(self) -> Any:
        """E (X - E X)²: a float in one dimension, else an array (n,), of each dimension alone."""
        mean = self.mean()
        return self._moment(
            lambda x: (x - mean) ** 2, lambda m: (m * m - 1) / 12 + ((m - 1) / 2 - mean) ** 2
        )

    def _moment(self, f: Callable[[Any], Any], uniform: Callable[[Any], Any]) -> Any:
        """E f(X) for an f of each dimension alone, where `uniform` is its mean over all of 0..m-1."""
        if self.values is not None:
            return float(self.weights @ f(self.values) / self.weights.sum())
        rows = self.states.reshape(len(self), -1).astype(np.float64)
        mean = self.weights @ f(rows)
        if self.rest:
            m, listed = np.array(self.shape, np.float64), np.unique(rows, axis=0)
            on_face = np.isin(np.arange(m.size), self.dims)
            face = np.where(on_face, uniform(m), f(self.origin.astype(np.float64)))
            each = float(Fraction(len(listed), self._unlisted))
            mean = mean + self.rest * (face + each * (face - f(listed).mean(axis=0)))
        return float(mean[0]) if len(self.shape) == 1 else mean

    def sample(self, size: int, rng: Any = None) -> npt.NDArray[Any]:
        """Return `size` independent states, or values where states have them.

        `rng` is a seed, a Generator or None.
        """
        size = as_integer(size, "size", 0, 2**48)
        check_memory(f"size = {size} states", 8 * size * len(self.shape))
        generator, _ = as_generator(rng)
        masses = np.append(self.weights, self.rest)
        draws = generator.choice(masses.size, size=size, p=masses / masses.sum())
        if self.values is not None:
            return np.asarray(self.values[draws])
        unlisted = np.flatnonzero(draws == len(self))
        codes = np.vstack([self.codes, np.zeros((1, self.dims.size), np.int64)])[draws]
        codes[unlisted] = self._sample_rest(unlisted.size, generator)
        return self._states_of(codes)

    def _sample_rest(self, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw codes of the face that are not listed: of a large face again while they are."""
        m = np.array([self.shape[i] for i in self.dims], np.int64)
        few = self._unlisted < len(self._table) <= MOST_SPELLED // 2
        if size and few:  # list them and choose
            left = self._all_codes()[len(self) :]
            return left[rng.integers(len(left), size=size)]
        codes = np.empty((size, m.size), np.int64)
        wrong = np.arange(size)
        while wrong.size:
            codes[wrong] = rng.integers(0, m, (wrong.size, m.size))
            wrong = wrong[[key in self._table for key in _keys(codes[wrong])]]
        return codes

    def _all_codes(self) -> npt.NDArray[np.int64]:
        """Return every code of the face, the listed ones first."""
        m = tuple(self.shape[i] for i in self.dims)
        count = math.prod(m)
        if count > MOST_SPELLED:
            raise InvalidInput(
                f"mass lies on all {magnitude(count)} states of the face, too many to go through;"
                " use sample or pmf"
            )
        every = Lattice(len(m), m).unravel(np.arange(count)) if m else np.zeros((1, 0), np.int64)
        fresh = [key not in self._table for key in _keys(every)]
        return np.vstack([self.codes, every[fresh]])

    def spelled_out(self) -> "Distribution":
        """Return the distribution with every state of the face listed and no `rest`."""
        if not self.rest:
            return self
        codes = self._all_codes()
        weights = np.append(self.weights, np.full(len(codes) - len(self), self._share))
        return Distribution(codes, weights, self.dims, self.shape, origin=self.origin)

    def expect(self, f: Callable[[Any], Any]) -> Any:
        """E f(X) = Σ p(x) f(x).

        f takes one state, or its value where it has one, and returns a number or an array.
        """
        if not callable(f):
            raise InvalidInput(f"f must be a function of one state, got {shown(f)}")
        whole = self.spelled_out()
        values = as_numbers(
            [f(x) for x in (whole.states if self.values is None else self.values)], "what f returns"
        ).astype(np.float64)
        has_mass = whole.weights > 0  # an infinite f does not matter where there is no mass
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.tensordot(whole.weights[has_mass], values[has_mass], axes=1)
        return float(mean) if mean.ndim == 0 else mean

    def marginal(self, dims: npt.ArrayLike) -> "Distribution":
        """Return the distribution of these dimensions alone, renumbered from zero in ascending order."""
        units = as_units(dims, len(self.shape), "dimensions", "dims")
        if units.size == 0:
            raise InvalidInput("marginal needs at least one dimension, got none")
        if self.values is not None:
            return self
        whole = self.spelled_out()
        rows = whole.states.reshape(len(whole), -1)[:, units]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        weights = np.zeros(len(distinct))
        np.add.at(weights, inverse.reshape(-1), whole.weights)
        origin = self.origin[units]
        used = np.flatnonzero((distinct != origin).any(axis=0))
        shape = tuple(self.shape[i] for i in units)
        return Distribution(
            np.ascontiguousarray(distinct[:, used]), weights, used, shape, origin=origin
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, ready for JSON.

        The entries are described in docs/distribution-format.md.
        """
        arrays = {"states": self.states, **vars(self)}
        names = ("states", "weights", "dims", "origin", "values", "edges")
        lists = {name: np.asarray(arrays[name]).tolist() for name in names}
        head = {"format": form.FORMAT, "version": form.VERSION, "shape": list(self.shape)}
        return {**head, "rest": self.rest, **lists}

    @classmethod
    def from_dict(cls, content: Any) -> "Distribution":
        """Read what `to_dict` gave.

        Anything else is refused with a sentence, but for entries that are not known.
        """
        form.check_content(content, "the content")
        return cls(**form.fields_of(content))

    def to_json(self) -> str:
        """Return `to_dict` as JSON; numbers are written so that they are read back the same."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Distribution":
        """Read what `to_json` gave; anything else is refused with a sentence."""
        return cls.from_dict(form.from_json(text, "the text"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all: JSON where its name ends in .json, else npz.

        Nothing in it is pickled.
        """
        target = as_path(path)
        with written_whole(target) as file:
            if target.suffix.lower() == ".json":
                file.write(self.to_json().encode())
            else:
                form.write_npz(file, vars(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> "Distribution":
        """Read what `save` wrote.

        a file that is damaged, newer or not ours is refused with a sentence.

        Nothing in it is unpickled, and a file that would take more than `max_bytes` of memory is
        refused before it is unpacked. A file that is not there, or that may not be read, raises
        `OSError` as `open` does.
        """
        most, target = as_integer(max_bytes, "max_bytes", 1), as_path(path)
        content = form.read(target, most)
        try:
            return cls(**form.fields_of(content))
        except InvalidInput as error:
            raise InvalidInput(f"{path} is damaged: {error}") from None


def _keys(codes: npt.NDArray[np.int64]) -> list[bytes]:
    """Return codes (s, d) as what a table goes by."""
    return [code.tobytes() for code in np.ascontiguousarray(codes)]


def as_points(x: Any) -> npt.NDArray[Any]:
    """Return numbers x of any shape, infinite ones too."""
    array = as_numbers(x, "x")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InvalidInput("x must be numbers, got nan")
    return array


def unwrapped(values: npt.NDArray[Any]) -> Any:
    """Return a float for an array without dimensions."""
    return float(values) if values.ndim == 0 else values
