"""Searching the dimensions that cover the most mass within a budget, on an inverted index.

A cover is E supports in CSR (indptr, indices) with mass w and squares w2, the inverted index
(starts, holders), and log_m. The state of a search is `inside` (n,) bool and `missing` (E,), the
number of dimensions each support still lacks; adding or removing a dimension touches only its
holders. Covers too large for an index have empty (starts, holders): a move then costs a pass, as
look-ahead does anyway. Mode 0 (KL) has gain Q, mode 1 (l2) has gain Q2 - (1 - Q)^2 / M. A dimension
i costs costs[i] > 0, and a face may cost `room` together; k dimensions are costs of one and room
for k. Constants that one of these functions hands to another are cast: numba compiles a literal as
a type of its own.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

DISCOUNT = 0.1  # look-ahead: a support counts a tenth for every further dimension it lacks
CLOSE = 1e-12  # relative improvement below which two gains are the same


@compiled
def move(
    i: int,
    step: int,
    inside: Mask,
    missing: Ints,
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
) -> None:
    """Add (step -1) or remove (step +1) dimension i; without an inverted index, by a pass over all supports."""
    inside[i] = step < 0
    if len(starts) > 0:
        for j in range(starts[i], starts[i + 1]):
            missing[holders[j]] += step
        return
    for e in range(len(missing)):
        for j in range(indptr[e], indptr[e + 1]):
            if indices[j] >= i:
                if indices[j] == i:
                    missing[e] += step
                break


@compiled
def measure(
    inside: Mask, missing: Ints, w: Vector, w2: Vector, log_m: Vector
) -> tuple[float, float, float]:
    """(Q, Q2, log M) of the current face."""
    q = 0.0
    q2 = 0.0
    for e in range(len(missing)):
        if missing[e] == 0:
            q += w[e]
            q2 += w2[e]
    log_size = 0.0
    for i in range(len(inside)):
        if inside[i]:
            log_size += log_m[i]
    return q, q2, log_size


@compiled
def lone_gains(
    indptr: Ints, indices: Ints, inside: Mask, missing: Ints, w: Vector, w2: Vector
) -> tuple[Vector, Vector, Ints, Ints]:
    """Mass and squares each dimension would add by itself: sums over supports that lack only it.

    Returns add (n,), add2 (n,), and the near supports (those lacking one) with what they lack.
    """
    count = 0
    for e in range(len(missing)):
        count += missing[e] == 1
    near = np.empty(count, np.int32)
    lacks = np.empty(count, np.int32)
    add = np.zeros(len(inside))
    add2 = np.zeros(len(inside))
    t = 0
    for e in range(len(missing)):
        if missing[e] == 1:
            j = indptr[e]
            while inside[indices[j]]:
                j += 1
            near[t], lacks[t] = e, indices[j]
            add[indices[j]] += w[e]
            add2[indices[j]] += w2[e]
            t += 1
    return add, add2, near, lacks


@compiled
def look_ahead(
    indptr: Ints,
    indices: Ints,
    values: Vector,
    inside: Mask,
    missing: Ints,
    costs: Vector,
    left: float,
) -> Vector:
    """Score every dimension: the sum of values 10^(1 - missing) over its supports that `left` can pay for."""
    scores = np.zeros(len(inside))
    least, most = np.inf, 0.0
    for i in range(len(inside)):
        if not inside[i]:
            least, most = min(least, costs[i]), max(most, costs[i])
    if least > left:
        return scores
    longest, sure = int(min(left / least, len(inside))), int(min(left / most, len(inside)))
    discounts = np.ones(longest + 1)
    for t in range(2, longest + 1):
        discounts[t] = DISCOUNT * discounts[t - 1]
    for e in range(len(missing)):
        if 0 < missing[e] <= longest and (
            missing[e] <= sure or lacking(e, indptr, indices, inside, costs) <= left
        ):
            value = values[e] * discounts[missing[e]]
            for j in range(indptr[e], indptr[e + 1]):
                scores[indices[j]] += value
    return scores


@compiled
def lacking(e: int, indptr: Ints, indices: Ints, inside: Mask, costs: Vector) -> float:
    """What the dimensions cost that a support still lacks."""
    total = 0.0
    for j in range(indptr[e], indptr[e + 1]):
        if not inside[indices[j]]:
            total += costs[indices[j]]
    return total


@compiled
def spare(inside: Mask, costs: Vector, room: float) -> float:
    """What the face leaves of the room."""
    for i in range(len(inside)):
        if inside[i]:
            room -= costs[i]
    return room


@compiled
def grow(
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
    values: Vector,
    log_m: Vector,
    inside: Mask,
    missing: Ints,
    mode: int,
    costs: Vector,
    left: float,
    count: int,
    barred: Mask,
) -> int:
    """Add at most `count` dimensions that `left` pays for, each the one of the largest look-ahead for its cost.

    Ties go to the larger dimension (l2), then to the lowest index. Dimensions in barred (n,) are
    taken only when nothing else fits. Returns how many were added.
    """
    for step in range(count):
        fits = False
        for i in range(len(inside)):
            fits |= not inside[i] and costs[i] <= left
        if not fits:
            return step
        scores = look_ahead(indptr, indices, values, inside, missing, costs, left)
        best, best_score = np.int64(-1), 0.0
        for i in range(len(inside)):
            if inside[i] or costs[i] > left or (best >= 0 and barred[i] and not barred[best]):
                continue
            score = scores[i] / costs[i]
            larger = mode == 1 and score == best_score and log_m[i] > log_m[best]
            if best < 0 or score > best_score or larger or (barred[best] and not barred[i]):
                best, best_score = i, score
        move(best, np.int64(-1), inside, missing, indptr, indices, starts, holders)
        left -= costs[best]
    return count


@compiled
def best_swap(
    indptr: Ints,
    indices: Ints,
    inside: Mask,
    missing: Ints,
    w: Vector,
    w2: Vector,
    log_m: Vector,
    mode: int,
    costs: Vector,
    left: float,
) -> tuple[int, int, float, float]:
    """The best exchange of r inside for a outside, or r = -1 for an addition: (r, a, gain after, gain before).

    `left` pays for what a costs more than r. Q(S - r + a) = Q(S) - lose[r] + add[a] - both[r, a],
    where both sums the near supports that hold r and lack a. One pass over the near supports, then
    k n comparisons; no k x n memory.
    """
    n = len(inside)
    q, q2, log_size = measure(inside, missing, w, w2, log_m)
    add, add2, near, lacks = lone_gains(indptr, indices, inside, missing, w, w2)
    lose = np.zeros(n)
    lose2 = np.zeros(n)
    for e in range(len(missing)):
        if missing[e] == 0:
            for j in range(indptr[e], indptr[e + 1]):
                lose[indices[j]] += w[e]
                lose2[indices[j]] += w2[e]
    first = np.zeros(n + 2, np.int64)  # the near supports listed by inside dimension
    for e in near:
        for j in range(indptr[e], indptr[e + 1]):
            first[indices[j] + 2] += inside[indices[j]]
    for i in range(n):
        first[i + 2] += first[i + 1]
    listed = np.empty(first[n + 1], np.int32)
    for t in range(len(near)):
        for j in range(indptr[near[t]], indptr[near[t] + 1]):
            if inside[indices[j]]:
                listed[first[indices[j] + 1]] = t
                first[indices[j] + 1] += 1
    best_r, best_a, best_gain = -1, -1, -np.inf
    before = q if mode == 0 else q2 - (1.0 - q) * (1.0 - q) * np.exp(-log_size)
    inverse = np.exp(-log_m)
    for a in range(n):
        if inside[a] or costs[a] > left:
            continue
        gain = q + add[a]
        if mode == 1:
            gain = q2 + add2[a] - (1.0 - gain) * (1.0 - gain) * np.exp(-log_size) * inverse[a]
        if gain > best_gain:
            best_a, best_gain = a, gain
    for r in range(n):
        if not inside[r]:
            continue
        for t in listed[first[r] : first[r + 1]]:
            add[lacks[t]] -= w[near[t]]
            add2[lacks[t]] -= w2[near[t]]
        shrunk = np.exp(log_m[r] - log_size)
        for a in range(n):
            if inside[a] or costs[a] > left + costs[r]:
                continue
            gain = q - lose[r] + add[a]
            if mode == 1:
                gain = q2 - lose2[r] + add2[a] - (1.0 - gain) * (1.0 - gain) * shrunk * inverse[a]
            if gain > best_gain:
                best_r, best_a, best_gain = r, a, gain
        for t in listed[first[r] : first[r + 1]]:
            add[lacks[t]] += w[near[t]]
            add2[lacks[t]] += w2[near[t]]
    return best_r, best_a, best_gain, before


@compiled
def improve(
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
    w: Vector,
    w2: Vector,
    values: Vector,
    log_m: Vector,
    inside: Mask,
    missing: Ints,
    mode: int,
    costs: Vector,
    room: float,
    limit: int,
) -> tuple[int, float]:
    """Swap best-first in place until no swap helps and nothing more fits, at most `limit` swaps; swaps made, gain."""
    done = 0
    none = np.zeros(len(inside), np.bool_)
    while True:
        left = spare(inside, costs, room)
        r, a, after, before = best_swap(
            indptr, indices, inside, missing, w, w2, log_m, mode, costs, left
        )
        if done == limit:
            return done, before
        if a < 0 or after <= before + CLOSE * abs(before):
            added = grow(
                indptr,
                indices,
                starts,
                holders,
                values,
                log_m,
                inside,
                missing,
                mode,
                costs,
                left,
                len(inside),
                none,
            )
            if added == 0:
                return done, before
            continue
        if r >= 0:
            move(r, np.int64(1), inside, missing, indptr, indices, starts, holders)
        move(a, np.int64(-1), inside, missing, indptr, indices, starts, holders)
        done += 1


@compiled
def perturb(
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
    w: Vector,
    w2: Vector,
    values: Vector,
    log_m: Vector,
    inside: Mask,
    missing: Ints,
    mode: int,
    costs: Vector,
    room: float,
    drops: Ints,
    supports: Ints,
    barred: Mask,
    limit: int,
) -> tuple[int, float]:
    """Remove `drops`, add the first of `supports` that then fits, fill up by look-ahead, improve; swaps made, gain."""
    for i in drops:
        move(i, np.int64(1), inside, missing, indptr, indices, starts, holders)
    left = spare(inside, costs, room)
    for e in supports:
        if missing[e] > 0 and lacking(e, indptr, indices, inside, costs) <= left:
            for j in range(indptr[e], indptr[e + 1]):
                if not inside[indices[j]]:
                    move(
                        np.int64(indices[j]),
                        np.int64(-1),
                        inside,
                        missing,
                        indptr,
                        indices,
                        starts,
                        holders,
                    )
            left = spare(inside, costs, room)
            break
    grow(
        indptr,
        indices,
        starts,
        holders,
        values,
        log_m,
        inside,
        missing,
        mode,
        costs,
        left,
        len(inside),
        barred,
    )
    return improve(
        indptr,
        indices,
        starts,
        holders,
        w,
        w2,
        values,
        log_m,
        inside,
        missing,
        mode,
        costs,
        room,
        limit,
    )
