"""Structure side by side: conditions on weights beside MIP solvers, groups beside group lasso, and quarterly tracking.

    python benchmarks/structure.py DATA/index_tracking.npz [--seconds 20] [--picture docs/images/structure_tracking.png]

Every method gets the same numbers; values are recomputed here, and an answer that breaks a condition by more than 1e-6
is shown as such. Peers that are not installed are left out with a reason.
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from fewer import Atoms, GroupSparse, Moments, minimize, terms

CAP, CLUSTERS, TURNOVER, PER_CLUSTER = 0.10, 8, 0.20, 0.30
PLANS = {"Hang Seng 31": (104, 13, 15), "FTSE 89": (104, 13, 20), "S&P 386": (126, 63, 25)}
"""Periods of history, periods between two rebalancings, and k: weeks, and for S&P days."""


def clusters(X: np.ndarray, count: int = CLUSTERS) -> np.ndarray:
    """Groups of columns whose returns go together: complete linkage of correlation distances."""
    distance = np.sqrt(np.maximum(0.5 * (1.0 - np.corrcoef(X.T)), 0.0))
    upper = distance[np.triu_indices(len(distance), 1)]
    return fcluster(linkage(upper, "complete"), count, "maxclust") - 1


def by_fewer(
    X: np.ndarray, y: np.ndarray, k: int, asked: dict[str, Any], seconds: float
) -> np.ndarray:
    """Our local search, without a clock."""
    return terms(X, y, k, rng=0, solver="exchange", **asked).p


def membership(asked: dict[str, Any]) -> np.ndarray | None:
    """Which columns each group has; None where groups have no limit."""
    if "max_group_weight" not in asked:
        return None
    return (asked["groups"][None] == np.arange(asked["groups"].max() + 1)[:, None]).astype(float)


def by_scip(
    X: np.ndarray, y: np.ndarray, k: int, asked: dict[str, Any], seconds: float
) -> np.ndarray:
    """The mixed-integer quadratic programme as cvxpy says it to SCIP."""
    import cvxpy as cp

    n = X.shape[1]
    q, z = cp.Variable(n, nonneg=True), cp.Variable(n, boolean=True)
    rows = [cp.sum(q) == 1, q <= asked["max_weight"] * z, cp.sum(z) <= k, *conditions_of(q, asked)]
    problem = cp.Problem(cp.Minimize(1e4 * cp.sum_squares(X @ q - y)), rows)
    problem.solve(solver="SCIP", scip_params={"limits/time": seconds})
    if q.value is None:
        raise RuntimeError("no answer in time")
    return tidy(q.value, k)


def by_highs_mip(
    X: np.ndarray, y: np.ndarray, k: int, asked: dict[str, Any], seconds: float
) -> np.ndarray:
    """HiGHS has no mixed-integer squares: absolute errors choose the columns, whose squares are then fitted."""
    import cvxpy as cp

    n = X.shape[1]
    q, z = cp.Variable(n, nonneg=True), cp.Variable(n, boolean=True)
    rows = conditions_of(q, asked)
    held = [cp.sum(q) == 1, q <= asked["max_weight"] * z, cp.sum(z) <= k, *rows]
    cp.Problem(cp.Minimize(1e2 * cp.norm1(X @ q - y)), held).solve(
        solver="HIGHS", time_limit=seconds
    )
    if q.value is None:
        raise RuntimeError("no answer in time")
    chosen = np.argsort(-q.value)[:k]
    inside = np.isin(np.arange(n), chosen).astype(float)
    rules = [cp.sum(q) == 1, q <= asked["max_weight"] * inside, *rows]
    cp.Problem(cp.Minimize(1e4 * cp.sum_squares(X @ q - y)), rules).solve(solver="CLARABEL")
    if q.value is None:
        raise RuntimeError("the columns chosen in time carry no feasible weights")
    return tidy(q.value, k)


def conditions_of(q: Any, asked: dict[str, Any]) -> list[Any]:
    """Limits of groups and the turnover as cvxpy says them."""
    import cvxpy as cp

    inside = membership(asked)
    rows = [] if inside is None else [inside @ q <= asked["max_group_weight"]]
    return (
        [*rows, cp.norm1(q - asked["previous"]) <= asked["max_turnover"]]
        if "previous" in asked
        else rows
    )


def by_skfolio(
    X: np.ndarray, y: np.ndarray, k: int, asked: dict[str, Any], seconds: float
) -> np.ndarray:
    """Skfolio's benchmark tracker: the standard deviation of excess returns, by SCIP."""
    from skfolio.optimization import BenchmarkTracker

    model = BenchmarkTracker(
        cardinality=k,
        max_weights=asked["max_weight"],
        add_constraints=(lambda w: conditions_of(w, asked))
        if set(asked) & {"previous", "max_group_weight"}
        else None,
        solver="SCIP",
        solver_params={"scip_params": {"limits/time": seconds}},
    )
    return tidy(np.asarray(model.fit(X, y).weights_), k)


