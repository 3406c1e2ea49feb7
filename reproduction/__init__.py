"""The paper, reproduced: a file for each figure or theorem, and its claims measured on the rows they give."""

from .runner import Reproduction, judged, run

__all__ = ["Reproduction", "judged", "run"]
