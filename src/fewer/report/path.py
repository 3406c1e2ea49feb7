"""A job at several k: solve, compare with baselines, hold out data, and recommend a k."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np

from .._result_display import axes
from .._result_frame import frame_of
from .._validation import InvalidInput, Vector, as_bytes, as_generator, known
from ..jobs.bins.bins import bins
from ..jobs.dims.dims import dims
from ..jobs.points.points import points
from ..jobs.terms.terms import terms
from ..progress import search_bar
from ..result import Result, Status
from ..tables.frames import nearest
from ..tables.source import source_of
from .bins import bins_study
from .dims import DimsStudy
from .points import PointsStudy
from .study import UNBOUNDED, Baselines, BlocksStudy, Split, Study, Table, as_share
from .terms import TermsStudy

Watch = Callable[[str], AbstractContextManager[Any]]
"""Gives, for a label, a callback to hand to the solver."""
FUNCTIONS: dict[str, Any] = {"points": points, "bins": bins, "terms": terms, "dims": dims}
ROLES = {"points": "labels", "terms": "y"}
"""The option that has an entry for each row, beside `sample_weight`."""
OF_PATHS = {"terms": {"test"}, "points": {"n_criticisms", "captions"}}
"""Options of a path that the function does not have."""
DEFAULT_SEARCH = {"solver": "auto", "time_limit": None, "rng": 0}
"""How answers are searched for."""
SEARCHED = ("dims", "points", "terms")
"""Jobs whose default is a search followed by a proof."""
MAX_BASELINE_FACTOR = 100
"""A baseline is given at most this many times k units."""
SAME = 1e-9
"""Errors that differ by less than this share of them are equal."""
SPLITS = 5
"""Random splits over which held-out errors are averaged where a k is to be recommended."""
TEST_SHARE = 0.3
"""The share of the data that is held out."""
SUFFICIENT_REDUCTION = 0.9
"""The share of the error reduction along a path that makes a k sufficient without several splits.
"""
NEGLIGIBLE_REDUCTION = 0.05
"""The share of the held-out reduction, over several splits, that is not worth a larger k."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The result for one k and its errors: on the data, held out, and of the baselines.

    `held_out` is the mean over splits, `held_outs` what each of them gives, `held_out_se` the
    standard error; `baselines_held_out` are the means of the baselines over the same splits.
    """

    k: int
    result: Result
    error: float
    kept: Table
    lost: dict[str, float]
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Further tables that were asked for, by name."""
    baselines: dict[str, float] = field(default_factory=dict)
    held_out: float | None = None
    held_outs: tuple[float, ...] = ()
    held_out_se: float | None = None
    baselines_held_out: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """A job at several k, beside its baselines, with a k to take; `fewer.path` makes it.

    Parameters
    ----------
    study : object
        The job on its data.
    answers : tuple
        What is known of each k.
    answer : object
        The answer for the k to take.
    reason : str
        Why that k.
    comparison : str
        How many units the best baseline needs to match the error of the recommended k.
    interrupted : bool
        Whether a Ctrl-C ended it with what it had.
    seconds : float
        Wall time.

    Attributes
    ----------
    ks : list of int
        The k that were answered, in ascending order.
    results : list of Result
        The answer for each k.
    errors : dict
        Arrays with an error for each k, by name: "fewer" and each baseline. `metric` says what they
        are.
    held_out : dict
        The same on data that were held out, a mean over splits; empty where nothing was.
    recommended : int
        The k to take.
    metric : str
        What errors are; lower is better.

    Examples
    --------
    >>> import fewer
    >>> path = fewer.path("bins", [1.0, 1.0, 2.0, 4.0, 4.5, 7.0, 9.0, 9.0], [1, 2, 4])
    >>> path.ks, sorted(path.errors), path.recommended in path.ks
    ([1, 2, 4], ['equal-width bins', 'fewer', 'quantile binning'], True)
    """

    study: Study
    answers: tuple[Answer, ...]
    answer: Answer
    reason: str
    comparison: str
    interrupted: bool
    seconds: float

    @property
    def ks(self) -> list[int]:
        """The k that were answered."""
        return [answer.k for answer in self.answers]

    @property
    def results(self) -> list[Result]:
        """The answer for each k."""
        return [answer.result for answer in self.answers]

    @property
    def recommended(self) -> int:
        """The k to take."""
        return self.answer.k

    @property
    def metric(self) -> str:
        """What errors are; lower is better."""
        return self.study.metric

    @property
    def errors(self) -> dict[str, Vector]:
        """An error for each k, of `fewer` and of each baseline."""
        return by_name((answer.error, answer.baselines) for answer in self.answers)

    @property
    def held_out(self) -> dict[str, Vector]:
        """The mean error on held-out data for each k, of `fewer` and of each baseline."""
        if all(answer.held_out is None for answer in self.answers):
            return {}
        return by_name((answer.held_out, answer.baselines_held_out) for answer in self.answers)

    def columns(self) -> Table:
        """Return a row for each k: its error, held out, of the baselines, and the gap if known."""
        columns: dict[str, Any] = {"k": self.ks, "error": [one.error for one in self.answers]}
        columns["held out"] = [one.held_out for one in self.answers]
        columns["± standard error"] = [one.held_out_se for one in self.answers]
        for name in self.answers[0].baselines:
            columns[name] = [one.baselines.get(name) for one in self.answers]
        columns["gap"] = [one.lost.get("gap") for one in self.answers]
        return {name: each for name, each in columns.items() if any(x is not None for x in each)}

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each k: `k`, `error`, baselines, held-out errors, `gap` and `recommended`.

        Parameters
        ----------
        backend : {None, "pandas", "polars"}
            The library of the table; None is pandas.

        Returns
        -------
        DataFrame
        """
        columns: dict[str, Any] = {"k": self.ks, **self.errors}
        columns |= {f"{name}, held out": each for name, each in self.held_out.items()}
        if any(answer.held_out_se is not None for answer in self.answers):
            columns["standard error"] = [answer.held_out_se for answer in self.answers]
        columns["gap"] = [answer.lost.get("gap") for answer in self.answers]
        columns["recommended"] = [answer is self.answer for answer in self.answers]
        ours = {"fewer": "error", "fewer, held out": "held out"}
        lists = {ours.get(name, name): list(each) for name, each in columns.items()}
        return frame_of(lists, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw errors against k: solid on the data, dashed where held out.

        a line at the recommended k.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        ax = axes() if ax is None else ax
        for style, ending, errors in (("-", "", self.errors), ("--", ", held out", self.held_out)):
            for number, (name, each) in enumerate(errors.items()):
                look = {"marker": "o", "color": f"C{number}", "label": f"{name}{ending}"}
                ax.plot(self.ks, each, style, **look)
        ax.axvline(self.recommended, color="0.8", zorder=0)
        ax.set(xlabel="k", ylabel=self.metric)
        ax.legend()
        return ax

    def __repr__(self) -> str:
        k = f"k in {self.ks}, recommended k = {self.recommended}"
        return f"Path({self.study.job}, {k}: {self.reason})"


def by_name(pairs: Iterator[tuple[float | None, dict[str, float]]]) -> dict[str, Vector]:
    """Return errors of `fewer` and of baselines by name, one for each k.

    NaN where none was measured.
    """
    rows = [{"fewer": own, **others} for own, others in pairs]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name) for row in rows], np.float64) for name in names}


def path(
    job: str,
    X: Any,
    ks: Sequence[Any],
    *,
    y: Any = None,
    k: Any = None,
    names: Sequence[Any] | None = None,
    test: Any = "auto",
    splits: int | None = None,
    baselines: bool = True,
    n_criticisms: int = 0,
    solver: str = "auto",
    time_limit: float | None = None,
    rng: Any = 0,
    progress: bool = False,
    **options: Any,
) -> Path:
    """Solve a job for several k, beside its baselines, on the data and on held-out parts.

    Recommend a k.

    Rows are read and prepared once for all k.

    Parameters
    ----------
    job : {"points", "bins", "terms", "dims"}
        The function that is called.
    X : array, sparse matrix, table or data in blocks
        Its data. Of bins the values, or None with `counts`. For data that exceed half of
        `max_memory` there are neither baselines nor held-out errors, as these need the rows.
    ks : sequence of int
        How many to keep; of dims with `costs` the budgets.
    y : array, Series or name
        Of terms, the target.
    k : int, optional
        One more k, to be taken instead of a recommended one.
    names : sequence, optional
        What to call the columns of an array.
    test : "auto", None, float, pair or array of int
        What is held out: a share of the rows at random; for terms also ("last", share), ("from",
        date) or row numbers. "auto" is 0.3, and for terms with dates the last 30 %.
    splits : int, optional
        Random splits over which held-out errors are averaged; five where a k is to be recommended,
        else one.
    baselines : bool
        Whether to compare with baselines.
    n_criticisms : int
        Of points, how many of the rows that are represented worst are listed. A further option of
        points are `captions`, columns (N,) by name that are shown beside the rows.
    solver, time_limit, rng, progress
        As in the function, for each search; `rng` is a seed here.
    **options
        Further options of the function.

    Returns
    -------
    Path
        `ks`, `results`, `errors`, `held_out`, `recommended`, `reason`, and `to_frame()` and
        `plot()`.

    Examples
    --------
    >>> import numpy as np, fewer
    >>> orders = (np.random.default_rng(0).random((300, 8)) < 0.2).astype(int)
    >>> path = fewer.path("dims", orders, [2, 4, 6], baselines=False)
    >>> path.ks, list(path.held_out), path.to_frame().shape
    ([2, 4, 6], ['fewer'], (3, 6))
    """
    if isinstance(rng, np.random.Generator):
        raise InvalidInput(
            "rng must be a seed, with which every k and every split begins, got a Generator", "rng"
        )
    requested = {"ks": list(ks), "k": [] if k is None else [k]}
    every = requested["ks"] + requested["k"]
    if not every:
        raise InvalidInput("ks must have at least one k, got none", "ks")
    if job == "terms":
        options |= {"y": y, "test": test}
    elif y is not None:
        raise InvalidInput(f"y is the target of terms, and {job} has none", "y")
    if job == "points":
        options["n_criticisms"] = n_criticisms
    search: dict[str, Any] = {
        "solver": solver,
        "time_limit": time_limit,
        "rng": as_generator(rng)[1] or 0,
    }
    study = study_of(job, X, max(every), names, search, **options)
    for name, some in requested.items():
        for each in some:
            if study.size != UNBOUNDED and not 1 <= each <= study.size:
                limits = f"1..{study.size} ({study.unit})"
                raise InvalidInput(f"{name} must be in {limits}, got {each}", name)

    def watch(label: str) -> AbstractContextManager[Any]:
        return search_bar(label, time_limit) if progress else nullcontext()

    share = as_share(test) if isinstance(test, float) else TEST_SHARE
    return solve_path(
        study,
        every,
        k=k,
        held_out=None if test is None else share,
        splits=splits,
        baselines=baselines,
        watch=watch,
        **search,
    )


def study_of(
    job: str,
    X: Any,
    most: Any = 1,
    names: Sequence[Any] | None = None,
    search: Mapping[str, Any] = DEFAULT_SEARCH,
    **options: Any,
) -> Study:
    """Return the study of a job with options of its function; `most` is the largest k."""
    function = known(job, FUNCTIONS, "job")
    allowed = {*signature(function).parameters, *OF_PATHS.get(job, ())} - {"callback"}
    for name in options:
        if name not in allowed:
            hint = nearest(name, sorted(allowed))
            raise InvalidInput(f"{name} is no option of {job}{hint}", name)
    if X is not None:
        role = ROLES.get(job, "")
        source = source_of(X, options.get(role), options.get("sample_weight"))
        if source.once:
            raise InvalidInput(
                "X must be data that can be read for each k, got an iterator; give a callable", "X"
            )
        whole = source.whole(as_bytes(options.get("max_memory", "1GB")) // 2)
        if whole is None:
            return BlocksStudy.of(function, X, most, {**search, **options})
        parts = {role: whole.y, "sample_weight": whole.weight}
        options = options | {name: part for name, part in parts.items() if part is not None}
        X = whole.X
    if job == "points":
        limit = {"time_limit": search["time_limit"]}
        return PointsStudy.of(X, most, search["rng"], names=names, **limit, **options)
    if job == "bins":
        return bins_study(X, **options)
    kind: Any = TermsStudy if job == "terms" else DimsStudy
    study: Study = kind.of(X, names=names, **options)
    return study


def solve_path(
    study: Study,
    ks: Sequence[int],
    *,
    k: float | None = None,
    held_out: float | None = None,
    splits: int | None = None,
    baselines: bool = True,
    watch: Watch = lambda label: nullcontext(),
    rng: int = 0,
    **search: Any,
) -> Path:
    """Solve for every k and compare.

    `held_out` is the share of the data that tests fits on the rest.

    That is done over `splits` random splits, by default five where a k is to be recommended and one
    where it is given. The answers themselves are fitted on all data. An interrupt ends the path
    with what it has so far.
    """
    began = time.perf_counter()
    answers: list[Answer] = []
    interrupted, comparison = False, ""
    if splits is None:
        splits = SPLITS if k is None and len(set(ks)) > 1 else 1
    parts = [] if held_out is None else parts_of(study, held_out, rng, splits)
    search = {"rng": rng, **search}
    try:
        for budget in sorted(set(ks)):
            answers.append(answered(study, budget, watch, search))
            if answers[-1].result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            others = errors_at(study.baselines, budget) if baselines else {}
            held = held_out_errors(parts, held_out or 0.0, budget, baselines, watch, search)
            answers[-1] = replace(answers[-1], baselines=others, **held)
        answer, reason = recommended(answers, k, held_out or 0.0)
        comparison = compare(study, answer)
    except KeyboardInterrupt:
        if not answers:
            raise
        interrupted = True
        answer, reason = answers[-1], "the last before the interrupt"
    seconds = time.perf_counter() - began
    return Path(study, tuple(answers), answer, reason, comparison, interrupted, seconds)


def parts_of(study: Study, share: float, seed: int, splits: int) -> list[Split]:
    """Return random splits of the data.

    One where the test rows are fixed, none without a meaning.
    """
    seeds: list[Any] = [seed, *([seed, i] for i in range(1, splits))]
    if not study.random_splits:
        seeds = seeds[:1]
    parts = (study.split(share, np.random.default_rng(one)) for one in seeds)
    return [part for part in parts if part is not None]


def answered(study: Study, k: int, watch: Watch, search: dict[str, Any]) -> Answer:
    """Return the answer for one k on all data."""
    with watch(f"{study.job} k = {k}") as callback:
        result = study.solve(k, callback=callback, **search)
    error, kept = study.error(result), study.kept(result)
    return Answer(k, result, error, kept, study.lost(result), study.tables(result))


def held_out_errors(
    parts: Sequence[Split],
    share: float,
    k: int,
    baselines: bool,
    watch: Watch,
    search: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields of an answer that tell its errors, and those of baselines, on splits."""
    if not parts:
        return {}
    if search.get("solver", "auto") == "auto" and parts[0].study.job in SEARCHED:
        search = {**search, "solver": "exchange"}  # nothing is to be proven here
    errors = []
    for part in parts:
        with watch(f"{part.study.job} k = {k}, on the training part") as callback:
            result = part.study.solve(min(k, part.study.largest_k), callback=callback, **search)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        errors.append(part.error(result))
    fields: dict[str, Any] = {"held_out": float(np.mean(errors)), "held_outs": tuple(errors)}
    if len(parts) > 1:
        fields["held_out_se"] = resampling_error(np.array(errors), share)
    if baselines:
        most = min(part.study.largest_k for part in parts)
        each = [errors_at(part.baselines, min(k, most)) for part in parts]
        means = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        fields["baselines_held_out"] = means
    return fields


