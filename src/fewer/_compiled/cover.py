"""Searching k dimensions that cover the most mass: greedy, exchange and kicks on an inverted index.

A cover is E supports in CSR (indptr, indices) with mass w and squares w2, the inverted index
(starts, holders), and log_m. The state of a search is `inside` (n,) bool and `missing` (E,), the number
of dimensions each support still lacks; adding or removing a dimension touches only its holders. Covers too
large for an index have empty (starts, holders): a move then costs a pass, as look-ahead does anyway.
Mode 0 (KL) has gain Q, mode 1 (l2) has gain Q2 - (1 - Q)^2 / M.
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
def gain_of(q: float, q2: float, log_size: float, mode: int) -> float:
    """The gain of a face from its mass, squares and log size."""
    if mode == 0:
        return q
    return float(q2 - (1.0 - q) * (1.0 - q) * np.exp(-log_size))


@compiled
def count_missing(indptr: Ints, indices: Ints, inside: Mask) -> Ints:
    """How many dimensions of each support are not inside: (E,) int32."""
    missing = np.zeros(len(indptr) - 1, np.int32)
    for e in range(len(missing)):
        for j in range(indptr[e], indptr[e + 1]):
            if not inside[indices[j]]:
                missing[e] += 1
    return missing


@compiled
def move(
    i: int, step: int, inside: Mask, missing: Ints, indptr: Ints, indices: Ints, starts: Ints, holders: Ints
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
def measure(inside: Mask, missing: Ints, w: Vector, w2: Vector, log_m: Vector) -> tuple[float, float, float]:
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
def lookahead(indptr: Ints, indices: Ints, values: Vector, inside: Mask, missing: Ints, room: int) -> Vector:
    """Score every dimension: the sum of values 10^(1 - missing) over its supports that still fit."""
    weight = DISCOUNT ** np.arange(room + 1)
    scores = np.zeros(len(inside))
    for e in range(len(missing)):
        if 0 < missing[e] <= room:
            value = values[e] * weight[missing[e] - 1]
            for j in range(indptr[e], indptr[e + 1]):
                scores[indices[j]] += value
    return scores


@compiled
def fill(
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
    values: Vector,
    inside: Mask,
    missing: Ints,
    room: int,
    count: int,
    log_m: Vector,
    mode: int,
    barred: Mask,
) -> None:
    """Add `count` of `room` dimensions by look-ahead; ties to the larger dimension (l2), then the lowest index.

    Dimensions in barred (n,) are taken only when nothing else is left.
    """
    for left in range(room, room - count, -1):
        scores = lookahead(indptr, indices, values, inside, missing, left)
        best = -1
        for i in range(len(inside)):
            if inside[i]:
                continue
            if (
                best < 0
                or barred[best] > barred[i]
                or (
                    barred[i] == barred[best]
                    and (
                        scores[i] > scores[best] or (mode == 1 and scores[i] == scores[best] and log_m[i] > log_m[best])
                    )
                )
            ):
                best = i
        move(best, -1, inside, missing, indptr, indices, starts, holders)


@compiled
def lone_gains(
    indptr: Ints, indices: Ints, inside: Mask, missing: Ints, w: Vector, w2: Vector
) -> tuple[Vector, Vector, Ints, Ints]:
    """Mass and squares each dimension would add by itself: sums over supports that lack only it.

    Returns add (n,), add2 (n,), and the near supports (those lacking one) with what they lack.
    """
    near = np.flatnonzero(missing == 1).astype(np.int32)
    lacks = np.empty(len(near), np.int32)
    add = np.zeros(len(inside))
    add2 = np.zeros(len(inside))
    for t in range(len(near)):
        e = near[t]
        j = indptr[e]
        while inside[indices[j]]:
            j += 1
        lacks[t] = indices[j]
        add[indices[j]] += w[e]
        add2[indices[j]] += w2[e]
    return add, add2, near, lacks


@compiled
def greedy(
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
    room: int,
    count: int,
    mode: int,
) -> None:
    """Algorithm 3: add `count` of `room` dimensions, each of the largest gain; ties by look-ahead, then the index."""
    for left in range(room, room - count, -1):
        q, q2, log_size = measure(inside, missing, w, w2, log_m)
        add, add2, _near, _lacks = lone_gains(indptr, indices, inside, missing, w, w2)
        scores = lookahead(indptr, indices, values, inside, missing, left)
        best, best_gain = -1, -np.inf
        for i in range(len(inside)):
            if inside[i]:
                continue
            gain = gain_of(q + add[i], q2 + add2[i], log_size + log_m[i], mode)
            close = CLOSE * max(abs(gain), 1e-3)
            tied = best >= 0 and abs(gain - best_gain) <= close
            if best < 0 or (tied and scores[i] > scores[best]) or (not tied and gain > best_gain):
                best, best_gain = i, gain
        move(best, -1, inside, missing, indptr, indices, starts, holders)


@compiled
def _losses(
    indptr: Ints, indices: Ints, inside: Mask, missing: Ints, w: Vector, w2: Vector, near: Ints
) -> tuple[Vector, Vector, Ints, Ints]:
    """What removing each dimension loses, and the near supports listed by inside dimension."""
    lose = np.zeros(len(inside))
    lose2 = np.zeros(len(inside))
    for e in range(len(missing)):
        if missing[e] == 0:
            for j in range(indptr[e], indptr[e + 1]):
                lose[indices[j]] += w[e]
                lose2[indices[j]] += w2[e]
    first = np.zeros(len(inside) + 1, np.int64)
    for e in near:
        for j in range(indptr[e], indptr[e + 1]):
            if inside[indices[j]]:
                first[indices[j] + 1] += 1
    first = np.cumsum(first)
    cursor = first.copy()
    listed = np.empty(first[-1], np.int32)
    for t in range(len(near)):
        for j in range(indptr[near[t]], indptr[near[t] + 1]):
            i = indices[j]
            if inside[i]:
                listed[cursor[i]] = t
                cursor[i] += 1
    return lose, lose2, first, listed


@compiled
def best_swap(
    indptr: Ints, indices: Ints, inside: Mask, missing: Ints, w: Vector, w2: Vector, log_m: Vector, mode: int
) -> tuple[int, int, float, float]:
    """The best exchange of r inside for a outside: (r, a, gain after, gain before).

    Q(S - r + a) = Q(S) - lose[r] + add[a] - both[r, a], where both sums the near supports
    that hold r and lack a. One pass over the near supports, then k n comparisons; no k x n memory.
    """
    q, q2, log_size = measure(inside, missing, w, w2, log_m)
    add, add2, near, lacks = lone_gains(indptr, indices, inside, missing, w, w2)
    lose, lose2, first, listed = _losses(indptr, indices, inside, missing, w, w2, near)
    size, inverse = np.exp(log_m), np.exp(-log_m)
    outside = np.flatnonzero(~inside)
    best_r, best_a, best_gain = -1, -1, -np.inf
    for r in np.flatnonzero(inside):
        for t in listed[first[r] : first[r + 1]]:
            add[lacks[t]] -= w[near[t]]
            add2[lacks[t]] -= w2[near[t]]
        shrunk = np.exp(-log_size) * size[r]
        for a in outside:
            gain = q - lose[r] + add[a]
            if mode == 1:
                gain = q2 - lose2[r] + add2[a] - (1.0 - gain) * (1.0 - gain) * shrunk * inverse[a]
            if gain > best_gain:
                best_r, best_a, best_gain = int(r), int(a), float(gain)
        for t in listed[first[r] : first[r + 1]]:
            add[lacks[t]] += w[near[t]]
            add2[lacks[t]] += w2[near[t]]
    return best_r, best_a, best_gain, gain_of(q, q2, log_size, mode)


@compiled
def exchange(
    indptr: Ints,
    indices: Ints,
    starts: Ints,
    holders: Ints,
    w: Vector,
    w2: Vector,
    log_m: Vector,
    inside: Mask,
    missing: Ints,
    mode: int,
    limit: int,
) -> tuple[int, float]:
    """Swap best-first in place until no swap helps, at most `limit` swaps; returns swaps made, gain."""
    for done in range(limit + 1):
        r, a, after, before = best_swap(indptr, indices, inside, missing, w, w2, log_m, mode)
        if r < 0 or after <= before + CLOSE * abs(before) or done == limit:
            return done, before
        move(r, 1, inside, missing, indptr, indices, starts, holders)
        move(a, -1, inside, missing, indptr, indices, starts, holders)
    return limit, before


@compiled
def draw(state: Ints, bound: int) -> int:
    """A number in 0..bound-1 from the splitmix64 state (1,) uint64: the same bits everywhere."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z: Any = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return int((z >> np.uint64(11)) % np.uint64(bound))


