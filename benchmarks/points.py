"""points: MMD² and 1-NN error against every baseline, time against forming the matrix, and growth up to a million rows.

Parts: digits (bundled with scikit-learn), usps (usps.npz, looked for in --data), speed (the same), scale (a Gaussian
mixture in 8 dimensions whose MMD² is known in closed form), move (points that leave their rows: places.py), downstream,
limits, outliers and clusters (what points are good for: uses.py). Times are wall time in this process after a warm-up
that compiles.
Run: python benchmarks/points.py [--part NAME ...] [--quick] [--data DIR] [--time-limit S]
"""

import argparse
import importlib.util
import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import uses
from fewer import Doubling, FewerPointsClassifier, RowsMMD, SparseSimplex, iht, points
from fewer.active_set import simplex_weights
from fewer.similarity import bandwidth, similarity_of
from worker import forget_peak, memory

sys.path.append(str(Path(__file__).parents[1]))  # the root of the repository, where reproduction is
from reproduction.baselines import prototypes as baselines

SIZES = (10, 20, 50, 100, 200, 500)
PATIENCE = 10**8
"""Rows times centres up to which k-means is run."""
SOLVERS = {"auto": "auto", "greedy": "greedy, refitted", "iht": "IHT with refits"}
METHODS = {
    "MMD-critic": baselines.mmd_critic,
    "herding": baselines.herding,
    "PS": baselines.prototype_selection,
    "k-means snapped": baselines.kmeans_snapped,
    "k-medoids": baselines.k_medoids,
    "random": baselines.random_rows,
}


def timed(call, *arguments, **options):
    began = time.perf_counter()
    result = call(*arguments, **options)
    return time.perf_counter() - began, result


def warm_up() -> None:
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    for solver in ("auto", "exchange", "greedy", "iht"):
        points(X, 3, solver=solver)
    points(X, 3, move=True)
    FewerPointsClassifier(k=4).fit(X, y)


def row(name: str, cells: list[str]) -> None:
    print(f"{name:34s}" + "".join(f"{cell:>13s}" for cell in cells), flush=True)


def nearest_error(X, y, units, X_test, y_test) -> float:
    return 100 * float(
        (KNeighborsClassifier(1).fit(X[units], y[units]).predict(X_test) != y_test).mean()
    )


def discrepancies(X, gamma: float, sizes, limit: float | None, scale: float) -> None:
    """MMD² of every solver and baseline; baselines also with the best weights on their rows."""
    F = RowsMMD.between(X, np.full(len(X), 1 / len(X)), similarity_of("rbf", gamma))
    row(f"gamma = {gamma:.4g}, MMD² x {scale:g}", [f"k = {k}" for k in sizes])
    seconds, values = {}, {}

    def show(name: str, took: list[float], found: list[float]) -> None:
        seconds[name], values[name] = took, found
        row(name, [f"{scale * value:.4g}" for value in found])

    for solver in ("auto", "greedy", "iht"):
        runs = [timed(points, X, k, gamma=gamma, solver=solver, rng=0) for k in sizes]
        show(SOLVERS[solver], [took for took, _ in runs], [r.value for _, r in runs])
    runs = [timed(paper_iht, F, k) for k in sizes]
    show("IHT, the paper's rule", [took for took, _ in runs], [value for _, value in runs])
    for name, method in METHODS.items():
        runs = [timed(method, X, k, gamma=gamma, rng=0) for k in sizes]
        show(name, [took for took, _ in runs], [F.value_at(*chosen) for _, chosen in runs])
        values[f"{name}, reweighted"] = [F.value_on(units) for _, (units, _) in runs]
        row(
            f"{name}, reweighted",
            [f"{scale * value:.4g}" for value in values[f"{name}, reweighted"]],
        )
    if limit:
        runs = [points(X, k, gamma=gamma, time_limit=limit, rng=0) for k in sizes]
        row(f"auto, time_limit={limit:g}", [f"{scale * r.value:.4g}" for r in runs])
    ours = values.pop(SOLVERS["auto"])
    row(
        "auto / greedy",
        [f"{a / g:.3f}" for a, g in zip(ours, values[SOLVERS["greedy"]], strict=True)],
    )
    best = np.min([values[name] for name in values], axis=0)
    row("auto / best of all others", [f"{a / b:.3f}" for a, b in zip(ours, best, strict=True)])
    for name, took in seconds.items():
        row(f"seconds: {name}", [f"{s:.2f}" for s in took])


def paper_iht(F: RowsMMD, k: int) -> float:
    """Algorithm 1 from a random start, 300 iterations, the step 1/L doubled while the support stays."""
    return iht(
        F, SparseSimplex(F.space, k), step=Doubling(1.0 / F.smoothness), max_iter=300, rng=0
    ).value


