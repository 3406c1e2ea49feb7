"""The page: escaped, self-contained, small.

And in a real browser silent, offline, sliding and unharmed.
"""

import base64
import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.decomposition import PCA

from chromium import started
from fewer.report import charts
from fewer.report.charts import Axis, Html, Series, chart, pictures
from fewer.report.page import page, path_page
from fewer.report.path import solve_path, study_of
from fewer.text import csv_cell

EVIL = [
    "<script>window.harmed = 1</script>",
    '"><img src=x onerror="window.harmed = 2">',
    "</td></table><svg onload='window.harmed = 3'>",
    "javascript:window.harmed=4",
    "&lt;script&gt;",
    "a\x00b\u202e",
    "=HYPERLINK(1)",
    "plain",
]


@pytest.fixture(scope="module")
def path():
    rows = (np.random.default_rng(0).random((200, len(EVIL))) < 0.3).astype(np.int8)
    return solve_path(study_of("dims", rows, names=EVIL), [2, 4, 6], held_out=0.3, time_limit=5.0)


@pytest.fixture(scope="module")
def document(path):
    how = {
        "command": "fewer dims '<b>evil</b>.csv' --path 2,4,6",
        "seed": 0,
        "versions": "fewer <1>",
    }
    return path_page(path, "<i>evil</i>.csv & friends", how)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs


def test_nothing_of_the_file_becomes_a_tag_or_an_attribute(document):
    parsed = Tags(document)
    assert parsed.seen.count("script") == 1
    assert not {"b", "i", "iframe", "object", "link"} & set(parsed.seen)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    addresses = [
        value for name, value in parsed.attributes if name in ("src", "href", "action", "srcset")
    ]
    assert all(value.startswith("data:") for value in addresses)
    assert not [name for name, _ in parsed.attributes if name == "style"]


def test_the_page_names_no_address_and_is_small(document):
    assert not re.search(r"https?://|//[a-z]|@import|url\(", document)
    assert len(document.encode()) < 200_000
    assert "Content-Security-Policy" in document
    assert "default-src &#x27;none&#x27;" in document


def as_read(name):
    return next(csv.reader([csv_cell(name)]))[0]


def test_the_download_is_what_was_kept(path, document):
    data = re.search(r"base64,([A-Za-z0-9+/=]+)\" download", document)[1]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(data).decode())))
    for answer in path.answers:
        mine = [row for row in rows if row["k"] == str(answer.k)]
        assert [row["column"] for row in mine] == [*map(as_read, answer.kept["column"])]
        assert [float(row["in rows"]) for row in mine] == answer.kept["in rows"]


def test_pictures_are_pixels():
    image = pytest.importorskip("PIL.Image")
    src = re.search(
        r'src="data:image/png;base64,([^"]+)"',
        pictures({"a": [0.0], "b": [1.0], "c": [2.0], "d": [4.0]}, ["a"], (2, 2)),
    )[1]
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(src))))
    assert pixels.tolist() == [[255, 191], [128, 0]]


def test_curves_place_points_where_they_belong():
    line = [Series("a", [1, 10, 100], [1.0, 0.1, 0.01], "ours")]
    drawing = chart(line, x="k", y="error", title="t", logs=(True, True), marked=10)
    xs, ys = (
        np.array(re.findall(rf' {name}="([\d.]+)"', drawing), np.float64) for name in ("cx", "cy")
    )
    for places in (xs, ys):  # both axes by the logarithm
        assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)
    assert (np.diff(ys) > 0).all()
    assert chart([Series("a", [1], [np.inf])], x="k", y="e", title="t") == ""
    assert Axis.of([3.0], 0, 1)(3.0) == 0.5


ROWS = np.random.default_rng(5).standard_normal((90, 4)) * [5.0, 3.0, 1.0, 0.5]


