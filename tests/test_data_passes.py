"""Files are read to their end, and every pass over data in blocks gives the same rows."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import fewer
from commands import run
from fewer import InvalidInput
from fewer.io.files import open_table
from fewer.tables.frames import take_rows
from fewer.tables.source import source_of

SMALL = "20KB"


def damage(path):
    """Cut the pages of a parquet file and leave its footer whole."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + content[len(content) // 2 :])


@pytest.fixture
def damaged(tmp_path):
    """Three files of 5,000 rows, the second of which has lost its pages."""
    rng = np.random.default_rng(0)
    for i in range(3):
        table = pl.DataFrame({"x": rng.random(5000), "y": rng.random(5000)})
        table.with_columns(d=(pl.col("x") > 0.5).cast(int)).write_parquet(
            tmp_path / f"v{i}.parquet"
        )
    damage(tmp_path / "v1.parquet")
    return str(tmp_path / "v*.parquet")


CALLS = {
    "points": lambda files, **more: fewer.points(files, 3, rng=0, **more),
    "terms": lambda files, **more: fewer.terms(files, "y", 1, **more),
    "dims": lambda files, **more: fewer.dims(
        files, 1, columns={"x": "ignore", "y": "ignore"}, **more
    ),
}


@pytest.mark.parametrize("memory", ["1GB", SMALL])
@pytest.mark.parametrize("job", list(CALLS))
def test_damaged_pages_of_parquet_are_refused_by_every_job(job, memory, damaged):
    with pytest.raises(
        InvalidInput, match=r"v1.parquet: (is damaged: it declares 5000 rows|cannot be read)"
    ):
        CALLS[job](damaged, max_memory=memory)


def test_damaged_pages_of_parquet_are_refused_by_bins(tmp_path):
    for i in range(3):
        pl.DataFrame({"x": np.random.default_rng(i).random(5000)}).write_parquet(
            tmp_path / f"v{i}.parquet"
        )
    damage(tmp_path / "v1.parquet")
    with pytest.raises(
        InvalidInput, match=r"v1.parquet: is damaged: it declares 5000 rows, 0 can be read"
    ):
        fewer.bins(values=str(tmp_path / "v*.parquet"), k=3)


@pytest.mark.parametrize("memory", ["1GB", SMALL])
def test_damaged_pages_of_parquet_are_refused_by_the_command(memory, damaged):
    _, err = run("points", damaged, "-k", "3", "-q", "--max-memory", memory, code=2)
    assert "v1.parquet" in err.splitlines()[-1]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    write = {
        "parquet": pl.DataFrame.write_parquet,
        "csv": pl.DataFrame.write_csv,
        "arrow": pl.DataFrame.write_ipc,
    }

    def put(rows):
        write[ending](pl.DataFrame({"x": np.arange(rows) + 0.5}), tmp_path / "new")
        os.replace(tmp_path / "new", path)

    put(5000)
    table = open_table(path)
    assert sum(part.height for part in table.batches(["x"])) == 5000
    put(3000)
    with pytest.raises(
        InvalidInput, match=r"t\..*(must not change while it is read|cannot be read|is damaged)"
    ):
        sum(part.height for part in table.batches(["x"]))


def changing(first, later, until):
    """A callable that gives other rows from one of its calls on."""
    calls = []

    def rows():
        calls.append(1)
        return iter(np.array_split(first if len(calls) <= until else later, 10))

    return rows


X = np.random.default_rng(0).random((20_000, 2))


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (X[:8000], "a pass had 20000 rows or more, another one has 8000"),
        (np.concatenate([X, X[:5]]), "a pass had 20000 rows, another one has more"),
        (X[::-1], "rows 0 to 1999 differ between two passes"),
        (np.concatenate([X[:-1], [[0.5, 0.5]]]), "rows 0 to 19999 differ between two passes"),
    ],
)
def test_passes_that_differ_are_refused(later, words):
    """The first three calls are for the size of the data, the first rows, and the first pass."""
    with pytest.raises(InvalidInput, match=f"every pass must give the same rows; {words}"):
        fewer.points(changing(X, later, 3), 5, rng=0, max_memory="100KB")


@pytest.mark.parametrize(
    ("job", "until"),
    [
        ("points", 1),
        ("points", 2),
        ("points", 3),
        ("bins", 1),
        ("bins", 2),
        ("dims", 1),
        ("dims", 2),
    ],
)
def test_a_pass_with_fewer_rows_than_any_before_is_refused(job, until):
    rows = changing(X, X[:1500], until)
    columns = {
        "points": rows,
        "bins": lambda: (block[:, 0] for block in rows()),
        "dims": lambda: ((block > 0.5).astype(int) for block in rows()),
    }
    with pytest.raises(InvalidInput, match="every pass must give the same rows; a pass had"):
        getattr(fewer, job)(columns[job], 2, rng=0, max_memory="100KB")


