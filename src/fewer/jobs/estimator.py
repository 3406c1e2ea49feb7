"""What estimators share: parameters that are a job's options, fits that fail without a trace, attributes of `result_`."""

import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
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
    as_integer,
    as_numbers,
    as_sparse,
    callers_level,
    gathered,
    is_frame,
    read,
    shown,
)
from ..options import Option, Options, documented, parameters
from ..progress import as_verbose
from ..result import Result
from ..row_blocks import Tree
from ..tables.frames import is_table, known_name, names_of, take_columns

SKLEARN_OPTIONS = {
    "rng": Option(
        "random_state",
        None,
        "None, int or RandomState",
        "Seed or generator of the random choices.",
    ),
    "progress": Option("verbose", 0, "int", "1 shows a progress bar, in a terminal or a notebook."),
}
"""Options of functions that scikit-learn calls otherwise."""
MAX_SHOWN_RESULTS = 5
"""Results of one estimator, for its columns or targets, that a notebook shows."""
ABOUT_COLUMNS = ("n_features_in_", "feature_names_in_")
"""What `partial_fit` learns at its first call and keeps."""


class Learned:
    """An attribute of a fitted estimator: a field of its `result_`, or what is set together with that.

    Where there are several results a field is a list.
    """

    def __init__(self, field: str = "") -> None:
        self.field = field

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self
        results = estimator.result_
        if self.field:
            if isinstance(results, list):
                return [getattr(result, self.field) for result in results]
            return getattr(results, self.field)
        if self.name not in vars(estimator):
            raise AttributeError(f"this fit of {type(estimator).__name__} sets no {self.name}")
        return vars(estimator)[self.name]


