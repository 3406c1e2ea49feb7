"""Kills: `kill -9` at random moments of `-o` and `--report`, one in each case."""

import signal

import numpy as np

from .signals import struck

NAME = "kills"
SHARE = 3.0
SECONDS = 600.0


def case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """One kill."""
    return struck(rng, signal.SIGKILL)