@compiled
def _drop(
    state: Ints, k: int, inside: Mask, missing: Ints, indptr: Ints, indices: Ints, starts: Ints, holders: Ints
) -> tuple[Mask, int]:
    """Remove 2..k/2 dimensions at random; returns what was dropped, as a mask."""
    chosen = np.flatnonzero(inside)
    count = min(k, 2 + draw(state, max(1, k // 2 - 1)))
    dropped = np.zeros(len(inside), np.bool_)
    for t in range(count):
        other = t + draw(state, k - t)
        chosen[t], chosen[other] = chosen[other], chosen[t]
        dropped[chosen[t]] = True
        move(chosen[t], 1, inside, missing, indptr, indices, starts, holders)
    return dropped, count


@compiled
def _adopt(
    state: Ints, room: int, inside: Mask, missing: Ints, indptr: Ints, indices: Ints, starts: Ints, holders: Ints
) -> int:
    """Add a random uncovered support whole, if a few draws find one that fits; returns the room left."""
    for _ in range(20):
        e = draw(state, len(missing))
        if 0 < missing[e] <= room:
            room -= missing[e]
            for j in range(indptr[e], indptr[e + 1]):
                if not inside[indices[j]]:
                    move(indices[j], -1, inside, missing, indptr, indices, starts, holders)
            break
    return room


@compiled
def _become(
    target: Mask, inside: Mask, missing: Ints, indptr: Ints, indices: Ints, starts: Ints, holders: Ints
) -> None:
    """Turn the current face into the target (n,) bool."""
    for i in range(len(inside)):
        if inside[i] != target[i]:
            move(i, -1 if target[i] else 1, inside, missing, indptr, indices, starts, holders)


@compiled
def kicks(
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
    count: int,
    limit: int,
    state: Ints,
) -> tuple[float, int]:
    """Kick `count` times in place: drop, sometimes adopt a support, refill, exchange; keep if no worse.

    Every other kick bars what it dropped from coming back in the refill. Returns the final gain and the
    number of kicks that improved it.
    """
    k = inside.sum()
    q, q2, log_size = measure(inside, missing, w, w2, log_m)
    best = gain_of(q, q2, log_size, mode)
    kept = inside.copy()
    nothing = np.zeros(len(inside), np.bool_)
    improved = 0
    for _ in range(count):
        dropped, room = _drop(state, k, inside, missing, indptr, indices, starts, holders)
        if draw(state, 2) == 0:
            room = _adopt(state, room, inside, missing, indptr, indices, starts, holders)
        barred = dropped if draw(state, 2) == 0 else nothing
        fill(indptr, indices, starts, holders, values, inside, missing, room, room, log_m, mode, barred)
        _, gain = exchange(indptr, indices, starts, holders, w, w2, log_m, inside, missing, mode, limit)
        if gain < best - CLOSE * abs(best):
            _become(kept, inside, missing, indptr, indices, starts, holders)
            continue
        if gain > best + CLOSE * abs(best):
            improved += 1
        best = gain
        kept[:] = inside
    return best, improved
