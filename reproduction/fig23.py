"""Figures 2 (a), 3 (a) and 3 (b): distribution compression (section 4.2, appendix H)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .catalogue import TITLES
from .chance import above_zero, best_is_one_of, lower, lower_at_all, spread
from .compression import IHTS, LASSOS, METHODS, OURS, PAPER, STRONGER, along, by_budget, length, size
from .data import charges
from .experiment import Claim, Experiment, Reading, Setting, Table
from .picture import band, colour, panels


def note_of(setting: Setting) -> str:
    """The setting in words."""
    shape = size(setting)
    return (
        f"{setting.source}; A and B Gaussian with {shape.rows} rows, {setting.runs} matrices A, {shape.tests} matrices "
        f"B each; IHT best of {shape.iterations} iterations from a random start, Random best of as many draws"
    )


def beats(table: Table, setting: Setting, baselines: dict[str, str]) -> tuple[Reading, ...]:
    """Whether IHT's test error is lower than a baseline's at every k, for each reading of both."""
    readings, budgets = [], size(setting).budgets
    for baseline, theirs in baselines.items():
        for name, (ours, _) in IHTS.items():
            about = f"{ours}; Lasso: {theirs}" if theirs else ours
            pairs = {k: (table.column(name, "test", k), table.column(baseline, "test", k)) for k in budgets}
            readings.append(Reading(about, *lower_at_all(pairs, "test error at ", ".3g")))
    return tuple(readings)


def budget_claims(where: str) -> Callable[[Table, Setting], list[Claim]]:
    """What section 4.2 and the appendix say of all k."""

    def found(table: Table, setting: Setting) -> list[Claim]:
        text = note_of(setting)
        ours = Reading("lowest mean test error", *best_is_one_of(table, (*OURS, *IHTS), size(setting).budgets, ".3g"))
        claims = [
            Claim("IHT has a lower test error than Lasso at every k", where, text, beats(table, setting, LASSOS)),
            Claim(
                "IHT has a lower test error than Random at every k", where, text, beats(table, setting, {"Random": ""})
            ),
            Claim(
                "(ours) of all methods tried, the best one at each k is one of this library",
                "not in the paper",
                text,
                (ours,),
            ),
        ]
        return claims if "figure 2" in where else claims[:2]

    return found


def path_claims(table: Table, setting: Setting) -> list[Claim]:
    """What the appendix says of k = 200."""
    k, where = size(setting).budgets[1], "appendix H, figure 3 (a)"
    text = f"k = {k}; {note_of(setting)}"
    first = []
    for name in IHTS:
        begin, end = table.column(name, "train", 0.0), table.last(name, "train")
        falls = np.array([reached(table, name, seed) for seed in setting.seeds])
        measured = f"train error {spread(begin)} at the start, {spread(end)} at the end; 90 % of the fall after "
        measured += f"{spread(falls)} iterations"
        fifth = 0.2 * length(name) * size(setting).iterations
        first.append(Reading(IHTS[name][0], above_zero(fifth - falls), measured))
    claims = [
        Claim(
            "IHT converges fast, read as: 90 % of its fall in the first fifth of its iterations",
            where,
            text,
            tuple(first),
        )
    ]
    for name in ("Lasso", "Random"):
        pairs = [(IHTS[each][0], *lower(table.last(each, "test"), table.last(name, "test"))) for each in IHTS]
        claims.append(
            Claim(f"IHT ends with a lower test error than {name}", where, text, tuple(Reading(*pair) for pair in pairs))
        )
    return claims


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
        axis.set_ylabel(r"$\|Bq - Bp\|^2$ (test)" if column == "test" else r"$\|Aq - Ap\|^2$ (train)")
        axis.set_xticks(size(setting).budgets)
    axes[1].set_ylim(bottom=1e-9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.suptitle(f"Distribution compression: {setting.source}, {setting.runs} matrices A", fontsize=10)


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
            max(ends.mean() - ends.std(), 1e-9), ends.mean() + ends.std(), color=colour(name), alpha=0.12, linewidth=0
        )
    axis.set_yscale("log")
    axis.set_xlabel("iteration")
    axis.set_ylabel("squared error")
    figure.legend(loc="outside right center", fontsize=8)
    axis.set_title(f"Convergence at k = {size(setting).budgets[1]}: {setting.source}", fontsize=9)


def over_budgets(name: str, where: str, picture: Callable[..., None], twin: str | None) -> Experiment:
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
        methods=lambda setting: list(METHODS),
        measure=by_budget,
        picture=picture,
        claims=budget_claims(where),
        source=lambda setting: charges(setting).source,
        size=(10.0, 4.4) if picture is wide_picture else (8.4, 4.4),
        twin=twin,
    )


FIG2A = over_budgets("fig2a", "section 4.2, figure 2 (a)", wide_picture, None)
FIG3B = over_budgets("fig3b", "appendix H, figure 3 (b)", narrow_picture, "fig2a")
FIG3A = Experiment(
    name="fig3a",
    title=TITLES["fig3a"],
    x="iteration",
    x_means="the iteration of IHT; the last one for methods that are no path",
    train="the squared error of A q, of the best iterate so far",
    test="the squared error of B q of the same iterate, mean over the matrices B",
    runs=10,
    quick_runs=2,
    methods=lambda setting: [*IHTS, "Lasso", "Random", "exchange"],
    measure=along,
    picture=path_picture,
    claims=path_claims,
    source=lambda setting: charges(setting).source,
    size=(8.8, 4.6),
)
EXPERIMENTS = {"fig2a": FIG2A, "fig3a": FIG3A, "fig3b": FIG3B}
