"""Every public option of every job on every road: the data, a value that changes the answer, and the roads.

`python tests/roads.py` writes the table into docs/reliability.md.
"""

import inspect
import json
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import fewer
from commands import inside

JOBS = ("points", "bins", "terms", "dims")
ESTIMATORS = {
    "points": fewer.FewerPoints,
    "bins": fewer.FewerBins,
    "terms": fewer.FewerTerms,
    "dims": fewer.FewerDims,
}
DATA_PARAMETERS = {"X", "y", "values", "kwargs"}
PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
SCALING = PAGE.with_name("scaling.md")


# What is said of rows and columns, which each road spells in its own way


@dataclass(frozen=True)
class Rows:
    """An entry for each row: an array, or the name of a column."""

    name: str


@dataclass(frozen=True)
class Names:
    """Columns by their numbers, or by their names."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class PerColumn:
    """An entry for each column: an array, a mapping by name, or a file."""

    entries: tuple[Any, ...]


@dataclass(frozen=True)
class Other:
    """Another table with the same columns, or a column of it."""

    name: str | None = None


@dataclass(frozen=True)
class Conditions:
    """G q <= h: arrays, or a file."""

    rows: tuple[tuple[float, ...], ...]
    limits: tuple[float, ...]


class Call(dict):
    """Options by name, and the data they are about."""

    def __init__(self, job: str, data: str, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.job, self.data = job, data

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the table that are no features."""
        named = [value.name for value in self.values() if isinstance(value, Rows)]
        own = ["y"] if self.job == "terms" else []
        return tuple(dict.fromkeys([*named, *own]))


@dataclass(frozen=True)
class Case:
    """A value of an option, what else is said, and what of the answer it changes."""

    value: Any
    data: str = ""
    table: bool = False
    also: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    view: Callable[["Answer"], Any] | None = None


# The data: few distinct rows, each many times, so that a small memory forces blocks


@cache
def data_of(job: str, kind: str) -> tuple[pd.DataFrame, list[str]]:
    """A table, and which of its columns are features."""
    return {"points": cloud, "bins": numbers, "terms": tracked, "dims": baskets}[job](kind)


DISTINCT = 36
"""Distinct points, which come again and again in their order."""


def cloud(kind: str) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(3)
    centres = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]], [18, 10, 8], axis=0)
    X = np.round(centres + rng.normal(size=(36, 2)), 2)
    frame = pd.DataFrame(X, columns=["c0", "c1"])
    frame["w"] = np.r_[np.ones(20), np.full(16, 9.0)]
    frame["l"] = np.where(np.arange(36) % 5 < 2, "p", "q")
    frame["g"] = np.repeat(["first", "middle", "last"], [12, 18, 6])
    frame["u"] = [f"unit{i}" for i in np.arange(36) % 9]
    frame = frame.iloc[np.arange(36 * 60) % 36].reset_index(drop=True)
    if kind == "gaps":
        frame.loc[np.arange(len(frame)) % 36 < 4, "c1"] = np.nan
    return frame, ["c0", "c1"]


def numbers(kind: str) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(4)
    if kind == "counts":
        return pd.DataFrame({"v": [4.0, 0.0, 1.0, 5.0, 2.0, 2.0, 0.0, 7.0]}), ["v"]
    v = np.round(rng.lognormal(0.0, 1.0, 150), 2)
    frame = pd.DataFrame({"v": np.tile(v, 24)})
    frame["w"] = np.where(frame["v"] > 2, 5.0, 1.0)
    if kind == "gaps":
        frame.loc[::3, "v"] = np.nan
    return frame, ["v"]


def tracked(kind: str) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(5)
    rows, names = 300, [f"c{i}" for i in range(6)]
    X = rng.normal(size=(rows, 6)) + rng.normal(size=(rows, 1))
    y = X @ [0.35, 0.3, 0.2, 0.15, 0.0, 0.0] + 0.4 * rng.normal(size=rows)
    if kind in ("prices", "shuffled"):
        X = np.exp(np.cumsum(0.01 * X, axis=0))
        y = np.exp(np.cumsum(0.01 * (y + 0.5), axis=0))
    frame = pd.DataFrame(X, columns=names)
    frame["y"], frame["w"] = y, np.where(np.arange(rows) < 250, 0.0, 1.0)
    if kind in ("prices", "shuffled"):
        frame["d"] = np.datetime64("2020-01-01") + np.arange(rows)
    if kind == "shuffled":
        frame = frame.iloc[rng.permutation(rows)].reset_index(drop=True)
        frame["e"] = np.datetime64("2021-01-01") + np.arange(
            rows
        )  # in order, so that nothing is sorted by itself
        names = [*names, "e"]
    if kind == "gaps":
        frame.loc[:40, "c0"] = np.nan
    return frame, names


