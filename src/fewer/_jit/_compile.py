"""The one decorator of the compiled room."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """`function`, compiled by numba at its first call and cached on disk; its static type is kept."""
    return cast("F", numba.njit(cache=True)(function))
