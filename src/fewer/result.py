"""What a solver hands back, as numbers, as a table, and for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ._validation import Indices, InvalidInput, Vector, known, library_of
from .distribution import Distribution
from .spaces import Space
from .text import sentence, visible

OURS = ("index", "weight", "count")
"""Columns of ours; one of the user's that is called so gets an ending."""
IN_ORDER = ("bins", "bars", "values")
"""Units that displays show in their own order, not heaviest first."""
LONGEST_LEVEL_TICK = 4
"""Characters of a name under a bar up to which it is written level."""
MAX_SHOWN_ROWS = 20
"""Rows of the table in a notebook."""


class Status(Enum):
    """How a run ended; the value is the sentence to show.

    Attributes
    ----------
    OPTIMAL
        The bound reaches the value: no answer is better.
    CONVERGED
        The next step would change nothing above the tolerance.
    FINISHED
        The search ended by itself, without a proof.
    MAX_ITER, TIME_LIMIT, CALLBACK, INTERRUPTED
        What cut it short; the best answer so far is returned.

    Examples
    --------
    >>> print(Status.OPTIMAL)
    Optimal (proven).
    """

    OPTIMAL = "Optimal (proven)."
    CONVERGED = "Converged: the next step is below the tolerance."
    FINISHED = "Search finished; optimality not proven."
    MAX_ITER = "Stopped after max_iter iterations; the best answer so far is returned."
    TIME_LIMIT = "Stopped by the time limit; the best answer so far is returned."
    CALLBACK = "Stopped by the callback; the best answer so far is returned."
    INTERRUPTED = "Interrupted from the keyboard; the best answer so far is returned."

    def __str__(self) -> str:
        return self.value


ENDED_BY_ITSELF = (Status.OPTIMAL, Status.CONVERGED, Status.FINISHED)
ENDS = {
    Status.OPTIMAL: "optimal (proven) in",
    Status.CONVERGED: "converged in",
    Status.FINISHED: "finished in",
    Status.MAX_ITER: "stopped at max_iter after",
    Status.TIME_LIMIT: "stopped by the time limit after",
    Status.CALLBACK: "stopped by the callback after",
    Status.INTERRUPTED: "interrupted after",
}


