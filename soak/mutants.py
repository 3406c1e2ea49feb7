"""Mutation testing: small faults put into the code on purpose, one at a time; the tests should notice each.

`python -m soak.mutants --count 150 --seed 0 --jobs 2` draws so many faults from validation, constraints, the loop,
distributions and files, runs the tests that enter the changed function on a copy of the sources, and lists survivors.
A survivor is a line that no test holds to its word, or a fault that changes nothing (an equivalent mutant).
"""

import argparse
import ast
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from .mutant_tests import UNDECIDED, Entered, exit_code, functions_entered

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
    "constraints/dimension_sparse.py": ("test_membership", "test_projections", "test_claims", *INPUTS),
    "constraints/sparse_states.py": ("test_membership", "test_projections", "test_claims", *INPUTS),
    "solvers/loop.py": ("test_claims", "test_deadline", "test_callbacks", "test_solvers"),
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


class Home(NamedTuple):
    """A copy of the sources, and which tests enter which function of each file (None: they fail without any fault)."""

    folder: Path
    entered: dict[str, Entered | None]

    @classmethod
    def copy(cls, folder: Path, names: list[str]) -> "Home":
        """A copy, with the tests of these files run once."""
        for part in ("src", "tests", "soak", "pyproject.toml"):
            source = ROOT / part
            shutil.copytree(source, folder / part) if source.is_dir() else shutil.copy(source, folder / part)
        file = lambda name: folder / "src/fewer" / name
        return cls(folder, {name: functions_entered(folder, own_tests(name), file(name)) for name in names})

    def noticed(self, mutant: Mutant) -> bool:
        """Whether a test fails with this fault: of those that enter its function, or of all where none does."""
        file = self.folder / "src/fewer" / mutant.file
        good = file.read_bytes()
        function = function_at(good.decode(), mutant.line)
        entered = self.entered[mutant.file] or {}
        tests = [test for test, lines in entered.items() if function in lines] or own_tests(mutant.file)
        file.write_bytes(good[: mutant.start] + mutant.text.encode() + good[mutant.stop :])
        try:
            code = exit_code(self.folder, tests)
            return (exit_code(self.folder, own_tests(mutant.file)) if code in UNDECIDED else code) != 0
        finally:
            file.write_bytes(good)


def own_tests(name: str) -> list[str]:
    """The files with the tests of a file."""
    return [f"tests/{test}.py" for test in TESTS[name]]


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
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        homes: Queue[Home] = Queue()
        copies = pool.map(lambda job: Home.copy(Path(folder).resolve() / str(job), names), range(asked.jobs))
        for home in copies:
            homes.put(home)
            broken = [name for name, entered in home.entered.items() if entered is None]
        for name in broken:
            print(f"the tests of {name} fail without any fault: its mutants are not counted")
        tried = [m for m in drawn if m.file not in broken]
        killed = list(pool.map(lambda m: lent(homes, m), tried))
    survivors = [m for m, dead in zip(tried, killed, strict=True) if not dead]
    print(f"{len(tried)} of {len(every)} mutants tried, {sum(killed)} noticed, {len(survivors)} survived", end="")
    print(f", {time.perf_counter() - began:.0f} s")
    for mutant in sorted(survivors):
        print(f"  {mutant}")
    return len(broken)


def lent(homes: "Queue[Home]", mutant: Mutant) -> bool:
    """Try a mutant in one of the copies, and give that back."""
    home = homes.get()
    try:
        return told(mutant, home.noticed(mutant))
    finally:
        homes.put(home)


def told(mutant: Mutant, dead: bool) -> bool:
    """Say how one mutant fared, for who waits."""
    print(f"{'noticed ' if dead else 'SURVIVED'} {mutant}", file=sys.stderr, flush=True)
    return dead


if __name__ == "__main__":
    sys.exit(main())
