"""Random data for tiny problems: ordinary, degenerate, far off, huge and tiny."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

Generator = np.random.Generator


def one_of(rng: Generator, choices: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """One of some things, as it is."""
    p = None if weights is None else np.array(weights) / sum(weights)
    return choices[int(rng.choice(len(choices), p=p))]


def some(rng: Generator, n: int, most: int) -> list[int]:
    """A few distinct indices below n."""
    return sorted(rng.choice(n, int(rng.integers(0, min(most, n) + 1)), replace=False).tolist())


def table(rng: Generator, rows: int, columns: int) -> tuple[str, Any]:
    """A matrix and the word for its kind."""
    X = rng.standard_normal((rows, columns))
    kind = one_of(
        rng,
        ("normal", "integers", "equal", "constant", "offset", "outlier", "flat"),
        (6, 3, 2, 1, 2, 2, 1),
    )
    if kind == "integers":
        X = rng.integers(0, 3, (rows, columns)).astype(np.float64)
    elif kind == "equal":
        X = X[rng.integers(0, max(rows // 2, 1), rows)][
            :, rng.integers(0, max(columns // 2, 1), columns)
        ]
    elif kind == "constant":
        X = np.full((rows, columns), float(rng.integers(0, 3)))
    elif kind == "offset":
        X = X * 10.0 ** rng.integers(-5, 1) + 10.0 ** rng.integers(2, 9)
    elif kind == "outlier":
        X[rng.integers(rows), rng.integers(columns)] = 1e7
    elif kind == "flat":
        X = np.outer(X[:, 0], X[0])
    return kind, X


def scale(rng: Generator, narrow: bool = False) -> float:
    """One, or a number from 1e-70 to 1e70 (1e-30 to 1e30 where float32 must hold it)."""
    if rng.random() < 0.6:
        return 1.0
    reach = 30 if narrow else 70
    return (
        float(10.0 ** rng.uniform(-reach, reach))
        if rng.random() < 0.5
        else 2.0 ** int(rng.integers(-3 * reach, 3 * reach))
    )


def weights(rng: Generator, n: int) -> Any:
    """None, or weights of rows: some zero, some large."""
    kind = rng.integers(4)
    if kind < 2:
        return None
    values = rng.random(n) if kind == 2 else rng.integers(0, 3, n).astype(np.float64)
    values[rng.integers(n)] = 1.0
    return values


def histogram(rng: Generator, n: int) -> tuple[str, Any]:
    """Counts or probabilities of n bins."""
    kind = one_of(rng, ("random", "counts", "zeros", "one", "even", "skew"), (3, 3, 2, 1, 1, 2))
    p = rng.random(n)
    if kind == "counts":
        p = rng.integers(0, 6, n)
        p[rng.integers(n)] += 1
    elif kind == "zeros":
        p = p * (rng.random(n) < 0.5)
        p[rng.integers(n)] = 0.5
    elif kind == "one":
        p = np.zeros(n)
        p[rng.integers(n)] = 1.0
    elif kind == "even":
        p = np.ones(n)
    elif kind == "skew":
        p = p**12
    return kind, p


def distribution(rng: Generator, n: int) -> Any:
    """A distribution on n entries, some of them empty."""
    p = np.asarray(histogram(rng, n)[1], np.float64)
    return p / p.sum()


def container(rng: Generator, A: Any, formats: Sequence[str]) -> tuple[str, Any]:
    """A matrix as an array of some order, access and strides, or sparse."""
    form = one_of(rng, ("C", "F", "fixed", "slice", "reverse", *formats))
    if form in ("csr", "csc", "coo"):
        return form, unsorted(sp.csr_array(A)) if form == "csr" else sp.coo_array(A).asformat(form)
    if form == "slice":
        return form, np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)[::2, ::2]
    if form == "reverse":
        return form, np.array(A[::-1, ::-1])[::-1, ::-1]
    out = np.array(A, order="F" if form == "F" else "C")
    out.flags.writeable = form != "fixed"
    return form, out


def unsorted(table: Any) -> Any:
    """A csr matrix with the entries of each row in reverse order, as other programs leave it."""
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(table.indptr, table.indptr[1:], strict=False)]
    )
    order = order.astype(np.int64)
    turned = sp.csr_array(
        (table.data[order], table.indices[order], table.indptr.copy()), table.shape
    )
    turned.has_sorted_indices = False
    return turned
