"""Which rows points must be, which never, and how many of each group: rows by position, mask or label."""

from typing import Any, NamedTuple

import numpy as np

from ..._validation import Fix, Indices, InvalidInput, as_units, read, shown
from ...constraints.groups import Groups, as_groups, limits_of_groups
from ...constraints.sparse_simplex import SparseSimplex
from ...spaces import Space
from ...tables.column import columns_of, role
from ...tables.frames import aligned, index_of, is_table, nearest
from ...tables.source import is_dask
from .options import PointsOptions

CANDIDATES_PER_ROW = 10
"""Candidates of a group for each row of it that must be kept."""


class Limits(NamedTuple):
    """Rows of X that are kept in any case, rows that never are, and their groups, None where there are none.

    `fewest` and `most` (groups,) say how many rows of each group are kept.
    """

    include: Indices
    exclude: Indices
    groups: Groups | None
    fewest: Indices
    most: Indices

    @classmethod
    def of(cls, X: Any, n: int, options: PointsOptions) -> "Limits":
        """Read what the options say of the n rows of X."""
        labels = index_of(X)
        include = rows_named(options.include, labels, n, "include")
        exclude = rows_named(options.exclude, labels, n, "exclude")
        clash = np.intersect1d(include, exclude)
        if clash.size:
            words = f"include and exclude must not overlap, both hold row {clash[0]}"
            raise InvalidInput(words, "include", [Fix("exclude")])
        groups = None if options.groups is None else groups_of(X, options.groups, n)
        names = () if groups is None else groups.names
        fewest = limits_of_groups(options.min_per_group, names, "min_per_group", n)
        most = limits_of_groups(options.max_per_group, names, "max_per_group", n)
        return cls(include, exclude, groups, fewest, most)

    def kinds(self, n: int, others: int = 0) -> Indices:
        """Number the n rows of X, and `others` below them, so that rows which may be merged have one number."""
        codes = np.zeros(n, np.int64) if self.groups is None else 2 * self.groups.codes
        codes[self.exclude] += 1
        codes[self.include] = codes.max() + 1 + np.arange(len(self.include))
        return np.append(codes, np.full(others, codes.max() + 1))

    def allowed(self, rows: Indices) -> Indices:
        """Find which of these rows of X may be kept."""
        return np.flatnonzero(~np.isin(rows, self.exclude))

    def required(self, rows: Indices, k: int, rng: np.random.Generator) -> Indices:
        """Find which of these rows of X must be candidates for k points: those included, and enough of each group."""
        included = np.flatnonzero(np.isin(rows, self.include))
        if self.groups is None:
            return included
        order = rng.permutation(self.allowed(rows))
        codes = self.groups.codes[rows[order]]
        enough = np.maximum(CANDIDATES_PER_ROW * self.fewest, np.minimum(self.most, k))
        return np.union1d(included, order[ranks_in_groups(codes) < enough[codes]])

    def constraint(
        self, space: Space, k: int, rows: Indices, options: PointsOptions
    ) -> SparseSimplex:
        """Make the set of weights on at most k of these rows of X within all limits."""
        low, high = options.weights(k)
        include, exclude = (
            np.flatnonzero(np.isin(rows, some)) for some in (self.include, self.exclude)
        )
        if self.groups is None:
            return SparseSimplex(space, k, low, high, include, exclude)
        present, codes = np.unique(self.groups.codes[rows], return_inverse=True)
        lacking = np.setdiff1d(np.flatnonzero(self.fewest), present)
        if lacking.size:
            name, fewest = shown(self.groups.names[lacking[0]]), self.fewest[lacking[0]]
            raise InvalidInput(
                f"min_per_group asks for {fewest} rows of group {name}, all of which are left out"
            )
        groups = Groups(codes, tuple(self.groups.names[at] for at in present))
        most = None if options.max_per_group is None else self.most[present]
        fewest = None if options.min_per_group is None else self.fewest[present]
        return SparseSimplex(space, k, low, high, include, exclude, groups, most, fewest)


def ranks_in_groups(codes: Indices) -> Indices:
    """Count for each entry (n,) how many before it are in its group.

    >>> ranks_in_groups(np.array([0, 1, 0, 0])).tolist()
    [0, 0, 1, 2]
    """
    order, ranks = np.argsort(codes, kind="stable"), np.empty(len(codes), np.int64)
    by_group = codes[order]
    ranks[order] = np.arange(len(codes)) - np.searchsorted(by_group, by_group)
    return ranks


def rows_named(value: Any, labels: Any, n: int, name: str) -> Indices:
    """Read rows by a mask, by labels of an index, or by number, sorted."""
    array = read(value, name)
    if array.dtype == bool:
        if array.shape != (n,):
            raise InvalidInput(
                f"{name}: a mask must have shape ({n},), one for each row, got {array.shape}"
            )
        return np.flatnonzero(array)
    if labels is not None:
        place = {label: at for at, label in enumerate(labels)}
        value = [
            place.get(label, label) for label in ([value] if isinstance(value, str) else value)
        ]
        for at in value:
            if not isinstance(at, (int, np.integer)):
                hint = nearest(at, labels).replace("the columns are", "labels are")
                raise InvalidInput(f"{name}: no row has the index label {shown(at)}{hint}")
    return as_units(value, n, "rows", name)


def groups_of(X: Any, groups: Any, n: int) -> Groups:
    """Read the group of each of n rows from an array, a Series or the name of a column."""
    column = role(X, groups, "groups")
    if column is None and is_table(groups):
        column = columns_of(aligned(groups, X, "groups"))[0]
    if column is None:
        return as_groups(groups, n)
    codes = column.levels.codes
    if len(codes) != n:
        raise InvalidInput(f"groups must have one label for each of the {n} rows, got {len(codes)}")
    if column.missing is not None:
        row = int(np.argmax(column.missing))
        raise InvalidInput(f"groups must not be missing, got one missing in row {row}")
    return Groups(np.asarray(codes, np.int64), tuple(column.levels.values.tolist()))


def by_position(n: int, options: PointsOptions) -> PointsOptions:
    """Make options for n rows of blocks that were gathered: rows by position, whatever the index of the blocks."""
    rows = {
        name: np.isin(np.arange(n), rows_named(getattr(options, name), None, n, name))
        for name in ("include", "exclude")
    }
    groups, units = (
        np.asarray(value) if is_dask(value) else value for value in (options.groups, options.units)
    )
    if groups is not None and not isinstance(groups, str):
        groups = read(groups, "groups")
    return options.replace(groups=groups, units=units, **rows)
