"""Options of a job: name, default, check and text of each, once.

Signatures and docstrings are views of them.
"""

import dataclasses
import difflib
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from itertools import groupby
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ._validation import Fix, InvalidInput, as_bytes, as_flag, as_number, known, shown
from .deadline import Deadline
from .progress import watched_by_user
from .solvers.minimize import SOLVERS

WIDTH = 112
"""Columns of the text of an option in a docstring, before the indent of the docstring."""
MORE_MEMORY = Fix("max_memory")
IN_BLOCKS = (
    f"data in blocks; raise {MORE_MEMORY} so that half of it holds them, or give a sample of the"
    " rows"
)
"""What options that need all rows in memory are not for."""
Check = Callable[[Any, str], Any]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """An option: `check(value, name)` returns the canonical value.

    `rows` says that it is about single rows.
    """

    name: str
    default: Any
    kind: str
    text: str
    check: Check | None = None
    rows: bool = False


@dataclass(frozen=True)
class OneOf:
    """The check of an option that is one of some words, and its kind.

    >>> OneOf("kl", "l2")("kl", "objective"), str(OneOf("kl", "l2"))
    ('kl', '{"kl", "l2"}')
    """

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def __call__(self, value: Any, name: str) -> Any:
        """Refuse any other value."""
        known(value, dict.fromkeys(self.words), name)
        return value

    def __str__(self) -> str:
        return "{" + ", ".join(f'"{word}"' for word in self.words) + "}"


def option(
    default: Any, kind: str | OneOf, text: str, check: Check | None = None, *, rows: bool = False
) -> Any:
    """Return a field of `Options`: its default, its type and its text as a docstring has them, and its check."""
    if isinstance(kind, OneOf):
        check = kind
    about = {"kind": str(kind), "text": text, "check": check, "rows": rows}
    return dataclasses.field(default=default, metadata=about)


def as_least(value: Any, name: str) -> float:
    """Return a number that is at least 0."""
    return as_number(value, name, allow_equal=True)


def as_solver(value: Any, name: str) -> Any:
    """Return the name of a solver."""
    known(value, SOLVERS, name)
    return value


BEGINS_NOW = Deadline(0.0)
"""Stands for a deadline that begins when options are made."""
TIME_LIMIT = (
    "Wall time in seconds, but for compiling; a search goes on until it is over or the optimum is"
    " proven."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options:
    """Options of a job, checked; the ones that all jobs have come last.

    `deadline` begins when the options are made, and `label` is what a bar is called.
    """

    job: ClassVar[str] = ""
    solver: str = option("auto", "str", "How the answer is searched for.", as_solver)
    max_memory: int = option("1GB", "int or str", 'Bytes, or "500MB".', as_bytes)
    time_limit: float | None = option(None, "float, optional", TIME_LIMIT)
    rng: Any = option(None, "None, int or Generator", "Seed or generator of the random choices.")
    callback: Any = option(
        None,
        "callable, optional",
        "Called with the progress so far; a true return value stops the run.",
    )
    progress: bool = option(
        False, "bool", "Whether to show a progress bar, in a terminal or a notebook.", as_flag
    )
    deadline: Deadline = BEGINS_NOW
    label: str = ""

    def __post_init__(self) -> None:
        if self.deadline is BEGINS_NOW:
            object.__setattr__(self, "deadline", Deadline.after(self.time_limit))
        for one in self.fields():
            if one.check is not None:
                object.__setattr__(self, one.name, one.check(getattr(self, one.name), one.name))
        self.check()

    def check(self) -> None:
        """Refuse options that contradict each other."""

    @classmethod
    def fields(cls) -> list[Option]:
        """Return the options of the job, those that all jobs have last."""
        every = [one for one in dataclasses.fields(cls) if one.metadata]
        shared = {one.name for one in dataclasses.fields(Options)}
        every.sort(key=lambda one: one.name in shared)
        return [Option(one.name, one.default, **one.metadata) for one in every]

    @classmethod
    def of(cls, values: Mapping[str, Any], **more: Any) -> Self:
        """Return options as a user names them; an unknown name is refused."""
        names = [one.name for one in cls.fields()]
        for name in values:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"options are {', '.join(names)}"
                raise InvalidInput(f"{name!r} is no option of {cls.job}; {hint}")
        return cls(**values, **more)

    def differs(self, name: str) -> bool:
        """Return whether an option has another value than its default."""
        one = next(one for one in self.fields() if one.name == name)
        default = one.default if one.check is None else one.check(one.default, name)
        value = getattr(self, name)
        if isinstance(default, tuple):
            return bool(np.size(value))
        return value is not default and not (np.isscalar(value) and value == default)

    def refuse(self, *names: str, road: str) -> None:
        """Refuse those of these options that differ from their default: they are not for `road`."""
        for name in names:
            if self.differs(name):
                raise refused(name, road)

    def serve(self, *names: str, road: str) -> None:
        """Refuse all options but these where they differ from their default: `road` has no others."""
        for one in self.fields():
            if one.name not in names and self.differs(one.name):
                raise InvalidInput(f"{one.name!r} is no option of {road}")

    def replace(self, **changes: Any) -> Self:
        """Return options with some other values; the deadline stays."""
        return dataclasses.replace(self, **changes)

    @contextmanager
    def watched(self) -> Iterator[Self]:
        """Show a bar where it is asked for; the callback of the options given feeds it."""
        label = self.label or self.job
        with watched_by_user(self.progress, label, self.deadline, self.callback) as callback:
            yield self.replace(callback=callback)

    def __repr__(self) -> str:
        names = [one.name for one in self.fields() if self.differs(one.name)]
        values = ", ".join(f"{name}={shown(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({values})"


def refused(name: str, road: str) -> InvalidInput:
    """Return the error about an option that is not for `road`."""
    return InvalidInput(
        f"{name} is not for {road}", name, [MORE_MEMORY] if road == IN_BLOCKS else ()
    )


def parameters(options: Iterable[Option]) -> list[Parameter]:
    """Return options as keyword arguments of a signature."""
    return [Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default) for one in options]


def text_of(options: Iterable[Option], indent: str = "    ") -> str:
    """Return options as a section of a docstring; neighbours with the same text are one entry."""
    lines = []
    for (kind, text), alike in groupby(options, lambda one: (one.kind, one.text)):
        lines.append(f"{', '.join(one.name for one in alike)} : {kind}")
        filled = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        lines += [f"    {line}" for line in filled]
    return f"\n{indent}".join(lines)


def documented(text: str | None, options: Iterable[Option]) -> str | None:
    """Return a docstring with the text of options in place of `{options}`."""
    if text is None:
        return None
    indent = text.partition("{options}")[0].rpartition("\n")[2]
    return text.replace("{options}", text_of(options, indent))


def takes(options: type[Options]) -> Callable[[Function], Function]:
    """Give a function `f(X, k, **options)` the signature and the docstring with each option named."""

    def decorated(function: Function) -> Function:
        own = signature(function)
        first = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        every = [*first, *parameters(options.fields())]
        named: Any = function
        named.__signature__ = Signature(every, return_annotation=own.return_annotation)
        named.__doc__ = documented(function.__doc__, options.fields())
        return function

    return decorated
