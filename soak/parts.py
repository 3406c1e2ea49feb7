"""The parts of the campaign: which there are, and one case of one of them."""

import importlib
import importlib.util
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple
from zlib import crc32

import numpy as np

PARTS = (
    "answers",
    "inputs",
    "limits",
    "kills",
    "interrupts",
    "faults",
    "hostile",
    "structure",
    "same",
    "rows",
)
"""The names of the parts, each a module of this package; those that exist are run."""


class Part(NamedTuple):
    """One part of the campaign."""

    name: str
    case: Callable[[np.random.Generator], tuple[str, list[str]]]
    share: float = 1.0
    seconds: float = 120.0
    alone: bool = False


def existing() -> list[str]:
    """The names of the parts that are here."""
    return [name for name in PARTS if importlib.util.find_spec(f"soak.{name}") is not None]


def find(name: str) -> Part:
    """A part by its name, or by the path of a module outside this package ("package.module")."""
    module = importlib.import_module(f"soak.{name}" if name in PARTS else name)
    return Part(
        module.NAME,
        module.case,
        *(_setting(module, field) for field in ("share", "seconds", "alone")),
    )


def _setting(module: ModuleType, field: str) -> object:
    return getattr(module, field.upper(), Part._field_defaults[field])


def generator(name: str, seed: int, index: int) -> np.random.Generator:
    """The random numbers of case `index` of a part."""
    return np.random.default_rng([seed, crc32(name.encode()), index])


def attempt(part: Part, seed: int, index: int) -> tuple[str, list[str]]:
    """One case; what it raises is a problem like any other."""
    try:
        return part.case(generator(part.name, seed, index))
    except Exception:
        last = traceback.format_exc().strip().splitlines()
        return "the case itself", [
            f"the case raised {last[-1]} ({' | '.join(line.strip() for line in last[-5:-1])})"
        ]
