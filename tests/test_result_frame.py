"""Results as tables of the user's own library, and how they are shown."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import fewer
from fewer import Atoms, InvalidInput, Status, bins
from fewer._validation import as_generator
from fewer.result import Result, Words

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
FRAME = pd.DataFrame(
    {"age": [31, 47, 20], "plan": ["a", None, "b"], "index": [7, 8, 9]}, index=["x", "y", "z"]
)


def made(**changes):
    """Three points by hand, the second the heaviest."""
    parts = {
        "indices": np.array([1, 4, 6]),
        "weights": np.array([0.25, 0.5, 0.25]),
        "value": 0.5,
        "bound": 0.0,
    }
    ended = {"status": Status.FINISHED, "history": np.array([0.5]), "n_iter": 1, "seconds": 1.0}
    return replace(
        Result(**parts, **ended, space=Atoms(9), words=Words("points", 9, "MMD²")), **changes
    )


def test_points_come_back_as_whole_rows_in_their_order_under_their_own_labels():
    result = made(rows=FRAME, labels=np.array(["x", "y", "z"], object), total=200.0)
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
        result = made(rows=rows, labels=np.array([5, 6, 7], object))
        assert result.to_frame()["age"].tolist() == [31, 47, 20]
        assert result.to_frame().index.tolist() == [5, 6, 7]
        both = result.to_frame("polars")
        assert both["label"].to_list() == ["a", "b", "c"]
        assert both["index_label"].to_list() == [5, 6, 7]
    import scipy.sparse as sp

    array = np.array([[1.0, 0.0], [2.0, 5.0], [3.0, 0.0]])
    for rows in (array, sp.csr_array(array), array.tolist()):
        frame = made(rows=rows).to_frame()
        assert frame.columns.tolist() == ["index", "weight", "x0", "x1"]
        assert frame["x0"].tolist() == [1.0, 2.0, 3.0]
    series = made(rows=pd.Series([1, 2, 3], name="cost")).to_frame()
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
    terms = made(words=Words("columns", 9, "squared error"), labels=["AAPL", "MSFT", "IBM"])
    assert terms.to_frame()["name"].tolist() == ["AAPL", "MSFT", "IBM"]
    table = np.full(9, 1 / 9)
    dims = made(
        words=Words("columns", 9, "KL"), labels=["milk", "bread", "tea"], weights=None, table=table
    )
    assert dims.to_frame().to_dict("list") == {"index": [1, 4, 6], "name": ["milk", "bread", "tea"]}


def test_what_is_not_installed_or_not_known_gets_a_sentence(monkeypatch):
    with pytest.raises(InvalidInput, match="backend must be one of 'pandas', 'polars', got 'dask'"):
        made().to_frame("dask")
    result = made()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInput, match="to_frame needs pandas"):
        result.to_frame()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InvalidInput, match="needs polars"):
        result.to_frame("polars")


def test_a_bound_of_zero_is_not_shown_as_a_gap_unless_it_proves_something():
    assert "gap" not in repr(made())
    assert "gap" not in made()._repr_html_()
    assert "gap = 0.4" in repr(made(bound=0.1))
    assert "gap = 0," in repr(made(value=0.0, status=Status.OPTIMAL))
    assert "gap = 1.5" in repr(made(bound=-1.0))


def test_tables_and_pictures_show_the_users_names():
    named = made(labels=["<b>", "two", "three"], words=Words("columns", 9, "squared error"))
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


def test_a_seed_that_is_drawn_is_short_and_makes_the_same_again():
    seeds = [as_generator(None)[1] for _ in range(200)]
    assert max(seeds) < 10**6
    assert len(set(seeds)) > 190
    X = np.random.default_rng(0).standard_normal((30, 2))
    result = fewer.points(X, 3)
    assert result.seed < 10**6
    assert fewer.points(X, 3, rng=result.seed).indices.tolist() == result.indices.tolist()
    assert fewer.FewerPoints(3, random_state=None).fit(X).result_.seed < 10**6
