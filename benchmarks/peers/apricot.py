"""apricot: facility location by greedy, on all similarities; no weights."""

from typing import Any

import numpy as np

from peers import Found, Peer


def facility(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from apricot import FacilityLocationSelection

    K = problem.similarity(problem.X, problem.X)
    return Found(
        np.asarray(
            FacilityLocationSelection(k, metric="precomputed", verbose=False).fit(K).ranking, int
        )
    )


PEER = Peer(
    "apricot",
    ("apricot-select",),
    {"points": {"facility location": facility}},
    modest={"facility location": 2000},
)
