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
    return float(max(second[stop] - second[start] - total * total / (counts[stop] - counts[start]), 0.0))


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

    The argmin never falls as e grows (the spread is a Monge cost), so the middle e splits the search in two:
    O(n log n) instead of O(n²). A row (low, high, left, right) of the stack (64, 4) asks for e in low..high with s in
    left..right. It pauses after about `work` comparisons; returns how many rows are left.
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
