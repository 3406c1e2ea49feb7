"""How much of the package a call enters, names of the search, and that docs/architecture.md has every folder."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fewer

PACKAGE = Path(fewer.__file__).parent
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
X = np.random.default_rng(0).standard_normal((200, 5))
TABLE = pd.DataFrame(X, columns=list("abcde")).assign(INDEX=X[:, :3].mean(axis=1))
FLAGS = pd.DataFrame((X > 0.5).astype(int), columns=list("abcde"))
SET = fewer.DimensionSparse(fewer.Lattice(6, 2), 2)
F = fewer.L2(SET.space, np.random.default_rng(1).dirichlet(np.ones(64)))
START = fewer.greedy(F, SET).p
WALKS = {
    "points": (lambda: fewer.FewerPoints(20).fit(TABLE), 46, 415),
    "blocks": (
        lambda: fewer.points(lambda: iter(np.array_split(X, 4)), 5, max_memory="20KB"),
        45,
        390,
    ),
    "terms": (lambda: fewer.terms(TABLE, "INDEX", 5), 37, 290),
    "dims": (lambda: fewer.dims(FLAGS, 4), 33, 265),
    "bins": (lambda: fewer.bins(X[:, 0], 5), 28, 165),
    "iht": (lambda: fewer.iht(F, SET, start=START), 16, 102),
}
"""Calls with the most files and functions of the package that each may enter."""


def entered(call):
    """Functions of the package that a call enters, as (file, name)."""
    functions = set()

    def note(frame, event, _):
        code = frame.f_code
        named = not code.co_name.startswith("<")
        if event == "call" and named and Path(code.co_filename).is_relative_to(PACKAGE):
            functions.add((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return functions


@pytest.mark.parametrize("name", WALKS)
def test_a_call_is_a_short_walk(name):
    call, most_files, most_functions = WALKS[name]
    call()  # compiling and imports are not part of it
    functions = entered(call)
    assert len({file for file, _ in functions}) <= most_files
    assert len(functions) <= most_functions


def test_no_function_or_class_of_the_search_has_the_name_of_another():
    names = [
        node.name
        for package in ("solvers", "engines", "search")
        for path in (PACKAGE / package).glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    assert len(names) > 50
    assert sorted(names) == sorted(set(names))


def test_the_page_is_short_and_names_what_is_there():
    assert len(PAGE.splitlines()) <= 150
    folders = [path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    folders += [path.name for path in (PACKAGE / "jobs").iterdir() if path.suffix == ""]
    folders = [name for name in folders if not name.startswith("__")]
    assert [name for name in folders if not re.search(rf"`([\w/]*/)?{name}/?`", PAGE)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page):
    files = re.findall(r"`([\w/]+\.py)`", page.read_text())
    places = [ROOT / name for name in ("", "src/fewer", "tests", "benchmarks", "docs", "soak")]
    assert [name for name in files if not any((place / name).exists() for place in places)] == []


def test_the_page_draws_the_layers_that_are_kept():
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in kept if contract["type"] == "layers")
    drawn = re.search(r"`(cli -> .*?)`", PAGE)[1].split(" -> ")
    assert drawn == [layer for layer in layers if layer in drawn]
