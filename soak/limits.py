"""Limits: time limits and `max_memory` on large inputs of each job, measured from outside a warmed process.

A case takes a few seconds; the first one of each input some more, to make it. Inputs and compiled
code live in a process of their own (`Server`), one for each worker. `time_limit` may be overrun by
10 % and 0.5 s. `max_memory` is peak resident memory above the warmed process that holds the input:
its high-water mark is reset before the call and read after it.
"""

import ctypes
import gc
import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .draws import Generator, one_of
from .limit_calls import FUNCTIONS

NAME = "limits"
SHARE = 2.0
SECONDS = 240.0
ALONE = True
OVER, FREE = 0.1, 0.5
"""How far a time limit may be overrun: a share of it, and seconds."""
FOLDING = 1.0
"""Seconds more for dims, which folds the million rows first."""
PATIENCE = 20.0
"""Seconds past the limit after which a call counts as hanging."""
NOISE = 3 * 10**6
"""Bytes that the interpreter itself may take during a call."""


class Call(NamedTuple):
    """A call of a job on one of the inputs."""

    data: str
    k: int
    options: dict[str, Any]

    @property
    def limit(self) -> float:
        """After how many seconds it should be back."""
        return float(self.options["time_limit"])


def case(rng: Generator) -> tuple[str, list[str]]:
    """One call with a limit, and what it does not keep."""
    call = drawn(rng)
    text = (
        f"{call.data}, k={call.k},"
        f" {', '.join(f'{key}={value!r}' for key, value in call.options.items())}"
    )
    return text, server().problems(call)


def drawn(rng: Generator) -> Call:
    """A job, an input and limits."""
    data = one_of(rng, list(JOBS), [job.often for job in JOBS.values()])
    job = JOBS[data]
    options: dict[str, Any] = {"solver": one_of(rng, job.solvers)}
    for name, choices in job.options.items():
        options[name] = one_of(rng, choices)
    k = int(one_of(rng, job.sizes))
    options["time_limit"] = float(one_of(rng, (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)))
    return Call(data, k, options)


class Job(NamedTuple):
    """A job on a large input: how the input is made, its small part for warming, how it is called."""

    make: Callable[[], tuple[Any, ...]]
    small: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    function: str
    solvers: tuple[str, ...]
    sizes: tuple[int, ...]
    options: dict[str, tuple[Any, ...]] = {}  # noqa: RUF012 - never changed
    often: float = 3.0


def cloud(dtype: Any) -> tuple[Any]:
    """A million rows around ten centres."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((10, 8)) * 3.0
    X = rng.standard_normal((10**6, 8), dtype=np.float32)
    X += centres[rng.integers(0, 10, 10**6)].astype(np.float32)
    return (X.astype(dtype),)


def returns(columns: int) -> tuple[Any, Any]:
    """200 rows of many columns, and a target near a mixture of them."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((200, columns), dtype=np.float32)
    return A, A[:, :50].astype(np.float64) @ np.full(50, 0.02) + 0.1 * rng.standard_normal(200)


def orders() -> tuple[Any]:
    """A million orders of about four out of a thousand products, some far more popular."""
    rng = np.random.default_rng(3)
    rows = np.repeat(np.arange(10**6), rng.integers(1, 8, 10**6))
    columns = (1000 * rng.random(rows.size) ** 3).astype(np.int32)
    table = sp.csr_array((np.ones(rows.size, np.int8), (rows, columns)), (10**6, 1000))
    table.data[:] = 1
    return (table,)