def baskets(kind: str) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(79)
    names = [f"c{i}" for i in range(6)]
    X = (rng.random((60, 6)) < [0.7, 0.5, 0.4, 0.35, 0.3, 0.25]).astype(np.int64)
    if kind == "long":
        order, item = np.nonzero(np.tile(X, (20, 1)))
        frame = pd.DataFrame({"o": order, "i": np.array(list("abcdef"))[item]})
        frame["w"] = np.where(order % 60 < 30, 1.0, 9.0)
        return frame, ["o", "i"]
    frame = pd.DataFrame(np.tile(X, (20, 1)), columns=names)
    frame["w"] = np.where(X[np.arange(1200) % 60, 0] > 0, 1.0, 9.0)
    if kind == "gaps":
        frame = frame.astype(float)
        frame.loc[np.arange(1200) % 60 < 9, "c0"] = np.nan
    return frame, names


def other_table() -> pd.DataFrame:
    """Rows for which points are to stand."""
    frame = pd.DataFrame({"c0": np.linspace(2.0, 4.0, 8), "c1": np.linspace(-1.0, 1.0, 8)})
    return frame.assign(m=[1.0] * 4 + [9.0] * 4)


LITTLE = {"points": "60KB", "bins": "50KB", "terms": "30KB", "dims": "100KB"}
"""Memory into half of which the data do not fit."""


# A value for each option

BASE = {
    "points": {"k": 3, "gamma": 1.0, "standardize": False, "solver": "greedy", "rng": 0},
    "bins": {"k": 3, "rng": 0},
    "terms": {"k": 3, "rng": 0},
    "dims": {"k": 2, "rng": 0},
}


def status(answer: "Answer") -> Any:
    return answer.status


def value(answer: "Answer") -> Any:
    return answer.value


def seed(answer: "Answer") -> Any:
    return answer.seed


def stop(progress: Any) -> bool:
    return True


def of_all(data: str = "") -> dict[str, list[Case]]:
    """Options that all jobs have."""
    return {
        "max_memory": [Case("plenty", data)],
        "time_limit": [Case(1e-9, data, view=status)],
        "rng": [Case(5, data, view=seed)],
        "callback": [Case(stop, data, view=status)],
        "progress": [Case("perhaps", data)],
    }


