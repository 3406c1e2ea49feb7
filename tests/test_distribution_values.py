"""Distributions in value units, as dicts and as JSON; SciPy is the outside truth."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rv_discrete

from fewer import Atoms, Distribution, InvalidInput, Lattice, bins


def on_a_line(values, weights, edges=None):
    n = len(values)
    return Distribution(np.arange(n)[:, None], weights, [0], (n,), values=values, edges=edges)


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
    assert isinstance(d.quantile(0.5), float)
    assert (d.quantile(0), d.quantile(1)) == (values[0], values[-1])


def test_quantiles_of_tenths_do_not_slip_by_rounding():
    d = on_a_line(np.arange(10.0), np.full(10, 0.1))
    assert d.quantile(np.arange(1, 11) / 10).tolist() == list(range(10))


def test_without_values_states_are_the_values_and_rest_counts():
    d = Distribution([[0, 2], [1, 0]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25, [0, 1, 0])
    whole = d.spelled_out()
    assert d.mean() == pytest.approx(whole.weights @ whole.states)
    assert d.var() == pytest.approx(whole.weights @ (whole.states - d.mean()) ** 2)
    huge = Distribution(np.zeros((1, 300), int), [0.5], np.arange(300), (2,) * 300, 0.5)
    assert huge.mean() == pytest.approx(np.full(300, 0.25))
    assert huge.var() == pytest.approx(np.full(300, 0.1875))
    line = Distribution.of(Atoms(5), [0.0, 0.25, 0.0, 0.75, 0.0])
    assert (line.mean(), line.var(), line.cdf(2.5), line.quantile(0.3)) == (2.5, 0.75, 0.25, 3.0)
    spread = Distribution([[1]], [0.5], [0], (3,), 0.5)
    assert (spread.cdf(0), spread.cdf(1), spread.mean()) == (0.25, 0.75, 1.0)
    for call in (lambda: d.cdf(1.0), lambda: d.quantile(0.5)):
        with pytest.raises(InvalidInput, match="for one dimension, here are 3"):
            call()


def test_spread_mass_lies_half_on_either_side_of_the_value():
    d = on_a_line([1.0, 5.0], [0.4, 0.6], [[0.0, 2.0], [2.0, 10.0]])
    assert d.cdf([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5, 5.0, 10.0, 11.0], spread=True) == pytest.approx(
        [0.0, 0.0, 0.1, 0.2, 0.4, 0.55, 0.7, 1.0, 1.0]
    )
    q = np.array([0.0, 0.1, 0.2, 0.4, 0.55, 0.7, 1.0])
    assert d.cdf(d.quantile(q, spread=True), spread=True) == pytest.approx(q)
    atom = on_a_line([1.0, 2.0], [0.5, 0.5], [[1.0, 1.0], [2.0, 3.0]])
    assert atom.cdf([0.99, 1.0, 1.5, 2.0], spread=True).tolist() == [0.0, 0.5, 0.5, 0.75]
    with pytest.raises(InvalidInput, match="spread needs edges"):
        on_a_line([1.0], [1.0]).cdf(1.0, spread=True)
    with pytest.raises(InvalidInput, match="do not overlap"):
        on_a_line([1.0, 2.0], [0.5, 0.5], [[0.0, 3.0], [1.0, 4.0]]).quantile(0.5, spread=True)


def examples():
    x = np.random.default_rng(0).lognormal(size=300)
    return {
        "values": bins(x, 7).distribution,
        "grid": bins(x, 7, grid="log", n_bins=20).distribution,
        "counts": bins(counts=[4, 0, 1, 5], k=2).distribution,
        "lattice": Distribution.of(Lattice(3, 2), [0, 0.25, 0, 0.75, 0, 0, 0, 0]),
        "rest": Distribution([[0, 2], [1, 0]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25, [0, 1, 0]),
        "point": Distribution(np.zeros((1, 0), int), [1.0], [], (2, 2)),
        "all rest": Distribution(np.zeros((0, 2), int), [], [0, 1], (2, 3), 1.0),
    }


@pytest.mark.parametrize("name", examples())
def test_round_trips_bring_back_every_bit(name, tmp_path):
    d = examples()[name]
    content = d.to_dict()
    assert content["version"] == 2
    for path in (tmp_path / "d.json", tmp_path / "D.JSON", tmp_path / "d.npz"):
        d.save(path)
    again = [Distribution.load(tmp_path / other) for other in ("d.json", "D.JSON", "d.npz")]
    for other in (Distribution.from_dict(content), Distribution.from_json(d.to_json()), *again):
        assert other.to_dict() == content
        assert other.sample(5, rng=1).tolist() == d.sample(5, rng=1).tolist()
    assert json.loads((tmp_path / "d.json").read_text()) == content


def test_files_of_version_1_are_still_read(tmp_path):
    d = examples()["rest"]
    fields = {
        name: getattr(d, name) for name in ("codes", "weights", "dims", "shape", "rest", "origin")
    }
    np.savez(
        tmp_path / "old.npz", format=np.array("fewer.distribution"), version=np.array(1), **fields
    )
    assert Distribution.load(tmp_path / "old.npz").to_dict() == d.to_dict()
    old = {name: entry for name, entry in d.to_dict().items() if name not in ("values", "edges")}
    assert Distribution.from_dict({**old, "version": 1}).to_dict() == d.to_dict()


def test_the_example_of_the_documentation_is_read_and_so_is_the_least_there_can_be():
    from pathlib import Path

    page = (Path(__file__).parents[1] / "docs" / "distribution-format.md").read_text()
    d = Distribution.from_json(page.split("```json")[1].split("```")[0])
    assert (d.mean(), d.quantile(0.2), d.cdf(2.0, spread=True)) == (7.125, 1.5, 0.25)
    assert json.loads(d.to_json()) == json.loads(page.split("```json")[1].split("```")[0])
    least = {
        "format": "fewer.distribution",
        "version": 2,
        "shape": [3],
        "states": [1],
        "weights": [1.0],
        "note": "mine",
    }
    assert Distribution.from_dict(least).mean() == 1.0


GOOD = {
    "format": "fewer.distribution",
    "version": 2,
    "shape": [2, 3],
    "states": [[0, 1], [0, 2]],
    "weights": [0.5, 0.5],
    "rest": 0.0,
    "dims": [1],
    "origin": [0, 0],
}
LINE = {
    **GOOD,
    "shape": [3],
    "states": [0, 2],
    "dims": [0],
    "origin": [0],
    "values": [1.0, 2.0],
    "edges": None,
}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "must be a dict"),
        ({}, "no format entry"),
        ({**GOOD, "version": 3}, "has version 3; this fewer reads versions 1 to 2"),
        ({**GOOD, "version": True}, "has version True"),
        ({"format": "fewer.distribution", "version": 2}, "lacks shape, states, weights"),
        ({**GOOD, "shape": []}, "shape must list"),
        ({**GOOD, "shape": 3}, "shape must list"),
        ({**GOOD, "shape": ["a"]}, "shape must hold"),
        ({**GOOD, "states": [[0], [1]]}, "states must be rows of 2 integers"),
        ({**GOOD, "states": [[0, 1], [1, 2]]}, "state 1 differs from the origin outside dims"),
        ({**GOOD, "states": [[0, 1], [0, 0.5]]}, "states must hold integers"),
        ({**GOOD, "states": [[0, 1], [0]]}, "states must"),
        ({**GOOD, "dims": [7]}, "dims must be in"),
        ({**GOOD, "origin": [0]}, "states must be rows of 2 integers, and origin one"),
        ({**GOOD, "weights": [0.5, None]}, "weights must"),
        ({**GOOD, "values": [1.0, 2.0]}, "values are for one dimension without rest, got 2"),
        ({**LINE, "values": [1.0]}, "values must be one for each of 2 states"),
        ({**LINE, "values": [1.0, float("nan")]}, "values must be finite"),
        ({**LINE, "values": None, "edges": [[0, 1], [1, 2]]}, "edges belong to values"),
        ({**LINE, "edges": [0, 1, 2]}, r"edges must have shape \(2, 2\)"),
        ({**LINE, "edges": [[0, 1], [3, 4]]}, "edges must hold their values: value 1 is 2"),
        ({**LINE, "weights": [0.25, 0.25], "rest": 0.5}, "without rest"),
    ],
)
def test_content_that_is_wrong_gets_a_sentence(content, sentence, tmp_path):
    with pytest.raises(InvalidInput, match=sentence):
        Distribution.from_dict(content)
    path = tmp_path / "d.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"(d\.json|NaN is not a number of JSON)"):
        Distribution.load(path)


def test_text_that_is_no_json_gets_a_sentence(tmp_path):
    path = tmp_path / "d.json"
    for text in (
        "",
        "{",
        "nonsense",
        "[" * 100_000,
        '{"weights": NaN}',
        '{"a": Infinity}',
        "\ud800",
    ):
        with pytest.raises(InvalidInput, match="the text cannot be read as JSON"):
            Distribution.from_json(text)
    for raw in (b"\xff\xfe\x00", b"PK\x03\x04", b"{"):
        path.write_bytes(raw)
        with pytest.raises(InvalidInput, match=r"d\.json cannot be read as JSON"):
            Distribution.load(path)
    for wrong in (None, 3, ["{}"]):
        with pytest.raises(InvalidInput, match="must be JSON text"):
            Distribution.from_json(wrong)
    on_a_line([1.0], [1.0]).save(path)
    with pytest.raises(InvalidInput, match="more bytes of memory than max_bytes = 20"):
        Distribution.load(path, max_bytes=20)


def test_methods_refuse_what_is_no_number():
    d = on_a_line([1.0, 2.0], [0.5, 0.5])
    for wrong in (np.nan, "a", None, [1.0, np.nan]):
        with pytest.raises(InvalidInput, match=r"^x must"):
            d.cdf(wrong)
        with pytest.raises(InvalidInput, match=r"^x must"):
            d.pmf(wrong)
        with pytest.raises(InvalidInput, match=r"^q must"):
            d.quantile(wrong)
    assert d.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    for wrong in (-0.1, 1.1):
        with pytest.raises(InvalidInput, match=r"q must be in 0\.\.1"):
            d.quantile(wrong)
    assert d.marginal([0]) is d
