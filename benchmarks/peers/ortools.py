"""OR-Tools CP-SAT on the same statement, one worker."""

from typing import Any

import numpy as np

from peers import Found, Peer


def cp_sat(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from ortools.sat.python import cp_model

    rows, share = problem.__class__(problem.X).distinct
    (E, n), model = rows.shape, cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(n)]
    y = [model.new_bool_var(f"y{e}") for e in range(E)]
    for e in range(E):
        for i in rows.indices[rows.indptr[e] : rows.indptr[e + 1]]:
            model.add_implication(y[e], x[int(i)])
    model.add(sum(x) <= k)
    counts = np.round(share * problem.X.shape[0]).astype(int)
    model.maximize(sum(int(c) * v for c, v in zip(counts, y, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT found nothing in {seconds:g} s")
    units = np.flatnonzero([solver.boolean_value(v) for v in x])
    return Found(units, proven=status == cp_model.OPTIMAL)


PEER = Peer(
    "OR-Tools",
    ("ortools",),
    {"dims": {"CP-SAT": cp_sat}},
    modest={"CP-SAT": 400_000},
    minutes=frozenset({"CP-SAT"}),
)
