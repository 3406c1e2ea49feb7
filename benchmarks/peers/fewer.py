"""fewer itself: its public jobs by their solvers."""

from typing import Any

from peers import Found, Method, Peer


def points(solver: str = "auto", patient: float = 0.0) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import points as job

        limit = min(patient, seconds) or None
        result = job(problem.X, k, gamma=problem.gamma, solver=solver, time_limit=limit, rng=seed)
        return Found(result.support, result.p[result.support], final=True)

    return solve


def bins(solver: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import bins as job

        preserve = getattr(problem, "A", "cdf")
        result = job(problem.p, k, preserve=preserve, solver=solver, rng=seed)
        return Found(result.p, final=True, proven=result.status.name == "OPTIMAL")

    return solve


def terms(solver: str, limit: float | None = None) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import terms as job

        result = job(problem.A, problem.b, k, solver=solver, time_limit=limit, rng=seed)
        return Found(result.p, final=True, proven=result.status.name == "OPTIMAL")

    return solve


def dims(solver: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from fewer import dims as job

        result = job(problem.X, k, solver=solver, time_limit=min(seconds, 60.0), rng=seed)
        return Found(result.support, proven=result.status.name == "OPTIMAL")

    return solve


def simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from fewer import Atoms, Simplex

    return Found(Simplex(Atoms(problem.v.size)).project(problem.v))


def sparse_simplex(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from fewer import Atoms, SparseSimplex

    return Found(SparseSimplex(Atoms(problem.v.size), k).project(problem.v))


def greedy_projection(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from fewer import DimensionSparse, Lattice

    return Found(DimensionSparse(Lattice(problem.n, 2), k).project(problem.v))


PEER = Peer(
    "fewer",
    ("fewer",),
    {
        "points": {"auto": points(), "greedy": points("greedy"), "auto, 5 s": points(patient=5.0)},
        "bins": {"auto": bins("auto"), "greedy": bins("greedy"), "iht": bins("iht")},
        "histogram": {"auto": bins("auto")},
        "terms": {"auto": terms("auto"), "exchange": terms("exchange"), "greedy": terms("greedy"), "iht": terms("iht")},
        "dims": {"auto": dims("auto"), "exchange": dims("exchange"), "greedy": dims("greedy")},
        "simplex": {"Simplex.project": simplex},
        "sparse simplex": {"SparseSimplex.project": sparse_simplex},
        "greedy projection": {"DimensionSparse.project": greedy_projection},
    },
)