GRID = {"grid": "equal", "n_bins": 9}
MATRIX = np.random.default_rng(0).normal(size=(12, 9))
GROUPS = PerColumn(("s", "s", "s", "t", "t", "t"))
CASES: dict[str, dict[str, list[Case]]] = {
    "points": (
        of_all()
        | {
            "k": [Case(5)],
            "labels": [Case(Rows("l"))],
            "sample_weight": [Case(Rows("w"))],
            "target": [Case(Other())],
            "target_weight": [Case(Other("m"), also={"target": Other()})],
            "columns": [Case({"c1": "ignore"}, table=True)],
            "missing": [Case("drop", "gaps"), Case("impute", "gaps")],
            "move": [Case(True), Case("free")],
            "include": [Case([7])],
            "exclude": [Case([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])],
            "units": [Case(Rows("u"))],
            "groups": [Case(Rows("g"), also={"max_per_group": 1})],
            "min_per_group": [Case({"last": 1}, also={"groups": Rows("g"), "max_per_group": 3})],
            "max_per_group": [
                Case({"middle": 1}, also={"groups": Rows("g"), "min_per_group": {"first": 1}})
            ],
            "min_weight": [Case(0.32)],
            "max_weight": [Case(0.36, also={"solver": "exchange"})],
            "equal_weights": [Case(True, also={"solver": "exchange"})],
            "similarity": [Case("matern32")],
            "gamma": [Case("median"), Case(0.01)],
            "standardize": [Case(True)],
            "solver": [Case("exchange", also={"k": 4})],
        }
    ),
    "bins": (
        of_all()
        | {
            "k": [Case(4)],
            "counts": [Case(Rows("v"), "counts")],
            "grid": [Case("equal"), Case("equal", also={"n_bins": 9})],
            "n_bins": [Case(5, also={"grid": "equal"})],
            "sample_weight": [Case(Rows("w"))],
            "missing": [Case("drop", "gaps")],
            "edges": [
                Case(
                    (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 17.0, 40.0, 41.0),
                    "counts",
                    also={"counts": Rows("v")},
                )
            ],
            "positions": [
                Case(
                    (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 17.0, 40.0),
                    "counts",
                    also={"counts": Rows("v")},
                )
            ],
            "preserve": [Case("entries", also=GRID)],
            "contiguous": [Case(True, also=GRID)],
            "validation": [Case(0.3, also={**GRID, "preserve": MATRIX, "solver": "iht"})],
            "ridge": [Case(20.0, also={**GRID, "preserve": MATRIX})],
            "solver": [Case("iht")],
        }
    ),
    "terms": (
        of_all()
        | {
            "k": [Case(2)],
            "min_weight": [Case(0.32)],
            "max_weight": [Case(0.35)],
            "include": [Case(Names((5,)), also={"min_weight": 0.1})],
            "exclude": [Case(Names((0,)))],
            "groups": [Case(GROUPS, also={"max_per_group": 1, "k": 2})],
            "max_per_group": [Case(1, also={"groups": GROUPS})],
            "min_per_group": [Case({"t": 2}, also={"groups": GROUPS, "min_weight": 0.1})],
            "max_group_weight": [Case({"s": 0.4}, also={"groups": GROUPS})],
            "min_group_weight": [Case({"t": 0.6}, also={"groups": GROUPS})],
            "previous": [
                Case(PerColumn((0.0, 0.0, 0.0, 0.0, 0.5, 0.5)), also={"max_turnover": 1.2})
            ],
            "max_turnover": [
                Case(0.9, also={"previous": PerColumn((0.0, 0.0, 0.0, 0.0, 0.5, 0.5))})
            ],
            "constraints": [Case(Conditions(((1.0, 0.0, 0.0, 0.0, 0.0, 0.0),), (0.1,)))],
            "loss": [Case("absolute"), Case("downside")],
            "ridge": [Case(50.0)],
            "sample_weight": [Case(Rows("w"))],
            "missing": [Case("drop", "gaps"), Case("impute", "gaps")],
            "returns": [Case("simple", "prices")],
            "date": [Case(Rows("d"), "shuffled", table=True, also={"returns": "simple"})],
            "solver": [Case("iht", view=lambda answer: answer.status)],
        }
    ),
    "dims": (
        of_all()
        | {
            "k": [Case(3)],
            "units": [Case(PerColumn(("s", "t", "s", "t", "u", "u")))],
            "costs": [
                Case(
                    PerColumn((5.0, 4.0, 1.0, 1.0, 1.0, 1.0)), without=("k",), also={"budget": 4.0}
                )
            ],
            "budget": [
                Case(2.0, without=("k",), also={"costs": PerColumn((5.0, 4.0, 1.0, 1.0, 1.0, 1.0))})
            ],
            "objective": [Case("l2", view=value)],
            "sample_weight": [
                Case(Rows("w")),
                Case(Rows("w"), "long", table=True, also={"order": "o", "item": "i"}),
            ],
            "baseline": [Case(PerColumn((1, 1, 1, 0, 0, 0))), Case("mode")],
            "include": [Case(Names((5,)))],
            "exclude": [Case(Names((0,)))],
            "missing": [
                Case("drop", "gaps", table=True, view=value),
                Case("impute", "gaps", table=True, view=value),
            ],
            "columns": [Case({"c0": "ignore"}, table=True)],
            "order": [Case("o", "long", table=True, also={"item": "i"})],
            "item": [Case("i", "long", table=True, also={"order": "o"})],
            "solver": [Case("greedy", also={"k": 3}), Case("iht", also={"k": 3}, view=status)],
        }
    ),
}


def options_of(job: str) -> list[str]:
    """Public options, from the signature."""
    return [
        name
        for name in inspect.signature(getattr(fewer, job)).parameters
        if name not in DATA_PARAMETERS
    ]


def calls(job: str, option: str, case: Case) -> tuple[Call, Call]:
    """Without the option, and with it."""
    base = {
        name: value for name, value in BASE[job].items() if name not in case.without
    } | case.also
    return Call(job, case.data, base), Call(job, case.data, {**base, option: case.value})


# Answers


@dataclass(frozen=True)
class Answer:
    """What roads agree on."""

    indices: tuple[int, ...]
    weights: tuple[float, ...]
    value: float
    status: str
    seed: Any
    note: str

    @classmethod
    def of(cls, result: Any) -> "Answer":
        weights = () if result.weights is None else tuple(np.asarray(result.weights).tolist())
        indices = tuple(int(i) for i in result.indices)
        return cls(
            indices, weights, result.value, result.status.name.lower(), result.seed, result.note
        )

    @classmethod
    def of_json(cls, text: str) -> "Answer":
        summary = json.loads(text)
        (answer,) = summary["answers"]
        weights = dict(zip(answer["kept"]["index"], answer["kept"].get("weight", []), strict=False))
        indices = tuple(answer["indices"])
        weights = tuple(weights[i] for i in indices) if weights else ()
        return cls(
            indices,
            weights,
            answer["value"],
            answer["status"],
            summary["seed"],
            answer["note"] or "",
        )


