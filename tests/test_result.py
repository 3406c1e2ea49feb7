"""What a run hands back: its fields, and how it is shown."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from fewer import (
    Atoms,
    InvalidInput,
    Status,
    bins,
    dims,
    points,
    terms,
)
from fewer.result import Result, Words

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")

ORDERS = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
ROWS = np.random.default_rng(0).standard_normal((30, 2))


def made(**changes):
    """A result by hand."""
    result = Result(
        indices=np.array([1, 4]),
        weights=np.array([0.25, 0.75]),
        value=0.00176,
        bound=0.00135,
        status=Status.FINISHED,
        history=np.array([0.3, 0.00176]),
        n_iter=2,
        seconds=1.23,
        space=Atoms(1437),
        words=Words("points", 1437, "MMD²"),
    )
    return replace(result, **changes)


def test_the_message_is_the_status_and_the_note():
    assert made().message == "Search finished; optimality not proven."
    noted = made(note="columns were standardized; equal rows were not merged")
    assert (
        noted.message
        == "Search finished; optimality not proven. Columns were standardized; equal rows were not"
        " merged."
    )


def test_the_line_for_people():
    assert (
        repr(made()) == "Result(2 of 1437 points, MMD² = 0.00176, gap = 0.00041, finished in 1.2 s)"
    )
    estimated = made(bound=None, value_se=0.0002, status=Status.TIME_LIMIT, seconds=321.4)
    assert (
        repr(estimated)
        == "Result(2 of 1437 points, MMD² = 0.00176 ± 0.0002, stopped by the time limit after"
        " 321 s)"
    )
    assert len({repr(made(status=status)) for status in Status}) == len(Status)


def test_the_table_of_a_notebook_is_heaviest_first_escaped_and_without_colours():
    html = made(note="<script>alert(1)</script>")._repr_html_()
    assert html.index("<td>4</td><td>0.75</td>") < html.index("<td>1</td><td>0.25</td>")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "MMD² = 0.00176" in html
    assert "color" not in html
    many = made(indices=np.arange(50), weights=np.full(50, 0.02))._repr_html_()
    assert many.count("<tr>") == 1 + 20 + 1
    assert "and 30 more" in many
    columns = dims(ORDERS, 2)._repr_html_()
    assert "<td>0</td></tr><tr><td>1</td></tr>" in columns
    assert "<th>weight</th>" not in columns


SHARES = [0.5, 0.3, 0.2, 0.0]


@pytest.mark.parametrize(
    ("solve", "words"),
    [
        (lambda: points(ROWS, 4, rng=0), ("points", 30, "MMD²")),
        (lambda: bins(counts=[4, 0, 1, 5], k=2), ("bins", 4, "squared difference of the cdf")),
        (lambda: terms(np.eye(4), SHARES, 2, rng=0), ("columns", 4, "squared error")),
        (lambda: dims(ORDERS, 2), ("columns", 4, "KL")),
    ],
)
def test_jobs_answer_in_the_callers_numbering_and_name_their_loss(solve, words):
    result = solve()
    assert result.words == words
    assert (np.diff(result.indices) > 0).all()
    assert (result.weights is None) == (words[2] == "KL")
    if result.weights is not None:
        assert (result.p[result.indices] == result.weights).all()
        indices, weights = result.heaviest_first()
        assert (np.diff(weights) <= 0).all()
        assert (result.p[indices] == weights).all()
    kept = f"{len(result.indices)} of {words[1]} {words[0]}"
    assert repr(result).startswith(f"Result({kept}, {words[2]} = ")


def test_plots(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    weights = terms(np.eye(4), [0.5, 0.3, 0.2, 0.0], 2, rng=0)
    ax = weights.plot()
    assert [bar.get_height() for bar in ax.patches] == weights.weights.tolist()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    ax.clear()
    chosen = dims(ORDERS, 2)
    assert chosen.plot(ax) is ax  # of the three rows covered two use each of the columns
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([2 / 3, 2 / 3])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match="plot needs matplotlib"):
        weights.plot()


FRAME = pd.DataFrame(
    {"age": [31, 47, 20], "plan": ["a", None, "b"], "index": [7, 8, 9]}, index=["x", "y", "z"]
)


def points_made(**changes):
    """Three points by hand, the second the heaviest."""
    three = {"indices": np.array([1, 4, 6]), "weights": np.array([0.25, 0.5, 0.25])}
    about = {"value": 0.5, "bound": 0.0, "space": Atoms(9), "words": Words("points", 9, "MMD²")}
    return made(**(three | about | changes))


def test_points_come_back_as_whole_rows_in_their_order_under_their_own_labels():
    result = points_made(rows=FRAME, labels=np.array(["x", "y", "z"], object), total=200.0)
    frame = result.to_frame()
    assert frame.columns.tolist() == ["index", "weight", "count", "age", "plan", "index_in_table"]
    assert frame.index.tolist() == ["x", "y", "z"]
    assert frame["index"].tolist() == [1, 4, 6]
    assert frame["age"].tolist() == [31, 47, 20]
    assert frame["age"].dtype == FRAME["age"].dtype
    assert result.counts.tolist() == [50.0, 100.0, 50.0]
    other = result.to_frame(backend="polars")
    assert other.columns == ["index", "weight", "count", "label", "age", "plan", "index_in_table"]
    assert other["label"].to_list() == ["x", "y", "z"]
    assert other["plan"].to_list()[::2] == ["a", "b"]
    assert other["count"].to_list() == [50.0, 100.0, 50.0]


def test_rows_of_any_container_become_rows_of_either_library():
    pa = pytest.importorskip("pyarrow")
    polars = pl.DataFrame({"age": [31, 47, 20], "label": ["a", "b", "c"]})
    for rows in (
        polars,
        polars.to_arrow() if hasattr(polars, "to_arrow") else pa.table(polars.to_dict()),
    ):
        result = points_made(rows=rows, labels=np.array([5, 6, 7], object))
        assert result.to_frame()["age"].tolist() == [31, 47, 20]
        assert result.to_frame().index.tolist() == [5, 6, 7]
        both = result.to_frame("polars")
        assert both["label"].to_list() == ["a", "b", "c"]
        assert both["index_label"].to_list() == [5, 6, 7]
    import scipy.sparse as sp

    array = np.array([[1.0, 0.0], [2.0, 5.0], [3.0, 0.0]])
    for rows in (array, sp.csr_array(array), array.tolist()):
        frame = points_made(rows=rows).to_frame()
        assert frame.columns.tolist() == ["index", "weight", "x0", "x1"]
        assert frame["x0"].tolist() == [1.0, 2.0, 3.0]
    series = points_made(rows=pd.Series([1, 2, 3], name="cost")).to_frame()
    assert series["cost"].tolist() == [1, 2, 3]


def test_bins_come_with_values_and_edges_in_their_order():
    x = np.random.default_rng(0).lognormal(size=200)
    result = bins(x, 5)
    for frame in (result.to_frame(), result.to_frame("polars")):
        assert list(frame.columns) == ["index", "weight", "count", "value", "from", "to"]
        assert list(frame["value"]) == sorted(result.labels)
        assert list(frame["weight"]) == result.weights.tolist()
    assert bins(counts=[4, 0, 1, 5], k=2).to_frame().columns.tolist() == [
        "index",
        "weight",
        "count",
    ]
    placed = bins(counts=[4, 0, 1, 5], k=2, positions=[1, 2, 4, 8]).to_frame()
    assert placed.columns.tolist() == ["index", "weight", "count", "value"]


def test_columns_come_with_their_names_and_without_weights_in_their_order():
    terms = points_made(words=Words("columns", 9, "squared error"), labels=["AAPL", "MSFT", "IBM"])
    assert terms.to_frame()["name"].tolist() == ["AAPL", "MSFT", "IBM"]
    table = np.full(9, 1 / 9)
    dims = points_made(
        words=Words("columns", 9, "KL"), labels=["milk", "bread", "tea"], weights=None, table=table
    )
    assert dims.to_frame().to_dict("list") == {"index": [1, 4, 6], "name": ["milk", "bread", "tea"]}


def test_what_is_not_installed_or_not_known_gets_a_sentence(monkeypatch):
    with pytest.raises(InvalidInput, match="backend must be one of 'pandas', 'polars', got 'dask'"):
        points_made().to_frame("dask")
    result = points_made()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInput, match="to_frame needs pandas"):
        result.to_frame()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InvalidInput, match="needs polars"):
        result.to_frame("polars")


def test_a_bound_of_zero_is_not_shown_as_a_gap_unless_it_proves_something():
    assert "gap" not in repr(points_made())
    assert "gap" not in points_made()._repr_html_()
    assert "gap = 0.4" in repr(points_made(bound=0.1))
    assert "gap = 0," in repr(points_made(value=0.0, status=Status.OPTIMAL))
    assert "gap = 1.5" in repr(points_made(bound=-1.0))


def test_tables_and_pictures_show_the_users_names():
    named = points_made(labels=["<b>", "two", "three"], words=Words("columns", 9, "squared error"))
    html = named._repr_html_()
    assert "<th>index</th><th>name</th><th>weight</th>" in html
    assert html.index("<td>4</td><td>two</td><td>0.5</td>") < html.index(
        "<td>1</td><td>&lt;b&gt;</td><td>0.25</td>"
    )
    values = bins([1.5, 9.0, 1.0, 2.0, 8.0, 1.5], 2)
    assert "<td>1</td><td>1.5</td><td>0.6538</td>" in values._repr_html_()
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = named.plot()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["<b>", "two", "three"]
    assert ax.get_xlabel() == "name of columns"
    line = values.plot()
    assert line.get_xlabel() == "value"
    assert [segment[0][0] for segment in line.collections[0].get_segments()] == [1.5, 8.0]
    pyplot.close("all")
