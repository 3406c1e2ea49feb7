"""Projections onto D_k over listed states, whose supports come as rows of a CSR pattern."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .lattice import better
from .simplex import relative_distance, shrink

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@compiled
def missing_units(
    indptr: Indices,
    indices: Indices,
    chosen: Mask,
    costs: Vector,
    missing: Indices,
    lacks: Indices,
    prices: Vector,
) -> None:
    """How many dimensions outside `chosen` each state uses, the first such dimension, and what they cost; O(nnz)."""
    for e in range(indptr.size - 1):
        missing[e], lacks[e], prices[e] = 0, -1, 0.0
        for j in range(indptr[e], indptr[e + 1]):
            if not chosen[indices[j]]:
                if missing[e] == 0:
                    lacks[e] = indices[j]
                missing[e] += 1
                prices[e] += costs[indices[j]]


@compiled
def nearest_reachable(v: Vector, prices: Vector, room: float) -> int:
    """The state of largest v outside the face that dimensions of cost `room` would let in, or -1."""
    best = -1
    for e in range(v.size):
        if 0.0 < prices[e] <= room and (best < 0 or v[e] > v[best]):
            best = e
    return best


@compiled
def buckets(
    v: Vector, missing: Indices, lacks: Indices, tau: float, n: int, values: Vector
) -> Indices:
    """The entries above tau of states that miss only dimension i, at values[starts[i]:starts[i+1]]."""
    starts = np.zeros(n + 1, np.int64)
    for e in range(v.size):
        if missing[e] == 1 and v[e] > tau:
            starts[lacks[e] + 1] += 1
    starts = np.cumsum(starts)
    cursor = starts[:-1].copy()
    for e in range(v.size):
        if missing[e] == 1 and v[e] > tau:
            values[cursor[lacks[e]]] = v[e]
            cursor[lacks[e]] += 1
    return starts


@compiled
def greedy_state_units(
    v: Vector, indptr: Indices, indices: Indices, k: int, costs: Vector, room: float
) -> Indices:
    """The dimensions that Algorithm 2 picks when only the listed states may carry mass: at most k, of cost `room`.

    A dimension can only matter through the states that miss nothing else, so one pass over the
    pattern serves all candidates. When no candidate helps, it walks towards the largest entry that
    still fits; if none is left, it takes the lowest free index.
    """
    N, n = v.size, costs.size
    chosen = np.zeros(n, np.bool_)
    missing, lacks, prices = np.empty(N, np.int64), np.empty(N, np.int64), np.empty(N)
    units, active, trial, near = np.empty(k, np.int64), np.empty(N), np.empty(N), np.empty(N)
    for step in range(k):
        missing_units(indptr, indices, chosen, costs, missing, lacks, prices)
        count, tau, best, pick = 0, -np.inf, np.inf, -1
        for e in range(N):
            if missing[e] == 0:
                active[count] = v[e]
                count += 1
        if count > 0:
            count, tau = shrink(active, count)
            best = relative_distance(active, count, tau)
        starts = buckets(v, missing, lacks, tau, n, near)
        for i in range(n):
            size = starts[i + 1] - starts[i]
            if size > 0 and costs[i] <= room:
                trial[:count] = active[:count]
                trial[count : count + size] = near[starts[i] : starts[i + 1]]
                kept, raised = shrink(trial, count + size)
                distance = relative_distance(trial, kept, raised)
                if better(distance, best):
                    best, pick = distance, i
        if pick < 0:
            goal = nearest_reachable(v, prices, room)
            pick = int(lacks[goal]) if goal >= 0 else int(np.argmin(chosen | (costs > room)))
        if chosen[pick] or costs[pick] > room:
            return units[:step]
        units[step] = pick
        chosen[pick] = True
        room -= costs[pick]
    return units
