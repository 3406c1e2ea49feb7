"""From the arguments of a job to the problem of a path: rows in memory, or in blocks where they are larger."""

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

from .._validation import InvalidInput, as_bytes, known
from ..jobs.bins.bins import bins
from ..jobs.dims.dims import dims
from ..jobs.points.points import points
from ..jobs.terms.terms import terms
from ..tables.names import nearest
from ..tables.source import is_lazy, source_of
from .bins import bins_problem
from .dims import DimsProblem
from .in_blocks import BlocksProblem
from .path import Problem
from .points import PointsProblem
from .terms import TermsProblem

FUNCTIONS: dict[str, Any] = {"points": points, "bins": bins, "terms": terms, "dims": dims}
PROBLEMS: dict[str, Any] = {
    "points": PointsProblem.of,
    "bins": bins_problem,
    "terms": TermsProblem.of,
    "dims": DimsProblem.of,
}
BESIDE = {"points": "labels", "terms": "y"}
"""The option that has an entry for each row, beside `sample_weight`."""
OF_PATHS = {"terms": {"test"}, "points": {"n_criticisms"}}
"""Options of a path that the function does not have."""


def problem_of(
    job: str,
    X: Any,
    most: Any,
    names: Sequence[Any] | None,
    search: dict[str, Any],
    options: dict[str, Any],
) -> Problem:
    """The problem of a job with these options of its function; `most` is the largest k that is asked for."""
    known(job, FUNCTIONS, "job")
    allowed = {*signature(FUNCTIONS[job]).parameters, *OF_PATHS.get(job, ())} - {"callback"}
    for name in options:
        if name not in allowed:
            raise InvalidInput(f"{name} is no option of {job}{nearest(name, sorted(allowed))}")
    if is_lazy(X):
        if isinstance(X, Iterator):
            raise InvalidInput(
                "X must be data that can be read for each k, got an iterator; give a callable"
            )
        beside = BESIDE.get(job)
        given = options.get(beside or ""), options.get("sample_weight")
        whole = source_of(X, *given).whole(as_bytes(options.get("max_memory", "1GB")) // 2)
        if whole is None:
            return BlocksProblem.of(FUNCTIONS[job], X, most, search, options)
        X = whole.X
        for option, value in ((beside, whole.y), ("sample_weight", whole.weight)):
            if option is not None and value is not None:
                options = {**options, option: value}
    return _in_memory(job, X, most, names, search, options)


def _in_memory(
    job: str,
    X: Any,
    most: Any,
    names: Sequence[Any] | None,
    search: dict[str, Any],
    options: dict[str, Any],
) -> Problem:
    """The problem on rows in memory."""
    found: Problem
    if job == "points":
        seed, limit = search["rng"], search["time_limit"]
        found = PointsProblem.of(X, most, seed, names=names, time_limit=limit, **options)
    elif job == "bins":
        found = bins_problem(X, **options)
    else:
        found = PROBLEMS[job](X, names=names, **options)
    return found
