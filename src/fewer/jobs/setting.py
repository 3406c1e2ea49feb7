"""How points are chosen: the settings, the rows made ready, the search, and the answer in terms of X."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, Vector, as_generator, as_integer, as_number, known
from ..bandwidths import Bandwidth, bandwidth_in_units, largest, times_power_of_two
from ..constraints.sparse_simplex import SparseSimplex
from ..data.frames import index_of, take_rows
from ..deadline import Deadline
from ..lazy_rows import LazyRows, in_memory
from ..result import Result, Status, Words
from ..similarity import BANDED, SIMILARITIES, from_matrix, similarity_of
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS, minimize
from ..spaces import Atoms
from ..threads import own_threads
from ._aim import Aim, Together, alone, as_aim
from ._given import Given, given_rows
from ._held import UNLIMITED, Held, Limits
from ._locations import SLOPES
from ._moving import Start, moved
from ._places import as_move, ends_of, in_rows, movable_of
from ._scaling import NOTE, Standardization, column_ends, standardizes
from ._target import Target, target_of
from .bandwidth import validated_width
from .comparison import Comparison, checked_function, in_unit, odd, ordinary_exponent
from .explain import Source
from .sample import Sample, as_gram, as_rows

SPARSE = ("rbf", "matern32", "matern52", "cosine", "linear")
"""Similarities that compare sparse rows."""
RULES = ("median", "scale", "cv")
BYTES_PER_ROW, BYTES_PER_LABEL_OR_WEIGHT = 24, 8
"""Bytes for each row of X that indices and the answer take, and for each of labels and weights."""
MEANS_NOTE = {
    "cosine": "cosine compares means of rows of length one only: clusters can be missed; rbf on such rows sees them",
    "linear": "linear compares the means of the rows only: clusters can be missed; rbf sees them",
}
"""What similarities that are inner products do not see."""
LIMITS = tuple(one.name for one in fields(Limits))
"""Options of `points` that limit what is kept."""
SEARCH_TIME_SHARE = 0.4
"""The share of what is left of a time limit that choosing rows may take where they are to move."""


class Prepared(NamedTuple):
    """The rows that are compared, how, what is odd about them, and what they were made from."""

    sample: Sample
    comparison: Comparison
    notes: list[str]
    given: Given
    against: Sample
    """The rows that points are to stand for: `sample` itself where there is no other target."""
    source: Source
    """The same as they were handed in."""

    @property
    def held(self) -> Held:
        """What the points must hold and must not."""
        held: Held = self.given.held
        return held


class Chosen(NamedTuple):
    """The points chosen, and what they were chosen from."""

    result: Result
    comparison: Comparison
    target: Target
    sample: Sample


@dataclass(frozen=True)
class Setting:
    """How points are chosen: everything but the data and k."""

    similarity: Any
    gamma: Any
    standardize: Any
    solver: str
    memory: int
    deadline: Deadline
    callback: Callback | None = None
    columns: Any = None
    missing: str = "error"
    move: Any = False
    limits: Limits = UNLIMITED
    aim: Aim | None = None

    def check(self) -> None:
        """Refuse names and numbers that are none, before any work."""
        known(self.solver, SOLVERS, "solver")
        if not callable(self.similarity):
            known(self.similarity, {**SIMILARITIES, "precomputed": None}, "similarity")
        if isinstance(self.gamma, str):
            known(self.gamma, dict.fromkeys(RULES), "gamma")
        else:
            as_number(self.gamma, "gamma")
        self.limits.check()
        if self.moves and (callable(self.similarity) or self.similarity not in SLOPES):
            name = "a function" if callable(self.similarity) else repr(self.similarity)
            raise InvalidInput(f"move needs a smooth similarity ({', '.join(SLOPES)}), got {name}")
        if self.aim is not None and self.precomputed:
            raise InvalidInput("target needs rows to compare, got similarity='precomputed'")

    @property
    def moves(self) -> bool:
        """Whether points leave their rows."""
        return as_move(self.move)

    @property
    def precomputed(self) -> bool:
        """Whether X is the matrix of similarities."""
        return isinstance(self.similarity, str) and self.similarity == "precomputed"

    def together(self, X: Any, labels: Any, sample_weight: Any) -> Together:
        """X alone, or with the rows of another target below it."""
        if self.aim is None:
            return alone(X, labels, sample_weight, self.columns)
        return self.aim.beside(X, labels, sample_weight, self.columns, self.missing, self.limits.groups)

    def given(self, both: Together, scales: bool) -> Given:
        """Rows in the form that the similarity compares, for precomputed ones row numbers."""
        X, labels, sample_weight = both.X, both.labels, both.weights
        if self.precomputed:
            if self.columns is not None or self.missing != "error":
                raise InvalidInput("columns and missing are about rows, got similarity='precomputed'")
            rows = np.arange(len(as_gram(X)))[:, None]
            return Given(rows, None, labels, sample_weight, len(rows))
        codes = isinstance(self.similarity, str) and self.similarity == "hamming"
        sparse = similarity_of(self.similarity).sparse
        rules = (both.columns, self.missing)
        apart = [self.limits.groups] if isinstance(self.limits.groups, str) else []
        return given_rows(X, labels, sample_weight, *rules, apart, codes=codes, sparse=sparse, scales=scales)

    def sample(self, X: Any, both: Together) -> tuple[Sample, Standardization | None, Given]:
        """The distinct rows of X, and of another target, with their weights, standardized where asked for, and how."""
        scales = standardizes(self.standardize, X, self.similarity)
        deadline = self.deadline if self.deadline.limited else None
        given = self.given(both, scales)
        if given.size == both.others:
            raise InvalidInput("X must have at least one row, got none")
        held = self.limits.on(X, given.size - both.others)
        given = given._replace(held=held, notes=(*both.notes, *given.notes))
        always = given.of_rows(held.include, "include")
        apart = given.some(held.apart(given.size - both.others, both.others))
        sample = Sample.of(given.rows, given.labels, given.weights, not self.precomputed, deadline, always, apart)
        sample = replace(sample, top=given.top)
        if given.kept is not None:
            sample = sample.within(given.kept, given.size)
        if not scales:
            return sample, None, given
        numbers = None if given.encoding is None else given.encoding.numbers
        scaling = Standardization.of(sample.rows, sample.weights, numbers)
        return replace(sample, rows=scaling(sample.rows), top=1.0), scaling, given

    def compared(
        self, X: Any, sample: Sample, scaling: Standardization | None, k: int, rng: np.random.Generator
    ) -> tuple[Sample, Comparison, str]:
        """Rows in an ordinary unit, the similarity for them, and what is odd about them."""
        if self.precomputed:
            gram = as_rows(X, sparse=False)
            exponent = ordinary_exponent(largest(gram))
            return sample, Comparison(from_matrix(gram, -exponent), unit=exponent), ""
        if callable(self.similarity):
            return sample, Comparison(checked_function(self.similarity, sample), scaling=scaling), ""
        if self.similarity == "linear" and scaling is None:
            return in_unit(sample)
        if self.similarity not in BANDED:
            return sample, Comparison(similarity_of(self.similarity), scaling=scaling), ""
        width = self.width(sample, k, rng)
        rows = sample.rows if isinstance(sample.rows, LazyRows) else LazyRows(sample.rows)
        sample = replace(sample, rows=in_memory(rows.times_power_of_two(-width.exponent), self.memory // 8))
        similarity = similarity_of(self.similarity, width.scaled)
        return sample, Comparison(similarity, width.gamma, width.exponent, 0, scaling), odd(width)

    def width(self, sample: Sample, k: int, rng: np.random.Generator) -> Bandwidth:
        """The bandwidth by number or rule."""
        if isinstance(self.gamma, str) and self.gamma == "cv":
            return validated_width(sample, k, self.similarity, self.memory, a_child_of(rng), self.deadline)
        return bandwidth_in_units(sample.rows, self.similarity, self.gamma, sample.weights, sample.top)

    def solve(self, X: Any, k: int, labels: Any, sample_weight: Any, rng: Any, most: bool = True) -> Chosen:
        """Choose the points; with `most` False a k above the distinct rows means all of them."""
        with own_threads():
            return self._solve(X, k, labels, sample_weight, rng, most)

    def prepared(
        self, X: Any, k: int, labels: Any, sample_weight: Any, rng: np.random.Generator, most: bool = True
    ) -> Prepared:
        """The rows that are compared, and how; `rng` is left as it is."""
        self.check()
        k = as_integer(k, "k", 1)
        both = self.together(X, labels, sample_weight)
        sample, scaling, given = self.sample(X, both)
        distinct = len(both.parts(sample, given.kept)[0].weights)
        k = as_integer(k if most else min(k, distinct), "k", 1, distinct, "distinct rows")
        self.check_memory(
            k,
            sample.size,
            BYTES_PER_ROW + BYTES_PER_LABEL_OR_WEIGHT * ((labels is not None) + (sample_weight is not None)),
        )
        sample, comparison, note = self.compared(X, sample, scaling, k, rng)
        scaled = scaling is not None and (given.encoding is None or given.encoding.numbers > 0)
        means = MEANS_NOTE.get(self.similarity, "") if isinstance(self.similarity, str) else ""
        notes = [NOTE if scaled else "", *given.notes, note, means, sample.note]
        parts = both.parts(sample, given.kept)
        source = both.source(X if self.aim is None else self.aim.target, given, self.precomputed)
        return Prepared(parts[0], comparison._replace(encoding=given.encoding), notes, given, parts[1], source)

    def _solve(self, X: Any, k: int, labels: Any, sample_weight: Any, rng: Any, most: bool) -> Chosen:
        generator, seed = as_generator(rng)
        k = as_integer(k, "k", 1)
        prepared = self.prepared(X, k, labels, sample_weight, generator, most)
        sample, comparison, notes, _, against, _ = prepared
        k = min(k, len(sample.weights))
        held, rows = prepared.held, sample.at(np.arange(len(sample.weights)))
        how = (k, self.memory, generator, self.deadline, held.choice(rows, k, generator))
        target = target_of(sample, comparison.similarity, *how, against)
        notes = [*notes, target.note]
        C = held.constraint(target.F.space, min(k, target.F.space.size), rows[target.candidates])
        found = self.searched(target, C, generator, seed)
        result = on_rows(found, target, sample, comparison.unit, self.deadline.elapsed(), notes)
        stored = None if self.precomputed else comparison.stored(self.similarity)
        result = replace(self.in_users_terms(result, X), compared=stored, source=prepared.source)
        if self.moves:
            result = self.moved(result, X, found, target, prepared, generator)
        return Chosen(result, comparison, target, sample)

    def moved(
        self, result: Result, X: Any, found: Result, target: Target, prepared: Prepared, rng: np.random.Generator
    ) -> Result:
        """The points moved away from their rows, which `indices` goes on to name."""
        sample, comparison, _, given, against, _ = prepared
        assert result.weights is not None  # noqa: S101 - rows are entries
        at = found.indices[np.argsort(sample.at(target.candidates[found.indices]))]
        begin = Start(target.candidates[at], at, result.weights)
        ends = ends_of(X, given, self.move)
        movable = movable_of(ends, comparison.scaled, sample.rows[begin.units], given.encoding)
        gone = movable.fixed.copy()
        stays = np.isin(result.indices, prepared.held.include)
        movable.fixed[stays] = True
        weights = self.limits.weights(len(result.indices))
        how = (self.memory, rng, self.deadline, self.callback)
        answer = moved(sample, against, target, comparison.similarity, begin, movable, weights, *how)
        places = comparison.unscaled(answer.places, ends.columns)
        own = given.rows[given.of_rows(result.indices[stays], "include")]  # as it was, without any rounding
        places[stays] = np.asarray(own.toarray() if sp.issparse(own) else own)[:, ends.columns]
        rows = in_rows(result.rows, places, ends, gone, given.encoding)
        ended = {"time": Status.TIME_LIMIT, "callback": Status.CALLBACK}.get(answer.stopped, Status.FINISHED)
        return replace(
            result,
            rows=rows,
            weights=answer.weights,
            value=answer.value,
            value_se=answer.error,
            bound=None,
            status=ended if result.success else result.status,
            history=np.maximum(np.concatenate([result.history, answer.history]), answer.value),
            n_iter=result.n_iter + len(answer.history),
            seconds=self.deadline.elapsed(),
            note="; ".join(filter(None, (result.note, answer.note))),
        )

    def in_users_terms(self, result: Result, X: Any) -> Result:
        """The result with the kept rows of X and what its index calls them."""
        labels = index_of(X)
        rows = None if self.precomputed else take_rows(X, result.indices)
        return replace(result, rows=rows, labels=None if labels is None else labels[result.indices])

    def check_memory(self, k: int, n: int, each: int) -> None:
        """A sentence where not even the least that is kept fits."""
        if 8 * k * k > self.memory:
            raise InvalidInput(
                f"max_memory must hold k = {k} columns of at least {k} similarities, {8 * k * k} bytes, "
                f"got {self.memory}"
            )
        if each * n > self.memory:
            raise InvalidInput(
                f"max_memory must hold {each} bytes for each of the {n} rows, {each * n} bytes, got {self.memory}"
            )

    def searched(self, target: Target, C: SparseSimplex, rng: np.random.Generator, seed: int | None) -> Result:
        """The solver's answer over the candidates."""
        solver = (
            "exchange" if self.solver in ("auto", "exact") and (self.moves or not target.whole) else self.solver
        )  # nothing to prove
        until = self.deadline.share(SEARCH_TIME_SHARE) if self.moves else self.deadline
        options: dict[str, Any] = {"time_limit": until, "callback": self.callback, "rng": rng}
        return replace(minimize(target.F, C, solver, **options), seed=seed)