def errors_at(baselines: Baselines, k: int) -> dict[str, float]:
    """Return the errors of baselines at one k."""
    return {name: baseline(k) for name, baseline in baselines.items()}


def resampling_error(values: Vector, share: float) -> float:
    """Return the standard error of a mean over random splits that hold out a share each.

    √((1/R + share / (1 - share)) s²) for R splits, corrected for their overlap. Source: Nadeau and
    Bengio (2003), Inference for the generalization error.

    >>> round(resampling_error(np.array([1.0, 2.0, 3.0]), 0.5), 4)
    1.1547
    """
    if not np.isfinite(values).all():
        return math.inf
    return math.sqrt((1.0 / len(values) + share / (1.0 - share)) * float(np.var(values, ddof=1)))


def recommended(answers: Sequence[Answer], k: Any, share: float) -> tuple[Answer, str]:
    """Return the answer for a k that is given, else for the smallest sufficient k, and why."""
    if k is not None or len(answers) == 1:
        return next(one for one in answers if k is None or one.k == k), "as requested"
    splits = min(len(one.held_outs) for one in answers)
    last = len(answers) - 1
    if splits > 1:
        at = sufficient_over_splits(np.array([one.held_outs[:splits] for one in answers]).T, share)
        kind, over = "held-out error", f" over {splits} splits"
        reason = f"no larger k has a held-out error that is clearly lower, over {splits} splits"
    else:
        held = [one.held_out for one in answers if one.held_out is not None]
        errors = held if len(held) == len(answers) else [one.error for one in answers]
        at = sufficient(errors)
        kind, over = "held-out error" if errors is held else "error", ""
        reason = f"smallest k with {100 * SUFFICIENT_REDUCTION:.0f} % of the {kind} reduction"
        if errors[at] == min(errors):
            reason = f"lowest {kind}"
    if at == last:
        reason = f"{kind} still decreasing{over}; try larger k"
    return answers[at], reason


