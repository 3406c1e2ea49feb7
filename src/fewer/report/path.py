"""A job at several k: solve, compare with baselines, hold out rows, and recommend a k."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._result_display import axes
from .._result_frame import frame_of
from .._validation import InvalidInput, Vector, as_generator
from ..progress import search_bar
from ..result import Result, Status
from .kept import Table
from .views import View

Judge = Callable[[Result], float]
Baselines = Mapping[str, Callable[[int], float]]
"""The error of each baseline, for any k."""
Watch = Callable[[str], AbstractContextManager[Any]]
"""Gives, for what is being computed, a callback to hand to the solver."""
ANY_COST = 10**18
"""No budget is above this."""
MAX_BASELINE_FACTOR = 100
"""A baseline is given at most this many times k units."""
SAME = 1e-9
"""Errors that differ by less than this share of them are equal."""
SPLITS = 5
"""Random splits over which held-out errors are averaged where a k is to be recommended (benchmarks/which_k.py)."""
TEST_SHARE = 0.3
"""The share of the data that is held out."""
SEARCHED = ("dims", "points", "terms")
"""Jobs whose default is a search followed by a proof."""
SUFFICIENT_REDUCTION = 0.9
"""The share of the error reduction along a path that makes a k sufficient where there is one split, or none."""
NEGLIGIBLE_REDUCTION = 0.05
"""The share of the held-out reduction, over several splits, that is not worth a larger k (benchmarks/which_k.py)."""


class Split(NamedTuple):
    """Data in two parts: the problem on most of them, and errors on those held out, of results and of baselines."""

    problem: "Problem"
    judge: Judge
    baselines: Callable[[], Baselines]


class Problem(Protocol):
    """What a path asks of a job on a data set; errors are such that less is better."""

    shares: frozenset[str]
    """The columns and facts that are shares of one."""

    @property
    def job(self) -> str:
        """The name of the job."""
        ...

    @property
    def unit(self) -> str:
        """What is kept, in the plural."""
        ...

    @property
    def metric(self) -> str:
        """The metric that `error` is, in a few words; lower is better."""
        ...

    @property
    def size(self) -> int:
        """How many units there are to choose from."""
        ...

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline, for any k."""
        ...

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        ...

    def error(self, result: Result) -> float:
        """What was lost."""
        ...

    def kept(self, result: Result) -> Table:
        """What was kept, heaviest first."""
        ...

    def lost(self, result: Result) -> dict[str, float]:
        """What was lost, in several measures."""
        ...

    def view(self, result: Result) -> View | None:
        """What a picture of the answer shows; None where there is nothing to see."""
        ...

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """The data in two parts, of which a `share` is held out; None where that has no meaning."""
        ...


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
    baselines: dict[str, float]
    held_out: float | None = None
    more: Mapping[str, Table] = field(default_factory=dict)
    """Further tables that were asked for, by name."""
    held_outs: tuple[float, ...] = ()
    held_out_se: float | None = None
    baselines_held_out: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """A job at several k, beside its baselines, with a k to take; `fewer.path` makes it.

    Parameters
    ----------
    problem : object
        The job on its data.
    answers : tuple
        What is known of each k.
    chosen : object
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
    >>> found = fewer.path("bins", [1.0, 1.0, 2.0, 4.0, 4.5, 7.0, 9.0, 9.0], [1, 2, 4])
    >>> found.ks, sorted(found.errors), found.recommended in found.ks
    ([1, 2, 4], ['equal-width bins', 'fewer', 'quantile binning'], True)
    """

    problem: Problem
    answers: tuple[Answer, ...]
    chosen: Answer
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
        return self.chosen.k

    @property
    def metric(self) -> str:
        """What errors are; lower is better."""
        return self.problem.metric

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

    def table(self) -> Table:
        """One row for each k: errors, held-out errors, the gap, and which k is recommended."""
        columns: dict[str, Any] = {"k": self.ks}
        columns |= {
            "error" if name == "fewer" else name: each for name, each in self.errors.items()
        }
        for name, each in self.held_out.items():
            columns["held out" if name == "fewer" else f"{name}, held out"] = each
        if any(answer.held_out_se is not None for answer in self.answers):
            columns["standard error"] = [answer.held_out_se for answer in self.answers]
        columns["gap"] = [answer.lost.get("gap") for answer in self.answers]
        columns["recommended"] = [answer is self.chosen for answer in self.answers]
        return {name: np.asarray(each, object).tolist() for name, each in columns.items()}

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
        return frame_of(self.table(), backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw errors against k: solid on the data, dashed where held out; the recommended k is a vertical line.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        ax = axes() if ax is None else ax
        for style, errors in (("-", self.errors), ("--", self.held_out)):
            for number, (name, each) in enumerate(errors.items()):
                label = name if style == "-" else f"{name}, held out"
                ax.plot(self.ks, each, style, marker="o", color=f"C{number}", label=label)
        ax.axvline(self.recommended, color="0.8", zorder=0)
        ax.set(xlabel="k", ylabel=self.metric)
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return f"Path({self.problem.job}, k in {self.ks}, recommended k = {self.recommended}: {self.reason})"


def by_name(pairs: Any) -> dict[str, Vector]:
    """Errors of `fewer` and of baselines by name, with one for each k; NaN where one was not measured."""
    rows = [{"fewer": own, **others} for own, others in pairs]
    names = dict.fromkeys(name for row in rows for name in row)
    missing = (None, math.nan)
    return {
        name: np.array([math.nan if row.get(name) in missing else row[name] for row in rows], float)
        for name in names
    }


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
    """Solve a job for several k, beside its baselines, on the data and on held-out parts of them; recommend a k.

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
        Of points, how many of the rows that are represented worst are listed.
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
    >>> found = fewer.path("dims", orders, [2, 4, 6], baselines=False)
    >>> found.ks, list(found.held_out), found.to_frame().shape
    ([2, 4, 6], ['fewer'], (3, 6))
    """
    from .problems import problem_of

    if isinstance(rng, np.random.Generator):
        raise InvalidInput(
            "rng must be a seed, with which every k and every split begins, got a Generator", "rng"
        )
    seed = as_generator(rng)[1] or 0
    budgets = [*ks, *([] if k is None else [k])]
    if not budgets:
        raise InvalidInput("ks must have at least one k, got none")
    if job == "terms":
        options |= {"y": y, "test": test}
    elif y is not None:
        raise InvalidInput(f"y is the target of terms, and {job} has none")
    if job == "points":
        options["n_criticisms"] = n_criticisms
    search = {"solver": solver, "time_limit": time_limit}
    problem = problem_of(job, X, max(budgets), names, {**search, "rng": seed}, options)
    for name, some in (("k", [] if k is None else [k]), ("ks", ks)):
        for each in some:
            if not 1 <= each <= problem.size and problem.size < ANY_COST:
                raise InvalidInput(
                    f"{name} must be in 1..{problem.size} ({problem.unit}), got {each}", name
                )
    share = TEST_SHARE if not isinstance(test, float) else test

    def watch(label: str) -> AbstractContextManager[Any]:
        return search_bar(label, time_limit) if progress else nullcontext()

    return solve_path(
        problem,
        budgets,
        k=k,
        held_out=None if test is None else share,
        splits=splits,
        seed=seed,
        baselines=baselines,
        watch=watch,
        **search,
    )


def solve_path(
    problem: Problem,
    ks: Sequence[int],
    *,
    k: float | None = None,
    held_out: float | None = None,
    splits: int | None = None,
    seed: int = 0,
    baselines: bool = True,
    watch: Watch = lambda label: nullcontext(),
    **search: Any,
) -> Path:
    """Solve for every k and compare; `held_out` is the share of the data on which fits on the rest are tested.

    That is done over `splits` random splits, by default five where a k is to be recommended and one
    where it is given. `baselines`: whether to compare with them. The answers themselves are fitted
    on all data. An interrupt ends the path with what it has so far.
    """
    began = time.perf_counter()
    answers: list[Answer] = []
    interrupted, comparison = False, ""
    repeats = splits or (SPLITS if k is None and len(set(ks)) > 1 else 1)
    parts = [] if held_out is None else parts_of(problem, held_out, seed, repeats)
    rivals = [part.baselines() for part in parts] if baselines else []
    search = {"rng": seed, **search}
    try:
        for budget in sorted(set(ks)):
            answers.append(_answer(problem, budget, watch, search))
            if answers[-1].result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            others = errors_of(problem.baselines, budget) if baselines else {}
            held = tuple(_held_out(budget, part, watch, search) for part in parts)
            found = averaged(held, held_out)
            if rivals:
                most = min(part.problem.size for part in parts)
                each = [errors_of(rival, min(budget, most)) for rival in rivals]
                found["baselines_held_out"] = {
                    name: float(np.mean([one[name] for one in each])) for name in each[0]
                }
            answers[-1] = replace(answers[-1], baselines=others, **found)
        chosen, reason = choose(answers, k, held_out or 0.0)
        comparison = compare(problem, chosen)
    except KeyboardInterrupt:
        if not answers:
            raise
        interrupted = True
        chosen, reason = answers[-1], "the last before the interrupt"
    return Path(
        problem,
        tuple(answers),
        chosen,
        reason,
        comparison,
        interrupted,
        time.perf_counter() - began,
    )


def errors_of(baselines: Baselines, k: int) -> dict[str, float]:
    """The errors of baselines at one k."""
    return {name: baseline(k) for name, baseline in baselines.items()}


def parts_of(problem: Problem, share: float, seed: int, repeats: int) -> list[Split]:
    """Random splits of the data; one where the rows to test on are given, none where a split has no meaning."""
    if getattr(problem, "test_rows", None) is not None:
        repeats = 1
    found = (
        problem.split(share, np.random.default_rng([seed, i] if i else seed))
        for i in range(repeats)
    )
    return [part for part in found if part is not None]


def averaged(held: Sequence[float], share: float | None) -> dict[str, Any]:
    """The fields of an answer from its errors on several splits."""
    if not held:
        return {}
    error = resampling_error(np.array(held), share or 0.0) if len(held) > 1 else None
    return {"held_out": float(np.mean(held)), "held_outs": tuple(held), "held_out_se": error}


def resampling_error(values: Vector, share: float) -> float:
    """The standard error of a mean over random splits that hold out a share each, corrected for their overlap.

    √((1/R + share / (1 - share)) s²) for R splits. Source: Nadeau and Bengio (2003), Inference for
    the generalization error.

    >>> round(resampling_error(np.array([1.0, 2.0, 3.0]), 0.5), 4)
    1.1547
    """
    if not np.isfinite(values).all():
        return math.inf
    return math.sqrt((1.0 / len(values) + share / (1.0 - share)) * float(np.var(values, ddof=1)))


def sufficient_over_splits(errors: Any, share: float) -> int:
    """The first k whose mean error over splits, errors (R, K), is above the lowest by little.

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


def _answer(problem: Problem, k: int, watch: Watch, search: dict[str, Any]) -> Answer:
    """One k on all data."""
    with watch(f"{problem.job} k = {k}") as callback:
        result = problem.solve(k, callback=callback, **search)
    lost = problem.lost(result)
    if proven_bound(result) is None:
        lost.pop("gap", None)
    more = problem.more(result) if hasattr(problem, "more") else {}
    return Answer(k, result, problem.error(result), problem.kept(result), lost, {}, more=more)


def proven_bound(result: Result) -> float | None:
    """The bound where it tells something: that no error is below zero is no proof, unless the error is zero."""
    return result.bound if result.bound or result.status is Status.OPTIMAL else None


def _held_out(k: int, part: Split, watch: Watch, search: dict[str, Any]) -> float:
    """The error on the held-out data of the same search on the rest."""
    train, judge, _ = part
    if train.job in SEARCHED and search.get("solver", "auto") == "auto":
        search = {**search, "solver": "exchange"}  # nothing is to be proven here
    with watch(f"{train.job} k = {k}, on the training part") as callback:
        result = train.solve(min(k, train.size), callback=callback, **search)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return judge(result)


def choose(answers: Sequence[Answer], k: float | None, share: float = 0.3) -> tuple[Answer, str]:
    """The answer for the given k; else the smallest sufficient k by held-out error, or by error if none is held out."""
    if k is not None or len(answers) == 1:
        return next((a, "as requested") for a in answers if k is None or a.k == k)
    splits = min(len(a.held_outs) for a in answers)
    if splits > 1:
        at = sufficient_over_splits(np.array([a.held_outs[:splits] for a in answers]).T, share)
        if at == len(answers) - 1:
            return answers[
                at
            ], f"held-out error still decreasing over {splits} splits; try larger k"
        return answers[
            at
        ], f"no larger k has a held-out error that is clearly lower, over {splits} splits"
    held = all(a.held_out is not None for a in answers)
    errors = [float(a.held_out if a.held_out is not None and held else a.error) for a in answers]
    at = sufficient(errors)
    kind = "held-out error" if held else "error"
    if at == len(answers) - 1:
        return answers[at], f"{kind} still decreasing; try larger k"
    if errors[at] == min(errors):
        return answers[at], f"lowest {kind}"
    return answers[
        at
    ], f"smallest k with {100 * SUFFICIENT_REDUCTION:.0f} % of the {kind} reduction"


def sufficient(errors: Sequence[float]) -> int:
    """The first with 90 % of the reduction from the first error to the lowest.

    >>> sufficient([1.0, 0.4, 0.15, 0.1]), sufficient([0.2, 0.1]), sufficient([0.2, 0.1, 0.3])
    (2, 1, 1)
    """
    low = min(errors)
    most = (
        low + (1.0 - SUFFICIENT_REDUCTION) * (errors[0] - low) if math.isfinite(errors[0]) else low
    )
    return next(i for i, error in enumerate(errors) if error <= most)


def compare(problem: Problem, answer: Answer) -> str:
    """How many units the best baseline matches the error with: only what was measured."""
    feasible = {name: error for name, error in answer.baselines.items() if not math.isnan(error)}
    if not feasible or not math.isfinite(answer.error):
        return ""
    best = min(feasible, key=lambda name: feasible[name])
    if feasible[best] <= answer.error * (1 + SAME):
        return f"baseline {best} {'is better' if feasible[best] < answer.error * (1 - SAME) else 'does as well'} here"
    most = min(problem.size, MAX_BASELINE_FACTOR * answer.k)
    size, tried = matching_size(problem.baselines[best], answer.k, answer.error, most)
    if size is not None:
        return f"baseline {best} matches this with {size:g} {problem.unit} ({size / answer.k:.1f}x)"
    return (
        f"baseline {best} did not match this with {one_of(tried)} {problem.unit}" if tried else ""
    )


def matching_size(
    baseline: Callable[[int], float], k: int, error: float, most: int
) -> tuple[int | None, list[int]]:
    """A size in k + 1..most at which a baseline's error is at most `error`, or None; and the sizes tried without.

    Sizes are doubled, then halved back to the smallest that is found to match. A baseline's error
    need not fall with its size, so a smaller one may match as well. Sizes it cannot serve, of
    infinite error, are passed over, and the largest that it can serve is among those tried.

    >>> matching_size(lambda k: 1 / k, 4, 0.1, 1000), matching_size(lambda k: 1 / k, 4, 0.1, 9)
    ((10, [8, 9]), (None, [8, 9]))
    >>> matching_size(lambda k: 1 / k if k < 15 else math.inf, 4, 1 / 13, 1000)
    (13, [8, 12])
    """
    errors: dict[int, float] = {}

    def fits(size: int) -> bool:
        if size not in errors:
            errors[size] = baseline(size)
        return errors[size] <= error

    def too_many(size: int) -> bool:
        return not fits(size) and math.isinf(errors[size])

    size = low = k
    while size < most and (size == k or not fits(size)):
        low, size = size, min(2 * size, most)
        if too_many(size):
            turning_point(low, size, too_many)
            break
    tried = sorted(errors)
    matching = [size for size in tried if fits(size)]
    if matching:
        below = [size for size in tried if size < matching[0]]
        matching[0] = turning_point(below[-1] if below else k, matching[0], fits)
    return next(iter(matching), None), sorted(
        size for size, value in errors.items() if error < value < math.inf
    )


def turning_point(low: int, high: int, said: Callable[[int], bool]) -> int:
    """By halving, a size above `low` at which the answer turns from no to yes, given that `high` says yes."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if said(middle) else (middle, high)
    return high


def one_of(sizes: Sequence[int]) -> str:
    """Numbers in words.

    >>> one_of([5]), one_of([5, 10, 20])
    ('5', '5, 10 or 20')
    """
    *some, last = (f"{size:g}" for size in sizes)
    return f"{', '.join(some)} or {last}" if some else last
