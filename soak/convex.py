"""The least loss of weights on one support, by Clarabel: the referee of `structure`.

Nothing of fewer is used.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

Arrays = dict[str, Any]

TIGHT = 1e-11
"""What the interior-point method is asked for."""


def loss_of(name: str, short: Any, weights: Any) -> float:
    """The loss of residuals A q - b."""
    sizes = {
        "squared": short**2,
        "absolute": np.abs(short),
        "downside": np.maximum(-short, 0.0) ** 2,
    }
    return float(weights @ sizes[name])


def least(name: str, A: Any, b: Any, weights: Any, low: float, high: float, rules: Arrays) -> float:
    """Min loss over Σq = 1, low <= q <= high, G q <= h, Σ |q - previous| + beyond <= max_turnover.

    Infinite if none.

    `rules` may hold G and h, or previous, beyond and max_turnover. Variables: q, the parts t of the
    loss where it is no quadratic, and d >= |q - previous|.
    """
    import clarabel

    r, s = A.shape
    parts, turns = (0 if name == "squared" else r), (s if "previous" in rules else 0)
    n = s + parts + turns
    eye, quad, linear = np.eye(s), np.zeros((n, n)), np.zeros(n)
    rows: list[Any] = []
    ends: list[Any] = []

    def add(on_q: Any, end: Any, on_t: Any = None, on_d: Any = None) -> None:
        row = np.zeros((len(on_q), n))
        row[:, :s] = on_q
        if on_t is not None:
            row[:, s : s + parts] = on_t
        if on_d is not None:
            row[:, s + parts :] = on_d
        rows.append(row)
        ends.append(np.broadcast_to(end, len(row)))

    add(np.ones((1, s)), 1.0)
    add(-eye, -low)
    add(eye, high)
    if name == "squared":
        quad[:s, :s], linear[:s] = 2.0 * (A.T * weights) @ A, -2.0 * A.T @ (weights * b)
    else:
        add(-A, -b, -np.eye(r))
        add(
            A if name == "absolute" else np.zeros((r, s)),
            b if name == "absolute" else 0.0,
            -np.eye(r),
        )
        if name == "absolute":
            linear[s : s + r] = weights
        else:
            quad[s : s + r, s : s + r] = 2.0 * np.diag(weights)
    if "G" in rules:
        add(rules["G"], rules["h"])
    if turns:
        add(eye, rules["previous"], on_d=-eye)
        add(-eye, -rules["previous"], on_d=-eye)
        add(np.zeros((1, s)), rules["max_turnover"] - rules["beyond"], on_d=np.ones((1, s)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TIGHT
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(sum(map(len, rows)) - 1)]
    stacked = sp.csc_matrix(np.vstack(rows))
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(quad)), linear, stacked, np.concatenate(ends), cones, settings
    )
    solution = solver.solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return np.inf
    return loss_of(name, A @ np.asarray(solution.x)[:s] - b, weights)
