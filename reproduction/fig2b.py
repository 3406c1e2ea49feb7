"""Figure 2 (b): nearest-neighbour classification of digits by k prototypes (section 4.2, appendix H)."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from fewer import MMD, Atoms, Constant, Doubling, FewerPointsClassifier, SparseSimplex, iht, points

from . import prototypes
from .arrays import Indices, Vector
from .catalogue import TITLES
from .chance import above_zero, best_is_one_of, everywhere, lower_at_all
from .data import Digits, checksum, digits
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
    """The digits, the bandwidth, MMD² from all training rows across classes and within, and the iterations of IHT."""

    data: Digits
    gamma: float
    whole: MMD
    local: MMD
    iterations: int
    folder: str | None
    quick: bool


@lru_cache(maxsize=1)
def problem(folder: str | None, quick: bool) -> Problem:
    """The problem of a setting, whose gamma has the lowest cross-validated 1-NN error of 100 (30) prototypes."""
    data = digits(Setting(1, quick, data=None if folder is None else Path(folder)))
    model = FewerPointsClassifier(30 if quick else 100, gamma="cv", random_state=0).fit(
        data.X, data.y
    )
    gamma = model.gamma_
    assert gamma is not None  # noqa: S101 - rbf has one
    gram = rbf_kernel(data.X, gamma=gamma)
    np.fill_diagonal(gram, 1.0)
    gram += gram.T.copy()
    gram /= 2.0
    space, target = Atoms(len(gram)), np.full(len(gram), 1.0 / len(gram))
    same = data.y[:, None] == data.y[None, :]
    return Problem(
        data,
        gamma,
        MMD(space, gram, target),
        MMD(space, np.where(same, gram, 0.0), target),
        iterations(quick),
        folder,
        quick,
    )


def of_point(p: Vector) -> Chosen:
    """A distribution as entries and weights."""
    units = np.flatnonzero(p)
    return units, p[units]


@lru_cache(maxsize=2)
def greedy_order(data: str | None, quick: bool, local: bool) -> Indices:
    """The rows of MMD-critic's greedy in the order of their choice: the first k are its answer for k."""
    task = problem(data, quick)
    return prototypes.critic_order(
        task.data.X,
        budgets(Setting(1, quick))[-1],
        y=task.data.y if local else None,
        gamma=task.gamma,
    )


def stepping(
    task: Problem,
    k: int,
    seed: int,
    *,
    rule: Callable[[float], Any],
    local: bool = False,
    after: bool = False,
    **options: Any,
) -> Chosen:
    """IHT on MMD² with a step rule that begins at 1/L, from a random start or after MMD-critic's greedy."""
    F = task.local if local else task.whole
    start = F.best_on(np.sort(greedy_order(task.folder, task.quick, local)[:k])) if after else None
    step = rule(1.0 / F.smoothness, **options)
    return of_point(
        iht(
            F, SparseSimplex(F.space, k), step=step, start=start, max_iter=task.iterations, rng=seed
        ).p
    )


def job(task: Problem, k: int, seed: int, *, labels: bool) -> Chosen:
    """The job `points`: greedy, exchange and refits, within classes where labels are given."""
    return of_point(
        points(task.data.X, k, labels=task.data.y if labels else None, gamma=task.gamma, rng=seed).p
    )


def classifier(task: Problem, k: int, seed: int) -> Chosen:
    """The rows that `FewerPointsClassifier` keeps: points within classes, then swapped for the nearest-point rule."""
    model = FewerPointsClassifier(k, gamma=task.gamma, random_state=seed).fit(
        task.data.X, task.data.y
    )
    return model.indices_, model.weights_


def refitting(task: Problem, k: int, seed: int) -> Chosen:
    """IHT for quadratics as this library does it: momentum, a step fitted to the support, refits.

    Within classes.
    """
    C = SparseSimplex(task.local.space, k)
    return of_point(iht(task.local, C, rng=seed).p)


def critic(task: Problem, k: int, seed: int, *, labels: bool) -> Chosen:
    """MMD-critic: the first k rows of its greedy, with equal weights."""
    units = np.sort(greedy_order(task.folder, task.quick, labels)[:k])
    return units, np.full(k, 1.0 / k)


