"""Mutation testing: small faults put into the code on purpose, one at a time; the tests should notice each.

`python -m soak.mutants --count 150 --seed 0 --jobs 2` draws so many faults from validation, constraints, the loop,
distributions and files, runs the tests that enter the changed function on a copy of the sources, and lists survivors.
A survivor is a line that no test holds to its word, or a fault that changes nothing (an equivalent mutant). What is
known is kept in `build/mutants`: the same command goes on where it was ended.
"""

import argparse
import ast
import hashlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from itertools import accumulate
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from .mutant_tests import HUNG, Test, exit_code, watch

ROOT = Path(__file__).parents[1]
INPUTS = ("test_validation", "test_inputs_objects", "test_inputs", "test_inputs_data")
TESTS = {
    "_validation.py": (*INPUTS, "test_inputs_distribution"),
    "tables.py": ("test_spaces", "test_inputs_objects", "test_inputs", "test_cover"),
    "npy.py": ("test_inputs_distribution", "test_distribution", "test_hostile_files"),
    "constraints/simplex.py": ("test_membership", "test_projections", "test_claims", *INPUTS),
    "constraints/sparse_simplex.py": (
        "test_membership",
        "test_bounds",
        "test_projections",
        "test_terms_claims",
        *INPUTS,
    ),
    "constraints/dimension_sparse.py": (
        "test_membership",
        "test_projections",
        "test_claims",
        *INPUTS,
    ),
    "constraints/sparse_states.py": ("test_membership", "test_projections", "test_claims", *INPUTS),
    "solvers/loop.py": ("test_claims", "test_deadline", "test_callbacks", "test_solvers"),
    "deadline.py": ("test_deadline", "test_claims"),
    "distribution.py": ("test_distribution", "test_inputs_distribution", "test_inputs_objects"),
    "files.py": ("test_files",),
}
"""The files that are changed, and the tests that should notice."""
MOST_SECONDS = 60.0
"""How long a fault has to be noticed in; what only slower tests would notice is listed as a survivor, not left out."""
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.FloorDiv: "/",
}


class Mutant(NamedTuple):
    """One fault: which characters of a file are replaced, and by what."""

    file: str
    start: int
    stop: int
    text: str
    line: int
    before: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before!r} -> {self.text!r}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    r"""Every fault that can be put into a source.

    >>> [str(m) for m in mutants_of("a.py", "def f(x):\n    return x < 2 and not x\n")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ["a.py:2: 'x < 2 and not x' -> '(x < 2) or (not x)'", "a.py:2: 'x < 2' -> '(x) <= (2)'", "a.py:2: '2' -> '3'",
     "a.py:2: 'not x' -> '(x)'"]
    """
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in ast.walk(tree):
        for text in _faults(node, source):
            assert isinstance(node, ast.expr)  # only expressions are changed
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            before = source.encode()[start:stop].decode()
            found.append(Mutant(file, start, stop, text, node.lineno, " ".join(before.split())))
    hidden = {id(n) for node in ast.walk(tree) for n in _annotations(node)}
    return sorted(
        (m for m in found if m.line not in _hidden_lines(tree, hidden)),
        key=lambda m: (m.start, -m.stop),
    )


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """What is never run: annotations."""
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield from ast.walk(part)


def _hidden_lines(tree: ast.AST, hidden: set[int]) -> set[int]:
    """Lines of annotations that are types alone."""
    return {
        node.lineno for node in ast.walk(tree) if id(node) in hidden and isinstance(node, ast.BinOp)
    }


