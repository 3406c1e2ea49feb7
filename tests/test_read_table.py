"""Tables that are encoded while they are read, beside the same file as a frame."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import InvalidInput
from fewer.data import _coded, _csv, read_table
from fewer.data.encode import encoded
from fewer.data.files import open_table
from fewer.data.frames import columns_of, take_rows

WORDS = ["basic", "plus", "premium", "NA", " x", "é", "-", "a,b", 'say "hi"']


def random_frame(rng, n):
    """Columns of every kind that a csv holds."""
    gone = lambda values: [None if rng.random() < 0.05 else value for value in values]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 900, n)]
    columns = {
        "x": rng.standard_normal(n).round(3),
        "count": rng.integers(-5, 1000, n),
        "plan": rng.choice(["basic", "plus", "premium"], n),
        "word": rng.choice(WORDS, n),
        "flag": rng.random(n) < 0.5,
        "day": days,
        "id": np.arange(n) + 7,
        "code": [f"c{i:05d}" for i in rng.permutation(n)],
        "city": [f"city{i}" for i in rng.integers(0, 40, n)],
        "big": rng.integers(2**60, 2**62, n),
        "price": [f"${v:,.2f}" for v in rng.uniform(0, 5000, n)],
        "gap": gone(rng.standard_normal(n).round(2).tolist()),
        "hole": gone(rng.choice(["u", "v"], n).tolist()),
        "late": ["b"] * (n - 1) + ["a"],
        "one": [True] * n,
    }
    chosen = rng.permutation(list(columns))[: rng.integers(1, len(columns) + 1)]
    return pl.DataFrame({str(name): columns[str(name)] for name in chosen}, strict=False)


def answer(X, **options):
    """The rows and what is said of them, or the sentence."""
    try:
        found = encoded(X, **options)
    except InvalidInput as error:
        return str(error)
    rows = found.rows.toarray() if hasattr(found.rows, "toarray") else found.rows
    kept = None if found.kept is None else found.kept.tolist()
    return rows.dtype, rows.shape, rows.tobytes(), kept, found.notes, type(found.rows)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.sampled_from(["error", "drop", "impute", "category"]))
def test_a_table_read_in_parts_is_encoded_like_the_frame(tmp_path_factory, seed, missing):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("read") / "t.csv"
    n = int(rng.integers(2, 400))
    random_frame(rng, n).write_csv(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_table, "FIRST_ROWS", int(rng.integers(1, 50)))
        patch.setattr(read_table, "CACHED_ROWS", int(rng.integers(1, 50)))
        patch.setattr(_coded, "MAX_LEVELS", int(rng.integers(1, 60)))
        table = open_table(path)
        parts, step = table.frame(), int(rng.integers(1, 60))
        real = _csv.CsvSource._parts
        patch.setattr(
            _csv.CsvSource,
            "_parts",
            lambda self, *given: (p.slice(i, step) for p in real(self, *given) for i in range(0, p.height, step)),
        )
        patch.setattr(_csv.CsvSource, "_expected_rows", lambda self: int(rng.integers(1, 2 * n)))
        held = table.table()
    for equality in (False, True):
        assert answer(held, missing=missing, equality=equality) == answer(parts, missing=missing, equality=equality)
    rows = rng.integers(0, n, 5)
    assert take_rows(held, rows).equals(take_rows(parts, rows))
    assert take_rows(held, rows).schema == parts.schema
    for here, there in zip(columns_of(held), columns_of(parts), strict=True):
        assert (here.name, here.kind, here.dtype) == (there.name, there.kind, there.dtype)
        assert [held[here.name][int(i)] for i in rows] == [parts[here.name][int(i)] for i in rows]
        assert here.levels.values.tolist() == there.levels.values.tolist() if here.kind == "category" else True


def test_rows_of_a_plain_csv_are_there_when_it_is_read(tmp_path):
    rng = np.random.default_rng(0)
    n = 30_000
    pl.DataFrame(
        {"x": rng.random(n), "plan": rng.choice(["a", "b"], n), "on": rng.random(n) < 0.5, "n": np.arange(n)}
    ).write_csv(tmp_path / "t.csv")
    held = open_table(tmp_path / "t.csv").table()
    assert held.encoded
    assert encoded(held).rows is held.matrix
    assert np.array_equal(held.matrix, encoded(open_table(tmp_path / "t.csv").frame()).rows)


@pytest.mark.parametrize("cell", ["oops", "1,5,7", "\x00"])
def test_a_bad_cell_far_down_is_named_as_in_a_frame(tmp_path, cell):
    lines = ["x,plan", *(f"{i}.5,{'ab'[i % 2]}" for i in range(25_000))]
    lines[20_001] = f"{cell},a"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInput) as whole:
        open_table(tmp_path / "t.csv").frame()
    with pytest.raises(InvalidInput) as parts:
        open_table(tmp_path / "t.csv").table()
    assert str(parts.value) == str(whole.value)
    assert "row 20000" in str(parts.value)


def test_an_infinite_number_is_named_by_its_row(tmp_path):
    lines = ["x,y", *(f"{i}.5,1.5" for i in range(12_000))]
    lines[11_001] = "inf,1.5"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInput, match="column 'x', row 11000: expected a finite number, got inf"):
        encoded(open_table(tmp_path / "t.csv").table())