class Words(NamedTuple):
    """How a result is spoken of: `total` is how many units there were, `loss` the name of what was minimised."""

    unit: str = "units"
    total: int | None = None
    loss: str = "F"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The best answer of a run, and what is known about it.

    Parameters
    ----------
    indices : ndarray of int
        What was kept, sorted, in the caller's numbering: rows, bins or columns. `support` is the
        same.
    weights : ndarray of float or None
        The weights, aligned with `indices`; None where units hold more than one entry (dims).
    value : float
        F of the answer.
    bound : float or None
        A proven lower bound on the optimum; None where nothing is proven.
    status : Status
        How the run ended.
    history : ndarray of float
        The value of each iterate, a given start first.
    n_iter : int
        How many iterates were computed.
    seconds : float
        Wall time.
    space : Atoms, Lattice or States
        Where `p` lives.
    seed : int or None
        What reproduces the random choices.
    table : ndarray of float or None
        `p` where it does not follow from `indices` and `weights`.
    kept : Distribution or None
        `distribution` where it does not follow from `p`.
    value_se : float
        The standard error of `value` where that is an estimate, else 0.
    note : str
        What was estimated, cut short or odd, and how.
    words : Words
        Names of the units and of the loss, for people.
    labels : array-like or None
        The user's own names of what was kept, aligned with `indices`: labels of a frame's index,
        names of columns, where bins sit. None where there are none.
    rows : table or None
        Points: the kept rows in the user's own container, aligned with `indices`.
    total : float or None
        What the weights are shares of: the number of rows or values, or the sum of their weights.
    compared : tuple or None
        Points: how rows are encoded, scaled and compared, for `assign`, `criticisms` and `witness`.
    source : object or None
        Points: the rows that they represent, by reference, for `assignment`, `shares` and
        `criticisms`; no part of what is pickled or copied.
    units : array-like or None
        Dims and points that choose whole units: the labels of those chosen.
    unit_weights : ndarray of float or None
        Points that choose whole units: the weights, aligned with `units`.
    loss : float or None
        Terms and bins that preserve a matrix: the loss alone, which is `value` without the ridge.

    Attributes
    ----------
    counts : ndarray of float or None
        weights * total: how many rows or values each one represents; the `sample_weight` of other
        libraries.
    gap : float or None
        value - bound: how much better any answer could be.
    success : bool
        Whether the run finished, rather than being stopped by a limit, a callback or an interrupt.
    message : str
        The status and the note as sentences.
    p : ndarray of float
        The answer as a vector on `space`, computed on access.
    support : ndarray of int
        `indices`, by their name in the theory.
    distribution : Distribution
        The states that carry mass, with their weights.
    assignment : ndarray of int of shape (N,)
        Points: which of them each row is most similar to, as positions in `indices`; -1 for rows
        that were left out.
    shares : ndarray of float of shape (k,)
        Points: the share of the rows, by their weights, that each is the most similar one of.

    Examples
    --------
    >>> from fewer import bins
    >>> result = bins(counts=[4, 0, 1, 5], k=2)
    >>> result.indices.tolist(), result.weights.round(3).tolist(), result.p.round(3).tolist()
    ([0, 3], [0.433, 0.567], [0.433, 0.0, 0.0, 0.567])
    >>> result.success, result.message
    (True, 'Optimal (proven).')
    """

    indices: Indices
    weights: Vector | None
    value: float
    bound: float | None
    status: Status
    history: Vector
    n_iter: int
    seconds: float
    space: Space
    seed: int | None = None
    table: Vector | None = None
    kept: Distribution | None = None
    value_se: float = 0.0
    note: str = ""
    words: Words = field(default=Words())
    labels: Any = None
    rows: Any = None
    total: float | None = None
    compared: Any = None
    source: Any = None
    units: Any = None
    unit_weights: Vector | None = None
    loss: float | None = None

    @property
    def support(self) -> Indices:
        """The units that p uses, sorted: `indices`."""
        return self.indices

    @property
    def counts(self) -> Vector | None:
        """The weights times `total`; None where either is not known."""
        return None if self.weights is None or self.total is None else self.weights * self.total

    @property
    def p(self) -> Vector:
        """The answer as a vector on `space`.

        Made anew each time, so that a large space costs nothing unasked.
        """
        if self.table is not None:
            return self.table
        p = np.zeros(self.space.size)
        p[self.indices] = self.weights
        return p

    @property
    def gap(self) -> float | None:
        """Value - bound: how much better any answer could be; None where nothing is proven."""
        if self.bound is None:
            return None
        return 0.0 if self.value == self.bound else self.value - self.bound  # both may be infinite

    @property
    def success(self) -> bool:
        """Whether the run ended by itself."""
        return self.status in ENDED_BY_ITSELF

    @property
    def message(self) -> str:
        """The status and the note, as sentences."""
        return f"{self.status} {sentence(self.note)}" if self.note else str(self.status)

    @cached_property
    def distribution(self) -> Distribution:
        """The states that carry mass, with their weights."""
        return Distribution.of(self.space, self.p) if self.kept is None else self.kept

    @cached_property
    def assignment(self) -> Indices:
        """Points: the most similar one of each row that they stand for; see `fewer.assign`."""
        return self._source().assignment(self)  # type: ignore[no-any-return]

    @cached_property
    def shares(self) -> Vector:
        """Points: the share of the rows that each is the most similar one of."""
        return self._source().shares(self)  # type: ignore[no-any-return]

    def criticisms(self, n: int, method: str = "residual") -> Indices:
        """Points: the n rows that they represent worst, the worst first.

        Parameters
        ----------
        n : int
            How many rows are listed.
        method : {"residual", "witness"}
            By what they are chosen; see `fewer.criticisms`.

        Returns
        -------
        ndarray of int of shape (n,)
            Rows of what the points stand for.
        """
        return self._source().criticisms(self, n, method)  # type: ignore[no-any-return]

    def _source(self) -> Any:
        """Return the rows that points stand for."""
        if self.source is None:
            raise InvalidInput(
                "this result does not hold the rows that it stands for: it is none of points, or it"
                " was stored or copied; use assign(result, X) and criticisms(result, X, n)"
            )
        return self.source

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def heaviest_first(self) -> tuple[Indices, Vector]:
        """`indices` and `weights`, the heaviest first and of equal ones the lowest index.

        Returns
        -------
        indices, weights : ndarray
            Weights are zero where there are none.
        """
        weights = np.zeros(len(self.indices)) if self.weights is None else self.weights
        order = np.argsort(-weights, kind="stable")
        return self.indices[order], weights[order]

    def named(self, unit: str, loss: str, total: int | None = None) -> "Result":
        """Return the result spoken of in these words.

        `total` units could have been kept, all by default.
        """
        return replace(self, words=Words(unit, self.words.total if total is None else total, loss))

    def to_frame(self, backend: str | None = None) -> Any:
        """What was kept as a table in the order of `indices`: `index` (from 0), `weight`, `count`, and its names.

        `count` is there where it is known what weights are shares of. Points: the whole original
        rows, under the labels of the frame's own index (polars: in a column `label`); of an array
        columns x0, x1, ... Bins: `value` where each sits, and its edges `from` and `to`. Terms and
        dims: `name`. A column of the user's that is called `index`, `weight` or `count` gets the
        ending `_in_table`.

        Parameters
        ----------
        backend : {None, "pandas", "polars"}
            The library of the table; None is pandas.

        Returns
        -------
        DataFrame
        """
        library, rows = backend or "pandas", self.rows
        columns, index, kept = ours(self), None, columns_of(rows, library)
        if self.words.unit == "points" and self.labels is not None:
            index = list(self.labels)
        if library == "pandas" and library_of(rows) == "pandas":
            index = rows.index
        if library != "pandas" and index is not None:
            columns["index_label" if "label" in kept else "label"] = index
            index = None
        return frame_of({**columns, **kept}, library, index)

    def plot(self, ax: Any = None) -> Any:
        """Draw the weights as bars; for dims the share of the covered rows that use each column.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        ax = axes() if ax is None else ax
        heights, label = self.weights, "weight"
        if heights is None:
            heights, label = column_shares(self), "share of the covered rows that use it"
        heading, names = unit_names(self)
        if heights is None:
            ax.plot(np.arange(len(self.history)), self.history)
            heading, label = "iterate", self.words.loss
        elif heading == "value":
            ax.vlines(np.asarray(self.labels, np.float64), 0.0, heights)
            ax.set_ylim(0.0, None)
        else:
            ax.bar(np.arange(len(heights)), heights, tick_label=names)
            if max(map(len, names), default=0) > LONGEST_LEVEL_TICK:
                ax.tick_params(axis="x", labelrotation=90)
            heading = f"{heading} of {self.words.unit}"
        ax.set(title=kept_count(self), xlabel=heading, ylabel=label)
        return ax

    def __repr__(self) -> str:
        return f"Result({summary(self)})"

    def _repr_html_(self) -> str:
        heading, names = unit_names(self)
        columns = {"index": list(map(str, self.indices)), heading: names}
        order = np.arange(len(self.indices))
        if self.weights is not None:
            columns["weight"] = [f"{weight:.4g}" for weight in self.weights]
            if self.words.unit not in IN_ORDER:
                order = np.argsort(-self.weights, kind="stable")
        rows = [[cells[i] for cells in columns.values()] for i in order[:MAX_SHOWN_ROWS]]
        if len(order) > MAX_SHOWN_ROWS:
            more = f"and {len(order) - MAX_SHOWN_ROWS} more"
            rows.append([more, *[""] * (len(columns) - 1)])
        wide = 'style="text-align: left; min-width: min(40em, 90vw)"'  # else a column of words
        body = "".join(html_row("td", row) for row in rows)
        return (
            f"<table><caption {wide}><b>{escape(summary(self))}</b><br>{escape(self.message)}"
            f"</caption><thead>{html_row('th', list(columns))}</thead><tbody>{body}</tbody></table>"
        )


