"""skfolio: the least variance of the tracking error with a limit on the number of assets, by cvxpy and SCIP."""

from typing import Any

import numpy as np

from peers import Found, Peer


def tracking(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Minimum variance of the tracking error r = A q - b, which is the least squares but for its mean."""
    from skfolio import RiskMeasure
    from skfolio.optimization import MeanRisk

    model = MeanRisk(
        risk_measure=RiskMeasure.VARIANCE,
        cardinality=k,
        solver="SCIP",
        solver_params={"scip_params": {"limits/time": seconds}},
    )
    # with weights that sum to one, A q - b is (A - b) q: the excess returns over the index
    model.fit(problem.A - problem.b[:, None])
    return Found(np.maximum(np.asarray(model.weights_, float), 0.0))


METHODS = {"MeanRisk, cardinality": tracking}
PEER = Peer(
    "skfolio",
    ("skfolio", "pyscipopt"),
    {"returns": METHODS, "tracking": METHODS, "file of terms": METHODS},
    modest=dict.fromkeys(METHODS, 400),
)
