"""Where the data of section 4.2 come from: a folder, a download, or a stand-in.

And which it was.
"""

import hashlib
import socket
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from sklearn.datasets import fetch_openml, load_digits

from fewer import InvalidInput

from .arrays import Vector
from .experiment import Setting

TIMEOUT_SECONDS = 20.0
"""Seconds to wait for a server."""
USPS_COUNTS = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
"""Digits 0..9 in the 7291 training rows of the paper's split."""


class Histogram(NamedTuple):
    """A distribution on bins, and what it is."""

    p: Vector
    source: str


class Digits(NamedTuple):
    """Training and test rows with labels, and what they are."""

    X: Vector
    y: Any
    X_test: Vector
    y_test: Any
    source: str


def charges(setting: Setting) -> Histogram:
    """The paper's histogram of hospital charges: 10,000 bins of 1000 USD, or 2,000 of 5000 when quick."""
    return _charges(setting.data, setting.quick)


@lru_cache(maxsize=4)
def _charges(folder: Path | None, quick: bool) -> Histogram:
    arrays = read(folder, "hospital_charges.npz", "cms2011_counts_discharges")
    if arrays is not None:
        source = "Medicare FY2011 charges in place of the paper's Texas file"
        return binned(arrays[0], source, quick)
    draws = np.exp(np.random.default_rng(0).normal(np.log(20000), 1.1, 740817))
    counts = np.bincount((draws[draws < 1e7] / 1000).astype(int), minlength=10000)
    source = "lognormal stand-in for the paper's Texas charges"
    return binned(counts.astype(np.float64), source, quick)


def binned(counts: Vector, source: str, quick: bool) -> Histogram:
    """Counts as a distribution, five bins in one when quick."""
    if quick:
        counts, source = counts.reshape(-1, 5).sum(axis=1), f"{source}, 2,000 bins"
    return Histogram(counts / counts.sum(), source)


def read(folder: Path | None, file: str, *names: str) -> list[Any] | None:
    """Arrays of an npz file as float64, never unpickled; None where the file is not there."""
    path = Path() if folder is None else folder / file
    if not path.is_file():
        return None
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            return [np.asarray(arrays[name], np.float64) for name in names]
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        wanted = ", ".join(names)
        raise InvalidInput(f"{path} must be an npz file with {wanted}: {error}") from None


def checksum(*arrays: Any) -> str:
    """The SHA-256 of arrays: of their shapes and numbers, not of the file that held them."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(np.shape(array)).encode())
        digest.update(np.ascontiguousarray(array, np.float64).tobytes())
    return digest.hexdigest()


def digits(setting: Setting) -> Digits:
    """The paper's USPS digits from a folder or OpenML, else the digits bundled with scikit-learn."""
    return _digits(setting.data, setting.quick)


@lru_cache(maxsize=2)
def _digits(folder: Path | None, quick: bool) -> Digits:
    arrays = read(folder, "usps.npz", "X_train", "y_train", "X_test", "y_test")
    if arrays is not None:
        X, y, X_test, y_test = arrays
        labels = (y.astype(int), y_test.astype(int))
        return Digits(X, labels[0], X_test, labels[1], f"USPS digits, {len(X)} training rows")
    downloaded = None if quick else download_usps()
    return downloaded if downloaded is not None else bundled_digits()


def download_usps() -> Digits | None:
    """USPS from OpenML (data set 41082), only if its first 7291 rows are the paper's training rows."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a retry, or of a server's old format
            X, y = fetch_openml(
                data_id=41082, as_frame=False, return_X_y=True, parser="auto", n_retries=1
            )
        X, y = np.asarray(X, np.float64), np.asarray(y).astype(float).astype(int) - 1
    except Exception:  # whatever goes wrong on the way, there is a stand-in, and the title says so
        return None
    finally:
        socket.setdefaulttimeout(before)
    if len(X) != 9298 or np.bincount(y[:7291], minlength=10).tolist() != USPS_COUNTS:
        return None
    name = "USPS digits from OpenML, 7291 training rows"
    return Digits(X[:7291], y[:7291], X[7291:], y[7291:], name)


def bundled_digits() -> Digits:
    """scikit-learn's 1797 digits of 8 x 8 pixels, the last fifth for testing."""
    X, y = load_digits(return_X_y=True)
    return Digits(
        X[:1437] / 16.0,
        y[:1437],
        X[1437:] / 16.0,
        y[1437:],
        "scikit-learn's digits, 1437 training rows",
    )
