"""Two arrays as one: the rows of the first, then those of the second."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput
from ..codes import as_csr, numbers_as_csr
from .table import numbers_or_nan


def stacked_arrays(X: Any, other: Any, name: str, missing: bool) -> Any:
    """Both arrays as one, CSR where one of them is sparse; `missing` says whether NaN is a missing value."""
    parts = [
        as_csr(part, whose) if sp.issparse(part) else numbers_or_nan(part, whose)
        for part, whose in ((X, "X"), (other, name))
    ]
    if parts[0].ndim != 2:
        raise InvalidInput(
            f"X must have shape (rows, columns) beside a {name}, got {parts[0].shape}"
        )
    if parts[1].ndim != 2 or parts[1].shape[1] != parts[0].shape[-1] or 0 in parts[1].shape:
        raise InvalidInput(
            f"{name} must have shape (rows, {parts[0].shape[-1]}) with the columns of X, got {parts[1].shape}"
        )
    entries = parts[1].data if sp.issparse(parts[1]) else parts[1]
    wrong = np.isinf(entries) if missing else ~np.isfinite(entries)
    if wrong.any():
        where = "" if sp.issparse(parts[1]) else f" in row {int(np.argmax(wrong.any(axis=1)))}"
        raise InvalidInput(f"{name} must be finite, got NaN or infinity{where}")
    if any(sp.issparse(part) for part in parts):
        whose = ("X", name)
        return sp.vstack(
            [numbers_as_csr(part, who) for part, who in zip(parts, whose, strict=True)],
            format="csr",
        )
    return np.vstack(parts)