@dataclass(frozen=True)
class Refusal:
    """A call that is refused, and what it says; `absent` where the road has no such option."""

    says: str
    absent: bool = False


def same(one: Answer, two: Answer, view: Callable[[Answer], Any] | None) -> bool:
    """Whether two answers are the same, to rounding."""
    if view is not None:
        a, b = view(one), view(two)
        return bool(np.isclose(a, b, 1e-9, 1e-12)) if isinstance(a, float) else a == b
    return one.indices == two.indices and np.allclose(one.weights, two.weights, 0.0, 1e-9)


# Containers: what a call hands in, and how what is said of rows and columns is spelled there


@dataclass(frozen=True)
class Container:
    """Data as users hand them in: tables have names; in `little` memory they come in blocks."""

    make: Callable[[Call], Any]
    table: bool = False
    little: bool = False
    frame: Callable[[pd.DataFrame], Any] = pl.from_pandas

    def data(self, call: Call) -> Any:
        return self.make(call)

    def beside(self, call: Call, name: str) -> Any:
        """An entry for each row; beside a column of values nothing is named."""
        return name if self.table and call.job != "bins" else column(call, name)

    def spelled(self, call: Call, value: Any) -> Any:
        names = data_of(call.job, call.data)[1]
        if isinstance(value, Rows):
            return self.beside(call, value.name)
        if isinstance(value, Names):
            return [names[i] for i in value.numbers] if self.table else list(value.numbers)
        if isinstance(value, PerColumn):
            return (
                dict(zip(names, value.entries, strict=True)) if self.table else list(value.entries)
            )
        if isinstance(value, Other):
            found = other_table()
            if value.name is not None:
                return found[value.name].to_numpy()
            return self.frame(found[["c0", "c1"]]) if self.table else found[["c0", "c1"]].to_numpy()
        if isinstance(value, Conditions):
            G = np.array(value.rows)
            return pd.DataFrame(G, columns=names) if self.table else G, np.array(value.limits)
        return value

    def options(self, call: Call) -> dict[str, Any]:
        return {name: self.spelled(call, value) for name, value in call.items()}


def matrix(call: Call) -> Any:
    frame, names = data_of(call.job, call.data)
    return frame["v"].to_numpy() if call.job == "bins" else frame[names].to_numpy()


def table(call: Call) -> pd.DataFrame:
    frame, names = data_of(call.job, call.data)
    apart = () if call.job == "bins" else call.used
    return frame[[*names, *(name for name in apart if name not in names)]]


def column(call: Call, name: str) -> Any:
    return data_of(call.job, call.data)[0][name].to_numpy()


def arrays(make: Callable[[Any], Any]) -> Container:
    return Container(lambda call: make(matrix(call)))


@dataclass(frozen=True)
class Frames(Container):
    """Eager tables; of one column a Series, with arrays beside it."""

    def data(self, call: Call) -> Any:
        found = self.frame(table(call))
        return found["v"] if call.job == "bins" else found


@dataclass(frozen=True)
class DaskData(Container):
    """Dask collections, with Dask arrays beside them."""

    def beside(self, call: Call, name: str) -> Any:
        found = super().beside(call, name)
        return found if isinstance(found, str) else in_chunks(found)


def in_chunks(x: Any) -> Any:
    return dask.array.from_array(x, chunks=(500, *x.shape[1:]))


