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
    found = path(float(kappa), projection, seed)
    valid = found.stated
    if part == "gap":
        allowed = [found.bound(t) if valid else math.nan for t in range(T + 1)]
        return [
            Row(seed, method, t, float(found.gaps[t]), allowed[t], found.seconds)
            for t in range(T + 1)
        ]
    if part == "distance":
        return [
            Row(seed, method, t, float(found.distances[t]), found.radius, found.seconds)
            for t in range(T + 1)
        ]
    inside = (
        math.nan if found.beta >= 2 * found.alpha else 1.0 / (2.0 - found.beta / found.alpha) - 1.0
    )
    pair = {
        "phi": (found.phi, inside),
        "rate": (found.rate, found.eta if valid else math.nan),
        "c": (float(found.gaps[0]), found.c if valid else math.nan),
    }[part]
    return [Row(seed, method, T, *pair, found.seconds)]


METHODS = [
    f"beta/alpha={kappa:g}, {how}: {part}"
    for kappa in KAPPAS
    for how in PROJECTIONS
    for part in PARTS
]


def covered(table: Table, kind: str) -> tuple[int, int, int]:
    """(runs inside the theorem's range, of these with c below the first gap, runs) of one line."""
    rows = table.of(f"{kind}: c")
    inside = [row for row in rows if not math.isnan(row.test)]
    return len(inside), sum(row.test < row.train for row in inside), len(rows)


def claims(table: Table, setting: Setting) -> list[Claim]:
    """Whether the bound holds where it applies, how often that is, and how the measured rate compares."""
    text = f"n = 6, m = 2, k = 3, F = Σ w (p - q)², w in [1, beta/alpha], mu = 1/beta, {T} steps, {setting.runs} runs "
    text += f"for each of beta/alpha = {', '.join(f'{kappa:g}' for kappa in KAPPAS)}"
    where = "theorem 4, section 3.5, appendix G"
    bounds = tuple(kept_bound(table, how, when) for how in PROJECTIONS for when in WHEN)
    rates = tuple(measured_rate(table, how, when) for how in PROJECTIONS for when in WHEN)
    smaller = tuple(shrinking_c(table, how) for how in PROJECTIONS)
    near, stated = (len(inside(table, "exact", "c", when)) for when in ("at every t", "at t = 0"))
    return [
        Claim(
            "the bound of theorem 4",
            "F[p_t] - F[p*] <= c + eta^t (F[p_0] - F[p*] - c)",
            where,
            bounds[0].measured.split(";")[0],
            bounds,
            f"{text}; start within L/(2 alpha) of p* in {stated} runs with exact projection, all of the path in {near}",
        ),
        Claim(
            "linear convergence",
            "with factor eta; read as: per step, on average, toward the end of the path",
            where,
            rates[0].measured.split(";")[0],
            rates,
            text,
            rate_reason(table),
        ),
        Claim(
            "c and beta/alpha",
            "c shrinks as beta comes nearer to alpha",
            where,
            smaller[0].measured.split(";")[0],
            smaller,
            text,
        ),
    ]


WHEN = ("at t = 0", "at every t")
"""When ‖p_t - p*‖ <= L/(2 alpha) is asked for: by the statement, and by the proof."""


def rate_reason(table: Table) -> str:
    """What distinguishes runs that are slower than eta, where there are some."""
    pairs = [
        (row.test, phi.train)
        for kind in lines("greedy")
        for row, phi in zip(table.of(f"{kind}: rate"), table.of(f"{kind}: phi"), strict=True)
        if row.train > row.test + 1e-9
    ]
    if not pairs:
        return ""
    return (
        f"{len(pairs)} paths with greedy projection are slower than eta (at most {max(eta for eta, _ in pairs):.2g} "
        f"there): the theorem bounds the gap by c plus a part that shrinks by eta, and within c a path may be slow."
    )


def lines(how: str) -> list[str]:
    """The instances with one projection, by beta/alpha."""
    return [f"beta/alpha={kappa:g}, {how}" for kappa in KAPPAS]


def inside(table: Table, how: str, part: str, when: str = "at t = 0") -> list[Row]:
    """The rows of one part where the theorem applies, with its last condition at t = 0 or at every t."""
    rows = []
    for kind in lines(how):
        far = (
            {r.seed for r in table.of(f"{kind}: distance") if r.train > r.test}
            if when == "at every t"
            else set()
        )
        rows += [
            r for r in table.of(f"{kind}: {part}") if not math.isnan(r.test) and r.seed not in far
        ]
    return rows


