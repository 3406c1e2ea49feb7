"""Data in blocks: the answer does not depend on how rows were cut, or where they come from."""

import os
import signal
import threading
import time
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewer
from fewer import InvalidInput, points, row_blocks
from fewer.datasets import customers
from fewer.jobs.points import target as _target
from fewer.jobs.points.options import PointsOptions
from fewer.jobs.points.passes import FirstPlan, FirstSummary
from fewer.row_blocks import canonical_rows
from fewer.similarity import similarity_of
from fewer.tables import dask as _dask
from fewer.tables import sketch, source
from fewer.tables.source import Block, Execution, executed, recut
from test_bins import distance

PARTS = (1, 7, 64)


@pytest.fixture
def small(monkeypatch):
    """Blocks of some hundred rows, and nothing gathered."""
    monkeypatch.setattr(row_blocks, "BLOCK_CELLS", 2**9)
    monkeypatch.setattr(row_blocks, "MAX_BLOCK_ROWS", 256)
    monkeypatch.setattr(row_blocks, "MIN_BLOCK_ROWS", 64)
    monkeypatch.setattr(source.Stream, "whole", lambda self, memory: self.in_memory)
    monkeypatch.setattr(_dask.DaskBlocks, "whole", lambda self, memory: None)
    monkeypatch.setattr(_target, "MAX_CANDIDATES", 200)
    monkeypatch.setattr(_target, "MIN_CANDIDATES", 200)
    monkeypatch.setattr(_target, "MAX_CANDIDATE_WORK", 0)
    monkeypatch.setattr(_target, "MAX_FEATURE_CELLS", 0)
    monkeypatch.setattr(sketch, "SKETCHED", 512)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(400, 3)) + at for at in (0.0, 4.0, -3.0)])
    rng.shuffle(X)
    D = (rng.random((1200, 9)) < np.linspace(0.4, 0.05, 9)).astype(np.int64)
    y = X @ [0.6, 0.4, 0.0] + 0.1 * rng.normal(size=len(X))
    return {"points": X, "bins": rng.lognormal(size=2500), "dims": D, "terms": (X, y)}


def answer(job, given, y=None):
    if job == "points":
        return fewer.points(given, 6, rng=0)
    if job == "once":
        return fewer.points(given(), 6, rng=0)
    if job == "bins":
        return fewer.bins(given, 7)
    return fewer.dims(given, 3, rng=0) if job == "dims" else fewer.terms(given, y, 2, rng=0)


def pieces(job, data, n):
    """A callable of n blocks, some of them empty."""
    if job == "terms":
        X, y = data["terms"]
        both = list(zip(np.array_split(X, n), np.array_split(y, n), strict=True))
        return lambda: iter([*both, (X[:0], y[:0])])
    X = data["points" if job == "once" else job]
    return lambda: iter([X[:0], *np.array_split(X, n), X[:0]])


def same(a, b):
    assert a.indices.tolist() == b.indices.tolist()
    assert b.value == pytest.approx(a.value, rel=1e-9)


@pytest.mark.parametrize("job", ["points", "once", "bins", "dims", "terms"])
def test_the_cut_does_not_matter(job, data, small):
    first, *others = [answer(job, pieces(job, data, n)) for n in PARTS]
    for other in others:
        same(first, other)
        assert other.value == first.value


@pytest.mark.parametrize("job", ["points", "bins", "dims"])
def test_npy_files_unknown_chunks_and_delayed_blocks_agree(job, data, small, tmp_path):
    X = data[job]
    first, parts = answer(job, pieces(job, data, 5)), np.array_split(X, 4)
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    lazy = da.from_array(X, chunks=(700, 2) if X.ndim == 2 else 700)
    unknown = lazy[da.ones(len(X), chunks=700) > 0]
    for other in (str(tmp_path / "*.npy"), unknown, [dask.delayed(part) for part in parts]):
        same(first, answer(job, other))


def test_workers_change_nothing(data, small):
    first = answer("points", pieces("points", data, 7))
    with executed(Execution(workers=3)):
        same(first, answer("points", pieces("points", data, 7)))