def setting_of(similarity: Any, gamma: Any, memory: int, deadline: Deadline, options: Mapping[str, Any]) -> Setting:
    """The setting of a call of `points` with these options of it."""
    limits = Limits(**{name: options[name] for name in LIMITS if name in options})
    aim = as_aim(options.get("target"), options.get("target_weight"))
    more = {name: options[name] for name in ("columns", "missing", "move") if name in options}
    scales = options.get("standardize", "auto")
    return Setting(similarity, gamma, scales, "auto", memory, deadline, limits=limits, aim=aim, **more)


def compared_move(move: Any, X: Any, rows: Any, comparison: Comparison) -> Any:
    """What `move` says of X, in the units in which its encoded rows (N, d) are compared."""
    if isinstance(move, (bool, str)):
        return move
    encoding = comparison.encoding
    ends = ends_of(X, Given(rows, None, None, None, len(rows), encoding=encoding), move)
    box = movable_of(ends, comparison.scaled, rows[:0], encoding)
    low, high = (np.array(end, np.float64) for end in column_ends(comparison.scaled(rows)))
    low[box.columns], high[box.columns] = box.low, box.high
    return low, high


CHILD = 2**31
"""The spawn key of a child, beyond those that a parent gives itself."""


def a_child_of(rng: np.random.Generator) -> np.random.Generator:
    """A generator that depends on `rng` and leaves it as it is, where it can have one."""
    parent: Any = getattr(rng.bit_generator, "seed_seq", None)
    if not isinstance(parent, np.random.SeedSequence):
        return rng
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, CHILD)))


