"""The public functions and classes that the campaign calls, with plain arguments and what kind of thing each is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewer
from fewer.similarity import similarity_of

from . import odd
from .input_judges import judge_bins, judge_dims, judge_points, judge_solver, judge_terms

Rng = np.random.Generator


class Arg(NamedTuple):
    """A plain argument and its kind, how often it is given, and whether it may be sparse."""

    plain: Any
    kind: str
    given: float = 1.0
    sparse: bool = False


class Target(NamedTuple):
    """Something to call with keywords.

    `judge` says what is wrong with an answer to plain or equal arguments.
    """

    name: str
    call: Callable[..., Any]
    args: dict[str, Arg]
    judge: Callable[[Any, dict[str, Any]], list[str]] | None = None


def eighths(rng: Rng, *shape: int) -> Any:
    """Numbers that any float type holds exactly, zeros among them."""
    return rng.integers(0, 9, shape) / 8.0


def shares(rng: Rng, n: int) -> Any:
    """A distribution of eighths of which no entry is zero but by chance."""
    return np.bincount(rng.integers(0, n, 8), minlength=n) / 8.0


def matrix(rng: Rng) -> Any:
    """A matrix (4, 5), its columns different."""
    A = eighths(rng, 4, 5)
    A[0] += np.arange(5)
    return A


def codes(rng: Rng) -> Any:
    """Rows (7, 4) of codes in 0..2, as floats."""
    return (rng.integers(0, 3, (7, 4)) * rng.integers(0, 2, (7, 4))).astype(float)


COMMON = {
    "time_limit": Arg(0.5, "seconds", 0.15),
    "rng": Arg(0, "seed", 0.3),
    "callback": Arg(None, "callback", 0.15),
}


def jobs(rng: Rng) -> Iterator[Target]:
    """The four jobs, and coverage."""
    A, X, y = matrix(rng), eighths(rng, 7, 2), rng.integers(0, 2, 7).astype(float)
    weights = 1.0 + eighths(rng, 7)
    yield Target("dims", fewer.dims, {
        "X": Arg(codes(rng), "table", sparse=True),
        "k": Arg(int(rng.integers(1, 4)), "integer"),
        "objective": Arg(("kl", "l2"), "choice", 0.4),
        "sample_weight": Arg(weights, "table", 0.3),
        "baseline": Arg(np.array([0, 1, 0, 2]), "codes", 0.2),
        "solver": Arg(("auto", "exact", "exchange", "greedy", "iht"), "choice", 0.7),
        **COMMON,
    }, judge_dims)  # fmt: skip
    yield Target("coverage", fewer.coverage, {
        "X": Arg(codes(rng), "table", sparse=True),
        "support": Arg([0], "units"),
        "sample_weight": Arg(weights, "table", 0.3),
        "baseline": Arg(("zero", "mode"), "choice", 0.3),
    })  # fmt: skip
    yield Target("terms", fewer.terms, {
        "X": Arg(A, "table", sparse=True),
        "y": Arg(A @ shares(rng, 5), "table"),
        "k": Arg(int(rng.integers(2, 4)), "integer"),
        "min_weight": Arg(0.125, "number", 0.2),
        "max_weight": Arg(0.75, "number", 0.2),
        "include": Arg([0], "units", 0.2),
        "exclude": Arg([1], "units", 0.2),
        "groups": Arg(np.array([0, 0, 1, 1, 2]), "labels", 0.2),
        "max_per_group": Arg(2, "integer", 0.2),
        "sample_weight": Arg(1.0 + eighths(rng, 4), "table", 0.2),
        "ridge": Arg(0.25, "number", 0.1),
        "solver": Arg(("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"), "choice", 0.7),
        **COMMON,
    }, judge_terms)  # fmt: skip
    yield Target("bins", fewer.bins, {
        "counts": Arg(1.0 + eighths(rng, 6), "table"),
        "k": Arg(int(rng.integers(1, 4)), "integer"),
        "preserve": Arg(("cdf", "entries"), "choice", 0.5),
        "positions": Arg(np.arange(6.0) ** 2 - 3.0, "table", 0.3),
        "validation": Arg(0.25, "number", 0.05),
        "solver": Arg(("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"), "choice", 0.5),
        **COMMON,
    }, judge_bins)  # fmt: skip
    yield Target("bins of values", fewer.bins, {
        "values": Arg(eighths(rng, 9), "table"),
        "k": Arg(1, "integer"),
        "grid": Arg(("auto", "equal", "quantile"), "choice", 0.6),
        "sample_weight": Arg(1.0 + eighths(rng, 9) ** 2, "table", 0.3),
        "solver": Arg(("auto", "exact", "exchange", "greedy"), "choice", 0.5),
        **COMMON,
    })  # fmt: skip
    yield Target("bins of functionals", fewer.bins, {
        "counts": Arg(1.0 + eighths(rng, 5), "table"),
        "k": Arg(2, "integer"),
        "preserve": Arg(A, "operator", sparse=True),
        "validation": Arg(0.25, "number", 0.2),
        "ridge": Arg(0.25, "number", 0.2),
        "solver": Arg(("auto", "exchange", "greedy", "iht"), "choice", 0.5),
        **COMMON,
    })  # fmt: skip
    similarities = ("rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming")
    yield Target("points", fewer.points, {
        "X": Arg(X + 4.0 * (np.arange(7) % 3)[:, None], "table", sparse=True),
        "k": Arg(2, "integer"),
        "labels": Arg(y, "labels", 0.2),
        "sample_weight": Arg(weights, "table", 0.2),
        "similarity": Arg(similarities, "choice", 0.4),
        "gamma": Arg(0.5, "bandwidth", 0.5),
        "standardize": Arg(False, "any"),
        "solver": Arg(("auto", "exact", "exchange", "greedy", "iht"), "choice", 0.7),
        "max_memory": Arg("100MB", "bytes", 0.2),
        **COMMON,
    }, judge_points)  # fmt: skip
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    yield Target("points of a matrix", lambda X, k, **o: fewer.points(X, k, similarity="precomputed", **o), {
        "X": Arg(K, "table"),
        "k": Arg(2, "integer"),
        "sample_weight": Arg(weights, "table", 0.2),
        **COMMON,
    })  # fmt: skip


def some_space(rng: Rng) -> Any:
    """One of each kind."""
    kinds = [
        fewer.Atoms(6),
        fewer.Lattice(3, 2),
        fewer.Lattice(2, (3, 2)),
        fewer.States(codes(rng)),
    ]
    return kinds[int(rng.integers(4))]


def in_space(method: str) -> Callable[..., Any]:
    """A call of a space's method, whatever the space."""
    return lambda space, x: getattr(space, method)(x)


