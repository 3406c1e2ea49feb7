"""Who is measured: one small file each, with its version, the jobs it serves, and a reason where it must be skipped.

A file defines PEER. Its methods are found by job ("points", "bins", "terms", "dims") or by kind of
problem; each takes (problem, k, seed, seconds) and returns a `Found`. Libraries are imported inside
the methods, so that listing the peers imports none of them, and a peer runs in a process of its
own.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module, metadata
from typing import Any, NamedTuple

OWN = {"histogram", "simplex", "sparse simplex", "greedy projection"}
"""Kinds that a method must name: its job is not enough."""


class Found(NamedTuple):
    """An answer: indices (points, dims) or a vector (the others), weights where the peer gives them.

    `final`: it is a k-sparse distribution already and is not re-optimised. `proven`: the peer says
    it is optimal.
    """

    what: Any
    weights: Any = None
    final: bool = False
    proven: bool = False


Method = Callable[[Any, int, int, float], Found]


@dataclass(frozen=True)
class Peer:
    """A library, or an algorithm of the literature, with the methods of it that are measured."""

    name: str
    packages: tuple[str, ...]
    methods: dict[str, dict[str, Method]]
    skip: str = ""
    modest: dict[str, int] = field(default_factory=dict)
    """Method -> the most rows or columns it is given; beyond them memory or time is out of the
    question."""
    minutes: frozenset[str] = frozenset()
    """Methods that prove: they get a limit of one minute and are called once, but in a quick run.
    """

    @property
    def version(self) -> str:
        """The installed version of each package."""
        try:
            return ", ".join(f"{name} {metadata.version(name)}" for name in self.packages)
        except metadata.PackageNotFoundError:
            return ""

    @property
    def reason(self) -> str:
        """Why it is skipped, or nothing."""
        if self.skip:
            return self.skip
        for name in self.packages:
            try:
                metadata.version(name)
            except metadata.PackageNotFoundError:
                return f"{name} is not installed; make bench installs what installs here"
        return ""

    def serves(self, job: str, kind: str) -> dict[str, Method]:
        """The methods for a kind of problem."""
        general = {} if kind in OWN else self.methods.get(job, {})
        return {**general, **self.methods.get(kind, {})}


def every() -> dict[str, Peer]:
    """All peers by name, `fewer` first."""
    modules = [
        import_module(f"{__name__}.{module.name}").PEER for module in pkgutil.iter_modules(__path__)
    ]
    return {
        peer.name: peer
        for peer in sorted(modules, key=lambda peer: (peer.name != "fewer", peer.name.lower()))
    }