def test_an_ill_conditioned_tall_problem_keeps_its_digits(small):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(4000, 1))
    X = np.hstack([base, base + 1e-9 * rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1))])
    y = X @ [0.0, 0.7, 0.3]
    found = fewer.terms(
        lambda: iter(zip(np.array_split(X, 5), np.array_split(y, 5), strict=True)), None, 2, rng=0
    )
    assert found.indices.tolist() == [
        1,
        2,
    ]  # the Gram matrix would not tell the first two columns apart
    assert found.value < 1e-20


def test_rare_states_that_do_not_fit_widen_the_bound(data, small):
    whole = fewer.dims(data["dims"], 3, solver="exact")
    found = fewer.dims(pieces("dims", data, 7), 3, max_memory="3KB")
    assert "did not fit" in found.note
    assert found.bound <= whole.value <= found.value
    assert found.bound > 0


def test_the_sketch_keeps_its_promise(small):
    rng = np.random.default_rng(0)
    x, w = np.round(rng.lognormal(size=6000), 3), rng.random(6000)
    parts = [
        sketch.Sketch.of(a, b)
        for a, b in zip(np.array_split(x, 9), np.array_split(w, 9), strict=True)
    ]
    found = sketch.Sketch.merged(parts)
    at = np.unique(x)
    true = np.array([w[x <= v].sum() for v in at])
    kept = np.array([found.weights[found.x <= v].sum() for v in at])
    assert 0 < np.abs(true - kept).max() <= found.error <= 0.02 * w.sum()
    assert found.total == pytest.approx(w.sum())


def naive_mmd(X, weights, rows, q, gamma):
    s = similarity_of("rbf", gamma)
    return float(weights @ s(X, X) @ weights - 2 * weights @ s(X, rows) @ q + q @ s(rows, rows) @ q)


def test_candidates_are_distinct_rows_with_their_weights():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(5000, 3)).astype(float)
    plan = FirstPlan.of(Block(X), 5, PointsOptions(), 4)
    spec = replace(plan, most=50, least=50)
    found = FirstSummary.merged(
        [FirstSummary.of(Block(part), spec) for part in np.array_split(X, 6)]
    )
    rows = found.candidates
    count = pd.DataFrame(X).value_counts()
    assert len({tuple(row) for row in rows.numbers}) == 50
    assert [count[tuple(row)] for row in rows.numbers] == rows.weights.tolist()
    first = pd.DataFrame(X).reset_index().groupby([0, 1, 2])["index"].min()
    assert [first[tuple(row)] for row in rows.numbers] == rows.positions.tolist()
    assert found.columns.mean == pytest.approx(X.mean(axis=0))
    assert np.sqrt(found.columns.squares / 5000) == pytest.approx(X.std(axis=0))
    other = FirstSummary.of(Block(X[rng.permutation(5000)]), spec)
    assert np.array_equal(other.candidates.numbers, rows.numbers)


def test_few_distinct_rows_are_all_candidates_and_proven(small):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(2000, 2)).astype(float)
    found = fewer.points(lambda: iter(np.array_split(X, 6)), 3, rng=0)
    whole = fewer.points(X, 3, rng=0)
    assert found.indices.tolist() == whole.indices.tolist()
    assert (found.value, found.bound) == pytest.approx((whole.value, whole.bound), rel=1e-6)


def test_the_bound_of_one_pass_holds(data, small):
    X = data["points"]
    weights = np.random.default_rng(0).random(len(X))
    found = fewer.points(pieces("points", data, 5)(), 6, rng=0, sample_weight=weights)
    true = naive_mmd(
        X, weights / weights.sum(), X[found.indices], found.weights, found.compared.gamma
    )
    assert true <= found.value + found.value_se
    assert "(proven)" in found.note


def test_an_iterator_is_read_once(data, small):
    X = data["points"]
    read = []

    def blocks():
        for i, part in enumerate(np.array_split(X, 7)):
            read.append(i)
            yield part

    found = fewer.points(blocks(), 6, rng=0)
    assert read == list(range(7))
    assert "one pass" in found.note
    np.testing.assert_array_equal(found.rows, X[found.indices])
    model = fewer.FewerPoints(6, random_state=np.random.RandomState(0)).fit(blocks())
    np.testing.assert_array_equal(model.points_, X[model.indices_])


