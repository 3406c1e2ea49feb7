"""Inputs: public functions and estimators called with odd and wrong types, shapes, dtypes, formats and options.

One case is one call, a few milliseconds. It fails when anything but an answer or `InvalidInput`
with a sentence comes out, when a warning of NumPy, SciPy or pandas leaks, when something of the
caller's is changed, when numbers in an unusual but good form are refused, or when an answer that is
easy to recompute is wrong.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from fewer import InvalidInput

from . import input_estimators, odd
from .draws import one_of
from .input_calls import GROUPS, Arg, Rng, Target, operators
from .input_options import options

NAME = "inputs"
EVERY = {**GROUPS, "options": (options, 0.35)}
RAW = re.compile(
    r"setting an array element|could not be broadcast|truth value of|unsupported operand|has no"
    r" attribute|"
    r"not subscriptable|not iterable|has no len|only (0-dim|length-1|integer)|zero-size"
    r" array|inhomogeneous|"
    r"ufunc '|out of bounds|positional argument|not callable|must be real number, not|could not"
    r" convert|"
    r"invalid literal|not supported between|cannot reshape|dimension mismatch|matmul|Errno"
)
"""What NumPy, SciPy and Python say to programmers; a message to users has no such words."""


class Outcome(NamedTuple):
    """What a call did: its answer or its error, and the warnings that leaked."""

    answer: Any
    error: BaseException | None
    leaked: list[str]


def case(rng: Rng) -> tuple[str, list[str]]:
    """One call: what was called, and what was wrong."""
    if rng.random() < 0.25:
        return input_estimators.case(rng, watched, troubles)
    group = one_of(
        rng, [make for make, _ in EVERY.values()], [share for _, share in EVERY.values()]
    )
    targets = list(group(rng))
    target = targets[int(rng.integers(len(targets)))]
    forms = drawn(target, rng)
    text = f"{target.name}({', '.join(f'{name}={form.text}' for name, form in forms.items())})"
    arguments = {name: form.value for name, form in forms.items()}
    outcome, changed = watched(lambda: target.call(**arguments), arguments)
    wrong = troubles(outcome) + changed
    if all(form.same for form in forms.values()) and not dense_only(forms):
        wrong += judged(target, outcome, forms)
    return text, wrong


def dense_only(forms: dict[str, odd.Form]) -> bool:
    """Whether sparse rows meet a similarity that compares dense ones, and so are refused."""
    sparse = any(form.text in odd.SPARSE for form in forms.values())
    return sparse and "similarity" in forms and forms["similarity"].value in ("laplace", "hamming")


def drawn(target: Target, rng: Rng) -> dict[str, odd.Form]:
    """The arguments of a call: one or two of them odd, the others plain."""
    names = [name for name, arg in target.args.items() if rng.random() < arg.given]
    count = int(rng.choice([0, 1, 1, 1, 2]))
    movable = [name for name in names if target.args[name].kind != "plain"]
    oddly = set(rng.permutation(movable)[:count].tolist())
    return {
        name: (odd_form if name in oddly else plain_form)(target.args[name], rng) for name in names
    }


def plain_form(arg: Arg, rng: Rng) -> odd.Form:
    """An argument as anybody would write it; `same` compares with this very value."""
    value = arg.plain
    if arg.kind == "choice":
        value = value[int(rng.integers(len(value)))]
    return odd.Form(odd.text_of(value), value, same=True)


def odd_form(arg: Arg, rng: Rng) -> odd.Form:
    """An argument in an odd or wrong form."""
    return FORMS[arg.kind](arg, rng)


def codes_form(arg: Arg, rng: Rng) -> odd.Form:
    """Integers in some type, or something else."""
    if rng.random() < 0.4:
        kind = odd.pick(rng, ("int8", "int16", "uint8", ">i4", "int64", "object"))
        return odd.Form(kind, np.asarray(arg.plain).astype(kind), same=True)
    form = odd.table(rng, np.asarray(arg.plain, float), False)
    return form._replace(same=False)


def labels_form(arg: Arg, rng: Rng) -> odd.Form:
    """Labels: numbers, text, or what cannot be sorted."""
    n = len(arg.plain)
    forms: dict[str, Callable[[], Any]] = {
        "list": lambda: np.asarray(arg.plain).tolist(),
        "text": lambda: [str(x) for x in arg.plain],
        "category": lambda: pd.Series([str(x) for x in arg.plain], dtype="category"),
        "mixed": lambda: [0, "a", *arg.plain[2:]],
        "None": lambda: [None] * n,
        "nan": lambda: [float("nan")] * n,
        "NA": lambda: pd.array([pd.NA, *range(n - 1)], dtype="Int64"),
        "masked": lambda: np.ma.array(np.arange(n), mask=[True] + [False] * (n - 1)),
        "dates": lambda: np.full(n, np.datetime64("2020-01-01")),
        "ragged": lambda: [[0], [1, 2]],
        "opaque": lambda: [odd.Opaque() for _ in range(n)],
    }
    if rng.random() < 0.3:
        return odd.table(rng, np.asarray(arg.plain, float), False)._replace(same=False)
    name = odd.pick(rng, forms)
    return odd.Form(name, forms[name](), same=False)


def sizes_form(arg: Arg, rng: Rng) -> odd.Form:
    """Cardinalities: one number, several, or neither."""
    if rng.random() < 0.5:
        return odd.integer(rng, 4)._replace(same=False)
    return codes_form(arg, rng)._replace(same=False)


def units_form(arg: Arg, rng: Rng) -> odd.Form:
    """A list of indices in some form; it means the plain one where that is the first unit."""
    form = odd.units(rng, 2)
    return form if arg.plain == [0] else form._replace(same=False)


def callback_form(arg: Arg, rng: Rng) -> odd.Form:
    """A function that returns nonsense, or none at all."""
    returned = [
        None,
        True,
        "x",
        np.array([1.0, 2.0]),
        [[1], [1, 2]],
        np.nan,
        1j,
        odd.Hostile(),
        10**400,
    ]
    value = returned[int(rng.integers(len(returned)))]
    if rng.random() < 0.5:
        return odd.Form(f"lambda: {odd.text_of(value)}", lambda *_: value, same=False)
    return odd.thing(rng, calls=False)


def path_form(arg: Arg, rng: Rng) -> odd.Form:
    """A name that no file can have."""
    bad = ["", "a\0b", None, 3, b"x", [], 1.5, odd.Opaque(), "a" * 30]
    value = bad[int(rng.integers(len(bad)))]
    return odd.Form(odd.text_of(value), value, same=False)


def choice_form(arg: Arg, rng: Rng) -> odd.Form:
    """A name that is not on the list, or no name."""
    wrong = [
        "",
        "EXACT",
        "exact ",
        np.str_("exact"),
        b"exact",
        ["exact"],
        ("kl",),
        np.array("exact"),
        np.array(["a", "b"]),
    ]
    value = (
        wrong[int(rng.integers(len(wrong)))]
        if rng.random() < 0.6
        else odd.thing(rng, calls=False).value
    )
    return odd.Form(odd.text_of(value), value, same=False)


def operator_form(arg: Arg, rng: Rng) -> odd.Form:
    """A matrix in some form, or an operator."""
    made = operators(arg.plain)
    at = int(rng.integers(2 * len(made)))
    return (
        odd.table(rng, arg.plain, arg.sparse)
        if at >= len(made)
        else odd.Form(f"operator {at}", made[at], same=False)
    )


def other(rng: Rng, values: list[Any]) -> odd.Form:
    """One of some values, or a thing of no type that anybody asked for."""
    value = values[int(rng.integers(len(values)))]
    return (
        odd.Form(odd.text_of(value), value, same=False)
        if rng.random() < 0.5
        else odd.number(rng, 0.5)._replace(same=False)
    )


FORMS: dict[str, Callable[[Arg, Rng], odd.Form]] = {
    "table": lambda arg, rng: odd.table(rng, arg.plain, arg.sparse),
    # of another's container
    "beside": lambda arg, rng: odd.table(rng, arg.plain, arg.sparse)._replace(same=False),
    "codes": codes_form,
    "labels": labels_form,
    "sizes": sizes_form,
    "integer": lambda arg, rng: odd.integer(rng, arg.plain),
    "count": lambda arg, rng: odd.Form("3", np.int8(3), False) if rng.random() < 0.3 else odd.thing(rng),
    "number": lambda arg, rng: odd.number(rng, arg.plain),
    "units": units_form,
    "choice": choice_form,
    "callback": callback_form,
    "any": lambda arg, rng: odd.thing(rng),
    "space": lambda arg, rng: odd.thing(rng),
    "seconds": lambda arg, rng: odd.seconds(rng),
    "seed": lambda arg, rng: odd.seed(rng),
    "path": path_form,
    "operator": operator_form,
    "bandwidth": lambda arg, rng: other(rng, ["median", "scale", "cv", "wide", "", b"median"]),
    "bytes": lambda arg, rng: other(rng, ["1GB", "5", "0MB", "1.5 kb", "-1MB", "MB", "9" * 400 + "GB", 10**6, b"1GB"]),
}  # fmt: skip


def watched(call: Callable[[], Any], arguments: dict[str, Any]) -> tuple[Outcome, list[str]]:
    """Make a call; what came of it, and which of the caller's things it changed."""
    before = {name: odd.fingerprint(value) for name, value in arguments.items()}
    answer, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as raised:
            error = raised
    leaked = [f"{w.category.__name__}: {w.message}" for w in caught if not deliberate(w)]
    changed = [
        f"the caller's {name} was changed"
        for name, value in arguments.items()
        if odd.fingerprint(value) != before[name]
    ]
    return Outcome(answer, error, leaked), changed