def spaces(rng: Rng) -> Iterator[Target]:
    """Spaces: made, and asked."""
    space, q = some_space(rng), shares(rng, 8)
    yield Target("Atoms", fewer.Atoms, {"n": Arg(5, "integer")})
    yield Target("Lattice", fewer.Lattice, {"n": Arg(3, "integer"), "m": Arg((2, 3, 2), "sizes")})
    yield Target("States", fewer.States, {
        "rows": Arg(codes(rng), "table", sparse=True),
        "weights": Arg(1.0 + eighths(rng, 7), "table", 0.4),
        "m": Arg((4, 4, 4, 4), "sizes", 0.4),
    })  # fmt: skip
    for method in ("face", "unravel"):
        yield Target(
            method, in_space(method), {"space": Arg(space, "plain"), "x": Arg([0], "units")}
        )
    cube = fewer.Lattice(3, 3)
    yield Target(
        "ravel",
        in_space("ravel"),
        {"space": Arg(cube, "plain"), "x": Arg(np.eye(3, dtype=int), "codes")},
    )
    listed = fewer.States(np.eye(3, dtype=int))
    yield Target(
        "ravel",
        in_space("ravel"),
        {"space": Arg(listed, "plain"), "x": Arg(np.eye(3, dtype=int), "codes")},
    )
    yield Target("vector_to_dimensions", fewer.vector_to_dimensions, {"p": Arg(q, "table")})
    yield Target("dimensions_to_vector", fewer.dimensions_to_vector, {"q": Arg(q + 1.0, "table")})