def test_classes_and_weights_in_two_passes(data, small):
    X = data["points"]
    y = np.where(X[:, 0] > 2, "b", "a")
    frame = pd.DataFrame(X, columns=list("uvw")).assign(y=y, mass=1.0)
    found = fewer.points(
        dd.from_pandas(frame, npartitions=3),
        6,
        labels="y",
        sample_weight="mass",
        standardize=False,
        rng=0,
    )
    arrays = fewer.points(da.from_array(X, chunks=(700, 3)), 6, labels=y, rng=0)
    assert found.indices.tolist() == arrays.indices.tolist()
    assert set(found.rows["y"]) == {"a", "b"}
    share = found.weights[(found.rows["y"] == "a").to_numpy()].sum()
    assert share == pytest.approx((y == "a").mean(), abs=0.03)


def together(summaries):
    first, *others = summaries
    return first.merge(*others)


@pytest.mark.parametrize(
    ("job", "one", "other", "what"),
    [
        ("terms", {"y": "y"}, {"y": "b"}, "y"),
        ("points", {"gamma": 1.0}, {"gamma": 2.0}, "gamma"),
        ("points", {"rng": 0}, {"rng": 1}, "rng"),
        ("points", {"labels": "y"}, {}, "labels"),
        ("bins", {"missing": "drop"}, {}, "missing"),
    ],
)
def test_summaries_that_do_not_belong_together(job, one, other, what):
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["a", "b", "y"])
    first = fewer.summarize(frame, job, **one)
    with pytest.raises(InvalidInput, match=f"same {what} to be merged"):
        first.merge(fewer.summarize(frame, job, **other))
    for turned in (frame[["b", "a", "y"]], frame.rename(columns={"a": "c"})):
        with pytest.raises(InvalidInput, match="same columns to be merged"):
            first.merge(fewer.summarize(turned, job, **one))


def test_own_loops(data):
    X, D = data["points"], data["dims"]
    parts = np.array_split(X, 3)
    first = together(fewer.summarize(part, "points", candidates=300) for part in parts)
    second = together(fewer.summarize(part, plan=first) for part in parts)
    found = second.solve(6)
    true = naive_mmd(
        X, np.full(len(X), 1 / len(X)), X[found.indices], found.weights, found.compared.gamma
    )
    assert found.value == pytest.approx(true, abs=4 * found.value_se)
    covered = together(fewer.summarize(part, "dims") for part in np.array_split(D, 4))
    assert covered.solve(3).value == pytest.approx(fewer.dims(D, 3).value)
    once = together(fewer.summarize(part, plan=first, kept=400) for part in parts)
    assert once.solve(6).value_se > 0
    assert "rows drawn at random by weight" in first.solve(6).note
    with pytest.raises(InvalidInput, match="must have the same pass to be merged"):
        first.merge(second)
    with pytest.raises(InvalidInput, match="at least one row"):
        fewer.summarize(X[:0], job="bins")


@pytest.mark.parametrize(
    "options",
    [{"missing": "drop"}, {"columns": {"v": "ignore"}, "missing": "drop"}, {"sample_weight": "w"}],
)
def test_a_second_pass_reads_rows_as_its_plan_does(options):
    rows = 50
    frame = pd.DataFrame({"u": list("abcab") * 10, "v": list("xyyxy") * 10, "n": [0, 1] * 25})
    frame["w"] = np.arange(1.0, rows + 1.0)
    if "missing" in options:
        frame.loc[3, "u"] = None
    first = fewer.summarize(frame, "dims", **options)
    second = fewer.summarize(frame, plan=first)
    assert second.solve(1).value == first.solve(1).value
    assert fewer.summarize(frame, plan=first, **options).solve(1).value == first.solve(1).value


def test_a_second_pass_has_the_options_of_its_plan():
    X = np.random.default_rng(0).standard_normal((50, 2))
    first = fewer.summarize(X, "points", gamma=0.5)
    assert fewer.summarize(X, plan=first, gamma=0.5).rows == 50
    for options in ({"gamma": 0.7}, {"rng": 1}, {"k": 2}, {"similarity": "linear"}):
        with pytest.raises(InvalidInput, match=rf"{next(iter(options))} must be that of the plan"):
            fewer.summarize(X, plan=first, **options)


def test_finished_passes_are_made_once(data, small):
    """Answers for several k read the data as often as one."""
    for job in ("points", "bins", "dims"):
        passes, begun, given = {}, [], pieces(job, data, 7)

        def counted(given=given, begun=begun):
            begun.append(1)
            return given()

        with executed(Execution(passes=passes)):
            first = answer(job, counted)
            once = len(begun)
            again = answer(job, counted)
        same(first, again)
        assert once
        assert len(begun) < 2 * once


