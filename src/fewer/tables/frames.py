"""Rows in any container: frames of every library that narwhals knows, arrays, sparse matrices and lists.

The names of columns and the labels of rows, which are meant, and what is said where there is none.
No library of frames is imported unless the caller's own object comes from there.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_units,
    gathered,
    is_frame,
    labels_of,
    library_of,
    read,
    shown,
)
from ..codes import numbers_as_csr
from ..constraints.groups import Groups, as_groups

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NAMED, MAX_LABELS = 5, 3
"""Names of columns, and labels of rows, that a message quotes."""


def is_table(X: Any) -> bool:
    """Whether X is a frame or a Series of pandas, polars, pyarrow, modin or cuDF."""
    return library_of(X) is not None


def is_indexed(X: Any) -> bool:
    """Whether X is a table whose rows have index labels, as those of pandas."""
    return is_table(X) and hasattr(X, "iloc")


def narwhal(X: Any) -> Any:
    """A frame or a Series as narwhals wraps it, a RecordBatch as a Table."""
    import narwhals as nw

    if library_of(X) == "pyarrow" and hasattr(X, "schema") and not hasattr(X, "to_batches"):
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    return nw.from_native(X, eager_only=True, allow_series=True)


def names_of(X: Any) -> list[Any]:
    """The names of a table's columns, as the user wrote them."""
    X = gathered(X)
    return labels_of(X) if is_frame(X) else [X.name]


def series_of(X: Any) -> Iterator[Any]:
    """The columns of a table in its own library, by place: two may have one name."""
    if not is_frame(X):
        yield X
    elif hasattr(X, "iloc"):
        yield from (X.iloc[:, i] for i in range(X.shape[1]))
    else:
        yield from X.get_columns() if hasattr(X, "get_columns") else X.columns


def index_of(X: Any) -> Any:
    """The index labels of a table, (N,); None where it has none, or they are only its row numbers."""
    if not is_indexed(X):
        return None
    labels = X.index
    counted = type(labels).__name__ == "RangeIndex"
    if counted and (labels.start, labels.step, labels.name) == (0, 1, None):
        return None
    values = np.empty(len(labels), object)
    values[:] = labels.tolist()
    return values


def height(X: Any) -> int:
    """How many rows a block has.

    >>> height([[1, 2], [3, 4]]), height(np.zeros(5))
    (2, 5)
    """
    X = gathered(X)
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, list | tuple):
        return len(X)
    raise InvalidInput(f"a block must be a table or an array of rows; got {shown(X)}")


def width(X: Any) -> int:
    """How many columns a block has; 1 where it has one axis."""
    shape = getattr(gathered(X), "shape", None) or read(X, "a block").shape
    return int(shape[1]) if len(shape) > 1 else 1


def size_in_bytes(X: Any) -> int:
    """The memory that a block takes, about."""
    X = gathered(X)
    if sp.issparse(X):
        return int((X.dtype.itemsize + 12) * X.nnz)
    if library_of(X) == "pandas":
        return int(np.sum(X.memory_usage(deep=True)))
    if library_of(X) == "polars":
        return int(X.estimated_size())
    return int(X.nbytes if hasattr(X, "nbytes") else read(X, "a block").nbytes)


def _as_sliceable(X: Any) -> Any:
    """X, of which rows can be taken by brackets."""
    X = gathered(X)
    if sp.issparse(X) and X.format not in ("csr", "csc", "lil"):
        return X.tocsr()
    return X if hasattr(X, "shape") or is_table(X) else read(X, "a block")


def cut(X: Any, start: int, stop: int) -> Any:
    """The rows from start to before stop, without a copy where that can be; None stays None."""
    if X is None or (start == 0 and stop == height(X)):
        return X
    rows = _as_sliceable(X)
    return getattr(rows, "iloc", rows)[start:stop]


def take_rows(X: Any, rows: Any) -> Any:
    """Rows by their numbers, in the user's own container; None stays None."""
    if X is None:
        return None
    X, rows = _as_sliceable(X), np.asarray(rows, np.int64)
    return X.take(rows) if is_table(X) and hasattr(X, "take") else X[rows]


