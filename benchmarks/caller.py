"""One version of `fewer` in a process of its own: reads calls as lines of JSON, writes an answer in JSON to each.

A call: {"job", "road", "input": path of an npz, "k", "options": {...}, "seed"}. An answer:
{"indices", "weights" (None for dims), "seconds" (CPU time), "wall" (seconds of wall time),
"compiled" (how many compiled functions of the package came with this call), "proof" (whether a
bound above 0 is proven)} or {"error"}. Run by `versions.Version` with the folder of the package as
its argument.
"""

import faulthandler
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

PATIENCE_SECONDS = 600
"""Wall time after which a call counts as one that does not answer: the process ends."""
COMPILED = ("fewer._compiled",)
BLOCKS = 8


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
    return sum(len(each) for each in counted if isinstance(each, list))


def called(call: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Call the function, on arrays or on blocks of them."""
    import fewer

    data = [arrays[name] for name in sorted(arrays) if name.isdigit()]
    more = {name: value for name, value in arrays.items() if not name.isdigit()}
    if call["road"] == "blocks":
        parts = [np.array_split(array, BLOCKS) for array in data]
        blocks = parts[0] if len(data) == 1 else list(zip(*parts, strict=True))
        data = [lambda: iter(blocks), None][: len(data)]
    options = {**call["options"], **more, "rng": call["seed"]}
    result = getattr(fewer, call["job"])(*data, k=call["k"], **options)
    weights = None if call["job"] == "dims" else np.asarray(result.weights).tolist()
    proof = bool((result.bound or 0.0) > 0.0)
    return {"indices": np.asarray(result.indices).tolist(), "weights": weights, "proof": proof}


def commanded(call: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Run the command on a file, written beside the input when it is first asked for."""
    data = np.column_stack(list(arrays.values()))
    names = [f"c{i}" for i in range(data.shape[1])]
    file, more = Path(call["input"]).with_suffix(".npy"), []
    if call["job"] in ("terms", "bins"):
        file = file.with_suffix(".csv")
        more = ["--target", names[-1]] if call["job"] == "terms" else ["--counts"]
    is_new = not file.exists()  # the first run may compile
    if is_new:
        if file.suffix == ".npy":
            np.save(file, data)
        else:
            np.savetxt(file, data, "%.17g", ",", header=",".join(names), comments="")
    command = [call["job"], str(file), "-k", str(call["k"]), "--seed", str(call["seed"])]
    words = [sys.executable, "-m", "fewer", *command, *more, "--json", "-q"]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603
    (answer,) = json.loads(output)["answers"]
    weights = None if call["job"] == "dims" else answer["kept"]["weight"]
    proof = (answer["bound"] or 0.0) > 0.0
    indices = answer["indices"]
    return {"indices": indices, "weights": weights, "proof": proof, "compiled": int(is_new)}


def processor() -> float:
    """CPU seconds of this process and of those that it ran."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def answer(call: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Answer a call, and say what it took."""
    before, began, clock = signatures(), processor(), time.perf_counter()
    result = commanded(call, arrays) if call["road"] == "command" else called(call, arrays)
    times = {"seconds": processor() - began, "wall": time.perf_counter() - clock}
    return {"compiled": signatures() - before, **result, **times}


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
