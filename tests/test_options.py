"""Options of a job: written once, and the same in signature, docstring, estimator and errors."""

import inspect
from dataclasses import dataclass

import pytest

import fewer
from fewer.jobs.bins.options import BinsOptions
from fewer.jobs.dims.options import DimsOptions
from fewer.jobs.points.options import PointsOptions
from fewer.jobs.terms.options import TermsOptions
from fewer.options import OneOf, Options, documented, option, takes

COUNT = "How many of each are kept."


def positive(value, name):
    if not value > 0:
        raise fewer.InvalidInput(f"{name} must be positive, got {value}")
    return float(value)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GridOptions(Options):
    job = "grid"
    shape: str = option("round", OneOf("round", "square"), "What is drawn.")
    width: float = option(1, "float", "Millimetres.", positive)
    least: int | None = option(None, "int, optional", COUNT)
    most: int | None = option(None, "int, optional", COUNT)
    include: tuple = option((), "list", "What is drawn in any case.", rows=True)


@takes(GridOptions)
def grid(X, k=3, **options):
    """Draw a grid.

    Parameters
    ----------
    X : array
        Where.
    {options}

    Returns
    -------
    GridOptions
    """
    return GridOptions.of(options)


def test_a_function_shows_each_option():
    found = inspect.signature(grid).parameters
    assert list(found)[:7] == ["X", "k", "shape", "width", "least", "most", "include"]
    assert list(found)[7:] == ["solver", "max_memory", "time_limit", "rng", "callback", "progress"]
    assert found["width"].default == 1
    assert found["width"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_docstring_has_each_text_once():
    text = inspect.getdoc(grid)
    assert 'shape : {"round", "square"}\n    What is drawn.\n' in text
    assert "least, most : int, optional\n    How many of each are kept.\n" in text
    assert text.count(COUNT) == 1
    assert text.endswith("Returns\n-------\nGridOptions")
    assert documented(None, GridOptions.fields()) is None


def test_options_are_checked_and_canonical():
    found = grid(0, width=2, max_memory="2KB")
    assert (found.width, found.max_memory, found.shape) == (2.0, 2000, "round")
    with pytest.raises(fewer.InvalidInput, match=r"^width must be positive, got -1$"):
        grid(0, width=-1)
    with pytest.raises(
        fewer.InvalidInput, match=r"^shape must be one of 'round', 'square', got 'oval'$"
    ):
        grid(0, shape="oval")


def test_an_unknown_name_says_the_nearest():
    with pytest.raises(
        fewer.InvalidInput, match=r"^'widht' is no option of grid; did you mean 'width'\?$"
    ):
        grid(0, widht=2)
    with pytest.raises(
        fewer.InvalidInput, match=r"'zzz' is no option of grid; options are shape, width"
    ):
        grid(0, zzz=2)


def test_options_show_what_differs():
    assert repr(grid(0)) == "GridOptions()"
    assert repr(grid(0, width=2, shape="round", include=[])) == "GridOptions(width=2.0)"
    assert repr(grid(0, include=[4])) == "GridOptions(include=[4])"


def test_a_road_refuses_what_it_cannot_serve_by_name():
    grid(0).refuse("width", "include", road="strips")
    grid(0, width=1.0, include=[]).refuse("width", "include", road="strips")
    with pytest.raises(fewer.InvalidInput, match=r"^include is not for strips$"):
        grid(0, include=[1]).refuse("width", "include", road="strips")
    with pytest.raises(fewer.InvalidInput, match=r"^'rng' is no option of strips$"):
        grid(0, rng=1, width=3).serve("width", road="strips")


def test_the_deadline_begins_once():
    found = grid(0, time_limit=60.0)
    assert found.deadline.limited
    assert found.replace(width=3).deadline is found.deadline


ESTIMATORS = {
    fewer.FewerDims: fewer.dims,
    fewer.FewerBins: fewer.bins,
    fewer.FewerTerms: fewer.terms,
    fewer.FewerPoints: fewer.points,
    fewer.FewerPointsClassifier: fewer.points,
    fewer.FewerSampler: fewer.points,
}
OWN = {"k", "by_label", "refine", "random_state", "verbose"}
"""Parameters that are no options of the function, or have another name there."""


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_has_the_options_of_its_job(estimator):
    function = inspect.signature(ESTIMATORS[estimator]).parameters
    own = inspect.signature(estimator).parameters
    for name in own.keys() - OWN:
        expected = (
            "cv"
            if estimator is fewer.FewerPointsClassifier and name == "gamma"
            else function[name].default
        )
        assert own[name].default == expected, name
    assert list(estimator().get_params()) == sorted(own)


@pytest.mark.parametrize("function", [fewer.points, fewer.bins, fewer.terms, fewer.dims])
def test_a_job_refuses_a_name_that_is_no_option(function):
    data = ([[0.0], [1.0]], [0.0, 1.0], 1) if function is fewer.terms else ([[0.0], [1.0]], 1)
    with pytest.raises(
        fewer.InvalidInput, match=r"'time_limt' is no option of \w+; did you mean 'time_limit'\?"
    ):
        function(*data, time_limt=1.0)


def test_what_is_said_of_rows_is_no_parameter_of_an_estimator():
    for options in (DimsOptions, BinsOptions, TermsOptions, PointsOptions):
        assert "sample_weight" in [one.name for one in options.fields() if one.rows]
