"""Docstrings of public names: the sections are there and name what there is."""

import inspect
import re

import numpy as np
import pytest

import fewer

NAMES = fewer.__all__
HEADING = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
INHERITED = {"n_features_in_", "feature_names_in_"}


def sections(thing):
    """Heading -> text of a numpydoc docstring."""
    parts = HEADING.split(inspect.cleandoc(thing.__doc__))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(text):
    """The names that a section explains: what stands at the margin before a colon."""
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return [name.strip() for line in lines for name in line.split(" : ")[0].split(",")]


def parameters(thing):
    """The names of the arguments, as a docstring writes them."""
    stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    return [stars.get(p.kind, "") + p.name for p in inspect.signature(thing).parameters.values()]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_named_and_there_is_an_example(name):
    thing = getattr(fewer, name)
    found = sections(thing)
    assert ">>> " in found["Examples"]
    if thing in (fewer.InvalidInput, fewer.Status):
        return  # an exception, and names of constants
    assert entries(found.get("Parameters", "")) == parameters(thing)
    if inspect.isfunction(thing):
        assert found["Returns"].strip()


def test_the_statuses_are_named():
    assert entries(sections(fewer.Status)["Attributes"]) == [status.name for status in fewer.Status]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (fewer.FewerBins(2), None),
        (fewer.FewerDims(2), None),
        (fewer.FewerPoints(2), None),
        (fewer.FewerPointsClassifier(2, gamma=1.0), np.arange(6) % 2),
        (fewer.FewerTerms(2), np.arange(6.0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_an_estimator_learns_is_named(model, y):
    X = np.array([[0, 1, 2], [1, 0, 2], [2, 2, 0], [1, 1, 1], [0, 0, 1], [0, 2, 0]])
    model.fit(X, y)
    names = {*vars(model), *dir(type(model))}
    learned = {name for name in names if name.endswith("_") and not name.startswith("_")}
    learned = {name for name in learned if hasattr(model, name)}
    assert set(entries(sections(type(model))["Attributes"])) == learned - INHERITED


def test_what_a_result_offers_is_named():
    found = sections(fewer.Result)
    offered = {
        name
        for name, thing in vars(fewer.Result).items()
        if not name.startswith("_") and not callable(thing)
    }
    named = entries(found["Attributes"]) + entries(found["Parameters"])
    assert sorted(named) == sorted({*offered, *parameters(fewer.Result)})
