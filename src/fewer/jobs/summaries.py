"""Summarise blocks, merge, solve: the three steps of every job over data in blocks, for own loops."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import Any

from .._validation import InvalidInput, as_integer, as_seed, gathered, is_frame, known, shown
from ..result import Result
from ..row_blocks import merged_in_tree
from ..tables.cutting import height, width
from ..tables.frames import names_of
from ..tables.source import Block
from ..threads import own_threads
from .bins.bins import best_histogram
from .bins.empirical import BinsSummary
from .bins.options import BinsOptions
from .dims.dims import DimsProblem
from .dims.options import DimsOptions
from .dims.summary import DimsPlan, DimsSummary, schema_of
from .points.blocks import solved, spec_of
from .points.first_pass import FirstSummary
from .points.one_pass import coreset_of
from .points.options import PointsOptions
from .points.plan import plan_of
from .points.second_pass import SecondSummary
from .terms.blocks import TermsSummary, terms_schema
from .terms.options import TermsOptions


@dataclass(frozen=True, eq=False)
class Summary:
    """What a job needs to know of some rows; it can be pickled and sent anywhere.

    Parameters
    ----------
    job : {"points", "bins", "terms", "dims"}
        What the rows are summarised for.
    state : object
        The summary of the job.
    about : mapping
        What summaries must share to be merged.

    Examples
    --------
    >>> first, second = (summarize(block, "bins") for block in ([1.0, 2.0], [2.0, 7.0]))
    >>> summary = first.merge(second)
    >>> summary.rows, summary.exact, summary.solve(1).labels.tolist()
    (4, True, [2.0])
    """

    job: str
    state: Any
    about: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How many rows were summarised."""
        return int(self.state.rows)

    @property
    def exact(self) -> bool:
        """Whether no second pass is needed."""
        return bool(self.state.exact)

    def merge(self, *others: "Summary") -> "Summary":
        """The summary of all rows, from those of blocks in the order of their rows; always in the same tree.

        >>> summarize([1.0, 2.0], "bins").merge(summarize([2.0], "bins")).rows
        3
        """
        for other in others:
            if not isinstance(other, Summary):
                raise InvalidInput(f"summaries must come from summarize, got {shown(other)}")
            for name, own in self.about.items():
                if own != other.about.get(name):
                    raise InvalidInput(
                        f"summaries must have the same {name} to be merged, got {shown(own)} and "
                        f"{shown(other.about.get(name))}"
                    )
        states = [self.state, *(other.state for other in others)]
        return replace(self, state=merged_in_tree(states, type(self.state).merged))

    def solve(self, k: int, **options: Any) -> Result:
        """The answer of the job; `indices` are columns, or positions of rows in the order in which they were merged.

        Options are those of the job's function that are about the search: `solver`, `time_limit`,
        `rng`, `callback`; of points `min_weight`, `max_weight`, `equal_weights`; of bins `grid` and
        `n_bins`; of terms `min_weight`, `max_weight`, `include`, `exclude`, `groups`,
        `max_per_group`; of dims `objective`, `baseline`, `include`, `exclude`.

        >>> import numpy as np
        >>> summarize((np.eye(3), np.array([0.7, 0.3, 0.0])), "terms").solve(2).weights.round(2).tolist()
        [0.7, 0.3]
        """
        return SOLVERS_OF[self.job](self.state, k, options)


