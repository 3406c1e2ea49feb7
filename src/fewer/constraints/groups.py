"""Labels of entries, and numbers that hold for each label."""

import difflib
import numbers
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    read,
    shown,
    unmasked,
)

SHOWN = 5
"""Labels that a message lists."""


class Groups(NamedTuple):
    """The group of each entry (n,) as integers from 0, and the label of each group."""

    codes: Indices
    names: tuple[Any, ...]


def as_groups(labels: Any, n: int) -> Groups:
    """Labels of n entries, of one kind that can be told apart."""
    if isinstance(labels, Groups):
        return labels
    labels = unmasked(labels, "groups")
    array = read(labels, "groups")
    if array.shape != (n,):
        raise InvalidInput(
            f"groups must have shape ({n},), one label for each entry, got {array.shape}"
        )
    if not isinstance(labels, np.ndarray) or array.dtype == object:
        kinds = {kind_of(label) for label in labels}
        if len(kinds) > 1 or None in kinds:
            raise InvalidInput(
                f"groups must be labels of one kind (integers, numbers or strings) without gaps, got {shown(labels)}"
            )
        array = np.array([str(label) for label in labels]) if kinds == {"text"} else array
    if array.dtype.kind not in "biufUSmM" or (array.dtype.kind in "fmM" and (array != array).any()):
        raise InvalidInput(
            f"groups must be integers, numbers or strings without gaps, got {shown(labels)}"
        )
    names, codes = np.unique(array, return_inverse=True)
    return Groups(np.asarray(codes, np.int64).reshape(-1), tuple(names.tolist()))


def kind_of(label: Any) -> str | None:
    """What kind of label this is; None where it is none."""
    if isinstance(label, (bool, np.bool_)):
        return "flag"
    if isinstance(label, (str, bytes)):
        return type(label).__name__ if isinstance(label, bytes) else "text"
    return "number" if isinstance(label, numbers.Real) and label == label else None


def per_group(
    given: Any,
    names: tuple[Any, ...],
    option: str,
    number: Callable[[Any, str], float],
    rest: float,
) -> Vector:
    """A number for each group: the same for all, one for each in the order of the labels, or by label.

    Groups that a mapping leaves out get `rest`; `number(value, name)` checks one number.

    >>> per_group({"b": 2}, ("a", "b"), "max_per_group", lambda x, name: float(x), 9.0).tolist()
    [9.0, 2.0]
    """
    given = unmasked(given, option)
    if hasattr(given, "to_dict") and hasattr(given, "index"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        numbers_of = np.full(len(names), rest)
        place = {name: at for at, name in enumerate(names)}
        for label, value in given.items():
            if label not in place:
                raise InvalidInput(
                    f"{option}: there is no group {shown(label)}{_hint(label, names)}"
                )
            numbers_of[place[label]] = number(value, f"{option} of group {shown(label)}")
        return numbers_of
    if isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given) > 0:
        if len(given) != len(names):
            raise InvalidInput(
                f"{option} must be a number, a mapping from labels, or one number for each of the {len(names)} groups, "
                f"got {len(given)} numbers"
            )
        return np.array(
            [
                number(value, f"{option} of group {shown(names[at])}")
                for at, value in enumerate(given)
            ]
        )
    return np.full(len(names), number(given, option))


def as_counts(given: Any, names: tuple[Any, ...], option: str, n: int) -> Any:
    """Counts of entries of each group: an int for all of them, else (groups,); none is above n.

    One number for all is at least 1, one of several may be 0.
    """
    if isinstance(given, (Mapping, list, tuple)) or np.ndim(given) > 0 or hasattr(given, "to_dict"):
        rest = 0 if option.startswith("min") else n
        return per_group(
            given, names, option, lambda x, name: min(as_integer(x, name, 0), n), rest
        ).astype(np.int64)
    return min(as_integer(given, option, 1), n)


def as_shares(given: Any, names: tuple[Any, ...], option: str, n: int) -> Vector:
    """Masses of each group, (groups,); none is above one or below zero."""
    rest = 0.0 if option.startswith("min") else 1.0
    shares = per_group(
        given, names, option, lambda x, name: as_number(x, name, allow_equal=True), rest
    )
    if option.startswith("min") and (shares > 1.0).any():
        g = int(np.argmax(shares))
        raise InvalidInput(
            f"{option} of group {shown(names[g])} must be at most 1, got {shares[g]:g}"
        )
    return np.minimum(shares, 1.0)


def numbers_of(given: Any, groups: int, rest: int) -> Indices:
    """What `as_counts` made, as one number for each group; `rest` where there is none."""
    return np.broadcast_to(np.asarray(rest if given is None else given, np.int64), (groups,))


def _hint(label: Any, names: tuple[Any, ...]) -> str:
    """The label that was meant, or the first of those there are."""
    close = difflib.get_close_matches(str(label), [str(name) for name in names[:2000]], 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"; the groups are {', '.join(shown(name) for name in names[:SHOWN])}{more}"
