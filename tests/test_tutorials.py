"""The Python blocks of the tutorials run, one after the other, and their assertions hold."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def program(text):
    """The Python blocks of a Markdown text, each at its own lines, as one program."""
    lines, inside = [], False
    for line in text.splitlines():
        fence = re.match(r"```(\w*)", line)
        lines.append("" if fence or not inside else line)
        if fence:
            inside = fence[1] == "python"
    return "\n".join(lines)


def test_blocks_keep_their_lines():
    text = "a\n```python\nx = 1\n```\n```sh\nno\n```\n```python\ny = x\n```"
    assert program(text) == "\n\nx = 1\n\n\n\n\n\ny = x\n"


@pytest.mark.parametrize("name", ["docs/extend.md"])
def test_tutorial(name, monkeypatch):
    text = program((ROOT / name).read_text(encoding="utf-8"))
    module = ModuleType("tutorial")  # dataclasses look their module up
    monkeypatch.setitem(sys.modules, "tutorial", module)
    exec(compile(text, name, "exec"), vars(module))  # noqa: S102 - our own text
    assert {
        "Huber",
        "Lots",
        "Wasserstein",
        "FewGroups",
        "HeaviestEntries",
        "open_fixed",
        "shared",
    } <= vars(module).keys()
