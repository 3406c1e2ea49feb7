"""Tables that are encoded while they are read, beside the same file as a frame."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import InvalidInput
from fewer.data import _coded, _csv, _line_blocks, _plain_cells, _plain_rows, read_table
from fewer.data._line_blocks import Block
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


def sliced(blocks, step):
    """Blocks of a few rows each, whatever polars makes of so small a file."""

    def found(self, types, names):
        for block in blocks(self, types, names):
            part = block.frame(names)
            yield from (Block(part.slice(i, step).select) for i in range(0, part.height, step))

    return found


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
        parts = table.frame()
        if rng.random() < 0.5:
            patch.setattr(_csv, "MIN_COMPILED_BYTES", 0)
            patch.setattr(_line_blocks, "BLOCK_BYTES", int(rng.integers(20, 4000)))
        else:
            patch.setattr(_csv.CsvSource, "_blocks", sliced(_csv.CsvSource._blocks, int(rng.integers(1, 60))))
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


ODD = [
    "",
    " 1",
    "1 ",
    "+1",
    "1.",
    ".5",
    "-",
    "1e5",
    "1E-3",
    "1e400",
    "nan",
    "inf",
    "007",
    "0x1",
    "1_0",
    "2024-02-30",
    "x",
    '"x"',
    "12345678901234567890",
]
COLUMNS = {
    "float": lambda rng: repr(float(rng.normal() * 10.0 ** rng.integers(-9, 9))),
    "short": lambda rng: f"{rng.normal():.3f}",
    "whole": lambda rng: str(rng.integers(-(10**6), 10**6)),
    "day": lambda rng: str(np.datetime64("1969-12-25") + int(rng.integers(0, 30_000))),
    "flag": lambda rng: str(rng.choice(["true", "false"])),
    "plan": lambda rng: str(rng.choice(["basic", "plus", "é"])),
    "rare": lambda rng: "seldom" if rng.random() < 0.01 else str(rng.choice(["a", "b"])),
    "code": lambda rng: f"c{rng.integers(0, 10**9)}",
}  # fmt: skip


def random_lines(rng, n):
    """A csv file of plain cells, with some odd ones, or lines, or line ends."""
    names = [str(name) for name in rng.permutation(list(COLUMNS))[: rng.integers(1, len(COLUMNS) + 1)]]
    rows = [[COLUMNS[name](rng) for name in names] for _ in range(n)]
    for _ in range(rng.integers(0, 3)):
        rows[rng.integers(n // 2, n)][rng.integers(len(names))] = str(rng.choice(ODD))
    lines = [",".join(names), *(",".join(row) for row in rows)]
    if rng.random() < 0.1:
        lines.insert(int(rng.integers(n // 2, n)), str(rng.choice(["", "1", "1,2,3,4,5,6,7,8,9"])))
    end = str(rng.choice(["\n", "\r\n"]))
    return end.join(lines) + (end if rng.random() < 0.8 else "")


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_plain_cells_are_what_polars_makes_of_them(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("plain") / "t.csv"
    path.write_bytes(random_lines(rng, int(rng.integers(20, 200))).encode())
    missing = str(rng.choice(["error", "drop", "impute", "category"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv, "MIN_COMPILED_BYTES", 0)
        patch.setattr(_csv, "HEAD_ROWS", 20)
        patch.setattr(read_table, "FIRST_ROWS", 1)
        patch.setattr(_line_blocks, "BLOCK_BYTES", int(rng.integers(20, 2000)))
        patch.setattr(_plain_rows, "MAX_REFUSED", int(rng.integers(1, 100)))
        frame, held = read(path, "frame"), read(path, "table")
    if isinstance(frame, str):
        assert held == frame
        return
    assert answer(held, missing=missing) == answer(frame, missing=missing)
    assert take_rows(held, np.arange(frame.height)).equals(take_rows(frame, np.arange(frame.height)))


def read(path, way):
    """A file as a frame or a table, or the sentence why not."""
    try:
        return getattr(open_table(path), way)()
    except InvalidInput as error:
        return str(error)


def test_numbers_are_rounded_as_python_rounds_them():
    rng = np.random.default_rng(0)
    near = [(Fraction(x) + Fraction(math.nextafter(x, 9.0))) / 2 for x in rng.uniform(0.1, 8.0, 2000)]
    cells = [
        *(repr(float(x)) for x in rng.normal(size=3000) * 10.0 ** rng.integers(-5, 15, 3000)),
        *(f"{rng.integers(2**53, 10**18)}e{rng.integers(-22, 23)}" for _ in range(3000)),
        *(f"{Decimal(x.numerator) / Decimal(x.denominator):.16g}" for x in near),  # close to a tie
        *(f"{rng.integers(10**9)}.{rng.integers(10**9)}" for _ in range(1000)),
    ]
    parsed = 0
    for cell in cells:
        value, end = _plain_cells.number(np.frombuffer(f"{cell}\n".encode(), np.uint8), np.uint64(0), False)
        parsed += end > 0
        assert end == 0 or (end, value) == (len(cell), float(cell)), cell
    assert parsed > 0.95 * len(cells)


def test_days_are_those_of_the_calendar():
    for year in (1, 4, 1600, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 9999):
        for month in range(14):
            for of_month in range(33):
                date = f"{year:04}-{month:02}-{of_month:02}"
                found, right = _plain_cells.day(np.frombuffer(f"{date}\n".encode(), np.uint8), np.uint64(0))
                try:
                    expected = (datetime.date.fromisoformat(date) - datetime.date(1970, 1, 1)).days
                except ValueError:
                    assert not right, date
                else:
                    assert (found, right) == (expected, True), date
