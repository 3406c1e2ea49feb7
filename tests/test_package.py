"""The package as a whole: its face, its import, its documents."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import fewer

ROOT = Path(__file__).parents[1]


def test_all_is_sorted_lazy_and_complete():
    assert sorted(fewer.__all__) == sorted(" ".join(fewer._HOMES.values()).split())
    for name in fewer.__all__:
        assert getattr(fewer, name) is not None
    assert set(fewer.__all__) < set(dir(fewer))
    assert not hasattr(fewer, "nothing_like_this")
    source = (ROOT / "src/fewer/__init__.py").read_text()
    assert (
        len(re.findall(r"^def ", source, re.MULTILINE)) == 2
    )  # __getattr__ and __dir__: no logic of its own


def test_import_compiles_nothing_and_pulls_in_nothing():
    code = (
        "import sys, fewer; print([m for m in ('numba', 'scipy', 'numpy', 'sklearn', 'jax') if m in"
        " sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


def test_importing_every_module_compiles_nothing():
    code = (
        "import fewer, numba.core.dispatcher as d\n"
        "def refuse(*a, **k): raise SystemExit('compiled at import')\n"
        "d.Dispatcher.compile = refuse\n"
        "[getattr(fewer, name) for name in fewer.__all__]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version_has_its_entry_in_the_changelog():
    assert f"## [{fewer.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_no_extra_is_empty():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert all(extras.values())


def test_every_private_module_is_protected():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    named = {name for contract in contracts for name in contract.get("protected_modules", ())}
    there = {
        f"fewer.{path.parent.name}.{path.stem}"
        for package in ("cli", "constraints", "data", "search", "jobs", "objectives", "solvers")
        for path in (ROOT / "src/fewer" / package).glob("_[a-z]*.py")
    }
    assert named == there


def test_no_name_is_defined_twice_across_solvers_and_engines():
    homes: dict[str, list[str]] = {}
    for package in ("solvers", "search"):
        for path in (ROOT / "src/fewer" / package).glob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    homes.setdefault(node.name, []).append(f"{package}/{path.name}")
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_scikit_learn_waits_for_an_estimator():
    """Importing it takes longer than most calls of a job."""
    jobs = ", ".join(f"fewer.report.{job}" for job in ("points", "bins", "columns"))
    slow = ("sklearn", "pandas", "matplotlib")
    code = f"import sys, {jobs}, fewer.cli._run; print([m for m in {slow} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"
