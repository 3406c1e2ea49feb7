"""points of mixed tables against k-prototypes, k-medoids with Gower distance, and random rows, at the same k.

Tables: customers (made up, `fewer.datasets.customers`; the held-out label is churn) and, where categorical.npz is in
--data, mushrooms (22 categories; the label is whether they are edible). No method sees the label. Measured for each:
the error of 1-NN from the k rows for the label of rows that were held out, by Gower distance and by ours; the total
variation between the categories of the k weighted rows and of all, mean over columns; how far means and standard
deviations of numbers are off, in standard deviations; MMD² under our similarity and under Gower's (one minus the
distance). Rows of k-prototypes are those nearest to its centres; clusters give the weights of both peers. k-prototypes
(k-modes where there are no numbers) runs from each of its three starts, and the best of them is shown, measure by
measure; the seconds are those of all runs and of measuring them. Starts that fail are named.
Run: python benchmarks/mixed.py [--quick] [--data DIR]
"""

import argparse
import time
from pathlib import Path

import gower
import kmedoids
import numpy as np
import polars as pl
from kmodes.kmodes import KModes
from kmodes.kprototypes import KPrototypes

from fewer import points
from fewer.datasets import customers
from fewer.similarity import bandwidth, similarity_of
from fewer.tables.encode import encoded

SIZES = (10, 30, 100)
DRAWS = 10
"""Random samples whose mean is shown."""


class Table:
    """Training and test rows, and both similarities between them."""

    def __init__(self, name: str, frame: pl.DataFrame, label: str, n: int) -> None:
        self.name, self.train, self.test = name, frame[:n].drop(label), frame[n:].drop(label)
        self.y, self.y_test = frame[label][:n].to_numpy(), frame[label][n:].to_numpy()
        self.used = frame.drop(label, *[c for c in frame.columns if c.endswith("_id")]).columns
        self.numbers = [
            c for c in self.used if frame[c].dtype.is_numeric() or frame[c].dtype == pl.Date
        ]
        self.categories = [c for c in self.used if c not in self.numbers]
        plain = (
            frame.select(self.used).with_columns(pl.col(self.numbers).cast(pl.Float64)).to_pandas()
        )
        flags = np.array([c in self.categories for c in self.used])
        objects = plain.astype(dict.fromkeys(self.categories, object))
        self.gower = gower.gower_matrix(objects, cat_features=flags).astype(np.float64)
        found = encoded(frame.select(self.used))
        Z = found.rows.toarray() if found.encoding.sparse else found.rows
        Z[:, : found.encoding.numbers] -= Z[:n, : found.encoding.numbers].mean(axis=0)
        Z[:, : found.encoding.numbers] /= Z[:n, : found.encoding.numbers].std(axis=0)
        self.gamma = bandwidth(Z[:n], "rbf", "median")
        self.ours = similarity_of("rbf", self.gamma)(Z, Z)
        self.n, self.plain = n, plain[:n]

    def measures(self, rows: np.ndarray, weights: np.ndarray) -> list[float]:
        """What is shown of one answer."""
        n, q = self.n, np.bincount(rows, weights, self.n) - 1.0 / self.n
        by_gower = self.y[rows[self.gower[n:, rows].argmin(axis=1)]]
        by_ours = self.y[rows[self.ours[n:, rows].argmax(axis=1)]]
        kept = self.plain.iloc[rows]
        apart = [self.variation(name, kept[name], weights) for name in self.categories]
        X, few = self.plain[self.numbers].to_numpy(float), kept[self.numbers].to_numpy(float)
        mean = np.average(few, axis=0, weights=weights) if self.numbers else np.zeros(0)
        spread = (
            np.sqrt(np.average((few - mean) ** 2, axis=0, weights=weights))
            if self.numbers
            else np.zeros(0)
        )
        off_mean = np.abs(mean - X.mean(axis=0)) / X.std(axis=0)
        off_std = np.abs(spread / X.std(axis=0) - 1)
        return [
            100 * float((by_gower != self.y_test).mean()),
            100 * float((by_ours != self.y_test).mean()),
            float(np.mean(apart)),
            float(off_mean.mean()) if self.numbers else np.nan,
            float(off_std.mean()) if self.numbers else np.nan,
            float(q @ self.ours[:n, :n] @ q),
            float(q @ (1 - self.gower[:n, :n]) @ q),
        ]

    def variation(self, name: str, kept, weights: np.ndarray) -> float:
        """Half the sum of differences between shares of levels."""
        whole = self.plain[name].value_counts(normalize=True)
        shares = [float(weights[(kept == level).to_numpy()].sum()) for level in whole.index]
        return 0.5 * float(np.abs(np.array(shares) - whole.to_numpy()).sum())


