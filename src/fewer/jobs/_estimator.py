"""What estimators share: validation in our words, and fits that leave nothing behind when they fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..door import InvalidInput


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


def validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """scikit-learn's `validate_data`; what it refuses is an `InvalidInput` with its sentence."""
    try:
        return validate_data(estimator, *data, **options)
    except InvalidInput:
        raise
    except Exception as error:  # what it raises depends on the type of the input
        raise InvalidInput(str(error) or f"the data cannot be read: {type(error).__name__}") from None


def seed_of(random_state: Any) -> int:
    """A seed drawn from `random_state`, as scikit-learn knows it."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"random_state must be None, an integer seed or a RandomState: {error}") from None