def tidy(q: np.ndarray, k: int) -> np.ndarray:
    """A solver's weights with its rounding taken off: the k heaviest, not negative, of sum one."""
    q = np.maximum(q, 0.0)
    q[np.argsort(-q)[k:]] = 0.0
    q[q < 1e-7] = 0.0
    return q / q.sum()


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "fewer": by_fewer,
    "cvxpy + SCIP": by_scip,
    "cvxpy + HiGHS, refitted": by_highs_mip,
    "skfolio (SCIP)": by_skfolio,
}


def broken(p: np.ndarray, k: int, asked: dict[str, Any]) -> float:
    """How far the weights miss any condition."""
    missed = [abs(p.sum() - 1), p.max() - asked["max_weight"], float(np.count_nonzero(p) - k)]
    if "max_group_weight" in asked:
        missed.append(float((np.bincount(asked["groups"], p) - asked["max_group_weight"]).max()))
    if "previous" in asked:
        missed.append(float(np.abs(p - asked["previous"]).sum() - asked["max_turnover"]))
    return max(missed)


def attempt(
    method: Callable[..., np.ndarray], *problem: Any
) -> tuple[np.ndarray | None, float, str]:
    """The answer, the seconds, and why there is none."""
    begun = time.perf_counter()
    try:
        p = method(*problem)
    except Exception as error:  # a peer's own
        return None, time.perf_counter() - begun, type(error).__name__
    return p, time.perf_counter() - begun, ""


def side_by_side(markets: dict[str, tuple[np.ndarray, np.ndarray]], seconds: float) -> None:
    """One fit under conditions, all methods."""
    print(
        "| problem | method | squared error | seconds | breaks conditions by |\n|---|---|---|---|---|"
    )
    for name, k in (("Hang Seng 31", 10), ("FTSE 89", 15), ("S&P 386", 20)):
        X, y = markets[name]
        half = len(y) // 2
        groups = clusters(X[:half])
        cap = max(CAP, 1.2 / k)
        before = terms(X[:half], y[:half], k, max_weight=cap, rng=0).p
        for title, asked in (
            (
                "10 % caps, 30 % per cluster",
                {"max_weight": cap, "groups": groups, "max_group_weight": PER_CLUSTER},
            ),
            (
                "10 % caps, turnover 0.4",
                {"max_weight": cap, "previous": before, "max_turnover": 2 * TURNOVER},
            ),
        ):
            for method, solve in METHODS.items():
                p, taken, why = attempt(solve, X[half:], y[half:], k, asked, seconds)
                value = "none" if p is None else f"{np.square(X[half:] @ p - y[half:]).sum():.4g}"
                off = why if p is None else f"{max(broken(p, k, asked), 0):.0e}"
                print(
                    f"| {name}, k = {k}, {title} | {method} | {value} | {taken:.1f} | {off} |",
                    flush=True,
                )


