"""Searching the dimensions that cover the most mass within a budget, on an inverted index.

A face is kept as which dimensions are inside it and how many each support still lacks; adding or
removing a dimension touches only its holders. Mode 0 (KL) has gain Q, mode 1 (l2)
has gain Q2 - (1 - Q)^2 / M. Constants that one of these functions hands to another are cast: numba
compiles a literal as a type of its own.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

DISCOUNT = 0.1  # look-ahead: a support counts a tenth for every further dimension it lacks
CLOSE = 1e-12  # relative improvement below which two gains are the same


class Supports(NamedTuple):
    """E supports of n dimensions in CSR with their inverted index, and what a face may cost."""

    indptr: Ints  # (E + 1,)
    indices: Ints  # (nnz,)
    starts: Ints  # (n + 1,)
    holders: Ints  # (nnz,)
    mass: Vector  # (E,)
    squares: Vector  # (E,)
    promise: Vector  # (E,), what covering each is worth to look-ahead
    log_m: Vector  # (n,)
    mode: int
    costs: Vector  # (n,), above zero
    room: float  # what the dimensions of a face may cost together


class Face(NamedTuple):
    """A face on the move."""

    inside: Mask  # (n,)
    missing: Ints  # (E,), how many dimensions each support lacks


@compiled
def move(i: int, step: int, face: Face, c: Supports) -> None:
    """Add (step -1) or remove (step +1) dimension i."""
    face.inside[i] = step < 0
    for e in c.holders[c.starts[i] : c.starts[i + 1]]:
        face.missing[e] += step


@compiled
def measure(face: Face, c: Supports) -> tuple[float, float, float]:
    """(Q, Q2, log M) of a face."""
    q = 0.0
    q2 = 0.0
    for e in range(len(face.missing)):
        if face.missing[e] == 0:
            q += c.mass[e]
            q2 += c.squares[e]
    log_size = 0.0
    for i in range(len(face.inside)):
        if face.inside[i]:
            log_size += c.log_m[i]
    return q, q2, log_size


@compiled
def lone_gains(face: Face, c: Supports) -> tuple[Vector, Vector, Ints]:
    """Mass and squares each dimension would add by itself: sums over supports that lack only it.

    Returns add (n,), add2 (n,), and what each support that lacks one lacks (E,).
    """
    add, add2 = np.zeros(len(face.inside)), np.zeros(len(face.inside))
    lacks = np.full(len(face.missing), -1, np.int32)
    for e in range(len(face.missing)):
        if face.missing[e] == 1:
            j = c.indptr[e]
            while face.inside[c.indices[j]]:
                j += 1
            lacks[e] = c.indices[j]
            add[lacks[e]] += c.mass[e]
            add2[lacks[e]] += c.squares[e]
    return add, add2, lacks


@compiled
def look_ahead(face: Face, c: Supports) -> Vector:
    """Score every dimension: the sum of promises 10^(1 - missing) over its supports that can still be paid for."""
    left = spare(face, c)
    scores = np.zeros(len(face.inside))
    least, most = np.inf, 0.0
    for i in range(len(face.inside)):
        if not face.inside[i]:
            least, most = min(least, c.costs[i]), max(most, c.costs[i])
    if least > left:
        return scores
    longest, sure = int(min(left / least, len(scores))), int(min(left / most, len(scores)))
    discounts = np.ones(longest + 1)
    for t in range(2, longest + 1):
        discounts[t] = DISCOUNT * discounts[t - 1]
    for e in range(len(face.missing)):
        lacks = face.missing[e]
        if 0 < lacks <= longest and (lacks <= sure or cost_of(e, face, c) <= left):
            value = c.promise[e] * discounts[lacks]
            for j in range(c.indptr[e], c.indptr[e + 1]):
                scores[c.indices[j]] += value
    return scores


@compiled
def cost_of(e: int, face: Face, c: Supports) -> float:
    """What the dimensions cost that a support still lacks."""
    total = 0.0
    for j in range(c.indptr[e], c.indptr[e + 1]):
        if not face.inside[c.indices[j]]:
            total += c.costs[c.indices[j]]
    return total


@compiled
def spare(face: Face, c: Supports) -> float:
    """What the face leaves of the room."""
    left = c.room
    for i in range(len(face.inside)):
        if face.inside[i]:
            left -= c.costs[i]
    return left


@compiled
def grow(face: Face, c: Supports, count: int, barred: Mask) -> int:
    """Add at most `count` dimensions that fit, each the one of the largest look-ahead for its cost.

    Ties go to the larger dimension (l2), then to the lowest index. Dimensions in barred (n,) are
    taken only when nothing else fits. Returns how many were added.
    """
    for step in range(count):
        left = spare(face, c)
        fits = False
        for i in range(len(barred)):
            fits |= not face.inside[i] and c.costs[i] <= left
        if not fits:
            return step
        scores = look_ahead(face, c)
        best, best_score = np.int64(-1), 0.0
        for i in range(len(barred)):
            unfit = face.inside[i] or c.costs[i] > left
            if unfit or (best >= 0 and barred[i] and not barred[best]):
                continue
            score = scores[i] / c.costs[i]
            larger = c.mode == 1 and score == best_score and c.log_m[i] > c.log_m[best]
            if best < 0 or score > best_score or larger or (barred[best] and not barred[i]):
                best, best_score = i, score
        move(best, np.int64(-1), face, c)
    return count


@compiled
def best_swap(face: Face, c: Supports) -> tuple[int, int, float, float]:
    """The best exchange of r inside for a outside, or r = -1 for an addition: (r, a, gain after, gain before).

    Q(S - r + a) = Q(S) - lost[r] + add[a] - both[r, a], where both sums the supports that hold r
    and lack a alone. One pass over the supports, then k n comparisons; no k x n memory.
    """
    left = spare(face, c)
    q, q2, log_size = measure(face, c)
    all_add, all_add2, lacks = lone_gains(face, c)
    n = len(face.inside)
    lacks[face.missing == 0] = n  # the last of the sums is what the face covers
    all_add, all_add2 = np.append(all_add, q), np.append(all_add2, q2)
    best_r, best_a, best_gain = -1, -1, -np.inf
    before = q if c.mode == 0 else q2 - (1.0 - q) * (1.0 - q) * np.exp(-log_size)
    inverse = np.exp(-c.log_m)
    for r in range(-1, n):  # -1: nothing leaves
        if r >= 0 and not face.inside[r]:
            continue
        add, add2, room, shrunk = all_add.copy(), all_add2.copy(), left, np.exp(-log_size)
        if r >= 0:
            room, shrunk = left + c.costs[r], np.exp(c.log_m[r] - log_size)
            for e in c.holders[c.starts[r] : c.starts[r + 1]]:
                if lacks[e] >= 0:
                    add[lacks[e]] -= c.mass[e]
                    add2[lacks[e]] -= c.squares[e]
        for a in range(n):
            if face.inside[a] or c.costs[a] > room:
                continue
            gain = add[n] + add[a]
            if c.mode == 1:
                gain = add2[n] + add2[a] - (1.0 - gain) * (1.0 - gain) * shrunk * inverse[a]
            if gain > best_gain:
                best_r, best_a, best_gain = r, a, gain
    return best_r, best_a, best_gain, before


@compiled
def improve(face: Face, c: Supports, limit: int) -> tuple[int, float]:
    """Swap best-first in place until no swap helps and nothing more fits, at most `limit` swaps.

    Swaps made, gain.
    """
    done = 0
    none = np.zeros(len(face.inside), np.bool_)
    while True:
        r, a, after, before = best_swap(face, c)
        if done == limit:
            return done, before
        if a < 0 or after <= before + CLOSE * abs(before):
            if grow(face, c, len(none), none) == 0:
                return done, before
            continue
        if r >= 0:
            move(r, np.int64(1), face, c)
        move(a, np.int64(-1), face, c)
        done += 1


@compiled
def perturb(
    face: Face, c: Supports, drops: Ints, supports: Ints, barred: Mask, limit: int
) -> tuple[int, float]:
    """Remove `drops`, add the first of `supports` that then fits, fill up by look-ahead, improve.

    Swaps made, gain.
    """
    for i in drops:
        move(i, np.int64(1), face, c)
    left = spare(face, c)
    for e in supports:
        if face.missing[e] > 0 and cost_of(e, face, c) <= left:
            for j in range(c.indptr[e], c.indptr[e + 1]):
                if not face.inside[c.indices[j]]:
                    move(np.int64(c.indices[j]), np.int64(-1), face, c)
            break
    grow(face, c, len(barred), barred)
    return improve(face, c, limit)
