"""Points of a stream: what is kept of all rows so far, and the answer when it is asked for."""

from dataclasses import replace
from typing import Any, NamedTuple

from ..._validation import as_integer
from ...row_blocks import Tree
from ...tables.source import Block
from .blocks import error_bound, solved, spec_of
from .first_pass import FirstSummary
from .one_pass import Coreset, coreset_of, kept_for
from .options import PointsOptions
from .plan import PointsPlan, plan_of
from .setting import Chosen


class PointsStream(NamedTuple):
    """How rows are compared, by the first call, the seed, and what stands for the rows so far."""

    plan: PointsPlan
    seed: int
    most: int
    tree: Tree[Coreset]


def continued(stream: PointsStream | None, X: Any, k: Any, options: PointsOptions) -> PointsStream:
    """The stream of an estimator with more rows; `rng` of the options is a seed."""
    block = Block(X, options.labels, options.sample_weight)
    if stream is None:
        k, seed = as_integer(k, "k", 1), options.rng
        weight = options.sample_weight if isinstance(options.sample_weight, str) else None
        spec = spec_of(X, k, options.replace(sample_weight=weight), seed)
        spec = replace(spec, schema=spec.schema.filled(block, "points", 0, weighted=True))
        plan = plan_of(FirstSummary.of(block, spec))
        stream = PointsStream(plan, seed, kept_for(k), Tree(Coreset.merged))
    found = coreset_of(block, stream.plan, stream.most, originals=True)
    tree = Tree(Coreset.merged, [list(level) for level in stream.tree.levels])
    tree.add(found)
    return stream._replace(tree=tree)


def answered_points(stream: PointsStream, k: int, options: PointsOptions) -> tuple[Chosen, float]:
    """The points for all rows so far, and the proven bound on their MMD to these."""
    found = solved(stream.tree.root(), k, options, stream.seed, most=False)
    return found, error_bound(found.result)
