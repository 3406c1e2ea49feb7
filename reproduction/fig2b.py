"""Figure 2 (b): nearest-neighbour classification of digits by k prototypes (section 4.2, appendix H)."""

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..baselines import prototypes as baselines
from ..constraints.sparse_simplex import SparseSimplex
from ..jobs.bandwidth import nearest, validated_gamma
from ..jobs.points import points
from ..jobs.points_classifier import FewerPointsClassifier
from ..jobs.sample import Sample
from ..objectives.mmd import MMD
from ..similarity import similarity_of
from ..solvers.iht import iht
from ..solvers.steps import Constant, Doubling, StepRule
from ..spaces import Atoms
from .catalogue import TITLES
from .chance import above_zero, best_is_one_of, everywhere, lower_at_all
from .data import Digits, digits
from .experiment import Claim, Experiment, Reading, Row, Setting, Table
from .picture import panels

Chosen = tuple[Indices, Vector]


def budgets(setting: Setting) -> tuple[int, ...]:
    """How many prototypes."""
    return (10, 20, 50) if setting.quick else (10, 20, 50, 100, 200, 500)


def iterations(quick: bool) -> int:
    """The iterations of IHT."""
    return 100 if quick else 300


class Problem(NamedTuple):
    """The digits, the bandwidth, MMD² from all training rows, across classes or within, and the iterations of IHT."""

    data: Digits
    gamma: float
    whole: MMD
    local: MMD
    iterations: int


@lru_cache(maxsize=1)
def problem(data: str | None, quick: bool) -> Problem:
    """The problem of a setting, whose gamma has the lowest cross-validated 1-NN error of 100 (30) prototypes."""
    found = digits(Setting(1, quick, data=None if data is None else Path(data)))
    sample = Sample.of(found.X, found.y, None, merge=True)
    gamma = validated_gamma(sample, 30 if quick else 100, "rbf", 2**30, np.random.default_rng(0))
    gram = similarity_of("rbf", gamma)(found.X, found.X)
    np.fill_diagonal(gram, 1.0)
    space, target = Atoms(len(gram)), np.full(len(gram), 1.0 / len(gram))
    same = found.y[:, None] == found.y[None, :]
    return Problem(
        found,
        gamma,
        MMD(space, (gram + gram.T) / 2, target),
        MMD(space, np.where(same, gram, 0.0), target),
        iterations(quick),
    )


def of_point(p: Vector) -> Chosen:
    """A distribution as entries and weights."""
    units = np.flatnonzero(p)
    return units, p[units]


def stepping(rule: Callable[[float], StepRule], local: bool = False, after: bool = False) -> Callable[..., Chosen]:
    """IHT on MMD² with a step rule made from 1/L, from a random start or after MMD-critic's greedy."""

    def run(task: Problem, k: int, seed: int) -> Chosen:
        F = task.local if local else task.whole
        start = None
        if after:
            units, _ = baselines.mmd_critic(task.data.X, k, y=task.data.y if local else None, gamma=task.gamma)
            start = F.best_on(units)
        C = SparseSimplex(F.space, k)
        return of_point(iht(F, C, step=rule(1.0 / F.smoothness), start=start, max_iter=task.iterations, rng=seed).p)

    return run


def job(labels: bool) -> Callable[..., Chosen]:
    """The job `points`: greedy, exchange and refits, within classes where labels are given."""

    def run(task: Problem, k: int, seed: int) -> Chosen:
        return of_point(points(task.data.X, k, labels=task.data.y if labels else None, gamma=task.gamma, rng=seed).p)

    return run


def classifier(task: Problem, k: int, seed: int) -> Chosen:
    """The rows that `FewerPointsClassifier` keeps: points within classes, then swapped for the nearest-point rule."""
    model = FewerPointsClassifier(k, gamma=task.gamma, random_state=seed).fit(task.data.X, task.data.y)
    return model.indices_, model.weights_


def refitting(task: Problem, k: int, seed: int) -> Chosen:
    """IHT for quadratics as this library does it: momentum, a step fitted to the support, refits; within classes."""
    C = SparseSimplex(task.local.space, k)
    return of_point(iht(task.local, C, rng=seed).p)


def by_baseline(choose: Callable[..., Chosen], labels: bool) -> Callable[..., Chosen]:
    """A baseline with its own weights."""

    def run(task: Problem, k: int, seed: int) -> Chosen:
        return choose(task.data.X, k, y=task.data.y if labels else None, gamma=task.gamma, rng=seed)

    return run


IHTS: dict[str, tuple[str, Callable[..., Chosen]]] = {
    "IHT": ("MMD over all rows, random start, doubling from 1/L", stepping(Doubling)),
    "IHT, trapped=seen": (
        "MMD over all rows, random start, doubling from 1/L while the support was met before",
        stepping(lambda mu: Doubling(mu, "seen")),
    ),
    "IHT, constant 1/L": ("MMD over all rows, random start, constant step 1/L", stepping(Constant)),
    "IHT after Greedy": (
        "MMD over all rows, started at Global Greedy, doubling from 1/L",
        stepping(Doubling, after=True),
    ),
    "IHT, local": ("MMD within classes, random start, doubling from 1/L", stepping(Doubling, local=True)),
    "IHT, local, after Greedy": (
        "MMD within classes, started at Local Greedy, doubling from 1/L",
        stepping(Doubling, local=True, after=True),
    ),
}
PAPER: dict[str, Callable[..., Chosen]] = {
    "Local Greedy": by_baseline(baselines.mmd_critic, labels=True),
    "Global Greedy": by_baseline(baselines.mmd_critic, labels=False),
    "PS": by_baseline(baselines.prototype_selection, labels=True),
}
OURS: dict[str, Callable[..., Chosen]] = {
    "FewerPointsClassifier": classifier,
    "points, local": job(labels=True),
    "points, global": job(labels=False),
    "IHT with refits": refitting,
}
STRONGER: dict[str, Callable[..., Chosen]] = {"k-means snapped": by_baseline(baselines.kmeans_snapped, labels=True)}
METHODS = {**{name: run for name, (_, run) in IHTS.items()}, **PAPER, **OURS, **STRONGER}
SEEDED = (
    "IHT",
    "IHT, trapped=seen",
    "IHT, constant 1/L",
    "IHT, local",
    "exchange",
    "exchange, global",
    "k-means snapped",
)
"""The methods that draw at random; the others are run once and their rows given to every seed."""


