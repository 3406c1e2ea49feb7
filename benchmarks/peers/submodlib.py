"""submodlib: submodular selection in C++ on the similarities, by lazy greedy; no weights."""

from typing import Any

import numpy as np

from peers import Found, Method, Peer


def selected(name: str) -> Method:
    def solve(problem: Any, k: int, seed: int, seconds: float) -> Found:
        from submodlib import FacilityLocationFunction, GraphCutFunction

        K = problem.similarity(problem.X, problem.X).astype(np.float32)
        if name == "facility location":
            function = FacilityLocationFunction(n=len(K), mode="dense", sijs=K, separate_rep=False)
        else:  # with this lambda it is MMD² of k equal weights, but for a factor and a constant
            trade = len(K) / (2 * k)
            function = GraphCutFunction(
                n=len(K), mode="dense", lambdaVal=trade, ggsijs=K, separate_rep=False
            )
        lazy = {"optimizer": "LazyGreedy", "stopIfZeroGain": False, "stopIfNegativeGain": False}
        return Found(
            np.array([unit for unit, _ in function.maximize(budget=k, **lazy, verbose=False)])
        )

    return solve


METHODS = {name: selected(name) for name in ("facility location", "graph cut")}
PEER = Peer(
    "submodlib", ("submodlib-py",), {"points": METHODS}, modest=dict.fromkeys(METHODS, 10_000)
)
