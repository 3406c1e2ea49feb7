"""What points of data in blocks must hold and must not: rows by position, and counts of groups."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, as_integer, as_units, read, shown, unmasked
from ..constraints.groups import Groups, as_counts, as_groups, numbers_of
from ..data.column import Column, Levels
from ._held import CANDIDATES_PER_ROW, PER_GROUP, Held, Limits

FREE, EXCLUDED, INCLUDED = 0, 1, 2
MOST_ROWS = 2**53


@dataclass(frozen=True, eq=False)
class BlockLimits:
    """Positions of rows that are held and that never are, and how many candidates each group has at least.

    `masks` are the lengths of masks by their option; `enough` is by label, `others` for all other labels.
    """

    include: Indices
    exclude: Indices
    masks: tuple[tuple[str, int], ...] = ()
    grouped: bool = False
    others: int = 0
    enough: tuple[tuple[Any, int], ...] = ()

    @classmethod
    def of(cls, limits: Limits, k: int) -> "BlockLimits | None":
        """What `Limits` say of rows in blocks; None where they say nothing."""
        found, masks = {}, []
        for name, given in limits.both:
            found[name] = _positions(given, name)
            array = read(unmasked(given, name), name)
            if array.dtype == bool:
                masks.append((name, len(array)))
        clash = np.intersect1d(found["include"], found["exclude"])
        if clash.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold row {clash[0]}")
        if not found["include"].size and not found["exclude"].size and not masks and limits.groups is None:
            return None
        own = {label: _enough(limits, label, k) for label in _told(limits)}
        return cls(**found, masks=tuple(masks), grouped=limits.groups is not None, others=_enough(limits, _ANY, k),
                   enough=tuple(own.items()))  # fmt: skip

    def check(self, rows: int) -> None:
        """A sentence where positions or masks do not go with the number of rows."""
        for name, size in self.masks:
            if size != rows:
                raise InvalidInput(f"{name}: a mask must have shape ({rows},), one for each row, got ({size},)")
        for name in ("include", "exclude"):
            as_units(getattr(self, name), rows, "rows", name)

    def kinds(self, positions: Indices) -> Indices:
        """FREE, EXCLUDED or INCLUDED for each of some rows."""
        found = np.zeros(len(positions), np.int64)
        for some, kind in ((self.exclude, EXCLUDED), (self.include, INCLUDED)):
            if some.size:
                at = np.minimum(np.searchsorted(some, positions), some.size - 1)
                found[some[at] == positions] = kind
        return found

    def kept(self, kinds: Indices, groups: Any, most: int) -> Indices:
        """Of distinct rows in the order of their keys those that stay candidates, however many blocks follow."""
        stay = (kinds == INCLUDED) | self.drawn(kinds, most)
        if self.grouped:
            enough = dict(self.enough)
            free, seen = np.flatnonzero(kinds != EXCLUDED), dict[Any, int]()
            for i, label in zip(free.tolist(), groups[free].tolist(), strict=True):
                seen[label] = seen.get(label, 0) + 1
                stay[i] |= seen[label] <= enough.get(label, self.others)
        return np.flatnonzero(stay)

    @staticmethod
    def drawn(kinds: Indices, most: int) -> npt.NDArray[np.bool_]:
        """Which rows, in the order of their keys, are among the first of their kind: a random sample of each."""
        found = np.zeros(len(kinds), bool)
        for kind in (FREE, EXCLUDED):
            found[np.flatnonzero(kinds == kind)[:most]] = True
        return found

    @staticmethod
    def at_random(kinds: Indices, keys: Any, most: int) -> npt.NDArray[np.bool_]:
        """Which candidates are a random sample of all rows: those drawn, up to where one kind was cut off."""
        found = BlockLimits.drawn(kinds, most)
        for kind in (FREE, EXCLUDED):
            own = keys[found & (kinds == kind)]
            if len(own) == most:
                found &= keys <= own.max()
        return found

    def held(self, kinds: Indices, groups: Any, names: tuple[Any, ...], limits: Limits, rows: int) -> Held:
        """The same for candidates, named by their numbers, of so many rows."""
        include, exclude = np.flatnonzero(kinds == INCLUDED), np.flatnonzero(kinds == EXCLUDED)
        if not self.grouped:
            return Held(include, exclude, None, limits)
        place = {label: i for i, label in enumerate(names)}
        own = Groups(np.array([place[label] for label in groups.tolist()], np.int64), names)
        counts = [
            None if given is None else as_counts(given, names, name, rows)
            for name, given in ((name, getattr(limits, name)) for name in PER_GROUP)
        ]
        fewest, most = numbers_of(counts[0], len(names), 0), numbers_of(counts[1], len(names), rows)
        return Held(include, exclude, own, limits, fewest, most)


_ANY = object()


def _positions(given: Any, name: str) -> Indices:
    """Rows by position or by a mask, sorted."""
    array = read(unmasked(given, name), name)
    if array.dtype == bool:
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(f"{name}: rows of data in blocks are named by position, from 0, got {shown(given)}")
    if array.size and array.min() < 0:
        raise InvalidInput(f"{name}: positions of rows begin with 0, got {array.min()}")
    return as_units(array, MOST_ROWS, "rows", name)


def _told(limits: Limits) -> list[Any]:
    """Labels that counts are given for by name."""
    given = [getattr(limits, name) for name in PER_GROUP]
    found = [dict(one) if isinstance(one, Mapping) else one.to_dict() for one in given if _by_label(one)]
    return list(dict.fromkeys(label for one in found for label in one))


def _by_label(given: Any) -> bool:
    return isinstance(given, Mapping) or hasattr(given, "to_dict")


def _count(given: Any, label: Any, rest: int, option: str) -> int:
    """A count of rows for a label; of a list, whose labels are not known yet, the largest."""
    if given is None:
        return rest
    if _by_label(given):
        return as_integer(given[label], option, 0) if label in given else rest
    if np.ndim(given) > 0:
        return max((as_integer(one, option, 0) for one in given), default=rest)
    return as_integer(given, option, 1)


def _enough(limits: Limits, label: Any, k: int) -> int:
    """Candidates of a group, as in memory."""
    fewest = _count(limits.min_per_group, label, 0, PER_GROUP[0])
    return max(CANDIDATES_PER_ROW * fewest, min(_count(limits.max_per_group, label, k, PER_GROUP[1]), k))


def group_levels(groups: Any, size: int) -> Levels:
    """The labels of a block's rows, and which of them each has."""
    if isinstance(groups, Column):
        if groups.missing is not None:
            raise InvalidInput(f"groups must not be missing, got one missing in row {int(np.argmax(groups.missing))}")
        return Levels(groups.levels.values, np.asarray(groups.levels.codes, np.int64))
    found = as_groups(groups, size)
    values = np.empty(len(found.names), object)
    values[:] = found.names
    return Levels(values, found.codes)


def as_mask(given: Any, n: int, name: str) -> Any:
    """Positions as a mask of n rows, so that no index of a table is asked for what was named by position."""
    positions = _positions(given, name)
    array = read(unmasked(given, name), name)
    if array.dtype == bool:
        return array
    mask = np.zeros(n, bool)
    mask[as_units(positions, n, "rows", name)] = True
    return mask


def of_gathered(limits: Limits, n: int, groups: Any) -> Limits:
    """The same for n rows that were gathered, with the groups beside them."""
    include, exclude = (as_mask(given, n, name) for name, given in limits.both)
    told = limits.groups if limits.groups is None or isinstance(limits.groups, str) else groups
    return replace(limits, include=include, exclude=exclude, groups=told)
