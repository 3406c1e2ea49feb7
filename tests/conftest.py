"""The same conditions for every run: examples drawn by seed, and Ctrl-C heeded."""

import signal

import pytest
from hypothesis import settings

from fewer import row_blocks
from fewer.tables import dask as _dask
from fewer.tables import source

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background jobs ignore it, and so would their children
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def blocks_of_64(monkeypatch):
    """Blocks of 64 rows, and nothing gathered."""
    monkeypatch.setattr(row_blocks, "MAX_BLOCK_ROWS", 64)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 64)
    monkeypatch.setattr(source.Stream, "whole", lambda self, memory: self.in_memory)
    monkeypatch.setattr(_dask.DaskBlocks, "whole", lambda self, memory: None)
