"""Names for arrays, the projection onto the simplex, and random members of sparse sets."""

from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def project_simplex(v: Vector) -> Vector:
    """The distribution nearest to v, by sorting (Duchi et al., ICML 2008).

    >>> project_simplex(np.array([1.0, 0.5, -1.0])).tolist()
    [0.75, 0.25, 0.0]
    """
    falling = np.sort(v)[::-1]
    levels = (np.cumsum(falling - falling[0]) - 1.0) / np.arange(1, v.size + 1) + falling[0]
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return np.asarray(np.maximum(v - level, 0.0))


def random_start(constraint: Any, rng: np.random.Generator) -> Vector:
    """A random distribution on the face of k random units."""
    units = np.sort(rng.choice(constraint.n_units, constraint.k, replace=False))
    face = constraint.face(units)
    p = np.zeros(constraint.space.size)
    p[face] = rng.dirichlet(np.ones(face.size))
    return p
