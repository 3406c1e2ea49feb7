"""Upper bounds by prices: split each support's value over its free dimensions, pay the dearest.

With a[e, i] >= 0 and sum_i a[e, i] = v[e] for the supports e that can still be covered,
    sum_{e inside S} v[e] <= sum_{i in S} price[i],   price[i] = sum_e a[e, i],
so the `room` largest prices bound every face. Splits that make the prices as equal as possible (least squares
over the base polytope) are best for every room at once and reach the bound of the linear relaxation.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Restriction = tuple[float, Vector, Ints, Ints, Vector, Vector, Ints, Ints]

FREE, OUT, IN = 0, 1, 2  # what is known of a dimension
CLOSED, LEAF, STUCK, MORE = 0, 1, 2, 3  # how a call of `tighten` ended
PATIENCE = 2  # rounds between two looks at the progress
PROGRESS = 0.3  # the share of the distance to the floor that such rounds must win
ALONE = 3.0  # branching: how much a dimension's own value counts against it (chosen by trial, 15 x fewer steps than 0)


@compiled
def restrict(indptr: Ints, indices: Ints, values: Vector, split: Vector, fixed: Ints, room: int) -> Restriction:
    """The problem left when dimensions are fixed: what is sure, and what each free dimension may add.

    Returns base (value already covered), lone (n,) (supports that lack one dimension), and the supports
    that lack 2..room: CSR (ptr, items), values, splits rescaled to them, their numbers and entries here.
    Supports that cannot be covered any more get value 0 in place.
    """
    base = 0.0
    lone = np.zeros(len(fixed))
    ptr = np.zeros(len(values) + 1, np.int64)
    items = np.empty(len(indices), np.int32)
    share = np.empty(len(indices))
    entry = np.empty(len(indices), np.int64)
    value = np.empty(len(values))
    number = np.empty(len(values), np.int64)
    alive, end = 0, 0
    for e in range(len(values)):
        if values[e] <= 0.0:
            continue
        stop = end
        total = 0.0
        for j in range(indptr[e], indptr[e + 1]):
            i = indices[j]
            if fixed[i] == OUT or (fixed[i] == FREE and stop - end == room):
                stop = -1
                break
            if fixed[i] == FREE:
                items[stop], share[stop], entry[stop] = i, split[j], j
                total += split[j]
                stop += 1
        if stop < 0:
            values[e] = 0.0
            continue
        if stop == end:
            base += values[e]
        elif stop == end + 1:
            lone[items[end]] += values[e]
        else:
            for j in range(end, stop):
                share[j] = share[j] * values[e] / total if total > 0.0 else values[e] / (stop - end)
            value[alive], number[alive] = values[e], e
            alive += 1
            ptr[alive] = stop
            end = stop
    return base, lone, ptr[: alive + 1], items[:end], value[:alive], share[:end], number[:alive], entry[:end]


@compiled
def level(lone: Vector, ptr: Ints, items: Ints, value: Vector, share: Vector, entry: Ints) -> Vector:
    """One round of exact block descent: refill each support from the cheapest of its dimensions up.

    Returns the prices lone[i] + sum_e a[e, i], (n,). Each support is left sorted by price (items, share and entry
    alike), so later rounds find it nearly sorted.
    """
    prices = lone.copy()
    for j in range(len(items)):
        prices[items[j]] += share[j]
    rest = np.empty(len(lone))  # prices without the support at hand
    for e in range(len(value)):
        start, stop = ptr[e], ptr[e + 1]
        for j in range(start, stop):
            i, own, at = items[j], share[j], entry[j]
            x = prices[i] - own
            s = j
            while s > start and rest[s - start - 1] > x:
                rest[s - start] = rest[s - start - 1]
                items[s], share[s], entry[s] = items[s - 1], share[s - 1], entry[s - 1]
                s -= 1
            rest[s - start] = x
            items[s], share[s], entry[s] = i, own, at
        total = value[e] + rest[0]
        count = 1
        while count < stop - start and rest[count] * count < total:
            total += rest[count]
            count += 1
        height = total / count
        for j in range(start, stop):
            share[j] = max(0.0, height - rest[j - start])
            prices[items[j]] = rest[j - start] + share[j]
    for i in range(len(lone)):  # afresh: no rounding error may build up in a bound
        prices[i] = lone[i]  # numba takes 3 s to compile this as a slice
    for j in range(len(items)):
        prices[items[j]] += share[j]
    return prices


@compiled
def dearest(prices: Vector, fixed: Ints, room: int) -> tuple[float, float, float]:
    """Sum of the `room` largest of more free prices, the last of them, and the next one."""
    largest = np.empty(room + 1)  # in descending order; what a sort of all does, without compiling one
    count = 0
    for i in range(len(fixed)):
        if fixed[i] != FREE or (count > room and prices[i] <= largest[room]):
            continue
        s = min(count, room)
        while s > 0 and largest[s - 1] < prices[i]:
            largest[s] = largest[s - 1]
            s -= 1
        largest[s] = prices[i]
        count += 1
    total = 0.0
    for s in range(room):
        total += largest[s]
    return total, largest[room - 1], largest[room]


@compiled
def settle(
    prices: Vector,
    fixed: Ints,
    ptr: Ints,
    items: Ints,
    number: Ints,
    values: Vector,
    total: float,
    last: float,
    following: float,
    floor: float,
) -> int:
    """Fix and forget what the prices prove; returns how many dimensions were fixed and supports forgotten.

    total is the bound, floor the value to beat, last the lowest price paid and following the next one. A dimension is
    out if it cannot pay its way in, in if nothing can replace it; a support that no face above the floor can cover
    gets values[e] = 0.
    """
    count = 0
    for i in range(len(fixed)):
        if fixed[i] != FREE:
            continue
        if prices[i] < last and total - last + prices[i] <= floor:
            fixed[i] = OUT
            count += 1
        elif prices[i] > following and total - prices[i] + following <= floor:
            fixed[i] = IN
            count += 1
    for e in range(len(number)):
        bound = total
        for j in range(ptr[e], ptr[e + 1]):
            bound -= max(0.0, last - prices[items[j]])
        if bound <= floor and values[number[e]] > 0.0:
            values[number[e]] = 0.0
            count += 1
    return count


@compiled
def entangled(ptr: Ints, items: Ints, value: Vector, lone: Vector, fixed: Ints) -> int:
    """The free dimension to branch on: much value shared, little of its own; ties to the lowest index."""
    weight = np.empty(len(lone))
    for i in range(len(lone)):
        weight[i] = -ALONE * lone[i]
    for e in range(len(value)):
        for j in range(ptr[e], ptr[e + 1]):
            weight[items[j]] += value[e]
    best = -1
    for i in range(len(fixed)):
        if fixed[i] == FREE and (best < 0 or weight[i] > weight[best]):
            best = i
    return best


@compiled
def tighten(
    indptr: Ints,
    indices: Ints,
    values: Vector,
    split: Vector,
    fixed: Ints,
    k: int,
    floor: float,
    mark: float,
    rounds: int,
) -> tuple[int, float, int, int]:
    """Bound the faces of k dimensions that agree with `fixed`, in at most `rounds` rounds of levelling.

    Fixes dimensions, zeroes hopeless values and improves the splits in place; mark is the bound that an earlier call
    left (inf at first). Returns how it ended (CLOSED: nothing beats the floor; LEAF: one face is left, the IN
    dimensions; STUCK: branch; MORE: call again), the bound, the dimension to branch on, and the entries passed over.
    """
    bound, since, done, work = np.inf, 0, 0, 0
    while True:
        room, free = k, 0
        for i in range(len(fixed)):
            room -= fixed[i] == IN
            free += fixed[i] == FREE
        if room < 0:
            return CLOSED, floor, -1, work
        if room == 0 or free <= room:
            for i in range(len(fixed)):
                if fixed[i] == FREE:
                    fixed[i] = IN if room else OUT
            return LEAF, bound, -1, work
        base, lone, ptr, items, value, share, number, entry = restrict(indptr, indices, values, split, fixed, room)
        work += len(indices)
        changed = 0
        while changed == 0:
            prices = level(lone, ptr, items, value, share, entry)
            work += len(items) + len(fixed)
            total, last, following = dearest(prices, fixed, room)
            total += base
            bound = min(bound, total)
            done += 1
            since += 1
            if bound <= floor:
                return CLOSED, floor, -1, work
            if mark == np.inf:
                mark, since = bound, 0
            if since == PATIENCE or done == rounds:
                for j in range(len(entry)):
                    split[entry[j]] = share[j]
                if since == PATIENCE and mark - bound < PROGRESS * (bound - floor):
                    return STUCK, bound, entangled(ptr, items, value, lone, fixed), work
                if done == rounds:
                    return MORE, bound, -1, work
                mark, since = bound, 0
            changed = settle(prices, fixed, ptr, items, number, values, total, last, following, floor)
        for j in range(len(entry)):
            split[entry[j]] = share[j]
