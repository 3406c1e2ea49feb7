"""The page: escaped, self-contained, small.

And in a real browser silent, offline, sliding and unharmed.
"""

import base64
import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from chromium import started
from fewer.report import Column, Html, Series, curve, page, pictures, table, tag
from fewer.report.bins import HistogramStudy
from fewer.report.path import solve_path, study_of
from fewer.report.path_page import path_page, paths_page
from fewer.report.svg import Axis
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
def found():
    rows = (np.random.default_rng(0).random((200, len(EVIL))) < 0.3).astype(np.int8)
    return solve_path(study_of("dims", rows, names=EVIL), [2, 4, 6], held_out=0.3, time_limit=5.0)


@pytest.fixture(scope="module")
def document(found):
    how = {
        "command": "fewer dims '<b>evil</b>.csv' --path 2,4,6",
        "seed": 0,
        "versions": "fewer <1>",
    }
    return path_page(found, "<i>evil</i>.csv & friends", how)


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


def test_the_download_is_what_was_kept(found, document):
    data = re.search(r"base64,([A-Za-z0-9+/=]+)\" download", document)[1]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(data).decode())))
    for answer in found.answers:
        mine = [row for row in rows if row["k"] == str(answer.k)]
        assert [row["column"] for row in mine] == [*map(as_read, answer.kept["column"])]
        assert [float(row["in rows"]) for row in mine] == answer.kept["in rows"]


def test_a_thousand_pictures_stay_under_two_megabytes():
    rows = np.random.default_rng(0).random((1000, 256))
    text = page("pictures", pictures(rows, ["1 %"] * 1000, (16, 16)))
    assert len(text.encode()) < 2_000_000


def test_pictures_are_pixels():
    image = pytest.importorskip("PIL.Image")
    src = re.search(
        r'src="data:image/png;base64,([^"]+)"', pictures([[0.0, 1.0, 2.0, 4.0]], ["a"], (2, 2))
    )[1]
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(src))))
    assert pixels.tolist() == [[255, 191], [128, 0]]


def test_tags_escape_everything_but_html():
    assert tag("p", EVIL[0], title=EVIL[1]).count("<") == 2
    assert tag("p", Html("<b>"), None) == "<p><b></p>"
    assert "–" in table([Column("a", [1.0, None])])


def test_curves_place_points_where_they_belong():
    drawing = curve(
        [Series("a", [1, 10, 100], [1.0, 0.1, 0.01], "ours")],
        x="k",
        y="error",
        title="t",
        marked=10,
    )
    xs = [float(v) for v in re.findall(r'cx="([\d.]+)"', drawing)]
    ys = [float(v) for v in re.findall(r'cy="([\d.]+)"', drawing)]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)  # both axes by the logarithm
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.2)
    assert ys == sorted(ys)
    assert curve([Series("a", [1], [np.inf])], x="k", y="e", title="t") == ""
    assert Axis.of([3.0], 0, 1, False)(3.0) == 0.5


def test_baselines_of_dims_are_what_they_say():
    rows = (np.random.default_rng(3).random((80, 7)) < 0.3).astype(np.int8)
    problem = study_of("dims", rows, names="abcdefg")
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    for k in range(1, 8):
        left = rows[:, order[k:]].any(axis=1).mean()
        assert problem.baselines["frequency ranking"](k) == pytest.approx(left)


def test_held_out_bins_are_a_random_part_of_the_values():
    counts = np.random.default_rng(2).integers(0, 9, 50).astype(float)
    train, judge, _ = HistogramStudy(counts).split(0.3, np.random.default_rng(0))
    held = counts - train.counts
    assert (held >= 0).all()
    assert 0 < held.sum() < counts.sum()
    P, Q = np.cumsum(held / held.sum()), np.cumsum(train.target)
    same = replace(train.solve(5), table=train.target)
    assert judge(same) == pytest.approx(np.sqrt(held / held.sum() @ (P - Q) ** 2))
    assert HistogramStudy(counts + 0.5).split(0.3, np.random.default_rng(0)) is None


def test_an_interrupt_after_the_search_keeps_its_answer():
    class Stopped(HistogramStudy):
        @property
        def baselines(self):
            raise KeyboardInterrupt

    stopped = solve_path(Stopped(np.ones(30)), [3, 5])
    assert stopped.interrupted
    assert stopped.ks == [3]
    assert stopped.answer.baselines == {}
    assert "What was kept" in path_page(stopped, "stopped", {})


def test_an_interrupt_before_any_answer_is_passed_on():
    class Stopped(HistogramStudy):
        def solve(self, k, **search):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_path(Stopped(np.ones(30)), [3, 5])


def test_a_path_takes_the_first_k_that_is_good_enough():
    counts = (
        np.random.default_rng(5).poisson(30 * np.exp(-(np.linspace(-3, 3, 200) ** 2))).astype(float)
    )
    found = solve_path(HistogramStudy(counts), [2, 5, 10, 40, 100], held_out=0.5)
    held = [answer.held_out for answer in found.answers]
    enough = min(held) + 0.1 * (held[0] - min(held))
    assert found.answer.k == next(a.k for a in found.answers if a.held_out <= enough)
    assert solve_path(HistogramStudy(counts), [2, 5], k=5).answer.k == 5


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


def test_in_chromium_the_slider_changes_the_table(opened, found):
    view = opened()
    slider = view.locator("input[type=range]")
    marks = set()
    for step, answer in enumerate(found.answers):
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


def test_in_chromium_without_script_everything_is_there(opened, found):
    view = opened(java_script_enabled=False)
    assert view.locator(".panel").count() == len(found.answers)
    assert view.locator(".panel:visible").count() == len(found.answers)
    assert not view.locator("input[type=range]").is_visible()
    assert view.locator("svg.curve").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_in_chromium_it_fits_phone_and_desk_in_light_and_dark(opened, scheme, width):
    view = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.search(r"\d+", ground)[0]) < 60) == (scheme == "dark")


def test_in_chromium_paper_shows_every_k(opened, found):
    view = opened()
    view.emulate_media(media="print")
    assert view.locator(".panel:visible").count() == len(found.answers)
    assert not view.locator("input[type=range]").is_visible()


def test_in_chromium_the_policy_stops_what_escaping_would_miss(browser, tmp_path):
    slipped = page(
        "slipped", Html("<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>")
    )
    (tmp_path / "slipped.html").write_text(slipped)
    view = browser.new_page()
    view.goto((tmp_path / "slipped.html").as_uri())
    assert view.evaluate("window.harmed") is None
    view.close()


def test_in_chromium_two_studies_slide_apart(browser, found, tmp_path):
    text = paths_page(
        "two",
        "lead",
        [("a", "words.", found, None), ("b", "words.", found, None)],
        {"command": "x"},
    )
    (tmp_path / "two.html").write_text(text, encoding="utf-8")
    view = browser.new_page()
    view.goto((tmp_path / "two.html").as_uri())
    view.locator("input[type=range]").nth(0).fill("0")
    view.locator("input[type=range]").nth(1).fill("2")
    marked = view.locator("tr.chosen").evaluate_all("rows => rows.map((row) => row.dataset.k)")
    assert marked == ["2", "6"]
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