def test_partial_fit_of_points(data):
    X = data["points"]
    model = fewer.FewerPoints(k=5, random_state=0)
    for i, part in enumerate(np.array_split(X, 5)):
        model.partial_fit(part)
        if i in (1, 4):
            seen = X[: (i + 1) * 240]
            true = naive_mmd(
                seen, np.full(len(seen), 1 / len(seen)), model.points_, model.weights_, model.gamma_
            )
            assert true <= model.error_bound_**2
            assert np.array_equal(seen[model.indices_], model.points_)
            assert model.bound_ == 0.0
            assert abs(np.sqrt(model.value_) - np.sqrt(true)) <= model.error_bound_
    assert model.counts_.sum() == pytest.approx(len(X))
    assert model.transform(X[:3]).shape == (3, 5)
    before = model.indices_.copy()
    with pytest.raises(InvalidInput):
        model.partial_fit(X[:, :2])
    assert model.indices_.tolist() == before.tolist()
    model.fit(X[:100])
    assert model.result_.words.total == 100


def test_what_is_refused(data, small):
    X = data["points"]
    with pytest.raises(InvalidInput, match="no rows"):
        fewer.points(lambda: iter([X[:0]]), 2)
    with pytest.raises(InvalidInput, match="columns"):
        fewer.points(lambda: iter([X, X[:, :2]]), 2)
    with pytest.raises(
        InvalidInput, match="move is not for data in blocks; choose some hundred rows"
    ):
        fewer.points(lambda: iter([X]), 2, move=True)
    with pytest.raises(InvalidInput, match="must be finite"):
        fewer.points(lambda: iter([np.where(X > 3, np.nan, X)]), 2)
    with pytest.raises(InvalidInput, match="iterator of blocks"):
        fewer.points(lambda: 3, 2)
    with pytest.raises(InvalidInput, match="no file has a name"):
        fewer.bins("nowhere/*.npy", 2)
    with pytest.raises(
        InvalidInput, match="more than 4096 columns are not for data in blocks, got 4097"
    ):
        fewer.terms(lambda: iter([(np.zeros((2, 4097)), np.zeros(2))]), None, 2)
    with pytest.raises(InvalidInput, match="needs a target"):
        fewer.terms(lambda: iter([X]), None, 2)


FEATURE_CELLS = _target.MAX_FEATURE_CELLS


def slowly(part):
    time.sleep(0.05)
    return part


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_changes_nothing(data, small, monkeypatch):
    """Jobs on two worker processes, one of which is killed with -9 in the middle of each."""
    from distributed import Client, LocalCluster

    monkeypatch.setattr(sketch, "SKETCHED", 2**16)  # as in the workers
    monkeypatch.setattr(_target, "MAX_FEATURE_CELLS", FEATURE_CELLS)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster, timeout=30) as client,
    ):
        for job in ("points", "terms"):  # all four: benchmarks/scale.py --part kill
            X, y = data["terms"] if job == "terms" else (data[job], None)
            parts = [dask.delayed(slowly)(part) for part in np.array_split(X, 12)]
            expected = answer(job, pieces(job, data, 5))
            pids = list(client.run(os.getpid).values())
            stop = threading.Timer(0.3, os.kill, (pids[0], signal.SIGKILL))
            stop.start()
            found = answer(job, parts, y)
            stop.join(10)
            same(expected, found)
            client.wait_for_workers(2, timeout=30)


@pytest.mark.parametrize("rng", [None, "a", 1.7, True, -1, np.random.default_rng(0)], ids=str)
def test_the_seed_of_summaries_is_a_whole_number(rng):
    X = np.eye(3)
    with pytest.raises(InvalidInput, match="rng must be"):
        fewer.summarize(X, "points", rng=rng)
    if rng is not None:
        first = fewer.summarize(X, "points")
        with pytest.raises(InvalidInput, match="rng must be"):
            first.solve(2, rng=rng)


def test_a_stream_of_dims_has_its_columns_in_one_order():
    table = pd.DataFrame(np.eye(3, dtype=int), columns=list("abc"))
    model = fewer.FewerDims(2).partial_fit(table)
    for rows in (table[["c", "b", "a"]], table[["a", "b"]]):
        with pytest.raises(InvalidInput, match="feature names should match"):
            model.partial_fit(rows)


