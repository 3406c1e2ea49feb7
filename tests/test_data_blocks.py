"""Large tables: the first rows of large files, levels by polars, and blocks of rows."""

import numpy as np
import polars as pl
import pytest

from fewer import InvalidInput
from fewer.tables import encode as encode
from fewer.tables.column import columns_of
from fewer.tables.encode import encoded
from fewer.tables.source import Block
from fewer.threads import in_threads

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["c", "b", "a", "unused"])])
@pytest.mark.parametrize("missing", [False, True])
def test_levels_are_those_of_numpy(dtype, missing):
    texts = RNG.choice(["a", "b", "c", *([None] if missing else [])], 5000).tolist()
    levels, codes = columns_of(pl.DataFrame({"x": pl.Series(texts, dtype=dtype)}))[0].levels
    assert levels.tolist() == ["a", "b", "c"]
    assert [None if code < 0 else levels[code] for code in codes] == texts


def test_levels_of_nothing_and_of_columns_that_share_their_categories():
    assert (
        columns_of(pl.DataFrame({"x": pl.Series([None, None], dtype=pl.String)}))[
            0
        ].levels.codes.tolist()
        == [-1] * 2
    )
    first = pl.Series("first", [f"v{i}" for i in range(5000)], dtype=pl.Categorical)
    column = columns_of(pl.DataFrame({"x": pl.Series(["v4999", "v7"] * 3, dtype=pl.Categorical)}))[
        0
    ]
    assert len(first)
    assert column.levels.values.tolist() == ["v4999", "v7"]
    assert column.levels.codes.tolist() == [0, 1] * 3


def test_numbers_whose_sum_overflows_are_taken_and_infinite_ones_refused():
    values = np.full(10, 1e308)
    assert np.array_equal(encoded(Block(pl.DataFrame({"x": values}))).encoded[:, 0], values)
    values[7] = -np.inf
    with pytest.raises(InvalidInput, match="column 'x', row 7: expected a finite number, got -inf"):
        encoded(Block(pl.DataFrame({"x": values})))


def test_work_in_threads_keeps_its_order_and_raises_what_the_first_raised():
    assert in_threads(lambda i: i * i, range(50)) == [i * i for i in range(50)]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda i: 1 / (i - 3), range(6))
