"""Points of a stream: how rows are compared, decided by the first of them."""

from dataclasses import replace
from typing import Any

from ..._validation import as_integer
from ...tables.source import Block
from .blocks import spec_of
from .first_pass import FirstSummary
from .options import PointsOptions
from .plan import PointsPlan, plan_of


def streamed_plan(X: Any, k: Any, options: PointsOptions) -> PointsPlan:
    """Decide how the rows of a stream are encoded, scaled and compared; `rng` of the options is a seed."""
    weight = options.sample_weight if isinstance(options.sample_weight, str) else None
    spec = spec_of(X, as_integer(k, "k", 1), options.replace(sample_weight=weight), options.rng)
    block = Block(X, options.labels, options.sample_weight)
    schema = spec.schema.filled(block, "points", 0, weighted=True)
    return plan_of(FirstSummary.of(block, replace(spec, schema=schema)))
