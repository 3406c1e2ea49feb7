"""Say the same thing with fewer points, bins, terms or dimensions: learn sparse discrete distributions."""

TYPE_CHECKING = (
    False  # not imported: until the command has its hands on Ctrl-C, every import is a traceback
)
if TYPE_CHECKING:
    from ._validation import InvalidInput
    from ._warm import warm
    from .constraints.conditions import Conditions
    from .constraints.dimension_sparse import DimensionSparse
    from .constraints.group_sparse import GroupSparse
    from .constraints.simplex import Simplex, SparseStates
    from .constraints.sparse_simplex import SparseSimplex
    from .distribution import Distribution
    from .jobs.bins.bins import bins
    from .jobs.bins.transformer import FewerBins
    from .jobs.dims.dims import coverage, dims
    from .jobs.dims.selector import FewerDims
    from .jobs.points.estimators import FewerPoints, FewerPointsClassifier, FewerSampler
    from .jobs.points.explain import assign, criticisms, witness
    from .jobs.points.points import points, split_evenly
    from .jobs.summaries import Summary, summarize
    from .jobs.terms.regressor import FewerTerms
    from .jobs.terms.terms import terms
    from .objectives.covered import KL, L2
    from .objectives.functional import Functional
    from .objectives.mmd import MMD, RowsMMD
    from .objectives.moments import Moments
    from .objectives.residuals import AbsoluteError, DownsideError
    from .report.path import Path, path
    from .result import Result, Status
    from .solvers.exact import exact
    from .solvers.exchange import exchange
    from .solvers.frank_wolfe import frank_wolfe
    from .solvers.greedy import greedy
    from .solvers.iht import Backtracking, Constant, Doubling, Momentum, Refitting, iht
    from .solvers.minimize import minimize
    from .spaces import Atoms, Lattice, States, dimensions_to_vector, vector_to_dimensions
    from .tables.prices import returns

__version__ = "0.1.0"

_HOMES = {
    "_validation": "InvalidInput",
    "_warm": "warm",
    "constraints.conditions": "Conditions",
    "constraints.dimension_sparse": "DimensionSparse",
    "constraints.group_sparse": "GroupSparse",
    "constraints.simplex": "Simplex SparseStates",
    "constraints.sparse_simplex": "SparseSimplex",
    "distribution": "Distribution",
    "jobs.bins.bins": "bins",
    "jobs.bins.transformer": "FewerBins",
    "jobs.dims.dims": "coverage dims",
    "jobs.dims.selector": "FewerDims",
    "jobs.points.estimators": "FewerPoints FewerPointsClassifier FewerSampler",
    "jobs.points.explain": "assign criticisms witness",
    "jobs.points.points": "points split_evenly",
    "jobs.summaries": "Summary summarize",
    "jobs.terms.regressor": "FewerTerms",
    "jobs.terms.terms": "terms",
    "objectives.covered": "KL L2",
    "objectives.functional": "Functional",
    "objectives.mmd": "MMD RowsMMD",
    "objectives.moments": "Moments",
    "objectives.residuals": "AbsoluteError DownsideError",
    "report.path": "Path path",
    "result": "Result Status",
    "solvers.exact": "exact",
    "solvers.exchange": "exchange",
    "solvers.frank_wolfe": "frank_wolfe",
    "solvers.greedy": "greedy",
    "solvers.iht": "Backtracking Constant Doubling Momentum Refitting iht",
    "solvers.minimize": "minimize",
    "spaces": "Atoms Lattice States dimensions_to_vector vector_to_dimensions",
    "tables.prices": "returns",
}
"""The module of each public name."""

__all__ = [
    "KL",
    "L2",
    "MMD",
    "AbsoluteError",
    "Atoms",
    "Backtracking",
    "Conditions",
    "Constant",
    "DimensionSparse",
    "Distribution",
    "Doubling",
    "DownsideError",
    "FewerBins",
    "FewerDims",
    "FewerPoints",
    "FewerPointsClassifier",
    "FewerSampler",
    "FewerTerms",
    "Functional",
    "GroupSparse",
    "InvalidInput",
    "Lattice",
    "Moments",
    "Momentum",
    "Path",
    "Refitting",
    "Result",
    "RowsMMD",
    "Simplex",
    "SparseSimplex",
    "SparseStates",
    "States",
    "Status",
    "Summary",
    "assign",
    "bins",
    "coverage",
    "criticisms",
    "dimensions_to_vector",
    "dims",
    "exact",
    "exchange",
    "frank_wolfe",
    "greedy",
    "iht",
    "minimize",
    "path",
    "points",
    "returns",
    "split_evenly",
    "summarize",
    "terms",
    "vector_to_dimensions",
    "warm",
    "witness",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import fewer` costs nothing."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module 'fewer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