def error(task: Problem, units: Indices) -> float:
    """The 1-NN error on the test rows with these prototypes, by Euclidean distance."""
    data = task.data
    guess = data.y[units][nearest(data.X_test, data.X[units], similarity_of("rbf", task.gamma))]
    return float((guess != data.y_test).mean())


@lru_cache(maxsize=64)
def rows_of(data: str | None, quick: bool, seed: int, method: str) -> tuple[tuple[float, ...], ...]:
    """(k, MMD², error, seconds) for every k."""
    task, found = problem(data, quick), []
    for k in budgets(Setting(1, quick)):
        began = time.perf_counter()
        units, weights = METHODS[method](task, k, seed)
        seconds = time.perf_counter() - began
        found.append((k, task.whole.value_at(units, weights), error(task, units), seconds))
    return tuple(found)


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """A row for each k."""
    data = None if setting.data is None else str(setting.data)
    used = seed if method in SEEDED else setting.seed
    return [Row(seed, method, *values) for values in rows_of(data, setting.quick, used, method)]


def claims(table: Table, setting: Setting) -> list[Claim]:
    """What section 4.2 says: IHT below each baseline at every k, most of all at the smallest."""
    text = (
        f"{setting.source}; gamma by cross-validation, 1-NN by Euclidean distance, {setting.runs} random starts, IHT "
    )
    text += f"best MMD of {iterations(setting.quick)} iterations"
    where = "section 4.2, figure 2 (b)"
    found = [
        Claim(
            f"IHT's prototypes classify better than {baseline} at every number of prototypes",
            where,
            text,
            tuple(beats(table, setting, name, baseline) for name in IHTS),
        )
        for baseline in PAPER
    ]
    found.append(
        Claim(
            "IHT's lead over the best of the three is larger at the smallest number than at the largest",
            where,
            text,
            tuple(leads(table, setting, name) for name in IHTS),
        )
    )
    found.append(
        Claim(
            "(ours) of all methods tried, the best one at each number is one of this library",
            "not in the paper",
            text,
            (Reading("lowest mean error", *best_is_one_of(table, (*OURS, *IHTS), budgets(setting), ".2%")),),
        )
    )
    return found


def beats(table: Table, setting: Setting, name: str, baseline: str) -> Reading:
    """Whether a reading of IHT has the lower mean error at every k."""
    pairs = {k: (table.column(name, "test", k), table.column(baseline, "test", k)) for k in budgets(setting)}
    return Reading(IHTS[name][0], *lower_at_all(pairs, "", ".2%"))


def leads(table: Table, setting: Setting, name: str) -> Reading:
    """Whether IHT's lead over the best baseline is positive and larger at the smallest k than at the largest."""
    ends = budgets(setting)[0], budgets(setting)[-1]
    first, last = (
        min((table.column(baseline, "test", k) for baseline in PAPER), key=np.mean) - table.column(name, "test", k)
        for k in ends
    )
    measured = f"lead of {first.mean():.2%} at k = {ends[0]}, {last.mean():.2%} at k = {ends[1]}"
    return Reading(IHTS[name][0], everywhere([above_zero(first), above_zero(first - last)]), measured)


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """The error against the number of prototypes: the paper's methods, and all others."""
    axes = figure.subplots(1, 2, sharey=True)
    shown = ({name: name for name in (*IHTS, *PAPER)}, {name: name for name in ("IHT", *PAPER, *OURS, *STRONGER)})
    for axis, names, title in zip(axes, shown, ("the paper's methods, readings of IHT", "and others"), strict=True):
        panels(axis, table, names, "number of prototypes", "test", marker="o", markersize=3)
        axis.set_xscale("log")
        axis.set_xticks(budgets(setting), [str(k) for k in budgets(setting)])
        axis.minorticks_off()
        axis.set_title(title)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("1-NN test error")
    axes[0].yaxis.set_major_formatter("{x:.0%}")
    figure.suptitle(f"Dataset compression: {setting.source}", fontsize=11)


EXPERIMENT = Experiment(
    name="fig2b",
    title=TITLES["fig2b"],
    x="k",
    x_means="the number of prototypes",
    train="MMD² between the prototypes with their weights and all training rows",
    test="the share of test rows whose nearest prototype has another label",
    runs=3,
    quick_runs=2,
    methods=lambda setting: list(METHODS),
    measure=measure,
    picture=picture,
    claims=claims,
    source=lambda setting: digits(setting).source,
    size=(10.0, 4.6),
)
EXPERIMENTS = {"fig2b": EXPERIMENT}
