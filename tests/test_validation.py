"""Inputs as people have them: odd but good ones give the plain answer, wrong ones a sentence."""

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
    MMD,
    Atoms,
    DimensionSparse,
    Distribution,
    Doubling,
    FewerDims,
    FewerPointsClassifier,
    FewerTerms,
    InvalidInput,
    Lattice,
    Moments,
    Simplex,
    SparseSimplex,
    States,
    bins,
    coverage,
    dimensions_to_vector,
    dims,
    iht,
    points,
    terms,
    vector_to_dimensions,
)
from fewer.datasets import baskets

CUBE = Lattice(3, 2)
FLAT = np.full(8, 0.125)


def with_entry(value, at=2):
    table = FLAT.copy()
    table[at] = value
    return table


BAD = [
    (lambda: L2(CUBE, with_entry(np.nan)), "q must be finite, got nan at index 2"),
    (lambda: KL(CUBE, with_entry(-0.1)), "q must be non-negative, got -0.1 at index 2"),
    (lambda: KL(CUBE, FLAT * 3), "q must sum to 1, got 3; divide it by its sum"),
    (lambda: L2(CUBE, np.ones(7)), r"q must have shape \(8,\) or \(2, 2, 2\), got \(7,\)"),
    (
        lambda: L2(CUBE, np.array([{}] * 8, dtype=object)),
        r"q must hold real numbers, got {} \(dict\) at index 0",
    ),
    (lambda: L2(CUBE, ["a"] * 8), "q must hold real numbers, got dtype <U1"),
    (lambda: L2(CUBE, FLAT * 1j), "q must hold real numbers, got dtype complex128"),
    (lambda: L2(CUBE, [[1], [1, 2]]), "q must be an array with rows"),
    (
        lambda: L2(CUBE, sp.csr_array(FLAT[None])),
        r"q must be dense, got a csr_array of shape \(1, 8\)",
    ),
    (lambda: DimensionSparse(CUBE, 0), r"k must be in 1\.\.3 \(dimensions\), got 0"),
    (
        lambda: DimensionSparse(CUBE, 2.0),
        r"k must be an integer in 1\.\.3 \(dimensions\), got 2.0 \(float\)",
    ),
    (
        lambda: DimensionSparse(CUBE, 2, "magic"),
        "projection must be one of 'exact', 'greedy', got 'magic'",
    ),
    (
        lambda: DimensionSparse(Atoms(3), 2),
        r"DimensionSparse needs a Lattice or States, got Atoms\(n=3\)",
    ),
    (
        lambda: DimensionSparse(States([[1, 1, 1]]), 2),
        "no listed state fits into k = 2 dimensions: the smallest uses 3",
    ),
    (lambda: DimensionSparse(Lattice(26, 2), 13, "exact"), r"would walk 1.04e\+07 supports"),
    (lambda: Atoms(0), r"n must be at least 1 \(atoms\), got 0"),
    (lambda: Lattice(3, (2, 2)), r"m must be an integer or 3 integers, got \(2, 2\)"),
    (
        lambda: CUBE.ravel([0, 0, 2]),
        r"rows must .* lattice of shape \(2, 2, 2\)",
    ),
    (lambda: Simplex(CUBE).project(with_entry(np.nan)), "v must be finite, got nan at index 2"),
    (
        lambda: Moments(Atoms(3), np.full((1, 3), np.nan), [1]),
        "A must be finite, got nan at index 0, 0",
    ),
    (lambda: MMD(Atoms(2), [[1, 0.5], [0, 1]], [0.5, 0.5]), "gram must be symmetric"),
    (
        lambda: Doubling(0.1, "bored"),
        "trapped must be one of 'objective', 'seen', 'support', got 'bored'",
    ),
    (
        lambda: iht(L2(CUBE, FLAT), DimensionSparse(CUBE, 2), start=FLAT),
        "start must lie in the constraint",
    ),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), step=0.1), "step must be a step rule .* got 0.1"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), max_iter=0), "max_iter must be at least 1, got 0"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), time_limit=0), "time_limit must be above 0, got 0"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), callback=3), "callback must be a function"),
    (
        lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), rng="x"),
        "rng must be None, a non-negative seed or a Generator",
    ),
    (lambda: vector_to_dimensions([[0.5, 0.5]]), r"p must be a vector, got shape \(1, 2\)"),
    (lambda: dimensions_to_vector([0.5, 0.2, 0.3]), r"q must have 2\^N entries, got 3"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_invalid_input_is_both_errors_people_catch():
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InvalidInput, TypeError)


def forms(q):
    locked = q.copy()
    locked.setflags(write=False)
    return {
        "list": q.tolist(),
        "float32": q.astype(np.float32),
        "read-only": locked,
        "strided": np.repeat(q, 2)[::2],
        "reversed twice": q[::-1].copy()[::-1],
        "series": pd.Series(q),
        "table": q.reshape(2, 2, 2),
        "fortran table": np.asfortranarray(q.reshape(2, 2, 2)),
    }


@pytest.mark.parametrize("form", forms(FLAT))
def test_odd_but_good_input_works(form):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(8)).astype(np.float32).astype(np.float64)
    q[0] += 1 - q.sum()
    given = forms(q)[form]
    tol = 1e-6 if form == "float32" else 1e-15
    for F in (L2(CUBE, given), KL(CUBE, given)):
        assert np.allclose(F.q, q, atol=tol)
        assert iht(F, DimensionSparse(CUBE, 2), rng=0, start=None).support.size <= 2
    assert np.allclose(
        DimensionSparse(CUBE, 2).project(given), DimensionSparse(CUBE, 2).project(q), atol=tol
    )


def test_integer_counts_and_booleans_are_tables_too():
    assert L2(CUBE, [1, 0, 0, 0, 0, 0, 0, 0]).q.dtype == np.float64
    assert L2(CUBE, np.array([True] + [False] * 7)).value(FLAT) == pytest.approx(0.875)


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
    ("rows is not a valid sparse matrix", lambda: States(invalid(sp.csr_array, 7))),
    ("X is not a valid sparse matrix", lambda: dims(invalid(sp.csc_array, 7), 1)),
    ("rows must hold whole numbers in .*, got 0.5", lambda: States(sp.csr_array([[0.5, 1]]))),
    ("got dtype complex128", lambda: States(sp.csr_array([[1j, 1]]))),
    (r"0\.\.2\^31-1, got -1", lambda: States(sp.csr_array([[-1, 1]]))),
    (r"got shape \(3,\)", lambda: States(sp.coo_array(np.array([1, 2, 3])))),
    ("X must have shape", lambda: points(3.0, 1, target=X)),
    ("X must have shape", lambda: points(X[None], 1, target=X)),
    ("rows of one length", lambda: points(X, 1, target=[[1.0, 2.0], [3.0]])),
    ("row", lambda: points(np.empty((0, 2)), 2, target=X)),
    ("row", lambda: points(sp.csr_array((0, 2)), 2, target=X)),
    (
        "sorted|label type",
        lambda: FewerPointsClassifier(2).fit(X, np.array([0, "a", 0, "a", 0], object)),
    ),
    (r"got shape \(4,\)", lambda: dims(LINE, 1)),
    (r"got shape \(4,\)", lambda: terms(LINE, [1.0], 1)),
    ("shape|2D", lambda: FewerTerms(k=1).fit(LINE, [1.0])),
    ("solver must be one of", lambda: dims(ROWS, 1, solver=Opaque())),
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
