"""Studies of jobs, paths over several k, and the self-contained page that shows them."""

from .html import (
    Column,
    Html,
    chooser,
    download,
    facts,
    page,
    pictures,
    save_page,
    section,
    table,
    tag,
    weight_bar,
)
from .svg import Series, curve

__all__ = [
    "Column",
    "Html",
    "Series",
    "chooser",
    "curve",
    "download",
    "facts",
    "page",
    "pictures",
    "save_page",
    "section",
    "table",
    "tag",
    "weight_bar",
]
