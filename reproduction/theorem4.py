"""Theorem 4: linear convergence of IHT with an approximate projection, its constants measured (appendix G)."""

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from fewer import DimensionSparse, Lattice, Moments, exact

from .arrays import Vector, random_start
from .catalogue import TITLES
from .chance import above_zero, everywhere, spread
from .experiment import Claim, Experiment, Reading, Row, Setting, Table
from .picture import band

SPACE, K, T = Lattice(6, 2), 3, 15
KAPPAS = (1.0, 1.02, 1.1, 1.25, 1.5, 1.75, 2.5, 10.0)
PROJECTIONS = ("exact", "greedy")


@dataclass(frozen=True)
class Path:
    """A run of Algorithm 1 with mu = 1/beta, and every constant of the theorem measured on it.

    gaps: F[p_t] - F[p*]; phi: the largest excess of the projections met; L: the largest norm of
    dF/dp over D_k; distances: ‖p_t - p*‖ at t = 0, ..., T.
    """

    alpha: float
    beta: float
    L: float
    phi: float
    distances: Vector
    gaps: Vector
    seconds: float

    @property
    def covered(self) -> bool:
        """Whether beta/alpha lies in (2 - 1/(1 + phi), 2)."""
        return 2.0 - 1.0 / (1.0 + self.phi) < self.beta / self.alpha < 2.0

    @property
    def radius(self) -> float:
        """L / (2 alpha)."""
        return self.L / (2.0 * self.alpha)

    @property
    def stated(self) -> bool:
        """Whether all conditions of the statement hold: it asks for ‖p_t - p*‖ <= L / (2 alpha) at t = 0 alone."""
        return self.covered and bool(self.distances[0] <= self.radius)

    @property
    def proved(self) -> bool:
        """Whether all conditions of the proof hold: it uses ‖p_t - p*‖ <= L / (2 alpha) at every t."""
        return self.covered and bool((self.distances <= self.radius).all())

    @property
    def eta(self) -> float:
        """1 - (1 + phi)(2 - beta/alpha)."""
        return 1.0 - (1.0 + self.phi) * (2.0 - self.beta / self.alpha)

    @property
    def c(self) -> float:
        """(phi/(2 beta) + (1 + phi)(beta - alpha)/(2 alpha²)) L² / ((1 + phi)(2 - beta/alpha))."""
        over = self.phi / (2 * self.beta) + (1 + self.phi) * (self.beta - self.alpha) / (
            2 * self.alpha**2
        )
        return over * self.L**2 / ((1 + self.phi) * (2 - self.beta / self.alpha))

    @property
    def rate(self) -> float:
        """The mean factor by which the gap to the last value shrinks in a step, while it is above rounding."""
        left = self.gaps - self.gaps.min()
        alive = np.flatnonzero(left > 1e-10)
        if alive.size < 2 or alive[-1] == 0:
            return 0.0
        return float((left[alive[-1]] / left[0]) ** (1.0 / alive[-1]))

    def bound(self, t: int) -> float:
        """C + eta^t (F[p_0] - F[p*] - c), what the theorem allows after t steps."""
        return self.c + self.eta**t * (float(self.gaps[0]) - self.c)


@lru_cache(maxsize=64)
def path(kappa: float, projection: str, seed: int) -> Path:
    """IHT on F[p] = Σ w(x) (p(x) - q(x))² with weights between 1 and kappa, so beta/alpha = kappa exactly."""
    rng = np.random.default_rng([seed, 4])
    w = 1.0 + (kappa - 1.0) * rng.permutation(np.linspace(0.0, 1.0, SPACE.size))
    q = rng.dirichlet(np.full(SPACE.size, 0.3))
    F = Moments(SPACE, np.diag(np.sqrt(w)), np.sqrt(w) * q)
    C, best = (
        DimensionSparse(SPACE, K, projection=projection),
        DimensionSparse(SPACE, K, projection="exact"),
    )
    optimum = exact(F, C)
    alpha, beta, L = 2.0, 2.0 * kappa, steepest(w, q)
    for _ in range(100):  # a start as near as the theorem wants it
        p = random_start(C, rng)
        if float(np.linalg.norm(p - optimum.p)) <= L / (2.0 * alpha):
            break
    values, distances, phi = [F.value(p)], [float(np.linalg.norm(p - optimum.p))], 0.0
    began = time.perf_counter()
    for _ in range(T):
        v = p - F.gradient(p) / beta
        p = C.project(v)
        least = float(((best.project(v) - v) ** 2).sum())
        phi = max(phi, float(((p - v) ** 2).sum()) / least - 1.0)
        values.append(F.value(p))
        distances.append(float(np.linalg.norm(p - optimum.p)))
    gaps = np.maximum(np.array(values) - optimum.value, 0.0)
    return Path(
        alpha,
        beta,
        L,
        0.0 if phi < 1e-12 else phi,
        np.array(distances),
        gaps,
        time.perf_counter() - began,
    )


