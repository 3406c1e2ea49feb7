"""Figure 1: normalised l2 and KL minimisation over D_7 of {0,1}^15 (section 4.1)."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from fewer import KL, L2, DimensionSparse, Doubling, Lattice, Result, dims, exact, greedy, iht

from .arrays import Vector
from .catalogue import TITLES
from .chance import interval, log_ratios, lower, narrower, spread, within_factor
from .experiment import Claim, Experiment, Reading, Row, Setting, Table, path_rows
from .picture import panels

SPACE = Lattice(15, 2)
K, MU, POSITIONS = 7, 0.008, 50
TRAPPED = ("support", "seen", "objective")
MEANS = {
    "support": "the support has not changed",
    "seen": "the support was met before",
    "objective": "the value has not improved",
}
WHERE = "section 4.1, figure 1"
HOW_L2 = (
    "q has 50 random positions with weights drawn uniformly or exponentially and divided by"
    " their sum"
)
HOW_KL = (
    'q "50 + 1 %" has 50 random positions as for l2 and 1 % of the mass spread evenly over all'
    ' states ("50 + 50 %" likewise), "every state" a uniform random number for each; the derivative'
    " log(p/q) + 1 reads p as at least a floor"
)


def spikes(rng: np.random.Generator, weights: Vector) -> Vector:
    """These weights at random positions."""
    q = np.zeros(SPACE.size)
    q[rng.choice(SPACE.size, len(weights), replace=False)] = weights / weights.sum()
    return q


def background(share: float) -> Callable[[np.random.Generator], Vector]:
    """50 random positions as for l2, and a share of the mass spread evenly over all states."""
    return lambda rng: (1.0 - share) * spikes(rng, rng.random(POSITIONS)) + share / SPACE.size


def everywhere(rng: np.random.Generator) -> Vector:
    """A uniform random number for each of the 32,768 states, divided by their sum."""
    weights: Vector = rng.random(SPACE.size)
    weights /= weights.sum()
    return weights


Draw = Callable[[np.random.Generator], Vector]
L2_DRAWS: dict[str, Draw] = {
    "50 uniform": lambda rng: spikes(rng, rng.random(POSITIONS)),
    "50 exponential": lambda rng: spikes(rng, rng.standard_exponential(POSITIONS)),
}
KL_DRAWS: dict[str, Draw] = {
    "50 + 1 %": background(0.01),
    "50 + 50 %": background(0.5),
    "every state": everywhere,
}
FLOORS = {"1/32768": None, "0.01": 0.01, "1e-12": 1e-12}


@dataclass(frozen=True)
class Variant:
    """One curve: a solver, how q was drawn, how p = 0 is read, and what "trapped" means."""

    solver: str
    draw: str
    floor: str = ""
    trapped: str = ""
    main: bool = True

    @property
    def name(self) -> str:
        """The name in the csv; the parts that differ from the main reading are spelled out."""
        parts = [self.solver]
        parts += [f"trapped={self.trapped}"] if self.trapped else []
        parts += (
            []
            if self.main
            else [f"q={self.draw}"] + ([f"floor={self.floor}"] if self.floor else [])
        )
        return ", ".join(parts)


@cache
def variants(divergence: bool) -> dict[str, Variant]:
    """All curves of a figure by name."""
    draws = list(KL_DRAWS if divergence else L2_DRAWS)
    floors = list(FLOORS) if divergence else [""]
    curves = [Variant(solver, draws[0]) for solver in ("Greedy", "exchange", "auto")]
    curves += [Variant("Greedy", draw, main=False) for draw in draws[1:]]
    for draw, floor in product(draws, floors):
        main = draw == draws[0] and floor == floors[0]
        for solver, trapped in product(("IHT", "IHT after Greedy"), TRAPPED):
            curves.append(Variant(solver, draw, floor, trapped, main))
    return {variant.name: variant for variant in curves}


def iterations(setting: Setting) -> int:
    """The length of a path."""
    return 60 if setting.quick else 500


@lru_cache(maxsize=8)
def problem(divergence: bool, draw: str, seed: int) -> tuple[Vector, float, Vector]:
    """Q of a draw and a seed, the proven optimum, and the answer of Greedy from which IHT starts."""
    q = (KL_DRAWS if divergence else L2_DRAWS)[draw](np.random.default_rng(seed))
    F: Any = KL(SPACE, q) if divergence else L2(SPACE, q)
    C = DimensionSparse(SPACE, K)
    return q, exact(F, C).value, greedy(F, C).p


def solved(
    F: Any,
    C: DimensionSparse,
    variant: Variant,
    seed: int,
    T: int,
    start: Vector | None,
    note: Callable[[Any], None],
) -> Result:
    """One solver on one problem; each iterate is noted."""
    if variant.solver == "Greedy":
        return greedy(F, C, callback=note)
    if variant.solver in ("exchange", "auto"):
        states = np.flatnonzero(F.q)
        kind = "kl" if isinstance(F, KL) else "l2"
        X = SPACE.unravel(states)
        return dims(
            X, C.k, objective=kind, sample_weight=F.q[states], solver=variant.solver, rng=seed
        )
    return iht(
        F, C, step=Doubling(MU, variant.trapped), start=start, rng=seed, max_iter=T, callback=note
    )


def measure(divergence: bool) -> Callable[[Setting, int, str], list[Row]]:
    """The rows of one curve: the best F[p] - F[p*] so far, p* proven."""

    def rows(setting: Setting, seed: int, method: str) -> list[Row]:
        variant = variants(divergence)[method]
        q, optimum, first = problem(divergence, variant.draw, seed)
        F: Any = (
            KL(SPACE, q, FLOORS[variant.floor] if variant.floor else None)
            if divergence
            else L2(SPACE, q)
        )
        C, T = DimensionSparse(SPACE, K), iterations(setting)
        noted: list[tuple[float, float]] = []
        start = first if variant.solver == "IHT after Greedy" else None
        result = solved(
            F,
            C,
            variant,
            seed,
            T,
            start,
            lambda progress: noted.append((progress.value, progress.seconds)),
        )
        if variant.solver in (
            "Greedy",
            "exchange",
            "auto",
        ):  # one answer, not a path along these iterations
            gap = max(result.value - optimum, 0.0)
            return [
                Row(seed, method, x, gap, math.nan, result.seconds)
                for x in ((0, T) if variant.main else (T,))
            ]
        if len(result.history) > len(noted):
            noted.insert(0, (float(result.history[0]), 0.0))
        gaps = [max(value - optimum, 0.0) for value, _ in noted]
        path = path_rows(seed, method, gaps, [seconds for _, seconds in noted], T)
        return path if variant.main else path[-1:]

    return rows


def improves(
    table: Table, divergence: bool, solver: str, column: str = "mean"
) -> tuple[Reading, ...]:
    """Whether a solver ends below Greedy, for every reading of the setting."""
    readings = []
    for variant in variants(divergence).values():
        if variant.solver == solver:
            baseline = greedy_of(variant, divergence)
            compared = (narrower if column == "std" else lower)(
                table.last(variant.name), table.last(baseline)
            )
            readings.append(Reading(reading_name(variant), *compared))
    return tuple(readings)


def first_draw(divergence: bool) -> str:
    """How q is drawn in the main reading."""
    return next(iter(KL_DRAWS if divergence else L2_DRAWS))


def reading_name(variant: Variant) -> str:
    """A reading in a few words."""
    floor = f", p read as at least {variant.floor}" if variant.floor else ""
    return f"trapped = {MEANS[variant.trapped]}, q {variant.draw}{floor}"


def similar_spread(table: Table) -> Reading:
    """Whether IHT's standard deviation is within a factor of two of that of IHT after Greedy."""
    one, two = (table.last(f"{solver}, trapped=support") for solver in ("IHT", "IHT after Greedy"))
    return Reading("within a factor of two", *within_factor(one, two, 2.0))


