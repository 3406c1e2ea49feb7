"""What a user keeps: probabilities, samples, moments, files; SciPy is the outside truth."""

import contextlib
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rv_discrete

from fewer import (
    L2,
    Atoms,
    DimensionSparse,
    Distribution,
    InvalidInput,
    Lattice,
    States,
    bins,
    greedy,
)


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


def on_a_line(values, weights, edges=None):
    n = len(values)
    return Distribution(np.arange(n)[:, None], weights, [0], (n,), values=values, edges=edges)


def example():
    space = Lattice(4, (2, 3, 2, 2))
    rng = np.random.default_rng(0)
    result = greedy(L2(space, rng.dirichlet(np.ones(space.size))), DimensionSparse(space, 2))
    return space, result


def with_rest(seed=0):
    """A face of 2 x 3 states of which some are listed, on dimensions 1 and 3 of four, with an odd origin."""
    rng = np.random.default_rng(seed)
    every = np.indices((2, 3)).reshape(2, -1).T
    codes = rng.permutation(every)[: int(rng.integers(1, 6))]
    rest, *weights = rng.dirichlet(np.ones(len(codes) + 1))
    return Distribution(codes, weights, [1, 3], (2, 2, 4, 3), rest, [1, 0, 2, 0])


def test_a_distribution_holds_what_the_result_holds():
    space, result = example()
    d, everything = result.distribution, space.unravel(np.arange(space.size))
    assert np.array_equal(d.pmf(everything), result.p)
    assert isinstance(d.pmf(everything[3]), float)
    assert d.dims.tolist() == result.support.tolist()
    assert np.array_equal(d.pmf(everything.reshape(4, 6, 4)), result.p.reshape(4, 6))
    assert d.expect(lambda x: x) == pytest.approx(result.p @ everything)
    assert len(d) == np.count_nonzero(result.p)
    table = result.p.reshape(space.shape)
    pair = d.marginal([1, 3]).pmf(Lattice(2, (3, 2)).unravel(np.arange(6)))
    assert np.allclose(pair, table.sum(axis=(0, 2)).ravel())
    assert np.allclose(d.marginal([1]).pmf([0, 1, 2]), table.sum(axis=(0, 2, 3)))


def test_atoms_are_integers_and_states_rows():
    d = Distribution.of(Atoms(5), [0, 0.5, 0, 0.5, 0])
    assert d.states.tolist() == [1, 3]
    assert (d.pmf(3), d.pmf([0, 1, 2]).tolist()) == (0.5, [0, 0.5, 0])
    assert d.expect(float) == 2.0
    assert set(d.sample(100, rng=0).tolist()) == {1, 3}
    space = States([[0, 3], [2, 0]], [1, 3])
    d = Distribution.of(space, space.weights)
    assert d.pmf([[0, 3], [2, 0], [2, 3], [0, 0]]).tolist() == [0.25, 0.75, 0, 0]
    assert d.shape == (3, 4)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 1), (2, 3), (2, 3, 1)])
def test_pmf_of_one_dimension_takes_states_with_or_without_an_axis_of_their_own(shape):
    d = Distribution.of(Atoms(4), [0.5, 0.25, 0.25, 0.0])
    x = np.zeros(shape, int)
    assert np.shape(d.pmf(x)) == (shape[:-1] if shape[-1:] == (1,) else shape)
    assert np.all(d.pmf(x) == 0.5)


def test_the_rest_is_never_drawn_where_states_are_listed():
    d = Distribution([[0], [2]], [0.0, 0.0], [0], (5,), rest=1.0)
    assert set(d.sample(100, rng=0).tolist()) == {1, 3, 4}