@pytest.mark.parametrize("until", [1, 2])
@pytest.mark.parametrize("job", ["points", "bins", "dims", "terms"])
def test_a_pass_with_other_values_than_the_first_look_is_refused(job, until):
    rows = changing(X, X[::-1], until)
    calls = {
        "points": lambda: fewer.points(rows, 2, rng=0, max_memory="100KB"),
        "bins": lambda: fewer.bins(lambda: (block[:, 0] for block in rows()), 2, max_memory="9KB"),
        "dims": lambda: fewer.dims(
            lambda: ((block > 0.5).astype(int) for block in rows()), 1, max_memory="9KB"
        ),
        "terms": lambda: fewer.terms(rows, np.arange(20_000.0), 1, max_memory="9KB"),
    }
    with pytest.raises(InvalidInput, match="rows 0 to 1999 differ between two passes"):
        calls[job]()


def test_passes_may_be_cut_differently():
    cuts = iter([3, 7, 11, 13, 2])
    found = fewer.points(lambda: iter(np.array_split(X, next(cuts))), 5, rng=0, max_memory="100KB")
    same = fewer.points(changing(X, X, 0), 5, rng=0, max_memory="100KB")
    assert found.indices.tolist() == same.indices.tolist()


TABLE = pd.DataFrame({"x": [0.5, np.nan, 2.0, 3.0], "t": ["a", None, "b", "é"]})
CONTAINERS = {
    "array": TABLE[["x"]].to_numpy(),
    "objects": np.array([["a", "b"], ["c", None], [1, 2.0], ["a", "b"]], object),
    "sparse": sp.csr_array(np.eye(4)),
    "pandas": TABLE,
    "polars": pl.from_pandas(TABLE),
    "arrow": pa.Table.from_pandas(TABLE),
    "lists": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_passes_with_other_rows_are_told_apart_in_every_container(name):
    rows = CONTAINERS[name]
    passes = [[0, 1, 2, 3], [0, 1, 2, 3], [1, 0, 2, 3]]
    source = source_of(lambda: iter([take_rows(rows, passes.pop(0))]))
    height = lambda: source.fold("pass", lambda block, _: block.X.shape[0], None, sum, 4)
    assert height() == height() == 4
    with pytest.raises(InvalidInput, match="rows 0 to 3 differ between two passes"):
        height()


def test_blocks_may_hold_lists_that_are_left_out():
    block = pd.DataFrame({"a": [[1], [2]], "b": [1.0, 2.0]})
    found = fewer.points(lambda: iter([block]), 1, columns={"a": "ignore"})
    assert len(found.indices) == 1


def test_sparse_blocks_whose_indices_are_out_of_range_are_refused():
    block = sp.csr_array(np.eye(3))
    block.indices[1] = 9
    with pytest.raises(InvalidInput, match="not a valid sparse matrix: indices must be < 3"):
        fewer.points(lambda: iter([block]), 1)


def test_rows_that_are_gone_when_the_kept_ones_are_read_are_refused():
    table, calls = pl.DataFrame(X[:2000], schema=["a", "b"], orient="row"), []

    def rows():
        calls.append(1)
        return (table[:100] if len(calls) > 3 else table).iter_slices(300)

    with pytest.raises(InvalidInput, match="every pass must give the same rows; a pass had"):
        fewer.points(rows, 4, gamma=1.0, solver="greedy", max_memory="20KB", rng=0)


def test_rows_that_dask_lost_since_they_were_counted_are_refused():
    dask = pytest.importorskip("dask")
    calls = []

    def part():
        calls.append(1)
        return X[:5000] if len(calls) < 3 else X[:3000]

    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidInput, match="every pass must give the same rows"),
    ):
        fewer.terms([dask.delayed(part, pure=False)()], np.arange(5000.0), 1, max_memory="9KB")


@pytest.mark.parametrize("ending", ["csv", "arrow"])
def test_rows_of_a_file_that_was_written_to_are_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    table = pl.DataFrame({"x": X[:, 0]})
    write = table.write_csv if ending == "csv" else table.write_ipc
    write(path)
    opened = open_table(path)
    os.utime(path, ns=(1, 1))
    for read in (lambda: opened.rows([3]), opened.frame):
        with pytest.raises(InvalidInput, match="must not change while it is read"):
            read()