def summary(result: Result) -> str:
    """Return what was kept, the loss, the gap, and how the run ended, in a line."""
    spread = f" ± {result.value_se:.2g}" if result.value_se else ""
    gap = f", gap = {result.gap:.2g}" if proves(result) else ""
    loss = f"{result.words.loss} = {result.value:.3g}{spread}{gap}"
    seconds = f"{result.seconds:.2g}" if result.seconds < 100 else f"{result.seconds:.0f}"
    return f"{kept_count(result)}, {loss}, {ENDS[result.status]} {seconds} s"


def proves(result: Result) -> bool:
    """Return whether the bound says something: a squared distance is never below 0 anyway."""
    return result.bound is not None and (result.bound != 0 or result.status is Status.OPTIMAL)


def kept_count(result: Result) -> str:
    """Return how many of how many units were kept."""
    words = result.words
    total = result.space.n_units if words.total is None else words.total
    return f"{len(result.indices)} of {total} {words.unit}"


def unit_names(result: Result) -> tuple[str, list[str]]:
    """Return what the kept units are called, and the heading of that; numbers where nothing else."""
    if result.labels is None:
        return "index", list(map(str, result.indices))
    if result.words.unit in IN_ORDER:
        return "value", [f"{label:.6g}" for label in result.labels]
    heading = "label" if result.words.unit == "points" else "name"
    return heading, list(map(visible, result.labels))