def operators(A: Any) -> list[Any]:
    """Linear operators: good, without rmatvec, of a wrong shape, and ones that give nonsense."""
    return [
        aslinearoperator(A),
        LinearOperator(A.shape, matvec=lambda v: A @ v),
        LinearOperator(A.T.shape, matvec=lambda v: A.T @ v, rmatvec=lambda v: A @ v),
        LinearOperator(A.shape, matvec=lambda v: A @ v * np.nan, rmatvec=lambda v: A.T @ v),
        LinearOperator(A.shape, matvec=lambda v: "x", rmatvec=lambda v: A.T @ v, dtype=float),
        LinearOperator(
            A.shape, matvec=lambda v: (A @ v)[:2], rmatvec=lambda v: A.T @ v, dtype=float
        ),
        LinearOperator(
            A.shape, matvec=lambda v: A @ v + 1j, rmatvec=lambda v: A.T @ v, dtype=complex
        ),
        LinearOperator(
            (4, 0), matvec=lambda v: np.zeros(4), rmatvec=lambda v: np.zeros(0), dtype=float
        ),
    ]


def objectives(rng: Rng) -> Iterator[Target]:
    """Objectives, valued and differentiated at the uniform distribution."""
    space = some_space(rng)
    size = space.size
    q, A = shares(rng, size), eighths(rng, 3, size)
    gram = np.eye(size) + 0.125

    def used(make: Callable[..., Any]) -> Callable[..., Any]:
        def call(**options: Any) -> Any:
            F = make(**options)
            p = np.full(F.space.size, 1.0 / F.space.size)
            return F.value(p), F.gradient(p), F.smoothness

        return call

    place = {"space": Arg(space, "space")}
    yield Target("L2", used(fewer.L2), {**place, "q": Arg(q, "table")})
    yield Target(
        "KL", used(fewer.KL), {**place, "q": Arg(q, "table"), "floor": Arg(0.125, "number", 0.4)}
    )
    yield Target(
        "MMD", used(fewer.MMD), {**place, "gram": Arg(gram, "table"), "target": Arg(q, "table")}
    )
    yield Target("Moments", used(fewer.Moments), {
        **place, "A": Arg(A, "operator", sparse=True), "b": Arg(eighths(rng, 3), "table"),
    })  # fmt: skip
    yield Target("Functional", used(fewer.Functional), {
        **place,
        "value": Arg(lambda p: float(((p - q) ** 2).sum()), "callback"),
        "gradient": Arg(lambda p: 2.0 * (p - q), "callback"),
        "smoothness": Arg(2.0, "number", 0.4),
    })  # fmt: skip
    yield Target("RowsMMD.between", lambda **o: used(lambda **a: fewer.RowsMMD.between(**a))(**o), {
        "rows": Arg(eighths(rng, 5, 2), "table", sparse=True),
        "target": Arg(shares(rng, 5), "table"),
        "similarity": Arg(similarity_of("rbf", 0.5), "any"),
    })  # fmt: skip


def constraints(rng: Rng) -> Iterator[Target]:
    """Constraints, projected onto and asked."""
    space = some_space(rng)
    lattice = fewer.Lattice(3, 2)
    v = eighths(rng, space.size)

    def used(make: Callable[..., Any]) -> Callable[..., Any]:
        def call(v: Any, tol: Any, **options: Any) -> Any:
            C = make(**options)
            return C.project(v), C.contains(v, tol), C.support(v)

        return call

    asked = {"v": Arg(v, "table"), "tol": Arg(1e-9, "number")}
    place = {"space": Arg(space, "space")}
    cube = {
        "space": Arg(lattice, "space"),
        "k": Arg(2, "integer"),
        "v": Arg(eighths(rng, 8), "table"),
    }
    yield Target("Simplex", used(fewer.Simplex), {**place, **asked})
    yield Target("SparseSimplex", used(fewer.SparseSimplex), {
        **place, **asked,
        "k": Arg(3, "integer"),
        "min_weight": Arg(0.125, "number", 0.3),
        "max_weight": Arg(0.75, "number", 0.3),
        "include": Arg([0], "units", 0.3),
        "exclude": Arg([1], "units", 0.3),
        "groups": Arg(np.arange(space.size) % 3, "labels", 0.3),
        "max_per_group": Arg(2, "integer", 0.3),
    })  # fmt: skip
    yield Target("DimensionSparse", used(fewer.DimensionSparse), {
        **asked, **cube, "projection": Arg(("greedy", "exact"), "choice", 0.5), "incumbent": Arg(True, "any", 0.3),
    })  # fmt: skip
    yield Target("SparseStates", used(fewer.SparseStates), {**asked, **cube})


