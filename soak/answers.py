"""Answers and proofs: tiny problems of all jobs and public solvers against the referee.

a case takes milliseconds.
"""

from typing import Any

import numpy as np
from scipy.sparse.linalg import aslinearoperator

import fewer

from .cover import dims_trial
from .draws import Generator, container, histogram, one_of, scale, some, table, weights
from .judge import Trial, tried
from .options import option_trial
from .pairs import pair_trial
from .referee import Discrepancy, Squares, similarities, sparse_region, wide

NAME = "answers"
SHARE = 3.0
SECONDS = 60.0
TERMS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
POINTS = ("auto", "exact", "exchange", "greedy", "iht")
SIMILARITIES = ("rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming")
BANDED = ("rbf", "laplace", "matern32", "matern52", "hamming")


def case(rng: Generator) -> tuple[str, list[str]]:
    """One tiny problem, solved and judged."""
    kinds = (terms_trial, bins_trial, points_trial, dims_trial, pair_trial, option_trial)
    return tried(one_of(rng, kinds, (3, 2, 4, 2, 4, 5))(rng), rng)


def spelled(name: str, *things: str, **options: Any) -> str:
    """A call as a reader would write it."""
    return (
        f"{name}({', '.join([*things, *(f'{key}={value!r}' for key, value in options.items())])})"
    )


def bounds(rng: Generator, n: int, k: int) -> dict[str, Any]:
    """Options of the k-sparse simplex: none, or any mixture of bounds, include, exclude and groups."""
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        return options
    if rng.random() < 0.5:
        options["min_weight"] = float(one_of(rng, (0.05, 0.2, 1.0 / k)))
    if rng.random() < 0.5:
        options["max_weight"] = float(one_of(rng, (0.9, 0.6, 1.0 / k)))
    if rng.random() < 0.4:
        options["include"] = some(rng, n, 2)
    if rng.random() < 0.4:
        options["exclude"] = some(rng, n, 2)
    if rng.random() < 0.3:
        options["groups"] = rng.integers(0, 3, n).tolist()
        options["max_per_group"] = int(rng.integers(1, 3))
    return options


def region_of(n: int, k: int, options: dict[str, Any]) -> Any:
    """The referee's own reading of these options."""
    names = {"min_weight": "low", "max_weight": "high", "max_per_group": "per_group"}
    return sparse_region(n, k, **{names.get(key, key): value for key, value in options.items()})


def stopping(rng: Generator, options: dict[str, Any]) -> None:
    """Now and then a callback that says stop, or a short time limit."""
    if rng.random() < 0.1:
        options["callback"] = Stop(int(rng.integers(1, 4)))
    if rng.random() < 0.04:
        options["time_limit"] = 0.05


