"""One version of `fewer` in a process of its own: reads calls as lines of JSON, writes an answer in JSON to each.

A call: {"job", "input": path of an npz, "k", "options": {...}, "seed"}, and "times" where it is to be repeated. An
answer: {"indices", "weights" (None for dims), "seconds" (CPU time; the mean of repeated calls), "wall" (seconds of wall
time), "signatures" (of the package's compiled functions, after the call), "compiled" (how many of them came with this
call), "proof" (whether a bound above 0 is proven)} or {"error"}.
Run by `versions.Version` with the folder of the package as its argument.
"""

import faulthandler
import inspect
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

PATIENCE_SECONDS = 600
"""Wall time after which a call counts as one that does not answer: the process ends."""
COMPILED = ("fewer._jit", "fewer._compiled")
NAMES = {"objective": ("objective", "metric", "loss"), "labels": ("labels", "y")}
"""Options that are called differently in some versions."""


def loaded(path: str) -> dict[str, Any]:
    """Arrays by name; `name.csr.data` and its sisters are one sparse array."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    whole = {name: value for name, value in stored.items() if "." not in name}
    for name, kind in {tuple(key.split(".")[:2]) for key in stored if "." in key}:
        data, indices, indptr, shape = (
            stored[f"{name}.{kind}.{part}"] for part in ("data", "indices", "indptr", "shape")
        )
        make = sp.csr_array if kind == "csr" else sp.csc_array
        whole[name] = make((data, indices, indptr), shape=tuple(shape))
    return whole


def signatures() -> int:
    """Compiled signatures of the package's own functions so far."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(COMPILED)]
    functions = {id(value): value for module in modules for value in vars(module).values()}
    counted = [getattr(function, "signatures", None) for function in functions.values()]
    return sum(len(found) for found in counted if isinstance(found, list))


def named(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options by the names that this version's function has."""
    known = inspect.signature(function).parameters
    return {
        next((n for n in NAMES.get(name, ()) if n in known), name): value
        for name, value in options.items()
    }


def kept(job: str, result: Any) -> dict[str, Any]:
    """Indices and weights of a result, whichever members the version has."""
    indices = np.asarray(result.indices if hasattr(result, "indices") else result.support)
    weights = (
        result.weights
        if hasattr(result, "weights")
        else np.asarray(result.p)[indices]
        if job != "dims"
        else None
    )
    return {
        "indices": indices.tolist(),
        "weights": None if weights is None else np.asarray(weights).tolist(),
    }


def answer(call: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Call the job: arrays named by digits in their order, k, the rest by name."""
    import fewer

    function = getattr(fewer, call["job"])
    positional = [arrays[name] for name in sorted(arrays) if name.isdigit()]
    more = {name: value for name, value in arrays.items() if not name.isdigit()}
    options = named(function, {**call["options"], **more, "rng": call["seed"]})
    before, began, clock = signatures(), time.process_time(), time.perf_counter()
    many = call.get("times", 1)
    for _ in range(many):
        result = function(*positional, k=call["k"], **options)
    times = {
        "seconds": (time.process_time() - began) / many,
        "wall": (time.perf_counter() - clock) / many,
    }
    counts = {"signatures": signatures(), "compiled": signatures() - before}
    return {
        **kept(call["job"], result),
        **counts,
        **times,
        "proof": bool((result.bound or 0.0) > 0.0),
    }


def main() -> None:
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes elsewhere
    warnings.simplefilter("ignore")
    import fewer

    if not Path(str(fewer.__file__)).is_relative_to(sys.argv[1]):
        raise SystemExit(f"fewer was imported from {fewer.__file__}, not from {sys.argv[1]}")
    path, arrays = "", {}
    for line in sys.stdin:
        call = json.loads(line)
        if call["input"] != path:
            path, arrays = call["input"], loaded(call["input"])
        faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
        try:
            text = json.dumps(answer(call, arrays))
        except Exception as error:
            text = json.dumps({"error": f"{type(error).__name__}: {str(error)[:200]}"})
        faulthandler.cancel_dump_traceback_later()
        lines.write(text + "\n")


if __name__ == "__main__":
    main()
