"""Labels of entries, and limits that hold for each label."""

import difflib
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, InvalidInput, as_integer, as_number, read, shown

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
    array = read(labels, "groups")
    if array.shape != (n,):
        raise InvalidInput(
            f"groups must have shape ({n},), one label for each entry, got {array.shape}"
        )
    kinds = {"array"}
    if not isinstance(labels, np.ndarray) or array.dtype == object:
        kinds = {kind_of(label) for label in labels}
        array = np.array(list(map(str, labels))) if kinds == {"text"} else array
    gaps = array.dtype.kind in "fmM" and bool((array != array).any())
    if len(kinds) > 1 or "none" in kinds or array.dtype.kind not in "biufUSmM" or gaps:
        raise InvalidInput(
            "groups must be labels of one kind (integers, numbers or strings) without gaps, got"
            f" {shown(labels)}"
        )
    names, codes = np.unique(array, return_inverse=True)
    return Groups(np.asarray(codes, np.int64).reshape(-1), tuple(names.tolist()))


def kind_of(label: Any) -> str:
    """What kind of label this is; "none" where it is none."""
    if isinstance(label, (bool, np.bool_)):
        return "flag"
    if isinstance(label, (str, bytes)):
        return "bytes" if isinstance(label, bytes) else "text"
    return "number" if isinstance(label, numbers.Real) and label == label else "none"


def limits_of_groups(limits: Any, names: tuple[Any, ...], option: str, n: int) -> Any:
    """A limit for each group, (groups,): the same for all, one for each in the order of the labels, or by label.

    Groups that a mapping leaves out have no limit, nor has any group where `limits` is None. Counts
    (`max_per_group`, `min_per_group`) are at most n, masses at most 1.

    >>> limits_of_groups({"b": 2}, ("a", "b"), "max_per_group", 9).tolist()
    [9, 2]
    """
    counts, least = option.endswith("per_group"), option.startswith("min")
    most = n if counts else 1.0

    def read_limit(value: Any, name: str, lowest: int = 0) -> float:
        limit = (
            as_integer(value, name, lowest) if counts else as_number(value, name, allow_equal=True)
        )
        if least and not counts and limit > 1.0:
            raise InvalidInput(f"{name} must be at most 1, got {limit:g}")
        return min(limit, most)

    result = np.full(len(names), 0 if least else most, np.int64 if counts else np.float64)
    if hasattr(limits, "to_dict") and hasattr(limits, "index"):
        limits = limits.to_dict()
    if limits is None:
        return result
    if np.ndim(limits) == 0 and not isinstance(limits, Mapping):
        result[:] = read_limit(limits, option, 1)
        return result
    if not isinstance(limits, Mapping):
        if len(limits) != len(names):
            raise InvalidInput(
                f"{option} must be a number, a mapping from labels, or one number for each of the"
                f" {len(names)} groups, got {len(limits)} numbers"
            )
        limits = dict(zip(names, limits, strict=True))
    place = {name: at for at, name in enumerate(names)}
    for label, value in limits.items():
        if label not in place:
            raise InvalidInput(f"{option}: there is no group {shown(label)}{_hint(label, names)}")
        result[place[label]] = read_limit(value, f"{option} of group {shown(label)}")
    return result


def _hint(label: Any, names: tuple[Any, ...]) -> str:
    """The label that was meant, or the first of those there are."""
    close = difflib.get_close_matches(str(label), [str(name) for name in names[:2000]], 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"; the groups are {', '.join(shown(name) for name in names[:SHOWN])}{more}"
