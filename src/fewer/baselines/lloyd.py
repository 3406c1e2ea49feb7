"""k-means by Lloyd's algorithm on weighted rows, in NumPy alone: for comparisons that must not cost an import."""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, Vector

Rows = npt.NDArray[np.float64]
MAX_ROUNDS = 30


def lloyd(
    Z: Rows, k: int, weights: Vector, rng: np.random.Generator, *, start: Rows | None = None, rounds: int = MAX_ROUNDS
) -> tuple[Rows, Indices]:
    """Centres (k, d) of the rows, and the nearest centre of each row, (n,).

    A local minimum of Σ_i w_i min_c ‖z_i - c‖². The start is k-means++ with a few trials for each centre. A centre that
    loses all its rows goes to the row that is worst off.

    Parameters
    ----------
    Z : array (n, d)
        The rows.
    k : int
        How many centres, at most n.
    weights : array (n,)
        Their weights.
    rng : Generator
        For the start.
    start : array (k, d), optional
        Centres to start from instead.
    rounds : int
        How often centres are moved, at most.

    References
    ----------
    Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    """
    middle = Z.mean(axis=0)
    rows = Z - middle
    centres = seeded(rows, k, weights, rng) if start is None else start - middle
    labels, far = nearest(rows, centres)
    for _ in range(rounds):
        mass = np.bincount(labels, weights, k)
        members = sp.csr_array((weights, labels, np.arange(len(rows) + 1)), shape=(len(rows), k))
        sums = np.asarray(members.T @ rows)
        moved = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centres)
        lost = np.flatnonzero(mass == 0)
        if lost.size:
            moved[lost] = rows[np.argsort(-weights * far, kind="stable")[: lost.size]]
        before, centres = labels, moved
        labels, far = nearest(rows, centres)
        if not lost.size and (labels == before).all():
            break
    return centres + middle, labels


def nearest(rows: Rows, centres: Rows) -> tuple[Indices, Vector]:
    """The nearest centre of each row, and its squared distance; those that no float holds count as equally far."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart = rows @ (-2.0 * centres.T)
        apart += (centres**2).sum(axis=1)  # and the length of the row, which is the same for all centres
        labels = apart.argmin(axis=1)
        squares = apart[np.arange(len(rows)), labels] + np.einsum("ij,ij->i", rows, rows)
        return labels, np.nan_to_num(np.maximum(squares, 0.0), nan=np.inf, posinf=np.inf)


def between(rows: Rows, centres: Rows) -> Rows:
    """Squared distances, (rows, centres); near zero they are zero up to rounding."""
    squares = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * (rows @ centres.T)
    return np.asarray(np.maximum(squares, 0.0))


def seeded(rows: Rows, k: int, weights: Vector, rng: np.random.Generator) -> Rows:
    """Rows drawn one by one by weight times squared distance to those drawn, each the best of a few trials."""
    trials = 2 + int(np.log(k))
    centres = np.empty((k, rows.shape[1]))
    centres[0] = rows[rng.choice(len(rows), p=weights / weights.sum())]
    far = nearest(rows, centres[:1])[1]
    for c in range(1, k):
        chance = weights * far
        total = chance.sum()
        chosen = rng.choice(len(rows), trials, p=chance / total) if total > 0 else rng.integers(len(rows), size=trials)
        reached = np.minimum(far[:, None], between(rows, rows[chosen]))
        best = int((weights @ reached).argmin())
        centres[c], far = rows[chosen[best]], reached[:, best]
    return centres
