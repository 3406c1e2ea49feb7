"""The names of the solvers: for `minimize`, the jobs and the command line, which lists them without importing any."""

SOLVER_NAMES = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