@pytest.mark.parametrize("seed", range(6))
def test_mass_on_the_rest_of_a_face(seed):
    d = with_rest(seed)
    everything = Lattice(4, d.shape).unravel(np.arange(48))
    p = d.pmf(everything)
    assert p.sum() == pytest.approx(1)
    assert (p > 0).sum() == 6
    assert (everything[p > 0][:, [0, 2]] == [1, 2]).all()
    assert np.allclose(d.spelled_out().pmf(everything), p)
    assert d.expect(lambda x: x) == pytest.approx(p @ everything)
    assert d.mean() == pytest.approx(p @ everything)
    assert d.var() == pytest.approx(p @ (everything - d.mean()) ** 2)
    last = d.marginal([2, 3]).pmf(Lattice(2, (4, 3)).unravel(np.arange(12)))
    assert np.allclose(last, p.reshape(d.shape).sum((0, 1)).ravel())
    draws = d.sample(20000, rng=seed)
    assert np.array_equal(draws, d.sample(20000, rng=seed))
    for x, weight in zip(everything, p, strict=True):
        assert (draws == x).all(axis=1).mean() == pytest.approx(weight, abs=0.015)


def test_the_rest_of_an_astronomic_face_is_a_count():
    n = 2000
    d = Distribution(np.zeros((1, n), int), [0.25], np.arange(n), (2,) * n, rest=0.75)
    assert d.pmf(np.zeros(n, int)) == 0.25
    assert d.pmf(np.ones(n, int)) == 0.0  # 0.75 / 2^2000 is below the smallest number
    assert d.sample(1000, rng=0).any(axis=1).mean() == pytest.approx(0.75, abs=0.06)
    assert d.mean() == pytest.approx(np.full(n, 0.375))
    assert d.var() == pytest.approx(np.full(n, 0.375 * 0.625))
    refused("too many to go through; use sample or pmf", d.expect, sum)
    large = Distribution(np.zeros((1, 19), int), [0.5], np.arange(19), (2,) * 19, rest=0.5)
    assert large.sample(2000, rng=0).any(axis=1).mean() == pytest.approx(0.5, abs=0.05)
    n = 70  # more dimensions than arrays may have
    d = Distribution(np.zeros((1, n), int), [0.5], np.arange(n), (1,) * (n - 1) + (2,), 0.5)
    assert d.expect(lambda x: x[-1]) == 0.5