def by_baseline(
    task: Problem, k: int, seed: int, *, choose: Callable[..., Chosen], labels: bool
) -> Chosen:
    """A baseline with its own weights."""
    return choose(task.data.X, k, y=task.data.y if labels else None, rng=seed)


IHTS: dict[str, "partial[Chosen]"] = {
    "IHT": partial(stepping, rule=Doubling),
    "IHT, trapped=seen": partial(stepping, rule=Doubling, trapped="seen"),
    "IHT, constant 1/L": partial(stepping, rule=Constant),
    "IHT after Greedy": partial(stepping, rule=Doubling, after=True),
    "IHT, local": partial(stepping, rule=Doubling, local=True),
    "IHT, local, after Greedy": partial(stepping, rule=Doubling, local=True, after=True),
}
"""Readings of the paper's IHT."""
WORDS = {
    "IHT": "MMD over all rows, random start, doubling from 1/L",
    "IHT, trapped=seen": (
        "MMD over all rows, random start, doubling from 1/L while the support was met before"
    ),
    "IHT, constant 1/L": "MMD over all rows, random start, constant step 1/L",
    "IHT after Greedy": "MMD over all rows, started at Global Greedy, doubling from 1/L",
    "IHT, local": "MMD within classes, random start, doubling from 1/L",
    "IHT, local, after Greedy": "MMD within classes, started at Local Greedy, doubling from 1/L",
}
"""Readings in words."""
PAPER: dict[str, "partial[Chosen]"] = {
    "Local Greedy": partial(critic, labels=True),
    "Global Greedy": partial(critic, labels=False),
    "PS": partial(by_baseline, choose=prototypes.prototype_selection, labels=True),
}
OURS: dict[str, "partial[Chosen]"] = {
    "FewerPointsClassifier": partial(classifier),
    "points, local": partial(job, labels=True),
    "points, global": partial(job, labels=False),
    "IHT with refits": partial(refitting),
}
STRONGER: dict[str, "partial[Chosen]"] = {
    "k-means snapped": partial(by_baseline, choose=prototypes.kmeans_snapped, labels=True)
}
METHODS: dict[str, "partial[Chosen]"] = {**IHTS, **PAPER, **OURS, **STRONGER}
DRAWN = ("IHT", "IHT, trapped=seen", "IHT, constant 1/L", "IHT, local", "k-means snapped")
"""The methods that draw at random; the others are run once and their rows serve every seed."""


def error(task: Problem, units: Indices) -> float:
    """The 1-NN error on the test rows with these prototypes, by Euclidean distance."""
    data = task.data
    model = KNeighborsClassifier(1, algorithm="brute").fit(data.X[units], data.y[units])
    return float((model.predict(data.X_test) != data.y_test).mean())


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """A row for each k: MMD², the error and the seconds."""
    task = problem(None if setting.data is None else str(setting.data), setting.quick)
    rows = []
    for k in budgets(setting):
        began = time.perf_counter()
        units, weights = METHODS[method](task, k, seed)
        seconds = time.perf_counter() - began
        rows.append(
            Row(seed, method, k, task.whole.value_at(units, weights), error(task, units), seconds)
        )
    return rows


def source(setting: Setting) -> tuple[str, str]:
    """The digits and their checksum."""
    data = digits(setting)
    return data.source, checksum(*data[:4])


