"""One peer in a process of its own: reads its tasks, writes a line of JSON after each.

Equal rules: one core (the process is bound to one, and libraries are told so before they are
imported), the first call apart, three calls after it (one in a quick run) with seeds 0, 1, 2 as far
as six seconds allow, medians of them. A method that proves has a minute and is called once, and a
peer whose first call took more than twenty seconds is not called again: that call counts.
"""

import ctypes
import gc
import json
import math
import os
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "RAYON")
RUNS = 3
"""A solver with a limit of its own gets the budget divided by this."""
REPEAT_SECONDS = 6.0
"""One call is made after the first in any case, further ones while all fit this."""
SLOW_SECONDS = 20.0
"""A peer's first call that took longer counts, and is the only one."""
PROOF_SECONDS = 60.0
"""The limit of a method that proves, which is called once."""
ALLOWED = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
"""The cores this process may use; none where the system does not say."""


def idle(wait: float = 0.1) -> int:
    """The core that was least busy for a moment (Linux)."""

    def spent() -> dict[int, int]:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
        return {
            int(part[0][3:]): int(part[4])
            for part in lines
            if part[0].startswith("cpu") and part[0] != "cpu"
        }

    before = spent()
    time.sleep(wait)
    after = spent()
    return max(
        sorted(ALLOWED & set(before)) or [0],
        key=lambda core: after.get(core, 0) - before.get(core, 0),
    )