def steepest(w: Vector, q: Vector) -> float:
    """The largest norm of dF/dp = 2 w (p - q) over D_k: convex in p, so at one state of at most k ones."""
    used = np.flatnonzero(SPACE.unravel(np.arange(SPACE.size)).sum(axis=1) <= K)
    base = float(((w * q) ** 2).sum())
    return 2.0 * math.sqrt(max(base + w[x] ** 2 * ((1.0 - q[x]) ** 2 - q[x] ** 2) for x in used))


PARTS = ("gap", "phi", "rate", "c", "distance")


def measure(setting: Setting, seed: int, method: str) -> list[Row]:
    """The gap along the path beside the bound, or one constant beside what the theorem says of it."""
    kind, _, part = method.partition(": ")
    kappa, projection = kind.removeprefix("beta/alpha=").split(", ")
    run = path(float(kappa), projection, seed)
    valid = run.stated
    if part == "gap":
        allowed = [run.bound(t) if valid else math.nan for t in range(T + 1)]
        return [
            Row(seed, method, t, float(run.gaps[t]), allowed[t], run.seconds) for t in range(T + 1)
        ]
    if part == "distance":
        return [
            Row(seed, method, t, float(run.distances[t]), run.radius, run.seconds)
            for t in range(T + 1)
        ]
    inside = math.nan if run.beta >= 2 * run.alpha else 1.0 / (2.0 - run.beta / run.alpha) - 1.0
    pair = {
        "phi": (run.phi, inside),
        "rate": (run.rate, run.eta if valid else math.nan),
        "c": (float(run.gaps[0]), run.c if valid else math.nan),
    }[part]
    return [Row(seed, method, T, *pair, run.seconds)]


METHODS = [
    f"beta/alpha={kappa:g}, {how}: {part}"
    for kappa in KAPPAS
    for how in PROJECTIONS
    for part in PARTS
]


WHEN = ("at t = 0", "at every t")
"""When ‖p_t - p*‖ <= L/(2 alpha) is asked for: by the statement, and by the proof."""


def lines(how: str) -> list[str]:
    """The instances with one projection, by beta/alpha."""
    return [f"beta/alpha={kappa:g}, {how}" for kappa in KAPPAS]


