"""Interrupts: Ctrl-C at random moments of `-o` and `--report`, one in each case."""

import signal

import numpy as np

from .signals import struck

NAME = "interrupts"
SHARE = 4.0
SECONDS = 600.0


def case(rng: np.random.Generator) -> tuple[str, list[str]]:
    """One interrupt."""
    return struck(rng, signal.SIGINT)