def deliberate(w: warnings.WarningMessage) -> bool:
    """Whether a warning is ours, or scikit-learn's about its own conventions."""
    return w.category is UserWarning or w.category.__module__.startswith("sklearn")


def troubles(outcome: Outcome) -> list[str]:
    """Faults of how a call ended, whatever was asked."""
    wrong = [f"a warning leaked: {text:.120}" for text in outcome.leaked]
    error = outcome.error
    if error is None or isinstance(error, NotFittedError):
        return wrong
    text = " ".join(str(error).split())
    if not isinstance(error, InvalidInput):
        return [*wrong, f"raised {type(error).__name__}: {text:.200}"]
    if len(text) < 15 or " " not in text:
        return [*wrong, f"the message is no sentence: {text!r}"]
    return [*wrong, f"the message is raw: {text:.200}"] if RAW.search(text) else wrong


def judged(target: Target, outcome: Outcome, forms: dict[str, odd.Form]) -> list[str]:
    """Faults of the answer to arguments that mean the plain ones."""
    plain = {name: target.args[name].plain for name in forms}
    plain.update({name: forms[name].value for name in forms if target.args[name].kind == "choice"})
    if outcome.error is not None:
        refused = watched(lambda: target.call(**plain), {})[0].error
        text = str(outcome.error)
        return (
            []
            if refused is not None
            else [f"refused what means the same as a plain argument: {text:.200}"]
        )
    return [] if target.judge is None else target.judge(outcome.answer, plain)
