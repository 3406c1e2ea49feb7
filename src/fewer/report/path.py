"""A job at several k: solve, compare with baselines, hold out data, and recommend a k."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_bytes, as_generator, known
from ..jobs.bins.bins import bins
from ..jobs.dims.dims import dims
from ..jobs.points.options import PointsOptions
from ..jobs.points.points import points
from ..jobs.terms.terms import terms
from ..progress import search_bar
from ..result import Result, Status, axes, frame_of
from ..tables.source import source_of
from .bins import bins_study
from .columns import DimsStudy, TermsStudy
from .points import PointsStudy
from .study import TEST_SHARE, BlocksStudy, Study, Table, as_share

FUNCTIONS: dict[str, Any] = {"points": points, "bins": bins, "terms": terms, "dims": dims}
ROLES = {"points": "labels", "terms": "y"}
"""The option that has an entry for each row, beside `sample_weight`."""
MAX_BASELINE_FACTOR = 100
"""A baseline is given at most this many times k units."""
SAME = 1e-9
"""Errors that differ by less than this share of them are equal."""
SPLITS = 5
"""Random splits over which held-out errors are averaged where a k is to be recommended."""
SUFFICIENT_REDUCTION = 0.9
"""The share of the error reduction along a path that makes a k sufficient without several splits.
"""
NEGLIGIBLE_REDUCTION = 0.05
"""The share of the held-out reduction, over several splits, that is not worth a larger k."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The result for one k, with its errors by name: "fewer" and each baseline.

    `held_out` are means over splits, `splits` the errors of `fewer` on each of them, and
    `held_out_se` is the standard error of their mean.
    """

    k: int
    result: Result
    kept: Table
    lost: dict[str, float]
    tables: Mapping[str, Table]
    errors: dict[str, float]
    held_out: dict[str, float] = field(default_factory=dict)
    held_out_se: float | None = None
    splits: tuple[float, ...] = ()


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
        return by_name([answer.errors for answer in self.answers])

    @property
    def held_out(self) -> dict[str, Vector]:
        """The mean error on held-out data for each k, of `fewer` and of each baseline."""
        return by_name([answer.held_out for answer in self.answers])

    @property
    def shares(self) -> frozenset[str]:
        """The names of columns and facts that are shares of one."""
        shares = self.study.shares
        return shares | {f"held-out {self.metric}"} if self.metric in shares else shares

    def lost(self, answer: Answer) -> dict[str, float]:
        """Return what an answer loses, held-out data included."""
        held_out = {f"held-out {self.metric}": x for x in list(answer.held_out.values())[:1]}
        return answer.lost | held_out

    def columns(self) -> Table:
        """Return a row for each k: its error, held out, of the baselines, and the gap if known."""
        errors = {name: each.tolist() for name, each in self.errors.items()}
        columns: Table = {"k": self.ks, "error": errors.pop("fewer")}
        columns["held out"] = [one.held_out.get("fewer") for one in self.answers]
        columns["± standard error"] = [one.held_out_se for one in self.answers]
        columns |= errors
        columns["gap"] = [one.lost.get("gap") for one in self.answers]
        return {name: each for name, each in columns.items() if any(x is not None for x in each)}

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each k: `k`, `error`, `held out`, baselines, `gap` and `recommended`.

        Parameters
        ----------
        backend : {None, "pandas", "polars"}
            The library of the table; None is pandas.

        Returns
        -------
        DataFrame
        """
        columns = self.columns()
        for name, errors in self.held_out.items():
            if name != "fewer":
                columns[f"{name}, held out"] = errors.tolist()
        columns["recommended"] = [answer is self.answer for answer in self.answers]
        return frame_of(columns, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw errors against k: solid on the data, dashed where held out.

        A vertical line marks the recommended k.

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


def by_name(answers: Sequence[Mapping[str, float]]) -> dict[str, Vector]:
    """Return errors by name, one for each answer: NaN where none was measured."""
    names = dict.fromkeys(name for errors in answers for name in errors)
    return {name: np.array([errors.get(name, math.nan) for errors in answers]) for name in names}


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
    seed = as_generator(rng)[1] or 0
    search: dict[str, Any] = {"solver": solver, "time_limit": time_limit, "rng": seed}
    study = study_of(job, X, max(every), names, search, **options)
    for name, some in requested.items():
        for each in some:
            if not 1 <= each <= study.size:
                limits = f"1..{study.size} ({study.unit})"
                raise InvalidInput(f"{name} must be in {limits}, got {each}", name)
    share = as_share(test) if isinstance(test, float) else TEST_SHARE
    return solve_path(
        study,
        every,
        k=k,
        held_out=None if test is None else share,
        splits=splits,
        baselines=baselines,
        progress=progress,
        **search,
    )


def study_of(
    job: str,
    X: Any,
    most: Any = 1,
    names: Sequence[Any] | None = None,
    search: Mapping[str, Any] | None = None,
    **options: Any,
) -> Study:
    """Return the study of a job with options of its function; `most` is the largest k."""
    function = known(job, FUNCTIONS, "job")
    search = {"rng": 0} if search is None else search
    if X is not None:
        role = ROLES.get(job, "")
        source = source_of(X, options.get(role), options.get("sample_weight"))
        if source.once:
            raise InvalidInput(
                "X must be data that can be read for each k, got an iterator; give a callable", "X"
            )
        whole = source.whole(as_bytes(options.get("max_memory", "1GB")) // 2)
        if whole is None:
            return BlocksStudy(function, X, most, {**search, **options})
        X = whole.X
        parts = {role: whole.y, "sample_weight": whole.weight}
        options |= {name: part for name, part in parts.items() if part is not None}
    if job == "points":
        shown = {name: options.pop(name, None) for name in ("captions", "n_criticisms")}
        own = PointsOptions.of({**options, "time_limit": search.get("time_limit")})
        return PointsStudy(X, own, most, search["rng"], names=names, **shown)
    if job == "bins":
        return bins_study(X, **options)
    kind: Any = TermsStudy if job == "terms" else DimsStudy
    study: Study = kind.of(X, names=names, **options)
    return study


def solve_path(
    study: Study,
    ks: Iterable[int],
    *,
    k: float | None = None,
    held_out: float | None = None,
    splits: int | None = None,
    baselines: bool = True,
    progress: bool = False,
    time_limit: float | None = None,
    rng: int = 0,
    solver: str = "auto",
) -> Path:
    """Solve for every k and compare; an interrupt ends the path with what it has so far.

    `held_out` is the share of the data that tests fits on the rest, over `splits` random splits; by
    default five where a k is to be recommended and one where it is given. The answers themselves
    are fitted on all data.
    """
    began = time.perf_counter()
    ks = sorted(set(ks))
    if splits is None:
        splits = SPLITS if k is None and len(ks) > 1 else 1
    splits = splits if study.random_splits else 1
    seeds: list[Any] = [rng, *([rng, i] for i in range(1, splits))]
    every = (
        [] if held_out is None else [study.split(held_out, np.random.default_rng(x)) for x in seeds]
    )
    parts = [part for part in every if part is not None]
    tester = "exchange" if solver == "auto" and study.job != "bins" else solver  # without a proof

    def solve(study: Study, k: int, solver: str, label: str) -> Result:
        bar = search_bar(f"{study.job} k = {k}{label}", time_limit) if progress else nullcontext()
        with bar as callback:
            how = {"solver": solver, "time_limit": time_limit, "rng": rng, "callback": callback}
            return study.solve(k, **how)

    def errors_of(result: Result, train: Study, test: Study, k: int) -> dict[str, float]:
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        others = train.baselines(test) if baselines else {}
        return {"fewer": test.error(result)} | {name: each(k) for name, each in others.items()}

    answers: list[Answer] = []
    interrupted, comparison = False, ""
    try:
        for size in ks:
            result = solve(study, size, solver, "")
            about = study.kept(result), study.lost(result), study.tables(result)
            answers.append(Answer(size, result, *about, {"fewer": study.error(result)}))
            errors = errors_of(result, study, study, size)
            answers[-1] = replace(answers[-1], errors=errors)
            held = []
            for train, test in parts:
                least = min(size, train.largest_k)
                result = solve(train, least, tester, ", on the training part")
                held.append(errors_of(result, train, test, least))
            if held:
                means = {name: float(np.mean([one[name] for one in held])) for name in held[0]}
                own = tuple(one["fewer"] for one in held)
                se = resampling_error(np.array(own), held_out or 0.0) if len(own) > 1 else None
                answers[-1] = replace(answers[-1], held_out=means, held_out_se=se, splits=own)
        answer, reason = recommended(answers, k, held_out or 0.0)
        comparison = compare(study, answer)
    except KeyboardInterrupt:
        if not answers:
            raise
        interrupted = True
        answer, reason = answers[-1], "the last before the interrupt"
    seconds = time.perf_counter() - began
    return Path(study, tuple(answers), answer, reason, comparison, interrupted, seconds)


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
    splits = len(answers[0].splits)
    kind, over = "held-out error" if splits else "error", ""
    if splits > 1:
        at = sufficient_over_splits(np.array([one.splits for one in answers]).T, share)
        over = f" over {splits} splits"
        reason = f"no larger k has a held-out error that is clearly lower,{over}"
    else:
        errors = [(one.held_out or one.errors)["fewer"] for one in answers]
        at = sufficient(errors)
        reason = f"smallest k with {100 * SUFFICIENT_REDUCTION:.0f} % of the {kind} reduction"
        if errors[at] == min(errors):
            reason = f"lowest {kind}"
    if at == len(answers) - 1:
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
    error = answer.errors["fewer"]
    others = {x: name for name, x in answer.errors.items() if name != "fewer" and x == x}
    if not others or not math.isfinite(error):
        return ""
    best = min(others)
    name = f"baseline {others[best]}"
    if best < error * (1 - SAME):
        return f"{name} is better here"
    if best <= error * (1 + SAME):
        return f"{name} does as well here"
    baseline = study.baselines(study)[others[best]]
    size, tried = matching_size(
        baseline, answer.k, error, min(study.size, MAX_BASELINE_FACTOR * answer.k)
    )
    if size is not None:
        return f"{name} matches this with {size:g} {study.unit} ({size / answer.k:.1f}x)"
    if not tried:
        return ""
    *some, last = (f"{size:g}" for size in tried)
    sizes = f"{', '.join(some)} or {last}" if some else last
    return f"{name} did not match this with {sizes} {study.unit}"


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

    def ends(size: int) -> bool:
        return errors[size] <= error or errors[size] == math.inf

    low = high = k
    while high < most and not ends(high):
        low, high = high, min(2 * high, most)
        errors[high] = baseline(high)
    while high - low > 1 and ends(high):
        middle = (low + high) // 2
        errors[middle] = baseline(middle)
        low, high = (low, middle) if ends(middle) else (middle, high)
    size = min((size for size, value in errors.items() if value <= error), default=None)
    return size, sorted(size for size, value in errors.items() if error < value < math.inf)
