"""Mutation testing: small faults put into the code on purpose, one at a time; the tests should notice each.

`python -m soak.mutants --count 150 --seed 0 --jobs 2` draws so many faults from validation, constraints, the loop,
distributions and files, runs the tests that belong to each file on a copy of the sources, and lists the survivors.
A survivor is a line that no test holds to its word, or a fault that changes nothing (an equivalent mutant).
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
INPUTS = ("test_validation", "test_inputs_objects", "test_inputs", "test_inputs_data")
TESTS = {
    "_validation.py": (*INPUTS, "test_inputs_distribution"),
    "tables.py": ("test_spaces", "test_inputs_objects", "test_inputs", "test_cover"),
    "npy.py": ("test_inputs_distribution", "test_distribution", "test_hostile_files"),
    "constraints/simplex.py": ("test_projections", "test_claims", *INPUTS),
    "constraints/sparse_simplex.py": ("test_bounds", "test_projections", "test_terms_claims", *INPUTS),
    "constraints/dimension_sparse.py": ("test_projections", "test_claims", *INPUTS),
    "constraints/sparse_states.py": ("test_projections", "test_claims", *INPUTS),
    "solvers/_drive.py": ("test_claims", "test_deadline", "test_callbacks", "test_solvers"),
    "deadline.py": ("test_deadline", "test_claims"),
    "distribution.py": ("test_distribution", "test_inputs_distribution", "test_inputs_objects"),
    "files.py": ("test_files",),
}
"""The files that are changed, and the tests that should notice."""
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
SECONDS = 900.0
"""Seconds after which a mutant counts as noticed: it hangs."""


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
    return sorted((m for m in found if m.line not in _hidden_lines(tree, hidden)), key=lambda m: (m.start, -m.stop))


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """What is never run: annotations."""
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield from ast.walk(part)


def _hidden_lines(tree: ast.AST, hidden: set[int]) -> set[int]:
    """Lines of annotations that are types alone."""
    return {node.lineno for node in ast.walk(tree) if id(node) in hidden and isinstance(node, ast.BinOp)}


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
    return any(isinstance(side, ast.JoinedStr | ast.Constant) and not _number(side) for side in sides)


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def noticed(mutant: Mutant, home: Path) -> bool:
    """Whether the tests of its file fail on a copy of the sources with this fault."""
    file = home / "src/fewer" / mutant.file
    good = file.read_bytes()
    file.write_bytes(good[: mutant.start] + mutant.text.encode() + good[mutant.stop :])
    try:
        return not passes(mutant.file, home)
    finally:
        file.write_bytes(good)


def passes(name: str, home: Path) -> bool:
    """Whether the tests of a file pass on a copy of the sources."""
    tests = [str(home / "tests" / f"{test}.py") for test in TESTS[name] if (home / "tests" / f"{test}.py").exists()]
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{home / 'src'}{os.pathsep}{home}", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(  # noqa: S603
                [sys.executable, *words], cwd=home, env=environment, stdout=out, stderr=out, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def main() -> int:
    """Draw, try, list; the exit code is the number of files whose tests fail without any fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--files", default=",".join(TESTS))
    asked = parser.parse_args()
    names = asked.files.split(",")
    every = [m for name in names for m in mutants_of(name, (ROOT / "src/fewer" / name).read_text())]
    drawn = random.Random(asked.seed).sample(every, min(asked.count, len(every)))  # noqa: S311
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        homes: Queue[Path] = Queue()
        for job in range(asked.jobs):
            home = Path(folder) / str(job)
            for part in ("src", "tests", "soak", "pyproject.toml"):
                source = ROOT / part
                shutil.copytree(source, home / part) if source.is_dir() else shutil.copy(source, home / part)
            homes.put(home)
        with ThreadPoolExecutor(asked.jobs) as pool:
            sound = dict(
                zip(names, pool.map(lambda name: lent(homes, lambda home: passes(name, home)), names), strict=True)
            )
            broken = [name for name, well in sound.items() if not well]
            for name in broken:
                print(f"the tests of {name} fail without any fault: its mutants are not counted")
            tried = [m for m in drawn if m.file not in broken]
            killed = list(pool.map(lambda m: lent(homes, lambda home: told(m, noticed(m, home))), tried))
    survivors = [m for m, dead in zip(tried, killed, strict=True) if not dead]
    print(f"{len(tried)} of {len(every)} mutants tried, {sum(killed)} noticed, {len(survivors)} survived", end="")
    print(f", {time.perf_counter() - began:.0f} s")
    for mutant in sorted(survivors):
        print(f"  {mutant}")
    return len(broken)


def lent(homes: "Queue[Path]", use):
    """Use one of the copies, and give it back."""
    home = homes.get()
    try:
        return use(home)
    finally:
        homes.put(home)


def told(mutant: Mutant, dead: bool) -> bool:
    """Say how one mutant fared, for who waits."""
    print(f"{'noticed ' if dead else 'SURVIVED'} {mutant}", file=sys.stderr, flush=True)
    return dead


if __name__ == "__main__":
    sys.exit(main())
