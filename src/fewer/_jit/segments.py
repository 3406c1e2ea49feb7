"""The best step function with k jumps: optimal segmentation of a cumulative distribution."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@compiled
def prefix_sums(P: Vector) -> tuple[Vector, Vector]:
    """Σ (P - P̄) and Σ (P - P̄)² over the first t entries, (n + 1,) each; centring keeps their digits."""
    centre = P.mean()
    first, second = np.zeros(P.size + 1), np.zeros(P.size + 1)
    for t in range(P.size):
        d = P[t] - centre
        first[t + 1] = first[t] + d
        second[t + 1] = second[t] + d * d
    return first, second


@compiled
def spread_of(first: Vector, second: Vector, start: int, stop: int) -> float:
    """Σ (P - mean)² over start..stop-1."""
    if stop - start < 2:
        return 0.0
    total = first[stop] - first[start]
    return float(max(second[stop] - second[start] - total * total / (stop - start), 0.0))


@compiled
def next_jump(before: Vector, first: Vector, second: Vector, jump: int, after: Vector, choice: Indices) -> None:
    """after[e] = min over s < e of before[s] + spread(s, e), with its argmin in choice.

    The argmin never falls as e grows (the spread is a Monge cost), so the middle e splits the search in two:
    O(n log n) instead of O(n²). A stack stands in for the recursion.
    """
    n = before.size
    after[:] = np.inf
    stack = np.empty((64, 4), np.int64)
    stack[0] = np.array([jump, n - 1, jump - 1, n - 2])
    depth = 1
    while depth > 0:
        depth -= 1
        low, high, left, right = stack[depth]
        if low > high:
            continue
        e = (low + high) // 2
        best, at = np.inf, left
        for s in range(left, min(right, e - 1) + 1):
            cost = before[s] + spread_of(first, second, s, e)
            if cost < best:
                best, at = cost, s
        after[e] = best
        choice[e] = at
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = e + 1, high, at, right
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = low, e - 1, left, at
        depth += 1


@compiled
def best_jumps(P: Vector, k: int) -> Indices:
    """Where a distribution on k places jumps so that Σ (Q - P)² of the cumulative distributions is least, (k,).

    Q is 0 before the first jump, 1 from the last on, and the mean of P between two jumps (which rises, because P
    does). Dynamic programming over jumps, O(k n log n) time and 8 k n bytes. P (n,) non-decreasing, k <= n.
    """
    n = P.size
    first, second = prefix_sums(P)
    before, after = np.empty(n), np.empty(n)
    tail = np.empty(n)
    total = 0.0
    for e in range(n):
        before[e] = total
        total += P[e] * P[e]
    total = 0.0
    for e in range(n - 1, -1, -1):
        total += (1.0 - P[e]) * (1.0 - P[e])
        tail[e] = total
    choices = np.zeros((k, n), np.int64)
    for jump in range(1, k):
        next_jump(before, first, second, jump, after, choices[jump])
        before, after = after, before
    jumps = np.empty(k, np.int64)
    jumps[k - 1] = np.argmin(before + tail)
    for jump in range(k - 1, 0, -1):
        jumps[jump - 1] = choices[jump, jumps[jump]]
    return jumps


@compiled
def step_weights(P: Vector, jumps: Indices) -> Vector:
    """The masses (k,) of the best step function with these jumps: differences of the means of P between them."""
    weights = np.empty(jumps.size)
    level = 0.0
    for j in range(jumps.size):
        height = P[jumps[j] : jumps[j + 1]].mean() if j + 1 < jumps.size else 1.0
        weights[j] = max(height - level, 0.0)
        level = height
    weights /= weights.sum()
    return weights