def pairs(rng: Rng) -> tuple[Any, Any]:
    """An objective and a constraint that may or may not go together."""
    space = some_space(rng)
    q, A = shares(rng, space.size), eighths(rng, 3, space.size)
    F = [
        fewer.L2(space, q),
        fewer.KL(space, (q + 0.125) / (1.0 + 0.125 * space.size)),
        fewer.Moments(space, A, eighths(rng, 3)),
        fewer.MMD(space, np.eye(space.size) + 0.125, q),
        fewer.Functional(
            space, lambda p: float(((p - q) ** 2).sum()), lambda p: 2.0 * (p - q), 2.0
        ),
    ][int(rng.integers(5))]
    C = [
        fewer.Simplex(space),
        fewer.SparseSimplex(space, 2),
        fewer.SparseSimplex(space, 2, max_weight=0.75),
    ]
    if not isinstance(space, fewer.Atoms):
        k = int(np.diff(space.indptr).min(initial=9)) if isinstance(space, fewer.States) else 1
        C += [fewer.DimensionSparse(space, max(k, 1)), fewer.SparseStates(space, max(k, 1))]
    return F, C[int(rng.integers(len(C)))]


def solvers(rng: Rng) -> Iterator[Target]:
    """Solvers and step rules."""
    F, C = pairs(rng)
    both = {"objective": Arg(F, "any"), "constraint": Arg(C, "any")}
    loop = {"time_limit": COMMON["time_limit"], "callback": COMMON["callback"]}
    bounded = {**loop, "max_iter": Arg(20, "count")}
    rules = (fewer.Constant, fewer.Doubling, fewer.Backtracking, fewer.Momentum)
    rule = rules[int(rng.integers(4))]
    start = np.zeros(C.space.size)
    start[0] = 1.0

    def stepped(mu: Any, tau: Any = None, **options: Any) -> Any:
        step = rule(mu) if tau is None else fewer.Momentum(mu, tau)
        return fewer.iht(step=step, **options)

    yield Target("greedy", fewer.greedy, {**both, **loop}, judge_solver)
    yield Target("exact", fewer.exact, {**both, **loop}, judge_solver)
    yield Target("exchange", fewer.exchange, {**both, **loop, "rng": COMMON["rng"]}, judge_solver)
    yield Target(
        "frank_wolfe",
        fewer.frank_wolfe,
        {**both, **bounded, "tol": Arg(0.125, "number", 0.3)},
        judge_solver,
    )
    yield Target("iht", fewer.iht, {
        **both, **bounded, "rng": COMMON["rng"], "tol": Arg(0.125, "number", 0.3), "step": Arg(None, "any", 0.2),
        "start": Arg(C.project(start), "table", 0.3),
    }, judge_solver)  # fmt: skip
    yield Target(f"iht, {rule.__name__}", stepped, {
        **both, **bounded, "mu": Arg(0.125, "number"), "tau": Arg(0.25, "number", 0.3),
    }, judge_solver)  # fmt: skip
    yield Target("minimize", fewer.minimize, {
        **both, **loop, "solver": Arg(("exact", "exchange", "frank_wolfe", "greedy", "iht"), "choice"),
    }, judge_solver)  # fmt: skip