class Estimator(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """An estimator whose parameters are k and the options of a job that are not about single rows.

    `class FewerDims(Estimator, options=DimsOptions, withheld=("order", "item"))` has all options
    but `callback` and those withheld; `{options}` in its docstring becomes their text. A fit sets
    `result_`, from which the other attributes are read. Rows of `partial_fit` are summarised in
    `_stream`, and `result_` is found by `_solved` when it is first read.
    """

    _job: ClassVar[type[Options]] = Options
    _option_names: ClassVar[tuple[str, ...]] = ()
    _stream: Tree[Any] | None = None

    indices_: Any = Learned("indices")
    value_: Any = Learned("value")
    bound_: Any = Learned("bound")
    gap_: Any = Learned("gap")

    def __init_subclass__(
        cls, options: type[Options] | None = None, withheld: Sequence[str] = (), **more: Any
    ) -> None:
        if options is not None:
            without = {"callback", *withheld}
            every = [one for one in options.fields() if not one.rows and one.name not in without]
            cls._job = options
            cls._option_names = tuple(one.name for one in every if one.name not in SKLEARN_OPTIONS)
            every = [SKLEARN_OPTIONS.get(one.name, one) for one in every]
            cls.__init__ = _constructor(every)  # type: ignore[method-assign]
            cls.__doc__ = documented(cls.__doc__, every)
        super().__init_subclass__(**more)

    def _options(self, **rows: Any) -> Any:
        """Return the options of a fit: the parameters, and what is said of single rows."""
        parameters = {name: getattr(self, name) for name in self._option_names}
        parameters["rng"] = seed_of(self.random_state)
        parameters["progress"] = as_verbose(self.verbose)
        return self._job.of({**parameters, **rows}, label=type(self).__name__)

    @contextmanager
    def _fitting(self, **rows: Any) -> Iterator[Any]:
        """Learn anew within it, with the options.

        Where that fails the estimator stays as it was.
        """
        with self._restored(), self._options(**rows).watched() as options:
            self._forget()
            yield options

    @contextmanager
    def _restored(self) -> Iterator[None]:
        """Within it, an error leaves the attributes as they were before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget(self, *but: str) -> None:
        """Delete what was learned, but for the attributes `but`."""
        self._stream = None
        for name in list(vars(self)):
            if name.endswith("_") and name not in but:
                delattr(self, name)

    def _update(self, summary: Any) -> None:
        """Merge the summary of more rows into the stream.

        The answer is found when it is asked for.
        """
        levels = [] if self._stream is None else [list(level) for level in self._stream.levels]
        tree = Tree(type(summary).merged, levels)
        tree.add(summary)
        self._forget(*ABOUT_COLUMNS)
        self._stream = tree

    @cached_property
    def result_(self) -> Any:
        """The result for the rows of `partial_fit`; `fit` sets it at once."""
        if self._stream is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        with self._restored(), self._options().watched() as options:
            return self._solved(self._stream.root(), options)

    def _solved(self, summary: Any, options: Any) -> Any:
        """Return the result, or one for each column, from the summary of all rows."""
        raise NotImplementedError

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
        return self._results()[0].plot(ax)

    def _results(self) -> list[Result]:
        """Return the results, one for each column or target; none before it is fitted."""
        results = getattr(self, "result_", [])
        return results if isinstance(results, list) else [results]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_()
        return bundle

    def _repr_html_(self) -> str:
        """Return the diagram of scikit-learn, and tables of the results."""
        tables = [result._repr_html_() for result in self._results()[:MAX_SHOWN_RESULTS]]
        return "".join([str(estimator_html_repr(self)), *tables])


def _constructor(options: Sequence[Option]) -> Any:
    """Return `__init__(self, k=10, *, ...)`, which sets parameters as attributes and nothing else."""
    first = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("k", Parameter.POSITIONAL_OR_KEYWORD, default=10),
    ]
    signature = Signature([*first, *parameters(options)])

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **named)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


@contextmanager
def our_error() -> Iterator[None]:
    """Turn what scikit-learn's checks raise into `InvalidInput`, but for a model that is not fitted."""
    try:
        yield
    except (InvalidInput, NotFittedError):
        raise
    except Exception as error:  # what it raises depends on the type of the input
        raise InvalidInput(
            str(error) or f"the data cannot be read: {type(error).__name__}"
        ) from None


def readable(X: Any) -> Any:
    """Return X for scikit-learn's checks, which would read text as numbers and drop a mask."""
    X = gathered(X)
    if sp.issparse(X):
        as_sparse(X, "X")
        return X
    array = read(X, "X")
    words = array.dtype.kind == "O" and any(isinstance(x, (str, list)) for x in array.flat)
    if words or is_frame(X) or array.dtype.kind in "mMSUV":
        as_numbers(X, "X")
    return X


def validated(estimator: Any, X: Any, *data: Any, **options: Any) -> Any:
    """Return what scikit-learn's `validate_data` returns; what it refuses is an `InvalidInput`."""
    X = readable(X)
    if options.get("y_numeric") and data and read(data[0], "y").dtype.kind in "mMSUV":
        as_numbers(data[0], "y")
    with our_error():
        return validate_data(estimator, X, *data, **options)


def check_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Keep the names and the number of the columns of a table, or compare them with those that are kept."""
    with our_error():
        validate_data(estimator, X, skip_check_array=True, reset=reset)


def with_target(X: Any, y: Any) -> tuple[Any, Any]:
    """Return X and y; where y names a column of the table X, the other columns and that one."""
    if not isinstance(y, str) or not is_frame(X):
        return X, y
    X = gathered(X)
    names = names_of(X)
    target = X[known_name(y, names, "y")]
    others = take_columns(X, [i for i, name in enumerate(names) if name != y])
    return others, target if is_table(target) else np.asarray(target)


def at_most(k: Any, most: int, what: str) -> int:
    """Return the number k, or all there is with a warning where it is more."""
    count = as_integer(k, "k", 1)
    if count > most:
        sentence = f"k = {shown(count)} is more than the {most} {what} there are; all are kept"
        warnings.warn(sentence, stacklevel=callers_level())
    return min(count, most)


def seed_of(random_state: Any) -> int:
    """Return the seed `random_state`, as `rng` of the functions takes it.

    Drawn where it is none.
    """
    if isinstance(random_state, numbers.Integral):
        return as_integer(random_state, "random_state", 0, 2**32 - 1)
    with our_error():
        return int(check_random_state(random_state).randint(SEEDS))
