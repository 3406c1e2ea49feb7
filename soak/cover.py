"""The job dims against the referee: all sets of k columns, exact fractions of rows."""

import math
from itertools import combinations
from typing import Any

import numpy as np

import fewer

from .draws import Generator, container, one_of, weights
from .judge import Trial, as_reported, bounded, optimal
from .referee import ROUND, Wide, wide

DIMS = ("auto", "exact", "exchange", "greedy", "iht")


def dims_trial(rng: Generator) -> Trial:
    """Dims, or its estimator: both objectives, each solver, m from 2 to 4, baselines, weights."""
    N, n = int(one_of(rng, (1, 4, 12))), int(one_of(rng, (1, 3, 5)))
    k = int(rng.integers(1, n + 1))
    X = rng.integers(0, int(rng.integers(2, 5)), (N, n)) * (
        rng.random((N, n)) < rng.uniform(0.1, 0.9)
    )
    w = weights(rng, N)
    baseline: Any = one_of(rng, ("zero", "mode", "own"), (3, 2, 2))
    if baseline == "own":
        baseline = rng.integers(0, 3, n)
    form, given = container(rng, X, ("csr", "csc", "coo"))
    objective, solver = one_of(rng, ("kl", "l2")), one_of(rng, DIMS)
    options = {"objective": objective, "solver": solver, "baseline": baseline}
    truth = Cover(X, w, baseline, objective)
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    text = f"dims(X {X.tolist()} {form}, k={k}, sample_weight={w!r}, {shown})"
    if rng.random() < 0.15:
        call = lambda: fewer.FewerDims(k, random_state=0, **options).fit(given, None, w).result_
        text = text.replace("dims", "FewerDims", 1)
    else:
        call = lambda: fewer.dims(given, k, sample_weight=w, rng=0, **options)
    return Trial(
        text, call, arrays=[given, w, baseline], checks=[lambda result: truth.judged(result, k)]
    )


class Cover:
    """The distribution of some rows, and the two objectives over faces of columns."""

    def __init__(self, X: Any, w: Any, baseline: Any, objective: str) -> None:
        self.t = wide(np.ones(len(X)) if w is None else w)
        self.t = self.t / self.t.sum()
        self.X, self.objective = X[self.t > 0], objective
        self.t = self.t[self.t > 0]
        self.n = X.shape[1]
        self.origin = self._origin(baseline)
        self.shape = [int(max(self.X[:, j].max(), self.origin[j])) + 1 for j in range(self.n)]
        self.q: dict[tuple[int, ...], Any] = {}
        for row, mass in zip(self.X.tolist(), self.t, strict=True):
            self.q[tuple(row)] = self.q.get(tuple(row), Wide(0)) + mass

    def _origin(self, baseline: Any) -> list[int]:
        if isinstance(baseline, str) and baseline == "zero":
            return [0] * self.n
        if isinstance(baseline, str):
            return [self._mode(self.X[:, j]) for j in range(self.n)]
        return [int(code) for code in baseline]

    def _mode(self, column: Any) -> int:
        """The heaviest code; of equals (to rounding) the smallest."""
        masses = {int(code): self.t[column == code].sum() for code in column}
        return min(code for code, mass in masses.items() if mass >= max(masses.values()) - 1e-14)

    def inside(self, state: tuple[int, ...], dims: Any) -> bool:
        """Whether a state equals the baseline outside these columns."""
        return all(state[j] == self.origin[j] for j in range(self.n) if j not in dims)

    def face(self, dims: Any) -> Any:
        """The optimum over distributions on the face of these columns."""
        masses = wide([mass for state, mass in self.q.items() if self.inside(state, dims)])
        Q = masses.sum()
        if self.objective == "kl":
            return -np.log(min(Q, Wide(1))) if Q > 0 else Wide(np.inf)
        every = wide(list(self.q.values()))
        return (
            every @ every - masses @ masses + (1 - Q) ** 2 / math.prod(self.shape[j] for j in dims)
        )

    def best(self, k: int) -> Any:
        """The optimum over all sets of k columns."""
        return min(self.face(dims) for dims in combinations(range(self.n), k))

    def judged(self, result: Any, k: int) -> list[str]:
        """Faults of a result."""
        dims = result.support.tolist()
        if len(dims) > k or any(j not in range(self.n) for j in dims):
            return [f"columns {dims} are not at most {k} of {self.n}"]
        problems = self._distribution(result.distribution, dims)
        value, rounding = self.value(result.distribution), Wide(ROUND)
        if np.isinf(self.face(dims)) and np.isinf(result.value):
            return problems
        problems += as_reported(result, value, rounding)
        best = self.best(k)
        return problems + bounded(result, best, rounding) + optimal(result, value, best, rounding)

    def _distribution(self, result: Any, dims: list[int]) -> list[str]:
        """Whether it is a distribution on the face."""
        states = result.states.reshape(len(result), -1)
        problems = []
        if len({tuple(row) for row in states.tolist()}) < len(states):
            problems.append("a state is listed twice")
        if not all(self.inside(tuple(row), dims) for row in states.tolist()):
            problems.append(f"states {states.tolist()} lie outside the face of {dims}")
        if (
            result.weights.min() < 0
            or result.rest < 0
            or abs(result.weights.sum() + result.rest - 1) > 1e-9
        ):
            problems.append(f"weights {result.weights} and rest {result.rest} are no distribution")
        return problems

    def value(self, result: Any) -> Any:
        """F of a distribution with listed states and a rest spread over the others of its face."""
        states = [tuple(row) for row in result.states.reshape(len(result), -1).tolist()]
        p = dict(zip(states, wide(result.weights), strict=True))
        if self.objective == "kl":
            if result.rest > 0 or any(p[s] > 0 and s not in self.q for s in p):
                return Wide(np.inf)
            return sum(p[s] * np.log(p[s] / self.q[s]) for s in p if p[s] > 0)
        unlisted = math.prod(result.shape[j] for j in result.dims) - len(states)
        squares = sum((p.get(s, Wide(0)) - self.q.get(s, Wide(0))) ** 2 for s in {*p, *self.q})
        return squares + (wide(result.rest) ** 2 / unlisted if unlisted else 0)
