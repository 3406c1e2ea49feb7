"""Where the ADMM of `dnn_admm` starts: multipliers guessed from the eigenvalues of H and the best value known.

With equal w and d the certificate of `certificate` is  (delta + tau) / k - tau,  if M is positive
semi-definite, M_ij <= H_ij + tau off the diagonal, and delta the mean of H_ii - M_ii. So M is H,
smoothed until its diagonal has lost delta; delta and tau are guessed as multiples of the best
value, which (delta + tau) / k - tau cannot exceed. From there some ten rounds give a bound where
some hundred are needed from M = 0.
"""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

POWER = 0.4
"""Eigenvalues e of H shrink by a multiple of e^POWER: what those of M do on digits, for 150 and 300 rows alike."""
LOST = 2.0
"""delta in k times the best value; tau is the best value."""
PENALTY = 0.05
"""The first penalty of the ADMM in delta m k, that is, in d_i / X_ii."""
HALVINGS = 60
"""Of the bracket of the multiple: as many as a double has digits, about."""


def shrunk(values: Vector, lost: float) -> Vector:
    """Eigenvalues (e - c e^POWER)_+ with the c for which they lose `lost` in sum, or all they have.

    >>> shrunk(np.array([0.0, 1.0, 4.0]), 5.0).round(3).tolist()
    [0.0, 0.0, 0.0]
    >>> 5.0 - shrunk(np.array([0.0, 1.0, 4.0]), 1.5).sum().round(6)
    np.float64(1.5)
    """
    e = np.maximum(values, 0.0)
    power, low, high = e**POWER, 0.0, float(e.max(initial=0.0)) ** (1.0 - POWER)
    for _ in range(HALVINGS):
        c = 0.5 * (low + high)
        low, high = (c, high) if np.minimum(e, c * power).sum() < lost else (low, c)
    return np.asarray(np.maximum(e - high * power, 0.0))


def spectral_start(
    H: Matrix, k: int, value: float, border: float
) -> tuple[Matrix, Matrix, Vector, float]:
    """What the ADMM starts from, given a best value > 0: Y, Z, y and the penalty, as in `dnn_admm`.

    The weights in Y are even, all pairs of units equally likely, and H: (m, m).
    """
    m, r, delta = len(H), np.sqrt(border), LOST * k * value
    w = 2.0 * (delta + value) / k
    mu = w - value
    e, U = np.linalg.eigh(H)
    e = shrunk(e, delta * m)
    root = U[:, e > 0.0] * np.sqrt(e[e > 0.0])
    Z = np.full((m + 1, m + 1), -0.5 * w / r)
    Z[0, 0], Z[1:, 1:] = mu / border, w - mu - np.dot(root, root.T)
    Y = np.full((m + 1, m + 1), (1.0 - 1.0 / k) / (m * max(m - 1, 1)))
    Y[0, 0], Y[0, 1:], Y[1:, 0] = border, r / m, r / m
    np.fill_diagonal(Y[1:, 1:], 1.0 / (m * k))
    return Y, Z, np.full(m, 0.25 * w * w / (delta + value) / border), PENALTY * delta * m * k