def errors(X, y, X_test, y_test, gammas: dict[str, float], sizes) -> None:
    """1-NN test error of the points of every method, in per cent."""
    row("1-NN test error, %", [f"k = {k}" for k in sizes])
    models = [timed(FewerPointsClassifier(k, random_state=0).fit, X, y) for k in sizes]
    ours = [100 * (1 - m.score(X_test, y_test)) for _, m in models]
    row("FewerPointsClassifier", [f"{e:.2f}" for e in ours])
    row("  seconds", [f"{took:.1f}" for took, _ in models])
    plain = [FewerPointsClassifier(k, refine=False, random_state=0).fit(X, y) for k in sizes]
    row(
        "FewerPointsClassifier(refine=False)",
        [f"{100 * (1 - m.score(X_test, y_test)):.2f}" for m in plain],
    )
    row("  gamma by cross-validation", [f"{m.gamma_:.4f}" for m in plain])
    best = np.full(len(sizes), np.inf)
    for rule, gamma in gammas.items():
        cases = [("MMD-critic", y), ("MMD-critic", None)]
        if rule == next(iter(gammas)):
            cases += [(name, y) for name in ("PS", "k-medoids", "k-means snapped")]
            cases += [(name, None) for name in ("k-medoids", "k-means snapped", "random")]
        for name, labels in cases:
            chosen = [METHODS[name](X, k, y=labels, gamma=gamma, rng=0)[0] for k in sizes]
            found = [nearest_error(X, y, u, X_test, y_test) for u in chosen]
            best = np.minimum(best, found)
            kind = "local" if labels is not None else "global"
            row(
                f"{name}, {kind}" + (f", {rule}" if name == "MMD-critic" else ""),
                [f"{e:.2f}" for e in found],
            )
    lost = [str(k) for k, a, b in zip(sizes, ours, best, strict=True) if a >= b]
    print(
        "FewerPointsClassifier is below every baseline"
        + (f" except at k = {', '.join(lost)}" if lost else " at every k")
    )


def digits(options) -> None:
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    print(f'\ndigits, {X.shape[0]} x {X.shape[1]}; "median" is 1 / (2 median distance²)')
    sizes = SIZES[:2] if options.quick else SIZES
    gamma = bandwidth(X, "rbf", "median")
    discrepancies(X, gamma, sizes, options.time_limit, 1e4)
    errors(X, y, X_test, y_test, {"median": gamma}, sizes)


def load_usps(options):
    path = options.data / "usps.npz"
    if not path.exists():
        print(f"{path} is absent: this part is skipped")
        return None
    with np.load(path, allow_pickle=False) as file:
        return [file[name] for name in ("X_train", "y_train", "X_test", "y_test")]


def usps(options) -> None:
    data = load_usps(options)
    if data is None:
        return
    sizes = SIZES[:3] if options.quick else SIZES
    print("\nUSPS, 7291 x 256")
    validated = (
        FewerPointsClassifier(100, refine=False, random_state=0).fit(data[0], data[1]).gamma_
    )
    discrepancies(data[0], 0.004117, sizes, options.time_limit, 1.0)
    discrepancies(data[0], validated, sizes, None, 1.0)
    errors(*data, {"gamma 0.0041": 0.004117, "gamma by cv": validated}, sizes)


