"""Upper bounds by prices: split each support's value over its free dimensions, pay the dearest.

With a[e, i] >= 0 and sum_i a[e, i] = v[e] for the supports e that can still be covered,
    sum_{e inside S} v[e] <= sum_{i in S} price[i],   price[i] = sum_e a[e, i],
so what `room` pays for at most, the dearest for their cost first and the last in part, bounds every
face. Splits that make prices for each unit of cost as equal as possible (weighted least squares
over the base polytope) are best for every room at once and reach the bound of the linear
relaxation. Costs of one and room for k: faces of k dimensions.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

FREE, OUT, IN = 0, 1, 2  # what is known of a dimension
CLOSED, LEAF, STUCK, MORE = 0, 1, 2, 3  # how a call of `tighten` ended
PATIENCE = 2  # rounds between two looks at the progress
PROGRESS = 0.3  # the share of the distance to the floor that such rounds must win
# branching: how much a dimension's own value counts against it (chosen by trial, 15 x fewer steps
# than 0)
ALONE = 3.0


class Restriction(NamedTuple):
    """The problem left when dimensions are fixed: what is sure, and what free dimensions may add."""

    base: float  # value already covered
    lone: Vector  # (n,), of supports that lack one dimension
    ptr: Ints  # where each support that lacks more, and can be paid for, begins
    items: Ints  # the dimensions it lacks
    value: Vector  # its value
    share: Vector  # the split of that among them
    number: Ints  # which support it is
    entry: Ints  # which entry of all each item is


@compiled
def restrict(
    indptr: Ints,
    indices: Ints,
    values: Vector,
    split: Vector,
    fixed: Ints,
    costs: Vector,
    room: float,
) -> Restriction:
    """Restrict a problem to what fixed dimensions leave, splits rescaled to it.

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
        total, needed = 0.0, 0.0
        for j in range(indptr[e], indptr[e + 1]):
            i = indices[j]
            if fixed[i] == FREE:
                needed += costs[i]
            if fixed[i] == OUT or needed > room:
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
    ptr, items, share, entry = ptr[: alive + 1], items[:end], share[:end], entry[:end]
    return Restriction(base, lone, ptr, items, value[:alive], share, number[:alive], entry)


@compiled
def level(left: Restriction, costs: Vector) -> Vector:
    """One round of exact block descent: refill each support from the cheapest of its dimensions up.

    Returns the prices lone[i] + sum_e a[e, i], (n,). Each support is left sorted by price for each
    unit of cost (items, share and entry alike), so later rounds find it nearly sorted.
    """
    lone, ptr, items, share, entry = left.lone, left.ptr, left.items, left.share, left.entry
    prices = lone.copy()
    for j in range(len(items)):
        prices[items[j]] += share[j]
    rest = np.empty(len(lone))  # prices without the support at hand, for each unit of cost
    for e in range(len(left.value)):
        start, stop = ptr[e], ptr[e + 1]
        for j in range(start, stop):
            i, own, at = items[j], share[j], entry[j]
            x = (prices[i] - own) / costs[i]
            s = j
            while s > start and rest[s - start - 1] > x:
                rest[s - start] = rest[s - start - 1]
                items[s], share[s], entry[s] = items[s - 1], share[s - 1], entry[s - 1]
                s -= 1
            rest[s - start] = x
            items[s], share[s], entry[s] = i, own, at
        width = costs[items[start]]
        total = left.value[e] + rest[0] * width
        count = 1
        while count < stop - start and rest[count] * width < total:
            total += rest[count] * costs[items[start + count]]
            width += costs[items[start + count]]
            count += 1
        height = total / width
        for j in range(start, stop):
            cost = costs[items[j]]
            share[j] = max(0.0, height - rest[j - start]) * cost
            prices[items[j]] = rest[j - start] * cost + share[j]
    for i in range(len(lone)):  # afresh: no rounding error may build up in a bound
        prices[i] = lone[i]  # numba takes 3 s to compile this as a slice
    for j in range(len(items)):
        prices[items[j]] += share[j]
    return prices


@compiled
def dearest(prices: Vector, fixed: Ints, costs: Vector, room: float) -> tuple[float, float, float]:
    """The most that `room` pays for of free prices, the last in part.

    And for each unit of cost the last, and the next.

    The next is the last where that is paid for in part.
    """
    rates = prices / costs
    total, last, following = 0.0, 0.0, 0.0
    while True:
        best = -1
        for i in range(len(fixed)):
            if fixed[i] == FREE and rates[i] >= 0.0 and (best < 0 or rates[i] > rates[best]):
                best = i
        if best < 0:
            return total, last, following
        if costs[best] > room:
            total += rates[best] * room
            return total, (rates[best] if room > 0.0 else last), rates[best]
        total += rates[best] * costs[best]
        room -= costs[best]
        last = rates[best]
        rates[best] = -1.0