def claims(divergence: bool) -> Callable[[Table, Setting], list[Claim]]:
    """What section 4.1 says about one objective."""
    kind, where = ("KL", f"{WHERE} (b)") if divergence else ("l2", f"{WHERE} (a)")

    def judged(table: Table, setting: Setting) -> list[Claim]:
        text = (
            f"n = 15, m = 2, k = 7, {kind}, mu = {MU}, {iterations(setting)} iterations, best along"
            " the path, "
        )
        text += (
            f"gap to the proven optimum, {setting.runs} runs; {HOW_KL if divergence else HOW_L2}"
        )
        rows = (
            (
                "IHT against Greedy",
                "IHT from a random start ends lower",
                improves(table, divergence, "IHT"),
            ),
            (
                "IHT after Greedy",
                "improves on Greedy's answer",
                improves(table, divergence, "IHT after Greedy"),
            ),
            (
                "spread of Greedy",
                "larger than that of IHT after Greedy",
                improves(table, divergence, "IHT after Greedy", "std"),
            ),
            ("spread of IHT", "similar to that of IHT after Greedy", (similar_spread(table),)),
        )
        claims = []
        for number, (name, says, readings) in enumerate(rows):
            measured = readings[0].measured.split(";")[0].split(", ratio")[0]
            why = ""
            if any(each.holds is None for each in readings) and number > 1:
                why = open_spread(table, readings)
            elif any(each.holds is not True for each in readings):
                why = why_not(table, divergence, number)
            claims.append(Claim(f"{name} ({kind})", says, where, measured, readings, text, why))
        return [*claims, beyond(table, kind, text)]

    return judged