def html_row(tag: str, cells: Sequence[str]) -> str:
    """Return a row of an HTML table."""
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def column_shares(result: Result) -> Vector | None:
    """Return the share of the answer's listed mass that uses each kept unit; None where units are not dimensions."""
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


def ours(result: Result) -> dict[str, Any]:
    """Return the columns that every result has, and those of bins or of what has names."""
    columns: dict[str, Any] = dict(
        zip(OURS, (result.indices, result.weights, result.counts), strict=True)
    )
    if result.kept is not None and result.kept.values is not None:
        columns["value"] = result.kept.values
        if result.kept.edges is not None:
            columns["from"], columns["to"] = result.kept.edges.T
    elif result.labels is not None and result.words.unit == "columns":
        columns["name"] = list(result.labels)
    return {name: column for name, column in columns.items() if column is not None}


def columns_of(rows: Any, library: str = "") -> dict[Any, Any]:
    """Return the columns of kept rows by name, of an array as x0, x1, ...

    They are lists, but for those of this library.
    """
    if rows is None:
        return {}
    if library_of(rows) is None:
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        flat = dense.reshape(len(dense), -1)
        return {f"x{j}": column for j, column in enumerate(flat.T.tolist())}
    import narwhals as nw  # here: the theory goes without it

    frame = nw.from_native(rows, eager_only=True, allow_series=True)
    frame = frame.to_frame() if isinstance(frame, nw.Series) else frame
    own = library_of(rows) == library
    return {
        free_name(column.name if own else str(column.name), frame.columns): (
            column.to_native() if own else column.to_list()
        )
        for column in frame.iter_columns()
    }


def free_name(name: Any, names: Sequence[Any], ending: str = "_in_table", ours: Any = OURS) -> Any:
    """Return the name of a user's column next to ours.

    >>> free_name("weight", ["weight", "x"]), free_name("x", ["weight", "x"])
    ('weight_in_table', 'x')
    """
    if isinstance(name, str) and name in ours:
        name += ending
        while name in names:
            name += "_"
    return name


def frame_of(columns: Mapping[Any, Any], backend: str | None, index: Any = None) -> Any:
    """Return columns by name as a table of pandas or polars; None is pandas."""
    library = known(backend or "pandas", {"pandas": "pandas", "polars": "polars"}, "backend")
    try:
        module = import_module(library)
    except ImportError:
        other = "; neither pandas nor polars comes with fewer"
        raise InvalidInput(f"to_frame needs {library}, which is not installed{other}") from None
    more = {"index": index} if library == "pandas" else {"strict": False}
    return module.DataFrame(columns, **more)
