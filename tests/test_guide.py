"""The README and the pages of the guide, followed line by line: what they print is what they show."""

import re
import sys
from pathlib import Path

import pytest

import fewer
from fewer import datasets

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "theory.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
]


@pytest.fixture
def followed():
    pytest.importorskip("matplotlib").use("Agg")
    import follow

    return follow


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_holds(page, followed):
    followed.follow(page, commands=False)  # those of the shell are run by `make docs`


def test_a_page_that_shows_what_is_not_so_is_found_out(followed, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n```text\n2\n```\n".replace("\\n", "\n"))
    assert followed.follow(page) == 1
    for text in ("print(3)", "print(2); print(4)", ""):
        page.write_text(f"```python\n{text}\n```\n```text\n2\n```\n".replace("\\n", "\n"))
        with pytest.raises(followed.MismatchError):
            followed.follow(page)


def test_a_figure_that_is_not_drawn_and_a_command_that_fails_are_found_out(followed, tmp_path):
    page = tmp_path / "page.md"
    for text, found in (
        ("![nothing](figures/nothing.png)", "no figure was drawn"),
        ("```console\n$ python -c 'raise SystemExit(3)'\n```", "ended with 3"),
        ("```console\n$ python -c 'print(7)'\n8\n```", "the code prints"),
    ):
        page.write_text(text.replace("\\n", "\n"))
        with pytest.raises(followed.MismatchError, match=found):
            followed.follow(page)


def test_blocks_are_read_in_their_order(followed):
    text = "a\n```python\nx = 1\n```\n![b](figures/c.png)\n```{note}\nd\n```\n"
    assert [(block.kind, block.line) for block in followed.blocks(text)] == [
        ("python", 3),
        ("picture", 5),
    ]


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text()
    named = re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(fewer.__all__) <= set(named)
    assert {f"datasets.{name}" for name in datasets.__all__} <= set(named)


def test_examples_have_a_title_a_picture_and_a_place_in_the_gallery():
    examples = sorted((ROOT / "examples" / "gallery").glob("*.py"))
    assert len(examples) >= 14
    for example in examples:
        text = example.read_text()
        assert example.name.startswith("plot_"), example
        assert re.match(r'"""\n(.+)\n=+\n', text), example
        assert "plt.show()" in text, example
        compile(text, example.name, "exec")


def test_pages_link_to_examples_that_are_there():
    names = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    for page in (ROOT / "docs").rglob("*.md"):
        assert set(re.findall(r"/gallery/(plot_\w+)", page.read_text())) <= names, page
