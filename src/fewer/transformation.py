"""Vector sparsity as dimension sparsity, and back: the paper's appendix A."""

import numpy as np
import numpy.typing as npt

from ._validation import InvalidInput, Vector, as_array, as_distribution, as_vector, as_weights
from .spaces import Lattice


def vector_to_dimensions(p: npt.ArrayLike) -> tuple[Lattice, Vector]:
    """Vector sparsity of p as dimension sparsity on {0,1}^N, with P(Z = z) ∝ zᵀp.

    The paper's appendix A.

    Dimension i of Z says whether atom i is allowed, so keeping k dimensions of Z keeps k entries of
    p. Only for small N: the lattice has 2^N states.

    Parameters
    ----------
    p : array of shape (N,)
        A distribution.

    Returns
    -------
    lattice : Lattice
        {0,1}^N.
    q : ndarray of shape (2^N,)
        The distribution of Z.

    Examples
    --------
    >>> cube, q = vector_to_dimensions([0.75, 0.25])
    >>> q.tolist()
    [0.0, 0.125, 0.375, 0.5]
    """
    vector = as_array(p, "p")
    if vector.ndim != 1:
        raise InvalidInput(f"p must be a vector, got shape {vector.shape}")
    as_distribution(vector, "p")
    cube = Lattice(vector.size, 2)
    q: Vector = cube.unravel(np.arange(cube.size)) @ vector
    return cube, q / q.sum()


def dimensions_to_vector(q: npt.ArrayLike) -> Vector:
    """Back from a distribution on {0,1}^N to a vector on N atoms: the mass of the N unit vectors, rescaled.

    Parameters
    ----------
    q : array of shape (2^N,)
        A distribution.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> dimensions_to_vector(vector_to_dimensions([0.75, 0.25])[1]).tolist()
    [0.75, 0.25]
    """
    table = as_array(q, "q")
    n = int(np.log2(max(table.size, 1)))
    cube = Lattice(n, 2) if n >= 1 else None
    if cube is None or cube.size != table.size:
        raise InvalidInput(f"q must have 2^N entries, got {table.size}")
    alone = as_vector(table, cube.shape, "q")[cube.strides]
    return as_weights(alone, n, "q on the unit vectors")
