"""The self-contained page: blocks of escaped text, tables, curves and pictures, and the file they make."""

from .blocks import Column, chooser, download, facts, pictures, section, table
from .html import Html, tag
from .page import page, save_page
from .svg import Series, curve, weight_bar

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
