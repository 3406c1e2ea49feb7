"""What points must hold and must not: rows by index, mask or label, groups, and bounds on weights."""

import sys
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, InvalidInput, as_number, as_units, read, shown, unmasked
from ..constraints.groups import Groups, as_counts, as_groups, numbers_of
from ..constraints.sparse_simplex import SparseSimplex
from ..data.align import aligned
from ..data.blocks import as_blocks, is_dask
from ..data.frames import columns_of, index_of, is_table
from ..data.names import nearest
from ..data.table import role
from ..spaces import Space
from ._target import Choice

CANDIDATES_PER_ROW = 10
"""Candidates of a group for each row of it that must be kept."""
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Limits:
    """The same as the user says it; see `points`."""

    include: Any = ()
    exclude: Any = ()
    groups: Any = None
    min_per_group: Any = None
    max_per_group: Any = None
    min_weight: Any = 0.0
    max_weight: Any = 1.0
    equal_weights: Any = False

    def check(self) -> None:
        """Refuse what is no number, or contradicts itself."""
        if not isinstance(self.equal_weights, (bool, np.bool_)):
            raise InvalidInput(f"equal_weights must be True or False, got {shown(self.equal_weights)}")
        low = as_number(self.min_weight, "min_weight", allow_equal=True)
        high = as_number(self.max_weight, "max_weight")
        if self.equal_weights and (low, high) != (0.0, 1.0):
            raise InvalidInput("equal_weights=True says what weights are; leave min_weight and max_weight away")
        given = [name for name in PER_GROUP if getattr(self, name) is not None]
        if self.groups is None and given:
            raise InvalidInput(f"{given[0]} needs groups: a label for each row, or the name of a column")
        if self.groups is not None and not given:
            raise InvalidInput("groups needs min_per_group or max_per_group: how many rows of a group are kept")

    def weights(self, k: int) -> tuple[float, float]:
        """The least and the largest weight of one of k points."""
        if self.equal_weights:
            return 1.0 / k, 1.0 / k
        return float(self.min_weight), float(self.max_weight)

    def on(self, X: Any, n: int) -> "Held":
        """What they mean for the n rows of X."""
        held, never = (_rows_of(X, value, n, name) for name, value in self.both)
        clash = np.intersect1d(held, never)
        if clash.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold row {clash[0]}")
        if self.groups is None:
            return Held(held, never, None, self)
        groups = as_groups_of(X, self.groups, n)
        counts = [
            None if given is None else as_counts(given, groups.names, name, n)
            for name, given in ((name, getattr(self, name)) for name in PER_GROUP)
        ]
        size = len(groups.names)
        return Held(held, never, groups, self, numbers_of(counts[0], size, 0), numbers_of(counts[1], size, n))

    def on_gathered(self, n: int) -> "Limits":
        """The limits for n rows of blocks that were gathered: rows by position, whatever the index of the blocks."""
        groups = self.groups
        if is_dask(groups):
            whole = as_blocks(groups).gathered(sys.maxsize)
            groups = None if whole is None else whole.X
        if groups is not None and not isinstance(groups, str):
            groups = read(groups, "groups")
        include, exclude = (_mask_of(given, n, name) for name, given in self.both)
        return replace(self, include=include, exclude=exclude, groups=groups)

    @property
    def both(self) -> tuple[tuple[str, Any], ...]:
        """`include` and `exclude`, by their names."""
        return ("include", self.include), ("exclude", self.exclude)


PER_GROUP = ("min_per_group", "max_per_group")
UNLIMITED = Limits()


