"""Inventories of other projects for intersphinx, from names kept in the tree: nothing is fetched."""

import zlib
from pathlib import Path
from typing import NamedTuple


class Name(NamedTuple):
    """A name of another project, its domain and role, and the page that describes it."""

    name: str
    role: str
    page: str


def read(path: Path) -> dict[str, tuple[str, list[Name]]]:
    """Address and names of each project: a line of two words opens a project, one of three is a name of it."""
    projects: dict[str, tuple[str, list[Name]]] = {}
    names: list[Name] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = [] if line.startswith("#") else line.split()
        if len(words) == 2:
            names = []
            projects[words[0]] = (words[1], names)
        elif words:
            names.append(Name(*words))
    return projects


def write(project: str, names: list[Name], path: Path) -> None:
    """One inventory, in the second version of Sphinx's format."""
    lines = ["# Sphinx inventory version 2", f"# Project: {project}", "# Version: "]
    lines.append("# The remainder of this file is compressed using zlib.\n")
    body = "".join(f"{name} {role} 1 {page} -\n" for name, role, page in names)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("\n".join(lines).encode() + zlib.compress(body.encode()))


def mapping(source: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """What `intersphinx_mapping` wants, its inventories written into `folder`."""
    found = {}
    for project, (address, names) in read(source).items():
        write(project, names, folder / f"{project}.inv")
        found[project] = (address, str(folder / f"{project}.inv"))
    return found