@pytest.mark.parametrize("heavy", [1.0, 2000.0])
def test_one_pass_of_summaries_says_how_far_the_points_may_be_from_all_rows(heavy):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, weights = rng.standard_normal((6000, 2)), np.ones(6000)
        weights[:5] = heavy  # of distinct rows drawn evenly most samples would have none of these
        parts = [(X[i : i + 1000], None, weights[i : i + 1000]) for i in range(0, 6000, 1000)]
        how = {"k": 5, "candidates": 300, "gamma": 0.5, "rng": seed}
        found = together(fewer.summarize(part, "points", **how) for part in parts).solve(5)
        assert np.array_equal(found.rows, X[found.indices])
        assert found.bound is None
        true = np.sqrt(naive_mmd(X, weights / weights.sum(), found.rows, found.weights, 0.5))
        off = (1 + np.sqrt(2 * np.log(20))) / np.sqrt(300)
        assert true <= np.sqrt(found.value) + off
        assert (
            "with probability 95% the MMD of the points to all rows is at most"
            f" {np.sqrt(found.value) + off:.3g}" in found.note
        )
    linear = fewer.summarize(X, "points", candidates=300, similarity="linear").solve(5)
    assert "with probability" not in linear.note
    few = fewer.summarize(X[:50], "points", k=5).solve(5)
    assert "drawn" not in few.note


def test_recutting_depends_on_positions_alone():
    cut = list(recut((Block(part) for part in np.array_split(np.arange(100), 7)), 16))
    assert [len(block.X) for block in cut] == [16] * 6 + [4]
    assert np.concatenate([block.X for block in cut]).tolist() == list(range(100))
    assert canonical_rows(10**9) == row_blocks.MIN_BLOCK_ROWS
    for count in (1, 8, 65):
        nodes = [chr(200 + i) for i in range(count)]
        tree = row_blocks.merged_in_tree(nodes, "".join)
        assert tree == "".join(nodes)


def test_partial_fit_of_dims_is_fit(data):
    D = data["dims"]
    columns = fewer.FewerDims(k=3, random_state=0)
    for part in np.array_split(D, 8):
        columns.partial_fit(part)
    whole = fewer.FewerDims(k=3, random_state=0).fit(D)
    assert columns.indices_.tolist() == whole.indices_.tolist()
    assert (columns.value_, columns.coverage_) == pytest.approx((whole.value_, whole.coverage_))


def test_lazy_inputs_are_transformed_lazily(data, small, tmp_path):
    X, y = data["terms"]
    lazy = da.from_array(X, chunks=(800, 3))
    model = fewer.FewerPoints(k=4, random_state=0).fit(lazy)
    answer = model.transform(lazy)
    assert isinstance(answer, da.Array)
    assert np.array_equal(answer.compute(), model.transform(X))
    tracker = fewer.FewerTerms(k=2, random_state=0).fit(lazy, da.from_array(y, chunks=500))
    assert np.array_equal(tracker.predict(lazy).compute(), X @ tracker.coef_)
    np.save(tmp_path / "x.npy", X)
    parts = list(model.transform(str(tmp_path / "x.npy")))
    assert np.array_equal(np.concatenate(parts), model.transform(X))
    delayed = [dask.delayed(part) for part in np.array_split(X, 3)]
    assert dask.compute(*model.transform(delayed))[0].shape == (400, 4)


def test_partial_fit_of_bins_bounds_its_error(data, small):
    x, model = data["bins"], fewer.FewerBins(k=5)
    for part in np.array_split(x, 8):
        model.partial_fit(part)
    assert 0 < model.error_bound_ < 0.03
    true = distance(x, np.ones(len(x)), model.kept_values_, model.weights_)
    off = model.error_bound_ * np.sqrt(x.max() - x.min())
    assert abs(np.sqrt(true) - np.sqrt(model.value_)) <= off
    assert model.bound_ <= fewer.bins(x, 5).value


def test_a_search_in_little_memory_goes_on_to_further_candidates():
    months = [pl.DataFrame(customers(3_000, rng=month)) for month in range(1, 13)]
    columns = ["age", "income", "minutes"]
    result = points(lambda: iter(months), 10, columns=columns, max_memory="1MB", rng=3)
    assert result.value < 1.3e-4
