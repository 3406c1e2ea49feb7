"""What the site needs beside its themes: links from docstrings, formulas, long tables that fold, MathJax, figures."""

import re
import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

from docutils import nodes
from follow import follow
from pygments.lexers import TextLexer
from sphinx.transforms.post_transforms import SphinxPostTransform

import fewer

MAX_OPEN_ROWS = 15
"""Rows of a table that is shown at once; a longer one folds."""
HEADING = re.compile(r"^-{3,}$")


def role(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Any,
    options: Any = None,
    content: Any = (),
) -> Any:
    """`name` in a docstring: a link where it is public, else code."""
    if text not in fewer.__all__:
        return [nodes.literal(text, text)], []
    xref = inliner.document.settings.env.app.registry.domains["py"].roles["obj"]
    return xref("py:obj", rawtext, f"~fewer.{text}", lineno, inliner, options or {}, content)


def literal_formulas(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Indented formulas before the first section of a docstring keep their lines and columns."""
    end = next((i - 1 for i, line in enumerate(lines) if HEADING.match(line)), len(lines))
    for i in range(end - 1, 0, -1):
        opens = lines[i].startswith("    ") and not lines[i - 1].strip()
        before = next((line for line in reversed(lines[: i - 1]) if line.strip()), "")
        if opens and not before.startswith("    "):
            lines[i:i] = ["::", ""]


class FoldLongTables(SphinxPostTransform):
    """A table of many rows is folded under a line that says how many."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Wrap each long table of this page."""
        for table in list(self.document.findall(nodes.table)):
            rows = sum(len(body.children) for body in table.findall(nodes.tbody))
            parent, at = table.parent, table.parent.index(table)
            folded = at > 0 and "<details" in parent[at - 1].astext()  # the page itself folds it
            if rows <= MAX_OPEN_ROWS or folded or "autosummary" in table.get("classes", ()):
                continue
            opening = f'<details class="long-table"><summary>Table of {rows} rows</summary>'
            parent.insert(at + 1, nodes.raw("", "</details>", format="html"))
            parent.insert(at, nodes.raw("", opening, format="html"))


def copy_mathjax(app: Any, error: Exception | None) -> None:
    """The one file of MathJax that pages load, from the package that brought it."""
    if error or app.builder.format != "html":
        return
    found = next(
        file
        for file in files("sphinx-mathjax-offline") or ()
        if str(file).endswith("mathjax/tex-svg.js")
    )
    target = Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(found.locate()), target / "tex-svg.js")


def draw_guides(app: Any) -> None:
    """Follow every page of the guide: its outputs must hold, and its figures are drawn."""
    import matplotlib

    matplotlib.use("Agg")
    for page in sorted(Path(app.srcdir, "guide").glob("*.md")):
        follow(page, figures=True)


def leave_out_missing(app: Any, docname: str, source: list[str]) -> None:
    """The guide lists pages that may not be there yet: those are left out."""
    if docname == "guide/index":
        lines = source[0].splitlines()
        there = [
            line
            for line in lines
            if not line.startswith("../") or Path(app.srcdir, f"{line[3:]}.md").exists()
        ]
        source[0] = "\n".join(there)


def tight_figures(gallery_conf: Any, fname: str) -> None:
    """Figures of the gallery are cut to what they hold."""
    import matplotlib

    matplotlib.rcParams["savefig.bbox"] = "tight"


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_role("fewer", role)
    app.connect("autodoc-process-docstring", literal_formulas, priority=100)
    app.add_lexer("walk", TextLexer)
    app.connect("source-read", leave_out_missing)
    app.connect("builder-inited", draw_guides)
    app.connect("build-finished", copy_mathjax)
    app.add_post_transform(FoldLongTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