def inside(table: Table, how: str, part: str, when: str = WHEN[0]) -> list[Row]:
    """The rows of one part where the theorem applies, with its last condition at t = 0 or at every t."""
    rows = []
    for kind in lines(how):
        distances = table.of(f"{kind}: distance") if when == WHEN[1] else []
        far = {row.seed for row in distances if row.train > row.test}
        near = [row for row in table.of(f"{kind}: {part}") if row.seed not in far]
        rows += [row for row in near if not math.isnan(row.test)]
    return rows


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether the bound holds where it applies, how often that is, and how the measured rate compares."""
    text = (
        f"n = 6, m = 2, k = 3, F = Σ w (p - q)², w in [1, beta/alpha], mu = 1/beta, {T} steps,"
        f" {setting.runs} runs "
    )
    text += f"for each of beta/alpha = {', '.join(f'{kappa:g}' for kappa in KAPPAS)}"
    bounds, rates = (
        tuple(kept(table, how, when, part) for how in PROJECTIONS for when in WHEN)
        for part in ("gap", "rate")
    )
    smaller = tuple(shrinking_c(table, how) for how in PROJECTIONS)
    said = {
        "the bound of theorem 4": ("F[p_t] - F[p*] <= c + eta^t (F[p_0] - F[p*] - c)", bounds),
        "linear convergence": (
            "with factor eta; read as: per step, on average, toward the end of the path",
            rates,
        ),
        "c and beta/alpha": ("c shrinks as beta comes nearer to alpha", smaller),
    }
    why = {"linear convergence": rate_reason(table)}
    where = "theorem 4, section 3.5, appendix G"
    return [
        Claim(
            name, says, where, readings[0].measured.split(";")[0], readings, text, why.get(name, "")
        )
        for name, (says, readings) in said.items()
    ]


def kept(table: Table, how: str, when: str, part: str) -> Reading:
    """Whether a measured number is at most what the theorem says, wherever it applies."""
    rows = inside(table, how, part, when)
    below = sum(row.train <= row.test + 1e-9 for row in rows)
    runs = len(inside(table, how, "c", when))
    if part == "gap":
        useful = sum(row.test < row.train for row in inside(table, how, "c", when))
        measured = (
            f"kept at {below} of {len(rows)} points of {runs} runs; c lies below the first gap, so"
            " that the bound "
        )
        measured += f"says something, in {useful} runs"
    else:
        phis = np.concatenate([table.column(f"{kind}: phi", "train") for kind in lines(how)])
        means = [np.mean([getattr(row, name) for row in rows]) for name in ("train", "test")]
        measured = (
            f"at most eta in {below} of {runs} runs; mean measured {means[0]:.3g}, mean eta"
            f" {means[1]:.3g}; phi "
        )
        measured += f"{spread(phis)}, largest {phis.max():.3g}"
    return Reading(f"{how} projection, near p* {when}", below == len(rows) > 0, measured)


def rate_reason(table: Table) -> str:
    """What distinguishes runs that are slower than eta, where there are some."""
    slow = [row.test for row in inside(table, "greedy", "rate") if row.train > row.test + 1e-9]
    if not slow:
        return ""
    return (
        f"{len(slow)} paths with greedy projection are slower than eta (at most {max(slow):.2g}"
        " there): the theorem bounds the gap by c plus a part that shrinks by eta, and within c a"
        " path may be slow."
    )


def shrinking_c(table: Table, how: str) -> Reading:
    """Whether c falls with beta/alpha, over runs of the same seed that are inside the range of both."""
    levels: dict[float, dict[int, float]] = {}
    for kappa, kind in zip(KAPPAS, lines(how), strict=True):
        values = {row.seed: row.test for row in table.of(f"{kind}: c") if not math.isnan(row.test)}
        if values:
            levels[kappa] = values
    means = ", ".join(
        f"{kappa:g}: {np.mean(list(values.values())):.3g}" for kappa, values in levels.items()
    )
    measured = (
        f"mean c by beta/alpha: {means}; at beta = alpha (plain l2) the range is empty, and beyond"
        " 2 as well"
    )
    grown = [
        above_zero(np.array([more[seed] - less[seed] for seed in more if seed in less]))
        for less, more in pairwise(levels.values())
    ]
    return Reading(f"{how} projection", everywhere(grown) if grown else None, measured)


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """The measured gap and the theorem's bound, for some beta/alpha."""
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for axis, kappa in zip(axes.flat, (1.0, 1.02, 1.1, 1.25, 1.5, 2.5), strict=True):
        for how, colour in (("exact", "#0072b2"), ("greedy", "#d55e00")):
            method = f"beta/alpha={kappa:g}, {how}: gap"
            band(axis, table, method, color=colour, label=f"measured, {how} projection")
            bounds = [table.column(method, "test", t) for t in range(T + 1)]
            means = [np.nanmean(bound) if np.isfinite(bound).any() else np.nan for bound in bounds]
            axis.plot(range(T + 1), means, ":", color=colour, label=f"bound, {how}")
        axis.set_title(rf"$\beta/\alpha = {kappa:g}$", fontsize=9)
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(1e-4, 30)
    axes[0, 0].set_xticks(range(0, T + 1, 5))
    figure.supxlabel("iteration")
    figure.supylabel(r"$F[p_t] - F[p^\star]$")
    axes[0, 2].legend(fontsize=7, loc="upper right")
    figure.suptitle("Theorem 4: measured convergence and the theorem's bound", fontsize=11)


EXPERIMENT = Experiment(
    name="theorem4",
    title=TITLES["theorem4"],
    x="iteration",
    x_means="the iteration",
    train=(
        "gap: F[p_t] - F[p*]; phi: the projections' largest excess; rate: the measured factor; c:"
        " F[p_0] - F[p*]; distance: ‖p_t - p*‖"
    ),
    test=(
        "gap: the bound (empty outside the range); phi: the largest phi allowed; rate: eta; c: c;"
        " distance: L/(2 alpha)"
    ),
    runs=20,
    quick_runs=5,
    sizes=lambda setting: {"n": SPACE.n, "k": K, "steps": T, "beta/alpha": KAPPAS},
    methods=lambda setting: dict.fromkeys(METHODS),
    measure=measure,
    picture=picture,
    claims=claims,
    size=(10.0, 6.0),
)
EXPERIMENTS = {"theorem4": EXPERIMENT}
