"""k units of rows that stand for a whole data set: all rows of k patients, with weights on the patients."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_generator,
    as_integer,
    gathered,
    renamed,
)
from ...bandwidths import times_power_of_two
from ...constraints.groups import Groups
from ...constraints.sparse_simplex import SparseSimplex
from ...deadline import Deadline
from ...lazy_rows import some_rows
from ...objectives.mmd import MMD
from ...objectives.pairs import HIGH, OutOfTime, check, spans, spread, tile_entries, tile_rows
from ...options import IN_BLOCKS
from ...result import Result, Status, Words
from ...solvers.minimize import minimize
from ...spaces import Atoms
from ...tables.frames import height
from ...tables.source import is_lazy, source_of
from ...text import visible
from ...threads import own_threads
from .blocks import with_rows
from .limits import Limits, by_position, groups_of
from .options import PointsOptions
from .sample import Sample
from .setting import in_users_terms, prepare

MAX_PAIRWISE_WORK = 10**11
"""Pairs of rows times (columns + 20) up to which all are compared; beyond it some rows of each unit, at random."""
WORK_PER_SECOND = 10**9
"""The same for each second of a time limit: about a half of it."""
MIN_WORK = 2 * 10**8
"""The same under any time limit."""
FEWEST = 256
"""Rows that are compared whatever the time: a few milliseconds."""
ALL_OF_A_GROUP = 2**62
NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Patients:
    """Which unit each row of X belongs to, (N,), and what the units are called, (G,)."""

    codes: Indices
    labels: Any

    @classmethod
    def of(cls, groups: Groups) -> "Patients":
        """By the labels that the rows were given."""
        present, again = np.unique(groups.codes, return_inverse=True)
        names = np.asarray(groups.names)
        return cls(
            again.reshape(-1),
            (names if names.dtype.kind != "O" else np.array(groups.names, object))[present],
        )

    def rows(self, units: Indices) -> Indices:
        """All rows of some units, sorted."""
        return np.flatnonzero(np.isin(self.codes, units))

    def one_each(self, values: Indices, name: str) -> Indices:
        """What all rows of a unit have in common, (G,); a sentence where they do not."""
        each = np.zeros(len(self.labels), np.int64)
        each[self.codes] = values
        differ = np.flatnonzero(each[self.codes] != values)
        if differ.size:
            label = visible(self.labels[self.codes[differ[0]]])
            raise InvalidInput(
                f"{name} must be the same for all rows of a unit, but differs within {label}"
            )
        return each


def apart_by_unit(options: PointsOptions) -> PointsOptions:
    """Options for rows of which those of different units are told apart, whatever is kept of them."""
    limits: dict[str, Any] = {
        "groups": options.units,
        "min_per_group": None,
        "max_per_group": ALL_OF_A_GROUP,
    }
    return options.replace(include=(), exclude=(), **limits)


def points_of_units(X: Any, k: Any, options: PointsOptions) -> Result:
    """Choose rows whole by unit.

    With x_u the distribution of the rows of unit u, MMD²(Σ q_u x_u, all rows) = (q - t)ᵀ H (q - t)
    for the mean similarities H_uv between the rows of u and v, and t_u the share of unit u among
    all rows.
    """
    options.refuse(
        "move", "target", road="units; they are kept as they are and stand for the rows of X"
    )
    if is_lazy(X):
        whole = source_of(X, options.labels, options.sample_weight).whole(options.max_memory // 2)
        if whole is None:
            options.refuse("units", road=IN_BLOCKS)
        assert whole is not None  # noqa: S101 - units are refused otherwise
        X, options = whole.X, by_position(height(whole.X), with_rows(options, whole))
    X = gathered(X)
    generator, seed = as_generator(options.rng)
    deadline = options.deadline
    k = as_integer(k, "k", 1)
    with own_threads():
        with renamed(groups="units"):
            ready = prepare(X, k, apart_by_unit(options), generator, most=False)
        assert ready.held.groups is not None  # noqa: S101 - these are the units
        patients = Patients.of(ready.held.groups)
        sample = ready.sample
        of_row = patients.codes[sample.at(np.arange(len(sample.weights)))]
        present = np.unique(of_row)
        k = as_integer(k, "k", 1, len(present), "units")
        check_memory(len(present), options.max_memory)
        every = constraint_of(options, X, patients, present, k)
        some, H, note = compared(
            sample, of_row, present, every, ready, options.max_memory, deadline, generator
        )
        mine = np.flatnonzero(np.isin(of_row, some))
        shares = np.bincount(np.searchsorted(some, of_row[mine]), sample.weights[mine], len(some))
        F = MMD(Atoms(len(some)), H, shares / shares.sum())
        C = every if len(some) == len(present) else constraint_of(options, X, patients, some, k)
        found = minimize(
            F, C, options.solver, time_limit=deadline, callback=options.callback, rng=generator
        )
    notes = "; ".join(filter(None, [*ready.notes, note, found.note]))
    result = on_rows(replace(found, seed=seed, note=notes), patients, some, ready, note == "")
    stored = None if options.precomputed else ready.comparison.stored(options.similarity)
    return replace(in_users_terms(result, X, options), compared=stored, seconds=deadline.elapsed())


def compared(
    sample: Sample,
    of_row: Indices,
    present: Indices,
    limits: SparseSimplex,
    ready: Any,
    memory: int,
    deadline: Deadline,
    rng: np.random.Generator,
) -> tuple[Indices, Vector, str]:
    """The units that are compared, their mean similarities, and what is to be said of that."""
    for most in most_compared(sample.rows.shape[1], deadline):
        some = present[compared_units(limits, most, rng)]
        kept, note = compared_rows(of_row, some, len(present), most, rng)
        used = (
            sample
            if len(kept) == len(of_row)
            else sample.take(kept, sample.weights[kept] / sample.weights[kept].sum())
        )
        codes = np.searchsorted(some, of_row[kept])
        try:
            H = mean_similarities(used, codes, ready, memory, deadline if most > FEWEST else None)
        except OutOfTime:
            continue
        break
    return some, H, note


def check_memory(count: int, memory: int) -> None:
    """A sentence where the similarities of so many units take too much."""
    if 16 * count * count > memory:
        raise InvalidInput(
            f"units: {count} units need a matrix of {8 * count * count} bytes and as much again, max_memory is {memory}"
        )


def most_compared(d: int, deadline: Deadline) -> Iterator[int]:
    """How many rows of d columns may be compared with each other, and how many where that took too long."""
    work = (
        MAX_PAIRWISE_WORK
        if not deadline.limited
        else max(WORK_PER_SECOND * deadline.left(), MIN_WORK)
    )
    most = int((min(work, MAX_PAIRWISE_WORK) / (d + 20)) ** 0.5)
    if not deadline.limited or (most > FEWEST and not deadline.passed):
        yield most
    yield FEWEST


def compared_units(limits: SparseSimplex, most: int, rng: np.random.Generator) -> Indices:
    """All units, or where they are too many some at random, among them a choice that the limits allow."""
    n = limits.space.size
    if n <= most:
        return np.arange(n)
    order = rng.permutation(n)
    allowed = limits.rules.fitting(order, limits.rules.sizes[1])
    one_each = NO_ROWS if limits.groups is None else np.unique(limits.groups, return_index=True)[1]
    needed = np.unique(np.concatenate([allowed, one_each, limits.include]))
    others = order[~np.isin(order, needed)]
    return np.sort(np.concatenate([needed, others[: max(most - len(needed), 0)]]))


def compared_rows(
    of_row: Indices, some: Indices, count: int, most: int, rng: np.random.Generator
) -> tuple[Indices, str]:
    """All rows of some of `count` units, or where all pairs are too many some of each, and what is to be said of it."""
    mine, notes = np.arange(len(of_row)), []
    if len(some) < count:
        mine = np.flatnonzero(np.isin(of_row, some))
        notes.append(
            f"{len(some)} of {count} units were compared within the time limit, drawn at random"
        )
    n, unit = len(mine), of_row[mine]
    if n > most:
        order = rng.permutation(n)
        order = order[np.argsort(unit[order], kind="stable")]
        rank = np.arange(n) - np.searchsorted(unit[order], unit[order])
        sizes = np.bincount(unit)
        each = 1
        while np.minimum(sizes, 2 * each).sum() <= most:
            each *= 2
        mine = mine[np.sort(order[rank < each])]
        rows = f"at most {each} rows of each, {len(mine)} of {len(of_row)}"
        notes.append(f"mean similarities of units are those of {rows}, drawn at random")
    return mine, "; ".join([*notes, "the value is an estimate"]) if notes else ""


def mean_similarities(
    sample: Sample, of_row: Indices, ready: Any, memory: int, deadline: Deadline | None
) -> Vector:
    """H (G, G): the mean similarity of the rows of two units, by their weights; in tiles, each pair compared once."""
    count = int(of_row.max()) + 1
    order = np.argsort(of_row, kind="stable")
    rows, unit = some_rows(sample.rows, order), of_row[order]
    inside = sample.weights[order] / np.bincount(of_row, sample.weights, count)[unit]
    labels = None if sample.labels is None else sample.labels[order]
    similarity = ready.comparison.similarity
    centre = similarity.centre(rows)
    high = max(1, min(HIGH, int(tile_entries(memory) ** 0.5), tile_rows(rows.shape[1], memory)))
    parts = spans(len(unit), high)
    H = np.zeros((count, count))
    last = deadline if deadline is not None and deadline.limited else None

    def work(i: int) -> list[tuple[slice, slice, Vector]]:
        left, done = similarity.left(rows[parts[i]], centre, np.float64), []
        for j in range(i, len(parts)):
            check(last)
            block = similarity.between(left, similarity.right(rows[parts[j]], centre, np.float64))
            block = block.astype(np.float64, copy=False)
            if labels is not None:
                block = block * (labels[parts[i]][:, None] == labels[parts[j]])
            done.append(added_up(block, inside, unit, parts[i], parts[j]))
        return done

    for first in range(0, len(parts), 16):
        tiles = list(range(first, min(first + 16, len(parts))))
        for i, done in zip(tiles, spread(work, tiles), strict=True):
            for j, (down, across, sums) in enumerate(done, start=i):
                H[down, across] += sums
                if i != j:
                    H[across, down] += sums.T
    return (H + H.T) / 2.0


def added_up(
    block: Vector, inside: Vector, unit: Indices, part: slice, other: slice
) -> tuple[slice, slice, Vector]:
    """A tile of similarities as weighted sums over units, which are neighbours there, and where these belong in H."""
    down, across = unit[part], unit[other]
    sums = (block * inside[part][:, None]) * inside[other]
    sums = np.add.reduceat(sums, np.flatnonzero(np.append(True, np.diff(down) != 0)), axis=0)
    sums = np.add.reduceat(sums, np.flatnonzero(np.append(True, np.diff(across) != 0)), axis=1)
    return slice(down[0], down[-1] + 1), slice(across[0], across[-1] + 1), sums


def constraint_of(
    options: PointsOptions, X: Any, patients: Patients, present: Indices, k: int
) -> SparseSimplex:
    """At most k units, within what was asked of rows: an included or excluded row stands for its unit."""
    n = len(patients.codes)
    held = Limits.of(X, n, options.replace(groups=None, min_per_group=None, max_per_group=None))
    include, exclude = (
        np.flatnonzero(np.isin(present, patients.codes[some])) if some.size else NO_ROWS
        for some in (held.include, held.exclude)
    )
    groups = None
    if options.groups is not None:
        rows = groups_of(X, options.groups, n)
        found, codes = np.unique(
            patients.one_each(rows.codes, "groups")[present], return_inverse=True
        )
        groups = Groups(codes.reshape(-1), tuple(rows.names[at] for at in found))
    low, high = options.weights(k)
    counts = options.max_per_group, options.min_per_group
    return SparseSimplex(Atoms(len(present)), k, low, high, include, exclude, groups, *counts)


def on_rows(found: Result, patients: Patients, present: Indices, ready: Any, whole: bool) -> Result:
    """A result on units as one on all their rows, each with its share of the unit's weight."""
    given, unit = ready.given, ready.comparison.unit
    weights = np.asarray(found.weights)
    chosen = present[found.indices]
    mass = np.zeros(len(patients.codes))
    mass[slice(None) if given.kept is None else given.kept] = (
        1.0 if given.weights is None else given.weights
    )
    rows = patients.rows(chosen)
    rows = rows if given.kept is None else np.intersect1d(rows, given.kept)
    of_unit = np.zeros(len(patients.labels))
    of_unit[chosen] = weights
    total = np.bincount(patients.codes, mass, len(patients.labels))
    codes = patients.codes[rows]
    each = of_unit[codes] * mass[rows] / total[codes]
    bound = min(max(found.bound or 0.0, 0.0), found.value) if whole else None
    status = Status.FINISHED if bound is None and found.status is Status.OPTIMAL else found.status
    return replace(
        found,
        indices=rows,
        weights=each,
        table=None,
        value=times_power_of_two(found.value, unit),
        bound=None if bound is None else times_power_of_two(bound, unit),
        status=status,
        history=np.ldexp(found.history, unit),
        space=Atoms(len(patients.codes)),
        words=Words("points", len(patients.codes), "MMD²"),
        total=ready.sample.total,
        units=patients.labels[chosen],
        unit_weights=weights,
    )