def summarize(
    block: Any, job: str | None = None, plan: Summary | None = None, **options: Any
) -> Summary:
    """Summarise one block of rows: small, and all that is ever kept of it.

    `merge` puts summaries together, and `solve` answers. Points may take two passes: of one pass
    `solve` answers by some thousand rows drawn at random, and `note` says how far these may be from
    all rows, where no two blocks are the same. Bins take a second pass where there are more than
    65,536 distinct values and the value is to be exact. Summaries that do not belong together are
    refused.

    Parameters
    ----------
    block : array, sparse matrix, table, or tuple (X, y) or (X, y, sample_weight)
        Some of the rows.
    job : {"points", "bins", "terms", "dims"}
        What they are summarised for; that of the plan where there is one.
    plan : Summary, optional
        The merged summary of the first pass, for the second.
    **options
        In the first pass, as in the function of the job: of points `labels`, `sample_weight`,
        `columns`, `missing`, `similarity`, `gamma`, `standardize`, `rng` (a whole number), `k`, and
        `candidates`, how many rows k is chosen from. Of bins `sample_weight` and `missing`, of
        terms `y`, `sample_weight` and `missing`, of dims `sample_weight`, `columns`, `missing` and
        `max_memory`. With `plan=` the summary of some rows and `kept=400`, blocks of points keep so
        many weighted rows, which takes one pass with a proven bound in `note`.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> blocks = [np.array([[1, 1, 0], [0, 1, 0]]), np.array([[0, 0, 1], [1, 1, 0]])]
    >>> first, second = (summarize(block, "dims") for block in blocks)
    >>> first.merge(second).solve(2).indices.tolist()
    [0, 1]
    """
    if plan is not None and (not isinstance(plan, Summary) or job not in (None, plan.job)):
        raise InvalidInput(f"plan must be a merged summary of the job {job!r}, got {shown(plan)}")
    job = plan.job if plan is not None else job
    make = known(job, MAKERS, "job")
    given = Block(*block[:3]) if isinstance(block, tuple) else Block(block)
    if not height(given.X):
        raise InvalidInput("block must have at least one row; pass over empty ones")
    state = make(given, None if plan is None else plan.state, dict(options))
    X = gathered(given.X)
    about: dict[str, Any] = {} if plan is None else {**plan.about, "rows of the plan": plan.rows}
    about |= {"job": job, "pass": type(state).__name__, "number of columns": width(X)}
    about["columns"] = names_of(X) if is_frame(X) else None
    names = (
        "k",
        "y",
        "labels",
        "sample_weight",
        "gamma",
        "rng",
        "similarity",
        "standardize",
        "missing",
        "candidates",
        "kept",
    )
    for name in names:
        value = options.get(name)
        about[name] = (
            value if value is None or isinstance(value, (str, int, float)) else about.get(name)
        )
    return Summary(str(job), state, about)


def _points_block(block: Block, plan: Any, given: dict[str, Any]) -> Any:
    own = {"candidates": None, "kept": None, "k": 1}
    own |= {name: given.pop(name) for name in own if name in given}
    options = PointsOptions.of({"rng": 0, **given})
    options.serve(*POINTS_ROWS, road=FIRST_PASS)
    block = _beside(block, options.labels, options.sample_weight)
    if plan is not None:
        made = plan_of(plan) if isinstance(plan, FirstSummary) else plan.plan
        if own["kept"] is not None:
            return coreset_of(block, made, as_integer(own["kept"], "kept", 1))
        return SecondSummary.of(block, made)
    labels, weight = options.labels, options.sample_weight
    options = options.replace(
        labels=labels if isinstance(labels, str) else block.y,
        sample_weight=weight if isinstance(weight, str) else None,
    )
    spec = spec_of(block.X, as_integer(own["k"], "k", 1), options, as_seed(options.rng))
    if own["candidates"] is not None:
        count = as_integer(own["candidates"], "candidates", 1)
        spec = replace(spec, candidates=count, least=count)
    return FirstSummary.of(block, replace(spec, draws=spec.candidates))


def _beside(block: Block, y: Any, weight: Any) -> Block:
    """A block with what was given beside it; names are columns of its table."""
    y = block.y if y is None or isinstance(y, str) else y
    weight = block.weight if weight is None or isinstance(weight, str) else weight
    return block._replace(y=y, weight=weight)