class GroupProblem:
    """K of 40 groups of 5 columns; what peers choose is refitted on the simplex."""

    def __init__(self, seconds: float) -> None:
        rng = np.random.default_rng(0)
        self.seconds, self.groups = seconds, np.repeat(np.arange(40), 5)
        self.X = (
            rng.standard_normal((80, 200)) + 0.7 * rng.standard_normal((80, 40))[:, self.groups]
        )
        truth = np.where(
            np.isin(self.groups, rng.permutation(40)[:6]), rng.dirichlet(np.ones(200)), 0.0
        )
        self.y = self.X @ (truth / truth.sum()) + 0.05 * rng.standard_normal(80)
        self.F = Moments(Atoms(200), self.X, self.y)
        self.inside = (self.groups[None] == np.arange(40)[:, None]).astype(float)

    def refitted(self, chosen: np.ndarray) -> np.ndarray:
        """The best weights on some groups."""
        return self.F.best_on(np.flatnonzero(np.isin(self.groups, chosen)))

    def fewer(self, k: int, solver: str = "auto") -> np.ndarray:
        """Our search and its proof."""
        return minimize(self.F, GroupSparse(self.F.space, self.groups, k), solver, rng=0).p

    def lasso(self, k: int, library: str) -> np.ndarray:
        """A group lasso with the largest penalty that leaves k groups."""
        model = import_module(library).GroupLasso
        most = max(np.linalg.norm(self.X[:, self.groups == g].T @ self.y) for g in range(40)) / len(
            self.y
        )
        for alpha in np.geomspace(most, most / 1000, 60):
            w = model(groups=5, alpha=alpha, fit_intercept=False).fit(self.X, self.y).coef_
            size = self.inside @ w**2
            if np.count_nonzero(size) >= k:
                break
        return self.refitted(np.argsort(-size)[:k])

    def abess(self, k: int) -> np.ndarray:
        """Best subsets of groups without signs or a sum."""
        from abess import LinearRegression

        model = LinearRegression(support_size=[k], fit_intercept=False, group=self.groups).fit(
            self.X, self.y
        )
        return self.refitted(np.unique(self.groups[np.flatnonzero(model.coef_)]))

    def mip(self, k: int, solver: str) -> np.ndarray:
        """A mixed-integer programme: squares by SCIP, absolute errors by HiGHS, which has no mixed-integer squares."""
        import cvxpy as cp

        q, z = cp.Variable(200, nonneg=True), cp.Variable(40, boolean=True)
        loss = cp.sum_squares if solver == "SCIP" else cp.norm1
        rows = [cp.sum(q) == 1, self.inside @ q <= z, cp.sum(z) <= k]
        limit = (
            {"scip_params": {"limits/time": self.seconds}}
            if solver == "SCIP"
            else {"time_limit": self.seconds}
        )
        cp.Problem(cp.Minimize(loss(self.X @ q - self.y)), rows).solve(solver=solver, **limit)
        return self.refitted(np.argsort(-(self.inside @ q.value))[:k])


def whole_groups(seconds: float) -> None:
    """K of 40 groups of 5 columns: fewer, and the groups that peers choose, refitted on the simplex."""
    print("\n| k of 40 groups | method | squared error | seconds |\n|---|---|---|---|")
    given = GroupProblem(seconds)
    given.fewer(2)  # compiled
    ways: dict[str, Callable[[int], np.ndarray]] = {
        "fewer": given.fewer,
        "fewer, greedy": lambda k: given.fewer(k, "greedy"),
        "celer group lasso, refitted": lambda k: given.lasso(k, "celer"),
        "skglm group lasso, refitted": lambda k: given.lasso(k, "skglm"),
        "abess groups, refitted": given.abess,
        "cvxpy + SCIP, refitted": lambda k: given.mip(k, "SCIP"),
        "cvxpy + HiGHS (absolute errors), refitted": lambda k: given.mip(k, "HIGHS"),
    }
    for k in (3, 6):
        for name, solve in ways.items():
            p, taken, why = attempt(solve, k)
            print(
                f"| {k} | {name} | {why if p is None else f'{given.F.value(p):.4g}'} | {taken:.2f} |",
                flush=True,
            )


def limits_of(groups: np.ndarray, p: np.ndarray | None) -> dict[str, Any]:
    """Caps, limits of clusters and a turnover; what prices have moved beyond a limit need not be sold at once."""
    cap, each = CAP, np.full(groups.max() + 1, PER_CLUSTER)
    if p is None:
        return {"max_weight": cap, "groups": groups, "max_group_weight": each}
    cap, each = max(cap, float(p.max())), np.maximum(each, np.bincount(groups, p, len(each)))
    return {
        "max_weight": cap,
        "groups": groups,
        "max_group_weight": each,
        "previous": p,
        "max_turnover": TURNOVER,
    }