@compiled
def fix_and_forget(
    prices: Vector,
    fixed: Ints,
    costs: Vector,
    left: Restriction,
    values: Vector,
    paid: tuple[float, float, float],
    floor: float,
) -> int:
    """Fix and forget what the prices prove.

    Returns how many dimensions were fixed and supports forgotten.

    paid holds the bound, the lowest price paid for each unit of cost and the next one; floor is the
    value to beat. A dimension is out if it cannot pay its way in, in if nothing can
    replace it; a support that no face above the floor can cover gets values[e] = 0.
    """
    count = 0
    total, last, following = paid
    for i in range(len(fixed)):
        if fixed[i] != FREE:
            continue
        if prices[i] < last * costs[i] and total - last * costs[i] + prices[i] <= floor:
            fixed[i] = OUT
            count += 1
        elif prices[i] > following * costs[i] and total - prices[i] + following * costs[i] <= floor:
            fixed[i] = IN
            count += 1
    for e in range(len(left.number)):
        bound = total
        for i in left.items[left.ptr[e] : left.ptr[e + 1]]:
            bound -= max(0.0, last * costs[i] - prices[i])
        if bound <= floor and values[left.number[e]] > 0.0:
            values[left.number[e]] = 0.0
            count += 1
    return count


@compiled
def branching_dimension(left: Restriction, fixed: Ints) -> int:
    """The free dimension to branch on: much value shared, little of its own.

    Ties to the lowest index.
    """
    weight = -ALONE * left.lone
    for e in range(len(left.value)):
        for i in left.items[left.ptr[e] : left.ptr[e + 1]]:
            weight[i] += left.value[e]
    best = -1
    for i in range(len(fixed)):
        if fixed[i] == FREE and (best < 0 or weight[i] > weight[best]):
            best = i
    return best


@compiled
def keep_split(split: Vector, left: Restriction) -> None:
    """Write the shares of a restricted problem back."""
    for j in range(len(left.entry)):
        split[left.entry[j]] = left.share[j]


@compiled
def tighten(
    indptr: Ints,
    indices: Ints,
    values: Vector,
    split: Vector,
    fixed: Ints,
    costs: Vector,
    budget: float,
    floor: float,
    mark: float,
    rounds: int,
) -> tuple[int, float, int, int]:
    """Bound the faces within the budget that agree with `fixed`, in at most `rounds` rounds of levelling.

    Fixes dimensions, zeroes hopeless values and improves the splits in place; mark is the bound
    that an earlier call left (inf at first). Returns how it ended (CLOSED: nothing beats the floor;
    LEAF: one face is left, the IN dimensions; STUCK: branch; MORE: call again), the bound, the
    dimension to branch on, and the entries passed over.
    """
    bound, since, done, work = np.inf, 0, 0, 0
    while True:
        room, free = budget, 0.0
        for i in range(len(fixed)):
            if fixed[i] == IN:
                room -= costs[i]
        if room < 0.0:
            return CLOSED, floor, -1, work
        for i in range(len(fixed)):
            if fixed[i] == FREE and costs[i] > room:
                fixed[i] = OUT
            elif fixed[i] == FREE:
                free += costs[i]
        if free <= room:
            for i in range(len(fixed)):
                if fixed[i] == FREE:
                    fixed[i] = IN
            return LEAF, bound, -1, work
        left = restrict(indptr, indices, values, split, fixed, costs, room)
        work += len(indices)
        changed = 0
        while changed == 0:
            prices = level(left, costs)
            work += len(left.items) + len(fixed)
            total, last, following = dearest(prices, fixed, costs, room)
            total += left.base
            bound = min(bound, total)
            done += 1
            since += 1
            if bound <= floor:
                return CLOSED, floor, -1, work
            if mark == np.inf:
                mark, since = bound, 0
            if since == PATIENCE or done == rounds:
                keep_split(split, left)
                if since == PATIENCE and mark - bound < PROGRESS * (bound - floor):
                    return STUCK, bound, branching_dimension(left, fixed), work
                if done == rounds:
                    return MORE, bound, -1, work
                mark, since = bound, 0
            paid = total, last, following
            changed = fix_and_forget(prices, fixed, costs, left, values, paid, floor)
        keep_split(split, left)
