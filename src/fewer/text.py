"""Texts of the user's files on their way out: no terminal obeys them, and no spreadsheet runs them."""

import math
import os
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves the cursor, starts an escape code, ends a line, turns the direction of writing, or is
half a character."""
NUMBER = re.compile(
    r"[-+]?[$€£¥]?(\d[\d.,' \u00a0\u202f]*|\.\d+)([eE][-+]?\d+)? ?[%$€£¥]?", re.ASCII
)
"""A number as programs or people write it, which no spreadsheet runs."""
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the start of a formula; East Asian ones take the wide forms as well.
"""
QUOTED = re.compile('[",;]|^ | $')


def visible(text: Any) -> str:
    r"""Return a text with its control characters escaped.

    >>> print(visible("red \x1b[31m, and\na line"))
    red \x1b[31m, and\na line
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""Return a path to be read by people; bytes that are no UTF-8 are escaped.

    >>> print(shown_path("data\udcff.csv"))
    data\xff.csv
    """
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace"))


def sentence(words: str) -> str:
    """Return words with a capital at the start and a full stop at the end.

    >>> sentence("columns were scaled"), sentence("Optimal (proven).")
    ('Columns were scaled.', 'Optimal (proven).')
    """
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def short(value: float) -> str:
    """Return a number in few characters.

    >>> short(0.25), short(46020.0), short(12345.6), short(0.00012), short(0.0), short(math.inf)
    ('0.25', '46020', '12346', '1.2e-4', '0', 'inf')
    """
    if not math.isfinite(value):
        return f"{value}"
    if value == round(value) and abs(value) < 1e9:
        return f"{value:.0f}"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    digits, power = f"{value:.2e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def csv_cell(value: Any) -> str:
    r"""Return a cell of a csv file: numbers as they are, texts such that nothing in them is run.

    Control characters are escaped. A text that a spreadsheet would take for a formula gets an
    apostrophe in front; texts that are numbers do not.

    >>> [csv_cell(value) for value in (0.1, None, "a,b", "=1+1", "-5", "-x")]
    ['0.1', '', '"a,b"', "'=1+1", '-5', "'-x"]
    """
    if (
        type(value) is float or type(value) is int
    ):  # nearly all; the question below takes longer than the answer
        return repr(value)
    if value is None:
        return ""
    if isinstance(value, Real):
        return str(value) if isinstance(value, (bool, Integral)) else repr(float(value))
    text = visible(value)
    bare = text.strip()
    if bare.startswith(FORMULA) and not NUMBER.fullmatch(bare):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def csv_text(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    r"""Return a csv file.

    >>> csv_text(["name", "weight"], [["a,b", 0.5]])
    'name,weight\n"a,b",0.5\n'
    """
    lines = [",".join(map(csv_cell, row)) or '""' for row in (head, *rows)]
    return "".join(f"{line}\n" for line in lines)
