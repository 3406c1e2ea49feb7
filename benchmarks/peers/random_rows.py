"""Random rows with equal weights."""

from typing import Any

import numpy as np

from peers import Found, Peer


def drawn(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(np.random.default_rng(seed).choice(len(problem.X), k, replace=False))


PEER = Peer("random", ("numpy",), {"points": {"rows": drawn}})