def sufficient_over_splits(errors: Any, share: float) -> int:
    """Return the first k whose mean error over splits, errors (R, K), is hardly above the lowest.

    That is by at most one standard error of the difference, or by a negligible share of the
    reduction along the path. Differences are taken split by split: which rows are held out moves
    the errors of all k alike, and says nothing about k. Without that common part even a gain of no
    use stands out, hence the share.

    >>> sufficient_over_splits(np.array([[9.0, 1.1, 1.0], [9.1, 0.9, 1.0], [9.3, 1.0, 0.9]]), 0.3)
    1
    """
    means = errors.mean(axis=0)
    best = int(np.argmin(means))
    negligible = NEGLIGIBLE_REDUCTION * (means[0] - means[best]) if math.isfinite(means[0]) else 0.0
    for at in np.flatnonzero(np.isfinite(means[:best])).tolist():
        above = errors[:, at] - errors[:, best]
        if above.mean() <= max(resampling_error(above, share), negligible):
            return int(at)
    return best


def sufficient(errors: Sequence[float]) -> int:
    """Return the first with 90 % of the reduction from the first error to the lowest.

    >>> sufficient([1.0, 0.4, 0.15, 0.1]), sufficient([0.2, 0.1]), sufficient([0.2, 0.1, 0.3])
    (2, 1, 1)
    """
    low = most = min(errors)
    if math.isfinite(errors[0]):
        most = low + (1.0 - SUFFICIENT_REDUCTION) * (errors[0] - low)
    return next(i for i, error in enumerate(errors) if error <= most)


