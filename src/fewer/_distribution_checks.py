"""What is checked of the parts of a distribution."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._validation import Indices, InvalidInput, Vector, as_array, as_numbers, shown


def as_integers(x: Any, name: str) -> Indices:
    """`x` as int64 of any shape, in C order; whatever integer type and byte order it came in."""
    array = as_numbers(x, name)
    if array.size and (array.dtype.kind not in "iu" or int(array.max()) >= 2**63):
        raise InvalidInput(f"{name} must hold integers below 2^63, got {array.dtype} ({shown(x)})")
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


def check_states(
    codes: Indices, weights: Vector, dims: Indices, sizes: Indices, origin: Indices
) -> None:
    """Refuse arrays that do not list states of one space."""
    if not weights.ndim == dims.ndim == sizes.ndim == 1 or codes.shape != (weights.size, dims.size):
        raise InvalidInput(
            f"the arrays do not fit together: codes {codes.shape}, weights {weights.shape}, dims {dims.shape}, "
            f"shape {sizes.shape}; codes must have a row for each weight and a column for each of dims"
        )
    if origin.shape != sizes.shape or sizes.size == 0:
        raise InvalidInput(
            f"the arrays do not fit together: origin {origin.shape}, shape {sizes.shape}"
        )
    if (sizes < 1).any():
        raise InvalidInput(
            f"shape must hold the entries of each dimension, at least 1, got {sizes.min()}"
        )
    if np.unique(dims).size != dims.size:
        raise InvalidInput(f"dims must be distinct, got {shown(dims.tolist())}")
    inside = not dims.size or (dims.min() >= 0 and dims.max() < sizes.size)
    if (
        not inside
        or ((codes < 0) | (codes >= sizes[dims])).any()
        or ((origin < 0) | (origin >= sizes)).any()
    ):
        raise InvalidInput("a state lies outside its space")


def check_line(
    values: Any, edges: Any, n_states: int, shape: tuple[int, ...], rest: float
) -> tuple[Any, Any]:
    """`values` (s,) and `edges` (s, 2) of a distribution on a line; None where they are not given."""
    if values is None:
        if edges is not None:
            raise InvalidInput("edges belong to values, and there are none")
        return None, None
    at = as_array(values, "values")
    if len(shape) > 1 or rest:
        raise InvalidInput(
            f"values are for one dimension without rest, got {len(shape)} dimensions and rest {rest:g}"
        )
    if at.shape != (n_states,):
        raise InvalidInput(
            f"values must be one for each of {n_states} states, got shape {at.shape}"
        )
    if edges is None:
        return at, None
    ends = as_array(edges, "edges")
    if ends.shape != (n_states, 2):
        raise InvalidInput(f"edges must have shape ({n_states}, 2), got {ends.shape}")
    outside = np.flatnonzero((at < ends[:, 0]) | (at > ends[:, 1]))
    if outside.size:
        i = int(outside[0])
        raise InvalidInput(
            f"edges must hold their values: value {i} is {at[i]:g}, its edges are {ends[i].tolist()}"
        )
    return at, ends


def as_points(x: Any, name: str) -> npt.NDArray[Any]:
    """Numbers of any shape, infinite ones too."""
    array = as_numbers(x, name)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InvalidInput(f"{name} must be numbers, got nan")
    return array


def unwrapped(values: npt.NDArray[Any]) -> Any:
    """A float for an array without dimensions."""
    return float(values) if values.ndim == 0 else values
