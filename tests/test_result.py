"""What a run hands back: its fields, and how it is shown."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import fewer
from fewer import (
    L2,
    Atoms,
    DimensionSparse,
    FewerPoints,
    InvalidInput,
    Lattice,
    Moments,
    Simplex,
    SparseSimplex,
    SparseStates,
    States,
    Status,
    bins,
    dims,
    greedy,
    iht,
    minimize,
    points,
    terms,
)
from fewer.result import Result, Words

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


@pytest.mark.parametrize(
    ("status", "success"),
    [(s, s in (Status.OPTIMAL, Status.CONVERGED, Status.FINISHED)) for s in Status],
    ids=[s.name for s in Status],
)
def test_success_is_a_run_that_ended_by_itself(status, success):
    assert made(status=status).success is success


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


@pytest.mark.parametrize(
    ("solve", "words"),
    [
        (lambda: points(ROWS, 4, rng=0), ("points", 30, "MMD²")),
        (lambda: bins(counts=[4, 0, 1, 5], k=2), ("bins", 4, "squared difference of the cdf")),
        (
            lambda: bins(counts=[4, 0, 1, 5], k=2, preserve="entries"),
            ("bins", 4, "squared difference"),
        ),
        (
            lambda: bins(counts=[4, 0, 1, 5], k=2, preserve=np.eye(4), rng=0),
            ("bins", 4, "squared error"),
        ),
        (lambda: terms(np.eye(4), [0.5, 0.3, 0.2, 0.0], 2, rng=0), ("columns", 4, "squared error")),
        (lambda: dims(ORDERS, 2), ("columns", 4, "KL")),
        (lambda: dims(ORDERS, 2, objective="l2"), ("columns", 4, "squared distance")),
    ],
)
def test_jobs_answer_in_the_callers_numbering_and_name_their_loss(solve, words):
    result = solve()
    assert result.words == words
    assert result.indices.dtype == np.int64
    assert (np.diff(result.indices) > 0).all()
    assert (result.support == result.indices).all()
    if words[0] == "columns" and words[2] != "squared error":
        assert result.weights is None
        assert result.p.size == result.space.size
    else:
        assert result.weights.shape == result.indices.shape
        assert result.table is None
        assert (result.p[result.indices] == result.weights).all()
        assert np.count_nonzero(result.p) == np.count_nonzero(result.weights)
    assert repr(result).startswith(
        f"Result({len(result.indices)} of {words[1]} {words[0]}, {words[2]} = "
    )


def test_a_large_space_holds_no_dense_answer():
    X = np.repeat([0.0, 1.0, 5.0, 5.5], 5000)[:, None]
    result = points(X, 2, gamma=1.0, rng=0)
    held = [x for x in vars(result).values() if isinstance(x, np.ndarray)]
    assert max(x.size for x in held) < 1000
    assert result.p.size == 20_000
    assert all(x.size < 1000 for x in vars(result).values() if isinstance(x, np.ndarray))


cube = Lattice(3, 2)
TABLE = np.array([0.4, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0])


@pytest.mark.parametrize(
    ("constraint", "entries", "unit", "total"),
    [
        (DimensionSparse(cube, 1), False, "dimensions", 3),
        (SparseSimplex(cube, 2), True, "states", 8),
        (Simplex(cube), True, "states", 8),
        (SparseStates(cube, 1), True, "states", 8),
    ],
    ids=lambda x: type(x).__name__,
)
def test_weights_are_given_where_a_unit_is_an_entry(constraint, entries, unit, total):
    result = iht(L2(cube, TABLE), constraint, rng=0)
    assert (result.weights is not None) is entries
    assert result.words[:2] == (unit, total)
    assert constraint.contains(result.p)
    if entries:
        assert (result.weights == result.p[result.indices]).all()


class Pairs:
    """At most one of the pairs {0, 1}, {2, 3}: a set whose units are not entries."""

    space, k, n_units, whole_faces = Atoms(4), 1, 2, True

    def face(self, units):
        return np.sort(
            np.concatenate([[2 * i, 2 * i + 1] for i in np.asarray(units, int)]).astype(int)
        )

    def support(self, p):
        return np.unique(np.flatnonzero(p) // 2)

    def contains(self, p, tol=1e-9):
        return bool(
            p.min() >= -tol
            and abs(p.sum() - 1) <= tol
            and self.support(np.where(p > tol, p, 0)).size <= 1
        )

    def project(self, v, near=None):
        best = self.face([int(v[2:].sum() > v[:2].sum())])
        p = np.zeros(4)
        p[best] = Simplex(Atoms(2)).project(v[best])
        return p


def test_groups_of_entries_have_no_weights_and_keep_their_vector():
    result = minimize(L2(Atoms(4), [0.1, 0.2, 0.3, 0.4]), Pairs(), "iht", rng=0)
    assert result.weights is None
    assert result.indices.tolist() == [1]
    assert result.words[:2] == ("units", 2)
    assert result.p == pytest.approx([0, 0, 0.45, 0.55])


def test_heaviest_first_breaks_ties_by_index():
    indices, weights = made(
        indices=np.array([3, 5, 9]), weights=np.array([0.3, 0.4, 0.3])
    ).heaviest_first()
    assert indices.tolist() == [5, 3, 9]
    assert weights.tolist() == [0.4, 0.3, 0.3]


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
    ax.clear()
    path = minimize(L2(Atoms(4), [0.1, 0.2, 0.3, 0.4]), Pairs(), "iht", rng=0)
    assert path.plot(ax).lines[0].get_ydata().tolist() == path.history.tolist()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match="plot needs matplotlib"):
        weights.plot()


def test_a_face_of_states_that_are_dimensions_by_chance_is_not_taken_for_entries():
    seen = States([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    result = greedy(L2(seen, seen.weights), DimensionSparse(seen, 2))
    assert result.p.size == 3
    assert result.p == pytest.approx(L2(seen, seen.weights).best_on(seen.face(result.indices)))


def test_the_value_of_a_result_is_that_of_its_p():
    F = Moments(Atoms(4), np.eye(4), [0.5, 0.3, 0.2, 0.0])
    result = minimize(F, SparseSimplex(F.space, 2, include=[3]), "iht", rng=0)
    assert 3 in result.indices
    assert F.value(result.p) == pytest.approx(result.value, abs=1e-12)


@pytest.mark.parametrize("kind", ["pandas", "default"])
def test_transformers_name_their_columns(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": [0, 1, 2, 1, 0, 2], "b": [1, 0, 2, 2, 0, 1], "c": [0, 0, 1, 1, 0, 1]}
    )
    expected = {
        fewer.FewerBins(2): ["a", "b", "c"],
        fewer.FewerDims(2): None,
        FewerPoints(2): ["fewerpoints0", "fewerpoints1"],
    }
    for model, names in expected.items():
        found = model.set_output(transform=kind).fit(frame).transform(frame)
        names = [frame.columns[i] for i in model.indices_] if names is None else names
        assert model.get_feature_names_out().tolist() == names
        if kind == "pandas":
            assert found.columns.tolist() == names
            assert found.index.equals(frame.index)
        else:
            assert found.shape == (6, len(names))
