"""The calls of this version and of a commit on the same inputs, in one run.

Each version has one process on one thread. For each input both are called in turn, `--repeats`
times with the same seed (five times as often where a call takes less than 0.1 s). The least CPU
time counts; a call that had to compile, or to load compiled code, does not. Answers are judged by
`referee.py`, not by what the versions report. Values below the floor of an input, 1e-12 of its
scale, count as the floor.

Exit status 1 means that a limit is broken: those on the geometric mean and the worst of the ratios
new / old, of values and of seconds (--mean-value, --worst-value, --mean-seconds, --worst-seconds).
Inputs on which the old version gave a bound above 0 after 8 s of wall time or more (it ran a proof)
are marked, and the limits on seconds leave them out. Besides default calls there are calls with
options, on data in blocks and by the command (calls.py).

Run: python benchmarks/against.py COMMIT [--only points] [--repeats 3] [--data DIR]
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calls import CALLS, Call, write
from referee import fault
from versions import ROOT, Version, tree_of

FLOOR_SHARE = 1e-12
PROOF_SECONDS = 8.0
"""Wall time from which a call of the old version that proved a bound above 0 counts as a proof."""
SHORT_SECONDS, SHORT_REPEATS = 0.1, 5
"""Calls shorter than this are repeated so many times as often: their times vary more."""
WARM_UPS = 3
"""Calls of an input that may compile."""


class Limits(NamedTuple):
    """What the ratios new / old may be at most."""

    mean_value: float = 1.0
    worst_value: float = 1.01
    mean_seconds: float = 1.0
    worst_seconds: float = 1.5


@dataclass(frozen=True)
class Answer:
    """What one version gave: the referee's value, the least CPU and wall time.

    `wrong` says why it does not count.
    """

    value: float = math.nan
    seconds: float = math.nan
    proof: bool = False
    steady: bool = True
    wrong: str = ""
    wall: float = math.nan


@dataclass(frozen=True)
class Row:
    """One input and both answers."""

    job: str
    name: str
    floor: float
    old: Answer
    new: Answer

    @property
    def counts(self) -> bool:
        """True where two answers can be compared."""
        return not (self.old.wrong or self.new.wrong)

    @property
    def proof(self) -> bool:
        """Whether the old version spent its time on a proof; for bins the search itself is one."""
        return self.job != "bins" and self.old.proof and self.old.wall >= PROOF_SECONDS

    @property
    def value_ratio(self) -> float:
        old, new = (max(answer.value, self.floor) for answer in (self.old, self.new))
        return 1.0 if old == new else new / old

    @property
    def time_ratio(self) -> float:
        return self.new.seconds / self.old.seconds


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean; 1 of none."""
    logs = [math.log(ratio) if ratio > 0 else -math.inf for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else 1.0


def broken(rows: list[Row], limits: Limits) -> list[str]:
    """Each limit that does not hold, as a sentence."""
    both = [row for row in rows if row.counts]
    timed = [row for row in both if not row.proof]
    faults = [] if both else ["no input was compared"]
    faults += [
        f"{row.name}: the new version gave no valid answer ({row.new.wrong})"
        for row in rows
        if row.new.wrong
    ]
    faults += [
        f"{row.name}: the same seed gave different answers" for row in rows if not row.new.steady
    ]
    if (value := mean(row.value_ratio for row in both)) > limits.mean_value * (1.0 + 1e-9):
        faults.append(f"the geometric mean of the value ratios is {value:.6f}")
    faults += [
        f"{row.name}: value ratio {row.value_ratio:.4f}"
        for row in both
        if not row.value_ratio <= limits.worst_value
    ]
    if (seconds := mean(row.time_ratio for row in timed)) > limits.mean_seconds:
        faults.append(f"the geometric mean of the time ratios is {seconds:.3f}")
    return faults + [
        f"{row.name}: time ratio {row.time_ratio:.2f}"
        for row in timed
        if row.time_ratio > limits.worst_seconds
    ]


def judged(
    call: Call, arrays: dict[str, Any], referee: Any, answers: list[dict[str, Any]]
) -> Answer:
    """The answers of one version to the same call, as one."""
    errors = (
        [answer["error"] for answer in answers if "error" in answer]
        if answers
        else ["every call compiled"]
    )
    if errors:
        return Answer(wrong=errors[0])
    indices = np.array(answers[-1]["indices"], np.int64)
    weights = None if call.job == "dims" else np.array(answers[-1]["weights"])
    limits = {**call.options, **{name: value for name, value in arrays.items() if name == "groups"}}
    wrong = fault(referee.n, call.k, indices, weights, **limits)
    value = math.nan if wrong else referee.judge(indices, weights)
    steady = all(answer["indices"] == answers[-1]["indices"] for answer in answers)
    seconds, wall = (min(answer[clock] for answer in answers) for clock in ("seconds", "wall"))
    return Answer(value, seconds, answers[-1]["proof"], steady, wrong, wall)


def enough(answers: list[dict[str, Any]], repeats: int) -> int:
    """How many answers are wanted, given those there are."""
    if any("error" in answer for answer in answers):
        return len(answers)
    short = any(answer["seconds"] < SHORT_SECONDS for answer in answers)
    return repeats * (SHORT_REPEATS if short else 1)


def repeated(
    versions: list[Version], call: dict[str, Any], repeats: int
) -> list[list[dict[str, Any]]]:
    """The answers of both versions, called in turn.

    One that needed new compiled code does not count.
    """
    collected: list[list[dict[str, Any]]] = [[] for _ in versions]
    for _ in range(SHORT_REPEATS * repeats + WARM_UPS):
        for version, answers in zip(versions, collected, strict=True):
            if len(answers) < enough(answers, repeats):
                answer = version.ask(**call)
                answers += [] if answer.get("compiled") else [answer]
    return collected


def compared(
    call: Call, data: Path, versions: list[Version], path: Path, repeats: int, seed: int
) -> Row:
    """One input, both versions."""
    arrays, referee = call.make(data)
    write(path, arrays)
    order = {
        "job": call.job,
        "input": str(path),
        "k": call.k,
        "options": call.options,
        "seed": seed,
        "road": call.road,
    }
    old, new = (
        judged(call, arrays, referee, answers) for answers in repeated(versions, order, repeats)
    )
    for file in path.parent.glob(f"{path.stem}.*"):
        file.unlink()
    return Row(call.job, call.title, FLOOR_SHARE * referee.scale, old, new)


HEAD = (
    f"{'input':58s} {'old value':>11s} {'new value':>11s} {'ratio':>7s} {'old s':>8s} {'new s':>8s}"
    f" {'ratio':>6s}"
)


def line(row: Row) -> str:
    if not row.counts:
        return (
            f"{row.name:58s} old: {row.old.wrong or 'answered'}; new: {row.new.wrong or 'answered'}"
        )
    values = f"{row.old.value:11.5g} {row.new.value:11.5g} {row.value_ratio:7.4f}"
    marks = ["proof"] * row.proof + ["at the floor"] * (
        max(row.old.value, row.new.value) <= row.floor
    )
    marks += ["old differs between calls"] * (not row.old.steady) + [
        "new differs between calls"
    ] * (not row.new.steady)
    times = f"{row.old.seconds:8.3f} {row.new.seconds:8.3f} {row.time_ratio:6.2f}"
    return f"{row.name:58s} {values} {times} {', '.join(marks)}".rstrip()


def summary(rows: list[Row]) -> list[str]:
    """Geometric means by job and of all."""
    lines = []
    for job in (*dict.fromkeys(row.job for row in rows), "all"):
        both = [row for row in rows if row.counts and job in (row.job, "all")]
        value, seconds = mean(row.value_ratio for row in both), mean(row.time_ratio for row in both)
        timed = [row.time_ratio for row in both if not row.proof]
        text = f"{len(both):3d} inputs: value {value:.5f}, seconds {seconds:.3f}"
        rest = f"{mean(timed):.3f}" if timed else "none left to judge"
        lines.append(f"{job:7s} {text}, seconds without {len(both) - len(timed)} proofs {rest}")
    shares = sorted(a.seconds / a.wall for row in rows for a in (row.old, row.new) if not a.wrong)
    lines.append(
        f"share of a core that the calls had, median: {100 * shares[len(shares) // 2]:.0f} %"
        if shares
        else ""
    )
    return lines + [
        f"not compared, the old version gave no valid answer: {row.name}"
        for row in rows
        if row.old.wrong
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit")
    parser.add_argument(
        "--only",
        default="",
        help="a job, or the beginning of an input's name, such as 'terms FTSE'",
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    for name, value in Limits()._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, metavar="R")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--keep",
        type=Path,
        help="keep the commit's tree here, with what was compiled, for further runs",
    )
    options = parser.parse_args()
    calls = [call for call in CALLS if call.title.startswith(options.only)]
    if not calls:
        parser.error(f"no input begins with {options.only!r}")
    absent = sorted(
        {call.file for call in calls if call.file and not (options.data / call.file).exists()}
    )
    if absent:
        print(f"not in {options.data}, so their inputs are skipped: {', '.join(absent)}")
    print(
        f"new / old; old is {options.commit}; values below {FLOOR_SHARE:g} of their scale count as"
        f" that\n{HEAD}"
    )
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        tree_of(
            options.commit, options.keep or Path(folder), keep=options.keep is not None
        ) as tree,
    ):
        versions = [Version("old", tree), Version("new", ROOT)]
        for number, call in enumerate(call for call in calls if call.file not in absent):
            path = Path(folder) / f"{number}.npz"  # a process reads a file once
            rows.append(compared(call, options.data, versions, path, options.repeats, options.seed))
            print(line(rows[-1]), flush=True)
        for version in versions:
            version.end()
    faults = broken(rows, Limits(*(getattr(options, name) for name in Limits._fields)))
    print("\n".join(["", *summary(rows), "", *(faults or ["every limit holds"])]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
