"""k whole units of rows that stand for a data set: all rows of k patients, with weights on the patients.

With x_u the distribution of the rows of unit u, MMD²(Σ q_u x_u, all rows) = (q - t)ᵀ H (q - t) for
the mean similarities H_uv between the rows of u and v, and t_u the share of unit u among all rows.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, as_integer
from ...constraints.groups import Groups
from ...deadline import Deadline
from ...objectives.mmd import MMD, OutOfTime, own_tiles, spans, spread, tile_shape
from ...result import Words
from ...similarity import Similarity
from ...solvers.minimize import minimize
from ...spaces import Atoms
from ...text import visible
from .answer import Answer, in_own_units
from .limits import Limits
from .options import PointsOptions
from .sample import Sample
from .target import MAX_PAIRWISE_WORK, MIN_PAIRWISE_WORK, PAIRWISE_WORK_PER_SECOND, Target

if TYPE_CHECKING:
    from .solve import PreparedRows

FEWEST = 256
"""Rows that are compared whatever the time: a few milliseconds."""


def solve_units(
    prepared: "PreparedRows", k: int, options: PointsOptions, rng: np.random.Generator
) -> Answer:
    """Choose k units, and answer with all their rows."""
    sample, units = prepared.sample, prepared.units
    assert units is not None  # noqa: S101 - asked before
    unit = units.codes[sample.at(np.arange(len(sample.weights)))]
    present = np.unique(unit)
    k = as_integer(k, "k", 1, len(present), "units")
    if 16 * len(present) ** 2 > options.max_memory:
        raise InvalidInput(
            f"max_memory must hold a matrix of {len(present)} units twice, {16 * len(present) ** 2}"
            f" bytes, got {options.max_memory}"
        )
    limits = limits_of_units(prepared.limits, units)
    some, part, H, note = compare_units(sample, unit, prepared, k, limits, options, rng)
    target = Target(MMD(Atoms(len(some)), H, part), some, whole=not note)
    C = limits.constraint(target.F.space, k, some)
    how = {"time_limit": options.deadline, "callback": options.callback, "rng": rng}
    solution = minimize(target.F, C, options.solver, **how)
    bound = min(max(solution.bound or 0.0, 0.0), solution.value) if target.whole else None
    picks, weights = some[solution.indices], np.asarray(solution.weights)
    rows, shares = rows_of_units(prepared, picks, weights)
    n = len(units.codes)
    result = replace(
        solution,
        indices=rows,
        weights=shares,
        table=None,
        bound=bound,
        space=Atoms(n),
        words=Words("points", n, "MMD²"),
        total=sample.total,
        units=names_of_units(units)[picks],
        unit_weights=weights,
        note="; ".join(filter(None, [*prepared.notes, note, solution.note])),
    )
    result = in_own_units(result, prepared.comparison.unit)
    return Answer(result, prepared.comparison, target, sample)


def names_of_units(units: Groups) -> Any:
    """Return what the units are called, (G,)."""
    names = np.asarray(units.names)
    return np.array(units.names, object) if names.dtype.kind == "O" else names


def limits_of_units(limits: Limits, units: Groups) -> Limits:
    """Turn limits on rows into those on units: an included or excluded row stands for its unit."""
    groups = limits.groups
    if groups is not None:
        each = np.zeros(len(units.names), np.int64)
        each[units.codes] = groups.codes
        differ = np.flatnonzero(each[units.codes] != groups.codes)
        if differ.size:
            name = visible(names_of_units(units)[units.codes[differ[0]]])
            raise InvalidInput(
                f"groups must be the same for all rows of a unit, but differs within {name}"
            )
        groups = Groups(each, groups.names)
    include, exclude = (np.unique(units.codes[some]) for some in (limits.include, limits.exclude))
    return limits._replace(include=include, exclude=exclude, groups=groups)


def compare_units(
    sample: Sample,
    unit: Indices,
    prepared: "PreparedRows",
    k: int,
    limits: Limits,
    options: PointsOptions,
    rng: np.random.Generator,
) -> tuple[Indices, Vector, Vector, str]:
    """Find the units that are compared, their shares, their mean similarities, and what is to be said of that.

    All pairs of rows where work and time allow that, else some rows of each unit, at random, or of
    some units.
    """
    deadline, cost, n = options.deadline, sample.rows.shape[1] + 20, len(unit)
    work = max(PAIRWISE_WORK_PER_SECOND * deadline.left(), MIN_PAIRWISE_WORK)
    most = int((min(work, MAX_PAIRWISE_WORK) / cost) ** 0.5)
    for count in (max(most, FEWEST), FEWEST):
        some, notes = np.unique(unit), []
        if len(some) > count:
            allowed = rng.permutation(limits.allowed(some))
            needed = np.union1d(limits.required(some, k, rng), allowed[:k])
            others = np.setdiff1d(np.arange(len(some)), needed)
            drawn = rng.permutation(others)[: max(count - len(needed), 0)]
            notes = [
                f"{len(needed) + len(drawn)} of {len(some)} units were compared, drawn at random"
            ]
            some = some[np.sort(np.append(needed, drawn))]
        mine = kept = np.flatnonzero(np.isin(unit, some))
        if len(mine) > count:
            each = max(count // len(some), 1)
            order = rng.permutation(mine)
            order = order[np.argsort(unit[order], kind="stable")]
            rank = np.arange(len(order)) - np.searchsorted(unit[order], unit[order])
            kept = np.sort(order[rank < each])
            rows = f"at most {each} rows of each, {len(kept)} of {n}"
            notes.append(f"mean similarities of units are those of {rows}, drawn at random")
        part, codes = sample.take(kept), np.searchsorted(some, unit[kept])
        until = deadline if count > FEWEST else None
        try:
            H = mean_similarities(
                part, codes, prepared.comparison.similarity, options.max_memory, until
            )
        except OutOfTime:
            continue
        break
    shares = np.bincount(np.searchsorted(some, unit[mine]), sample.weights[mine], len(some))
    note = "; ".join([*notes, "the value is an estimate"]) if notes else ""
    return some, shares / shares.sum(), H, note


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
    prepared: "PreparedRows", picks: Indices, weights: Vector
) -> tuple[Indices, Vector]:
    """Find all rows of units that are compared, and the share of each in the weight of its unit."""
    entry, units = prepared.input, prepared.units
    assert units is not None  # noqa: S101 - asked before
    mass = np.zeros(len(units.codes))
    kept = slice(None) if entry.kept is None else entry.kept
    mass[kept] = 1.0 if entry.weights is None else entry.weights
    rows = np.flatnonzero(np.isin(units.codes, picks))
    rows = rows if entry.kept is None else np.intersect1d(rows, entry.kept)
    of_unit, codes = np.zeros(len(units.names)), units.codes[rows]
    of_unit[picks] = weights
    total = np.bincount(units.codes, mass, len(units.names))
    return rows, of_unit[codes] * mass[rows] / total[codes]