TERMS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
POINTS = ("auto", "exchange", "greedy", "iht")
MEMORY = {"max_memory": ("50MB", "200MB", "1GB")}
JOBS = {
    "points": Job(
        lambda: cloud(np.float64), lambda x: (x[0][:300],), "points", POINTS, (10, 100), MEMORY, 4.0
    ),
    "points32": Job(
        lambda: cloud(np.float32), lambda x: (x[0][:300],), "points", POINTS, (10, 100), MEMORY, 2.0
    ),
    "bins": Job(
        lambda: (np.random.default_rng(4).integers(0, 10**6, 10**6),),
        lambda x: (x[0][:500],),
        "bins",
        TERMS,
        (10, 100),
        {"preserve": ("cdf", "cdf", "entries")},
    ),
    "terms": Job(
        lambda: returns(200_000), lambda x: (x[0][:, :300].copy(), x[1]), "terms", TERMS, (10, 50)
    ),
    "wide": Job(
        lambda: returns(1_000_000),
        lambda x: (x[0][:, :300].copy(), x[1]),
        "terms",
        TERMS,
        (10, 50),
        often=1.0,
    ),
    "dims": Job(
        orders,
        lambda x: (x[0][:500],),
        "dims",
        ("auto", "exact", "exchange", "greedy", "iht"),
        (5, 20),
        {"objective": ("kl", "l2")},
    ),
    "bars": Job(
        lambda: (np.arange(1, 20_001) ** 2,),
        lambda x: (x[0][:300],),
        "bars",
        ("auto", "exact"),
        (10, 100),
        often=1.0,
    ),
    "values": Job(
        lambda: (np.random.default_rng(5).lognormal(size=3 * 10**6),),
        lambda x: (x[0][:300],),
        "values",
        TERMS,
        (10, 50),
        often=1.0,
    ),
    "held out": Job(
        lambda: returns(200_000),
        lambda x: (x[0][:, :300].copy(), x[1]),
        "held out",
        TERMS,
        (10, 50),
        often=2.0,
    ),
    "units": Job(
        lambda: cloud(np.float64),
        lambda x: (x[0][:300],),
        "units",
        ("auto", "exchange", "greedy"),
        (10,),
        often=1.0,
    ),
    "points with": Job(
        lambda: cloud(np.float32),
        lambda x: (x[0][:300],),
        "points with",
        ("auto", "greedy"),
        (10, 50),
        {
            "option": (
                "labels",
                "cv",
                "target",
                "move",
                "groups",
                "include",
                "equal",
                "weights",
                "laplace",
                "linear",
                "standardize",
            )
        },
    ),
    "terms with": Job(
        lambda: returns(100_000),
        lambda x: (x[0][:, :300].copy(), x[1]),
        "terms with",
        ("auto", "exchange", "greedy"),
        (10,),
        {
            "option": (
                "bounds",
                "include",
                "counts",
                "turnover",
                "rows",
                "absolute",
                "downside",
                "weights",
            )
        },
        2.0,
    ),
    "dims with": Job(
        orders,
        lambda x: (x[0][:500],),
        "dims with",
        ("auto", "exact", "greedy"),
        (5, 20),
        {"option": ("include", "units", "costs", "weights"), "objective": ("kl", "l2")},
        2.0,
    ),
    "grouped": Job(
        lambda: returns(20_000),
        lambda x: (x[0][:, :300].copy(), x[1]),
        "grouped",
        ("auto", "greedy", "exchange"),
        (10,),
        often=1.0,
    ),
}
BY_ROWS = ("points", "bins", "units", "points with")
"""Jobs that choose rows or bins, not columns."""
LARGE = ("wide", "held out", "terms with", "points with", "units", "dims with")
"""Inputs that are not kept beside others."""


def called(job: Job) -> Callable[..., Any]:
    """The function of a job."""
    import fewer

    return FUNCTIONS.get(job.function) or getattr(fewer, job.function)


