"""A result for people: one line, a table for notebooks, a picture."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ._validation import InvalidInput, Vector

if TYPE_CHECKING:
    from .result import Result

ENDS = {
    "OPTIMAL": "optimal (proven) in",
    "CONVERGED": "converged in",
    "FINISHED": "finished in",
    "MAX_ITER": "stopped at max_iter after",
    "TIME_LIMIT": "stopped by the time limit after",
    "CALLBACK": "stopped by the callback after",
    "INTERRUPTED": "interrupted after",
}
MOST_ROWS = 20
"""Rows of the table in a notebook."""


def one_line(result: "Result") -> str:
    """What was kept, the loss, the gap, and how the run ended."""
    spread = f" ± {result.value_se:.2g}" if result.value_se else ""
    parts = [kept(result), f"{result.words.loss} = {result.value:.3g}{spread}"]
    if result.gap is not None:
        parts.append(f"gap = {result.gap:.2g}")
    return f"Result({', '.join([*parts, f'{ENDS[result.status.name]} {duration(result.seconds)}'])})"


def duration(seconds: float) -> str:
    """Seconds with two digits, or whole.

    >>> duration(0.1234), duration(200.4)
    ('0.12 s', '200 s')
    """
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def kept(result: "Result") -> str:
    """How many of how many units."""
    words = result.words
    return f"{len(result.indices)} of {result.space.n_units if words.total is None else words.total} {words.unit}"


def html(result: "Result") -> str:
    """A small table of what was kept, heaviest first, under the line that sums it up; colours are the page's."""
    weighted = result.weights is not None
    kept = list(zip(*result.heaviest_first(), strict=True))
    rows = [_row("td", str(index), f"{weight:.4g}", weighted) for index, weight in kept[:MOST_ROWS]]
    if len(kept) > MOST_ROWS:
        rows.append(_row("td", f"and {len(kept) - MOST_ROWS} more", "", weighted))
    summary = escape(one_line(result)[len("Result(") : -1])
    return (
        f"<table><caption>{summary}<br>{escape(result.message)}</caption>"
        f"<thead>{_row('th', 'index', 'weight', weighted)}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _row(tag: str, index: str, weight: str, weighted: bool) -> str:
    """A row of the table; without weights it has one cell."""
    cells = [index, weight] if weighted else [index]
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def plot(result: "Result", ax: Any) -> Any:
    """Bars of the weights, of the shares of columns, or the history where there are neither."""
    ax = _axes() if ax is None else ax
    heights, label = (result.weights, "weight") if result.weights is not None else _shares(result)
    if heights is None:
        ax.plot(np.arange(len(result.history)), result.history)
        ax.set(xlabel="iterate", ylabel=result.words.loss, title=kept(result))
        return ax
    ax.bar(np.arange(len(heights)), heights, tick_label=[str(i) for i in result.indices])
    ax.set(xlabel=f"index of {result.words.unit}", ylabel=label, title=kept(result))
    return ax


def _shares(result: "Result") -> tuple[Vector | None, str]:
    """The share of the answer's listed mass that uses each unit that was kept, where the units are dimensions."""
    found = result.distribution
    if not np.isin(found.dims, result.indices).all() or len(found.shape) < 2:
        return None, ""
    uses = dict(zip(found.dims.tolist(), found.weights @ (found.codes != found.origin[found.dims]), strict=True))
    return np.array([uses.get(i, 0.0) for i in result.indices.tolist()]), "share of the covered rows that use it"


def _axes() -> Any:
    """New axes."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InvalidInput('plot needs matplotlib: pip install "fewer[plot]"') from None
    return pyplot.subplots()[1]