def claims(table: Table, setting: Setting) -> list[Claim]:
    """What section 4.2 says: IHT below each baseline at every k, most of all at the smallest."""
    text = (
        f"{setting.source}; gamma by cross-validation, 1-NN by Euclidean distance, {setting.runs}"
        " random starts, IHT "
    )
    text += f"best MMD of {iterations(setting.quick)} iterations"
    where = "section 4.2, figure 2 (b)"
    first, last = budgets(setting)[0], budgets(setting)[-1]
    claims_found = []
    for baseline in PAPER:
        readings = tuple(beats(table, setting, name, baseline) for name in IHTS)
        numbers = "; ".join(
            f"k = {k}: {ours:.1%} against {theirs:.1%}"
            for k in (first, last)
            for ours, theirs in [
                [table.column(name, "test", k).mean() for name in ("IHT", baseline)]
            ]
        )
        says = "classifies better at every number of prototypes"
        why = why_not(table, setting, baseline, readings)
        claims_found.append(
            Claim(f"IHT against {baseline}", says, where, numbers, readings, text, why)
        )
    leading = tuple(leads(table, setting, name) for name in IHTS)
    claims_found.append(
        Claim(
            "where IHT leads",
            "most where prototypes are few",
            where,
            leading[0].measured,
            leading,
            text,
            why_not(table, setting, "PS", leading),
        )
    )
    ours = Reading(
        "lowest mean error", *best_is_one_of(table, (*OURS, *IHTS), budgets(setting), ".2%")
    )
    claims_found.append(
        Claim(
            "prototypes, all methods",
            "the best at each k is of this library",
            "",
            ours.measured.split(";")[0],
            (ours,),
            text,
        )
    )
    return claims_found


def why_not(table: Table, setting: Setting, baseline: str, readings: tuple[Reading, ...]) -> str:
    """Why IHT does not win: how its MMD and its error compare with a baseline's at the largest and smallest k."""
    if all(reading.holds is True for reading in readings):
        return ""
    k = budgets(setting)[0]
    best = min(IHTS, key=lambda name: float(table.column(name, "test", k).mean()))
    mmd = {name: table.column(name, "train", k).mean() for name in ("IHT", baseline)}
    error_ = {name: table.column(name, "test", k).mean() for name in ("IHT", best, baseline)}
    labels = "which sees" if METHODS[baseline].keywords["labels"] else "without"
    begins = (
        f"A low MMD is not a low error: at k = {k} IHT has the lower MMD² ({mmd['IHT']:.2g} against"
        f" {mmd[baseline]:.2g}) and the higher error"
        if mmd["IHT"] < mmd[baseline] and error_["IHT"] > error_[baseline]
        else (
            f"At k = {k} IHT has MMD² {mmd['IHT']:.2g} ({baseline} {mmd[baseline]:.2g}) and the"
            " error"
        )
    )
    return (
        f"{begins} {error_['IHT']:.0%} ({baseline} {error_[baseline]:.0%}, {labels} the labels; the"
        f" best reading of IHT, {best}, {error_[best]:.0%})."
    )


def beats(table: Table, setting: Setting, name: str, baseline: str) -> Reading:
    """Whether a reading of IHT has the lower mean error at every k."""
    pairs = {
        k: (table.column(name, "test", k), table.column(baseline, "test", k))
        for k in budgets(setting)
    }
    return Reading(WORDS[name], *lower_at_all(pairs, "", ".2%"))


def leads(table: Table, setting: Setting, name: str) -> Reading:
    """Whether IHT's lead over the best baseline is positive and larger at the smallest k than at the largest."""
    ends = budgets(setting)[0], budgets(setting)[-1]
    first, last = (
        min((table.column(baseline, "test", k) for baseline in PAPER), key=np.mean)
        - table.column(name, "test", k)
        for k in ends
    )
    measured = f"lead of {first.mean():.2%} at k = {ends[0]}, {last.mean():.2%} at k = {ends[1]}"
    return Reading(WORDS[name], everywhere([above_zero(first), above_zero(first - last)]), measured)


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """The error against the number of prototypes: the paper's methods, and all others."""
    axes = figure.subplots(1, 2, sharey=True)
    shown = (
        {name: name for name in (*IHTS, *PAPER)},
        {name: name for name in ("IHT", *PAPER, *OURS, *STRONGER)},
    )
    for axis, names, title in zip(
        axes, shown, ("the paper's methods, readings of IHT", "and others"), strict=True
    ):
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
    sizes=lambda setting: {"budgets": budgets(setting), "iterations": iterations(setting.quick)},
    methods=lambda setting: METHODS,
    measure=measure,
    picture=picture,
    claims=claims,
    source=source,
    drawn=DRAWN,
    size=(10.0, 4.6),
)
EXPERIMENTS = {"fig2b": EXPERIMENT}
