"""SciPy: non-negative least squares, its k largest weights."""

from typing import Any

from peers import Found, Peer


def nnls(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from scipy.optimize import nnls as solve

    return Found(solve(problem.A, problem.b)[0])


PEER = Peer(
    "SciPy", ("scipy",), {"bins": {"NNLS": nnls}, "terms": {"NNLS": nnls}}, modest={"NNLS": 20_000}
)
