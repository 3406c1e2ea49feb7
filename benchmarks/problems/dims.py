"""dims: rows of items, and the share of them that k items do not cover."""

from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fewer import datasets


class Baskets:
    """X (N, n) of zeros and ones, CSR."""

    measure = "share of rows not covered"

    def __init__(self, X: sp.csr_array) -> None:
        self.X = X

    @cached_property
    def distinct(self) -> tuple[sp.csr_array, np.ndarray]:
        """Distinct rows and the share of each, as a textbook would begin."""
        rows, counts = np.unique(self.X.toarray(), axis=0, return_counts=True)
        return sp.csr_array(rows), counts / counts.sum()

    def judge(self, support: np.ndarray) -> float:
        outside = np.ones(self.X.shape[1], bool)
        outside[np.asarray(support, int)] = False
        return float(((self.X.astype(np.int32) @ outside.astype(np.int32)) > 0).mean())


def baskets(rows: int, items: int, seed: int = 0, data: Path | None = None) -> Baskets:
    return Baskets(datasets.baskets(rows, items, 4.0 if items < 1000 else 10.0, rng=seed))


def debd(table: str, data: Path) -> Baskets:
    with np.load(data / "debd.npz", allow_pickle=False) as file:
        X = np.unpackbits(file[f"{table}_train"], axis=1, count=int(file[f"{table}_n_vars"]))
    return Baskets(sp.csr_array(X.astype(np.int8)))


KINDS = {"baskets": baskets, "debd": debd}
