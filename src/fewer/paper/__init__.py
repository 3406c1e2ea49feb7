"""The paper, reproduced: one file per figure or theorem, and its claims measured on the rows they give."""

from .runner import Reproduction, listed, run

__all__ = ["Reproduction", "listed", "run"]