class Stop:
    """A callback that stops at the n-th iterate that it sees."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, progress: Any) -> bool:
        """Whether to stop."""
        return bool(progress.n_iter >= self.after)

    def __repr__(self) -> str:
        return f"Stop({self.after})"


def terms_trial(rng: Generator) -> Trial:
    """Terms, or its estimator, with any of its options."""
    r, n = int(one_of(rng, (1, 3, 6))), int(one_of(rng, (1, 4, 6)))
    k = int(rng.integers(1, min(n, 4) + 1))
    kind, A = table(rng, r, n)
    single = rng.random() < 0.2
    size = scale(rng, narrow=single)
    b = A @ rng.dirichlet(np.ones(n)) + float(one_of(rng, (0.0, 0.1, 1.0))) * rng.standard_normal(r)
    other = 2.0 ** int(rng.integers(-60, 60)) if rng.random() < 0.1 else 1.0
    A = (A * size).astype(np.float32 if single else np.float64)
    b = b * size * other
    form, given = container(rng, A, ("csr", "csc", "coo"))
    options = bounds(rng, n, k)
    region = region_of(n, k, options)
    w = weights(rng, r)
    if w is not None:
        options["sample_weight"] = w
    root = np.sqrt(wide(np.ones(r) if w is None else w))
    problem = Squares(wide(A) * root[:, None], wide(b) * root)
    solver = one_of(rng, TERMS)
    arrays = [given, b, w, options.get("include"), options.get("groups")]
    text = f"A ({r}, {n}) {kind} {form} {A.dtype} * {size:.3g}, b * {other:.3g}"
    if rng.random() < 0.15:
        fit = options.pop("sample_weight", None)
        text = spelled("FewerTerms", text, k=k, solver=solver, **options)
        call = lambda: (
            fewer.FewerTerms(k, solver=solver, random_state=0, **options).fit(given, b, fit).result_
        )
        return Trial(text, call, problem, region, arrays, "must" if region.empty else "never")
    if w is None and rng.random() < 0.1:
        given, text = aslinearoperator(A.astype(np.float64)), text.replace(form, "operator")
    elif rng.random() < 0.15:
        options["ridge"] = float(
            np.clip(wide(np.abs(A).max()) ** 2 * one_of(rng, (1e-3, 0.1, 10.0)), 0.0, 1e300)
        )
        root = np.sqrt(wide(options["ridge"])) * wide(np.eye(n))  # the same as n rows more
        problem = Squares(
            np.concatenate([problem.A, root]), np.concatenate([problem.b, wide(np.zeros(n))])
        )
    stopping(rng, options)
    call = lambda: fewer.terms(given, b, k, solver=solver, rng=0, **options)
    text = spelled("terms", text, k=k, solver=solver, **options)
    refuse = "must" if region.empty else "never"
    return Trial(text, call, problem, region, arrays, refuse, seeded="time_limit" not in options)


def bins_trial(rng: Generator) -> Trial:
    """Bins: each thing that may be preserved, each solver."""
    n = int(one_of(rng, (1, 5, 8)))
    k = int(rng.integers(1, min(n, 4) + 1))
    kind, p = histogram(rng, n)
    size = scale(rng)
    p = p * size if size != 1.0 else p
    t = wide(p) / wide(p).sum()
    preserve: Any = one_of(rng, ("cdf", "entries", "matrix"), (3, 2, 2))
    options: dict[str, Any] = {"solver": one_of(rng, TERMS)}
    A, what = (np.tril(np.ones((n, n))) if preserve == "cdf" else np.eye(n)), preserve
    arrays = [p]
    if preserve == "matrix":
        word, A = table(rng, int(one_of(rng, (1, 3))), n)
        A = A * scale(rng)
        form, preserve = container(rng, A, ("csr", "csc"))
        if rng.random() < 0.2:
            form, preserve = "operator", aslinearoperator(np.array(A))
        what = f"{word} {form} * {np.abs(A).max():.3g}"
        if form != "operator":
            arrays.append(preserve)
        if rng.random() < 0.15 and len(A) > 1 and form != "operator":
            options["validation"] = 0.4
    stopping(rng, options)
    problem = Squares(A, wide(A) @ t)
    call = lambda: fewer.bins(counts=p, k=k, preserve=preserve, rng=0, **options)
    text = spelled("bins", f"p ({n},) {kind} * {size:.3g}", k=k, preserve=what, **options)
    return Trial(
        text, call, problem, sparse_region(n, k), arrays, seeded="time_limit" not in options
    )


def rows(rng: Generator) -> tuple[str, Any]:
    """Rows for points: of one kind, or two clusters far apart."""
    N, d = int(one_of(rng, (1, 2, 5, 7, 9))), int(one_of(rng, (1, 3)))
    if rng.random() < 0.15:
        X = rng.uniform(0, 2.5, (N, d))
        X[rng.random(N) < 0.5] += 10.0 ** rng.integers(3, 9)
        return "far apart", X
    return table(rng, N, d)


def points_trial(rng: Generator) -> Trial:
    """Points, or its estimator: each similarity, each solver, weights and labels."""
    name = one_of(rng, (*SIMILARITIES, "precomputed", "function"), (6, 2, 2, 2, 2, 3, 1, 2, 1))
    kind, X = rows(rng)
    N = len(X)
    single = rng.random() < 0.25
    size = 1.0 if name in ("hamming", "function") else scale(rng, narrow=True)
    X = (X * size).astype(np.float32 if single else np.float64)
    if name == "hamming":
        X = np.abs(X % 3).astype(int).astype(X.dtype)
    banded = name in BANDED
    gamma = float(one_of(rng, (0.1, 1.0, 3.0))) * width(name, size)
    y = rng.integers(0, 2, N) if rng.random() < 0.2 else None
    w = weights(rng, N)
    options: dict[str, Any] = {"similarity": name, "solver": one_of(rng, POINTS)}
    if banded:
        options["gamma"] = gamma if rng.random() < 0.7 else one_of(rng, ("median", "scale"))
    K = gram_of(name, X, gamma)
    form = "C"
    if name == "precomputed":
        given = np.array(K, np.float64) + float(one_of(rng, (0.0, 10.0 ** rng.uniform(0, 8))))
        K = wide(given)
    else:
        sparse = name in ("rbf", "matern32", "matern52", "cosine", "linear")
        form, given = container(rng, X, ("csr", "csc", "coo") if sparse else ())
    if name == "function":
        options["similarity"] = squared_product
    text = f"X {X.shape} {kind} {form} {X.dtype} * {size:.3g}"
    setting = Points(text, given, X, K, y, w, options)
    return setting.trial(rng)


def width(name: str, size: float) -> float:
    """The bandwidth of rows of size one, for rows of this size."""
    return size**-2 if name in ("rbf", "precomputed") else 1.0 / size


def squared_product(A: Any, B: Any) -> Any:
    """A user's own similarity: (1 + <x, y>)²."""
    return (1.0 + np.asarray(A, np.float64) @ np.asarray(B, np.float64).T) ** 2