def some_distribution(rng: Rng) -> Any:
    """A distribution on atoms, a lattice, or with mass on the rest of a face."""
    space = some_space(rng)
    if rng.random() < 0.5:
        return fewer.Distribution.of(space, shares(rng, space.size))
    return fewer.Distribution([[0, 0], [1, 2]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25)


def of_distribution(method: str) -> Callable[..., Any]:
    """A call of a distribution's method."""
    return lambda d, **options: getattr(d, method)(**options)


def distributions(rng: Rng) -> Iterator[Target]:
    """Distributions: made, asked, saved and loaded."""
    d = some_distribution(rng)
    known = {"d": Arg(d, "plain")}
    state = d.states[:1]
    yield Target("Distribution", fewer.Distribution, {
        "codes": Arg(np.array([[0, 0], [1, 2]]), "codes"),
        "weights": Arg(np.array([0.25, 0.5]), "table"),
        "dims": Arg(np.array([0, 2]), "codes"),
        "shape": Arg((2, 2, 3), "sizes"),
        "rest": Arg(0.25, "number"),
        "origin": Arg(np.array([0, 1, 0]), "codes", 0.4),
    })  # fmt: skip
    space = some_space(rng)
    made = {"space": Arg(space, "space"), "p": Arg(shares(rng, space.size), "table")}
    yield Target("Distribution.of", fewer.Distribution.of, made)
    yield Target("pmf", of_distribution("pmf"), {**known, "x": Arg(state, "codes")})
    yield Target(
        "sample",
        of_distribution("sample"),
        {**known, "size": Arg(5, "integer"), "rng": Arg(0, "seed")},
    )
    returned = ("x", [[1], [1, 2]], np.inf, np.nan, 1j, None, 10**400, np.ma.masked, odd.Hostile())
    value = returned[int(rng.integers(len(returned)))]
    f = np.sum if rng.random() < 0.5 else lambda x: value
    yield Target("expect", of_distribution("expect"), {**known, "f": Arg(f, "callback")})
    yield Target("marginal", of_distribution("marginal"), {**known, "dims": Arg([0], "units")})
    yield Target("save", saved, {**known, "path": Arg("d.npz", "path")})
    yield Target("load", loaded, {**known, "damage": Arg(int(rng.integers(2**31)), "plain")})


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder."""
    with TemporaryDirectory() as name:
        yield Path(name)


def saved(d: Any, path: Any) -> Any:
    """Save to a path in a temporary folder, and load again."""
    with folder() as home:
        there = home / path if isinstance(path, str) and path and "\0" not in path else path
        d.save(there)
        return fewer.Distribution.load(there)


def loaded(d: Any, damage: int) -> Any:
    """Load a saved file after some damage: bytes changed or cut, or fields of other types."""
    rng = np.random.default_rng(damage)
    with folder() as home:
        path = home / "d.npz"
        d.save(path)
        if rng.random() < 0.5:
            content = bytearray(path.read_bytes())
            for at in rng.integers(0, len(content), int(rng.integers(1, 4))):
                content[at] = rng.integers(256)
            path.write_bytes(
                content[: int(rng.integers(1, len(content) + 1))] if rng.random() < 0.3 else content
            )
            return fewer.Distribution.load(path)
        with np.load(path) as archive:
            fields = dict(archive)
        name = odd.pick(rng, fields)
        plain = fields[name].astype(float) if fields[name].dtype.kind != "U" else np.ones(2)
        kinds = [
            np.int8,
            np.int32,
            ">i8",
            np.uint64,
            np.float64,
            np.float32,
            ">f8",
            complex,
            object,
            str,
            "M8[D]",
        ]
        kind = kinds[int(rng.integers(len(kinds)))]
        changed = [
            plain,
            plain[..., None],
            plain.reshape(-1)[:1],
            np.concatenate([plain.reshape(-1)] * 2),
            -plain,
        ]
        fields[name] = changed[int(rng.integers(5))].astype(np.int64).astype(kind)
        np.savez(path, **fields)
        return fewer.Distribution.load(path)


GROUPS = {
    "jobs": (jobs, 0.4),
    "spaces": (spaces, 0.12),
    "objectives": (objectives, 0.1),
    "constraints": (constraints, 0.1),
    "solvers": (solvers, 0.14),
    "distributions": (distributions, 0.14),
}
