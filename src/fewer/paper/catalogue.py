"""Every figure and theorem of the paper, in its order."""

from . import fig1, fig2b, fig23, theorem1, theorem2, theorem3, theorem4, theorem5
from .experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    "fig1a": fig1.experiment("fig1a", divergence=False),
    "fig1b": fig1.experiment("fig1b", divergence=True),
    "fig2a": fig23.FIG2A,
    "fig2b": fig2b.EXPERIMENT,
    "fig3a": fig23.FIG3A,
    "fig3b": fig23.FIG3B,
    "theorem1": theorem1.EXPERIMENT,
    "theorem2": theorem2.EXPERIMENT,
    "theorem3": theorem3.EXPERIMENT,
    "theorem4": theorem4.EXPERIMENT,
    "theorem5": theorem5.EXPERIMENT,
}
