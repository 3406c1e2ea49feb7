"""dims as a textbook states it, HiGHS through SciPy: max Σ w_e y_e, y_e <= x_i for i in e, Σ x <= k, x binary."""

from typing import Any

import numpy as np

from peers import Found, Peer


def milp(problem: Any, k: int, seed: int, seconds: float) -> Found:
    import scipy.sparse as sp
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.optimize import milp as solve

    rows, share = problem.__class__(problem.X).distinct
    (E, n), entry = rows.shape, np.arange(rows.nnz)
    owner = np.repeat(np.arange(E), np.diff(rows.indptr))
    signs = np.r_[np.ones(entry.size), -np.ones(entry.size)]
    inside = sp.csr_array(
        (signs, (np.r_[entry, entry], np.r_[n + owner, rows.indices])), shape=(entry.size, n + E)
    )
    chosen = np.r_[np.ones(n), np.zeros(E)]
    answer = solve(
        np.r_[np.zeros(n), -share],
        constraints=[LinearConstraint(inside, -np.inf, 0), LinearConstraint(chosen, -np.inf, k)],
        integrality=chosen,
        bounds=Bounds(0, 1),
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    if answer.x is None:
        raise RuntimeError(f"HiGHS found nothing in {seconds:g} s")
    return Found(np.flatnonzero(answer.x[:n] > 0.5), proven=answer.status == 0)


PEER = Peer(
    "SciPy MILP (HiGHS)",
    ("scipy",),
    {"dims": {"textbook MILP": milp}},
    modest={"textbook MILP": 400_000},
    minutes=frozenset({"textbook MILP"}),
)
