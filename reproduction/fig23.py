"""Figures 2 (a), 3 (a) and 3 (b): distribution compression (section 4.2, appendix H)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .catalogue import TITLES
from .chance import above_zero, best_is_one_of, lower, lower_at_all, spread
from .compression import (
    IHTS,
    LASSOS,
    METHODS,
    OURS,
    PAPER,
    STRONGER,
    WORDS,
    along,
    by_budget,
    length,
    size,
)
from .data import charges, checksum
from .experiment import Claim, Experiment, Reading, Setting, Table
from .picture import band, colour, panels


def sizes(setting: Setting) -> dict[str, Any]:
    """The sizes of a run."""
    return size(setting)._asdict()


def source(setting: Setting) -> tuple[str, str]:
    """The histogram and its checksum."""
    data = charges(setting)
    return data.source, checksum(data.p)


def note_of(setting: Setting) -> str:
    """The setting in words."""
    shape = size(setting)
    return (
        f"{setting.source}; A and B Gaussian with {shape.rows} rows, {setting.runs} matrices A,"
        f" {shape.tests} matrices B each; IHT best of {shape.iterations} iterations from a random"
        " start, Random best of as many draws"
    )


def beats(table: Table, setting: Setting, baselines: dict[str, str]) -> tuple[Reading, ...]:
    """Whether IHT's test error is lower than a baseline's at every k, for each reading of both."""
    readings, budgets = [], size(setting).budgets
    for baseline, theirs in baselines.items():
        for name, ours in WORDS.items():
            about = f"{ours}; Lasso: {theirs}" if theirs else ours
            pairs = {
                k: (table.column(name, "test", k), table.column(baseline, "test", k))
                for k in budgets
            }
            readings.append(Reading(about, *lower_at_all(pairs, "test error at ", ".3g")))
    return tuple(readings)


def budget_claims(table: Table, setting: Setting) -> list[Claim]:
    """What section 4.2 and the appendix say of all k."""
    text, where = note_of(setting), "section 4.2, figures 2 (a) and 3 (b)"
    ours = Reading(
        "lowest mean test error",
        *best_is_one_of(table, (*OURS, *IHTS), size(setting).budgets, ".3g"),
    )
    lasso = beats(table, setting, LASSOS)
    chance = beats(table, setting, {"Random": ""})
    claims = [
        Claim(
            f"IHT against {name}",
            says,
            where,
            ends(table, setting, "IHT", name),
            readings,
            text,
            why,
        )
        for name, says, readings, why in (
            ("Lasso", "a lower test error at every k", lasso, fits_noise(table, setting, lasso)),
            ("Random", "a lower test error at every k", chance, fits_noise(table, setting, chance)),
        )
    ]
    first = ours.measured.split(";")[0]
    return [
        *claims,
        Claim(
            "compression, all methods",
            "the best at each k is of this library",
            "",
            first,
            (ours,),
            text,
        ),
    ]


def ends(table: Table, setting: Setting, one: str, two: str) -> str:
    """The mean test errors of two methods at the smallest and the largest k."""
    k, K = size(setting).budgets[0], size(setting).budgets[-1]
    pairs = {x: [table.column(name, "test", x).mean() for name in (one, two)] for x in (k, K)}
    return "; ".join(
        f"k = {x}: {ours:.3g} against {theirs:.3g}" for x, (ours, theirs) in pairs.items()
    )


def fits_noise(table: Table, setting: Setting, readings: tuple[Reading, ...]) -> str:
    """Why IHT does not win at every k: the errors it has on A and on B from the smallest to the largest k."""
    if all(reading.holds is True for reading in readings):
        return ""
    k, K = size(setting).budgets[0], size(setting).budgets[-1]
    train, test = (
        [table.column("IHT", part, x).mean() for x in (k, K)] for part in ("train", "test")
    )
    numbers = (
        f"its training error goes from {train[0]:.2g} at k = {k} to {train[1]:.2g} at k = {K}, its"
        " test error "
    )
    numbers += f"from {test[0]:.2g} to {test[1]:.2g}"
    if train[1] < train[0] and test[1] > test[0]:
        return (
            f"Plain IHT fits the noise of A: {numbers}, so it rises with k while the fit gets"
            " better."
        )
    return f"Plain IHT does not fit the noise of A here: {numbers}."


def path_claims(table: Table, setting: Setting) -> list[Claim]:
    """What the appendix says of k = 200."""
    k, where = size(setting).budgets[1], "appendix H, figure 3 (a)"
    text = f"k = {k}; {note_of(setting)}"
    first = []
    for name in IHTS:
        begin, end = table.column(name, "train", 0.0), table.last(name, "train")
        falls = np.array([reached(table, name, seed) for seed in setting.seeds])
        measured = (
            f"90 % of the fall after {spread(falls)} of {length(name, setting)} iterations; train"
            " error "
        )
        measured += f"{spread(begin)} at the start, {spread(end)} at the end"
        first.append(
            Reading(WORDS[name], above_zero(0.2 * length(name, setting) - falls), measured)
        )
    last = [
        Reading(
            f"{name}, {WORDS[each]}", *lower(table.last(each, "test"), table.last(name, "test"))
        )
        for name in ("Lasso", "Random")
        for each in IHTS
    ]
    means = {name: table.last(name, "test").mean() for name in ("IHT", "Lasso", "Random")}
    why = ""
    if any(reading.holds is not True for reading in last):
        best = {each: min(float(row.test) for row in table.of(each)) for each in IHTS}
        name = min(best, key=lambda each: best[each])
        constant = table.last("IHT, constant 1/L", "test").mean()
        why = (
            f"The step decides: after {size(setting).iterations} iterations the test error is"
            f" {means['IHT']:.2g} with doubling and {constant:.2g} with the constant step, Lasso's"
            f" is {means['Lasso']:.2g}; the lowest along any path is {best[name]:.2g} ({name})."
        )
    return [
        Claim(
            f"convergence at k = {k}",
            "fast; read as: 90 % of the fall in a fifth of the iterations",
            where,
            first[0].measured.split(";")[0],
            tuple(first),
            text,
        ),
        Claim(
            f"IHT's end at k = {k}",
            "a lower test error than Lasso and Random",
            where,
            f"{means['IHT']:.3g} against {means['Lasso']:.3g} and {means['Random']:.3g}",
            tuple(last),
            text,
            why,
        ),
    ]


def reached(table: Table, method: str, seed: int) -> float:
    """The first iteration at which a run has made 90 % of its fall."""
    rows = sorted((row for row in table.of(method) if row.seed == seed), key=lambda row: row.x)
    goal = rows[0].train - 0.9 * (rows[0].train - rows[-1].train)
    return next(row.x for row in rows if row.train <= goal)


def wide_picture(figure: Any, table: Table, setting: Setting) -> None:
    """Figure 2 (a): test error against k, the paper's methods and all others, and the training error beside it."""
    axes = figure.subplots(1, 2, sharex=True)
    labels = {name: name for name in ("IHT", "Lasso", "Random", *OURS, *STRONGER)}
    for axis, column in zip(axes, ("test", "train"), strict=True):
        panels(axis, table, labels, "k", column, marker="o", markersize=3)
        axis.set_yscale("log")
        axis.set_ylabel(
            r"$\|Bq - Bp\|^2$ (test)" if column == "test" else r"$\|Aq - Ap\|^2$ (train)"
        )
        axis.set_xticks(size(setting).budgets)
    axes[1].set_ylim(bottom=1e-9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.suptitle(
        f"Distribution compression: {setting.source}, {setting.runs} matrices A", fontsize=10
    )


def narrow_picture(figure: Any, table: Table, setting: Setting) -> None:
    """Figure 3 (b): the paper's three methods, IHT with each reading of its step."""
    axis = figure.subplots()
    panels(
        axis,
        table,
        {**{name: name for name in IHTS}, **{name: name for name in PAPER}},
        "k",
        "test",
        marker="o",
        markersize=3,
    )
    axis.set_yscale("log")
    axis.set_ylabel(r"test error $\|Bq - Bp\|^2$")
    axis.set_xticks(size(setting).budgets)
    figure.legend(loc="outside right center", fontsize=8)
    axis.set_title(f"Error at different k: {setting.source}", fontsize=9)


def path_picture(figure: Any, table: Table, setting: Setting) -> None:
    """Figure 3 (a): IHT's errors along the iterations, the others as levels."""
    axis = figure.subplots()
    for name, shade in zip(IHTS, ("#0072b2", "#7f3c8d", "#009e73", "#56b4e9"), strict=True):
        band(axis, table, name, "train", color=shade, linestyle=":", label=f"{name}: train error")
        band(axis, table, name, "test", color=shade, label=f"{name}: test error")
    for name in ("Lasso", "Random", "exchange"):
        ends = table.last(name, "test")
        axis.axhline(ends.mean(), color=colour(name), linestyle="--", label=f"{name}: test error")
        axis.axhspan(
            max(ends.mean() - ends.std(), 1e-9),
            ends.mean() + ends.std(),
            color=colour(name),
            alpha=0.12,
            linewidth=0,
        )
    axis.set_yscale("log")
    axis.set_xlabel("iteration")
    axis.set_ylabel("squared error")
    figure.legend(loc="outside right center", fontsize=8)
    axis.set_title(f"Convergence at k = {size(setting).budgets[1]}: {setting.source}", fontsize=9)


def over_budgets(name: str, picture: Callable[..., None], twin: str | None) -> Experiment:
    """Figure 2 (a) or 3 (b): the same rows, drawn in two ways."""
    return Experiment(
        name=name,
        title=TITLES[name],
        x="k",
        x_means="the number of bins kept",
        train="the squared error of A q",
        test="the squared error of B q, mean over the matrices B",
        runs=10,
        quick_runs=2,
        sizes=sizes,
        methods=lambda setting: METHODS,
        measure=by_budget,
        picture=picture,
        claims=budget_claims if twin is None else lambda table, setting: [],
        source=source,
        size=(10.0, 4.4) if picture is wide_picture else (8.4, 4.4),
        twin=twin,
    )


FIG2A = over_budgets("fig2a", wide_picture, None)
FIG3B = over_budgets("fig3b", narrow_picture, "fig2a")
FIG3A = Experiment(
    name="fig3a",
    title=TITLES["fig3a"],
    x="iteration",
    x_means="the iteration of IHT; the last one for methods that are no path",
    train="the squared error of A q, of the best iterate so far",
    test="the squared error of B q of the same iterate, mean over the matrices B",
    runs=10,
    quick_runs=2,
    sizes=sizes,
    methods=lambda setting: {
        name: METHODS[name] for name in (*IHTS, "Lasso", "Random", "exchange")
    },
    measure=along,
    picture=path_picture,
    claims=path_claims,
    source=source,
    size=(8.8, 4.6),
)
EXPERIMENTS = {"fig2a": FIG2A, "fig3a": FIG3A, "fig3b": FIG3B}
