"""Algorithms: callables (objective, constraint) -> Result."""

SOLVER_NAMES = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
"""The names of the solvers, for the command line, which lists them without importing any."""