def in_parts(make: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """A callable that gives an iterator of blocks."""

    def blocks(call: Call) -> Any:
        whole = make(call)
        return lambda: (whole[i : i + 128] for i in range(0, len(whole), 128))

    return blocks


FOLDER = tempfile.TemporaryDirectory(prefix="fewer-roads-")


@cache
def files(job: str, data: str, used: tuple[str, ...], ending: str, parts: int = 2) -> str:
    """A pattern of files that hold the data."""
    frame = pl.from_pandas(table(Call(job, data, {name: Rows(name) for name in used})))
    stem = Path(FOLDER.name) / "-".join([job, data, *used, ending, str(parts)])
    stem.mkdir()
    size = -(-len(frame) // parts)
    for i in range(parts):
        part, file = frame[i * size : (i + 1) * size], stem / f"{i}.{ending}"
        part.write_csv(file) if ending == "csv" else part.write_parquet(file)
    return str(stem / f"*.{ending}")


NUMPY = arrays(np.ascontiguousarray)
PANDAS = Frames(table, table=True, frame=lambda frame: frame)
IN_MEMORY: dict[str, Container] = {
    "NumPy": NUMPY,
    "Fortran order": arrays(
        lambda X: np.asfortranarray(X) if X.ndim == 2 else np.repeat(X, 2)[::2]
    ),
    "sparse": arrays(sp.csr_array),
    "pandas": PANDAS,
    "polars": Frames(table, table=True),
    "pyarrow": Frames(
        table, table=True, frame=lambda frame: pa.Table.from_pandas(frame, preserve_index=False)
    ),
}
IN_BLOCKS: dict[str, Container] = {
    "callable": Container(in_parts(matrix), little=True),
    "callable of tables": Container(
        in_parts(lambda call: pl.from_pandas(table(call))), table=True, little=True
    ),
    "Dask array": DaskData(lambda call: in_chunks(matrix(call)), little=True),
    "Dask frame": DaskData(
        lambda call: dask.dataframe.from_pandas(table(call), npartitions=3, sort=False),
        table=True,
        little=True,
        frame=lambda frame: frame,
    ),
    "csv": Container(
        lambda call: files(call.job, call.data, call.used, "csv"), table=True, little=True
    ),
    "parquet": Container(
        lambda call: files(call.job, call.data, call.used, "parquet"), table=True, little=True
    ),
}


# Roads: each takes a call and a container


def function(call: Call, given: Container) -> Any:
    options = given.options(call)
    if given.little:
        options.setdefault("max_memory", LITTLE[call.job])
    job = getattr(fewer, call.job)
    if call.job == "terms":
        return job(given.data(call), given.beside(call, "y"), **options)
    if call.job == "bins":
        return job(**options) if "counts" in call else job(given.data(call), **options)
    return job(given.data(call), **options)


RENAMED = {"rng": "random_state", "progress": "verbose"}


def estimator_of(call: Call, given: Container) -> tuple[Any, dict[str, Any]]:
    """An estimator and what its `fit` is given."""
    options, make = given.options(call), ESTIMATORS[call.job]
    if given.little:
        options.setdefault("max_memory", LITTLE[call.job])
    parameters, fitted = {}, {}
    of_fit = inspect.signature(make.fit).parameters
    if call.job == "points" and "labels" in options:
        parameters["by_label"], fitted["y"] = True, options.pop("labels")
    for name, value in options.items():
        (fitted if name in of_fit else parameters)[RENAMED.get(name, name)] = value
    if call.job == "terms":
        fitted["y"] = given.beside(call, "y")
    return make(**parameters), fitted


def estimator(call: Call, given: Container) -> Any:
    model, fitted = estimator_of(call, given)
    return model.fit(given.data(call), **fitted).result_


def in_pipeline(call: Call, given: Container) -> Any:
    model, fitted = estimator_of(call, given)
    y = fitted.pop("y", None)
    pipe = make_pipeline(FunctionTransformer(), model)
    step = pipe.steps[-1][0]
    return pipe.fit(
        given.data(call), y, **{f"{step}__{name}": value for name, value in fitted.items()}
    )[-1].result_


def cloned(call: Call, given: Container) -> Any:
    model, fitted = estimator_of(call, given)
    return clone(model).fit(given.data(call), **fitted).result_


def pickled(call: Call, given: Container) -> Any:
    model, fitted = estimator_of(call, given)
    again = pickle.loads(pickle.dumps(model)).fit(given.data(call), **fitted)
    return pickle.loads(pickle.dumps(again)).result_


def partial_fit(call: Call, given: Container) -> Any:
    """The same rows twice: what the first call decides is what all rows say."""
    model, fitted = estimator_of(call, given)
    accepted = inspect.signature(model.partial_fit).parameters
    for name in fitted:
        if name not in accepted:
            raise TypeError(f"partial_fit() got an unexpected keyword argument {name!r}")
    X = given.data(call)
    return model.partial_fit(X, **fitted).partial_fit(X, **fitted).result_


OF_BLOCKS = {
    "points": {
        "labels",
        "sample_weight",
        "columns",
        "missing",
        "similarity",
        "gamma",
        "standardize",
        "rng",
        "max_memory",
    },
    "bins": {"sample_weight", "missing"},
    "terms": {"y", "sample_weight", "missing"},
    "dims": {"sample_weight", "columns", "missing", "max_memory"},
}
"""Options of `summarize`; all others are asked of `solve`."""


def summaries(call: Call, given: Container) -> Any:
    """Three blocks, summarised and merged; those of labels and rows beside them are cut alike."""
    options = given.options(call)
    if call.job == "terms":
        options["y"] = given.beside(call, "y")
    own = {name: value for name, value in options.items() if name in OF_BLOCKS[call.job]}
    rest = {name: value for name, value in options.items() if name not in own or name == "rng"}
    X = given.data(call)
    size = -(-len(X) // 3)

    def cut(value: Any, i: int) -> Any:
        return (
            value[i : i + size] if isinstance(value, np.ndarray) and len(value) == len(X) else value
        )

    def merged(plan: Any = None) -> Any:
        parts = [
            fewer.summarize(
                X[i : i + size],
                call.job,
                plan,
                **{name: cut(value, i) for name, value in own.items()},
            )
            for i in range(0, len(X), size)
        ]
        return parts[0].merge(*parts[1:])

    summary = merged()
    if not summary.exact:
        summary = merged(summary)
    return summary.solve(rest.pop("k", None), **rest)


FLAGS = {"labels": "label", "sample_weight": "weight", "rng": "seed", "n_bins": "bins"}


def flag(option: str) -> str:
    """An option as the command spells it."""
    return "-k" if option == "k" else f"--{FLAGS.get(option, option).replace('_', '-')}"


def words(call: Call, option: str, value: Any) -> list[str]:
    """An option and its value on the command line."""
    names = data_of(call.job, call.data)[1]
    spelled = flag(option)
    if option == "counts":
        return ["--counts"]
    if option == "columns":
        return ["--ignore", ",".join(value)]
    if option == "standardize":
        return ["--standardize" if value else "--no-standardize"]
    if option == "move":
        return ["--move", "range" if value is True else value]
    if value is True:
        return [spelled]
    if isinstance(value, (Rows, Other)) and value.name is not None:
        return [spelled, value.name]
    if isinstance(value, Other):
        return [spelled, written(other_table(), "other")]
    if isinstance(value, Names):
        return [spelled, ",".join(names[i] for i in value.numbers)]
    if isinstance(value, Conditions):
        frame = pd.DataFrame(value.rows, columns=names).assign(limit=value.limits)
        return [spelled, written(frame, "conditions")]
    if option == "baseline" and isinstance(value, PerColumn):
        return [
            spelled,
            ",".join(f"{name}={entry}" for name, entry in zip(names, value.entries, strict=True)),
        ]
    if isinstance(value, PerColumn):
        second = {"units": "unit", "costs": "cost", "groups": "group", "previous": "weight"}[option]
        return [spelled, written(pd.DataFrame({"column": names, second: value.entries}), option)]
    if isinstance(value, dict):
        return [spelled, ",".join(f"{name}={entry}" for name, entry in value.items())]
    if isinstance(value, (list, tuple)):
        return [spelled, ",".join(map(str, value))]
    return [spelled, str(value)]


def written(frame: pd.DataFrame, name: str) -> str:
    """A file that an option names."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    frame.to_csv(folder / f"{name}.csv", index=False)
    return str(folder / f"{name}.csv")


class CommandRefused(Exception):  # noqa: N818
    """Exit code 2 and what stderr says."""


def command(call: Call, given: Container, memory: str | None = None) -> Any:
    """`fewer JOB`, called in this process; its JSON."""
    ending = "csv" if memory is None else "parquet"
    file = files(call.job, call.data, call.used, ending, 1).replace("*", "0")
    asked = [call.job, file, "--json", "-q", "--no-baselines"]
    if call.job == "terms":
        asked += ["--target", "y"]
    if call.job == "bins":
        asked += ["--column", "v"]
    if memory is not None and "max_memory" not in call:
        asked += ["--max-memory", memory]
    for option, value in call.items():
        asked += words(call, option, value)
    code, out, err = inside([str(word) for word in asked], None, FOLDER.name)
    if code == 2:
        raise CommandRefused(err)
    assert code == 0, err
    return out


def command_in_blocks(call: Call, given: Container) -> Any:
    return command(call, given, LITTLE[call.job])


OF_ESTIMATORS = (estimator, in_pipeline, cloned, pickled, partial_fit)


@dataclass(frozen=True)
class Road:
    """A way to call a job, and data for arrays and for tables."""

    group: str
    name: str
    run: Callable[[Call, Container], Any]
    given: Container
    jobs: tuple[str, ...] = JOBS


def all_roads() -> Iterator[Road]:
    """Every road."""
    for name, given in IN_MEMORY.items():
        jobs = tuple(job for job in JOBS if name != "sparse" or job != "bins")
        yield Road("function", f"function, {name}", function, given, jobs)
    yield Road("estimator", "fit, NumPy", estimator, NUMPY)
    yield Road("estimator", "fit, pandas", estimator, PANDAS)
    yield Road("estimator", "Pipeline, pandas", in_pipeline, PANDAS)
    yield Road("estimator", "clone, NumPy", cloned, NUMPY)
    yield Road("estimator", "pickle, pandas", pickled, PANDAS)
    streaming = tuple(job for job in JOBS if hasattr(ESTIMATORS[job], "partial_fit"))
    for kind, given in (("NumPy", NUMPY), ("pandas", PANDAS)):
        yield Road("partial_fit", f"partial_fit, {kind}", partial_fit, given, streaming)
    for name, given in IN_BLOCKS.items():
        yield Road("blocks", f"blocks, {name}", function, given)
    for name in ("callable", "Dask array", "Dask frame", "parquet"):
        yield Road("estimator, blocks", f"fit of blocks, {name}", estimator, IN_BLOCKS[name])
    for name in ("callable of tables", "Dask array", "Dask frame", "parquet"):
        fitting = replace(IN_BLOCKS[name], little=False)
        yield Road("function", f"blocks that fit, {name}", function, fitting)
        yield Road("estimator", f"fit of blocks that fit, {name}", estimator, fitting)
    yield Road("summaries", "summaries, NumPy", summaries, NUMPY)
    yield Road("summaries", "summaries, pandas", summaries, PANDAS)
    yield Road("command", "command", command, PANDAS)
    yield Road("command, blocks", "command in blocks", command_in_blocks, PANDAS)


ROADS = list(all_roads())
GROUPS_OF_ROADS = list(dict.fromkeys(road.group for road in ROADS))
ABSENT = re.compile(r"unexpected keyword argument|No such option|is no option of|Missing option")


def first_of_equals(answer: Answer) -> Answer:
    """The answer with the first of equal rows: a stream keeps any of them."""
    order = np.argsort(np.array(answer.indices) % DISTINCT)
    indices = tuple((np.array(answer.indices) % DISTINCT)[order].tolist())
    return replace(answer, indices=indices, weights=tuple(np.array(answer.weights)[order].tolist()))


def outcome(road: Road, call: Call) -> Answer | Refusal | str:
    """An answer, a refusal, or what else was raised."""
    try:
        with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
            warnings.simplefilter("ignore")
            found = road.run(call, road.given)
            found = found[0] if isinstance(found, list) else found  # of a table with one column
            answer = Answer.of_json(found) if isinstance(found, str) else Answer.of(found)
            return (
                first_of_equals(answer)
                if road.run is partial_fit and call.job == "points"
                else answer
            )
    except (fewer.InvalidInput, CommandRefused) as error:
        return Refusal(str(error), bool(ABSENT.search(str(error))))
    except TypeError as error:
        return (
            Refusal(str(error), absent=True) if ABSENT.search(str(error)) else f"TypeError: {error}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"


def named(option: str, case: Case, road: Road, says: str) -> bool:
    """Whether a refusal names the option, or one that goes with it, as the road spells it."""
    for name in (option, *case.also):
        if road.group.startswith("command"):
            spelled = flag(name)
        else:
            spelled = RENAMED.get(name, name) if road.run in OF_ESTIMATORS else name
        if spelled in says:
            return True
    return False


@cache
def reference(job: str, option: str, number: int, part: int) -> Any:
    """The answer of the function, in memory; of tables where the option is about these."""
    case = CASES[job][option][number]
    road = next(
        road
        for road in ROADS
        if road.name == ("function, pandas" if case.table else "function, NumPy")
    )
    return outcome(road, calls(job, option, case)[part])


def cell(job: str, option: str, number: int, road: Road) -> str:
    """same, refused, absent, or what is wrong; empty where the road does not apply."""
    case = CASES[job][option][number]
    if job not in road.jobs or (case.table and not road.given.table):
        return ""
    expected, got = reference(job, option, number, 1), outcome(road, calls(job, option, case)[1])
    if isinstance(got, str):
        return f"wrong: {got}"
    if isinstance(got, Refusal):
        if got.absent:  # of another option that the case needs nothing is said
            return "absent" if named(option, Case(None), road, got.says) else ""
        if not named(option, case, road, got.says):
            return f"wrong: refused without a word of {option}: {got.says[:300]}"
        return "same" if isinstance(expected, Refusal) else "refused"
    if isinstance(expected, Refusal):
        return f"wrong: answered {got}, where the reference refuses: {expected.says[:200]}"
    return (
        "same" if same(expected, got, case.view) else f"wrong: {got}\n        instead of {expected}"
    )


def row(job: str, option: str) -> dict[str, str]:
    """The outcome of every road, all cases of the option together."""
    found: dict[str, str] = {}
    for road in ROADS:
        cells = [cell(job, option, number, road) for number in range(len(CASES[job][option]))]
        wrong = [text for text in cells if text.startswith("wrong")]
        found[road.name] = wrong[0] if wrong else " / ".join(dict.fromkeys(filter(None, cells)))
    return found


# What docs/reliability.md shows

COLUMNS = GROUPS_OF_ROADS
BEGIN, END = "<!-- roads: begin, written by tests/roads.py -->", "<!-- roads: end -->"


def line(job: str, option: str, found: dict[str, str]) -> str:
    """The option's line of the table; several outcomes of one group stand side by side."""
    cells = []
    for group in COLUMNS:
        outcomes = [
            text for road in ROADS if road.group == group for text in found[road.name].split(" / ")
        ]
        words = [
            word
            for word in ("same", "refused", "absent", "wrong")
            if any(o.startswith(word) for o in outcomes)
        ]
        if "absent" in words and len(words) > 1:  # containers of one road may not all have it
            words.remove("absent")
        cells.append(", ".join(words).replace("absent", "-") or "-")
    return f"| {job} | `{option}` | " + " | ".join(cells) + " |"


def refusable(job: str) -> set[str]:
    """What docs/scaling.md says is refused of a job in blocks; of a road by its name."""
    section = SCALING.read_text().split("## Not for data in blocks")[1].split("\n## ")[0]
    rows = [text.split("|")[1:3] for text in section.splitlines() if text.startswith("|")]
    return {
        name
        for who, what in rows
        if who.strip() in (job, "all jobs")
        for name in re.findall(r"`(\w+)", what)
    }


HISTOGRAM = "counts edges positions preserve contiguous validation ridge"
ROW_LIMITS = "include exclude groups min_per_group max_per_group"
FITTED = {
    "estimator has no callback, as scikit-learn's have none; `verbose` shows progress": "callback",
    "estimator answers in rows, values or columns of X: units, histograms and lines of orders are none": (
        f"units {HISTOGRAM} order item"
    ),
}
FROM_FILES = {
    "command is stopped by Ctrl-C, shows its progress unless -q, and takes lists of numbers from Python alone": (
        "callback progress bounds edges positions validation ridge"
    ),
    "command has a column of weights for points alone": "sample_weight",
}
ABSENT_OPTIONS: dict[str, dict[str, str]] = {
    "estimator": FITTED,
    "estimator, blocks": FITTED,
    "partial_fit": (
        FITTED
        | {
            "stream has no positions that are known beforehand, and no second table": (
                f"target target_weight {ROW_LIMITS}"
            )
        }
    ),
    "summaries": {
        "summary is of rows, and `solve` of the search over them: what looks at rows again is no part of either": (
            f"target target_weight move bounds units {ROW_LIMITS} {HISTOGRAM} loss "
            "returns date costs budget order item"
        ),
        "summary has a size of its own, and its loop is yours": "max_memory progress",
    },
    "command": FROM_FILES,
    "command, blocks": FROM_FILES,
}
"""Why a road has no such option: the reason, and the options it is about."""


def unexplained(job: str, option: str, text: str) -> list[str]:
    """Roads with a dash that has no reason; `FewerTerms` has no `partial_fit`."""
    cells = dict(zip(COLUMNS, (part.strip() for part in text.split("|")[3:-1]), strict=True))
    dashes = [
        group
        for group in COLUMNS
        if cells[group] == "-" and (job, group) != ("terms", "partial_fit")
    ]
    return [
        group
        for group in dashes
        if not any(option in words.split() for words in ABSENT_OPTIONS.get(group, {}).values())
    ]


def reasons() -> list[str]:
    """The reasons of all dashes, a line for each."""
    each = {(why, words): None for road in ABSENT_OPTIONS.values() for why, words in road.items()}
    lines = [
        f"- {', '.join(f'`{name}`' for name in words.split())}: {article(why)}."
        for why, words in each
    ]
    return ["Dashes:", "", *lines, "- `FewerTerms` has no `partial_fit`."]


def article(why: str) -> str:
    return f"{'an' if why[0] in 'aeiou' else 'a'} {why}"


def page(lines: list[str]) -> str:
    head = f"| job | option | {' | '.join(COLUMNS)} |"
    return "\n".join(
        [BEGIN, "", head, "|---" * (len(COLUMNS) + 2) + "|", *lines, "", *reasons(), "", END]
    )


if __name__ == "__main__":
    lines = [line(job, option, row(job, option)) for job in JOBS for option in options_of(job)]
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(before + page(lines) + after)
