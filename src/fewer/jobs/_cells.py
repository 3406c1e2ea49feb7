"""Histograms of two and three dimensions: k cells, near in their entries or in their marginals."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, Vector, as_integer, as_vector, known, shown
from ..constraints.sparse_simplex import SparseSimplex
from ..distribution import Distribution
from ..objectives.l2 import L2
from ..objectives.moments import Moments
from ..result import Result
from ..spaces import Atoms
from .grid import as_edges
from .terms import solve

LOSSES = {
    "entries": "squared difference",
    "marginals": "squared difference of the marginals",
    "cdf": "squared difference of the marginals' cdf",
}

MAX_ENTRIES = 10**8
"""Entries of the matrix of cumulative marginals, at 12 bytes each: a cell has one for each that follows on an axis."""


def best_cells(
    shares: Vector,
    shape: tuple[int, ...],
    total: float,
    k: Any,
    preserve: Any,
    axes: tuple[Any, Any],
    validation: Any,
    search: dict[str, Any],
) -> Result:
    """Keep k cells of a histogram of this shape, given flat; `axes` are positions and edges, one for each dimension."""
    k = as_integer(k, "k", 1, shares.size, "cells")
    space = Atoms(shares.size)
    if isinstance(preserve, str):
        loss = known(preserve, LOSSES, "preserve")
        if validation is not None:
            raise InvalidInput(f"validation is for a matrix of functionals; preserve={preserve!r} has none")
        centres = centres_of(shape, *axes)
        entries = shares.size * sum(n + 1 for n in shape) // 2
        if preserve == "cdf" and entries > MAX_ENTRIES:
            raise InvalidInput(
                f'preserve="cdf" of {" x ".join(map(str, shape))} cells needs a matrix of {entries} entries, at most '
                f'{MAX_ENTRIES} fit; use preserve="marginals", or larger cells'
            )
        A = None if preserve == "entries" else marginals(shape, cumulative=preserve == "cdf")
        F: Any = L2(space, shares) if A is None else Moments(space, A, np.asarray(A @ shares))
    else:
        from .bins import preserved

        F, loss, centres = preserved(preserve, shares), "squared error", centres_of(shape, *axes)
    found = solve(F, SparseSimplex(space, k), validation=validation, **search)
    where = np.unravel_index(found.indices, shape)
    cells = np.column_stack(where).astype(np.int64)
    kept = Distribution(cells, np.asarray(found.weights), np.arange(len(shape)), shape)
    labels = None
    if centres is not None:
        labels = np.empty(len(cells), object)
        labels[:] = [tuple(float(axis[i]) for axis, i in zip(centres, cell, strict=True)) for cell in cells]
    return replace(found, kept=kept, labels=labels, total=total).named("cells", loss)


def marginals(shape: tuple[int, ...], *, cumulative: bool) -> Any:
    """The matrix (Σ shape, Π shape) of all marginals of a flat histogram, or of their cumulative sums.

    >>> marginals((2, 2), cumulative=False).toarray().astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    """
    size = math.prod(shape)
    where = np.unravel_index(np.arange(size), shape)
    parts = []
    for at, n in zip(where, shape, strict=True):
        part = sp.csr_array((np.ones(size), (at, np.arange(size))), shape=(n, size))
        parts.append(sp.csr_array(np.tril(np.ones((n, n)))) @ part if cumulative else part)
    return sp.csc_array(sp.vstack(parts))


def centres_of(shape: tuple[int, ...], positions: Any, edges: Any) -> list[Vector] | None:
    """Where cells sit along each axis: as given, or the middles of the edges."""
    name, given = ("edges", edges) if positions is None else ("positions", positions)
    if given is None:
        return None
    try:
        parts = list(given)
    except TypeError:
        raise InvalidInput(f"{name} must be a list of {len(shape)} arrays, got {shown(given)}") from None
    if len(parts) != len(shape):
        raise InvalidInput(f"{name} must be {len(shape)} arrays, one for each dimension, got {len(parts)}")
    centres = []
    for axis, (n, part) in enumerate(zip(shape, parts, strict=True)):
        if positions is not None:
            centres.append(as_vector(part, (n,), f"positions[{axis}]"))
            continue
        ends = as_edges(part, f"edges[{axis}]")
        if ends.size != n + 1:
            raise InvalidInput(f"edges[{axis}] must be {n + 1} for {n} bins, got {ends.size}")
        centres.append(ends[:-1] / 2 + ends[1:] / 2)
    return centres