def kept_bound(table: Table, how: str, when: str) -> Reading:
    """Whether the bound holds at every step of every run inside the range; which runs are inside."""
    points = inside(table, how, "gap", when)
    kept = sum(row.train <= row.test + 1e-9 for row in points)
    counts = {kind: covered(table, kind) for kind in lines(how)}
    ranges = ", ".join(
        f"{kind.split(',')[0][11:]}: {n}/{total}" for kind, (n, _, total) in counts.items()
    )
    useful = sum(useful for _, useful, _ in counts.values())
    runs = len(inside(table, how, "c", when))
    measured = f"kept at {kept} of {len(points)} points of {runs} runs; inside the range of beta/alpha, with the start "
    measured += f"near p*: {ranges}; c lies below the first gap, so that the bound says something, in {useful} runs"
    return Reading(f"{how} projection, near p* {when}", kept == len(points) > 0, measured)


def measured_rate(table: Table, how: str, when: str) -> Reading:
    """Whether the measured factor is at most eta."""
    pairs = inside(table, how, "rate", when)
    faster = sum(row.train <= row.test + 1e-9 for row in pairs)
    phis = np.concatenate([table.column(f"{kind}: phi", "train") for kind in lines(how)])
    means = (
        f"mean measured {np.mean([r.train for r in pairs]):.3g}, mean eta {np.mean([r.test for r in pairs]):.3g}"
        if pairs
        else ""
    )
    measured = f"at most eta in {faster} of {len(pairs)} runs; {means}; phi {spread(phis)}, largest {phis.max():.3g}"
    return Reading(f"{how} projection, near p* {when}", faster == len(pairs) > 0, measured)


def shrinking_c(table: Table, how: str) -> Reading:
    """Whether c falls with beta/alpha, over runs of the same seed that are inside the range of both."""
    found: dict[str, dict[int, float]] = {}
    for kind in lines(how):
        values = {row.seed: row.test for row in table.of(f"{kind}: c") if not math.isnan(row.test)}
        if values:
            found[kind.split(",")[0][11:]] = values
    means = ", ".join(
        f"{kappa}: {np.mean(list(values.values())):.3g}" for kappa, values in found.items()
    )
    measured = f"mean c by beta/alpha: {means}; at beta = alpha (plain l2) the range is empty, and beyond 2 as well"
    grown = [
        above_zero(np.array([more[seed] - less[seed] for seed in more if seed in less]))
        for less, more in pairwise(found.values())
    ]
    return Reading(f"{how} projection", everywhere(grown) if grown else None, measured)


def picture(figure: Any, table: Table, setting: Setting) -> None:
    """The measured gap and the theorem's bound, for some beta/alpha."""
    shown = (1.0, 1.02, 1.1, 1.25, 1.5, 2.5)
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for axis, kappa in zip(axes.flat, shown, strict=True):
        for how, colour in (("exact", "#0072b2"), ("greedy", "#d55e00")):
            kind = f"beta/alpha={kappa:g}, {how}"
            band(axis, table, f"{kind}: gap", color=colour, label=f"measured, {how} projection")
            rows = [row for row in table.of(f"{kind}: gap") if not math.isnan(row.test)]
            if rows:
                ts = sorted({row.x for row in rows})
                means = [np.mean([row.test for row in rows if row.x == t]) for t in ts]
                axis.plot(ts, means, ":", color=colour, label=f"bound, {how}")
        inside = sum(covered(table, f"beta/alpha={kappa:g}, {how}")[0] for how in PROJECTIONS)
        total = sum(covered(table, f"beta/alpha={kappa:g}, {how}")[2] for how in PROJECTIONS)
        axis.set_title(
            rf"$\beta/\alpha = {kappa:g}$: {inside} of {total} runs in range", fontsize=9
        )
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(1e-4, 30)
    axes[0, 0].set_xticks(range(0, T + 1, 5))
    for axis in axes[1]:
        axis.set_xlabel("iteration")
    for axis in axes[:, 0]:
        axis.set_ylabel(r"$F[p_t] - F[p^\star]$")
    axes[0, 2].legend(fontsize=7, loc="upper right")
    figure.suptitle("Theorem 4: measured convergence and the theorem's bound", fontsize=11)


EXPERIMENT = Experiment(
    name="theorem4",
    title=TITLES["theorem4"],
    x="iteration",
    x_means="the iteration",
    train="gap: F[p_t] - F[p*]; phi: the projections' largest excess; rate: the measured factor; c: F[p_0] - F[p*]; "
    "distance: ‖p_t - p*‖",
    test="gap: the bound (empty outside the range); phi: the largest phi allowed; rate: eta; c: c; distance: "
    "L/(2 alpha)",
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
