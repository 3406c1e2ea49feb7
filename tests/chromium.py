"""The system's Chromium, driven by playwright: for tests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = ["quic", "background-networking", "component-update", "sync", "gpu"]
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]


@contextmanager
def started() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives Chromium, is not installed"
    )
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: `make browser` fetches one")
    with driver.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()