class Server:
    """The warmed process, seen from outside."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def problems(self, call: Call) -> list[str]:
        """Run a call in it and say what it does not keep."""
        try:
            self.pipe.send(("prepare", call))
            failed = self.pipe.recv()
            if failed:
                return [failed]
            before = self._reset()
            began = time.perf_counter()
            self.pipe.send(("run", call))
            if not self.pipe.poll(call.limit + PATIENCE):
                return self._gone(f"no answer {PATIENCE:.0f} s after the limit")
            seconds, failed = self.pipe.recv()
            took = time.perf_counter() - began
            peak = self._memory("VmHWM") - before
            self.pipe.send(("judge", call))
            return failed + self.pipe.recv() + kept(call, took, seconds, peak)
        except (EOFError, OSError) as error:
            return self._gone(f"the process died: {error!r}")

    def _gone(self, sentence: str) -> list[str]:
        self.process.kill()
        self.process.join()
        server.cache_clear()
        return [sentence]

    def _reset(self) -> int:
        """Start the high-water mark anew; the resident memory now."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return self._memory("VmRSS")

    def _memory(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return 1024 * int(line.split()[1])
        raise OSError(f"{name} is not in the status of the process")


@cache
def server() -> Server:
    """The one of this worker."""
    return Server()


def kept(call: Call, took: float, seconds: float | None, peak: int) -> list[str]:
    """Which limits were not kept."""
    problems = []
    allowed = (1.0 + OVER) * call.limit + FREE + FOLDING * call.data.startswith("dims")
    if took > allowed:
        problems.append(
            f"a limit of {call.limit:g} s took {took:.2f} s, allowed are {allowed:.2f} s"
        )
    if seconds is not None and abs(seconds - took) > 0.1 + 0.05 * took:
        problems.append(f"it reports {seconds:.2f} s and took {took:.2f} s")
    if "max_memory" in call.options:
        most = int(
            float(call.options["max_memory"][:-2])
            * {"MB": 10**6, "GB": 10**9}[call.options["max_memory"][-2:]]
        )
        if peak > most + NOISE:
            problems.append(
                f"max_memory={call.options['max_memory']}, and it took {peak / 1e6:.0f} MB"
            )
    return problems


# Inside the process


def serve(pipe: Connection) -> None:
    """Make inputs, warm up, run calls and judge their answers, as asked."""
    import fewer

    inputs: dict[str, tuple[Any, ...]] = {}
    result: Any = None
    if hasattr(fewer, "warm"):
        fewer.warm()
    with suppress(EOFError):
        while True:
            what, call = pipe.recv()
            job = JOBS[call.data]
            if what == "prepare":
                result = None
                if call.data not in inputs:
                    for large in LARGE:  # of these one at a time is enough
                        inputs.pop(large, None)
                    inputs[call.data] = job.make()
                pipe.send(warmed(job, inputs[call.data], call))
            elif what == "run":
                result, failed = run(job, inputs[call.data], call)
                pipe.send((None if result is None else result.seconds, failed))
            else:
                pipe.send([] if result is None else judged(result, inputs[call.data], call))


def warmed(job: Job, data: tuple[Any, ...], call: Call) -> str:
    """Run a small call of the same kind, give memory back; a sentence when it fails."""
    options = {
        key: value for key, value in call.options.items() if key not in ("time_limit", "max_memory")
    }
    try:
        called(job)(*job.small(data), min(call.k, 10), time_limit=0.5, rng=0, **options)
    except Exception as error:
        return f"a small call raised {type(error).__name__}: {error}"
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return ""


def run(job: Job, data: tuple[Any, ...], call: Call) -> tuple[Any, list[str]]:
    """The result of a call, and what it raised."""
    try:
        return called(job)(*data, call.k, rng=0, **call.options), []
    except Exception as error:
        return None, [f"it raises {type(error).__name__}: {error}"]


def judged(result: Any, data: tuple[Any, ...], call: Call) -> list[str]:
    """Whether an answer is feasible and claims no more than it can."""
    problems = []
    function = JOBS[call.data].function
    if function in ("dims", "dims with"):
        p = np.append(result.distribution.weights, result.distribution.rest)
        few = (
            result.support.size
            <= (2 if call.options.get("option") in ("units", "costs") else 1) * call.k
        )
    elif function in ("bars", "values"):
        p = np.asarray(result.weights)
        few = p.size <= call.k
    else:
        p = np.asarray(result.p)
        count = len(result.units) if function == "units" else np.count_nonzero(p)
        few = count <= call.k and p.size == data[0].shape[0 if function in BY_ROWS else 1]
    if not few or p.min() < 0 or abs(p.sum() - 1) > 1e-9:
        problems.append(
            f"infeasible: {np.count_nonzero(p)} of {p.size}, least {p.min()}, sum {p.sum()!r},"
            f" {result.support}"
        )
    if np.isnan(result.value) or (
        result.bound is not None and not result.bound <= result.value * (1 + 1e-9)
    ):
        problems.append(f"value {result.value}, bound {result.bound}")
    return problems
