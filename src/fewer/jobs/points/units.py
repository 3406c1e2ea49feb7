"""k whole units of rows that stand for a data set: all rows of k patients, with weights on the patients.

With x_u the distribution of the rows of unit u, MMD²(Σ q_u x_u, all rows) = (q - t)ᵀ H (q - t) for
the mean similarities H_uv between the rows of u and v, and t_u the share of unit u among all rows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, as_integer
from ...constraints.groups import Groups
from ...deadline import Deadline
from ...objectives.mmd import MMD, OutOfTime, own_tiles, spans, spread, tile_shape
from ...similarity import Similarity
from ...spaces import Atoms
from ...text import visible
from .options import PointsOptions
from .rows import Limits, RowInput, Sample, ranks_in_groups
from .target import (
    MAX_PAIRWISE_WORK,
    MIN_PAIRWISE_WORK,
    PAIRWISE_WORK_PER_SECOND,
    Answer,
    Target,
)

FEWEST = 256
"""Rows that are compared whatever the time: a few milliseconds."""


def choose_units(
    entry: RowInput,
    sample: Sample,
    units: Groups,
    k: int,
    limits: Limits,
    similarity: Similarity,
    options: PointsOptions,
    rng: np.random.Generator,
    notes: Sequence[str],
) -> Answer:
    """Choose k units, and answer with all their rows."""
    unit = units.codes[sample.first]
    present = np.unique(unit)
    k = as_integer(k, "k", 1, len(present), "units")
    if 16 * len(present) ** 2 > options.max_memory:
        raise InvalidInput(
            f"max_memory must hold a matrix of {len(present)} units twice, {16 * len(present) ** 2}"
            f" bytes, got {options.max_memory}"
        )
    limits = limits_of_units(limits, units)
    deadline, cost = options.deadline, sample.rows.shape[1] + 20
    work = max(PAIRWISE_WORK_PER_SECOND * deadline.left(), MIN_PAIRWISE_WORK)
    most = int((min(work, MAX_PAIRWISE_WORK) / cost) ** 0.5)
    for count in (max(most, FEWEST), FEWEST):
        some, kept, note = compared_units(unit, k, limits, count, rng)
        until = deadline if count > FEWEST else None
        codes = np.searchsorted(some, unit[kept])
        try:
            H = mean_similarities(sample.take(kept), codes, similarity, options.max_memory, until)
        except OutOfTime:
            continue
        break
    shares = np.bincount(unit, sample.weights)[some]
    t: Vector = shares / shares.sum()
    target = Target(MMD(Atoms(len(some)), H, t), np.arange(len(some)), note=note, whole=not note)
    C = limits.constraint(target.F.space, k, some, options)
    of_units = Sample(None, t, some, sample.size, total=sample.total)
    answer = Answer.of(target, of_units, C, options, rng, notes)
    picks, weights = answer.result.indices, np.asarray(answer.result.weights)
    rows, of_rows = rows_of_units(entry, units, picks, weights)
    names = np.asarray(units.names)[picks]
    result = replace(answer.result, indices=rows, weights=of_rows, table=None)
    return answer._replace(result=replace(result, units=names, unit_weights=weights))


def limits_of_units(limits: Limits, units: Groups) -> Limits:
    """Turn limits on rows into those on units: an included or excluded row stands for its unit."""
    groups = limits.groups
    if groups is not None:
        each = np.zeros(len(units.names), np.int64)
        each[units.codes] = groups.codes
        differ = np.flatnonzero(each[units.codes] != groups.codes)
        if differ.size:
            name = visible(units.names[units.codes[differ[0]]])
            raise InvalidInput(
                f"groups must be the same for all rows of a unit, but differs within {name}"
            )
        groups = Groups(each, groups.names)
    include, exclude = (np.unique(units.codes[some]) for some in (limits.include, limits.exclude))
    return limits._replace(include=include, exclude=exclude, groups=groups)


def compared_units(
    unit: Indices, k: int, limits: Limits, count: int, rng: np.random.Generator
) -> tuple[Indices, Indices, str]:
    """Find the units and the rows, `count` of either at most, that are compared, and what is to be said of that."""
    some, notes = np.unique(unit), []
    if len(some) > count:
        allowed = rng.permutation(limits.allowed(some))
        needed = np.union1d(limits.required(some, k, rng), allowed[:k])
        others = rng.permutation(np.setdiff1d(np.arange(len(some)), needed))
        places = np.append(needed, others[: max(count - len(needed), 0)])
        notes = [f"{len(places)} of {len(some)} units were compared, drawn at random"]
        some = some[np.sort(places)]
    kept = np.flatnonzero(np.isin(unit, some))
    if len(kept) > count:
        each = max(count // len(some), 1)
        order = rng.permutation(kept)
        kept = np.sort(order[ranks_in_groups(unit[order]) < each])
        rows = f"at most {each} rows of each, {len(kept)} of {len(unit)}"
        notes.append(f"mean similarities of units are those of {rows}, drawn at random")
    return some, kept, "; ".join([*notes, "the value is an estimate"]) if notes else ""


def mean_similarities(
    sample: Sample, unit: Indices, similarity: Similarity, memory: int, deadline: Deadline | None
) -> Vector:
    """Compute H (G, G), the mean similarity of the rows of two units by their weights, each pair compared once."""
    order = np.argsort(unit, kind="stable")
    sample, unit = sample.take(order), unit[order]
    rows, n, count = sample.rows, len(unit), int(unit[-1]) + 1
    within = sample.weights / np.bincount(unit, sample.weights)[unit]
    W = sp.csr_array((within, (np.arange(n), unit)), (n, count))
    centre = similarity.centre(rows)
    parts = spans(n, tile_shape(n, rows.shape[1], memory)[1])

    def work(i: int) -> Vector:
        sums = np.zeros((parts[i].stop - parts[i].start, count))
        for other, block in own_tiles(rows, parts, i, similarity, np.float64, centre, deadline):
            if sample.labels is not None:
                block = block * (sample.labels[parts[i]][:, None] == sample.labels[other])
            sums += (0.5 if other == parts[i] else 1.0) * (block @ W[other])
        return sums

    H = np.zeros((count, count))
    for first in range(0, len(parts), 16):
        some = list(range(first, min(first + 16, len(parts))))
        for i, sums in zip(some, spread(work, some), strict=True):
            own = slice(unit[parts[i].start], unit[parts[i].stop - 1] + 1)
            H[own] += W[parts[i], own].T @ sums
    return H + H.T


def rows_of_units(
    entry: RowInput, units: Groups, picks: Indices, weights: Vector
) -> tuple[Indices, Vector]:
    """Find all rows of units that are compared, and the share of each in the weight of its unit."""
    unit = units.codes[entry.kept]
    mine = np.flatnonzero(np.isin(unit, picks))
    total = np.bincount(unit, entry.weights)
    of_unit = np.zeros(len(total))
    of_unit[picks] = weights / total[picks]
    return entry.kept[mine], of_unit[unit[mine]] * entry.weights[mine]
