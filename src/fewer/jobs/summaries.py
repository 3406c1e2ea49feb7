"""Summarise blocks, merge, solve: the three steps of every job over data in blocks, for own loops."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import Any

from .._validation import InvalidInput, as_integer, as_seed, gathered, is_frame, known, shown
from ..data.blocks import Block
from ..data.cutting import height, width
from ..data.frames import names_of
from ..deadline import Deadline
from ..result import Result
from ..row_blocks import merged_in_tree
from ..threads import own_threads
from ._bins_blocks import BinsSummary, CountedSummary
from ._dims_blocks import DimsSpec, DimsSummary, LevelsSummary
from ._held import Limits
from ._points_blocks import solved, spec_of
from ._points_first import FirstSummary
from ._points_onepass import coreset_of
from ._points_plan import plan_of
from ._points_second import SecondSummary
from ._terms_blocks import TermsSpec, TermsSummary
from .sample import as_bytes
from .setting import Setting


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

        Options are those of the job's function that are about the search: `solver`, `time_limit`, `rng`, `callback`; of
        points `min_weight`, `max_weight`, `equal_weights`; of bins `grid` and `n_bins`; of terms `min_weight`,
        `max_weight`, `include`, `exclude`, `groups`, `max_per_group`; of dims `objective`, `baseline`, `include`,
        `exclude`.

        >>> import numpy as np
        >>> summarize((np.eye(3), np.array([0.7, 0.3, 0.0])), "terms").solve(2).weights.round(2).tolist()
        [0.7, 0.3]
        """
        return SOLVERS_OF[self.job](self.state, k, options)


