"""One round of optimal segmentation: the best end of the last segment but one, for every position."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Choice = npt.NDArray[np.int32]


@compiled
def spread_of(counts: Vector, first: Vector, second: Vector, start: int, stop: int) -> float:
    """Σ w (P - mean)² over start..stop-1, from the sums of w, w P and w P² before each position, (n + 1,) each."""
    if stop - start < 2:
        return 0.0
    total = first[stop] - first[start]
    return float(
        max(second[stop] - second[start] - total * total / (counts[stop] - counts[start]), 0.0)
    )


@compiled
def advance(
    before: Vector,
    sums: tuple[Vector, Vector, Vector],
    after: Vector,
    choice: Choice,
    stack: Indices,
    depth: int,
    work: int,
) -> int:
    """after[e] = min over s < e of before[s] + spread(s, e), with its argmin in choice, for all that is on the stack.

    The argmin never falls as e grows (the spread is a Monge cost), so the middle e splits the
    search in two: O(n log n) instead of O(n²). A row (low, high, left, right) of the stack (64, 4)
    asks for e in low..high with s in left..right. It pauses after about `work` comparisons; returns
    how many rows are left.
    """
    counts, first, second = sums
    while depth > 0 and work > 0:
        depth -= 1
        low, high, left, right = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if low > high:
            continue
        e = (low + high) // 2
        best, at = np.inf, left
        for s in range(left, min(right, e - 1) + 1):
            cost = before[s] + spread_of(counts, first, second, s, e)
            if cost < best:
                best, at = cost, s
        work -= min(right, e - 1) + 1 - left
        after[e] = best
        choice[e] = at
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = e + 1, high, at, right
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = low, e - 1, left, at
        depth += 1
    return depth


@compiled
def advance_bars(
    before: Vector,
    sums: tuple[Vector, Vector, Vector],
    after: Vector,
    choice: Choice,
    ends: Vector,
    owners: Indices,
    state: Indices,
    ceilings: Vector,
    work: int,
) -> None:
    """after[e] = min over s < e of before[s] + spread(s, e), with its argmin in choice, for values in any order.

    By functional pruning (Rigaill 2015): of the last bar's height u, f(u) = min over s of before[s]
    + Σ w (x - u)² is kept as pieces, an interval and the s it belongs to each. A start s that is
    lowest for no u never is again, so few pieces are left, mostly. `ends` (2, 2 n + 2, 2) and
    `owners` (2, 2 n + 2) hold the pieces, old and new; `state` is their number, which side is old,
    and the next e. To begin with there is one piece, the range of u, whose owner is
    -1: nobody.
    Costs above `ceilings` (n + 1,), what may lie before each position, do not matter, and need not
    be right. It pauses after about `work` pieces.
    """
    counts, first, second = sums
    while state[2] < len(after) and work > 0:
        old, e = state[1], state[2]
        level, made, ceiling = before[e - 1], 0, ceilings[e - 1]
        s = e - 1 if level <= ceiling else -1
        for t in range(state[0]):
            c, low, high = owners[old, t], ends[old, t, 0], ends[old, t, 1]
            left, right = high, high  # where the old owner stays the lower one
            if c >= 0 and c < e - 1:
                width = counts[e - 1] - counts[c]
                mean = (first[e - 1] - first[c]) / width
                least, off = (
                    before[c] + spread_of(counts, first, second, c, e - 1),
                    min(max(mean, low), high) - mean,
                )
                if least + width * off * off <= ceiling:
                    if s < 0:
                        left = low
                    elif least < level:
                        half = np.sqrt((level - least) / width)
                        left, right = (
                            min(max(low, mean - half), high),
                            max(min(high, mean + half), low),
                        )
                        if left >= right:
                            left, right = high, high
            made = put(ends, owners, 1 - old, made, low, left, s)
            made = put(ends, owners, 1 - old, made, left, right, c)
            made = put(ends, owners, 1 - old, made, right, high, s)
        work -= 2 * state[0] + 1
        state[0], state[1] = made, 1 - old
        old = 1 - old
        best, at = np.inf, 0
        for t in range(made):
            c = owners[old, t]
            if c >= 0:
                width, total = counts[e] - counts[c], first[e] - first[c]
                off = min(max(total / width, ends[old, t, 0]), ends[old, t, 1]) - total / width
                cost = before[c] + spread_of(counts, first, second, c, e) + width * off * off
                if cost < best:
                    best, at = cost, c
        after[e], choice[e] = best, at
        state[2] = e + 1


@compiled
def put(
    ends: Vector, owners: Indices, side: int, count: int, low: float, high: float, owner: int
) -> int:
    """Add a piece, if it is one, or make the last one longer where that has the same owner.

    How many there are.
    """
    if low >= high:
        return count
    if count > 0 and owners[side, count - 1] == owner:
        ends[side, count - 1, 1] = high
        return count
    ends[side, count, 0], ends[side, count, 1], owners[side, count] = low, high, owner
    return count + 1
