"""How points are chosen: the rows made ready, the search, and the answer in terms of X."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._validation import InvalidInput, Vector, as_generator, as_integer
from ...bandwidths import Bandwidth, bandwidth_in_units, largest, times_power_of_two
from ...constraints.sparse_simplex import SparseSimplex
from ...lazy_rows import LazyRows, in_memory
from ...result import Result, Status, Words
from ...similarity import BANDED, from_matrix, similarity_of
from ...solvers.minimize import minimize
from ...spaces import Atoms
from ...tables.frames import index_of, take_rows
from ...threads import own_threads
from .bandwidth import validated_width
from .box import move_points
from .comparison import Comparison, checked_function, in_unit, odd, ordinary_exponent
from .explain import Source
from .limits import Limits
from .options import PointsOptions
from .row_input import Given, given_rows
from .sample import Sample, as_gram, as_rows
from .scaling import NOTE, Standardization, standardizes
from .target import Target, target_of
from .target_set import Aim, Together, alone

SPARSE = ("rbf", "matern32", "matern52", "cosine", "linear")
"""Similarities that compare sparse rows."""
BYTES_PER_ROW, BYTES_PER_LABEL_OR_WEIGHT = 24, 8
"""Bytes for each row of X that indices and the answer take, and for each of labels and weights."""
MEANS_NOTE = {
    "cosine": "cosine compares means of rows of length one only: clusters can be missed; rbf on such rows sees them",
    "linear": "linear compares the means of the rows only: clusters can be missed; rbf sees them",
}
"""What similarities that are inner products do not see."""
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
    def held(self) -> Limits:
        """What the points must hold and must not."""
        held: Limits = self.given.held
        return held


class Chosen(NamedTuple):
    """The points chosen, and what they were chosen from."""

    result: Result
    comparison: Comparison
    target: Target
    sample: Sample


def joined_with_target(X: Any, options: PointsOptions) -> Together:
    """X alone, or with the rows of another target below it."""
    labels, weight, columns = options.labels, options.sample_weight, options.columns
    if options.target is None:
        return alone(X, labels, weight, columns)
    aim = Aim(options.target, options.target_weight)
    return aim.beside(X, labels, weight, columns, options.missing, options.groups)


def given_of(both: Together, options: PointsOptions, scales: bool) -> Given:
    """Rows in the form that the similarity compares, for precomputed ones row numbers."""
    X, labels, sample_weight = both.X, both.labels, both.weights
    if options.precomputed:
        if options.columns is not None or options.missing != "error":
            raise InvalidInput("columns and missing are about rows, got similarity='precomputed'")
        rows = np.arange(len(as_gram(X)))[:, None]
        return Given(rows, None, labels, sample_weight, len(rows))
    codes = isinstance(options.similarity, str) and options.similarity == "hamming"
    sparse = similarity_of(options.similarity).sparse
    rules = (both.columns, options.missing)
    apart = [options.groups] if isinstance(options.groups, str) else []
    return given_rows(
        X, labels, sample_weight, *rules, apart, codes=codes, sparse=sparse, scales=scales
    )


def sample_of(
    X: Any, both: Together, options: PointsOptions
) -> tuple[Sample, Standardization | None, Given]:
    """The distinct rows of X, and of another target, with their weights, standardized where asked for, and how."""
    scales = standardizes(options.standardize, X, options.similarity)
    deadline = options.deadline if options.deadline.limited else None
    given = given_of(both, options, scales)
    if given.size == both.others:
        raise InvalidInput("X must have at least one row, got none")
    held = Limits.of(X, given.size - both.others, options)
    given = given._replace(held=held, notes=(*both.notes, *given.notes))
    always = given.of_rows(held.include, "include")
    apart = given.some(held.kinds(given.size - both.others, both.others))
    sample = Sample.of(
        given.rows, given.labels, given.weights, not options.precomputed, deadline, always, apart
    )
    sample = replace(sample, top=given.top)
    if given.kept is not None:
        sample = sample.within(given.kept, given.size)
    if not scales:
        return sample, None, given
    numbers = None if given.encoding is None else given.encoding.numbers
    scaling = Standardization.of(sample.rows, sample.weights, numbers)
    return replace(sample, rows=scaling(sample.rows), top=1.0), scaling, given


def compared(
    X: Any,
    sample: Sample,
    scaling: Standardization | None,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
) -> tuple[Sample, Comparison, str]:
    """Rows in an ordinary unit, the similarity for them, and what is odd about them."""
    if options.precomputed:
        gram = as_rows(X, sparse=False)
        exponent = ordinary_exponent(largest(gram))
        return sample, Comparison(from_matrix(gram, -exponent), unit=exponent), ""
    if callable(options.similarity):
        return sample, Comparison(checked_function(options.similarity, sample), scaling=scaling), ""
    if options.similarity == "linear" and scaling is None:
        return in_unit(sample)
    if options.similarity not in BANDED:
        return sample, Comparison(similarity_of(options.similarity), scaling=scaling), ""
    width = width_of(sample, k, options, rng)
    rows = sample.rows if isinstance(sample.rows, LazyRows) else LazyRows(sample.rows)
    sample = replace(
        sample, rows=in_memory(rows.times_power_of_two(-width.exponent), options.max_memory // 8)
    )
    similarity = similarity_of(options.similarity, width.scaled)
    return sample, Comparison(similarity, width.gamma, width.exponent, 0, scaling), odd(width)


def width_of(sample: Sample, k: int, options: PointsOptions, rng: np.random.Generator) -> Bandwidth:
    """The bandwidth by number or rule."""
    if isinstance(options.gamma, str) and options.gamma == "cv":
        return validated_width(
            sample, k, options.similarity, options.max_memory, a_child_of(rng), options.deadline
        )
    return bandwidth_in_units(
        sample.rows, options.similarity, options.gamma, sample.weights, sample.top
    )


def solve_points(X: Any, k: int, options: PointsOptions, most: bool = True) -> Chosen:
    """Choose the points; with `most` False a k above the distinct rows means all of them."""
    with own_threads():
        return _solve(X, k, options, most)


def prepare(
    X: Any, k: int, options: PointsOptions, rng: np.random.Generator, most: bool = True
) -> Prepared:
    """The rows that are compared, and how; `rng` is left as it is."""
    k = as_integer(k, "k", 1)
    both = joined_with_target(X, options)
    sample, scaling, given = sample_of(X, both, options)
    distinct = len(both.parts(sample, given.kept)[0].weights)
    k = as_integer(k if most else min(k, distinct), "k", 1, distinct, "distinct rows")
    beside = [value for value in (options.labels, options.sample_weight) if value is not None]
    each = BYTES_PER_ROW + BYTES_PER_LABEL_OR_WEIGHT * len(beside)
    check_memory(k, sample.size, each, options.max_memory)
    sample, comparison, note = compared(X, sample, scaling, k, options, rng)
    scaled = scaling is not None and (given.encoding is None or given.encoding.numbers > 0)
    means = MEANS_NOTE.get(options.similarity, "") if isinstance(options.similarity, str) else ""
    notes = [NOTE if scaled else "", *given.notes, note, means, sample.note]
    parts = both.parts(sample, given.kept)
    source = both.source(
        X if options.target is None else options.target, given, options.precomputed
    )
    return Prepared(
        parts[0], comparison._replace(encoding=given.encoding), notes, given, parts[1], source
    )


def _solve(X: Any, k: int, options: PointsOptions, most: bool) -> Chosen:
    generator, seed = as_generator(options.rng)
    k = as_integer(k, "k", 1)
    prepared = prepare(X, k, options, generator, most)
    return chosen(prepared, X, min(k, len(prepared.sample.weights)), options, generator, seed)


def chosen(
    prepared: Prepared,
    X: Any,
    k: int,
    options: PointsOptions,
    generator: np.random.Generator,
    seed: int | None,
) -> Chosen:
    """The answer for k from rows that were prepared."""
    k = as_integer(k, "k", 1, len(prepared.sample.weights), "distinct rows")
    sample, comparison, notes, _, against, _ = prepared
    held, rows = prepared.held, sample.at(np.arange(len(sample.weights)))
    target = target_of(sample, against, comparison.similarity, k, options, generator, held)
    notes = [*notes, target.note]
    C = held.constraint(target.F.space, min(k, target.F.space.size), rows[target.candidates])
    found = search(target, C, options, generator, seed)
    result = on_rows(found, target, sample, comparison.unit, options.deadline.elapsed(), notes)
    stored = None if options.precomputed else comparison.stored(options.similarity)
    result = replace(in_users_terms(result, X, options), compared=stored, source=prepared.source)
    if options.moves:
        result = move_points(result, X, found, target, prepared, options, generator)
    return Chosen(result, comparison, target, sample)


def in_users_terms(result: Result, X: Any, options: PointsOptions) -> Result:
    """The result with the kept rows of X and what its index calls them."""
    labels = index_of(X)
    rows = None if options.precomputed else take_rows(X, result.indices)
    return replace(result, rows=rows, labels=None if labels is None else labels[result.indices])


def check_memory(k: int, n: int, each: int, memory: int) -> None:
    """A sentence where not even the least that is kept fits."""
    if 8 * k * k > memory:
        raise InvalidInput(
            f"max_memory must hold k = {k} columns of at least {k} similarities, {8 * k * k} bytes, got {memory}"
        )
    if each * n > memory:
        raise InvalidInput(
            f"max_memory must hold {each} bytes for each of the {n} rows, {each * n} bytes, got {memory}"
        )


def search(
    target: Target,
    C: SparseSimplex,
    options: PointsOptions,
    rng: np.random.Generator,
    seed: int | None,
) -> Result:
    """The solver's answer over the candidates."""
    solver, until = options.solver, options.deadline
    if solver in ("auto", "exact") and (options.moves or not target.whole):
        solver = "exchange"  # there is nothing to prove
    if options.moves:
        until = options.deadline.share(SEARCH_TIME_SHARE)
    found = minimize(target.F, C, solver, time_limit=until, callback=options.callback, rng=rng)
    return replace(found, seed=seed)


