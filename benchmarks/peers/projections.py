"""NumPy's sort and the literal transcription of Algorithm 2: what one would write without a library."""

from typing import Any

from peers import Found, Peer


def sorting(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from problems.core import by_sorting

    return Found(by_sorting(problem.v))


def sparse(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from problems.core import top_by_sorting

    return Found(top_by_sorting(problem.v, k))


def literal(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from problems.core import literal as transcription

    return Found(transcription(problem.v, problem.rows, k))


METHODS = {
    "simplex": {"sorting": sorting},
    "sparse simplex": {"sorting": sparse},
    "greedy projection": {"literal transcription": literal},
}
PEER = Peer("NumPy", ("numpy",), METHODS)
