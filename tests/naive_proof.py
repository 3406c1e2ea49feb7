"""Slow, obvious twins of the exact solver for sparse least squares on the simplex."""

import itertools

import numpy as np


def box_minimum(H, c, lower, upper):
    """Least w'Hw - 2c'w over lower <= w <= upper, 1'w = 1: every face solved, weights low, high or free."""
    size, best, best_w = len(c), np.inf, None
    for sides in itertools.product((-1, 0, 1), repeat=size):
        sides = np.array(sides)
        w = np.where(sides < 0, lower, upper).astype(float)
        free = np.flatnonzero(sides == 0)
        fixed = np.flatnonzero(sides)
        if free.size:
            f = len(free)
            K = np.zeros((f + 1, f + 1))
            K[:f, :f] = H[np.ix_(free, free)]
            K[f, :f] = K[:f, f] = np.abs(H).max() or 1.0
            right = c[free] - H[np.ix_(free, fixed)] @ w[fixed]
            w[free] = np.linalg.lstsq(
                K, np.append(right, K[f, 0] * (1.0 - w[fixed].sum())), rcond=1e-12
            )[0][:f]
        if abs(w.sum() - 1.0) > 1e-9 or (w < lower - 1e-10).any() or (w > upper + 1e-10).any():
            continue
        value = w @ H @ w - 2.0 * c @ w
        if value < best:
            best, best_w = value, w
    return best, best_w


def allowed(n, k, rules):
    """Every support that obeys the rules."""
    for size in range(1, k + 1):
        for S in itertools.combinations(range(n), size):
            if set(rules.include) <= set(S) and not set(rules.exclude) & set(S):
                if rules.groups is not None:
                    labels = [rules.groups[i] for i in S]
                    if max(labels.count(g) for g in labels) > rules.group_cap:
                        continue
                yield np.array(S)


def enumerate_supports(H, c, const, k, rules):
    """The optimum over every support: (value, support), or (inf, None) if no weights obey the rules."""
    best, best_S = np.inf, None
    for S in allowed(len(c), k, rules):
        low, high = rules.min_weight, min(rules.max_weight, 1.0)
        value, _ = box_minimum(H[np.ix_(S, S)], c[S], np.full(len(S), low), np.full(len(S), high))
        if value + const < best:
            best, best_S = value + const, S
    return best, best_S


def psd_on_face(T, a):
    """Nearest psd matrix to T with kernel vector a, through an explicit basis."""
    V = np.linalg.svd(a[None, :])[2][1:].T
    values, vectors = np.linalg.eigh(V.T @ T @ V)
    return V @ (vectors * np.maximum(values, 0)) @ vectors.T @ V.T


def largest_gain(gains, inside, more, group, left):
    """The largest total gain of a support that holds `inside`, by enumeration."""
    free = np.flatnonzero(~inside)
    best = -np.inf
    for size in range(min(more, len(free)) + 1):
        for S in itertools.combinations(free, size):
            if (np.bincount(group[list(S)], minlength=len(left)) <= left).all():
                best = max(best, gains[list(S)].sum())
    return best + gains[inside].sum()
