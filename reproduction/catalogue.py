"""Every figure and theorem of the paper, in its order; each is imported when it is asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from .experiment import Experiment

TITLES = {
    "fig1a": "Figure 1 (a): normalised l2 norm minimisation",
    "fig1b": "Figure 1 (b): normalised KL divergence minimisation",
    "fig2a": "Figure 2 (a): distribution compression, test error at varying k",
    "fig2b": "Figure 2 (b): dataset compression, 1-NN test error against the number of prototypes",
    "fig3a": "Figure 3 (a): convergence at k = 200",
    "fig3b": "Figure 3 (b): error comparison with different k",
    "theorem1": "Theorem 1: subset sum through the projection onto D_k",
    "theorem2": "Theorem 2: the adversary that defeats greedy projection",
    "theorem3": "Theorem 3: when greedy projection finds the support",
    "theorem4": "Theorem 4: predicted and measured convergence of IHT",
    "theorem5": "Theorem 5: the variational derivative is the gradient",
}
HOMES = {"fig1a": "fig1", "fig1b": "fig1", "fig2a": "fig23", "fig3a": "fig23", "fig3b": "fig23"}
"""The modules that are not called as their experiment is."""


class Catalogue(Mapping[str, Experiment]):
    """The experiments by name.

    >>> len(EXPERIMENTS), EXPERIMENTS["theorem1"].runs
    (11, 30)
    """

    def __getitem__(self, name: str) -> Experiment:
        if name not in TITLES:
            raise KeyError(name)
        home = import_module(f".{HOMES.get(name, name)}", __package__)
        experiment: Experiment = home.EXPERIMENTS[name]
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(TITLES)

    def __len__(self) -> int:
        return len(TITLES)


EXPERIMENTS = Catalogue()
