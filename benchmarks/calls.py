"""The calls by which two versions are compared, on inputs made from a seed or read from --data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from referee import Coverage, Histogram, LeastSquares, Mmd

Arrays = dict[str, Any]
PRICES = {"Hang Seng": "orlib1_hangseng31_prices", "FTSE": "orlib3_ftse89_prices"}
"""Names in index_tracking.npz."""


@dataclass(frozen=True)
class Call:
    """One call by a road: "memory", "blocks" or "command".

    `make(data)` gives its arrays and the referee.

    Arrays named "0" and "1" are arguments by position, the others by name.
    """

    job: str
    name: str
    k: int
    make: Callable[[Path], tuple[Arrays, Any]]
    options: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    road: str = "memory"

    @property
    def title(self) -> str:
        road = "" if self.road == "memory" else f" ({self.road})"
        return f"{self.job} {self.name}, k = {self.k}{road}"


def write(path: Path, arrays: Arrays) -> None:
    """One npz file; a sparse array as its parts."""
    parts: Arrays = {}
    for name, value in arrays.items():
        if not sp.issparse(value):
            parts[name] = value
            continue
        stored = {
            "data": value.data,
            "indices": value.indices,
            "indptr": value.indptr,
            "shape": np.array(value.shape),
        }
        parts.update({f"{name}.{value.format}.{part}": array for part, array in stored.items()})
    np.savez(path, **parts)


@lru_cache(maxsize=2)
def stored(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def digits(labelled: bool) -> Callable[[Path], tuple[Arrays, Any]]:
    def make(data: Path) -> tuple[Arrays, Any]:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return ({"0": X, "labels": y}, Mmd(X, y)) if labelled else ({"0": X}, Mmd(X))

    return make


def usps(data: Path) -> tuple[Arrays, Any]:
    X = stored(data / "usps.npz")["X_train"]
    return {"0": X}, Mmd(X.astype(np.float64))


@lru_cache(maxsize=1)
def mixed(rows: int, d: int) -> tuple[np.ndarray, Mmd]:
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.standard_normal((20, d))
    X = centres[rng.integers(0, 20, rows)] + rng.standard_normal((rows, d))
    return X, Mmd(X, centres=centres)


def mixture(rows: int, d: int) -> Callable[[Path], tuple[Arrays, Any]]:
    return lambda data: ({"0": mixed(rows, d)[0]}, mixed(rows, d)[1])


def texts(data: Path) -> tuple[Arrays, Any]:
    """2,000 rows of about 40 words of 5,000, by frequency, of unit length."""
    rng = np.random.default_rng(1)
    words = np.minimum(rng.zipf(1.3, (2000, 60)) - 1, 4999)
    counts = sp.csr_array(
        (np.ones(words.size), (np.repeat(np.arange(2000), 60), words.reshape(-1))), (2000, 5000)
    )
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt((counts * counts).sum(axis=1))) @ counts)
    return {"0": X}, Mmd(X)


def tracking(
    name: str, **more: Callable[[int], np.ndarray]
) -> Callable[[Path], tuple[Arrays, Any]]:
    def make(data: Path) -> tuple[Arrays, Any]:
        file = stored(data / "index_tracking.npz")
        if name == "S&P 500":
            X, y = file["sp500_2010_asset_returns"], file["sp500_2010_index_returns"].reshape(-1)
        else:
            prices = file[PRICES[name]]
            returns = prices[1:] / prices[:-1] - 1
            X, y = np.ascontiguousarray(returns[:, 1:]), np.ascontiguousarray(returns[:, 0])
        extra = {key: rule(X.shape[1]) for key, rule in more.items()}
        return {"0": X, "1": y, **extra}, LeastSquares(X, y)

    return make


def regression(
    r: int, n: int, dtype: str = "f8", density: float = 1.0
) -> Callable[[Path], tuple[Arrays, Any]]:
    """Gaussian columns, the target a mean of a tenth of them and noise."""

    def make(data: Path) -> tuple[Arrays, Any]:
        rng = np.random.default_rng(2)
        X: Any = rng.standard_normal((r, n)).astype(dtype)
        if density < 1.0:
            X = sp.csc_array(np.where(rng.random((r, n)) < density, X, 0.0))
        y = X.astype(np.float64) @ np.where(
            np.arange(n) < n // 10, 10.0 / n, 0.0
        ) + 0.05 * rng.standard_normal(r)
        return {"0": X, "1": y}, LeastSquares(X, y)

    return make


def histogram(n: int, rule: str) -> Callable[[Path], tuple[Arrays, Any]]:
    def make(data: Path) -> tuple[Arrays, Any]:
        counts = np.random.default_rng(3).integers(1, 100, n)
        return {"counts": counts}, Histogram(counts, rule == "cdf")

    return make


@lru_cache(maxsize=1)
def functionals(data: Path) -> tuple[Arrays, Any]:
    """A lognormal histogram of 10,000 bins, and 500 Gaussian functionals of it."""
    rng = np.random.default_rng(4)
    charges = np.exp(rng.normal(np.log(20_000), 1.1, 740_817))
    counts = np.bincount((charges[charges < 1e7] / 1000).astype(int), minlength=10_000)
    A = rng.standard_normal((500, 10_000))
    return {"counts": counts, "preserve": A}, LeastSquares(A, A @ (counts / counts.sum()))


def table(name: str, metric: str) -> Callable[[Path], tuple[Arrays, Any]]:
    def make(data: Path) -> tuple[Arrays, Any]:
        file = stored(data / "debd.npz")
        X = np.unpackbits(file[f"{name}_train"], axis=1, count=int(file[f"{name}_n_vars"])).astype(
            np.int8
        )
        return {"0": X}, Coverage(X, metric)

    return make


def sparse_codes(metric: str, rows: int = 300) -> Callable[[Path], tuple[Arrays, Any]]:
    def make(data: Path) -> tuple[Arrays, Any]:
        X = (np.random.default_rng(5).random((rows, 20)) < 0.15).astype(np.int8)
        return {"0": X}, Coverage(X, metric)

    return make


def point_calls() -> Iterator[Call]:
    yield from (Call("points", "digits", k, digits(False)) for k in (10, 50, 100))
    yield Call("points", "digits with labels", 30, digits(True))
    yield Call("points", "USPS", 100, usps, file="usps.npz")
    yield from (Call("points", "mixture 20,000 x 8", k, mixture(20_000, 8)) for k in (20, 100))
    yield Call("points", "mixture 200,000 x 8", 50, mixture(200_000, 8))
    yield Call("points", "mixture 60 x 3", 5, mixture(60, 3))
    yield Call("points", "texts, sparse", 30, texts)
    limits: list[dict[str, Any]] = [{"max_weight": 0.06}, {"include": [3, 17]}]
    for options in limits:
        yield Call("points", f"mixture 2,000 x 8 {options}", 20, mixture(2000, 8), options)


def term_calls() -> Iterator[Call]:
    file = "index_tracking.npz"
    indices = (*PRICES, "S&P 500")
    yield from (
        Call("terms", name, k, tracking(name), file=file) for name in indices for k in (10, 20)
    )
    limits: list[dict[str, Any]] = [{"max_weight": 0.1}, {"min_weight": 0.04}, {"include": [3, 7]}]
    limits.append({"min_weight": 0.02, "max_weight": 0.15, "include": [5]})
    for options in limits:
        yield Call("terms", f"FTSE {options}", 20, tracking("FTSE"), options, file)
    grouped = tracking("FTSE", groups=lambda n: np.arange(n) % 8)
    yield Call("terms", "FTSE groups, 2 of each", 12, grouped, {"max_per_group": 2}, file)
    yield Call("terms", "Gaussian 500 x 10,000", 50, regression(500, 10_000))
    yield Call("terms", "Gaussian 60 x 100", 10, regression(60, 100))
    yield Call("terms", "Gaussian 250 x 2,000, float32", 20, regression(250, 2000, "f4"))
    yield Call("terms", "sparse 1,000 x 500", 20, regression(1000, 500, density=0.05))


def bin_calls() -> Iterator[Call]:
    yield from (Call("bins", "10,000 counts", k, histogram(10_000, "cdf")) for k in (20, 200))
    yield Call("bins", "10^6 counts", 100, histogram(10**6, "cdf"))
    yield from (Call("bins", "500 functionals of 10,000", k, functionals) for k in (100, 200))
    yield Call("bins", "10,000 entries", 50, histogram(10_000, "entries"), {"preserve": "entries"})


def dim_calls() -> Iterator[Call]:
    sizes = {"plants": (10, 20), "tretail": (15,), "kosarek": (20,), "msnbc": (7,)}
    for metric in ("kl", "l2"):
        options = {} if metric == "kl" else {"objective": metric}
        for name, k in ((name, k) for name, each in sizes.items() for k in each):
            yield Call("dims", f"{name} {metric}", k, table(name, metric), options, "debd.npz")
        yield Call("dims", f"codes 300 x 20 {metric}", 5, sparse_codes(metric), options)
    yield Call("dims", "codes 300 x 20, include", 5, sparse_codes("kl"), {"include": [3, 7]})


def road_calls() -> Iterator[Call]:
    """Each job on data in blocks, and by the command from a file."""
    little = {"max_memory": "200KB"}
    yield Call("points", "mixture 20,000 x 8", 20, mixture(20_000, 8), little, road="blocks")
    yield Call("terms", "Gaussian 5,000 x 40", 10, regression(5000, 40), little, road="blocks")
    yield Call("dims", "codes 30,000 x 20", 5, sparse_codes("kl", 30_000), little, road="blocks")
    yield Call("points", "mixture 20,000 x 8", 20, mixture(20_000, 8), road="command")
    yield Call("terms", "Gaussian 5,000 x 40", 10, regression(5000, 40), road="command")
    yield Call("dims", "codes 30,000 x 20", 5, sparse_codes("kl", 30_000), road="command")
    yield Call("bins", "10,000 counts", 20, histogram(10_000, "cdf"), road="command")


CALLS = [*point_calls(), *term_calls(), *bin_calls(), *dim_calls(), *road_calls()]
