"""Pictures of answers: their numbers against other ways to get them, and the page of every job without --path."""

import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fewer.report.drawings import (
    MAX_DRAWN_ROWS,
    cloud,
    cumulative,
    drawn_rows,
    plane_of,
    tracks,
)
from fewer.report.path import solve_path, study_of
from fewer.report.path_page import path_page
from fewer.report.svg import stairs

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((90, 4)) * [5.0, 3.0, 1.0, 0.5]


def test_the_plane_of_rows_is_that_of_principal_components():
    plane = plane_of(ROWS)
    expected = PCA(2).fit(ROWS)
    places, found = expected.transform(ROWS[::7]), plane.place(ROWS[::7])
    assert found * np.sign((found * places).sum(axis=0)) == pytest.approx(places)
    for name, share in zip(plane.axes, expected.explained_variance_ratio_, strict=True):
        assert f"({100 * share:.0f} %" in name


def test_one_and_two_columns_are_drawn_as_they_are():
    two = plane_of(ROWS[:, :2], ["height", "width"])
    assert two.axes == ("height", "width")
    assert two.place(ROWS[[3], :2]).tolist() == ROWS[3:4, :2].tolist()
    one = plane_of(ROWS[:, :1], ["height"])
    assert one.axes == ("height", "")
    assert one.place(ROWS[[3, 8], :1])[:, 0].tolist() == ROWS[[3, 8], 0].tolist()


def test_long_curves_are_thinned_and_keep_every_step_of_the_answer():
    before = RNG.random(50_000)
    after = np.zeros(50_000)
    after[RNG.choice(50_000, 40, replace=False)] = 1 / 40
    drawing = cumulative(np.arange(50_000.0), before / before.sum(), after, "bin")
    ours = re.search(r'class="series ours"><path d="([^"]+)"', drawing)[1]
    assert len(set(re.findall(r"V([\d.]+)", ours))) == 40
    assert drawing.count("H") <= 1400
    drawing = tracks(np.arange(5000.0), np.arange(5000.0) + 1)
    assert "600 of 5000 rows" in drawing
    assert "at most 1 in size" in drawing


@pytest.mark.parametrize("points", [[("0", "9"), ("1", "9"), ("2", "9")], [("0", "9"), ("1", "4")]])
def test_stairs_end_where_their_points_do(points):
    path = stairs(points)
    assert re.findall(r"[MH]([\d.]+)", path)[-1] == points[-1][0]
    assert path.count("V") == sum(a[1] != b[1] for a, b in pairwise(points))


PROBLEMS = {
    "points": lambda: study_of("points", ROWS, 6, ["c0", "c1", "c2", "c3"]),
    "hamming": lambda: study_of("points", (ROWS > 0).astype(float), 6, similarity="hamming"),
    "bins": lambda: study_of("bins", None, counts=np.bincount(RNG.poisson(20, 900))),
    "bars": lambda: study_of(
        "bins", RNG.lognormal(size=400), grid="equal", n_bins=700, contiguous=True
    ),
    "edges": lambda: study_of(
        "bins", None, counts=RNG.integers(1, 9, 30), edges=np.geomspace(1, 1e6, 31)
    ),
    "terms": lambda: study_of(
        "terms", ROWS @ RNG.random((4, 9)), 6, [f"<b>{i}" for i in range(9)], y=ROWS[:, 0]
    ),
    "dims": lambda: study_of(
        "dims", (RNG.random((60, 9)) < 0.2).astype(np.int8), 6, [f"<b>{i}" for i in range(9)]
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_page_of_every_job_has_a_picture_without_a_path(name):
    solver = "auto" if name == "bars" else "greedy"
    found = solve_path(PROBLEMS[name](), [6], solver=solver)
    page = path_page(found, "title", {})
    assert "Which k?" not in page
    assert "<b>" not in page
    kept = len(found.answer.result.indices)
    drawings = re.findall(r'<svg viewBox="0 0 640 340".*?</svg>', page)
    assert all("<title>" in d and 'role="img"' in d and "nan" not in d for d in drawings)
    if found.study.job == "points":
        (drawing,) = drawings
        assert drawing.count("<circle") == kept
        assert drawing.count("h0") == found.study.size
        radii = sorted((float(r) for r in re.findall(r' r="([\d.]+)"', drawing)), reverse=True)
        shares = np.sqrt(found.answer.result.heaviest_first()[1] / found.answer.result.p.max())
        assert radii == pytest.approx(np.maximum(18.0 * shares, 3.0).tolist(), abs=0.06)
    elif found.study.job == "dims":
        assert page.count('class="bars') == 2
        assert page.count("<li><span>") == kept + 1
    else:
        assert len(drawings) == (2 if name == "terms" else 1)
        assert "<desc>" in page
    assert 'class="scroll" tabindex="0" role="region" aria-label="' in page


def test_many_rows_are_drawn_in_part_and_that_is_said():
    rows = RNG.standard_normal((4000, 2))
    some, weights = drawn_rows(4000), np.array([0.75, 0.25])
    captions = ["row 5: 75 %", "row 9: 25 %"]
    drawing = cloud(plane_of(rows), rows[some], rows[[5, 9]], weights, 4000, captions)
    assert drawing.count("h0") == MAX_DRAWN_ROWS
    assert f"{MAX_DRAWN_ROWS} of 4000 rows" in drawing
    assert "<title>row 9: 25 %</title>" in drawing


def test_what_no_axis_holds_is_not_drawn():
    assert tracks(np.array([1e308, -1e308, 0.0]), np.zeros(3)) is None
    assert "nan" not in tracks(np.zeros(3), np.zeros(3))
    ones = np.ones((5, 3))
    assert "nan" not in cloud(plane_of(ones), ones, ones[:1], np.array([1.0]), 5, ["a"])
