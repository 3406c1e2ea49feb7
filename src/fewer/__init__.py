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
    "AbsoluteError": "objectives.residuals",
    "Atoms": "spaces",
    "Backtracking": "solvers.iht",
    "Conditions": "constraints.conditions",
    "Constant": "solvers.iht",
    "DimensionSparse": "constraints.dimension_sparse",
    "Distribution": "distribution",
    "Doubling": "solvers.iht",
    "DownsideError": "objectives.residuals",
    "FewerBins": "jobs.bins.transformer",
    "FewerDims": "jobs.dims.selector",
    "FewerPoints": "jobs.points.estimators",
    "FewerPointsClassifier": "jobs.points.estimators",
    "FewerSampler": "jobs.points.estimators",
    "FewerTerms": "jobs.terms.regressor",
    "Functional": "objectives.functional",
    "GroupSparse": "constraints.group_sparse",
    "InvalidInput": "_validation",
    "KL": "objectives.covered",
    "L2": "objectives.covered",
    "Lattice": "spaces",
    "MMD": "objectives.mmd",
    "Moments": "objectives.moments",
    "Momentum": "solvers.iht",
    "Path": "report.path",
    "Refitting": "solvers.iht",
    "Result": "result",
    "RowsMMD": "objectives.mmd",
    "Simplex": "constraints.simplex",
    "SparseSimplex": "constraints.sparse_simplex",
    "SparseStates": "constraints.simplex",
    "States": "spaces",
    "Status": "result",
    "assign": "jobs.points.explain",
    "bins": "jobs.bins.bins",
    "coverage": "jobs.dims.dims",
    "criticisms": "jobs.points.explain",
    "dimensions_to_vector": "spaces",
    "dims": "jobs.dims.dims",
    "exact": "solvers.exact",
    "exchange": "solvers.exchange",
    "frank_wolfe": "solvers.frank_wolfe",
    "greedy": "solvers.greedy",
    "iht": "solvers.iht",
    "minimize": "solvers.minimize",
    "path": "report.path",
    "points": "jobs.points.points",
    "returns": "tables.prices",
    "split_evenly": "jobs.points.points",
    "Summary": "jobs.summaries",
    "summarize": "jobs.summaries",
    "terms": "jobs.terms.terms",
    "vector_to_dimensions": "spaces",
    "warm": "_warm",
    "witness": "jobs.points.explain",
}

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

    if name == "paper":
        return import_module(".paper", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'fewer' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