def rolled(
    X: np.ndarray,
    y: np.ndarray,
    plan: tuple[int, int, int],
    limited: bool,
    method: Any,
    seconds: float,
) -> dict[str, Any]:
    """Rebalance each quarter on the window before it; what follows is out of sample."""
    window, quarter, k = plan
    begun, p, errors, turned, idle = time.perf_counter(), None, [], [], 0
    for start, end in pairwise(range(window, len(y) + 1, quarter)):
        past = slice(start - window, start)
        asked: dict[str, Any] = limits_of(clusters(X[past]), p) if limited else {"max_weight": 1.0}
        try:
            q = method(X[past], y[past], k, asked, seconds)
        except Exception:  # a peer without an answer in time: nothing is traded
            q, idle = p, idle + 1
        if q is None:
            return {
                "te": np.nan,
                "turnover": np.nan,
                "most": np.nan,
                "seconds": np.nan,
                "idle": 1,
                "errors": np.zeros(0),
            }
        if p is not None:
            turned.append(float(np.abs(q - p).sum()))
        ahead = slice(start, end)
        errors.append(X[ahead] @ q - y[ahead])
        grown = q * np.prod(1.0 + X[ahead], axis=0)
        p = grown / grown.sum()
    left = np.concatenate(errors)
    spent = time.perf_counter() - begun
    turnover, most = (float(number(turned)) for number in (np.mean, np.max))
    te = float(left.std())
    return {
        "te": te,
        "turnover": turnover,
        "most": most,
        "seconds": spent,
        "idle": idle,
        "errors": left,
    }


def tracking(
    markets: dict[str, tuple[np.ndarray, np.ndarray]], picture: str | None, seconds: float
) -> None:
    """Quarterly rebalancing out of sample."""
    heads = "market | method | tracking error per period | mean turnover | largest | quarters without an answer | seconds"
    print(f"\n| {heads} |\n|---|---|---|---|---|---|---|")
    shown = {}
    for name, (window, quarter, k) in PLANS.items():
        X, y = markets[name]
        ways = {"fewer, no limits": (by_fewer, False), "fewer, limits": (by_fewer, True)}
        ways["skfolio, limits"] = (by_skfolio, True)
        for method, (solve, limited) in ways.items():
            found = rolled(X, y, (window, quarter, k), limited, solve, seconds)
            shown[name, method] = found
            turned = f"{found['turnover']:.2f} | {found['most']:.2f} | {found['idle']}"
            numbers = f"{found['te']:.5f} | {turned} | {found['seconds']:.0f}"
            print(f"| {name}, k = {k} | {method} | {numbers} |", flush=True)
    if picture:
        draw(shown, picture)


def draw(shown: dict[tuple[str, str], dict[str, Any]], path: str) -> None:
    """The cumulative difference from the index, out of sample."""
    import matplotlib.pyplot as plt

    names, colours = (
        list(dict.fromkeys(market for market, _ in shown)),
        ("0.55", "#0b6e99", "#c2571a"),
    )
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.2 * len(names), 3.8), layout="constrained", facecolor="white"
    )
    for axis, market in zip(np.atleast_1d(axes), names, strict=True):
        found_here = [
            (method, found) for (where, method), found in shown.items() if where == market
        ]
        for (method, found), colour in zip(found_here, colours, strict=True):
            if found["errors"].size:
                label = (
                    f"{method}: error {1e4 * found['te']:.0f} bp, turnover {found['turnover']:.2f}"
                )
                axis.plot(100 * np.cumsum(found["errors"]), label=label, lw=1.4, color=colour)
        axis.axhline(0, color="0.3", lw=0.8)
        axis.set(
            title=f"{market}, k = {PLANS[market][2]}", xlabel="days" if "386" in market else "weeks"
        )
        axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17))
    np.atleast_1d(axes)[0].set_ylabel("tracked minus index, %, out of sample")
    figure.savefig(path, dpi=90)


def main() -> None:
    """Run all three."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--picture")
    parser.add_argument("--part", choices=["side", "groups", "tracking"])
    given = parser.parse_args()
    data = np.load(given.data, allow_pickle=False)
    markets = {"S&P 386": (data["sp500_2010_asset_returns"], data["sp500_2010_index_returns"])}
    for name, key in (
        ("Hang Seng 31", "orlib1_hangseng31_prices"),
        ("FTSE 89", "orlib3_ftse89_prices"),
    ):
        returns = data[key][1:] / data[key][:-1] - 1
        markets[name] = returns[:, 1:], returns[:, 0]
    if given.part in (None, "groups"):
        whole_groups(given.seconds)
    if given.part in (None, "side"):
        side_by_side(markets, given.seconds)
    if given.part in (None, "tracking"):
        tracking(markets, given.picture, given.seconds)


if __name__ == "__main__":
    main()