masses = st.lists(st.integers(1, 50), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(masses, st.integers(0, 2**32 - 1))
def test_methods_are_those_of_scipy(counts, seed):
    weights, rng = np.array(counts) / sum(counts), np.random.default_rng(seed)
    values = np.sort(rng.choice(1000, len(counts), replace=False)).astype(float) - 500
    d, truth = on_a_line(values, weights), rv_discrete(values=(values, weights))
    x = np.append(rng.uniform(-600, 600, 9), values)
    assert d.cdf(x) == pytest.approx(truth.cdf(np.floor(x)), abs=1e-12)
    assert d.pmf(values) == pytest.approx(weights, abs=1e-15)
    assert d.pmf(values + 0.5).tolist() == [0.0] * len(values)
    assert d.mean() == pytest.approx(truth.mean(), rel=1e-9, abs=1e-9)
    assert d.var() == pytest.approx(truth.var(), rel=1e-6, abs=1e-6)
    q = rng.random(20)
    assert d.quantile(q).tolist() == truth.ppf(q).tolist()
    assert d.expect(lambda v: v**2) == pytest.approx(float(weights @ values**2))
    assert set(d.sample(50, rng=0)) <= set(values)
    assert isinstance(d.cdf(0), float)
    assert (d.quantile(0), d.quantile(1)) == (values[0], values[-1])


def test_quantiles_of_tenths_do_not_slip_by_rounding():
    d = on_a_line(np.arange(10.0), np.full(10, 0.1))
    assert d.quantile(np.arange(1, 11) / 10).tolist() == list(range(10))
    spread = Distribution([[1]], [0.5], [0], (3,), 0.5)
    assert (spread.cdf(0), spread.cdf(1), spread.mean()) == (0.25, 0.75, 1.0)
    for call in (with_rest().cdf, with_rest().quantile):
        refused("for one dimension, here are 4", call, 0.5)


def test_spread_mass_lies_half_on_either_side_of_the_value():
    d = on_a_line([1.0, 5.0], [0.4, 0.6], [[0.0, 2.0], [2.0, 10.0]])
    shares = d.cdf([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5, 5.0, 10.0, 11.0], spread=True)
    assert shares == pytest.approx([0.0, 0.0, 0.1, 0.2, 0.4, 0.55, 0.7, 1.0, 1.0])
    q = np.array([0.0, 0.1, 0.2, 0.4, 0.55, 0.7, 1.0])
    assert d.cdf(d.quantile(q, spread=True), spread=True) == pytest.approx(q)
    atom = on_a_line([1.0, 2.0], [0.5, 0.5], [[1.0, 1.0], [2.0, 3.0]])
    assert atom.cdf([0.99, 1.0, 1.5, 2.0], spread=True).tolist() == [0.0, 0.5, 0.5, 0.75]
    refused("spread needs edges", on_a_line([1.0], [1.0]).cdf, 1.0, spread=True)
    overlapping = on_a_line([1.0, 2.0], [0.5, 0.5], [[0.0, 3.0], [1.0, 4.0]])
    refused("do not overlap", overlapping.quantile, 0.5, spread=True)


D, L = Distribution([[0], [1]], [0.5, 0.5], [1], (2, 2)), on_a_line([1.0, 2.0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "arguments", "sentence"),
    [
        *((D.pmf, [x], "^x must ") for x in ([0.0, 1.0], [[0], [0, 1]], ["a", "b"], [0, 1, 0])),
        *((call, [x], "^x must ") for call in (L.pmf, L.cdf) for x in (np.nan, "a", [1, np.nan])),
        *((L.quantile, [q], "^q must ") for q in (np.nan, None, 1.1)),
        *((D.sample, [size], "^size must be ") for size in (-1, 2.0, None)),
        (D.sample, [10**12], "size = 1000000000000 states: needs .* of memory"),
        (D.sample, [3, "x"], "rng must be None"),
        (D.expect, [3], "f must be a function of one state, got 3"),
        (D.expect, [lambda x: "x"], "^what f returns"),
        (D.marginal, [[0.5]], "^dims must "),
        (D.marginal, [[2]], "^dims must be in"),
        (D.marginal, [[]], "at least one dimension"),
        (Distribution.of, [Atoms(2), [0.5, 0.6]], "p must sum to 1"),
        (Distribution.of, [Atoms(2), [1.0]], "p must have shape"),
    ],
)
def test_methods_refuse_with_a_sentence(call, arguments, sentence):
    refused(sentence, call, *arguments)


def test_the_ends_of_what_methods_take():
    assert L.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert L.marginal([0]) is L
    assert D.pmf([0, 2**62]) == D.pmf(np.array([0, 2**64 - 1], np.uint64)) == 0.0
    assert D.pmf(np.empty((0, 2))).shape == (0,)
    assert D.sample(0).shape == (0, 2)
    certain = Distribution([[0], [1]], [1.0, 0.0], [1], (2, 2))
    assert certain.expect(lambda x: np.inf if x[1] else 0.5) == 0.5


x = np.random.default_rng(0).lognormal(size=300)
EXAMPLES = {
    "values": bins(x, 7).distribution,
    "grid": bins(x, 7, grid="log", n_bins=20).distribution,
    "counts": bins(counts=[4, 0, 1, 5], k=2).distribution,
    "rest": Distribution([[0, 2], [1, 0]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25, [0, 1, 0]),
    "point": Distribution(np.zeros((1, 0), int), [1.0], [], (2, 2)),
    "all rest": Distribution(np.zeros((0, 2), int), [], [0, 1], (2, 3), 1.0),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trips_bring_back_every_bit(name, tmp_path):
    d = EXAMPLES[name]
    content = d.to_dict()
    files = [tmp_path / file for file in ("d.json", "D.JSON", "d.npz")]
    for path in files:
        d.save(path)
    again = [Distribution.load(path) for path in files]
    for other in (Distribution.from_dict(content), Distribution.from_json(d.to_json()), *again):
        assert other.to_dict() == content
        assert other.sample(5, rng=1).tolist() == d.sample(5, rng=1).tolist()
    assert json.loads(files[0].read_text()) == content


def test_files_of_version_1_and_the_example_of_the_documentation_are_read(tmp_path):
    d = EXAMPLES["rest"]
    names = ("codes", "weights", "dims", "shape", "rest", "origin")
    fields = {name: np.asarray(getattr(d, name)) for name in names}
    for kind in ("i8", "uint8", ">i4"):
        for name in ("codes", "dims", "shape", "origin"):
            fields[name] = fields[name].astype(kind)
        np.savez(tmp_path / "old.npz", format="fewer.distribution", version=1, **fields)
        assert Distribution.load(tmp_path / "old.npz").to_dict() == d.to_dict()
    old = {name: entry for name, entry in d.to_dict().items() if name not in ("values", "edges")}
    assert Distribution.from_dict({**old, "version": 1}).to_dict() == d.to_dict()
    page = (Path(__file__).parents[1] / "docs" / "distribution-format.md").read_text()
    text = page.split("```json")[1].split("```")[0]
    d = Distribution.from_json(text)
    assert (d.mean(), d.quantile(0.2), d.cdf(2.0, spread=True)) == (7.125, 1.5, 0.25)
    assert json.loads(d.to_json()) == json.loads(text)
    head = {"format": "fewer.distribution", "version": 2, "note": "mine"}
    assert (
        Distribution.from_dict({**head, "shape": [3], "states": [1], "weights": [1.0]}).mean() == 1
    )


FACE = {"codes": [[0], [1]], "weights": [0.5, 0.5], "dims": [1], "shape": (2, 2)}
WRONG = {
    "on distinct dims": {"dims": [1, 1], "codes": [[0, 0], [1, 1]]},
    "rest must be 0 where .* all": {"weights": [0.25, 0.25], "rest": 0.5},
    "states are listed twice": {"codes": [[1], [1]], "weights": [0.25, 0.25], "rest": 0.5},
    "with rest they sum to 1.1": {"weights": [0.5, 0.6]},
    "not a distribution": {"weights": [1.5, -0.5]},
    "weights must be finite": {"weights": [0.5, np.nan]},
    r"codes must have shape \(2, 1\)": {"codes": [[0, 0], [1, 0]]},
    "a state lies outside": {"codes": [[0], [2]]},
    r"dims must be in 0\.\.1": {"dims": [2]},
    "codes must hold integers": {"codes": [[0.0], [1.0]]},
}


@pytest.mark.parametrize(("sentence", "change"), WRONG.items())
def test_a_distribution_is_checked_where_it_is_made(sentence, change, tmp_path):
    fields = {**FACE, "rest": 0.0, "origin": [0, 0], **change}
    refused(sentence, Distribution, **fields)
    np.savez(tmp_path / "d.npz", format="fewer.distribution", version=1, **fields)
    refused(f"d.npz: .*({sentence})", Distribution.load, tmp_path / "d.npz")


GOOD = Distribution([[1], [2]], [0.5, 0.5], [1], (2, 3)).to_dict()
LINE = on_a_line([1.0, 2.0], [0.5, 0.5]).to_dict()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "no format entry"),
        ({**GOOD, "version": 3}, "has version 3; this fewer reads versions 1 to 2"),
        ({**GOOD, "weights": None}, "it lacks weights"),
        ({**GOOD, "shape": []}, "states must be rows of 0 integers"),
        ({**GOOD, "states": [[0], [1]]}, "states must be rows of 2 integers"),
        ({**GOOD, "states": [[0, 1], [1, 2]]}, "states must equal the origin outside dims"),
        ({**GOOD, "origin": [0]}, "origin must have shape"),
        ({**GOOD, "values": [1.0, 2.0]}, "values are for one dimension without rest, got 2"),
        ({**LINE, "values": [1.0, float("nan")]}, "values must be finite"),
        ({**LINE, "values": None, "edges": [[0, 1], [1, 2]]}, "edges must hold values"),
        ({**LINE, "edges": [0, 1, 2]}, r"edges must have shape \(2, 2\)"),
        ({**LINE, "edges": [[0, 1], [3, 4]]}, "edges must hold values"),
    ],
)
def test_content_that_is_wrong_gets_a_sentence(content, sentence, tmp_path):
    refused(sentence, Distribution.from_dict, content)
    (tmp_path / "d.json").write_text(json.dumps(content))
    refused(r"d\.json", Distribution.load, tmp_path / "d.json")


