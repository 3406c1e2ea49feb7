"""A squared distance on faces of some entries: its Gram matrix kept, and DAQP's answer checked by its slopes."""

from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..programmes import quadratic_programme
from ..protocols import Centred, Direct, FaceSolvable, Quadratic, implements
from .fit import target_gram

MOST_ENTRIES = 1000
"""Entries up to which the Gram matrix is kept: 8 MB."""
EXACT = 1e-11
"""An answer whose slopes allow a relatively lower value is refined by the active set."""


class GramFaces:
    """F[p] = pᵀGp for distributions p, minimised on faces."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        every = np.arange(objective.space.size)
        self.gram = target_gram(objective, every, every)

    def best(self, face: Indices, start: Vector | None = None) -> tuple[Vector, float]:
        """The best weights on a face, exact to rounding, and F; `start` (s,) is a guess, best for a face nearly solved.

        F[q] >= F[w] + <2Gw, q - w> for all q on the face: where the least slope leaves next to
        nothing, w is best.
        """
        G, flat = np.ascontiguousarray(self.gram[np.ix_(face, face)]), np.zeros(face.size)
        w = None if start is None else box_weights(G, flat, 0.0, 1.0, start)
        if w is None:
            found = quadratic_programme(
                G, flat, flat, flat + 1.0, np.zeros((0, face.size)), flat[:0]
            )
            w = flat if found is None else found.weights
            image = G @ w
            if found is None or float(w @ image - image.min()) > EXACT * float(w @ image):
                w = box_weights(G, flat, 0.0, 1.0, w)
        return w, float(self.objective.value_at(face, w))


def gram_of(objective: Any) -> GramFaces | None:
    """Faces by their Gram matrix, for a squared distance that has no closed form of its own and few entries."""
    if (
        not implements(objective, Centred)
        or not implements(objective, Quadratic)
        or not implements(objective, FaceSolvable)
    ):
        return None
    small = objective.space.size <= MOST_ENTRIES and not implements(objective, Direct)
    return GramFaces(objective) if small else None
