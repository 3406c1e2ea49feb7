"""Points of a stream: what is kept of all rows so far, and the answer when it is asked for."""

from typing import Any, NamedTuple

from .._validation import as_bytes, as_integer
from ..data.blocks import Block
from ..deadline import Deadline
from ..row_blocks import Tree
from ._fills import filled
from ._points_blocks import error_bound, solved, spec_of
from ._points_first import FirstSummary
from ._points_onepass import Coreset, coreset_of, kept_for
from ._points_plan import PointsPlan, plan_of
from .setting import Chosen, Setting


class PointsStream(NamedTuple):
    """How rows are compared, by the first call, the seed, and what stands for the rows so far."""

    plan: PointsPlan
    seed: int
    most: int
    tree: Tree[Coreset]


def continued(model: Any, stream: PointsStream | None, X: Any, labels: Any, sample_weight: Any) -> PointsStream:
    """The stream of an estimator with more rows."""
    from ._estimator import seed_of

    block = Block(X, labels, sample_weight)
    if stream is None:
        seed, k = seed_of(model.random_state), as_integer(model.k, "k", 1)
        how = (model.similarity, model.gamma, model.standardize, model.solver, as_bytes(model.max_memory))
        setting = Setting(*how, Deadline.after(None), columns=model.columns, missing=model.missing, move=model.move)
        weight = sample_weight if isinstance(sample_weight, str) else None
        spec = filled(spec_of(X, setting, k, labels, weight, seed), block, "points", 0, weighted=True)
        stream = PointsStream(plan_of(FirstSummary.of(block, spec)), seed, kept_for(k), Tree(Coreset.merged))
    found = coreset_of(block, stream.plan, stream.most, originals=True)
    tree = Tree(Coreset.merged, [list(level) for level in stream.tree.levels])
    tree.add(found)
    return stream._replace(tree=tree)


def answered_points(stream: PointsStream, setting: Setting, k: int) -> tuple[Chosen, float]:
    """The points for all rows so far, and the proven bound on their MMD to these."""
    found = solved(stream.tree.root(), k, setting, stream.seed, most=False)
    return found, error_bound(found.result)
