"""What all estimators share: scikit-learn's checks with our error, and a fit that changes all or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..door import InvalidInput, as_numbers, is_frame, shown, unmasked


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Within it an estimator may set attributes; should an error leave it, the estimator is what it was before."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


@contextmanager
def our_error() -> Iterator[None]:
    """What scikit-learn's checks raise within it becomes `InvalidInput`; that a model is not fitted stays."""
    try:
        yield
    except (InvalidInput, NotFittedError):
        raise
    except Exception as error:  # arrays of objects raise what their entries raise
        raise InvalidInput(str(error)) from error


def readable(X: Any, name: str = "X") -> Any:
    """X for scikit-learn's checks, which would drop a mask, and would not say where in a frame a value is missing."""
    X = unmasked(X, name)
    if is_frame(X):
        as_numbers(X, name)
    return X


def validated(model: Any, X: Any, *args: Any, **options: Any) -> Any:
    """scikit-learn's `validate_data`, with `InvalidInput` for what it refuses."""
    with our_error():
        return validate_data(model, readable(X), *(unmasked(y, "y") for y in args), **options)


def seed_of(random_state: Any) -> int:
    """A seed drawn from scikit-learn's `random_state`."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except Exception as error:
        raise InvalidInput(
            f"random_state must be None, an integer in 0..2^32-1 or a RandomState, got {shown(random_state)}: {error}"
        ) from None
