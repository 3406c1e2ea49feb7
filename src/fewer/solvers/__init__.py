"""Solvers: callables (objective, constraint) -> Result, one per file."""
