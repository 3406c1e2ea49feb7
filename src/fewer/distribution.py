"""What a user keeps: a few states and their weights, in memory, as JSON and as files.

Files are read without trust; docs/distribution-format.md describes them.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
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
    as_indices,
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
from .npy import check_memory, stored_arrays
from .spaces import Lattice, Space, as_space

FORMAT, VERSION = "fewer.distribution", 2
MOST_SPELLED = 2**20
"""A face with more states than this is not written out one by one."""
MOST_BYTES = 2**30
"""A file that would take more memory than this is only loaded when `max_bytes` says so."""


def as_integers(x: Any, name: str) -> Indices:
    """Return `x` as int64 of any shape, in C order."""
    array = as_numbers(x, name)
    if array.size and (array.dtype.kind not in "iu" or int(array.max()) >= 2**63):
        raise InvalidInput(f"{name} must hold integers below 2^63, got {array.dtype} ({shown(x)})")
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


ARRAYS = {
    "codes": as_integers,
    "weights": as_array,
    "dims": as_integers,
    "origin": as_integers,
    "values": as_array,
    "edges": as_array,
}
FIELDS = (*ARRAYS, "shape", "rest")
OPTIONAL = ("origin", "values", "edges")


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
        fields: dict[str, Any] = {"rest": as_number(self.rest, "rest", allow_equal=True)}
        fields["shape"] = tuple(as_integers(self.shape, "shape").ravel().tolist())
        if self.origin is None:
            fields["origin"] = np.zeros(len(fields["shape"]), np.int64)
        for name, kind in ARRAYS.items():
            if name not in OPTIONAL or getattr(self, name) is not None:
                fields[name] = kind(getattr(self, name), name)
        vars(self).update(fields)
        self._check_shapes()
        sizes = np.array(self.shape)
        dims = as_indices(self.dims, sizes.size, "dims", "dimensions")
        states = np.vstack([self.origin, self._rows])
        inside = ((states >= 0) & (states < sizes)).all()
        if not inside or not sizes.size or np.unique(dims).size != dims.size:
            raise InvalidInput(
                f"codes must be states of a space of shape {self.shape} on distinct dims; a state"
                f" lies outside, or dims {shown(dims.tolist())} repeat"
            )
        total = float(self.weights.sum()) + self.rest
        if (self.weights < 0).any() or not abs(total - 1.0) <= 1e-6:
            raise InvalidInput(
                f"the weights are not a distribution: with rest they sum to {total:.6g}, not to 1"
            )
        if self.rest and (self._unlisted < 1 or len(self._table) < len(self)):
            raise InvalidInput(
                f"rest must be 0 where states are listed twice, or all are, got {self.rest:g}"
            )

    def _check_shapes(self) -> None:
        """Refuse arrays that do not fit together, and values and edges of anything but one dimension."""
        s, d, n = self.weights.size, self.dims.size, len(self.shape)
        shapes = {"codes": (s, d), "weights": (s,), "dims": (d,), "origin": (n,)}
        for name, shape in {**shapes, "values": (s,), "edges": (s, 2)}.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InvalidInput(
                    f"{name} must have shape {shape} for {s} weights, {d} dims and {n} dimensions,"
                    f" got {array.shape}"
                )
        if self.values is not None and (n > 1 or self.rest):
            raise InvalidInput(
                f"values are for one dimension without rest, got {n} and {self.rest:g}"
            )
        if self.edges is None:
            return
        if self.values is None or (np.clip(self.values, *self.edges.T) != self.values).any():
            raise InvalidInput("edges must hold values: lower <= value <= upper for each of them")

    @classmethod
    def of(cls, space: Space, p: npt.ArrayLike) -> "Distribution":
        """Return the non-zero part of the distribution p on `space`."""
        as_space(space, "Distribution.of")
        table = as_distribution(as_vector(p, space.shape, "p"), "p")
        support = np.flatnonzero(table)
        rows = space.unravel(support).reshape(support.size, -1)
        dims = np.flatnonzero(rows.any(axis=0))
        return cls(rows[:, dims], table[support], dims, space.cardinalities)

    @property
    def states(self) -> npt.NDArray[np.int64]:
        """The listed states: (s, n), or (s,) when there is one dimension."""
        return self._rows if len(self.shape) > 1 else self._rows[:, 0]

    @property
    def _rows(self) -> npt.NDArray[np.int64]:
        """The listed states, (s, n)."""
        return self._whole(self.codes)

    def _whole(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return rows (s, n) from their codes on `dims`."""
        rows = np.tile(self.origin, (len(codes), 1))
        rows[:, self.dims] = codes
        return rows

    @property
    def _points(self) -> npt.NDArray[Any]:
        """The values of the states where they have some, else the states."""
        return self.states if self.values is None else np.asarray(self.values)

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
        """The mass of each value, or of each listed state."""
        table: dict[Any, float] = {}
        for key, weight in zip(_keys(self._points), self.weights.tolist(), strict=True):
            table[key] = table.get(key, 0.0) + weight
        return table

    @cached_property
    def _unlisted(self) -> int:
        """How many states of the face are not listed."""
        return int(math.prod(self.shape[i] for i in self.dims)) - len(self)

    @property
    def _share(self) -> float:
        """The mass of one state that is not listed."""
        return self.rest * (1 / self._unlisted) if self.rest else 0.0

    def pmf(self, x: npt.ArrayLike) -> Any:
        """Return the probability of a state, or of a value where states have values, or of each of many; zero for others."""
        points, shape = self._read_points(x)
        masses = np.array([self._table.get(key, self._share) for key in _keys(points)])
        if self.rest:
            rows = points.reshape(len(points), len(self.shape))
            outside = (rows < 0) | (rows >= self.shape) | (rows != self._whole(rows[:, self.dims]))
            masses[outside.any(axis=1)] = 0.0
        return unwrapped(masses.reshape(shape))

    def _read_points(self, x: npt.ArrayLike) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
        """Return values or states as a list of points, and the shape in which they came."""
        if self.values is not None:
            at = as_points(x)
            return at.astype(np.float64).ravel(), at.shape
        rows, n = as_numbers(x, "x"), len(self.shape)
        if n == 1 and rows.shape[-1:] != (1,):
            rows = rows[..., None]
        if rows.shape[-1:] != (n,) or (rows.dtype.kind not in "iub" and rows.size):
            raise InvalidInput(
                f"x must be integers of shape (..., {n}), got {rows.dtype} of shape {np.shape(x)}"
            )
        points = rows.reshape(-1, n).astype(np.int64)
        return points if n > 1 else points[:, 0], rows.shape[:-1]

    def _steps(self, spread: bool) -> tuple[Vector, Vector]:
        """Points in order, and the cumulative distribution at them, linear in between; equal points are a jump.

        Half of each mass lies on either side of its value.
        """
        if len(self.shape) > 1:
            raise InvalidInput(
                f"cdf and quantile are for one dimension, here are {len(self.shape)}; use"
                " marginal([i])"
            )
        if spread and self.edges is None:
            raise InvalidInput("spread needs edges, and this distribution has none")
        whole = self.spelled_out()
        at = whole._points.astype(np.float64)
        low, high = self.edges.T if spread else (at, at)
        order = np.lexsort((high, low))
        order = order[whole.weights[order] > 0]
        points = np.column_stack([low, at, high])[order].ravel()
        if (points[1:] < points[:-1]).any():
            raise InvalidInput("spread needs edges that do not overlap")
        after = np.cumsum(whole.weights[order])
        after /= after[-1]
        before = np.append(0.0, after[:-1])
        return points, np.column_stack([before, before / 2 + after / 2, after]).ravel()

    @cached_property
    def _at_values(self) -> tuple[Vector, Vector]:
        return self._steps(spread=False)

    @cached_property
    def _between_edges(self) -> tuple[Vector, Vector]:
        return self._steps(spread=True)

    def cdf(self, x: npt.ArrayLike, *, spread: bool = False) -> Any:
        """P(X <= x) in one dimension, for a number or for each of many.

        With `spread` half of the mass of each state is spread evenly from its lower edge to its
        value, half from there to its upper edge, instead of all sitting at its value.
        """
        at = as_points(x)
        points, levels = self._between_edges if spread else self._at_values
        # of equal points the last one counts
        return unwrapped(np.asarray(np.interp(at, points, levels, left=0.0)))

    def quantile(self, q: npt.ArrayLike, *, spread: bool = False) -> Any:
        """Return the least x with P(X <= x) >= q (to 1e-12) in one dimension, for a number q or for each of many.

        With `spread` the mass of each state lies between its edges, as in `cdf`: much nearer to the
        quantiles of the values that `bins` was given.
        """
        shares = as_array(q, "q")
        if shares.size and not (shares.min() >= 0 and shares.max() <= 1):
            raise InvalidInput(f"q must be in 0..1, got {shares.min():g}..{shares.max():g}")
        points, levels = self._between_edges if spread else self._at_values
        # backwards the first of equal levels counts
        return unwrapped(np.asarray(np.interp(1e-12 - shares, -levels[::-1], points[::-1])))

    def mean(self) -> Any:
        """E X: a float in one dimension, else an array (n,)."""
        return self._average(lambda x: x, 0.0)

    def var(self) -> Any:
        """E (X - E X)²: a float in one dimension, else an array (n,), of each dimension alone."""
        mean = self.mean()
        return self._average(lambda x: (x - mean) ** 2, 1.0)

    def _average(self, f: Callable[[Any], Any], curvature: float) -> Any:
        """E f(X) for f of each dimension alone, f(x) = f(c) + curvature (x - c)² in the mean around any c."""
        mean = (self.weights - self._share) @ f(self._points.astype(np.float64))
        if self.rest:
            on_face = np.isin(np.arange(len(self.shape)), self.dims)
            m = np.where(on_face, self.shape, 1.0)
            face = f(np.where(on_face, (m - 1) / 2, self.origin)) + curvature * (m * m - 1) / 12
            mean = mean + self.rest * (1.0 + len(self) / self._unlisted) * face
        return float(np.ravel(mean)[0]) if len(self.shape) == 1 else mean

    def sample(self, size: int, rng: Any = None) -> npt.NDArray[Any]:
        """Return `size` independent states, or values where states have them.

        `rng` is a seed, a Generator or None.
        """
        size = as_integer(size, "size", 0, 2**48)
        check_memory(f"size = {size} states", 8 * size * len(self.shape))
        if self.rest and self._unlisted <= len(self):
            return self.spelled_out().sample(size, rng)
        generator, _ = as_generator(rng)
        masses = np.append(self.weights, self.rest)
        draws = generator.choice(masses.size, size=size, p=masses / masses.sum())
        if not self.rest:
            return self._points[draws]
        rows = np.vstack([self._rows, self.origin])[draws]
        wrong = np.flatnonzero(draws == len(self))
        while wrong.size:  # a state of the whole face, again while it is a listed one
            codes = generator.integers(
                0, np.array(self.shape)[self.dims], (wrong.size, len(self.dims))
            )
            rows[wrong] = self._whole(codes)
            wrong = wrong[[key in self._table for key in _keys(rows[wrong])]]
        return rows if len(self.shape) > 1 else rows[:, 0]

    def spelled_out(self) -> "Distribution":
        """Return the distribution with every state of the face listed and no `rest`."""
        if not self.rest:
            return self
        m = tuple(self.shape[i] for i in self.dims)
        count = self._unlisted + len(self)
        if count > MOST_SPELLED:
            raise InvalidInput(
                f"mass lies on all {magnitude(count)} states of the face, too many to go through;"
                " use sample or pmf"
            )
        codes = Lattice(len(m) + 1, (1, *m)).unravel(np.arange(count))[:, 1:]
        weights = self.pmf(self._whole(codes))
        return Distribution(codes, weights, self.dims, self.shape, origin=self.origin)

    def expect(self, f: Callable[[Any], Any]) -> Any:
        """E f(X) = Σ p(x) f(x).

        f takes one state, or its value where it has one, and returns a number or an array.
        """
        if not callable(f):
            raise InvalidInput(f"f must be a function of one state, got {shown(f)}")
        whole = self.spelled_out()
        values = as_numbers([f(x) for x in whole._points], "what f returns").astype(np.float64)
        has_mass = whole.weights > 0  # an infinite f does not matter where there is no mass
        mean = np.tensordot(whole.weights[has_mass], values[has_mass], axes=1)
        return unwrapped(mean)

    def marginal(self, dims: npt.ArrayLike) -> "Distribution":
        """Return the distribution of these dimensions alone, renumbered from zero in ascending order."""
        units = as_units(dims, len(self.shape), "dimensions", "dims")
        if units.size == 0:
            raise InvalidInput("marginal needs at least one dimension, got none")
        if self.values is not None:
            return self
        whole = self.spelled_out()
        distinct, inverse = np.unique(whole._rows[:, units], axis=0, return_inverse=True)
        weights: Vector = np.bincount(inverse.ravel(), whole.weights).astype(np.float64)
        origin = self.origin[units]
        used = np.flatnonzero((distinct != origin).any(axis=0))
        shape = tuple(self.shape[i] for i in units)
        return Distribution(distinct[:, used], weights, used, shape, origin=origin)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, ready for JSON.

        The entries are described in docs/distribution-format.md.
        """
        arrays = {"states": self.states, **vars(self)}
        names = ("states", "weights", "dims", "origin", "values", "edges")
        lists = {name: np.asarray(arrays[name]).tolist() for name in names}
        head = {"format": FORMAT, "version": VERSION, "shape": list(self.shape)}
        return {**head, "rest": self.rest, **lists}

    @classmethod
    def from_dict(cls, content: Any) -> "Distribution":
        """Read what `to_dict` gave.

        Anything else is refused with a sentence, but for entries that are not known.
        """
        fields = fields_of(content)
        if "codes" in fields:
            return cls(**fields)
        n, states = np.size(fields["shape"]), as_integers(content["states"], "states")
        rows = states.reshape(-1, n) if n == 1 or not states.size else states
        if rows.shape[1:] != (n,):
            raise InvalidInput(f"states must be rows of {n} integers, got shape {states.shape}")
        dims = as_indices(fields.get("dims", range(n)), n, "dims", "dimensions")
        distribution = cls(**{**fields, "codes": rows[:, dims], "dims": dims})
        if not np.array_equal(distribution._rows, rows):
            raise InvalidInput("states must equal the origin outside dims")
        return distribution

    def to_json(self) -> str:
        """Return `to_dict` as JSON; numbers are written so that they are read back the same."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Distribution":
        """Read what `to_json` gave; anything else is refused with a sentence."""
        return cls.from_dict(content_of(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all: JSON where its name ends in .json, else npz.

        Nothing in it is pickled.
        """
        target = as_path(path)
        with written_whole(target) as file:
            if target.suffix.lower() == ".json":
                file.write(self.to_json().encode())
                return
            np.savez_compressed(file, **self.arrays)

    @property
    def arrays(self) -> dict[str, Any]:
        """What a file holds, by name."""
        head = {"format": FORMAT, "version": VERSION}
        fields = {name: getattr(self, name) for name in FIELDS}
        return head | {name: field for name, field in fields.items() if field is not None}

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> "Distribution":
        """Read what `save` wrote; a file that is damaged, newer or not ours is refused.

        Nothing in it is unpickled, and a file that would take more than `max_bytes` of memory is
        refused before it is unpacked. A file that is not there, or that may not be read, raises
        `OSError` as `open` does.
        """
        most, target = as_integer(max_bytes, "max_bytes", 1), as_path(path)
        try:
            return cls.from_dict(content_of_file(target, most))
        except InvalidInput as error:
            raise error.at(str(path)) from None


def fields_of(content: Any) -> dict[str, Any]:
    """Return the arguments that a saved distribution holds: with `states` whole, or as `codes` on `dims`."""
    if not isinstance(content, Mapping) or str(content.get("format")) != FORMAT:
        raise InvalidInput(
            f"not a distribution saved by fewer: it has no format entry {FORMAT!r}, got"
            f" {shown(content)}"
        )
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InvalidInput(
            f"has version {shown(version)}; this fewer reads versions 1 to {VERSION}"
        )
    in_arrays = ("codes", "dims", "origin", "rest")
    needed = ("shape", "weights", *(in_arrays if "codes" in content else ("states",)))
    missing = [name for name in needed if content.get(name) is None]
    if missing:
        raise InvalidInput(f"damaged: it lacks {', '.join(missing)}")
    return {name: content[name] for name in FIELDS if content.get(name) is not None}


def content_of(text: Any) -> Any:
    """Read a JSON text; numbers that JSON does not know are refused."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the text cannot be read as JSON: {str(error)[:200]}") from None


def content_of_file(path: Path, most: int) -> Any:
    """Read a JSON or npz file that takes at most so many bytes of memory."""

    def check(label: str, size: int, compressed: int) -> None:
        if size > most:
            raise InvalidInput(
                f"would take {magnitude(size)} bytes of memory, more than max_bytes = {most}"
            )

    if path.suffix.lower() == ".json":
        check("", path.stat().st_size, 0)
        return content_of(path.read_bytes())
    label = "damaged or is not a distribution saved by fewer"
    stored = stored_arrays(path, label, ("format", "version", *FIELDS), check)
    content = {name: array.data for name, array in stored.items()}
    return {name: data if data.ndim else data.tolist() for name, data in content.items()}


def _keys(codes: npt.NDArray[Any]) -> list[Any]:
    """Return rows, or numbers, as what a table goes by."""
    if codes.ndim == 1 or codes.shape[1] == 1:
        return list(codes.ravel().tolist())
    return [code.tobytes() for code in np.ascontiguousarray(codes)]


def as_points(x: Any) -> npt.NDArray[Any]:
    """Return numbers x of any shape, infinite ones too."""
    array = as_numbers(x, "x")
    if np.isnan(array).any():
        raise InvalidInput("x must be numbers, got nan")
    return array


def unwrapped(values: npt.NDArray[Any]) -> Any:
    """Return a float for an array without dimensions."""
    return float(values) if values.ndim == 0 else values
