"""The manual in a real browser: silent, offline, found by search, readable on a phone and in the dark.

`make docs` builds it and runs this; `make test` skips it where nothing is built.
"""

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

import fewer
from chromium import started

SITE = Path(__file__).parents[1] / "build" / "docs"
pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the manual is not built: make docs"
)
PAGES = [
    "index.html",
    "guide/rows.html",
    "guide/proof.html",
    "how-to-choose.html",
    "theory.html",
    "gallery/index.html",
    "gallery/plot_01_digits.html",
    "api.html",
    "api/fewer.points.html",
    "benchmarks.html",
    "reproduction/claims.html",
]


@pytest.fixture(scope="module")
def browser():
    with started() as running:
        yield running


@pytest.fixture
def opened(browser):
    contexts = []

    def start(page, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        view = context.new_page()
        view.noise, view.requests = [], []
        view.on(
            "console",
            lambda said: (
                view.noise.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        view.on("pageerror", lambda error: view.noise.append(str(error)))
        view.on("request", lambda request: view.requests.append(request.url))
        view.goto(f"{SITE.as_uri()}/{page}")
        return view

    yield start
    for context in contexts:
        context.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_silent_and_asks_nobody_else(opened, page):
    view = opened(page)
    view.wait_for_load_state("networkidle")
    assert view.noise == []
    assert [url for url in view.requests if not url.startswith(("file:", "data:"))] == []
    broken = view.evaluate(
        "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
    )
    assert broken == []


def test_formulas_are_typeset(opened):
    view = opened("theory.html")
    view.wait_for_selector("mjx-container svg")
    assert view.locator("mjx-container").count() > 20
    assert view.locator("mjx-merror").count() == 0


def test_search_finds_pages(opened):
    view = opened("search.html?q=portfolio")
    view.wait_for_selector("ul.search li a")
    found = view.locator("ul.search li a").all_inner_texts()
    assert any("index" in title.lower() for title in found)
    view = opened("search.html?q=FewerPointsClassifier")
    view.wait_for_selector("ul.search li a")
    assert any(
        "FewerPointsClassifier" in title
        for title in view.locator("ul.search li a").all_inner_texts()
    )
    assert view.noise == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_can_be_read(opened, page, width, scheme):
    view = opened(page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.evaluate("document.documentElement.dataset.theme") == scheme
    paper, ink = (
        luminance(view.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}"))
        for where, what in (("body", "backgroundColor"), ("article p, article dd", "color"))
    )
    assert (paper < 0.1) == (scheme == "dark")
    light, dark = max(paper, ink), min(paper, ink)
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # the contrast that WCAG asks of text
    assert (
        view.evaluate("parseFloat(getComputedStyle(document.querySelector('article')).fontSize)")
        >= 14
    )


def luminance(colour):
    """The relative luminance of a CSS colour."""
    channels = [float(x) / 255 for x in re.findall(r"[\d.]+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels]
    return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_long_tables_fold_and_open(opened):
    view = opened("benchmarks.html")
    fold = view.locator("details.long-table:has(table)").first
    assert not fold.locator("table").first.is_visible()
    fold.locator("summary").first.click()
    assert fold.locator("table").first.is_visible()


def test_every_link_inside_leads_somewhere():
    pages = {
        path: path.read_text(encoding="utf-8")
        for path in SITE.rglob("*.html")
        if "_static" not in path.parts
    }
    marks = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            found = urlparse(link.replace("&amp;", "&"))
            if found.scheme or found.netloc:
                continue
            target = (path.parent / unquote(found.path)).resolve() if found.path else path
            if not target.exists() or (
                found.fragment and target in marks and unquote(found.fragment) not in marks[target]
            ):
                broken.append((path.relative_to(SITE).as_posix(), link))
    assert len(pages) > 80
    assert broken == []


def test_nothing_is_loaded_from_elsewhere():
    for path in SITE.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\bsrc="(https?:[^"]+|//[^"]+)"', text)
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]+|//[^"]+)"', text)
        assert loaded == [], path


def test_every_public_name_has_a_page():
    assert not [
        name for name in fewer.__all__ if not (SITE / "api" / f"fewer.{name}.html").exists()
    ]
