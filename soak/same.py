"""One answer for the same numbers in every container, memory order and number of threads, and in overlapping calls."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import fewer

from .draws import Generator, one_of

NAME = "same"
SECONDS = 120.0
ALONE = True
THREADS, CALLS = 4, 8
"""How many threads share the calls that overlap, and how many calls there are."""
SLOWER, FREE = 6.0, 2.0
"""How many times as long as one call each call that overlaps may take, and seconds besides."""
Solved = Callable[[Any], Any]


def case(rng: Generator) -> tuple[str, list[str]]:
    """One problem in several forms; a refusal is an answer if it is always the same."""
    text, X, solve = one_of(rng, (terms_call, points_call, dims_call, bins_call))(rng)
    began = time.perf_counter()
    expected = answer(solve, X)
    alone = time.perf_counter() - began
    forms = frames(X) | arrays(X)
    problems = []
    size = float(np.abs(X).max()) ** 2
    for name in rng.permutation(sorted(forms))[:3]:
        problems += differences(str(name), answer(solve, forms[str(name)]()), expected, size)
    with threadpool_limits(int(rng.integers(2, 6))):
        problems += differences("more threads of BLAS", answer(solve, X), expected)
    if alone < 1.0:
        began = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda _: answer(solve, X), range(CALLS)))
        took = time.perf_counter() - began
        problems += [
            problem
            for other in answers
            for problem in differences("a call beside others", other, expected)
        ][:1]
        if took > CALLS * SLOWER * alone + FREE:
            problems.append(f"{CALLS} calls at once take {took:.2f} s, one alone {alone:.2f} s")
    return text, problems


def answer(solve: Solved, X: Any) -> Any:
    """Indices and weights to the last bit, the value, the bound and the status; or what refuses."""
    try:
        result = solve(X)
    except fewer.InvalidInput as error:
        return str(error)
    weights = result.p if result.weights is None else result.weights
    return (
        result.indices.tolist(),
        np.asarray(weights).tobytes(),
        result.value,
        result.bound,
        result.status,
    )


def differences(form: str, got: Any, expected: Any, size: float = 1.0) -> list[str]:
    """Faults of an answer in another form; sums over sparse rows may be rounded differently.

    `size` is that of the largest squares that are summed.
    """
    if got == expected or isinstance(expected, str):
        return [] if type(got) is type(expected) else [f"{form}: {got!r}, not {expected!r}"]
    if (
        form.startswith("csr")
        and not isinstance(got, str)
        and np.isclose(got[2], expected[2], rtol=1e-6, atol=1e-12 * max(size, 1.0))
    ):
        return []
    shown = [
        answer if isinstance(answer, str) else (answer[0], *answer[2:])
        for answer in (got, expected)
    ]
    return [f"{form}: {shown[0]}, not {shown[1]}"]


def frames(X: Any) -> dict[str, Callable[[], Any]]:
    """Tables of the same numbers."""
    if X.ndim == 1:
        return {
            "pandas": lambda: pd.Series(X),
            "polars": lambda: pl.Series(X),
            "pyarrow": lambda: pa.array(X),
        }
    names = [f"c{j}" for j in range(X.shape[1])]
    return {
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "pandas with an index": lambda: pd.DataFrame(
            X, columns=names, index=np.arange(len(X))[::-1]
        ),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "pyarrow": lambda: pa.table(dict(zip(names, X.T, strict=True))),
    }


def arrays(X: Any) -> dict[str, Callable[[], Any]]:
    """Arrays of the same numbers in other orders, strides and types."""
    forms: dict[str, Callable[[], Any]] = {
        "Fortran": lambda: np.asfortranarray(X),
        "every second entry": lambda: np.repeat(X, 2, axis=0)[::2],
        "reversed": lambda: X[::-1].copy()[::-1],
        "other byte order": lambda: X.astype(X.dtype.newbyteorder()),
        "list": X.tolist,
    }
    return forms | ({"csr": lambda: sp.csr_array(X)} if X.ndim == 2 else {})


def terms_call(rng: Generator) -> tuple[str, Any, Solved]:
    """Terms of a table of some size."""
    r, n = int(2 ** rng.uniform(2, 9)), int(2 ** rng.uniform(2, 7))
    X = rng.standard_normal((r, n))
    y = X @ rng.dirichlet(np.full(n, 0.3)) + 0.05 * rng.standard_normal(r)
    options: dict[str, Any] = {"solver": one_of(rng, ("greedy", "exchange", "iht", "frank_wolfe"))}
    if rng.random() < 0.3:
        options["max_weight"] = 0.5
    if rng.random() < 0.2:
        options["loss"] = "downside"
    k = min(n, int(rng.integers(2, 8)))
    text = f"terms of ({r}, {n}), k={k}, {options}"
    return text, X, lambda form: fewer.terms(form, y, k, rng=0, **options)


def points_call(rng: Generator) -> tuple[str, Any, Solved]:
    """Points of some rows."""
    N, d = int(2 ** rng.uniform(3, 11)), int(rng.integers(2, 12))
    X = rng.standard_normal((N, d)) * 10.0 ** rng.uniform(-3, 3)
    options: dict[str, Any] = {"similarity": one_of(rng, ("rbf", "linear", "cosine"))}
    options |= {"solver": one_of(rng, ("greedy", "exchange")), "standardize": False}
    if rng.random() < 0.3:
        options["labels"] = rng.integers(0, 2, N)
    k = min(N // 2, int(rng.integers(2, 20)))
    return (
        f"points of ({N}, {d}), k={k}, {options}",
        X,
        lambda form: fewer.points(form, k, rng=0, **options),
    )


def dims_call(rng: Generator) -> tuple[str, Any, Solved]:
    """Dims of a table of zeros and ones."""
    N, n = int(2 ** rng.uniform(3, 11)), int(rng.integers(3, 40))
    X = (rng.random((N, n)) < rng.uniform(0.05, 0.4)).astype(np.int64)
    options = {
        "objective": one_of(rng, ("kl", "l2")),
        "baseline": "zero",
        "solver": one_of(rng, ("greedy", "exchange")),
    }
    k = int(rng.integers(1, min(n, 10)))
    return (
        f"dims of ({N}, {n}), k={k}, {options}",
        X,
        lambda form: fewer.dims(form, k, rng=0, **options),
    )


def bins_call(rng: Generator) -> tuple[str, Any, Solved]:
    """Bins of values."""
    x = rng.lognormal(size=int(2 ** rng.uniform(3, 13)))
    options = {
        "grid": one_of(rng, ("auto", "equal", "quantile")),
        "solver": one_of(rng, ("auto", "greedy")),
    }
    k = int(rng.integers(2, 8))
    return (
        f"bins of {x.size} values, k={k}, {options}",
        x,
        lambda form: fewer.bins(form, k, rng=0, **options),
    )