def open_spread(table: Table, readings: tuple[Reading, ...]) -> str:
    """How far the runs leave a ratio of two spreads open."""
    ratios = log_ratios(table.last("Greedy"), table.last("IHT after Greedy, trapped=support"))
    open_ = sum(reading.holds is None for reading in readings)
    return (
        f"{ratios.size} runs fix a ratio of two standard deviations only to within a factor of"
        f" {math.exp(interval(ratios)[1]):.2g}, so {open_} of {len(readings)} readings stay within"
        " chance."
    )


def why_not(table: Table, divergence: bool, number: int) -> str:
    """In one sentence, from the rows, how far the readings of a claim about IHT are apart."""
    solver = "IHT" if number in (0, 3) else "IHT after Greedy"
    ratios = {}
    for variant in variants(divergence).values():
        if variant.solver == solver:
            baseline = greedy_of(variant, divergence)
            least = max(float(table.last(baseline).mean()), 1e-12)
            ratios[reading_name(variant)] = float(table.last(variant.name).mean()) / least
    best, worst = (choice(ratios, key=lambda name: ratios[name]) for choice in (min, max))
    return (
        f"It depends on what the paper leaves open: at best the mean gap of {solver} is"
        f" {ratios[best]:.2g} times Greedy's ({best}), at worst {ratios[worst]:.2g} times"
        f" ({worst})."
    )


def greedy_of(variant: Variant, divergence: bool) -> str:
    """The curve of Greedy with the same draws of q."""
    return Variant("Greedy", variant.draw, main=variant.draw == first_draw(divergence)).name


def beyond(table: Table, kind: str, text: str) -> Claim:
    """Not the paper's: the exchange and auto of this library reach the optimum."""
    readings = []
    for solver in ("exchange", "auto"):
        gaps = table.last(solver)
        hits = f"optimal in {(gaps < 1e-9).sum()} of {gaps.size} runs, mean gap {spread(gaps)}"
        readings.append(Reading(f"fewer's {solver}", bool((gaps < 1e-9).all()), hits))
    return Claim(
        f"exchange and auto ({kind})",
        "reach the optimum",
        "",
        readings[0].measured.split(",")[0],
        tuple(readings),
        text,
    )


def picture(divergence: bool) -> Callable[[Any, Table, Setting], None]:
    """One panel for each reading of "trapped", as in the paper's figure."""

    def draw(figure: Any, table: Table, setting: Setting) -> None:
        axes = figure.subplots(1, 3, sharey=True)
        for axis, trapped in zip(axes, TRAPPED, strict=True):
            names = {f"{name}, trapped={trapped}": name for name in ("IHT", "IHT after Greedy")}
            names |= {name: name for name in ("Greedy", "exchange", "auto")}
            panels(axis, table, names, "iteration")
            axis.set_xscale("symlog", linthresh=10)
            ticks = [t for t in (0, 5, 10, 20, 50, 100, 200, 500) if t <= iterations(setting)]
            axis.set_xticks(ticks, [str(t) for t in ticks])
            axis.minorticks_off()
            axis.set_title(f"trapped: {MEANS[trapped]}", fontsize=9)
        axes[0].set_ylabel(r"$F[p] - F[p^\star]$, best so far")
        lines = axes[0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=5, fontsize=8)
        kind = "KL divergence" if divergence else r"$\ell_2$ norm"
        figure.suptitle(f"Normalised {kind}, {setting.runs} runs (mean, one standard deviation)")

    return draw


def experiment(name: str, divergence: bool) -> Experiment:
    """Figure 1 (a) or (b)."""
    return Experiment(
        name=name,
        title=TITLES[name],
        x="iteration",
        x_means="the iteration of IHT; the others are one answer",
        train="the best F[p] - F[p*] so far",
        test="empty",
        runs=20,
        quick_runs=2 if divergence else 3,
        sizes=lambda setting: {
            "n": 15,
            "m": 2,
            "k": K,
            "positions": POSITIONS,
            "mu": MU,
            "floors": FLOORS if divergence else {},
            "iterations": iterations(setting),
        },
        methods=lambda setting: {
            key: asdict(variant) for key, variant in variants(divergence).items()
        },
        measure=measure(divergence),
        picture=picture(divergence),
        claims=claims(divergence),
        size=(10.0, 4.2),
    )


EXPERIMENTS = {
    "fig1a": experiment("fig1a", divergence=False),
    "fig1b": experiment("fig1b", divergence=True),
}