def test_the_plane_of_rows_is_that_of_principal_components():
    places, names = charts.in_plane(ROWS, 60)
    fitted = PCA(2).fit(ROWS[:60])
    expected = fitted.transform(ROWS)
    assert places * np.sign((places * expected).sum(axis=0)) == pytest.approx(expected)
    for name, share in zip(names, fitted.explained_variance_ratio_, strict=True):
        assert f"({100 * share:.0f} % of the variance)" in name
    assert names[0].startswith("first principal component")
    assert charts.in_plane(ROWS[:, :2], 60, ["height", "width"])[1] == ["height", "width"]
    one, names = charts.in_plane(ROWS[:, :1], 60, ["height"])
    assert (one[:, 0] == ROWS[:, 0]).all()
    assert names == ("height", "")


def test_long_curves_are_thinned_and_keep_every_step_of_the_answer():
    rng = np.random.default_rng(0)
    before, after = rng.random(50_000), np.zeros(50_000)
    after[rng.choice(50_000, 40, replace=False)] = 1 / 40
    before = np.cumsum(before) / before.sum()
    drawing = charts.cumulative(np.arange(50_000.0), before, np.cumsum(after), "bin")
    ours = re.search(r'class="series steps ours"><polyline points="([^"]+)"', drawing)[1]
    assert len({pair.split(",")[1] for pair in ours.split()}) == 41
    assert len(ours.split()) <= 1400
    drawing = charts.tracks(np.arange(5000.0), np.arange(5000.0) + 1)
    assert "600 of 5000 rows" in drawing
    assert "At most 1 in size" in drawing


STUDIES = {
    "points": lambda: study_of("points", ROWS, 6, ["c0", "c1", "c2", "c3"]),
    "hamming": lambda: study_of("points", (ROWS > 0).astype(float), 6, similarity="hamming"),
    "bins": lambda: study_of("bins", None, counts=np.bincount((ROWS[:, 0] + 20).astype(int))),
    "bars": lambda: study_of("bins", ROWS[:, 0], grid="equal", n_bins=700, contiguous=True),
    "edges": lambda: study_of(
        "bins", None, counts=np.arange(1, 31), edges=np.geomspace(1, 1e6, 31)
    ),
    "terms": lambda: study_of("terms", ROWS, 3, [f"<b>{i}" for i in range(4)], y=ROWS.mean(axis=1)),
    "dims": lambda: study_of("dims", (ROWS > 2).astype(int), 3, [f"<b>{i}" for i in range(4)]),
}


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_every_job_has_a_picture_without_a_path(name):
    solver = "auto" if name == "bars" else "greedy"
    path = solve_path(STUDIES[name](), [3], solver=solver)
    text = path_page(path, "title", {})
    assert "Which k?" not in text
    assert "<b>" not in text
    drawings = re.findall(r'<svg viewBox="0 0 640 340".*?</svg>', text)
    assert all("<title>" in d and 'role="img"' in d and "nan" not in d for d in drawings)
    assert len(drawings) == {"terms": 2, "dims": 0, "hamming": 0}.get(name, 1)
    if name == "points":
        assert drawings[0].count("h0") == path.study.size
        radii = [float(r) for r in re.findall(r' r="([\d.]+)"', drawings[0])]
        weights = path.answer.result.heaviest_first()[1]
        expected = np.maximum(18.0 * np.sqrt(weights / weights[0]), 3.0)
        assert radii == pytest.approx(expected.tolist(), abs=0.06)
    elif name == "dims":
        assert text.count("<li><span>") == len(path.answer.result.indices) + 1
    assert 'class="scroll" tabindex="0" role="region" aria-label="' in text


def test_many_rows_are_drawn_in_part_and_that_is_said():
    rows = np.random.default_rng(0).standard_normal((4000, 2))
    some, weights = charts.drawn_rows(4000), np.array([0.75, 0.25])
    words = ["row 5: 75 %", "row 9: 25 %"]
    drawing = charts.cloud(rows[some], rows[[5, 9]], weights, 4000, words, ())
    assert drawing.count("h0") == 1500
    assert "1500 of 4000 rows" in drawing
    assert "<title>row 9: 25 %</title>" in drawing
    ones = np.ones((5, 3))
    assert "nan" not in charts.cloud(ones, ones[:1], np.array([1.0]), 5, ["a"], ())
    assert "nan" not in charts.tracks(np.zeros(3), np.zeros(3))