def bind(core: int | None = None) -> None:
    """Keep to one core: tell the libraries, and bind every thread to this or the idlest core where the system can."""
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in THREADS})
    os.environ.update(XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", JAX_PLATFORMS="cpu")
    if ALLOWED:
        core = idle() if core is None else core
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


def memory(field: str) -> float:
    """Resident MB: VmRSS now, VmHWM at its peak.

    Elsewhere than on Linux the peak of the whole process.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak() -> float:
    """Give freed memory back, forget the peak so far; what is resident now."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    return memory("VmRSS")


def finish(case: Any, problem: Any, answer: Any) -> list[dict[str, Any]]:
    """Judge an answer: as returned, and re-optimised on the simplex where the peer gives no final weights."""
    import numpy as np

    def timed(call: Any) -> tuple[Any, float]:
        began = time.process_time()
        return call(), time.process_time() - began

    if case.job == "dims":
        return [{"variant": "as returned", "value": problem.judge(answer.what), "after": 0.0}]
    if case.job == "core":
        return [
            {"variant": "as returned", "value": problem.judge(answer.what, case.k), "after": 0.0}
        ]
    if case.job == "points":
        units = np.asarray(answer.what, np.int64).reshape(-1)
        weights = (
            np.full(len(units), 1.0 / len(units))
            if answer.weights is None
            else np.asarray(answer.weights, float)
        )
        name = "equal weights" if answer.weights is None else "as returned"
        rows = [
            {"variant": name, "value": problem.judge(units, weights / weights.sum()), "after": 0.0}
        ]
        if not answer.final:
            distinct = np.unique(units)
            best, after = timed(lambda: problem.refit(distinct))
            rows.append(
                {"variant": "re-optimised", "value": problem.judge(distinct, best), "after": after}
            )
        return rows
    answers = [("as returned", answer.what, 0.0)]
    if not answer.final:
        ways = [("projected", problem.projected), ("re-optimised", problem.refitted)]
        answers = [
            (way, *timed(lambda call=call: call(np.asarray(answer.what, float), case.k)))
            for way, call in ways
        ]
    sizes = [int((q > 0).sum()) for _, q, _ in answers]
    return [
        {
            "variant": way,
            "value": problem.judge(q),
            "test": problem.test(q),
            "after": after,
            "held": count,
        }
        for (way, q, after), count in zip(answers, sizes, strict=True)
    ]


def measure(
    case: Any,
    problem: Any,
    method: Any,
    budget: float,
    runs: int,
    heard: Any,
    slow: float = math.inf,
) -> dict[str, Any]:
    """The first call, which may compile, then one more, and others as far as time allows.

    None after a slow one.
    """
    most = budget / RUNS  # what a solver with a limit of its own may take
    once = measure_once(case, problem, method, most)  # re-optimising compiles too
    heard()
    if once["rows"][0]["cpu"] > slow:
        return once
    number, peak, answers, seconds, cpu = 1, 0.0, [], [], []
    if case.job == "core":  # microseconds: many calls, one clock
        again = time.perf_counter()
        method(problem, case.k, 0, most)
        number = max(1, min(2000, int(0.05 / max(time.perf_counter() - again, 1e-7))))
    for seed in range(runs):
        if cpu and sum(cpu) + max(cpu) > REPEAT_SECONDS:
            break
        before = forget_peak()
        clock, own = time.perf_counter(), time.process_time()
        for _ in range(number):
            answer = method(problem, case.k, seed, most)
        seconds.append((time.perf_counter() - clock) / number)
        cpu.append((time.process_time() - own) / number)
        peak = max(peak, memory("VmHWM") - before)
        answers.append(answer)
        heard()
    return {
        "runs": len(seconds),
        "first": once["first"],
        "peak": peak,
        "rows": merged([finish(case, problem, answer) for answer in answers], seconds, cpu),
        "proven": all(answer.proven for answer in answers),
    }


def measure_once(case: Any, problem: Any, method: Any, limit: float) -> dict[str, Any]:
    """One call with a limit of its own, first and last."""
    before = forget_peak()
    clock, own = time.perf_counter(), time.process_time()
    answer = method(problem, case.k, 0, limit)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - own
    peak = memory("VmHWM") - before
    rows = merged([finish(case, problem, answer)], [seconds], [cpu])
    return {"runs": 1, "first": seconds, "peak": peak, "rows": rows, "proven": answer.proven}


def merged(
    judged: list[list[dict[str, Any]]], seconds: list[float], cpu: list[float]
) -> list[dict[str, Any]]:
    """The median over the runs of each variant's value, test value and time."""
    from statistics import median

    rows = []
    for variants in zip(*judged, strict=True):
        after = [v["after"] for v in variants]
        rows.append(
            {
                "variant": variants[0]["variant"],
                "value": median(v["value"] for v in variants),
                "test": median(v.get("test", float("nan")) for v in variants),
                "seconds": median(s + a for s, a in zip(seconds, after, strict=True)),
                "cpu": median(s + a for s, a in zip(cpu, after, strict=True)),
            }
        )
    return rows


def main() -> None:
    order = json.loads(sys.stdin.read())
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what peers print goes elsewhere
    warnings.simplefilter("ignore")
    bind(order["core"])
    import numpy as np

    from peers import every
    from problems import Case

    peer, problem, held = every()[order["peer"]], None, None
    for task in order["tasks"]:
        bind(order["core"])
        lines.write("{}\n")  # a sign of life: each gives the parent's patience a new start
        case = Case(
            **{**task["case"], "params": tuple(tuple(pair) for pair in task["case"]["params"])}
        )
        try:
            if held != case.name:
                problem, held = case.problem(Path(order["data"])), case.name
            np.random.seed(0)  # noqa: NPY002 - peers that know no other
            method = peer.serves(case.job, case.kind)[task["method"]]
            if task["method"] in peer.minutes and order["runs"] > 1:
                result = measure_once(case, problem, method, PROOF_SECONDS)
            else:
                slow = math.inf if peer.name == "fewer" else SLOW_SECONDS
                limits = order["budget"], order["runs"], lambda: lines.write("{}\n")
                result = measure(case, problem, method, *limits, slow)
        except Exception as error:
            traceback.print_exc()
            result = {
                "error": (
                    f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[
                        :200
                    ]
                )
            }
        lines.write(json.dumps({"end": True, **result}) + "\n")


if __name__ == "__main__":
    main()
