"""docs/architecture.md: the calls walk as it says, and the files that it names are there."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import fewer
from test_own_parts import FewGroups, Wasserstein

ROOT = Path(__file__).parent.parent
PACKAGE = Path(fewer.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
MOST_HOPS = 8


def walks():
    """The name of each call -> its hops, file:function."""
    block = re.search(r"```walk\n(.*?)```", PAGE, re.DOTALL)[1]
    lines = (line.split(": ", 1) for line in block.splitlines())
    return {name: hops.split(" -> ") for name, hops in lines}


def own_parts():
    """`minimize` with an objective and a constraint of a user."""
    F = Wasserstein(fewer.Atoms(6), np.array([0.3, 0.1, 0.0, 0.1, 0.4, 0.1]))
    return fewer.minimize(F, FewGroups(F.space, np.array([0, 0, 1, 1, 2, 2]), 2), rng=0)


X = np.random.default_rng(0).standard_normal((12, 5))
CALLS = {
    "points": lambda: fewer.points(X, 3, rng=0),
    "bins": lambda: fewer.bins(counts=[4, 0, 1, 5], k=2, rng=0),
    "terms": lambda: fewer.terms(X, X[:, :2].mean(axis=1), 3, rng=0),
    "dims": lambda: fewer.dims((X > 0.5).astype(int), 2, rng=0),
    "minimize": own_parts,
}


def entered(call):
    """The functions of the package that a call enters, as file:function, each where it was entered first."""
    found = {}

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.setdefault(f"{path.relative_to(PACKAGE).as_posix()}:{frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(found)


def test_every_job_has_its_walk():
    assert walks().keys() == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_walks_as_the_page_says(name):
    hops = walks()[name]
    assert len(hops) <= MOST_HOPS
    on_the_way = set(hops)
    assert [step for step in entered(CALLS[name]) if step in on_the_way] == hops


def test_files_that_the_page_names_are_there():
    named = set(re.findall(r"\b(?:cli|search|jobs|objectives|solvers|_compiled)/\w+\.py", PAGE))
    assert named
    assert [name for name in named if not (PACKAGE / name).exists()] == []


@pytest.mark.parametrize("package", ["_compiled", "search", "jobs", "objectives", "solvers"])
def test_the_page_names_every_module(package):
    tree = re.search(rf"^  {package}/.*?(?=^  \w)", PAGE, re.DOTALL | re.MULTILINE)[0]
    modules = [path.stem for path in (PACKAGE / package).glob("*.py") if path.stem != "__init__"]
    assert [name for name in modules if not re.search(rf"(?<!\w){name}(?!\w)", tree)] == []


def test_the_page_draws_the_layers_that_are_kept():
    kept = re.search(
        r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE
    )[1]
    drawn = re.search(r"`(cli -> .*?_compiled)`", PAGE, re.DOTALL)[1]
    assert drawn.split() == " -> ".join(re.findall(r'"(.+)"', kept)).split()


def test_no_function_or_class_of_solvers_and_engines_has_the_name_of_another():
    names = [
        node.name
        for package in ("solvers", "search")
        for path in (PACKAGE / package).glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    assert len(names) > 100
    assert sorted(names) == sorted(set(names))