@pytest.fixture(scope="module")
def browser():
    with started() as running:
        yield running


@pytest.fixture
def opened(browser, document, tmp_path):
    (tmp_path / "page.html").write_text(document, encoding="utf-8")
    contexts = []

    def start(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        view = context.new_page()
        view.noise, view.requests = [], []
        view.on("console", lambda message: view.noise.append(message.text))
        view.on("pageerror", lambda error: view.noise.append(str(error)))
        view.on("request", lambda request: view.requests.append(request.url))
        view.goto((tmp_path / "page.html").as_uri())
        return view

    yield start
    for context in contexts:
        context.close()


def test_in_chromium_no_noise_no_requests_no_harm(opened):
    view = opened()
    assert view.noise == []
    assert [url for url in view.requests if not url.startswith(("data:", "file:"))] == []
    assert len([url for url in view.requests if url.startswith("file:")]) == 1
    assert view.evaluate("window.harmed") is None
    shown = view.locator(".panel:visible td:first-child").all_inner_texts()
    assert len(shown) in (2, 4, 6)
    assert view.locator("h1").inner_text() == "<i>evil</i>.csv & friends"


def test_in_chromium_the_slider_changes_the_table(opened, path):
    view = opened()
    slider = view.locator("input[type=range]")
    marks = set()
    for step, answer in enumerate(path.answers):
        slider.fill(str(step))
        cells = view.locator(".panel:visible tbody tr td:first-child").all_text_contents()
        assert cells == [name.replace("\x00", "") for name in answer.kept["column"]]
        assert view.locator(".slider output").inner_text() == str(answer.k)
        assert slider.get_attribute("aria-valuetext") == f"k = {answer.k}"
        assert view.locator("tr.chosen").get_attribute("data-k") == str(answer.k)
        marks.add(view.locator("line.marker").get_attribute("x1"))
    assert len(marks) == 3
    assert view.noise == []


def test_in_chromium_headings_sort(opened):
    view = opened()
    head = view.locator(".panel:visible th button").nth(2)
    for order in (True, False):
        head.click()
        cells = view.locator(".panel:visible tbody td:nth-child(3)").all()
        numbers = [float(cell.get_attribute("data-value")) for cell in cells]
        assert numbers == sorted(numbers, reverse=order)
    assert head.locator("xpath=..").get_attribute("aria-sort") == "ascending"


def test_in_chromium_without_script_everything_is_there(opened, path):
    view = opened(java_script_enabled=False)
    assert view.locator(".panel").count() == len(path.answers)
    assert view.locator(".panel:visible").count() == len(path.answers)
    assert not view.locator("input[type=range]").is_visible()
    assert view.locator("svg.curve").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_in_chromium_it_fits_phone_and_desk_in_light_and_dark(opened, scheme, width):
    view = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.search(r"\d+", ground)[0]) < 60) == (scheme == "dark")


def test_in_chromium_the_policy_stops_what_escaping_would_miss(browser, tmp_path):
    harm = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"
    slipped = page("slipped", None, Html(harm))
    (tmp_path / "slipped.html").write_text(slipped)
    view = browser.new_page()
    view.goto((tmp_path / "slipped.html").as_uri())
    assert view.evaluate("window.harmed") is None
    view.close()


def test_in_chromium_points_say_what_they_represent_and_miss(browser, tmp_path):
    X = np.random.default_rng(0).random((40, 4))
    problem = study_of("points", X, 3, n_criticisms=5)
    text = path_page(solve_path(problem, [2, 3]), "pixels", {"command": "x"}, shape=(2, 2))
    (tmp_path / "points.html").write_text(text, encoding="utf-8")
    view = browser.new_page()
    view.goto((tmp_path / "points.html").as_uri())
    assert view.locator("h3:visible").all_inner_texts() == [
        "What each point represents",
        "Criticisms",
    ]
    assert view.locator(".panel:visible figcaption", has_text="row ").count() == 5
    assert (
        view.locator(".panel:visible table").count() == 2
    )  # points, and their shares: pictures tell the rows
    view.close()
