"""Summaries as arrays and JSON, and back: for files that hold no pickles."""

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput
from ..data.encode import Code, Encoding
from . import _bins_blocks as bins
from . import _dims_blocks as dims
from . import _dims_long as long
from . import _points_first as first
from . import _points_onepass as onepass
from . import _points_plan as plan
from . import _points_second as second
from . import _terms_blocks as terms
from ._block_columns import Chosen, Fills
from ._fills import FillSpec, FillSummary
from ._scaling import Standardization
from .comparison import Compared

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(bins.Sketch, bins.BinsSummary, bins.Cells, bins.CountedSummary),
        *(dims.DimsSpec, dims.LevelsSummary, dims.DimsSummary, long.LongSpec, long.ItemsSummary, long.LongSummary),
        *(
            terms.TermsSpec,
            terms.TermsSummary,
            onepass.Coreset,
            plan.PointsPlan,
            second.SecondSummary,
        ),
        *(first.PointsSpec, first.Candidates, first.Columns, first.FirstSummary),
        *(Chosen, Fills, FillSpec, FillSummary, Code, Encoding, Standardization, Compared),
    )
}
"""What may be packed: nothing else is made from a file."""


def packed(value: Any) -> dict[str, Any]:
    """Arrays by name, one of which is the JSON text that says what they are.

    >>> unpacked(packed([1.5, ("a", np.arange(2))]))
    [1.5, ('a', array([0, 1]))]
    """
    arrays: dict[str, Any] = {}

    def array(values: Any) -> str:
        name = f"a{len(arrays)}"
        arrays[name] = np.asarray(values)
        return name

    tree = _tree(value, array)
    return {**arrays, "tree": np.frombuffer(json.dumps(tree).encode(), np.uint8)}


def _tree(value: Any, array: Callable[[Any], str]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _tree(value.item(), array)
    if sp.issparse(value):
        return {"csr": [array(part) for part in (value.data, value.indices, value.indptr)], "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return {"objects": [_tree(entry, array) for entry in value.reshape(-1)], "shape": list(value.shape)}
        return {"array": array(value)}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"type": np.dtype(value).name}
    name = type(value).__name__
    if KINDS.get(name) is type(value):
        names = [field.name for field in fields(value)] if is_dataclass(value) else list(Compared._fields)
        return {"kind": name, "fields": {field: _tree(getattr(value, field), array) for field in names}}
    if isinstance(value, list | tuple):
        key = "list" if isinstance(value, list) else "tuple"
        return {key: [_tree(entry, array) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[_tree(key, array), _tree(entry, array)] for key, entry in value.items()]}
    raise InvalidInput(f"{type(value).__name__} cannot be kept in a file; leave --resume and blocks away")


def unpacked(arrays: Any) -> Any:
    """What was packed."""
    return _value(json.loads(bytes(np.asarray(arrays["tree"], np.uint8))), arrays)


def _value(tree: Any, arrays: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return np.asarray(arrays[tree["array"]])
    if "csr" in tree:
        return sp.csr_array(tuple(np.asarray(arrays[name]) for name in tree["csr"]), shape=tuple(tree["shape"]))
    if "objects" in tree:
        found = np.empty(len(tree["objects"]), object)
        found[:] = [_value(entry, arrays) for entry in tree["objects"]]
        return found.reshape(tree["shape"])
    if "type" in tree:
        return np.dtype(tree["type"]).type
    if "kind" in tree:
        return KINDS[tree["kind"]](**{name: _value(entry, arrays) for name, entry in tree["fields"].items()})
    if "list" in tree:
        return [_value(entry, arrays) for entry in tree["list"]]
    if "tuple" in tree:
        return tuple(_value(entry, arrays) for entry in tree["tuple"])
    return {_key(_value(key, arrays)): _value(entry, arrays) for key, entry in tree["dict"]}


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
