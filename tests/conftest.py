"""Hypothesis draws the same examples in every run: a failure is news about the code, not luck."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
