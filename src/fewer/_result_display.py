"""A result for people: one line, a table for notebooks, a picture."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ._result_frame import IN_ORDER
from ._validation import Indices, InvalidInput, Vector
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
    """What was kept, the loss, the gap, and how the run ended."""
    spread = f" ± {result.value_se:.2g}" if result.value_se else ""
    parts = [kept(result), f"{result.words.loss} = {result.value:.3g}{spread}"]
    if proves(result):
        parts.append(f"gap = {result.gap:.2g}")
    return (
        f"Result({', '.join([*parts, f'{ENDS[result.status.name]} {duration(result.seconds)}'])})"
    )


def proves(result: "Result") -> bool:
    """Whether the bound says something: a squared distance is never below 0 without any proof."""
    return result.bound is not None and (result.bound != 0 or result.status.name == "OPTIMAL")


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
    """A small table of what was kept, the heaviest first, under a line of summary; colours are the page's."""
    weighted = result.weights is not None
    order, labels = order_of(result), labels_of(result)
    heads = ["index", *([labels[0]] if labels else []), *(["weight"] if weighted else [])]
    rows = []
    for i in order[:MOST_ROWS].tolist():
        cells = [str(result.indices[i]), *([labels[1][i]] if labels else [])]
        rows.append(
            _row(
                "td",
                [*cells, *([f"{result.weights[i]:.4g}"] if result.weights is not None else [])],
            )
        )
    if len(order) > MOST_ROWS:
        rows.append(_row("td", [f"and {len(order) - MOST_ROWS} more", *[""] * (len(heads) - 1)]))
    summary = escape(one_line(result)[len("Result(") : -1])
    return (
        f"<table><caption {WIDE}><b>{summary}</b><br>{escape(result.message)}</caption>"
        f"<thead>{_row('th', heads)}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def order_of(result: "Result") -> Indices:
    """Heaviest first, of equal ones the lowest index; bins, and what has no weights, in their own order."""
    if result.weights is None or result.words.unit in IN_ORDER:
        return np.arange(len(result.indices))
    return np.argsort(-result.weights, kind="stable")


def labels_of(result: "Result") -> tuple[str, list[str]] | None:
    """What the user calls that which was kept, and what such a name is called; None where there are only indices."""
    if result.labels is None:
        return None
    numbers = result.words.unit in IN_ORDER
    heading = "value" if numbers else {"points": "label"}.get(result.words.unit, "name")
    return heading, [f"{label:.6g}" if numbers else visible(label) for label in result.labels]


def _row(tag: str, cells: list[str]) -> str:
    """A row of the table."""
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def plot(result: "Result", ax: Any) -> Any:
    """Bars of the weights, of the shares of columns, or the history where there are neither."""
    ax = axes() if ax is None else ax
    heights, label = (result.weights, "weight") if result.weights is not None else _shares(result)
    if heights is None:
        ax.plot(np.arange(len(result.history)), result.history)
        ax.set(xlabel="iterate", ylabel=result.words.loss, title=kept(result))
        return ax
    labels = labels_of(result)
    if labels is not None and labels[0] == "value":
        ax.vlines(np.asarray(result.labels, np.float64), 0.0, heights)
        ax.set(xlabel="value", ylabel=label, title=kept(result), ylim=(0.0, None))
        return ax
    names = [str(i) for i in result.indices] if labels is None else labels[1]
    ax.bar(np.arange(len(heights)), heights, tick_label=names)
    if max(map(len, names), default=0) > LONGEST_TICK:
        ax.tick_params(axis="x", labelrotation=90)
    ax.set(
        xlabel=f"{labels[0] if labels else 'index'} of {result.words.unit}",
        ylabel=label,
        title=kept(result),
    )
    return ax


def _shares(result: "Result") -> tuple[Vector | None, str]:
    """The share of the answer's listed mass that uses each unit that was kept, where the units are dimensions."""
    found = result.distribution
    if not np.isin(found.dims, result.indices).all() or len(found.shape) < 2:
        return None, ""
    uses = dict(
        zip(
            found.dims.tolist(),
            found.weights @ (found.codes != found.origin[found.dims]),
            strict=True,
        )
    )
    return np.array(
        [uses.get(i, 0.0) for i in result.indices.tolist()]
    ), "share of the covered rows that use it"


def axes() -> Any:
    """New axes."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InvalidInput('plot needs matplotlib: pip install "fewer[plot]"') from None
    return pyplot.subplots()[1]
