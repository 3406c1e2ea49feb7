"""What the manual is built with, without building it."""

import sys
import zlib
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS / "_ext"))
import inventories  # noqa: E402 - its folder is no package

PROJECTS = inventories.read(DOCS / "_inventories" / "names.txt")
NAMES = [(project, *name) for project, (_, names) in PROJECTS.items() for name in names]


@pytest.mark.parametrize(("project", "name", "role", "page"), NAMES)
def test_a_name_that_pages_link_to_is_one_of_its_project(project, name, role, page):
    assert "#" in page
    if role.startswith("std:"):
        return
    if role == "py:module":
        import_module(name)
    else:
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module or "builtins"), last) or name == "None"


def test_an_inventory_is_what_sphinx_reads(tmp_path):
    found = inventories.mapping(DOCS / "_inventories" / "names.txt", tmp_path)
    assert found["numpy"][0].startswith("https://numpy.org")
    head, _, body = Path(found["numpy"][1]).read_bytes().partition(b"zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2\n# Project: numpy\n")
    lines = zlib.decompress(body).decode().splitlines()
    assert (
        "numpy.ndarray py:class 1 reference/generated/numpy.ndarray.html#numpy.ndarray -" in lines
    )