class Held(NamedTuple):
    """Rows of X that are held, rows that never are, and their groups, None where there are none.

    `fewest` and `most` (groups,) say how many rows of each group are kept.
    """

    include: Indices
    exclude: Indices
    groups: Groups | None
    limits: Limits
    fewest: Indices = NONE
    most: Indices = NONE

    def apart(self, n: int, others: int = 0) -> Indices | None:
        """A number for each of the n rows of X and of `others` below them; None where it is the same for all.

        Equal rows are merged only where it is equal.
        """
        if not self.include.size and not self.exclude.size and self.groups is None and not others:
            return None
        codes = np.zeros(n, np.int64) if self.groups is None else 2 * self.groups.codes
        codes[self.exclude] += 1
        codes[self.include] = codes.max() + 1 + np.arange(len(self.include))
        return np.append(codes, np.full(others, codes.max() + 1))

    def choice(self, first: Indices, k: int, rng: np.random.Generator) -> Choice:
        """Of rows `first` (M,) of X those that may be candidates for k points, and those that must be."""
        allowed = np.flatnonzero(~np.isin(first, self.exclude)) if self.exclude.size else None
        return Choice(allowed, self._always(first, k, rng))

    def _always(self, first: Indices, k: int, rng: np.random.Generator) -> Indices:
        """What is included, and enough of each group."""
        wanted = np.flatnonzero(np.isin(first, self.include))
        if self.groups is None:
            return wanted
        order = rng.permutation(np.flatnonzero(~np.isin(first, self.exclude)))
        codes = self.groups.codes[first[order]]
        by_group = np.argsort(codes, kind="stable")
        ranked = codes[by_group]
        rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
        enough = np.maximum(CANDIDATES_PER_ROW * self.fewest, np.minimum(self.most, k))
        some = order[by_group[rank < enough[ranked]]]
        return np.union1d(wanted, some)

    def constraint(self, space: Space, k: int, rows: Indices) -> SparseSimplex:
        """At most k of candidates, which are these rows of X, within all limits."""
        low, high = self.limits.weights(k)
        held, never = (np.flatnonzero(np.isin(rows, some)) for some in (self.include, self.exclude))
        if self.groups is None:
            return SparseSimplex(space, k, low, high, held, never)
        present, codes = np.unique(self.groups.codes[rows], return_inverse=True)
        lacking = np.setdiff1d(np.flatnonzero(self.fewest), present)
        if lacking.size:
            name = shown(self.groups.names[lacking[0]])
            raise InvalidInput(
                f"min_per_group asks for {self.fewest[lacking[0]]} rows of group {name}, all of which are left out"
            )
        groups = Groups(codes.reshape(-1), tuple(self.groups.names[at] for at in present))
        counts = [None if self.limits.max_per_group is None else self.most[present]]
        counts += [None if self.limits.min_per_group is None else self.fewest[present]]
        return SparseSimplex(space, k, low, high, held, never, groups, *counts)


def _mask_of(given: Any, n: int, name: str) -> Any:
    """Rows of blocks, by position or by a mask, as a mask of n rows."""
    array = read(unmasked(given, name), name)
    if array.dtype == bool:
        return array
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(f"{name}: rows of data in blocks are named by position, from 0, got {shown(given)}")
    if array.size and array.min() < 0:
        raise InvalidInput(f"{name}: positions of rows begin with 0, got {array.min()}")
    mask = np.zeros(n, bool)
    mask[as_units(array, n, "rows", name)] = True
    return mask


def _rows_of(X: Any, given: Any, n: int, name: str) -> Indices:
    """Rows given by a mask, by labels of the index, or by number, sorted."""
    array = read(unmasked(given, name), name)
    if array.dtype == bool:
        if array.shape != (n,):
            raise InvalidInput(f"{name}: a mask must have shape ({n},), one for each row, got {array.shape}")
        return np.flatnonzero(array)
    labels = index_of(X)
    if labels is None:
        return as_units(given, n, "rows", name)
    wanted = [given] if isinstance(given, str) else list(given)
    place = {label: at for at, label in enumerate(labels)}
    found = [place.get(label, label) for label in wanted]
    for at in found:
        if isinstance(at, bool) or not isinstance(at, (int, np.integer)):
            raise InvalidInput(f"{name}: no row has the index label {shown(at)}{_hint(at, labels)}")
    return as_units(np.array(found, np.int64), n, "rows", name)


def _hint(label: Any, labels: Any) -> str:
    return nearest(label, labels).replace("the columns are", "labels are")


def as_groups_of(X: Any, groups: Any, n: int) -> Groups:
    """The group of each of n rows, from an array, a Series or the name of a column."""
    column = role(X, groups, "groups")
    if column is None and is_table(groups):
        column = columns_of(aligned(groups, X, "groups"))[0]
    if column is None:
        return as_groups(groups, n)
    if len(column.levels.codes) != n:
        raise InvalidInput(f"groups must have one label for each of the {n} rows, got {len(column.levels.codes)}")
    if column.missing is not None:
        raise InvalidInput(f"groups must not be missing, got one missing in row {int(np.argmax(column.missing))}")
    return Groups(np.asarray(column.levels.codes, np.int64), tuple(column.levels.values.tolist()))