def _bins_block(block: Block, plan: Any, given: dict[str, Any]) -> Any:
    options = BinsOptions.of(given)
    options.serve("sample_weight", "missing", road=FIRST_PASS)
    block = _beside(block, None, options.sample_weight)
    return BinsSummary.of(block, options.missing if plan is None else plan)


def _dims_block(block: Block, plan: Any, given: dict[str, Any]) -> Any:
    options = DimsOptions.of(given)
    options.serve(*DIMS_ROWS, road=FIRST_PASS)
    block = _beside(block, None, options.sample_weight)
    schema, memory = schema_of(block.X, options), options.max_memory
    return DimsSummary.of(block, DimsPlan(schema, is_frame(block.X), None, memory))


def _terms_block(block: Block, plan: Any, given: dict[str, Any]) -> Any:
    y = given.pop("y", None)
    options = TermsOptions.of(given)
    options.serve("sample_weight", "missing", road=FIRST_PASS)
    block = _beside(block, y, options.sample_weight)
    schema = terms_schema(block.X, y, options)
    alone = current_thread() is main_thread()  # else another thread may be limiting BLAS
    with own_threads() if alone else nullcontext():
        return TermsSummary.of(block, schema)


MAKERS: dict[str, Callable[[Block, Any, dict[str, Any]], Any]] = {
    "points": _points_block,
    "bins": _bins_block,
    "terms": _terms_block,
    "dims": _dims_block,
}
FIRST_PASS, SOLVE = "summarize; give it to solve", "solve; give it to summarize"
SEARCHED = ("solver", "time_limit", "rng", "callback")
DIMS_ROWS = ("sample_weight", "columns", "missing", "max_memory")
POINTS_ROWS = (
    "labels",
    "sample_weight",
    "columns",
    "missing",
    "similarity",
    "gamma",
    "standardize",
    "rng",
    "max_memory",
)
"""Options of points in the first pass."""


def _solved_points(summary: Any, k: int, given: dict[str, Any]) -> Result:
    spec = summary.spec if isinstance(summary, FirstSummary) else summary.plan.spec
    options = PointsOptions.of({"rng": 0, **given})
    own = ("min_weight", "max_weight", "equal_weights", "max_memory")
    options.serve(*SEARCHED, *own, road=SOLVE)
    seed = spec.seed if options.rng is None else as_seed(options.rng)
    return solved(summary, k, options, seed).result


def _solved_bins(summary: Any, k: int, given: dict[str, Any]) -> Result:
    options = BinsOptions.of({"rng": 0, **given})
    options.serve(*SEARCHED, "grid", "n_bins", road=SOLVE)
    if len(summary.columns) != 1:
        raise InvalidInput(f"bins are of one column, got blocks with {len(summary.columns)}")
    return best_histogram(summary.distributions()[0], k, options)


def _solved_terms(summary: Any, k: int, given: dict[str, Any]) -> Result:
    from .terms.terms import track

    options = TermsOptions.of({"rng": 0, **given})
    own = ("include", "exclude", "groups", "previous", "max_turnover", "constraints")
    bounds = ("weight", "per_group", "group_weight")
    limits = [f"{end}_{name}" for name in bounds for end in ("min", "max")]
    options.serve(*SEARCHED, *own, *limits, "ridge", road=SOLVE)
    return track(summary.tracked(options), k, options)


def _solved_dims(summary: Any, k: int, given: dict[str, Any]) -> Result:
    options = DimsOptions.of({"rng": 0, **given})
    own = ("objective", "baseline", "include", "exclude")
    options.serve(*SEARCHED, *own, road=SOLVE)
    return DimsProblem.of(summary, options).solve(k, options)


SOLVERS_OF: dict[str, Callable[[Any, int, dict[str, Any]], Result]] = {
    "points": _solved_points,
    "bins": _solved_bins,
    "terms": _solved_terms,
    "dims": _solved_dims,
}
__all__ = ["Summary", "summarize"]
