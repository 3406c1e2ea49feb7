"""dims under a short time limit: columns chosen on some of the rows, and valued on all of them."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..constraints.dimension_sparse import DimensionSparse
from ..deadline import Deadline
from ..engines.coverage import coverage_engine
from ..engines.engine import Branch
from ..objectives.kl import KL
from ..result import Result, Status
from ..spaces import States
from ..tables import distinct_rows
from .rows import Rows

ENTRIES_PER_SECOND = 4e6
"""Entries of a table that are folded in a second, at least (`python benchmarks/dims.py --part scale`: 8 million)."""
FOLDING_TIME_SHARE = 0.4
"""The share of the time left that folding may take."""
MIN_ROWS, MAX_UNCOMPILED_ROWS = 2000, 20000
"""Rows that are drawn at least, and at most where no code is compiled yet."""


PROBE_COLUMNS = 24
"""Columns of the small problem that tells whether everything is compiled: more than are proven by all masks."""


def affordable(rows: Rows, deadline: Deadline, passes: int, rng: np.random.Generator, most: float = math.inf) -> Rows:
    """All rows, or as many as can be passed over in time, drawn at random."""
    count = rows.table.shape[0]
    if not deadline.limited:
        return rows
    entries = passes * (rows.table.nnz + count)
    allowed = FOLDING_TIME_SHARE * max(deadline.left(), 0.0) * ENTRIES_PER_SECOND
    fewer = int(min(max(count * allowed / entries, MIN_ROWS), most))
    return rows if fewer >= count else rows.sample(fewer, rng)


def on_all(found: Result, used: Rows, rows: Rows, objective: str) -> Result:
    """An answer for some rows as one for all: its value is of all rows, and nothing is proven but what is trivial."""
    inside = rows.inside(found.support)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    m = used.table.shape[0]
    few = m < rows.table.shape[0]
    note = f"chosen on {m} of {rows.table.shape[0]} rows, drawn at random, for lack of time" if few else ""
    notes = "; ".join(part for part in (note, found.note) if part)
    status = Status.TIME_LIMIT if found.status in (Status.OPTIMAL, Status.FINISHED) else found.status
    if objective == "kl":
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


def need_compiled_code(deadline: Deadline) -> None:
    """Raise `CompilationTimeout` where there is no time to compile, before any work is done that would be lost."""
    if deadline.limited:
        _compile_all()


@cache
def _compile_all() -> None:
    """Call every compiled function of a search and a proof; once in a process is enough."""
    pairs = States(np.eye(PROBE_COLUMNS, dtype=np.int8) + np.eye(PROBE_COLUMNS, k=1, dtype=np.int8))
    engine: Any = coverage_engine(KL(pairs, pairs.weights), DimensionSparse(pairs, 3))
    engine.grow(3)
    engine.improve(1)
    engine.perturb(np.random.default_rng(0))
    engine.bound(Branch(np.arange(1), np.arange(1, 2)))