def take_columns(X: Any, places: Sequence[int]) -> Any:
    """Columns of a frame by their places."""
    if is_indexed(X):
        return X.iloc[:, list(places)]
    names = names_of(X)
    return gathered(X).select([names[i] for i in places])


def stacked(parts: Sequence[Any]) -> Any:
    """The rows of several blocks, one after the other, in their container; None of None.

    >>> stacked([np.ones((1, 2)), np.zeros((1, 2))]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    first = parts[0]
    if first is None or len(parts) == 1:
        return first
    if is_table(first):
        return _stacked_tables(parts)
    is_sparse = any(sp.issparse(part) for part in parts)
    as_rows = numbers_as_csr if is_sparse else read
    arrays = [as_rows(part, "a block") for part in parts]
    shape = arrays[0].shape[1:]
    for array in arrays[1:]:
        if array.shape[1:] != shape:
            raise InvalidInput(
                f"all blocks must have {shape or 'no'} columns, got one of shape {array.shape}"
            )
    if is_sparse:
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    if len({array.dtype.kind in "mMUS" for array in arrays}) > 1:
        raise InvalidInput("all blocks must hold the same kind of values: numbers, dates or texts")
    return np.concatenate(arrays)


def _stacked_tables(parts: Sequence[Any]) -> Any:
    """The rows of several tables of the same columns, one after the other."""
    names = names_of(parts[0])
    for part in parts[1:] if is_frame(parts[0]) else ():
        came = names_of(part) if is_frame(part) else type(part).__name__
        if came != names:
            raise InvalidInput(
                f"all blocks must have the columns {shown(names)}, got {shown(came)}"
            )
    library = library_of(parts[0])
    if library == "polars":  # whose types may differ from block to block
        import polars as pl

        return pl.concat(list(parts), how="vertical_relaxed")
    if library == "pandas":  # of which narwhals takes no Series here
        import pandas as pd

        return pd.concat(list(parts))
    tables = [narwhal(part) for part in parts]
    if library == "pyarrow":
        import pyarrow as pa

        return pa.concat_tables([t.to_native() for t in tables], promote_options="permissive")
    import narwhals as nw

    return nw.concat(tables).to_native()


def put_columns(X: Any, values: Mapping[int, Vector]) -> Any:
    """X with other numbers in the columns at these places, in the user's own container; NaN is missing.

    An array of integers becomes one of float64.
    """
    if is_indexed(X):  # columns may share a name
        X = X.copy()
        for place, column in values.items():
            X.isetitem(place, column)
        return X
    if is_table(X):
        import narwhals as nw

        frame = narwhal(X)
        new = [
            nw.new_series(frame.columns[place], column, backend=frame.implementation)
            for place, column in values.items()
        ]
        present = [nw.when(~series.is_nan()).then(series) for series in new]
        return frame.with_columns(present).to_native()
    table = np.array(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    for place, column in values.items():
        table[:, place] = column
    return table


def quoted(labels: Sequence[Any], most: int = MAX_NAMED) -> str:
    """The first of some names, and how many more there are.

    >>> quoted(["a", "b"]), quoted(range(9))
    ("'a', 'b'", '0, 1, 2, 3, 4 and 4 more')
    """
    return listed([shown(label) for label in labels[:most]], len(labels), most)


def listed(words: Sequence[str], count: int | None = None, most: int = MAX_NAMED) -> str:
    """The first of some words, and how many more there are."""
    more = (len(words) if count is None else count) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def nearest(name: Any, names: Sequence[Any]) -> str:
    """A hint at the column that was meant.

    >>> nearest("AAPL.", ["AAPL", "MSFT"]), nearest(7, ["AAPL", "MSFT"])
    ("; did you mean 'AAPL'?", "; the columns are 'AAPL', 'MSFT'")
    """
    texts = [str(other) for other in names[:MAX_COMPARED_NAMES]]
    close = difflib.get_close_matches(name, texts, 1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else f"; the columns are {quoted(names)}"


def known_name(name: Any, names: Sequence[Any], option: str) -> Any:
    """`name` if a table has such a column; else an error with the nearest, or with what there is.

    >>> known_name("b", ["a", "b"], "date")
    'b'
    """
    try:
        if name in names:
            return name
    except Exception:  # noqa: S110 - names of any type, compared with any object
        pass
    raise InvalidInput(f"{option}: there is no column {shown(name)}{nearest(name, names)}")


def refuse_twins(names: Sequence[Any], owner: str = "X") -> None:
    """Refuse a table in which two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidInput(
            f"{owner} has the column {shown(twice)} twice; columns are told apart by their names"
        )