def _faults(node: ast.AST, source: str) -> Iterator[str]:
    """What a node may be replaced by."""
    part = lambda child: ast.get_source_segment(source, child)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        yield f"({part(node.left)}) {COMPARISONS[type(node.ops[0])]} ({part(node.comparators[0])})"
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield word.join(f"({part(value)})" for value in node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({part(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _text(node):
        yield f"({part(node.left)}) {OPERATORS[type(node.op)]} ({part(node.right)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield repr(node.value + 1)


def _text(node: ast.BinOp) -> bool:
    """Whether an operator joins texts or types."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _number(side) for side in sides
    )


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def function_at(source: str, line: int) -> int | None:
    r"""The first line of the innermost function around a line, or None.

    >>> function_at("import a\n@a.b\ndef f(x):\n    return x\n", 4), function_at("x = 1\n", 1)
    (2, None)
    """
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line)
    ]
    if not around:
        return None
    inner = max(around, key=lambda node: node.lineno)
    return min([inner.lineno, *(decorator.lineno for decorator in inner.decorator_list)])


class Trial:
    """Copies of the sources, what the tests enter, and how each mutant fared: all that is known, kept in a folder."""

    def __init__(self, kept: Path, copies: Path, jobs: int) -> None:
        self.homes: Queue[Path] = Queue()
        for job in range(jobs):
            for part in ("src", "tests", "soak", "pyproject.toml"):
                source, copy = ROOT / part, copies / str(job) / part
                shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
            self.homes.put(copies / str(job))
        mark = digest(copies / "0")
        kept.mkdir(parents=True, exist_ok=True)
        self.file = kept / f"{mark}.verdicts"
        self.verdicts = dict(line.split("\t", 1)[::-1] for line in self._lines())
        self.tests = self._watched(kept / f"{mark}.tests", copies / "0")

    def _lines(self) -> list[str]:
        """What is known from an earlier run of the same sources."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    def _watched(self, file: Path, home: Path) -> list[Test]:
        """All tests and what they enter, once for all copies."""
        if not file.exists():
            tell("the first pass: which tests enter which function")
            names = sorted({test for name in TESTS for test in own_tests(name)})
            file.write_text(json.dumps(watch(home, names, home / "src/fewer", TESTS)))
        return [Test(*row) for row in json.loads(file.read_text())]

    def verdict(self, mutant: Mutant) -> str:
        """How a mutant fares, in one of the copies."""
        key = f"{mutant.start} {mutant}"
        if key not in self.verdicts:
            home, began = self.homes.get(), time.perf_counter()
            try:
                verdict = self._tried(mutant, home)
            finally:
                self.homes.put(home)
            self.verdicts[key] = verdict
            with self.file.open("a") as file:
                file.write(f"{verdict}\t{key}\n")
            tell(
                f"{len(self.verdicts):4} {verdict:8} {time.perf_counter() - began:6.1f} s  {mutant}"
            )
        return self.verdicts[key]

    def _tried(self, mutant: Mutant, home: Path) -> str:
        """The tests that enter its function, the quickest first, or all of its file where none does."""
        file = home / "src/fewer" / mutant.file
        good = file.read_bytes()
        function = function_at(good.decode(), mutant.line)
        own = [
            t for t in self.tests if t.passed and t.name.split("::")[0] in own_tests(mutant.file)
        ]
        tests = within(
            MOST_SECONDS, [t for t in own if function in t.entered.get(mutant.file, ())] or own
        )
        _write(file, good[: mutant.start] + mutant.text.encode() + good[mutant.stop :])
        try:
            code = exit_code(home, tests)
            return "survived" if code == 0 else "hung" if code in HUNG else "noticed"
        finally:
            _write(file, good)


def _write(file: Path, content: bytes) -> None:
    """Write a source, and forget its bytecode: that tells versions apart by whole seconds and sizes alone."""
    file.write_bytes(content)
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def within(seconds: float, tests: list[Test]) -> list[Test]:
    """The first of these tests that take so many seconds together, and one at least."""
    ends = accumulate(test.seconds for test in tests)
    return [
        test
        for i, (test, end) in enumerate(zip(tests, ends, strict=True))
        if i == 0 or end <= seconds
    ]


def own_tests(name: str) -> list[str]:
    """The files with the tests of a file."""
    return [f"tests/{test}.py" for test in TESTS[name]]


def digest(home: Path) -> str:
    """What tells these sources and tests from others."""
    files = sorted(file for part in ("src", "tests") for file in (home / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def tell(line: str) -> None:
    """Progress, for who waits."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Draw, try, list; the exit code is the number of tests that fail without any fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--files", default=",".join(TESTS))
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path("build/mutants"),
        help="where verdicts are kept, to go on later",
    )
    asked = parser.parse_args()
    every = [
        m
        for name in asked.files.split(",")
        for m in mutants_of(name, (ROOT / "src/fewer" / name).read_text())
    ]
    drawn = random.Random(asked.seed).sample(every, min(asked.count, len(every)))  # noqa: S311
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        trial = Trial(asked.keep, Path(folder).resolve(), asked.jobs)
        verdicts = list(pool.map(trial.verdict, drawn))
    broken = [test.name for test in trial.tests if not test.passed]
    for name in broken:
        print(f"fails without any fault, so it is left out: {name}")
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("noticed", "hung", "survived"))
    print(f"{len(drawn)} of {len(every)} mutants tried: {counts}")
    for mutant, verdict in sorted(zip(drawn, verdicts, strict=True)):
        if verdict != "noticed":
            print(f"  {verdict:8} {mutant}")
    return len(broken)


if __name__ == "__main__":
    sys.exit(main())
