"""Compile ahead: small problems of every job, so that no later call on this machine has to compile."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._compiled.compilation import count
from ._validation import InvalidInput, known
from .jobs.bins.bins import bins
from .jobs.dims.dims import dims
from .jobs.points.points import points
from .jobs.terms.terms import terms

SOLVERS = ("exact", "exchange", "greedy", "iht")


def warm(jobs: Iterable[str] = ("points", "bins", "terms", "dims")) -> float:
    """Compile what these jobs need and keep it in numba's cache; for images and services.

    Parameters
    ----------
    jobs : names of jobs
        What to compile for.

    Returns
    -------
    seconds : float
        How long it took: about two minutes with an empty cache, some seconds with a full one.

    Examples
    --------
    >>> from fewer import warm
    >>> warm([])
    0.0
    """
    names = [jobs] if isinstance(jobs, str) else jobs
    if not isinstance(names, Iterable):
        raise InvalidInput(f"jobs must be a list of names of jobs, got {jobs!r}", "jobs")
    problems = [known(name, PROBLEMS, "each job") for name in names]
    began = time.perf_counter()
    for solve in problems:
        solve(np.random.default_rng(0))
    return time.perf_counter() - began if problems else 0.0


def compiled_by(jobs: Iterable[str] = ("points", "bins", "terms", "dims")) -> tuple[int, float]:
    """Return how many functions `warm` had to compile, and how long it took."""
    before = count()
    seconds = warm(jobs)
    return count() - before, seconds


def _points(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 3))
    larger = (rng.standard_normal(shape) for shape in ((700, 3), (3000, 2)))
    for rows in (X, X.astype(np.float32), sp.csr_array(X), np.repeat(X, 2, axis=0), *larger):
        points(rows, 3, rng=0)
    for solver in SOLVERS:
        points(X, 3, solver=solver, rng=0)
    points(X, 3, labels=X[:, 0] > 0, rng=0)


def _bins(rng: np.random.Generator) -> None:
    counts, wide = rng.integers(1, 50, 30), rng.integers(1, 50, 900)
    for preserve in ("cdf", "entries", rng.standard_normal((8, 30))):
        for solver in SOLVERS:
            bins(counts=counts, k=4, preserve=preserve, solver=solver, rng=0)
    bins(counts=counts, k=4, contiguous=True)
    bins(counts=wide, k=4, preserve=rng.standard_normal((8, 900)), rng=0)
    bins(counts=counts, k=3, preserve=rng.standard_normal((8, 30)), validation=0.3, rng=0)


def _terms(rng: np.random.Generator) -> None:
    A, wide = rng.random((12, 9)), rng.standard_normal((12, 900))
    bounds: dict[str, Any] = {"min_weight": 0.1, "max_weight": 0.6}
    groups: dict[str, Any] = {"include": [1], "groups": np.arange(9) % 4, "max_per_group": 1}
    for options in ({}, bounds, {**groups, "exclude": [2]}, {**bounds, **groups}):
        for solver in (*SOLVERS, "frank_wolfe"):
            terms(A, A[:, :4].mean(axis=1), 3, solver=solver, rng=0, **options)
    for matrix in (A.astype(np.float32), sp.csc_array(A)):
        terms(matrix, A[:, 0], 3, rng=0)
    for most in (1.0, 0.6):
        for solver in ("auto", "exchange"):
            terms(wide, wide[:, :5].mean(axis=1), 4, solver=solver, max_weight=most, rng=0)


def _dims(rng: np.random.Generator) -> None:
    for n in (6, 40):
        table = (rng.random((60, n)) < 0.2).astype(np.int8)
        for objective in ("kl", "l2"):
            for solver in SOLVERS:
                dims(table, 4, objective=objective, solver=solver, rng=0)
    dims(table[:, :6], 3, baseline="mode", rng=0)


PROBLEMS: dict[str, Callable[[np.random.Generator], None]] = {
    "points": _points,
    "bins": _bins,
    "terms": _terms,
    "dims": _dims,
}