def positions(columns: Any, names: Sequence[Any] | None, option: str) -> Indices:
    """Columns by name, or by number where no name is meant, as sorted distinct positions.

    Where there are no names, `columns` as they are, to be checked by the constraint.

    >>> positions(["b", 0], ["a", "b", "c"], "include").tolist()
    [0, 1]
    """
    if names is None:
        return columns  # type: ignore[no-any-return]
    try:
        wanted: list[Any] = [columns] if isinstance(columns, str) else list(columns)
    except Exception:  # what a foreign container raises when it is read
        raise InvalidInput(
            f"{option} must be a list of names or numbers of columns, got {shown(columns)}"
        ) from None
    place = {name: at for at, name in enumerate(names)}
    places = []
    for label in wanted:
        number = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
        if number and label not in place and 0 <= label < len(names):
            places.append(int(label))
        else:
            places.append(place[known_name(label, names, option)])
    return as_units(np.array(places, np.int64), len(names), "columns", option)


def aligned(y: Any, X: Any, name: str = "y", of: str = "X") -> Any:
    """`y` in the order of the rows of X, where both are of pandas and have the same index labels.

    Else as it is.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    >>> aligned(pd.Series([30.0, 10.0, 20.0], index=["w", "u", "v"]), X).tolist()
    [10.0, 20.0, 30.0]
    """
    if not is_indexed(y) or not is_indexed(X) or X.index.equals(y.index):
        return y
    here, there = X.index, y.index
    for index, whose in ((here, of), (there, name)):
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise InvalidInput(
                f"{of} and {name} have their index labels in different order, and {whose} has"
                f" {shown(twice)} twice; give {name}.to_numpy() to go by position"
            )
    only = {of: here.difference(there, sort=False), name: there.difference(here, sort=False)}
    parts = [
        f"only {who} has {quoted(some, MAX_LABELS)}" for who, some in only.items() if len(some)
    ]
    if parts:
        raise InvalidInput(
            f"{of} and {name} have different index labels: {'; '.join(parts)}. Give both the same"
            f" rows, or {name}.to_numpy() to go by position"
        )
    return y.iloc[there.get_indexer(here)]


def by_name(values: Any, names: Sequence[Any] | None) -> Any:
    """A Series with names of columns for its index as a mapping, one without as an array.

    Anything else as it is.
    """
    if not is_indexed(values) or is_frame(values):
        return values
    if names is None or not set(values.index) & set(names):
        return values.to_numpy()
    return dict(zip(values.index, values.tolist(), strict=True))


def group_codes(
    groups: Any, names: Sequence[Any] | None, candidates: Indices, excluded: Indices
) -> Any:
    """A label for each column of a table: from a mapping, a Series with names for index, or an array.

    The columns that may be candidates need a label; `excluded` ones keep it where they have one, so
    that a group of which no column may be candidates is known. All others, such as the target, are
    in no group: their code is the first one.

    >>> codes, labels = group_codes(
    ...     {"a": "oil", "c": "gas"}, ["a", "b", "c"], np.array([0]), np.array([2])
    ... )
    >>> codes.tolist(), labels
    ([0, 0, 1], ('oil', 'gas'))
    """
    if groups is None or names is None:
        return groups
    groups = by_name(groups, names)
    if not isinstance(groups, Mapping):
        every, labels = as_groups(groups, len(names))
        named = np.union1d(candidates, excluded)
        groups = {names[i]: labels[every[i]] for i in named}
    lacking = [names[i] for i in candidates if names[i] not in groups]
    if lacking:
        raise InvalidInput(f"groups has no label for the column {quoted(lacking)}")
    codes = np.zeros(len(names), np.int64)
    number: dict[Any, int] = {}
    for i in [*candidates, *(i for i in excluded if names[i] in groups)]:
        codes[i] = number.setdefault(groups[names[i]], len(number))
    return Groups(codes, tuple(number))