CHILD = 2**31
"""The spawn key of a child, beyond those that a parent gives itself."""


def a_child_of(rng: np.random.Generator) -> np.random.Generator:
    """A generator that depends on `rng` and leaves it as it is, where it can have one."""
    parent: Any = getattr(rng.bit_generator, "seed_seq", None)
    if not isinstance(parent, np.random.SeedSequence):
        return rng
    return np.random.default_rng(
        np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, CHILD))
    )


def on_rows(
    found: Result, target: Target, sample: Sample, unit: int, seconds: float, notes: list[str]
) -> Result:
    """A result on candidates as one on all rows of X, its value judged anew where it was estimated.

    A bound over candidates is none over all rows. `unit` is the exponent of the unit in which
    values are.
    """
    chosen, weights = sample.at(target.candidates[found.indices]), found.weights
    assert weights is not None  # noqa: S101 - rows are entries
    order = np.argsort(chosen)
    value, error = target.judge(found.indices, weights)
    bound = (
        min(max(found.bound or 0.0, 0.0), value) if target.whole else None
    )  # a squared distance is never negative
    values = [times_power_of_two(number, unit) for number in (value, error)]
    if (value > 0) != (0 < values[0] < math.inf):
        notes = [
            *notes,
            f"the value is {value:g} times 2^{unit} in the units of X, beyond what float64 holds",
        ]
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