def test_text_that_is_no_json_gets_a_sentence(tmp_path):
    path = tmp_path / "d.json"
    for text in ("", "{", "[" * 100_000, '{"a": NaN}', '{"a": Infinity}', "\ud800", None, 3):
        refused("the text cannot be read as JSON", Distribution.from_json, text)
    for raw in (b"\xff\xfe\x00", b"PK\x03\x04", b"{"):
        path.write_bytes(raw)
        refused(r"d\.json: .* cannot be read as JSON", Distribution.load, path)
    on_a_line([1.0], [1.0]).save(path)
    refused("more than max_bytes = 20", Distribution.load, path, max_bytes=20)


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    path, d = tmp_path / "kept.npz", with_rest()
    d.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez_compressed", lambda file, **_: file.write(b"half") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        d.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept.npz"]
    for wrong in (None, 3, "", "a\0b"):
        refused("path must be the name of a file", Distribution.load, wrong)
        refused("path must be the name of a file", d.save, wrong)
    with pytest.raises(FileNotFoundError):
        Distribution.load(tmp_path / "absent")


class Payload:
    """Pickled, it would make a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), **options)
    return out.getvalue()


def saved(tmp_path, **changed):
    """The path of a saved distribution with some members replaced."""
    path = tmp_path / "d.npz"
    Distribution(**FACE).save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, changed.get(name.removesuffix(".npy"), content))
    return path


def test_pickles_are_never_opened(tmp_path):
    made = tmp_path / "made"
    objects = np.array([Payload(made)], object)
    for name in ("codes", "format"):
        path = saved(tmp_path, **{name: npy(objects)})
        refused(f"array '{name}': holds Python objects, which are never", Distribution.load, path)
    path.write_bytes(pickle.dumps(Payload(made)))
    refused("damaged or is not a distribution", Distribution.load, path)
    np.save(path.with_suffix(".npy"), objects, allow_pickle=True)
    refused("not a distribution saved by fewer", Distribution.load, path.with_suffix(".npy"))
    path.write_text("hello")
    refused("damaged or is not a distribution", Distribution.load, path)
    np.savez(path, a=np.arange(3))
    refused("not a distribution saved by fewer: it has no format", Distribution.load, path)
    assert not made.exists()


def test_sizes_are_refused_before_anything_is_unpacked(tmp_path):
    header = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(header, head)
    path = saved(tmp_path, weights=header.getvalue())
    refused(r"'weights': its head declares 8e\+06 GB", Distribution.load, path)
    path = saved(tmp_path, codes=npy(np.zeros((2, 1), np.int64)) + bytes(10**6))
    refused("more than max_bytes = 9999", Distribution.load, path, max_bytes=9999)
    refused("max_bytes must be an integer", Distribution.load, path, max_bytes="1GB")


ODD = {
    "codes": [b"nonsense", b"", b"\x93NUMPY\x09\x00", npy([[0], [1]])[:-1], npy([[0], [1]]) + b"x"],
    "version": [npy(np.array([1, 1])), npy(1.0)],
    "format": [
        npy("other"),
        npy([["a"], ["b"]]),
        npy("f").replace(b"f\0\0\0", (0x110000).to_bytes(4, "little")),
    ],
    "rest": [npy([0.0])],
}


@pytest.mark.parametrize(("name", "content"), [(n, c) for n, each in ODD.items() for c in each])
def test_archives_that_are_odd_get_a_sentence(name, content, tmp_path):
    refused(r"d\.npz", Distribution.load, saved(tmp_path, **{name: content}))


def test_what_must_be_given_is_named_where_it_is_none():
    for name in ("codes", "weights", "dims"):
        refused(f"{name} must hold real numbers, got None", Distribution, **{**FACE, name: None})


def test_a_directory_that_leads_outside_its_archive_gets_a_sentence(tmp_path):
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    content[content.rfind(b"PK\5\6") + 17] = 0xF0  # where the directory begins
    path.write_bytes(content)
    refused(r"d\.npz: damaged(?!.*Errno)", Distribution.load, path)


def test_every_cut_and_every_flipped_byte_is_loaded_right_or_refused(tmp_path):
    d = Distribution([[0, 2], [1, 0]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25)
    path = tmp_path / "d.npz"
    d.save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[at] ^= 0x55
        for content in (whole[:at], bytes(flipped)):
            path.write_bytes(content)
            with contextlib.suppress(InvalidInput):
                assert Distribution.load(path).to_dict() == d.to_dict()
