"""What points must hold and must not: rows by index, mask or label, groups, and bounds on weights."""

import sys
from typing import Any, NamedTuple

import numpy as np

from ..._validation import Indices, InvalidInput, as_units, read, shown, unmasked
from ...constraints.groups import Groups, as_counts, as_groups, numbers_of
from ...constraints.sparse_simplex import SparseSimplex
from ...spaces import Space
from ...tables.align import aligned
from ...tables.frames import columns_of, index_of, is_table
from ...tables.names import nearest
from ...tables.source import is_dask, source_of
from ...tables.table import role
from .options import GROUP_LIMITS, PointsOptions
from .target import Choice

CANDIDATES_PER_ROW = 10
"""Candidates of a group for each row of it that must be kept."""
NONE = np.zeros(0, np.int64)


def held_of(X: Any, n: int, options: PointsOptions) -> "Held":
    """What the options say of the n rows of X: which are held, which never are, and their groups."""
    held, never = (_rows_of(X, getattr(options, name), n, name) for name in ("include", "exclude"))
    clash = np.intersect1d(held, never)
    if clash.size:
        raise InvalidInput(f"include and exclude must not overlap, both hold row {clash[0]}")
    if options.groups is None:
        return Held(held, never, None, options)
    groups = as_groups_of(X, options.groups, n)
    limits = {name: getattr(options, name) for name in GROUP_LIMITS}
    counts = [
        None if given is None else as_counts(given, groups.names, name, n)
        for name, given in limits.items()
    ]
    size = len(groups.names)
    fewest, most = numbers_of(counts[0], size, 0), numbers_of(counts[1], size, n)
    return Held(held, never, groups, options, fewest, most)


def on_gathered(n: int, options: PointsOptions) -> PointsOptions:
    """Options for n rows of blocks that were gathered: rows by position, whatever the index of the blocks."""
    groups = options.groups
    if is_dask(groups):
        whole = source_of(groups).whole(sys.maxsize)
        groups = None if whole is None else whole.X
    if groups is not None and not isinstance(groups, str):
        groups = read(groups, "groups")
    include, exclude = (
        _mask_of(getattr(options, name), n, name) for name in ("include", "exclude")
    )
    return options.replace(include=include, exclude=exclude, groups=groups)


class Held(NamedTuple):
    """Rows of X that are held, rows that never are, and their groups, None where there are none.

    `fewest` and `most` (groups,) say how many rows of each group are kept.
    """

    include: Indices
    exclude: Indices
    groups: Groups | None
    options: PointsOptions
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
        low, high = self.options.weights(k)
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
        counts = [None if self.options.max_per_group is None else self.most[present]]
        counts += [None if self.options.min_per_group is None else self.fewest[present]]
        return SparseSimplex(space, k, low, high, held, never, groups, *counts)


def _mask_of(given: Any, n: int, name: str) -> Any:
    """Rows of blocks, by position or by a mask, as a mask of n rows."""
    array = read(unmasked(given, name), name)
    if array.dtype == bool:
        return array
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(
            f"{name}: rows of data in blocks are named by position, from 0, got {shown(given)}"
        )
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
            raise InvalidInput(
                f"{name}: a mask must have shape ({n},), one for each row, got {array.shape}"
            )
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
        raise InvalidInput(
            f"groups must have one label for each of the {n} rows, got {len(column.levels.codes)}"
        )
    if column.missing is not None:
        raise InvalidInput(
            f"groups must not be missing, got one missing in row {int(np.argmax(column.missing))}"
        )
    return Groups(np.asarray(column.levels.codes, np.int64), tuple(column.levels.values.tolist()))
