"""bins and terms: ‖A q - b‖² over at most k entries."""

import sys
from pathlib import Path

import numpy as np

from fewer import Atoms, Moments

sys.path.append(str(Path(__file__).parents[2]))  # the root of the repository, where reproduction is
from reproduction.compression import onto

TABLES = {
    "hangseng31": "orlib1_hangseng31_prices",
    "ftse89": "orlib3_ftse89_prices",
}


class LeastSquares:
    """A (r, n), b (r,); p (n,) where b = A p came from a histogram.

    `rest` = (A, b) that nobody fits.
    """

    measure = "‖A q - b‖²"

    def __init__(
        self, A: np.ndarray, b: np.ndarray, p: np.ndarray | None = None, rest: tuple | None = None
    ) -> None:
        self.A, self.b, self.p, self.rest = np.ascontiguousarray(A), np.asarray(b), p, rest
        self.F = Moments(Atoms(self.A.shape[1]), self.A, self.b)

    def judge(self, q: np.ndarray) -> float:
        entries = np.flatnonzero(q)
        return float(((self.A[:, entries] @ q[entries] - self.b) ** 2).sum())

    def test(self, q: np.ndarray) -> float:
        """Expected ‖B (q - p)‖² for a new Gaussian B, or the squared error on rows kept back.

        Else nan.
        """
        if self.p is not None:
            return float(len(self.b) * ((q - self.p) ** 2).sum())
        if self.rest is not None:
            return float(((self.rest[0] @ q - self.rest[1]) ** 2).sum())
        return float("nan")

    def projected(self, q: np.ndarray, k: int) -> np.ndarray:
        return onto(self.F, k, q, refit=False)

    def refitted(self, q: np.ndarray, k: int) -> np.ndarray:
        return onto(self.F, k, q, refit=True)


class Histogram:
    """A lognormal histogram p (n,) whose cumulative distribution is to be kept."""

    measure = "Σ (Q - P)²"

    def __init__(self, n: int, seed: int = 0, data: Path | None = None) -> None:
        self.p = lognormal(n, seed)
        self.rest = None

    def judge(self, q: np.ndarray) -> float:
        return float(((np.cumsum(q) - np.cumsum(self.p)) ** 2).sum())

    def test(self, q: np.ndarray) -> float:
        return float("nan")


def lognormal(n: int, seed: int = 0) -> np.ndarray:
    """The paper's charges, made up: 740,817 lognormal draws (median 20,000, sigma 1.1) in n bins below 10^7."""
    charges = np.exp(np.random.default_rng(seed).normal(np.log(20000), 1.1, 740817))
    counts = np.bincount((charges[charges < 1e7] / (1e7 / n)).astype(int), minlength=n)
    return counts / counts.sum()


def sensing(r: int, n: int, seed: int = 0, data: Path | None = None) -> LeastSquares:
    p = lognormal(n, seed)
    A = np.random.default_rng(1000 + seed).standard_normal((r, n))
    return LeastSquares(A, A @ p, p)


def charges(r: int, data: Path) -> LeastSquares:
    with np.load(data / "hospital_charges.npz", allow_pickle=False) as file:
        p = file["cms2011_counts_discharges"].astype(float)
    p /= p.sum()
    A = np.random.default_rng(1000).standard_normal((r, p.size))
    return LeastSquares(A, A @ p, p)


def returns(T: int, n: int, seed: int = 0, data: Path | None = None) -> LeastSquares:
    """Made-up weekly returns: five factors and noise.

    The index is a capitalisation-weighted mean of the n assets.
    """
    rng = np.random.default_rng(seed)
    R = 0.02 * rng.standard_normal((2 * T, 5)) @ rng.uniform(
        0.2, 1.0, (5, n)
    ) + 0.02 * rng.standard_normal((2 * T, n))
    capital = rng.pareto(1.5, n) + 0.1
    y = R @ (capital / capital.sum())
    return LeastSquares(R[:T], y[:T], rest=(R[T:], y[T:]))


def tracking(index: str, data: Path) -> LeastSquares:
    with np.load(data / "index_tracking.npz", allow_pickle=False) as file:
        if index == "sp500":
            A, b = file["sp500_2010_asset_returns"], file["sp500_2010_index_returns"].reshape(-1)
            half = len(b) // 2
            return LeastSquares(A[:half], b[:half], rest=(A[half:], b[half:]))
        prices = file[TABLES[index]]
    R = prices[1:] / prices[:-1] - 1
    return LeastSquares(R[:, 1:], R[:, 0])


def columns(r: int, n: int, seed: int = 0, data: Path | None = None) -> LeastSquares:
    """Gaussian columns, twenty of which make up b but for noise."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, n), dtype=np.float32)
    b = (A[:, :20] @ np.full(20, 0.05, np.float32)).astype(float) + 0.05 * rng.standard_normal(r)
    return LeastSquares(A, b)


KINDS = {
    "sensing": sensing,
    "charges": charges,
    "returns": returns,
    "tracking": tracking,
    "columns": columns,
    "histogram": Histogram,
}