def summarize(block: Any, job: str | None = None, plan: Summary | None = None, **options: Any) -> Summary:
    """Summarise one block of rows: small, and all that is ever kept of it.

    `merge` puts summaries together, and `solve` answers. Tables with labels (dims) take two passes: the merged summary
    of the first is the `plan` of the second. Points may take two: of one pass `solve` answers by some thousand rows
    drawn at random, and `note` says how far these may be from all rows, where no two blocks are the same. Bins take a
    second pass where there are more than 65,536 distinct values and the value is to be exact. Summaries that do not
    belong together are refused.

    Parameters
    ----------
    block : array, sparse matrix, table, or tuple (X, y) or (X, y, sample_weight)
        Some of the rows.
    job : {"points", "bins", "terms", "dims"}
        What they are summarised for; that of the plan where there is one.
    plan : Summary, optional
        The merged summary of the first pass, for the second.
    **options
        In the first pass, as in the function of the job: of points `labels`, `sample_weight`, `columns`, `missing`,
        `similarity`, `gamma`, `standardize`, `rng` (a whole number), `k`, and `candidates`, how many rows k is chosen
        from. Of bins
        `sample_weight` and `missing`, of terms `y`, `sample_weight` and `missing`, of dims `sample_weight`, `columns`,
        `missing` and `max_memory`. With `plan=` the summary of some rows and `kept=400`, blocks of points keep so many
        weighted rows, which takes one pass with a proven bound in `note`.

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
    state = make(given, None if plan is None else plan.state, options)
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
        about[name] = value if value is None or isinstance(value, (str, int, float)) else about.get(name)
    return Summary(str(job), state, about)


def _rest(options: dict[str, Any], job: str) -> None:
    """Refuse options that the job does not have."""
    if options:
        raise InvalidInput(f"{next(iter(options))!r} is no option of {job} over blocks")


def _take(options: dict[str, Any], defaults: dict[str, Any], job: str) -> dict[str, Any]:
    """The known options with their defaults; others are refused."""
    left = dict(options)
    found = {name: left.pop(name, default) for name, default in defaults.items()}
    _rest(left, job)
    return found


def _points_block(block: Block, plan: Any, options: dict[str, Any]) -> Any:
    given = _take(
        options,
        {"labels": None, "sample_weight": None, "columns": None, "missing": "error", "similarity": "rbf"}
        | {"gamma": "median", "standardize": "auto", "rng": 0, "candidates": None, "kept": None, "k": 1}
        | {"max_memory": "1GB"},
        "points",
    )
    block = _beside(block, given["labels"], given["sample_weight"])
    if plan is not None:
        made = plan_of(plan) if isinstance(plan, FirstSummary) else plan.plan
        if given["kept"] is not None:
            return coreset_of(block, made, as_integer(given["kept"], "kept", 1))
        return SecondSummary.of(block, made)
    how = (given["similarity"], given["gamma"], given["standardize"], "auto", as_bytes(given["max_memory"]))
    setting = Setting(*how, Deadline.after(None), columns=given["columns"], missing=given["missing"])
    names = [value if isinstance(value, str) else None for value in (given["labels"], given["sample_weight"])]
    labels = names[0] if names[0] is not None else block.y
    spec = spec_of(block.X, setting, as_integer(given["k"], "k", 1), labels, names[1], as_seed(given["rng"]))
    if given["candidates"] is not None:
        count = as_integer(given["candidates"], "candidates", 1)
        spec = replace(spec, candidates=count, least=count)
    return FirstSummary.of(block, replace(spec, draws=spec.candidates))


def _beside(block: Block, y: Any, weight: Any) -> Block:
    """A block with what was given beside it; names are columns of its table."""
    y = block.y if y is None or isinstance(y, str) else y
    weight = block.weight if weight is None or isinstance(weight, str) else weight
    return block._replace(y=y, weight=weight)


def _bins_block(block: Block, plan: Any, options: dict[str, Any]) -> Any:
    given = _take(options, {"sample_weight": None, "missing": "error"}, "bins")
    block = _beside(block, None, given["sample_weight"])
    return BinsSummary.of(block, given["missing"]) if plan is None else CountedSummary.of(block, plan)


def _dims_block(block: Block, plan: Any, options: dict[str, Any]) -> Any:
    defaults = {"sample_weight": None, "columns": None, "missing": "error", "max_memory": "1GB"}
    given = _take(options, defaults, "dims")
    name = given["sample_weight"] if isinstance(given["sample_weight"], str) else None
    block = _beside(block, None, given["sample_weight"])
    if plan is not None:
        return DimsSummary.of(block, plan)
    how = {"columns": given["columns"], "missing": given["missing"], "weight": name}
    spec = DimsSpec.of(block.X, max_memory=as_bytes(given["max_memory"]), **how)
    return LevelsSummary.of(block, spec) if spec.labelled else DimsSummary.of(block, spec)


def _terms_block(block: Block, plan: Any, options: dict[str, Any]) -> Any:
    given = _take(options, {"y": None, "sample_weight": None, "missing": "error"}, "terms")
    name = given["sample_weight"] if isinstance(given["sample_weight"], str) else None
    block = _beside(block, given["y"], given["sample_weight"])
    spec = TermsSpec.of(block.X, given["y"], missing=given["missing"], weight=name)
    alone = current_thread() is main_thread()  # else another thread may be limiting BLAS
    with own_threads() if alone else nullcontext():
        return TermsSummary.of(block, spec)


MAKERS: dict[str, Callable[[Block, Any, dict[str, Any]], Any]] = {
    "points": _points_block,
    "bins": _bins_block,
    "terms": _terms_block,
    "dims": _dims_block,
}
SEARCH = {"solver": "auto", "time_limit": None, "rng": 0, "callback": None}


def _solved_points(summary: Any, k: int, options: dict[str, Any]) -> Result:
    defaults = SEARCH | {"min_weight": 0.0, "max_weight": 1.0, "equal_weights": False, "max_memory": "1GB"}
    given = _take(options, defaults, "points")
    limits = Limits(
        min_weight=given["min_weight"], max_weight=given["max_weight"], equal_weights=given["equal_weights"]
    )
    spec = summary.spec if isinstance(summary, FirstSummary) else summary.plan.spec
    how = (spec.similarity, spec.gamma, spec.scales, given["solver"], as_bytes(given["max_memory"]))
    setting = Setting(*how, Deadline.after(given["time_limit"]), given["callback"], limits=limits)
    return solved(summary, k, setting, spec.seed if given["rng"] is None else as_seed(given["rng"])).result


def _solved_bins(summary: Any, k: int, options: dict[str, Any]) -> Result:
    from ._lazy import solved_bins

    given = _take(options, SEARCH | {"grid": "auto", "n_bins": None}, "bins")
    if len(summary.columns) != 1:
        raise InvalidInput(f"bins are of one column, got blocks with {len(summary.columns)}")
    deadline = Deadline.after(given.pop("time_limit"))
    return solved_bins(summary, 0, k, given.pop("grid"), given.pop("n_bins"), {**given, "deadline": deadline})


def _solved_terms(summary: Any, k: int, options: dict[str, Any]) -> Result:
    from .holdings import Holdings, conditions_of
    from .terms import track

    bounds = {"min_weight": 0.0, "max_weight": 1.0}
    of_groups = dict.fromkeys(("max_per_group", "min_per_group", "max_group_weight", "min_group_weight"))
    columns = {"include": (), "exclude": (), "groups": None}
    conditions = dict.fromkeys(("previous", "max_turnover", "constraints"))
    given = _take(options, SEARCH | bounds | of_groups | columns | conditions, "terms")
    data = summary.tracked(**{name: given[name] for name in columns})
    asked = given["previous"], given["max_turnover"], given["constraints"]
    held = conditions_of(*asked, data.names, data.X.shape[1])
    limits = Holdings(**{name: given[name] for name in (*bounds, *of_groups)}, conditions=held)
    search = {name: given[name] for name in ("solver", "rng", "callback")}
    return track(data, k, limits, deadline=Deadline.after(given["time_limit"]), **search)


def _solved_dims(summary: Any, k: int, options: dict[str, Any]) -> Result:
    from .dims import cover

    defaults = {"objective": "kl", "baseline": "auto", "include": (), "exclude": ()}
    given = _take(options, SEARCH | defaults, "dims")
    if isinstance(summary, LevelsSummary):
        raise InvalidInput(
            "a table with labels takes two passes: summarize the blocks again with plan= the merged summaries"
        )
    coding = summary.coding(given["baseline"], given["include"], given["exclude"])
    search = {name: given[name] for name in ("objective", "solver", "rng", "callback")}
    found = cover(coding, k, deadline=Deadline.after(given["time_limit"]), **search)
    judged: Result = summary.judged(found, given["objective"])
    return judged


SOLVERS_OF: dict[str, Callable[[Any, int, dict[str, Any]], Result]] = {
    "points": _solved_points,
    "bins": _solved_bins,
    "terms": _solved_terms,
    "dims": _solved_dims,
}
__all__ = ["Summary", "summarize"]
