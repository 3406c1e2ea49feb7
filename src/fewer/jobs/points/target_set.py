"""Points that stand for another set: the rows that they are chosen from and those of the target, as one table."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_weights,
    gathered,
    is_frame,
    library_of,
    shown,
)
from ...tables.column import Table, below, below_array, role
from ...tables.missing import refuse_missing
from ...tables.schema import RULES, Schema
from .explain import Source
from .row_input import Given
from .sample import Sample


class Together(NamedTuple):
    """What is compared: rows of X and, from row n on, of the target; `mass` (m,) are the target's own weights."""

    X: Any
    n: int
    labels: Any
    weights: Any
    columns: Any
    notes: tuple[str, ...] = ()
    mass: Vector | None = None

    @property
    def others(self) -> int:
        """The number of rows of the target where it is another set."""
        return 0 if self.mass is None else len(self.mass)

    def parts(self, sample: Sample, kept: Indices | None) -> tuple[Sample, Sample]:
        """The rows to choose from, and those to stand for; `kept` are the rows of both that were not left out."""
        if self.mass is None:
            return sample, sample
        first = sample.at(np.arange(len(sample.weights)))
        here, there = (
            sample.take(np.flatnonzero(first < self.n)),
            sample.take(np.flatnonzero(first >= self.n)),
        )
        for part, whose in ((here, "X"), (there, "the target")):
            if not len(part.weights):
                raise InvalidInput(
                    f"{(fix := Fix('missing', 'drop'))} leaves no row of {whose}", fixes=[fix]
                )
        mass = self.mass if kept is None else self.mass[kept[kept >= self.n] - self.n]
        total = float(mass.sum())
        return here.as_shares(self.n, total), there.as_shares(self.others, total)

    def source(self, X: Any, given: Given, precomputed: bool) -> Source:
        """The rows to stand for, which are all of X, as they were handed in."""
        weights = None if given.weights is None else np.asarray(given.weights, np.float64)
        if self.mass is None:
            return Source(X, given.kept, weights, precomputed)
        mine = slice(self.n, None) if given.kept is None else given.kept >= self.n
        kept = None if given.kept is None else given.kept[mine] - self.n
        return Source(gathered(X), kept, None if weights is None else weights[mine])


class Aim(NamedTuple):
    """Another set that points are to stand for, and the weights of its rows."""

    target: Any
    weight: Any = None

    def beside(
        self,
        X: Any,
        labels: Any,
        sample_weight: Any,
        columns: Any,
        missing: str,
        groups: Any = None,
    ) -> Together:
        """X and the target as one; see `points` for the arguments."""
        if labels is not None and not isinstance(labels, str):
            raise InvalidInput(
                "labels beside a target must name a column that X and the target have, got an array for X alone"
            )
        target = gathered(self.target)
        if not is_frame(X):
            return self._arrays(X, target, labels, sample_weight, columns, missing)
        if not is_frame(target) or library_of(target) != library_of(X):
            raise InvalidInput(
                f"target must be a table of {library_of(X)} as X is, got {shown(type(target).__name__)}"
            )
        here, there = Table.of(X), Table.of(target)
        apart = [name for name in (labels, sample_weight, groups) if isinstance(name, str)]
        schema = Schema.of(here, columns, without=apart)
        kinds = dict(zip(schema.names, schema.kinds, strict=True))
        needed = [*kinds, *([labels] if labels is not None else [])]
        both = below(X, target, needed, "target")
        if missing == "error":
            try:
                refuse_missing(
                    [column for column in there.columns if column.name in kinds], RULES[1:]
                )
            except InvalidInput as error:
                raise error.at("target") from None
        weights = (
            _values(here, sample_weight, "sample_weight"),
            _values(there, self.weight, "target_weight"),
        )
        return _together(both, here.rows, there.rows, labels, weights, kinds, schema.notes)

    def _arrays(
        self, X: Any, target: Any, labels: Any, sample_weight: Any, columns: Any, missing: str
    ) -> Together:
        """The same for arrays and sparse matrices."""
        if is_frame(target):
            raise InvalidInput(
                f"target must be an array as X is, got {shown(type(target).__name__)}"
            )
        both = below_array(X, target, "target", missing != "error")
        m = target.shape[0] if sp.issparse(target) else len(target)
        return _together(
            both, both.shape[0] - m, m, labels, (sample_weight, self.weight), columns, ()
        )


def alone(X: Any, labels: Any, sample_weight: Any, columns: Any) -> Together:
    """X as it is: the points stand for its own rows."""
    return Together(X, -1, labels, sample_weight, columns)


def _values(X: Any, weight: Any, option: str) -> Any:
    """Weights, or those in the column that is named."""
    column = role(X, weight, option)
    return weight if column is None else column.values


def _together(
    both: Any, n: int, m: int, labels: Any, weights: Any, columns: Any, notes: tuple[str, ...]
) -> Together:
    """With weights by which rows of both count alike, on average."""
    shares = [
        np.ones(count) if given is None else count * as_weights(given, count, option)
        for given, count, option in zip(
            weights, (n, m), ("sample_weight", "target_weight"), strict=True
        )
    ]
    mass = np.ones(m) if weights[1] is None else np.asarray(weights[1], np.float64)
    pooled = None if weights[0] is None and weights[1] is None else np.concatenate(shares)
    return Together(both, n, labels, pooled, columns, notes, mass)
