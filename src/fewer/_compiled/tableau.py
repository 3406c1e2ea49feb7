"""The swept tableau of a pool of units: every response, curvature and swap value of a face, kept up to date.

    K         [G + sigma 11', 1; 1', 0]: the quadratic of p units, bordered by the sum constraint
    swept     the free units of the face, and the border
    tableau   -K_FF^-1, K_FF^-1 K_FN in the rows and columns of the swept, the Schur complement of K elsewhere

So with the sum kept at one: entering a little of unit j moves the free weights by -T_Fj per unit of weight, with
curvature T_jj; and forcing a free weight w_i to zero costs w_i^2 / -T_ii.  One sweep costs (p + 1)^2.
Source: Goodnight 1979, "A tutorial on the SWEEP operator", The American Statistician 33.
"""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FLAT = 1e-10  # curvature, relative to the unit's own, below which it counts as dependent


@compiled
def bordered(G: Matrix) -> Matrix:
    """K, the quadratic bordered by the sum constraint; sigma = max G_ii keeps it regular and changes nothing.

    G: (p, p).  Returns (p + 1, p + 1).
    """
    p = len(G)
    largest = np.diag(G).max()
    sigma = largest if largest > 0.0 else 1.0
    K = np.ones((p + 1, p + 1))
    K[:p, :p] = G + sigma
    K[p, p] = 0.0
    return K


@compiled
def sweep(tableau: Matrix, swept: Mask, unit: int) -> None:
    """Sweep one unit in, or out if it is in, in place.

    T_ij -= T_iu T_uj / T_uu;  T_iu <- +-T_iu / T_uu;  T_uu <- -1 / T_uu.  tableau: (q, q), swept: (q,).
    """
    inverse = 1.0 / tableau[unit, unit]
    row = tableau[unit].copy()
    for i in range(len(tableau)):
        if i != unit and row[i] != 0.0:
            part = row[i] * inverse
            target = tableau[i]
            for j in range(len(tableau)):
                target[j] -= part * row[j]
    sign = -1.0 if swept[unit] else 1.0
    for i in range(len(tableau)):
        tableau[unit, i] = tableau[i, unit] = sign * row[i] * inverse
    tableau[unit, unit] = -inverse
    swept[unit] = not swept[unit]


@compiled
def rebuild(K: Matrix, tableau: Matrix, swept: Mask, free: Mask) -> None:
    """The tableau of a set of free units from scratch, in place; those that depend on others stay out.

    K, tableau: (p + 1, p + 1), swept: (p + 1,), free: (p,).  With no free unit nothing is swept, nor the border.
    """
    border = len(free)
    tableau[:] = K
    swept[:] = False
    for unit in np.flatnonzero(free):
        if tableau[unit, unit] > FLAT * K[unit, unit]:
            sweep(tableau, swept, int(unit))
            if not swept[border]:
                sweep(tableau, swept, border)


@compiled
def sync(K: Matrix, tableau: Matrix, swept: Mask, free: Mask) -> None:
    """Bring the tableau from the swept units to the free ones: a few sweeps, or a fresh start if that is cheaper.

    K, tableau: (p + 1, p + 1), swept: (p + 1,), free: (p,).
    """
    border = len(free)
    entering = free & ~swept[:border]
    leaving = ~free & swept[:border]
    changes = entering.sum() + leaving.sum()
    if not swept[border] or changes > free.sum() or leaving.sum() == swept[:border].sum():
        rebuild(K, tableau, swept, free)
        return
    for unit in np.flatnonzero(leaving):
        if -tableau[unit, unit] * K[unit, unit] <= FLAT:  # what is left could not take up its weight
            rebuild(K, tableau, swept, free)
            return
        sweep(tableau, swept, int(unit))
    for unit in np.flatnonzero(entering):
        if tableau[unit, unit] > FLAT * K[unit, unit]:
            sweep(tableau, swept, int(unit))
