"""dims under a short time limit: columns chosen on some of the rows, and valued on all of them."""

import math
from dataclasses import replace

import numpy as np

from .._validation import Indices, Vector
from ..cover import KL
from ..deadline import Deadline
from ..result import Result, Status
from ..solvers._drive import WARM
from ..spaces import Atoms
from ..tables import distinct_rows
from ._rows import Rows

ENTRIES_PER_SECOND = 4e6
"""Entries of a table that are folded in a second, at least (`python benchmarks/dims.py --part scale`: 8 million)."""
SHARE = 0.4
"""The share of the time left that folding may take."""
FEWEST_ROWS, MOST_UNCOMPILED = 2000, 20000
"""Rows that are drawn at least, and at most where no code is compiled yet."""
DISCOUNT = 10.0
"""What a row counts less for each further column that it lacks, in look-ahead."""


def affordable(rows: Rows, deadline: Deadline, passes: int, rng: np.random.Generator) -> Rows:
    """All rows, or as many as can be passed over in time, drawn at random."""
    count = rows.table.shape[0]
    if not deadline.limited:
        return rows
    entries = passes * (rows.table.nnz + count)
    allowed = SHARE * max(deadline.left(), 0.0) * ENTRIES_PER_SECOND
    fewer = max(int(count * allowed / entries), FEWEST_ROWS)
    return rows if fewer >= count else rows.sample(fewer, rng)


def on_all(found: Result, used: Rows, rows: Rows, k: int, mode: int) -> Result:
    """An answer for some rows as one for all: its value is of all rows, and nothing is proven but what is trivial."""
    inside = rows.inside(found.support)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    m = used.table.shape[0]
    few = m < rows.table.shape[0]
    note = f"chosen on {m} of {rows.table.shape[0]} rows, drawn at random, for lack of time" if few else ""
    notes = "; ".join(part for part in (note, found.note) if part)
    status = Status.TIME_LIMIT if found.status in (Status.OPTIMAL, Status.FINISHED) else found.status
    if mode == KL:
        value = -math.log(Q) if Q > 0.0 else math.inf
        return replace(found, value=value, bound=0.0, status=status, note=notes)
    norm = collisions(used)
    squares = float(np.square(rows.states(inside).weights * Q).sum()) if inside.any() else 0.0
    spread = (
        math.exp(2.0 * math.log1p(-Q) - math.fsum(math.log(rows.shape[i]) for i in found.support)) if Q < 1 else 0.0
    )
    error = 2.0 * math.sqrt(norm * (1.0 - norm) / m) if few else 0.0
    value = max(norm - squares + spread, 0.0)
    return replace(found, value=value, bound=0.0, status=status, value_se=error, note=notes)


def collisions(rows: Rows) -> float:
    """‖q‖² of the distribution that the rows are a sample of: the chance that two of them are equal, unbiased.

    >>> collisions(Rows.of([[0, 1], [0, 1], [1, 0], [1, 1]])) == 1 / 6
    True
    """
    q = np.bincount(distinct_rows(rows.table)[1], rows.weights)
    alone = float(rows.weights @ rows.weights)
    return (float(q @ q) - alone) / (1.0 - alone) if alone < 1.0 else 1.0


def uncompiled_answer(rows: Rows, k: int, mode: int, deadline: Deadline, seed: int | None) -> Result:
    """Columns by look-ahead in NumPy alone, for a machine that has not compiled anything yet."""
    rng = np.random.default_rng(seed)
    count = min(rows.table.shape[0], MOST_UNCOMPILED)
    used = affordable(rows if count == rows.table.shape[0] else rows.sample(count, rng), deadline, k, rng)
    face = look_ahead(used, k)
    p = np.zeros(rows.n)
    p[face] = 1.0
    found = Result(face, p[face], math.inf, 0.0, Status.TIME_LIMIT, np.empty(0), 1, 0.0, Atoms(rows.n), seed, note=WARM)
    return on_all(found, used, rows, k, mode)


def look_ahead(rows: Rows, k: int) -> Indices:
    """K columns, each the one that the rows still lacking few columns lack most.

    >>> look_ahead(Rows.of([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 1, 1]]), 2).tolist()
    [1, 2]
    """
    table, columns = rows.table, rows.table.tocsc()
    owner = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    missing = np.diff(table.indptr).astype(np.int64)
    inside = np.zeros(rows.n, bool)
    for left in range(k, 0, -1):
        open_rows = (missing > 0) & (missing <= left)
        values: Vector = np.where(open_rows, rows.weights * DISCOUNT ** -(missing - 1.0).clip(0.0, 300.0), 0.0)
        scores = np.bincount(table.indices, values[owner], rows.n)
        scores[inside] = -1.0
        best = int(scores.argmax())
        inside[best] = True
        missing[columns.indices[columns.indptr[best] : columns.indptr[best + 1]]] -= 1
    return np.flatnonzero(inside)
