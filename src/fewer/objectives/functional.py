"""The user's own convex functional."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_array, as_number, as_numbers, shown
from ..spaces import Space, as_space

STEP = float(np.finfo(np.float64).eps) ** (1 / 3)


class Functional:
    """Any convex F of your own.

    Without a gradient, F is differentiated exactly by jax when the extra `autodiff` is installed
    and jax can trace `value` (write it with `jax.numpy`), and otherwise differenced numerically, at
    two evaluations of F for each entry, with a warning that says so.

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    value : callable
        F: takes a vector p of `space.size` entries and returns a number.
    gradient : callable, optional
        Its variational derivative: takes p and returns as many numbers.
    smoothness : float
        A Lipschitz constant of the gradient, where it is known.

    Attributes
    ----------
    derivative : {"given", "autodiff", "differences"}
        Where the gradient comes from.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = Functional(Atoms(2), lambda p: (p**2).sum(), lambda p: 2 * p)
    >>> F.value(np.array([0.5, 0.5])), F.derivative
    (0.5, 'given')
    """

    def __init__(
        self,
        space: Space,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any] | None = None,
        smoothness: float = math.inf,
    ) -> None:
        as_space(space, "Functional")
        if not callable(value):
            raise InvalidInput(f"value must be a function of p, got {shown(value)}")
        if gradient is not None and not callable(gradient):
            raise InvalidInput(f"gradient must be a function of p, got {shown(gradient)}")
        self.derivative = "given"
        if gradient is None:
            self.derivative, gradient = "autodiff", autodiff(value, space.size)
            value = value if gradient is None else in_double(value)
        if gradient is None:
            self.derivative = "differences"
            warnings.warn(
                "no gradient was given and jax cannot supply one: F is differenced numerically, "
                f"{2 * space.size} evaluations for each gradient",
                stacklevel=2,
            )
        self.space, self._value, self._gradient = space, value, gradient
        self.smoothness = (
            math.inf if smoothness == math.inf else as_number(smoothness, "smoothness")
        )

    def value(self, p: Vector) -> float:
        """F[p], which must be one real number."""
        value = as_numbers(self._value(p), "value(p)")
        if value.size != 1:
            raise InvalidInput(
                f"value(p) must be one real number, got {value.dtype} of shape {value.shape}"
            )
        return float(value.reshape(()))

    def gradient(self, p: Vector) -> Vector:
        """The variational derivative, a new vector."""
        if self._gradient is None:
            return self._differences(p)
        gradient = as_array(self._gradient(p), "gradient(p)")
        if gradient.shape != (self.space.size,):
            raise InvalidInput(
                f"gradient(p) must have shape ({self.space.size},), got {gradient.shape}"
            )
        return gradient.copy()  # solvers write into it

    def _differences(self, p: Vector) -> Vector:
        """Central differences.

        One-sided where p is too near zero to step down, as F may need p >= 0.
        """
        gradient = np.empty(p.size)
        moved = p.copy()
        for i in range(p.size):
            step = STEP * max(p[i], 1e-2)
            down = step if p[i] >= step else 0.0
            moved[i] = p[i] + step
            above = self.value(moved)
            moved[i] = p[i] - down
            gradient[i] = (above - self.value(moved)) / (step + down)
            moved[i] = p[i]
        return gradient


def autodiff(value: Callable[[Any], Any], size: int) -> Callable[[Any], Any] | None:
    """The exact gradient of `value` by jax, or None where jax is absent or cannot trace `value`."""
    try:
        import jax
    except ImportError:
        return None
    derivative = in_double(jax.jit(jax.grad(value)))

    def gradient(p: Vector) -> Vector:
        return np.asarray(derivative(p), np.float64)

    try:
        gradient(np.full(size, 1.0 / size))
    except Exception:  # whatever a user's function raises under tracing means: not traceable
        return None
    return gradient


def in_double(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Compute a function of p by jax in double precision."""
    import jax

    def called(p: Vector) -> Any:
        with jax.enable_x64(True):
            return np.asarray(function(jax.numpy.asarray(p)))

    return called
