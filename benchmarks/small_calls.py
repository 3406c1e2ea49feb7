"""What a call costs on small problems, in milliseconds, beside NNLS and abess; a minute.

    python benchmarks/small_calls.py [--data DIR] [--against COMMIT] [--only "terms returns"] [--rounds 7]

Each line is CPU time on one thread, the least of several rounds of repeated calls after one that compiles; rounds of
all methods of an input take turns. Answers of peers are brought onto the simplex of their k columns, as in the large
benchmark, and that is part of their time. abess is measured where it is installed. With --against also another version
of `fewer`, and whether its answers are the same to the last bit; the exit status is 1 where they are not.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from peers import abess, scipy_nnls
from problems.least_squares import returns, tracking
from versions import ROOT, Version, tree_of

ROUND_SECONDS = 0.05
"""A round has as many calls as this takes, or one."""
QUICK = ("greedy", "iht", "exchange", "auto")
TRACKING = [("hangseng31", 5), ("hangseng31", 10), ("ftse89", 10), ("ftse89", 20)]


class Small(NamedTuple):
    """One small problem: the arrays a job is called with, its solvers, and what peers are given, if any take it."""

    job: str
    name: str
    k: int
    arrays: list[Any]
    solvers: tuple[str, ...]
    problem: Any = None


class Line(NamedTuple):
    """A method, the least milliseconds of a call, and its answer in bits."""

    method: str
    milliseconds: float
    answer: Any


def inputs(data: Path) -> Iterator[Small]:
    """Small problems of every job; index tracking where its file is there."""
    rng, made = np.random.default_rng(0), returns(200, 60)
    yield Small("terms", "returns, 200 x 60", 10, [made.A, made.b], QUICK, made)
    for index, k in TRACKING if (data / "index_tracking.npz").exists() else []:
        real = tracking(index, data)
        yield Small(
            "terms",
            f"{index}, {real.A.shape[0]} x {real.A.shape[1]}",
            k,
            [real.A, real.b],
            QUICK,
            real,
        )
    yield Small("points", "normal, 200 x 4", 5, [rng.standard_normal((200, 4))], ("greedy",))
    yield Small("bins", "300 bins", 10, [rng.integers(0, 99, 300)], ("auto",))
    yield Small("dims", "300 x 20", 5, [rng.random((300, 20)) < 0.2], ("greedy", "auto"))


def asked(
    version: Version, small: Small, path: Path, solver: str
) -> Callable[[int], tuple[float, Any]]:
    """Calls of a version: how many -> seconds of one, and the answer."""

    def call(times: int) -> tuple[float, Any]:
        order = {
            "job": small.job,
            "input": str(path),
            "k": small.k,
            "options": {"solver": solver},
            "seed": 0,
        }
        answer = version.ask(**order, times=times)
        if "error" in answer:
            raise SystemExit(f"{version.name}: {answer['error']}")
        return answer["seconds"], (
            answer["indices"],
            answer["weights"],
        )  # JSON keeps every bit of a float

    return call


def of_peer(method: Any, small: Small) -> Callable[[int], tuple[float, Any]]:
    """The same of a peer, with the best weights on its columns."""

    def call(times: int) -> tuple[float, Any]:
        began = time.process_time()
        for _ in range(times):
            small.problem.refitted(
                np.asarray(method(small.problem, small.k, 0, 1.0).what, float), small.k
            )
        return (time.process_time() - began) / times, None

    return call


def measured(calls: dict[str, Callable[[int], tuple[float, Any]]], rounds: int) -> list[Line]:
    """The least milliseconds of each, in rounds that take turns."""
    many, least, answers = {}, {}, {}
    for name, call in calls.items():
        call(1)  # compiles
        seconds, answers[name] = call(1)
        many[name], least[name] = max(1, int(ROUND_SECONDS / max(seconds, 1e-6))), seconds
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], call(many[name])[0])
    return [Line(name, 1e3 * least[name], answers[name]) for name in calls]


def lines_of(small: Small, versions: list[Version], path: Path, rounds: int) -> list[Line]:
    """All methods on one input: every version by every solver, then the peers."""
    np.savez(
        path,
        **{
            "counts" if small.job == "bins" else str(i): array
            for i, array in enumerate(small.arrays)
        },
    )
    calls = {
        f"{v.name} {solver}": asked(v, small, path, solver)
        for solver in small.solvers
        for v in versions
    }
    if small.problem is not None:
        calls["SciPy NNLS"] = of_peer(scipy_nnls.nnls, small)
        if not abess.PEER.reason:
            calls |= {
                f"abess {name}": of_peer(method, small) for name, method in abess.METHODS.items()
            }
    return measured(calls, rounds)


def main() -> int:
    """One line for each input and method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument(
        "--only", default="", help="the beginning of a job and an input, such as 'terms returns'"
    )
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    differ = 0
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        versions = [Version("fewer", ROOT)]
        if args.against:
            tree = stack.enter_context(tree_of(args.against, folder))
            versions.append(Version(args.against, tree, folder / "cache"))
        for version in versions:
            stack.callback(version.end)
        print("" if not abess.PEER.reason else f"abess is skipped: {abess.PEER.reason}")
        print("| input | k | method | ms |\n|---|---|---|---|")
        for number, small in enumerate(inputs(args.data)):
            if not f"{small.job} {small.name}".startswith(args.only):
                continue
            found = lines_of(small, versions, folder / f"{number}.npz", args.rounds)
            for line in found:
                print(
                    f"| {small.job} {small.name} | {small.k} | {line.method} | {line.milliseconds:.2f} |",
                    flush=True,
                )
            for solver in small.solvers if args.against else ():
                here, there = (
                    line
                    for line in found
                    if line.method in {f"{v.name} {solver}" for v in versions}
                )
                differ += here.answer != there.answer
    if args.against:
        print(f"answers that differ from those of {args.against}: {differ}")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
