"""Summarise blocks, merge, solve: the three steps of every job over data in blocks, for own loops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._validation import InvalidInput, as_integer, as_seed, gathered, is_frame, known, shown
from ..options import Options
from ..result import Result
from ..row_blocks import merged_in_tree
from ..tables.frames import height, names_of, width
from ..tables.source import Block
from ..threads import own_threads
from .bins.bins import best_histogram
from .bins.empirical import BinsPlan, BinsSummary
from .bins.options import BinsOptions
from .dims.dims import DimsProblem
from .dims.options import DimsOptions
from .dims.summary import DimsPlan, DimsSummary, schema_of
from .points.blocks import solve_summary
from .points.options import PointsOptions
from .points.passes import Coreset, FirstPlan, FirstSummary, PointsPlan, SecondSummary
from .terms.options import TermsOptions
from .terms.terms import TermsSummary, terms_schema, track


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
        """Return the summary of all rows, from those of blocks in the order of their rows.

        Always in the same tree.

        >>> summarize([1.0, 2.0], "bins").merge(summarize([2.0], "bins")).rows
        3
        """
        for other in others:
            if not isinstance(other, Summary):
                raise InvalidInput(f"summaries must come from summarize, got {shown(other)}")
            for name in {**self.about, **other.about}:
                here, there = self.about.get(name), other.about.get(name)
                if here != there:
                    raise InvalidInput(
                        f"summaries must have the same {name} to be merged, got {shown(here)} and"
                        f" {shown(there)}"
                    )
        states = [self.state, *(other.state for other in others)]
        return replace(self, state=merged_in_tree(states, type(self.state).merged))

    def solve(self, k: int, **options: Any) -> Result:
        """Return the answer of the job.

        `indices` are columns, or positions of rows in the order in which they were merged.

        Options are those of the job's function that are about the search: `solver`, `time_limit`,
        `rng`, `callback`; of points `min_weight`, `max_weight`, `equal_weights`; of bins `grid` and
        `n_bins`; of terms `min_weight`, `max_weight`, `include`, `exclude`, `groups`,
        `max_per_group`; of dims `objective`, `baseline`, `include`, `exclude`.

        >>> import numpy as np
        >>> summarize((np.eye(3), np.array([0.7, 0.3, 0.0])), "terms").solve(2).weights.round(
        ...     2
        ... ).tolist()
        [0.7, 0.3]
        """
        steps = STEPS[self.job]
        checked = steps.options.of({"rng": 0, **options})
        checked.serve(*SEARCH_OPTIONS, *steps.of_answer, road="solve; give it to summarize")
        return steps.answer(self.state, k, checked)


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
    steps = known(job, STEPS, "job")
    rows = Block(*block[:3]) if isinstance(block, tuple) else Block(block)
    if not height(rows.X):
        raise InvalidInput("block must have at least one row; pass over empty ones")
    own = {name: options.pop(name) for name in steps.own if name in options}
    seed = {"rng": 0} if "rng" in steps.of_rows else {}
    checked = steps.options.of({**seed, **options})
    checked.serve(*steps.of_rows, road="summarize; give it to solve")
    for part, name in (("y", "y"), ("y", "labels"), ("weight", "sample_weight")):
        value = own.get(name, getattr(checked, name, None))
        if value is not None and not isinstance(value, str):
            rows = rows._replace(**{part: value})
    said = own | {name: getattr(checked, name) for name in steps.of_rows}
    said = {name: value for name, value in said.items() if isinstance(value, str | int | float)}
    X = gathered(rows.X)
    columns = names_of(X) if is_frame(X) else f"{width(X)} without names"
    about = {"job": job, "columns": columns, **said}
    if plan is not None:
        for name in said.keys() & {*own, *options} - {"kept"}:
            if said[name] != plan.about.get(name):
                raise InvalidInput(
                    f"{name} must be that of the plan, {shown(plan.about.get(name))};"
                    f" got {shown(said[name])}",
                    name,
                )
        about |= {**plan.about, **own, "columns": columns, "rows of the plan": plan.rows}
    state = steps.summary(rows, None if plan is None else plan.state, checked, own)
    return Summary(str(job), state, {**about, "pass": type(state).__name__})


@dataclass(frozen=True)
class Steps:
    """How a job summarises blocks and answers.

    `of_rows` are options of the first pass, `own` those of `summarize` alone, `of_answer` those of
    `solve`. `summary(block, plan, options, own)` and `answer(state, k, options)` do the work.
    """

    options: type[Options]
    of_rows: tuple[str, ...]
    own: tuple[str, ...]
    of_answer: tuple[str, ...]
    summary: Callable[[Block, Any, Any, dict[str, Any]], Any]
    answer: Callable[[Any, Any, Any], Result]


def _points_summary(block: Block, plan: Any, options: Any, own: dict[str, Any]) -> Any:
    count = {name: as_integer(value, name, 1) for name, value in own.items()}
    if plan is not None:
        made = PointsPlan.of(plan) if isinstance(plan, FirstSummary) else plan.plan
        if "kept" not in count:
            return SecondSummary.of(block, made)
        return Coreset.of(block, replace(made, kept=count["kept"]))
    first = FirstPlan.of(block, count.get("k", 1), options, as_seed(options.rng))
    if "candidates" in count:
        first = replace(first, most=count["candidates"], least=count["candidates"])
    return FirstSummary.of(block, replace(first, draws=first.most))


def _points_answer(summary: Any, k: Any, options: Any) -> Result:
    first = summary.plan if isinstance(summary, FirstSummary) else summary.plan.first
    seed = first.seed if options.rng is None else as_seed(options.rng)
    return solve_summary(summary, k, options, seed).result


def _bins_summary(block: Block, plan: Any, options: Any, own: dict[str, Any]) -> Any:
    return BinsSummary.of(block, BinsPlan(options.missing) if plan is None else plan.plan())


def _bins_answer(summary: Any, k: Any, options: Any) -> Result:
    if len(summary.columns) != 1:
        raise InvalidInput(f"bins are of one column, got blocks with {len(summary.columns)}")
    return best_histogram(summary.distributions()[0], k, options)


def _terms_summary(block: Block, plan: Any, options: Any, own: dict[str, Any]) -> Any:
    schema = terms_schema(block.X, options, own.get("y")) if plan is None else plan.schema
    with own_threads():
        return TermsSummary.of(block, schema)


def _terms_answer(summary: Any, k: Any, options: Any) -> Result:
    return track(summary.tracked(options), k, options)


def _dims_summary(block: Block, plan: Any, options: Any, own: dict[str, Any]) -> Any:
    if plan is not None:
        return DimsSummary.of(block, plan.plan)
    return DimsSummary.of(block, DimsPlan(schema_of(block.X, options), None, options.max_memory))


def _dims_answer(summary: Any, k: Any, options: Any) -> Result:
    return DimsProblem.of(summary, options).solve(options.limit(k), options)


SEARCH_OPTIONS = ("solver", "time_limit", "rng", "callback")
WEIGHTS = ("min_weight", "max_weight")
TERMS_ANSWER = (
    "min_per_group max_per_group min_group_weight max_group_weight include exclude groups previous"
    " max_turnover constraints ridge"
)
POINTS_ROWS = "labels sample_weight columns missing similarity gamma standardize rng max_memory"
STEPS = {
    "points": Steps(
        PointsOptions,
        tuple(POINTS_ROWS.split()),
        ("k", "candidates", "kept"),
        (*WEIGHTS, "equal_weights", "max_memory"),
        _points_summary,
        _points_answer,
    ),
    "bins": Steps(
        BinsOptions,
        ("sample_weight", "missing"),
        (),
        ("grid", "n_bins"),
        _bins_summary,
        _bins_answer,
    ),
    "terms": Steps(
        TermsOptions,
        ("sample_weight", "missing"),
        ("y",),
        (*WEIGHTS, *TERMS_ANSWER.split()),
        _terms_summary,
        _terms_answer,
    ),
    "dims": Steps(
        DimsOptions,
        ("sample_weight", "columns", "missing", "max_memory"),
        (),
        ("objective", "baseline", "include", "exclude"),
        _dims_summary,
        _dims_answer,
    ),
}
__all__ = ["Summary", "summarize"]