def on_rows(found: Result, target: Target, sample: Sample, unit: int, seconds: float, notes: list[str]) -> Result:
    """A result on candidates as one on all rows of X, its value judged anew where it was estimated.

    A bound over candidates is none over all rows. `unit` is the exponent of the unit in which values are.
    """
    chosen, weights = sample.at(target.candidates[found.indices]), found.weights
    assert weights is not None  # noqa: S101 - rows are entries
    order = np.argsort(chosen)
    value, error = target.judged(found.indices, weights)
    bound = min(max(found.bound or 0.0, 0.0), value) if target.whole else None  # a squared distance is never negative
    values = [times_power_of_two(number, unit) for number in (value, error)]
    if (value > 0) != (0 < values[0] < math.inf):
        notes = [*notes, f"the value is {value:g} times 2^{unit} in the units of X, beyond what float64 holds"]
        bound = None  # it would tell nothing
    unproven = found.status is Status.OPTIMAL and bound is None
    return replace(
        found,
        indices=chosen[order],
        weights=weights[order],
        value=values[0],
        bound=None if bound is None else times_power_of_two(bound, unit),
        status=Status.FINISHED if unproven else found.status,
        history=in_units(found.history + (value - found.value), unit),
        space=Atoms(sample.size),
        seconds=seconds,
        value_se=values[1],
        note="; ".join(filter(None, [*notes, found.note])),
        words=Words("points", sample.size, "MMD²"),
        total=sample.total,
    )


def in_units(values: Vector, exponent: int) -> Vector:
    """Values times 2^exponent."""
    with np.errstate(over="ignore"):
        return np.ldexp(values, exponent)
