"""What a solver hands back."""

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import _result_display as display
from . import _result_frame as frames
from ._validation import Indices, InvalidInput, Vector
from .distribution import Distribution
from .spaces import Space


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

    def __post_init__(self) -> None:
        if self.weights is None and self.table is None:
            raise InvalidInput(
                "a Result needs weights, or a table on its space where units are not entries"
            )

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
        return (
            0.0 if self.value == self.bound else self.value - self.bound
        )  # also where both are infinite

    @property
    def success(self) -> bool:
        """Whether the run ended by itself."""
        return self.status in ENDED_BY_ITSELF

    @property
    def message(self) -> str:
        """The status and the note, as sentences."""
        return " ".join(
            [str(self.status), *([f"{self.note[0].upper()}{self.note[1:]}."] if self.note else [])]
        )

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
        return frames.to_frame(self, backend)

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
        return display.plot(self, ax)

    def __repr__(self) -> str:
        return display.one_line(self)

    def _repr_html_(self) -> str:
        return display.html(self)
