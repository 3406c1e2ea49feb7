"""One call of each member of a user's own objective and constraint, to see that what they return fits."""

from typing import Any

import numpy as np

from ._validation import InvalidInput, shown

OURS = f"{__name__.partition('.')[0]}."


def probe(objective: Any, constraint: Any) -> None:
    """Raise a sentence where a member returns another kind or shape of thing; parts of this package are not asked.

    What a member itself raises goes through as it is: it is the caller's own code.
    """
    size = constraint.space.size
    uniform = np.full(size, 1.0 / size)
    if not _is_ours(objective):
        _expect(objective, "value(p)", "a number", objective.value(uniform.copy()), _is_number)
        vector = f"a vector of {size} numbers"
        _expect(objective, "gradient(p)", vector, objective.gradient(uniform.copy()), lambda g: _is_vector(g, size))
    if not _is_ours(constraint):
        p = constraint.project(uniform.copy())
        _expect(constraint, "project(v)", f"a vector of {size} numbers", p, lambda p: _is_vector(p, size))
        _expect(constraint, "contains(p)", "True or False", constraint.contains(p), _is_answer)
        support = constraint.support(p)
        _expect(constraint, "support(p)", "a vector of whole numbers, the units that p uses", support, _is_units)


def _is_ours(thing: Any) -> bool:
    return type(thing).__module__.startswith(OURS)


def _expect(thing: Any, call: str, expected: str, got: Any, fits: Any) -> None:
    if not fits(got):
        raise InvalidInput(f"{type(thing).__name__}.{call} must return {expected}, got {_told(got)}")


def _told(got: Any) -> str:
    """Arrays by their shape and type: their numbers are of no interest here."""
    return f"an array of shape {got.shape} and type {got.dtype}" if isinstance(got, np.ndarray) else shown(got)


def _is_number(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind in "biuf"


def _is_vector(x: Any, size: int) -> bool:
    return isinstance(x, np.ndarray) and x.shape == (size,) and x.dtype.kind in "iuf"


def _is_answer(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind == "b"


def _is_units(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 1 and (x.dtype.kind in "iu" or x.size == 0)