def compare(study: Study, answer: Answer) -> str:
    """Say with how many units the best baseline matches the error: only what was measured."""
    errors = {name: error for name, error in answer.baselines.items() if not math.isnan(error)}
    if not errors or not math.isfinite(answer.error):
        return ""
    best = min(errors, key=lambda name: errors[name])
    if errors[best] < answer.error * (1 - SAME):
        return f"baseline {best} is better here"
    if errors[best] <= answer.error * (1 + SAME):
        return f"baseline {best} does as well here"
    most = min(study.size, MAX_BASELINE_FACTOR * answer.k)
    size, tried = matching_size(study.baselines[best], answer.k, answer.error, most)
    if size is not None:
        times = f"{size:g} {study.unit} ({size / answer.k:.1f}x)"
        return f"baseline {best} matches this with {times}"
    if not tried:
        return ""
    *some, last = (f"{size:g}" for size in tried)
    sizes = f"{', '.join(some)} or {last}" if some else last
    return f"baseline {best} did not match this with {sizes} {study.unit}"


def matching_size(
    baseline: Callable[[int], float], k: int, error: float, most: int
) -> tuple[int | None, list[int]]:
    """Return a size in k + 1..most at which a baseline's error is at most `error`, and sizes without.

    Sizes are doubled, then halved back to the smallest that is known to match. A baseline's error
    need not fall with its size, so a smaller one may match as well. Sizes that a baseline cannot
    serve have infinite errors; the largest that it can serve is among those tried.

    >>> matching_size(lambda k: 1 / k, 4, 0.1, 1000), matching_size(lambda k: 1 / k, 4, 0.1, 9)
    ((10, [8, 9]), (None, [8, 9]))
    >>> matching_size(lambda k: 1 / k if k < 15 else math.inf, 4, 1 / 13, 1000)
    (13, [8, 12])
    """
    errors = {k: math.nan}

    def halve(low: int, high: int, passed: Callable[[float], bool]) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            errors[middle] = baseline(middle)
            low, high = (low, middle) if passed(errors[middle]) else (middle, high)
        return high

    low = high = k
    while high < most and not (errors[high] <= error or errors[high] == math.inf):
        low, high = high, min(2 * high, most)
        errors[high] = baseline(high)
    if errors[high] == math.inf:
        halve(low, high, math.isinf)
    matches = sorted(size for size, value in errors.items() if value <= error)
    smallest = None
    if matches:
        below = max(size for size in errors if size < matches[0])
        smallest = halve(below, matches[0], lambda value: value <= error)
    return smallest, sorted(size for size, value in errors.items() if error < value < math.inf)
