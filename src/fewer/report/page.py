"""The page itself: one file, no network, a policy that lets nothing run but our own script."""

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..files import written_whole
from .html import Html, join, tag


def page(title: str, *sections: Any, lead: Any = None, eyebrow: Any = None) -> str:
    """A whole HTML document; style and script are inside, named by their hashes in the page's policy.

    `eyebrow` is a line above the title, `lead` a sentence below it.

    >>> "&lt;b&gt;" in page("<b>", "text")
    True
    """
    style, script = (
        files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js")
    )
    policy = f"default-src 'none'; img-src data:; style-src '{digest(style)}'; script-src '{digest(script)}'"
    policy += "; base-uri 'none'; form-action 'none'"
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    above = tag("p", eyebrow, class_="eyebrow") if eyebrow else None
    header = tag("header", above, tag("h1", title), tag("p", lead, class_="lead") if lead else None)
    body = join(header, tag("main", *sections), Html(f"<script>{script}</script>"))
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def digest(source: str) -> str:
    """The hash by which a policy names an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def save_page(path: str | os.PathLike[str], content: str, *, replace: bool = True) -> Path:
    """Write the page whole or not at all; `replace`: also where there is a file already."""
    with written_whole(path, replace=replace) as file:
        file.write(content.encode("utf-8", "backslashreplace"))
    return Path(path)
