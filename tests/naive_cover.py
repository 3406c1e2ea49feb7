"""Slow, obvious twins of the compiled functions on covers."""

from itertools import combinations, pairwise

import numpy as np


def supports(cover):
    """The supports as Python sets."""
    return [frozenset(cover.indices[a:b].tolist()) for a, b in pairwise(cover.indptr)]


def measure(cover, face):
    """(Q, Q2, log M) by looking at every support."""
    inside = [s <= set(face) for s in supports(cover)]
    return cover.mass[inside].sum(), cover.squares[inside].sum(), sum(cover.log_m[i] for i in face)


def gain(cover, face, mode):
    q, q2, log_size = measure(cover, face)
    return q if mode == 0 else q2 - (1 - q) ** 2 * np.exp(-log_size)


def best(cover, k, mode):
    """The largest gain over all faces of k dimensions."""
    return max(gain(cover, face, mode) for face in combinations(range(cover.n), k))


def fold(rows, weights):
    """Mass and squares by support, through dictionaries."""
    states, mass, squares = {}, {}, {}
    for row, weight in zip(rows.tolist(), weights, strict=True):
        states[tuple(row)] = states.get(tuple(row), 0.0) + weight
    for state, p in states.items():
        s = frozenset(i for i, x in enumerate(state) if x)
        mass[s] = mass.get(s, 0.0) + p
        squares[s] = squares.get(s, 0.0) + p * p
    return mass, squares


def lookahead(cover, values, inside, room):
    scores = np.zeros(cover.n)
    for s, value in zip(supports(cover), values, strict=True):
        lacks = sum(not inside[i] for i in s)
        if 0 < lacks <= room:
            for i in s:
                scores[i] += value * 0.1 ** (lacks - 1)
    return scores


def fill(cover, values, face, k):
    """Look-ahead greedy from a face, ties to the lowest index."""
    inside = np.isin(np.arange(cover.n), face)
    while inside.sum() < k:
        scores = np.where(inside, -1.0, lookahead(cover, values, inside, k - inside.sum()))
        inside[np.flatnonzero(scores >= scores.max() * (1 - 1e-12))[0]] = True
    return np.flatnonzero(inside)


def greedy(cover, k, mode):
    """Algorithm 3: one dimension at a time; ties to the lowest index."""
    face, scale = [], cover.squares.sum() if mode else 0.0
    for _ in range(k):
        rest = [i for i in range(cover.n) if i not in face]
        gains = np.array([gain(cover, [*face, i], mode) for i in rest])
        tie = 1e-12 * max(abs(gains.max()), scale)
        face.append(next(i for i, g in zip(rest, gains, strict=True) if g >= gains.max() - tie))
    return sorted(face)


def best_swap_gain(cover, face, mode):
    """The largest gain after exchanging one dimension."""
    others = [i for i in range(cover.n) if i not in face]
    return max(gain(cover, [a, *(i for i in face if i != r)], mode) for r in face for a in others)


def zeta(f):
    return np.array([sum(f[t] for t in range(len(f)) if t & s == t) for s in range(len(f))])


def even(cover, values):
    prices = np.zeros(cover.n)
    for s, value in zip(supports(cover), values, strict=True):
        for i in s:
            prices[i] += value / len(s)
    return prices, sum(value for s, value in zip(supports(cover), values, strict=True) if not s)


def level(prices, ptr, items, value, share, costs):
    """Refill each support by bisection on the water level, the price for each unit of cost."""
    prices, share = prices.copy(), share.copy()
    for e in range(len(value)):
        part = slice(ptr[e], ptr[e + 1])
        rest, cost = prices[items[part]] - share[part], costs[items[part]]
        low, high = (rest / cost).min(), ((rest + value[e]) / cost).max()
        for _ in range(200):
            middle = (low + high) / 2
            if np.maximum(middle * cost - rest, 0).sum() < value[e]:
                low = middle
            else:
                high = middle
        share[part] = np.maximum(high * cost - rest, 0)
        prices[items[part]] = rest + share[part]
    return prices, share