def gram_of(name: str, X: Any, gamma: float) -> Any:
    """The similarities of rows, in long double."""
    if name == "function":
        return (1 + wide(X) @ wide(X).T) ** 2
    return similarities(X, "rbf" if name == "precomputed" else name, gamma)


class Points:
    """A problem of points, whose bandwidth may be known only after the call."""

    def __init__(
        self, text: str, given: Any, X: Any, K: Any, y: Any, w: Any, options: dict[str, Any]
    ) -> None:
        self.text, self.given, self.X, self.K, self.y, self.w, self.options = (
            text,
            given,
            X,
            K,
            y,
            w,
            options,
        )
        self.gamma: float | None = None

    def trial(self, rng: Generator) -> Trial:
        """The trial of a drawn k."""
        kept = self.distinct()
        k = int(rng.integers(1, min(len(kept), 5) + 1))
        named = isinstance(self.options.get("gamma"), str)
        options = self.options
        text = spelled("points", self.text, k=k, labels=self.y, sample_weight=self.w, **options)
        if not named:
            stopping(rng, options)
            call = lambda: fewer.points(
                self.given, k, labels=self.y, sample_weight=self.w, rng=0, **options
            )
            trial = Trial(text, call, seeded="time_limit" not in options)
        else:
            trial = Trial(text.replace("points", "FewerPoints"), lambda: self.fitted(k))
        trial.arrays = [self.given, self.y, self.w]
        trial.checks.append(lambda result: self.judged(result, kept, k))
        return trial

    def fitted(self, k: int) -> Any:
        """The estimator's result; its bandwidth is kept for the referee."""
        options = {"by_label": self.y is not None, "random_state": 0, **self.options}
        model = fewer.FewerPoints(k, **options).fit(self.given, self.y, self.w)
        self.gamma = model.gamma_
        return model.result_

    def distinct(self) -> list[int]:
        """The first of each set of equal rows with weight; precomputed ones are all different."""
        N = len(self.X)
        seen: dict[Any, int] = {}
        for i in range(N):
            if self.w is None or self.w[i] > 0:
                label = None if self.y is None else int(self.y[i])
                same = (
                    i
                    if self.options["similarity"] == "precomputed"
                    else tuple((self.X[i] + 0.0).tolist())
                )
                seen.setdefault((same, label), i)
        return sorted(seen.values())

    def judged(self, result: Any, kept: list[int], k: int) -> list[str]:
        """The checks of the referee, with the bandwidth that was used."""
        from .judge import judged

        N = len(self.X)
        K = (
            self.K
            if self.gamma is None
            else gram_of(self.options["similarity"], self.X, self.gamma)
        )
        if self.y is not None:
            K = K * (self.y[:, None] == self.y[None])
        t = wide(np.ones(N) if self.w is None else self.w)
        others = [i for i in range(N) if i not in kept]
        region = sparse_region(N, k, exclude=others)
        return judged(Trial("", lambda: result, Discrepancy(K, t / t.sum()), region), result)
