"""What estimators share: scikit-learn's checks with our error, and fits that leave nothing behind when they fail."""

import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import (
    SEEDS,
    InvalidInput,
    as_array,
    as_integer,
    as_numbers,
    as_sparse,
    callers_level,
    gathered,
    is_frame,
    read,
    shown,
    unmasked,
)
from ..options import Option, Options, documented, parameters
from ..progress import as_verbose
from ..result import Result


class Shown:
    """The diagram of scikit-learn in notebooks, with what was kept once it is fitted, and a picture."""

    def plot(self, ax: Any = None) -> Any:
        """Draw what was kept; where there are several results, the first.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        return _results(self)[0].plot(ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        text = {"text/plain": repr(self)}
        return (
            {**text, "text/html": self._repr_html_()}
            if get_config()["display"] == "diagram"
            else text
        )

    def _repr_html_(self) -> str:
        """The diagram, and the tables of the results."""
        tables = [result._repr_html_() for result in _results(self)]
        return str(estimator_html_repr(self)) + "".join(tables[:MAX_SHOWN_RESULTS])


OF_ESTIMATORS = {
    "rng": Option(
        "random_state",
        None,
        "None, int or RandomState",
        "Seed or generator of the random choices.",
    ),
    "progress": Option("verbose", 0, "int", "1 shows a progress bar, in a terminal or a notebook."),
}
"""What scikit-learn calls options of functions."""


class Estimator(Shown, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """An estimator whose parameters are k and the options of a job that are not about single rows.

    `class FewerDims(Estimator, options=DimsOptions, withheld=("order", "item"))` has all options
    but `callback` and those withheld; `{options}` in its docstring becomes their text.
    """

    _of_job: ClassVar[type[Options]] = Options
    _given: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls, options: type[Options] | None = None, withheld: Sequence[str] = (), **more: Any
    ) -> None:
        if options is not None:
            without = {"callback", *withheld}
            every = [one for one in options.fields() if not one.rows and one.name not in without]
            cls._of_job = options
            cls._given = tuple(one.name for one in every if one.name not in OF_ESTIMATORS)
            every = [OF_ESTIMATORS.get(one.name, one) for one in every]
            cls.__init__ = _constructor(every)  # type: ignore[method-assign]
            cls.__doc__ = documented(cls.__doc__, every)
        super().__init_subclass__(**more)

    def _options(self, **rows: Any) -> Any:
        """The options of a fit: the parameters, and what is said of single rows."""
        given = {name: getattr(self, name) for name in self._given}
        given["rng"] = seed_of(self.random_state)
        given["progress"] = as_verbose(self.verbose)
        return self._of_job.of({**given, **rows}, label=type(self).__name__)


def _constructor(options: Sequence[Option]) -> Any:
    """`__init__(self, k=10, *, ...)`, which sets parameters as attributes and nothing else."""
    first = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("k", Parameter.POSITIONAL_OR_KEYWORD, default=10),
    ]
    named = Signature([*first, *parameters(options)])

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
        bound = named.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = named  # type: ignore[attr-defined]
    return __init__


MAX_SHOWN_RESULTS = 5
"""Results of one estimator, for its columns or targets, that a notebook shows."""


def _results(estimator: Any) -> list[Result]:
    """What was found, one for each column or target; nothing before it is fitted."""
    found = getattr(estimator, "result_", [])
    return found if isinstance(found, list) else [found]


@contextmanager
def unchanged_if_it_fails(estimator: Any) -> Iterator[None]:
    """Within the block, an error leaves the estimator's attributes as they were before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class Streaming:
    """What estimators with `partial_fit` share: an answer is found when one of its attributes is asked for.

    `_stream` holds what is kept of the rows so far. An estimator says how it answers by `_answer`,
    which sets the attributes that `fit` sets.
    """

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        if (
            name.endswith("_")
            and not name.endswith("__")
            and own.get("_stream") is not None
            and not own["_answered"]
        ):
            own["_answered"] = True
            try:
                self._answer()
            except BaseException:
                own["_answered"] = False
                raise
            if name in own:
                return own[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _answer(self) -> None:
        raise NotImplementedError

    def _streamed(self, stream: Any) -> None:
        """Go on with a stream: what was answered before is forgotten, but for what is known of the columns."""
        for name in [
            name for name in vars(self) if name.endswith("_") and name not in ABOUT_COLUMNS
        ]:
            delattr(self, name)
        self._stream, self._answered = stream, False

    def _no_stream(self) -> None:
        """Begin anew."""
        self._stream, self._answered = None, False


ABOUT_COLUMNS = ("n_features_in_", "feature_names_in_")
"""What `partial_fit` learns at its first call and keeps."""


@contextmanager
def our_error() -> Iterator[None]:
    """What scikit-learn's checks raise within it becomes `InvalidInput`; that a model is not fitted stays."""
    try:
        yield
    except (InvalidInput, NotFittedError):
        raise
    except Exception as error:  # what it raises depends on the type of the input
        raise InvalidInput(
            str(error) or f"the data cannot be read: {type(error).__name__}"
        ) from None


def readable(X: Any, name: str = "X", missing: bool = False) -> Any:
    """X for scikit-learn's checks, once it is known to be a table of numbers without masked or missing entries.

    They would drop a mask, read text as numbers, and not say where in a frame a value is missing. A
    dict they refuse themselves, in words that their own tests of estimators ask for.
    """
    X = unmasked(gathered(X), name)
    if sp.issparse(X):
        if len(X.shape) != 2:
            raise InvalidInput(
                f"{name} must have shape (rows, columns), got a sparse array of shape {X.shape}"
            )
        as_sparse(X, name)
        return X
    array = read(X, name)
    objects = array.dtype.kind == "O" and not any(isinstance(x, dict) for x in array.flat)
    if objects and missing and not is_frame(X):
        as_numbers(_without_gaps(array), name)
    elif is_frame(X) or objects or array.dtype.kind in "mMSUV":
        as_numbers(X, name)
    return as_array(X, name) if array.dtype == np.longdouble else X


def _without_gaps(array: Any) -> Any:
    """An array of objects with 0 where there is None or NaN."""
    gaps = [entry is None or (isinstance(entry, float) and entry != entry) for entry in array.flat]
    return np.where(np.reshape(gaps, array.shape), 0.0, array)


def validated(estimator: Any, X: Any, *data: Any, missing: bool = False, **options: Any) -> Any:
    """scikit-learn's `validate_data`; what it refuses is an `InvalidInput` with its sentence.

    `missing` says whether values of X may be missing.
    """
    X = readable(gathered(X), missing=missing)
    for y in data:
        labels = read(unmasked(y, "y"), "y")
        if (
            options.get("y_numeric") and y is not None and labels.dtype.kind != "c"
        ):  # which scikit-learn names
            labels = as_numbers(y, "y")
        if labels.dtype == np.longdouble:
            as_array(labels, "y")
    with our_error():
        return validate_data(estimator, X, *data, **options)


def at_most(k: Any, most: int, what: str) -> int:
    """The number k, or all there is with a warning where it is more."""
    asked = as_integer(k, "k", 1)
    if asked > most:
        sentence = f"k = {shown(asked)} is more than the {most} {what} there are; all are kept"
        warnings.warn(sentence, stacklevel=callers_level())
    return min(asked, most)


def seed_of(random_state: Any) -> int:
    """The seed `random_state`, as `rng` of the functions takes it; drawn where it is None or a RandomState."""
    try:
        if isinstance(random_state, numbers.Integral) and 0 <= int(random_state) < 2**32:
            return int(random_state)
        return int(check_random_state(random_state).randint(SEEDS))
    except Exception:  # what it raises depends on the type
        raise InvalidInput(
            f"random_state must be None, an integer in 0..2^32-1 or a RandomState, got {shown(random_state)}"
        ) from None
