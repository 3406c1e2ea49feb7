"""A result for people: one line, a table for notebooks, a picture."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ._result_frame import IN_ORDER
from ._validation import InvalidInput, Vector
from .text import visible

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
LONGEST_TICK = 4
"""Characters of a name under a bar up to which it is written level."""
MOST_ROWS = 20
"""Rows of the table in a notebook."""
WIDE = 'style="text-align: left; min-width: min(40em, 90vw)"'
"""A narrow table would break its caption into a column of words."""


def one_line(result: "Result") -> str:
    """Return what was kept, the loss, the gap, and how the run ended."""
    return f"Result({summary(result)})"


def summary(result: "Result") -> str:
    """Return the parts of the line."""
    spread = f" ± {result.value_se:.2g}" if result.value_se else ""
    gap = [f"gap = {result.gap:.2g}"] if proves(result) else []
    loss = f"{result.words.loss} = {result.value:.3g}{spread}"
    end = f"{ENDS[result.status.name]} {duration(result.seconds)}"
    return ", ".join([kept_count(result), loss, *gap, end])


def proves(result: "Result") -> bool:
    """Return whether the bound says something: a squared distance is never below 0 without any proof."""
    return result.bound is not None and (result.bound != 0 or result.status.name == "OPTIMAL")


def duration(seconds: float) -> str:
    """Return seconds with two digits, or whole.

    >>> duration(0.1234), duration(200.4)
    ('0.12 s', '200 s')
    """
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def kept_count(result: "Result") -> str:
    """Return how many of how many units were kept."""
    words = result.words
    total = result.space.n_units if words.total is None else words.total
    return f"{len(result.indices)} of {total} {words.unit}"


def html(result: "Result") -> str:
    """Return a small table of what was kept, the heaviest first, under a summary.

    Colours are the page's.
    """
    labels = labels_of(result)
    columns = {"index": [str(i) for i in result.indices]}
    if labels is not None:
        columns[labels[0]] = labels[1]
    if result.weights is not None:
        columns["weight"] = [f"{weight:.4g}" for weight in result.weights]
    order = np.arange(len(result.indices))
    if result.weights is not None and result.words.unit not in IN_ORDER:
        order = np.argsort(-result.weights, kind="stable")
    rows = [_row("td", [cells[i] for cells in columns.values()]) for i in order[:MOST_ROWS]]
    if len(order) > MOST_ROWS:
        more = f"and {len(order) - MOST_ROWS} more"
        rows.append(_row("td", [more, *[""] * (len(columns) - 1)]))
    return (
        "<table><caption"
        f" {WIDE}><b>{escape(summary(result))}</b><br>{escape(result.message)}</caption>"
        f"<thead>{_row('th', list(columns))}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def labels_of(result: "Result") -> tuple[str, list[str]] | None:
    """Return the heading and the names of the kept units, as the user calls them.

    None where there are only indices.
    """
    if result.labels is None:
        return None
    numbers = result.words.unit in IN_ORDER
    heading = "value" if numbers else {"points": "label"}.get(result.words.unit, "name")
    return heading, [f"{label:.6g}" if numbers else visible(label) for label in result.labels]


def _row(tag: str, cells: list[str]) -> str:
    """Return a row of the table."""
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def plot(result: "Result", ax: Any) -> Any:
    """Draw the weights as bars, the shares of columns, or the history where there are neither."""
    ax = axes() if ax is None else ax
    heights, label = result.weights, "weight"
    if heights is None:
        heights, label = column_shares(result), "share of the covered rows that use it"
    labels = labels_of(result)
    if heights is None:
        ax.plot(np.arange(len(result.history)), result.history)
        words = {"xlabel": "iterate", "ylabel": result.words.loss}
    elif labels is not None and labels[0] == "value":
        ax.vlines(np.asarray(result.labels, np.float64), 0.0, heights)
        words = {"xlabel": "value", "ylabel": label}
        ax.set_ylim(0.0, None)
    else:
        heading, names = labels or ("index", [str(i) for i in result.indices])
        ax.bar(np.arange(len(heights)), heights, tick_label=names)
        if max(map(len, names), default=0) > LONGEST_TICK:
            ax.tick_params(axis="x", labelrotation=90)
        words = {"xlabel": f"{heading} of {result.words.unit}", "ylabel": label}
    ax.set(title=kept_count(result), **words)
    return ax


def column_shares(result: "Result") -> Vector | None:
    """Return the share of the answer's listed mass that uses each kept unit, where the units are dimensions."""
    P = result.distribution
    if not np.isin(P.dims, result.indices).all() or len(P.shape) < 2:
        return None
    shares = np.zeros(len(P.shape))
    shares[P.dims] = P.weights @ (P.codes != P.origin[P.dims])
    return shares[result.indices]


def axes() -> Any:
    """Return new axes."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InvalidInput('plot needs matplotlib: pip install "fewer[plot]"') from None
    return pyplot.subplots()[1]