def shares_of(table: Table, rows: np.ndarray) -> np.ndarray:
    """The shares of the clusters around some rows, by Gower distance."""
    nearest = table.gower[: table.n, rows].argmin(axis=1)
    return np.bincount(nearest, minlength=len(rows)) / table.n


def ours(table: Table, k: int, seed: int):
    result = points(table.train, k, rng=seed)
    return result.indices, result.weights


def k_medoids(table: Table, k: int, seed: int):
    found = kmedoids.fasterpam(table.gower[: table.n, : table.n], k, random_state=seed)
    rows = np.asarray(found.medoids, np.int64)
    return rows, shares_of(table, rows)


def k_prototypes(table: Table, k: int, seed: int, start: str):
    """Rows nearest to the centres in its cost; k-modes where there are no numbers."""
    numbers = len(table.numbers)
    Z = table.plain[table.numbers].to_numpy(float)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0) if numbers else Z
    C = table.plain[table.categories].to_numpy(object).astype(str)
    if numbers:
        X = np.concatenate([Z.astype(object), C.astype(object)], axis=1)
        model = KPrototypes(k, init=start, n_init=1, max_iter=20, random_state=seed)
        model.fit(X, categorical=list(range(numbers, X.shape[1])))
    else:
        model = KModes(k, init=start, n_init=1, max_iter=20, random_state=seed).fit(C)
    factor, rows = getattr(model, "gamma", 1.0), []
    for centre in model.cluster_centroids_:
        apart = ((Z - centre[:numbers].astype(float)) ** 2).sum(axis=1) + factor * (
            centre[numbers:] != C
        ).sum(axis=1)
        rows.append(int(apart.argmin()))
    return np.array(rows), np.bincount(model.labels_, minlength=k) / table.n


def at_random(table: Table, k: int, seed: int):
    rows = np.random.default_rng(seed).choice(table.n, k, replace=False)
    return rows, np.full(k, 1.0 / k)


def mean_of(method, seeds):
    """The mean of the measures over seeds."""
    return lambda table, k: (
        np.mean([table.measures(*method(table, k, seed)) for seed in seeds], axis=0),
        "",
    )


def best_start(table: Table, k: int):
    """The best of the starts of k-prototypes for each measure, and which of them fail."""
    found, failed = [], []
    for start in STARTS:
        try:
            found.append(table.measures(*k_prototypes(table, k, 0, start)))
        except ValueError:  # no start is found where k is large
            failed.append(start)
    said = f"  no start by {', '.join(failed)}" if failed else ""
    return (np.min(found, axis=0) if found else None), said


STARTS = ("Cao", "Huang", "random")
METHODS = {
    "fewer": mean_of(ours, [0]),
    "k-prototypes": best_start,
    "k-medoids, Gower": mean_of(k_medoids, [0]),
    "random (mean)": mean_of(at_random, range(DRAWS)),
}
HEAD = (
    "1-NN Gower",
    "1-NN ours",
    "TV",
    "mean off",
    "std off",
    "MMD² ours",
    "MMD² Gower",
    "seconds",
)


def tables(quick: bool, data: Path):
    n = 300 if quick else 1500
    yield Table("customers", pl.DataFrame(customers(2 * n, rng=0)), "churn", n)
    path = data / "categorical.npz"
    if path.exists():
        stored = np.load(path, allow_pickle=False)
        some = np.random.default_rng(0).permutation(len(stored["mushroom_y"]))[: 2 * n]
        columns = dict(
            zip(stored["mushroom_columns"].tolist(), stored["mushroom_X"][some].T, strict=True)
        )
        frame = pl.DataFrame({name: [str(v) for v in values] for name, values in columns.items()})
        yield Table(
            "mushrooms",
            frame.with_columns(edible=pl.Series(stored["mushroom_y"][some])),
            "edible",
            n,
        )
    else:
        print(f"mushrooms: skipped, there is no {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    points(pl.DataFrame({"x": [0.0, 1.0, 5.0]}), 2, rng=0)  # compile
    for table in tables(options.quick, options.data):
        print(
            f"{table.name}: {table.n} rows, {len(table.numbers)} numbers, {len(table.categories)} categories"
        )
        for k in SIZES[:2] if options.quick else SIZES:
            print(f"{'k = ' + str(k):18s}" + "".join(f"{word:>12s}" for word in HEAD))
            for name, method in METHODS.items():
                began = time.perf_counter()
                found, said = method(table, k)
                seconds = time.perf_counter() - began
                if found is None:
                    print(f"{name:18s}{said}", flush=True)
                    continue
                cells = [
                    f"{found[0]:.1f} %",
                    f"{found[1]:.1f} %",
                    *(f"{v:.3f}" for v in found[2:5]),
                ]
                cells += [f"{v:.2e}" for v in found[5:]] + [f"{seconds:.2f}"]
                print(f"{name:18s}" + "".join(f"{cell:>12s}" for cell in cells) + said, flush=True)


if __name__ == "__main__":
    main()
