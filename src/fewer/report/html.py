"""Text becomes HTML in one place, and is escaped there."""

from html import escape
from typing import Any

VOID = frozenset({"br", "circle", "img", "input", "line", "meta", "path", "polyline", "rect"})


class Html(str):
    """Text that is already HTML; any other string is escaped when it enters a tag."""

    __slots__ = ()


def text(child: Any) -> Html:
    """A child of a tag: HTML as it is, nothing for None, everything else escaped.

    >>> text("<script>"), text(Html("<b>bold</b>")), text(None)
    ('&lt;script&gt;', '<b>bold</b>', '')
    """
    if isinstance(child, Html):
        return child
    return Html("" if child is None else escape(str(child), quote=True))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. `class_` is class, `data_k` is data-k; True is a bare attribute, None and False are left out.

    >>> tag("td", "a & b", class_="name", hidden=True, title=None)
    '<td class="name" hidden>a &amp; b</td>'
    """
    opened = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        opened.append(word if value is True else f'{word}="{text(value)}"')
    start = " ".join(opened)
    return Html(
        f"<{start} />" if name in VOID and not children else f"<{start}>{join(*children)}</{name}>"
    )


def join(*children: Any) -> Html:
    """Children one after the other; lists are flattened.

    >>> join("1 < 2 ", [tag("b", 3), None])
    '1 &lt; 2 <b>3</b>'
    """
    parts = (
        join(*child) if isinstance(child, (list, tuple)) else text(child) for child in children
    )
    return Html("".join(parts))