def peak_above(job, *arguments) -> tuple[float, float, float]:
    """(seconds, MB above what was resident before, value) of a job, in a process of its own that has warmed up."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, arguments)


def measured(X, k: int, gamma) -> tuple[float, float, float]:
    warm_up()
    before = forget_peak()
    took, result = timed(points, X, k, gamma=gamma, rng=0)
    return took, memory("VmHWM") - before, result.value


def speed(options) -> None:
    data = load_usps(options)
    if data is None:
        return
    X = data[0]
    print(
        "\nUSPS, k = 100 from raw rows (bandwidth given), beside scikit-learn's rbf_kernel of all rows; five times each"
    )
    ours, theirs = [], []
    for _ in range(5):
        ours.append(timed(points, X, 100, gamma=0.004117, rng=0)[0])
        theirs.append(timed(rbf_kernel, X, gamma=0.004117)[0])
    a, b = np.median(ours), np.median(theirs)
    print(f"points {a:.2f} s, rbf_kernel {b:.2f} s, ratio {a / b:.2f}")
    print(
        f"peak above the input: {peak_above(measured, X, 100, 0.004117)[1]:.0f} MB (max_memory 1 GB)"
    )


class Mixture:
    """Ten round Gaussians in d dimensions; similarities to it have a closed form."""

    def __init__(self, d: int = 8, parts: int = 10) -> None:
        rng = np.random.default_rng(0)
        self.centres, self.widths = rng.normal(0, 3, (parts, d)), rng.uniform(0.5, 1.5, parts)
        self.shares = rng.dirichlet(np.full(parts, 3.0))

    def draw(self, n: int, seed: int = 1):
        """N rows, (n, d)."""
        rng = np.random.default_rng(seed)
        z = rng.choice(len(self.shares), n, p=self.shares)
        return self.centres[z] + self.widths[z][:, None] * rng.standard_normal(
            (n, self.centres.shape[1])
        )

    def _mean(self, squared, variance, gamma):
        """E exp(-gamma ‖x‖²) for a Gaussian x whose mean has this squared length."""
        a = 1 + 2 * gamma * variance
        return a ** (-self.centres.shape[1] / 2) * np.exp(-gamma * squared / a)

    def judge(self, rows, weights, gamma) -> tuple[float, float]:
        """MMD² to the mixture with these weights, and with the best weights for the mixture itself."""
        between = lambda A, B: ((A[:, None] - B[None]) ** 2).sum(axis=2)  # noqa: E731
        both = self.widths[:, None] ** 2 + self.widths[None] ** 2
        constant = (
            self.shares @ self._mean(between(self.centres, self.centres), both, gamma) @ self.shares
        )
        c = self._mean(between(rows, self.centres), self.widths[None] ** 2, gamma) @ self.shares
        K = np.exp(-gamma * between(rows, rows))
        best = simplex_weights(K, c, weights)
        return tuple(float(w @ K @ w - 2 * c @ w + constant) for w in (weights, best))


def scale(options) -> None:
    mixture = Mixture()
    thinning = importlib.util.find_spec("goodpoints") is not None
    print(
        "\nGaussian mixture, d = 8: MMD² to the mixture itself as returned, and with the best weights for the mixture"
    )
    print("(weights for n rows cannot come nearer to the mixture than the rows do: about 0.6 / n)")
    for n in (10**4, 10**5) if options.quick else (10**4, 10**5, 10**6):
        X = mixture.draw(n)
        gamma = bandwidth(X, "rbf", "median")
        for k in (100, 1000):
            for limit in (None, 5.0):
                took, result = timed(points, X, k, gamma=gamma, time_limit=limit, rng=0)
                name = (
                    f"n = {n}, k = {k}: points"
                    if limit is None
                    else f"  points, time_limit={limit:g}"
                )
                report(name, took, mixture, X, result.indices, result.p, gamma)
                print(f"    value {result.value:.2e} ± {result.value_se:.0e} {result.note}")
            others = {"random": baselines.random_rows, "k-means snapped": baselines.kmeans_snapped}
            for name, method in others.items():
                if name != "random" and n * k > PATIENCE:
                    print(f"  {name}: not run, it takes many minutes")
                    continue
                took, (units, weights) = timed(method, X, k, rng=0)
                report(f"  {name}", took, mixture, X, units, weights, gamma)
            if thinning:
                took, units = timed(compress, X, k, gamma)
                report(
                    f"  kernel thinning to {len(units)}",
                    took,
                    mixture,
                    X,
                    units,
                    np.full(len(units), 1 / len(units)),
                    gamma,
                )
            if not options.quick or k == 100:
                print(
                    f"    peak above the input: {peak_above(measured, X, k, gamma)[1]:.0f} MB",
                    flush=True,
                )


def report(name: str, took: float, mixture: Mixture, X, units, weights, gamma) -> None:
    share = weights if len(weights) == len(units) else weights[units]
    raw, best = mixture.judge(X[units], share, gamma)
    print(f"{name:34s} {took:7.1f} s   raw {raw:.2e}   reweighted {best:.2e}", flush=True)


def compress(X, k: int, gamma: float):
    """Compress++ of goodpoints from a power of four of the rows, which gives its root: at least k where n allows."""
    from goodpoints import compress as compressing

    size = 4 ** min(int(np.ceil(np.log2(k))), int(np.log(len(X)) / np.log(4)))
    rows = np.random.default_rng(0).choice(len(X), size, replace=False)
    found = compressing.compresspp_kt(
        X[rows], kernel_type=b"gaussian", k_params=np.array([1 / gamma]), g=4, seed=1
    )
    return rows[np.unique(found)]


def move(options) -> None:
    import places

    mixture, found = Mixture(), load_usps(options)
    data = {
        "digits, 1,797 x 64": lambda: load_digits().data,
        "mixture, 8,000 x 8": lambda: mixture.draw(8000),
    }
    data |= {} if found is None else {"USPS, 7,291 x 256": lambda: found[0]}
    if not options.quick:
        data |= {f"mixture, {n:,} x 8": lambda n=n: mixture.draw(n) for n in (10**5, 10**6)}
        data["MNIST-like, 20,000 x 784"] = lambda: places.distorted_digits(20_000)
    places.compare(data, (20,) if options.quick else (20, 100))


PARTS = [
    digits,
    usps,
    speed,
    scale,
    uses.downstream,
    uses.limits,
    uses.outliers,
    uses.clusters,
    move,
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--part", nargs="+", choices=[part.__name__ for part in PARTS])
    parser.add_argument(
        "--time-limit", type=float, default=None, help="also run auto with this limit"
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, and no million rows")
    options = parser.parse_args()
    warm_up()
    for part in PARTS:
        if options.part is None or part.__name__ in options.part:
            part(options)


if __name__ == "__main__":
    main()
