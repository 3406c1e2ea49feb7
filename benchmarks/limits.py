"""How near the hot loops are to what the machine allows: the floor of each, measured, and the share reached.

    python benchmarks/limits.py [--threads 1] [--repeats 7]

| loop | floor |
|---|---|
| points: similarities of all pairs | the same products by BLAS and np.exp of as many numbers in the cache |
| terms: slopes of all columns | one product of X and a vector by BLAS |
| dims: one look ahead over all supports | np.bincount of their indices: one scattered addition each |
| blocks: the summary of a file of numbers | reading the file; and LAPACK's geqrf of panels of it that are there |
| proofs: one round of the relaxation | one eigendecomposition of its size |

A share is the floor's time over the loop's, best of several of each. With one thread it is taken in seconds of the
processor, so that a busy machine says much the same; with more, in seconds of the clock, on a machine that is quiet.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgeqrf
from threadpoolctl import threadpool_limits

from fewer import Atoms, Moments, summarize
from fewer._compiled import cover, dnn_admm
from fewer.objectives.pairs import own_image
from fewer.search.relaxation import begin
from fewer.similarity import similarity_of

Loop = tuple[str, str, Callable[[], Any], Callable[[], Any]]
"""A name, its size, the loop and its floor."""


def points_loop(rng: np.random.Generator) -> Loop:
    """All pairs of 4,000 rows with 64 columns, each pair once."""
    n, d, tile = 4000, 64, 512
    X, t, similarity = rng.normal(size=(n, d)), np.full(n, 1 / n), similarity_of("rbf", 0.01)
    left, right, block = X[:tile].copy(), X[tile : 2 * tile].copy(), np.empty((tile, tile))

    def floor() -> None:
        for _ in range(n * (n + tile) // (2 * tile * tile)):
            np.matmul(left, right.T, out=block)
            np.multiply(block, -1e-3, out=block)
            np.exp(block, out=block)

    return (
        "points",
        "4,000 x 64",
        lambda: own_image(X, t, similarity, np.float64, None, 2**30),
        floor,
    )


def terms_loop(rng: np.random.Generator) -> Loop:
    """The slopes of 4,000 columns with 2,000 rows."""
    A, units = rng.normal(size=(2000, 4000)), np.arange(10)
    F = Moments(Atoms(4000), A, A[:, 0])
    weights = np.full(10, 0.1)
    return "terms", "2,000 x 4,000", lambda: F.slopes(units, weights), lambda: A.T @ A[:, 0]


def dims_loop(rng: np.random.Generator) -> Loop:
    """The promise of 500 dimensions in 200,000 supports of 8."""
    n, size, each = 500, 200_000, 8
    indices = np.sort(rng.integers(0, n, (size, each)), axis=1).reshape(-1)
    indptr = np.arange(0, size * each + 1, each)
    mass, none = rng.random(size), (np.zeros(0, np.int64), np.zeros(0, np.int32))
    values = mass, mass, mass, np.ones(n), 0, np.ones(n), float(each)
    face = cover.Face(np.zeros(n, np.bool_), np.full(size, each, np.int32))
    args = face, cover.Supports(indptr, indices.astype(np.int32), *none, *values)
    return "dims", "200,000 x 8", lambda: cover.look_ahead(*args), lambda: np.bincount(indices)


def proof_loop(rng: np.random.Generator) -> Loop:
    """A round of the relaxation of 200 columns."""
    m = 200
    A = rng.normal(size=(290, m)) + rng.normal(size=(290, 1))
    H, T = A.T @ A / 290, np.cov(A.T)
    node = begin(np.arange(m), np.zeros(m, np.bool_), (0.0, 1.0), 10, 100.0)
    args = H, node.limits, node.inside, 10, np.zeros(m, np.int64), np.array([m]), node.beta
    state = node.Y, node.Z, node.z, node.y
    return (
        "proofs",
        "200 columns",
        lambda: dnn_admm.rounds(*args, *state, 1),
        lambda: np.linalg.eigh(T),
    )


def blocks_loops(rng: np.random.Generator, folder: Path) -> list[Loop]:
    """A summary for terms of a file of 200,000 x 20 numbers, block by block, beside reading it and beside geqrf."""
    path, step = folder / "rows.npy", 20_000
    np.save(path, rng.normal(size=(200_000, 20)))

    def work() -> None:
        rows = np.load(path, mmap_mode="r")
        blocks = (np.asarray(rows[at : at + step]) for at in range(0, len(rows), step))
        first, *others = [summarize((block, block[:, 0]), "terms") for block in blocks]
        first.merge(*others)

    panels = [np.asfortranarray(rng.normal(size=(1000, 21))) for _ in range(200)]

    def factors() -> None:
        for panel in panels:
            dgeqrf(panel, lwork=32 * 21)

    read: Loop = ("blocks, reading", "32 MB", work, lambda: np.load(path).sum())
    return [read, ("blocks, geqrf", "200 x 1,000 x 21", work, factors)]


def best_seconds(work: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    """The least seconds of several runs, after one that is not counted."""
    work()
    least = np.inf
    for _ in range(repeats):
        began = clock()
        work()
        least = min(least, clock() - began)
    return float(least)


def main() -> None:
    """One row for each loop."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    clock, rng = (
        (time.process_time if args.threads == 1 else time.perf_counter),
        np.random.default_rng(0),
    )
    print("| loop | size | ms | floor, ms | share |\n|---|---|---|---|---|")
    with TemporaryDirectory() as folder, threadpool_limits(args.threads):
        loops = [make(rng) for make in (points_loop, terms_loop, dims_loop, proof_loop)]
        for name, size, work, floor in [*loops, *blocks_loops(rng, Path(folder))]:
            taken, least = (1e3 * best_seconds(each, args.repeats, clock) for each in (work, floor))
            print(
                f"| {name} | {size} | {taken:.1f} | {least:.1f} | {least / taken:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
