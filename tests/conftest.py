"""The same conditions for every run: examples drawn by seed, Ctrl-C heeded, and searches that give up sooner.

A default search ends after 3000 perturbations without a gain, about a second on problems of any size. What tests check
(feasible, valued, repeated, the same from every kind of input) holds of every answer, however long it was searched for,
and thousands of tests solve something: they give up after a tenth of that. Tests of how good answers are have the mark
`full_search`.
"""

import importlib
import signal

import pytest
from hypothesis import settings

exchange = importlib.import_module("fewer.solvers.exchange")
IDLE = exchange.IDLE
exchange.IDLE = IDLE // 10  # before any fixture of a module solves something


@pytest.fixture(autouse=True)
def _patience(request, monkeypatch):
    if request.node.get_closest_marker("full_search"):
        monkeypatch.setattr(exchange, "IDLE", IDLE)


settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background jobs ignore it, and so would their children
    signal.signal(signal.SIGINT, signal.default_int_handler)
