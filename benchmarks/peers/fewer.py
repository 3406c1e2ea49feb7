"""fewer itself: its public jobs by their solvers."""

from functools import cache
from typing import Any

from peers import Found, Method, Peer


def points(solver: str = "auto", limit: float | None = None) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import points as job

        result = job(problem.X, k, gamma=problem.gamma, solver=solver, time_limit=limit, rng=seed)
        return Found(result.indices, result.weights, final=True)

    return solve


def bins(solver: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import bins as job

        preserve = getattr(problem, "A", "cdf")
        result = job(counts=problem.p, k=k, preserve=preserve, solver=solver, rng=seed)
        return Found(result.p, final=True, proven=result.status.name == "OPTIMAL")

    return solve


def terms(solver: str, limit: float | None = None) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import terms as job

        most = seconds if solver == "exact" else limit
        result = job(problem.A, problem.b, k, solver=solver, time_limit=most, rng=seed)
        return Found(result.p, final=True, proven=result.status.name == "OPTIMAL")

    return solve


def dims(solver: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import dims as job

        limit = seconds if solver == "exact" else None  # a proof has as long as a MILP solver has
        result = job(problem.X, k, solver=solver, time_limit=limit, rng=seed)
        return Found(result.indices, proven=result.status.name == "OPTIMAL")

    return solve


@cache
def constraint(name: str, n: int, k: int) -> Any:
    """Made once: what is measured is the projection."""
    from fewer import Atoms, DimensionSparse, Lattice, Simplex, SparseSimplex

    if name == "dimensions":
        return DimensionSparse(Lattice(n, 2), k)
    return Simplex(Atoms(n)) if name == "simplex" else SparseSimplex(Atoms(n), k)


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(constraint("simplex", problem.v.size, k).project(problem.v))


def sparse_simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(constraint("sparse simplex", problem.v.size, k).project(problem.v))


def greedy_projection(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(constraint("dimensions", problem.n, k).project(problem.v))


PEER = Peer(
    "fewer",
    ("fewer",),
    {
        "points": {"auto": points(), "greedy": points("greedy"), "auto, 5 s": points(limit=5.0)},
        "bins": {"auto": bins("auto"), "greedy": bins("greedy"), "iht": bins("iht")},
        "histogram": {"auto": bins("auto")},
        "terms": {
            "auto": terms("auto"),
            "exchange": terms("exchange"),
            "exchange, 0.01 s": terms("exchange", limit=0.01),
            "greedy": terms("greedy"),
            "iht": terms("iht"),
        },
        "returns": {"exact": terms("exact")},
        "tracking": {"exact": terms("exact")},
        "file of terms": {"exact": terms("exact")},
        "dims": {
            "auto": dims("auto"),
            "exact": dims("exact"),
            "exchange": dims("exchange"),
            "greedy": dims("greedy"),
        },
        "simplex": {"Simplex.project": simplex},
        "sparse simplex": {"SparseSimplex.project": sparse_simplex},
        "greedy projection": {"DimensionSparse.project": greedy_projection},
    },
    minutes=frozenset({"exact"}),
)
