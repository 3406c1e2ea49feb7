"""Inputs as people have them: odd but good ones give the plain answer, wrong ones a sentence.

Nothing of the caller's
is changed, and no warning of another library comes out (pytest turns those into errors).
"""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import fewer
from fewer import (
    KL,
    L2,
    Atoms,
    Distribution,
    FewerBins,
    FewerDims,
    FewerPointsClassifier,
    FewerTerms,
    GroupSparse,
    InvalidInput,
    Lattice,
    SparseSimplex,
    States,
    bins,
    coverage,
    dims,
    points,
    terms,
    vector_to_dimensions,
)
from fewer.datasets import baskets

ROWS = np.array([[0, 2, 0], [1, 0, 0], [0, 2, 1], [1, 0, 2]])
X = np.arange(10.0).reshape(5, 2) % 7
CODES = (np.arange(12).reshape(6, 2) % 3).astype(float)
LINE = sp.coo_array(np.array([1, 0, 1, 0]))


def in_blocks(*parts):
    return lambda: iter(parts)


def invalid(kind, index):
    """A sparse array whose indices lie outside of it."""
    table = kind(np.eye(3))
    table.indices[:] = index
    return table


# Refused by a sentence


class Opaque:
    """An object that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


MASKED = {
    "q": lambda x: L2(Atoms(4), x),
    "v": lambda x: SparseSimplex(Atoms(4), 2).project(x),
    "p": lambda x: Distribution.of(Atoms(4), x),
    "weights": lambda x: States(np.eye(4, dtype=int), weights=x),
    "sample_weight": lambda x: dims(np.eye(4, dtype=int), 1, sample_weight=x),
    "vector": vector_to_dimensions,
    "values": lambda x: bins(x, 2),
    "X": lambda x: dims(np.ma.array([ROWS[:, 0]] * 3, mask=[np.ma.getmaskarray(x)] * 3), 1),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_entry_is_refused(name):
    values = np.ma.array([0.25, 0.125, 0.125, 0.5], mask=[0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="masked entries"):
        MASKED[name](values)
    MASKED[name](np.ma.array(values.data))


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64"), "c": [0, 1]})
REFUSED = [
    ("has a missing value in column 'b', row 1", lambda: States(FRAME)),
    ("column 'b', row 1: is missing; missing='drop'", lambda: dims(FRAME, 1)),
    ("column 'b', row 1: is missing; missing='drop'", lambda: FewerDims(1).fit(FRAME)),
    ("q must be finite, got nan at index 1", lambda: L2(Atoms(2), pd.array([1, None]))),
    ("column 'b' must hold real numbers, got 'x'", lambda: States(FRAME.assign(b="x"))),
    ("no column", lambda: dims(pd.DataFrame({"b": pd.to_datetime(["2020"])}), 1)),
    ("q must sum to 1, got inf", lambda: KL(Atoms(2), [1e308, 1e308])),
    ("rows is not a valid sparse matrix", lambda: States(invalid(sp.csr_array, 7))),
    ("X is not a valid sparse matrix", lambda: dims(invalid(sp.csc_array, 7), 1)),
    ("rows must hold whole numbers, got 0.5", lambda: States(sp.csr_array([[0.5, 1]]))),
    ("got dtype complex128", lambda: States(sp.csr_array([[1j, 1]]))),
    (r"0\.\.2\^31-1, got -1", lambda: States(sp.csr_array([[-1, 1]]))),
    (r"got shape \(3,\)", lambda: States(sp.coo_array(np.array([1, 2, 3])))),
    ("X must have shape", lambda: points(3.0, 1, target=X)),
    ("X must have shape", lambda: points(X[None], 1, target=X)),
    ("rows of one length", lambda: points(X, 1, target=[[1.0, 2.0], [3.0]])),
    ("row", lambda: points(np.empty((0, 2)), 2, target=X)),
    ("row", lambda: points(sp.csr_array((0, 2)), 2, target=X)),
    ("sorted", lambda: FewerPointsClassifier(2).fit(X, np.array([0, "a", 0, "a", 0], object))),
    ("must", lambda: terms(np.ndarray, [1.0], 1, max_turnover=1.0, previous=[1.0])),
    (r"got shape \(4,\)", lambda: dims(LINE, 1)),
    (r"got shape \(4,\)", lambda: dims(LINE, costs=[1.0] * 4, budget=2.0)),
    (r"got shape \(4,\)", lambda: dims(LINE, 1, units=[0, 0, 1, 1])),
    (r"got shape \(4,\)", lambda: terms(LINE, [1.0], 1)),
    ("2D", lambda: FewerTerms(k=1).fit(LINE, [1.0])),
    (
        "a budget of 1 pays for none of the columns: the cheapest costs 2",
        lambda: dims(ROWS > 1, costs=[0.5, 2.0, 3.0], budget=1.0, exclude=[0]),
    ),
    ("solver must be one of", lambda: dims(ROWS, 1, solver=Opaque())),
    ("n_rows must be in", lambda: baskets(10**400, 5)),
    ("rng must be None", lambda: baskets(5, 5, rng="x")),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_wrong_input_gets_a_sentence(number):
    sentence, call = REFUSED[number]
    with pytest.raises(InvalidInput, match=sentence):
        call()


CALLS = {
    "points": lambda X, **options: points(X, 1, **options),
    "bins": lambda X, **options: bins(X, 1, **options),
    "terms": lambda X, **options: terms(X, None if callable(X) else np.ones(5), 1, **options),
    "dims": lambda X, **options: dims(X, 1, **options),
}


@pytest.mark.parametrize("job", CALLS)
def test_every_job_refuses_a_callback_that_cannot_be_called(job):
    data = X[:, 0] if job == "bins" else X
    with pytest.raises(InvalidInput, match=r"callback must be a function .* got \[\]"):
        CALLS[job](data, callback=[])


WHOLE = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (12, 4)), columns=list("abcd"))
FITTED = {
    "FewerPoints": {},
    "FewerPointsClassifier": {"y": np.arange(12) % 2},
    "FewerBins": {},
    "FewerTerms": {"y": WHOLE["a"].to_numpy(float)},
    "FewerDims": {},
}


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("failure", ["rows", "parameter", "missing"])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name, failure):
    rows = FITTED[name]
    model = getattr(fewer, name)(2).fit(WHOLE, **rows)
    before = {key: value for key, value in vars(model).items() if key.endswith("_")}
    changed, X = {"k": 0} if failure == "parameter" else {}, WHOLE
    if failure == "rows":
        X = WHOLE.to_numpy()[None]
    if failure == "missing":
        X = WHOLE.astype(float).mask(WHOLE > 1)
    with pytest.raises(InvalidInput):
        model.set_params(**changed).fit(X, **rows)
    after = {key: value for key, value in vars(model).items() if key.endswith("_")}
    assert before.keys() == after.keys()
    assert all(after[key] is value for key, value in before.items())


DATES = np.full((3, 2), np.datetime64(date(2020, 1, 1)))


@pytest.mark.parametrize("other", [{1, 2}, "abc", b"x", {"a": 1}], ids=str)
@pytest.mark.parametrize("job", CALLS)
def test_a_block_that_is_no_table_is_refused(job, other):
    with pytest.raises(InvalidInput, match="a block must be a table or an array of rows; got"):
        CALLS[job](in_blocks(X, other))


@pytest.mark.parametrize("first", [X, sp.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("other", [invalid(sp.csr_array, 9), DATES, [[1.0, 2.0], [3.0]], X[None]])
def test_blocks_that_do_not_fit_are_refused(first, other):
    with pytest.raises(InvalidInput, match="block"):
        points(in_blocks(first, other), 2)


# Odd, and answered like the plain ones


@pytest.mark.parametrize("kind", ["Int64", "Int8", "UInt16", "Float64", "Float32", "object"])
def test_nullable_columns_without_gaps_are_plain_numbers(kind):
    frame = pd.DataFrame(ROWS, columns=list("abc")).astype(kind)
    frame["c"] = frame["c"].astype("int64")
    assert coverage(frame, [1]) == coverage(ROWS, [1])
    for call in (lambda x: dims(x, 1, rng=0), lambda x: FewerDims(1).fit(x).result_):
        assert call(frame).indices.tolist() == call(ROWS).indices.tolist()
    assert L2(Atoms(3), pd.Series([1, 0, 0], dtype=kind)).q.tolist() == [1.0, 0.0, 0.0]


PLAIN = np.array([[1, 0, 2], [0, 1, 0]])
TABLES = {
    "booleans": pd.DataFrame(
        {"a": [True, False], "b": pd.array([False, True], dtype="boolean"), "c": [2, 0]}
    ),
    "polars": pl.DataFrame({"a": [1, 0], "b": [False, True], "c": [2, 0]}),
    "decimals": np.array([[Decimal(1), 0, 2], [0, Decimal(1), 0]], object),
    "half": PLAIN.astype(np.float16),
    "other byte order": PLAIN.astype(">i8"),
}
SPARSE = {
    **{kind: getattr(sp, f"{kind}_array") for kind in ("csr", "csc", "coo", "lil", "dok", "dia")},
    **{f"{kind} matrix": getattr(sp, f"{kind}_matrix") for kind in ("csr", "dok", "bsr")},
    "unsorted": lambda x: sp.csr_array(([2, 1, 1], [2, 0, 1], [0, 2, 3]), shape=(2, 3)),
    "doubled": lambda x: sp.csr_array(([0.5, 0.5, 2, 1], [0, 0, 2, 1], [0, 3, 4]), shape=(2, 3)),
    "stored zeros": lambda x: sp.csr_array(([1, 0, 2, 1], [0, 1, 2, 1], [0, 3, 4]), shape=(2, 3)),
}
TABLES |= {name: make(PLAIN) for name, make in SPARSE.items()}


def copied(table):
    return table.copy() if hasattr(table, "copy") else table.clone()


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_is_read_and_left_as_it_is(name):
    table = TABLES[name]
    before = copied(table)
    assert coverage(table, [0, 1]) == coverage(PLAIN, [0, 1]) == 0.5
    assert dims(table, 2, rng=0).value == dims(PLAIN, 2, rng=0).value
    assert FewerDims(2).fit(table).score(table) == 0.5
    if name not in ("booleans", "polars"):
        assert States(table) == States(PLAIN)
    if sp.issparse(table):
        assert (table.toarray() == before.toarray()).all()
        assert table.nnz == before.nnz
    else:
        assert np.array_equal(np.asarray(table), np.asarray(before))


@pytest.mark.parametrize("form", ["lil", "dok", "coo", "dia"])
def test_targets_and_blocks_may_be_sparse_in_any_format(form):
    options = {"gamma": 0.5, "rng": 0}
    sparse = sp.coo_array(X[:3]).asformat(form)
    dense = points(X, 2, target=X[:3], **options)
    assert points(X, 2, target=sparse, **options).value == pytest.approx(dense.value, abs=1e-12)
    assert len(points(X.astype(np.float16), 2, target=sparse, **options).indices) == 2
    blocks = in_blocks(CODES, sp.coo_array(CODES).asformat(form))
    assert dims(blocks, 1, rng=0).value == dims(np.vstack([CODES, CODES]), 1, rng=0).value


def test_a_classifier_of_dense_rows_predicts_sparse_ones():
    model = FewerPointsClassifier(2, random_state=0).fit(X, np.arange(5) % 2)
    for form in (sp.coo_matrix, sp.csr_array, sp.dok_array):
        assert model.predict(form(X)).tolist() == model.predict(X).tolist()


def test_blocks_of_other_types_go_together():
    half = in_blocks(X.astype(np.float16), sp.csr_array(X))
    assert len(points(half, 2, rng=0).indices) == 2
    exact = np.array([[Decimal(1), Decimal(0)], [Decimal(2), Decimal(1)]], object)
    assert dims(in_blocks(sp.csr_array(CODES), exact), 1, rng=0).success


def test_lazy_frames_are_gathered_by_transform():
    frame = pl.DataFrame(X, schema=["a", "b"], orient="row")
    model = FewerBins(k=2).fit(frame)
    assert np.array_equal(model.transform(frame.lazy()), model.transform(frame))


@pytest.mark.filterwarnings("error")
def test_huge_numbers_leak_no_warning():
    C = GroupSparse(Atoms(6), np.arange(6) % 3, 2)
    spread = np.array([1e308, -1e308, 0, 1, 2, 3])
    for v in (1e300 * np.arange(6), -1e307 * np.arange(6), spread):
        assert C.project(v).tolist() == [float(i == v.argmax()) for i in range(6)]
    model = FewerTerms(k=1).fit(X, X[:, 0])
    model.score(np.full((3, 2), 1e300), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("least", [5e-324, 1e-320, 1e-300])
def test_a_least_weight_may_be_as_small_as_a_float_can_be(least):
    assert points(X, 2, min_weight=least, rng=0).indices.size == 2
    assert terms(X, X[:, 0], 1, min_weight=least, rng=0).indices.tolist() == [0]


def test_codes_up_to_four_bytes():
    assert Lattice(1, 2**31).unravel(np.array([2**31 - 1])).tolist() == [[2**31 - 1]]
    for wrong in ([[2**31]], np.array([[2**64 - 1]], np.uint64), [[1e300]]):
        with pytest.raises(InvalidInput):
            fewer.coverage(wrong, [0])
