"""Which QP library refits weights under side conditions: small dense problems, timed and judged side by side.

    python benchmarks/qp_solvers.py

Problems: k columns of random returns that track their mean, q >= 0, Σ q = 1, caps of weights, limits of group weights
and one row of exposures. Each solver is called through its own interface; the referee recomputes value, violation and
duality gap. Printed: median microseconds, the largest violation, and the largest excess over the best value of all.
"""

import time
from collections.abc import Callable

import numpy as np

PROBLEMS, SIZES = 40, (10, 40, 100)
Problem = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]


def drawn(rng: np.random.Generator, k: int) -> Problem:
    """H, c of w'Hw - 2c'w, rows A w <= b beside the sum, and the cap of each weight."""
    X = rng.standard_normal((250, k)) * 0.02 + 0.01 * rng.standard_normal((250, 1))
    y = X @ rng.dirichlet(np.ones(k)) + 0.002 * rng.standard_normal(250)
    group = rng.integers(0, 5, k)
    cap = max(0.1, 1.5 / k)
    A = np.vstack([(group == g).astype(float) for g in range(5)] + [rng.standard_normal(k)])
    w = rng.dirichlet(np.ones(k) * 5)
    w = np.minimum(w, cap)
    w /= w.sum()
    b = A @ w + np.append(np.full(5, 0.05), 0.02)
    return X.T @ X, X.T @ y, A, b, max(cap, float(w.max()))


def by_daqp(H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, cap: float) -> np.ndarray:
    import daqp

    n = len(c)
    rows = np.ascontiguousarray(np.vstack([A, np.ones(n)]))
    upper = np.concatenate([np.full(n, cap), b, [1.0]])
    lower = np.concatenate([np.zeros(n), np.full(len(b), -1e30), [1.0]])
    sense = np.zeros(len(upper), np.int32)
    sense[-1] = 5
    return daqp.solve(2.0 * H, -2.0 * c, rows, upper, lower, sense, primal_tol=1e-10)[0]


def by_quadprog(
    H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, cap: float
) -> np.ndarray:
    import quadprog

    n = len(c)
    rows = np.vstack([np.ones(n), np.eye(n), -np.eye(n), -A])
    right = np.concatenate([[1.0], np.zeros(n), np.full(n, -cap), -b])
    return quadprog.solve_qp(2.0 * H, 2.0 * c, rows.T.copy(), right, 1)[0]


def by_piqp(H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, cap: float) -> np.ndarray:
    import piqp

    n = len(c)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.setup(
        2.0 * H,
        -2.0 * c,
        np.ones((1, n)),
        np.ones(1),
        A,
        np.full(len(b), -1e30),
        b,
        np.zeros(n),
        np.full(n, cap),
    )
    solver.solve()
    return np.array(solver.result.x)


def by_clarabel(
    H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, cap: float
) -> np.ndarray:
    import clarabel
    import scipy.sparse as sp

    n = len(c)
    rows = sp.csc_matrix(np.vstack([np.ones((1, n)), A, np.eye(n), -np.eye(n)]))
    right = np.concatenate([[1.0], b, np.full(n, cap), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(right) - 1)]
    return np.array(
        clarabel.DefaultSolver(
            sp.csc_matrix(np.triu(2.0 * H)), -2.0 * c, rows, right, cones, settings
        )
        .solve()
        .x
    )


def by_highs(H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, cap: float) -> np.ndarray:
    import highspy
    import scipy.sparse as sp

    n = len(c)
    rows = sp.csc_matrix(np.vstack([np.ones((1, n)), A]))
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = n, rows.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = -2.0 * c, np.zeros(n), np.full(n, cap)
    lp.row_lower_, lp.row_upper_ = (
        np.append(1.0, np.full(len(b), -highspy.kHighsInf)),
        np.append(1.0, b),
    )
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = (
        rows.indptr,
        rows.indices,
        rows.data,
    )
    lower = sp.csc_matrix(np.tril(2.0 * H))
    model.hessian_.dim_, model.hessian_.format_ = n, highspy.HessianFormat.kTriangular
    model.hessian_.start_, model.hessian_.index_, model.hessian_.value_ = (
        lower.indptr,
        lower.indices,
        lower.data,
    )
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.passModel(model)
    solver.run()
    return np.array(solver.getSolution().col_value)


SOLVERS: dict[str, Callable[..., np.ndarray]] = {
    "DAQP": by_daqp,
    "quadprog": by_quadprog,
    "PIQP": by_piqp,
    "Clarabel": by_clarabel,
    "HiGHS": by_highs,
}


def main() -> None:
    """Measure all, and print a table."""
    print("| library | " + " | ".join(f"k = {k}: µs | violation | excess" for k in SIZES) + " |")
    print("|---|" + "---|" * (3 * len(SIZES)))
    cells: dict[str, list[str]] = {name: [] for name in SOLVERS}
    for k in SIZES:
        problems = [drawn(np.random.default_rng(seed), k) for seed in range(PROBLEMS)]
        answers, seconds = {}, {}
        for name, solve in SOLVERS.items():
            taken = []
            answers[name] = []
            for problem in problems:
                begun = time.perf_counter()
                answers[name].append(solve(*problem))
                taken.append(time.perf_counter() - begun)
            seconds[name] = float(np.median(taken))
        values = {
            name: [w @ p[0] @ w - 2 * p[1] @ w for w, p in zip(ws, problems, strict=True)]
            for name, ws in answers.items()
        }
        best = np.min(list(values.values()), axis=0)
        for name, ws in answers.items():
            off = max(
                max(
                    abs(w.sum() - 1),
                    float((p[2] @ w - p[3]).max()),
                    float(-w.min()),
                    float(w.max() - p[4]),
                )
                for w, p in zip(ws, problems, strict=True)
            )
            cells[name] += [
                f"{1e6 * seconds[name]:.0f}",
                f"{off:.0e}",
                f"{np.max(values[name] - best):.0e}",
            ]
    for name, row in cells.items():
        print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
