"""Made-up latencies of a web service."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import as_generator, as_integer

TIMEOUT_MS = 3000.0


def latencies(n: int = 1_000_000, rng: Any = None) -> npt.NDArray[np.float64]:
    """Milliseconds of n requests: most are quick, some wait for a slow back end, a few time out after 3 s.

    Examples
    --------
    >>> ms = latencies(10_000, rng=0)
    >>> ms.shape, bool(20 < ms.mean() < 60), float(ms.max())
    ((10000,), True, 861.556)
    """
    n = as_integer(n, "n", 1)
    generator, _ = as_generator(rng)
    slow = generator.random(n) < 0.06
    ms = np.where(slow, generator.lognormal(5.2, 0.5, n), generator.lognormal(3.04, 0.7, n))
    return np.minimum(ms, TIMEOUT_MS).round(3)
