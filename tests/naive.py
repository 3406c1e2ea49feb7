"""Slow and obvious twins of what the library does fast: each is a transcription of its definition."""

from itertools import combinations, product

import numpy as np


def project_simplex(v):
    """argmin ‖p - v‖² on the simplex by sorting (Held, Wolfe & Crowder 1974)."""
    descending = np.sort(v)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, v.size + 1)
    active = np.flatnonzero(descending > excess)[-1]
    return np.maximum(v - excess[active], 0.0)


def project_simplex_bisection(v):
    """The same by bisection on tau: independent of any sorting or active set."""
    low, high = v.max() - 1.0, v.max()
    for _ in range(200):
        tau = (low + high) / 2.0
        low, high = (tau, high) if np.maximum(v - tau, 0.0).sum() > 1.0 else (low, tau)
    p = np.maximum(v - high, 0.0)
    return p / p.sum()


def lattice_rows(shape):
    return np.array(list(product(*(range(m) for m in shape))))


def lattice_face(shape, units):
    """Flat indices x with supp(x) ⊆ units, by looking at every x."""
    outside = [i for i in range(len(shape)) if i not in units]
    return np.flatnonzero((lattice_rows(shape)[:, outside] == 0).all(axis=1))


def on_face(v, face, project=project_simplex):
    """The projection of v onto the distributions on one face, and its squared distance."""
    p = np.zeros(v.size)
    p[face] = project(v[face])
    return p, ((p - v) ** 2).sum()


def greedy_projection(v, shape, k):
    """Algorithm 2 to the letter: every candidate is projected and its distance taken on the whole table."""
    chosen = []
    while len(chosen) < k:
        distances = {
            i: on_face(v, lattice_face(shape, {*chosen, i}))[1]
            for i in range(len(shape))
            if i not in chosen
        }
        chosen.append(min(distances, key=distances.get))
    return on_face(v, lattice_face(shape, chosen))[0]


def best_face(v, faces, project=project_simplex_bisection):
    """The nearest distribution on any of the faces."""
    return min((on_face(v, face, project) for face in faces if len(face)), key=lambda pair: pair[1])


def dimension_faces(shape, k):
    return [lattice_face(shape, set(units)) for units in combinations(range(len(shape)), k)]


def state_face(rows, units):
    """Indices of the listed rows that are zero outside `units`."""
    return np.array([e for e, x in enumerate(rows) if set(np.flatnonzero(x)) <= set(units)], int)


def greedy_state_units(v, rows, costs, room):
    """Algorithm 2 on listed rows.

    When no dimension helps, towards the largest entry that still fits.
    """

    def distance(units):
        face = state_face(rows, units)
        return on_face(v, face)[1] if face.size else np.inf

    chosen = []
    while free := [
        i for i in range(rows.shape[1]) if i not in chosen and costs[[*chosen, i]].sum() <= room
    ]:
        best = min(free, key=lambda i: distance([*chosen, i]))
        if not distance([*chosen, best]) < distance(chosen) - 1e-12:
            lacks = [sorted(set(np.flatnonzero(x)) - set(chosen)) for x in rows]
            fits = [
                e for e in range(len(rows)) if lacks[e] and costs[lacks[e] + chosen].sum() <= room
            ]
            best = lacks[max(fits, key=lambda e: v[e])][0] if fits else free[0]
        chosen.append(best)
    return chosen


def squared_distance(p, q):
    return ((p - q) ** 2).sum()


def quadratic(H, c, w):
    """w'Hw - 2 c'w."""
    return w @ H @ w - 2.0 * c @ w


def face_minimiser(H, c, face):
    """Stationary weights on the units of one face, clipped onto the simplex.

    Solves  [H_FF 1; 1' 0] [w_F; mu] = [c_F; 1]  by least squares. Clipping makes any answer feasible, so
    that its value is never below the minimum.
    """
    size = len(face)
    unit = np.abs(H).max() or 1.0  # puts the constraint on the scale of H
    system = np.full((size + 1, size + 1), unit)
    system[:size, :size] = H[np.ix_(face, face)]
    system[size, size] = 0.0
    right = np.append(c[face], unit)
    inside = np.maximum(np.linalg.lstsq(system, right, rcond=1e-13)[0][:size], 0.0)
    w = np.zeros(c.size)
    w[face] = inside / inside.sum() if inside.sum() > 0.0 else 1.0 / size
    return w


def simplex_quadratic(H, c):
    """Best of the minimisers of all 2^s - 1 faces (s <= 8 or so)."""
    faces = (
        list(face) for size in range(1, c.size + 1) for face in combinations(range(c.size), size)
    )
    return min((face_minimiser(H, c, face) for face in faces), key=lambda w: quadratic(H, c, w))


def greedy_selection(lowest, n, k, start=(), fits=None):
    """Algorithm 3 to the letter: the unit i with the lowest min F over P_{S ∪ i}, ties to the first.

    lowest(units) is that minimum, infinite where there is none; fits(chosen, i) whether i may join.
    Values that differ by rounding alone, 1e-12 of them, are a tie.
    """
    chosen = list(start)
    while len(chosen) < k:
        free = [i for i in range(n) if i not in chosen and (fits is None or fits(chosen, i))]
        if not free:
            break
        values = [lowest(sorted([*chosen, i])) for i in free]
        least = min(values)
        tied = [
            i
            for i, value in zip(free, values, strict=True)
            if value <= least + 1e-12 * abs(least) + 1e-15
        ]
        chosen.append(tied[0] if least < np.inf else free[0])
    return sorted(chosen)


def least_squares_on(A, b, units, low=0.0, high=1.0):
    """min ‖A w - b‖² over low <= w <= high, Σ w = 1 on a few units, by trying every set of weights at a bound."""
    best, weights = np.inf, None
    high = np.full(len(units), high) if np.isscalar(high) else high
    for sides in product((low, np.inf, None), repeat=len(units)):
        state = [top if side == np.inf else side for side, top in zip(sides, high, strict=True)]
        free = [j for j, bound in enumerate(state) if bound is None]
        w = np.array([0.0 if bound is None else bound for bound in state])
        rest = 1.0 - w.sum()
        if free:
            first, others = units[free[0]], [units[j] for j in free[1:]]
            right = b - A[:, units] @ w - rest * A[:, first]
            moved = (
                np.linalg.lstsq(A[:, others] - A[:, [first]], right, rcond=None)[0]
                if others
                else np.empty(0)
            )
            w[free] = [rest - moved.sum(), *moved]
        if abs(w.sum() - 1.0) > 1e-9 or w.min() < low - 1e-12 or (w > high + 1e-12).any():
            continue
        value = ((A[:, units] @ w - b) ** 2).sum()
        if value < best:
            best, weights = value, w
    return best, weights
