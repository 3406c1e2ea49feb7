"""mmd-critic: greedy prototypes with equal weights, on the whole matrix of similarities."""

from typing import Any

import numpy as np

from peers import Found, Peer


def prototypes(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from mmd_critic import MMDCritic
    from mmd_critic.kernels import RBFKernel

    width = RBFKernel(sigma=(2.0 * problem.gamma) ** -0.5)
    critic = MMDCritic(problem.X, width, labels=np.arange(len(problem.X)))
    return Found(np.asarray(critic.select_prototypes(k)[1], int))


PEER = Peer(
    "mmd-critic",
    ("mmd-critic",),
    {"points": {"greedy prototypes": prototypes}},
    modest={"greedy prototypes": 12_000},
)
