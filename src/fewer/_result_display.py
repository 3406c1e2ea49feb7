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
    return f"Result({', '.join([*parts, f'{ENDS[result.status.name]} {result.seconds:.2g} s'])})"


def kept(result: "Result") -> str:
    """How many of how many units."""
    words = result.words
    return f"{len(result.indices)} of {result.space.n_units if words.total is None else words.total} {words.unit}"


def html(result: "Result") -> str:
    """A small table of what was kept, heaviest first, under the line that sums it up; colours are the page's."""
    weights = result.weights
    order = np.arange(len(result.indices)) if weights is None else np.argsort(-weights, kind="stable")
    rows = [_row(result.indices[i], None if weights is None else weights[i]) for i in order[:MOST_ROWS]]
    if len(order) > MOST_ROWS:
        rows.append(f'<tr><td colspan="2">and {len(order) - MOST_ROWS} more</td></tr>')
    heading = "".join(f"<th>{name}</th>" for name in ("index", "weight")[: 1 if weights is None else 2])
    summary = escape(one_line(result)[len("Result(") : -1])
    return (
        f"<table><caption>{summary}<br>{escape(result.message)}</caption>"
        f"<thead><tr>{heading}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _row(index: int, weight: float | None) -> str:
    """One unit that was kept."""
    cells = f"<td>{index}</td>" + ("" if weight is None else f"<td>{weight:.4g}</td>")
    return f"<tr>{cells}</tr>"


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
