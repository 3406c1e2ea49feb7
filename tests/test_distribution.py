"""What a user keeps: probabilities, samples, expectations, files."""

import os

import numpy as np
import pytest

from fewer import (
    L2,
    Atoms,
    DimensionSparse,
    Distribution,
    InvalidInput,
    Lattice,
    States,
    greedy,
)


def example():
    space = Lattice(4, (2, 3, 2, 2))
    rng = np.random.default_rng(0)
    result = greedy(L2(space, rng.dirichlet(np.ones(space.size))), DimensionSparse(space, 2))
    return space, result


def test_distribution_holds_what_the_result_holds():
    space, result = example()
    d = result.distribution
    everything = space.unravel(np.arange(space.size))
    assert np.array_equal(d.pmf(everything), result.p)
    assert d.pmf(everything[3]) == result.p[3]
    assert isinstance(d.pmf(everything[3]), float)
    assert d.dims.tolist() == result.support.tolist()
    assert np.array_equal(d.pmf(everything.reshape(4, 6, 4)), result.p.reshape(4, 6))
    assert d.expect(lambda x: x) == pytest.approx(result.p @ everything)
    assert d.expect(lambda x: x[0] * x.sum()) == pytest.approx(
        result.p @ (everything[:, 0] * everything.sum(1))
    )
    assert len(d) == np.count_nonzero(result.p)


def test_marginals():
    space, result = example()
    table = result.p.reshape(space.shape)
    pair = result.distribution.marginal([1, 3])
    assert np.allclose(
        pair.pmf(Lattice(2, (3, 2)).unravel(np.arange(6))), table.sum(axis=(0, 2)).reshape(-1)
    )
    one = result.distribution.marginal([1])
    assert np.allclose(one.pmf([0, 1, 2]), table.sum(axis=(0, 2, 3)))
    with pytest.raises(InvalidInput, match="at least one dimension"):
        result.distribution.marginal([])


def test_samples_follow_the_weights():
    _, result = example()
    d = result.distribution
    draws = d.sample(20000, rng=1)
    assert draws.shape == (20000, 4)
    assert np.array_equal(draws, d.sample(20000, rng=1))
    for state, weight in zip(d.states, d.weights, strict=True):
        assert (draws == state).all(axis=1).mean() == pytest.approx(weight, abs=0.015)


def test_samples_of_a_large_face_do_not_write_it_out(monkeypatch):
    d = Distribution(np.zeros((1, 19), int), [0.5], np.arange(19), (2,) * 19, rest=0.5)
    monkeypatch.setattr(Distribution, "_all_codes", None)
    draws = d.sample(2000, rng=0)
    assert draws.any(axis=1).mean() == pytest.approx(0.5, abs=0.05)


def test_atoms_are_plain_integers():
    d = Distribution.of(Atoms(5), [0, 0.5, 0, 0.5, 0])
    assert d.states.tolist() == [1, 3]
    assert d.pmf(3) == 0.5
    assert d.pmf([0, 1, 2]).tolist() == [0, 0.5, 0]
    assert d.expect(float) == 2.0
    assert set(d.sample(100, rng=0).tolist()) == {1, 3}


def test_states_keep_their_rows():
    space = States([[0, 3], [2, 0]], [1, 3])
    d = Distribution.of(space, space.weights)
    assert d.pmf([[0, 3], [2, 0], [2, 3], [0, 0]]).tolist() == [0.25, 0.75, 0, 0]
    assert d.shape == (3, 4)


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    _, result = example()
    path = tmp_path / "kept.npz"
    result.distribution.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez_compressed", lambda file, **_: file.write(b"half") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.distribution.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept.npz"]


def test_foreign_files_get_a_sentence(tmp_path):
    path = tmp_path / "kept.npz"
    for content, words in (
        ({"a": np.arange(3)}, "not a distribution saved by fewer: it has no format"),
        ({"format": np.array("fewer.distribution"), "version": np.array(99)}, "has version 99"),
        ({"format": np.array("fewer.distribution"), "version": np.array(2)}, "it lacks codes"),
    ):
        np.savez(path, **content)
        with pytest.raises(InvalidInput, match=words):
            Distribution.load(path)
    path.write_text("hello")
    with pytest.raises(InvalidInput, match="damaged or is not a distribution"):
        Distribution.load(path)


def with_rest(seed):
    """A face of 2 x 3 states of which some are listed, on dimensions 1 and 3 of four, with an odd origin."""
    rng = np.random.default_rng(seed)
    every = np.indices((2, 3)).reshape(2, -1).T
    codes = np.ascontiguousarray(rng.permutation(every)[: int(rng.integers(1, 6))])
    masses = rng.dirichlet(np.ones(len(codes) + 1))
    return Distribution(
        codes, masses[1:], np.array([1, 3]), (2, 2, 4, 3), float(masses[0]), np.array([1, 0, 2, 0])
    )


@pytest.mark.parametrize("seed", range(6))
def test_mass_on_the_rest_of_a_face(seed, tmp_path):
    d = with_rest(seed)
    everything = Lattice(4, d.shape).unravel(np.arange(48))
    p = d.pmf(everything)
    assert p.sum() == pytest.approx(1)
    assert (p > 0).sum() == 6
    assert (everything[p > 0][:, [0, 2]] == [1, 2]).all()
    assert np.allclose(d.spelled_out().pmf(everything), p)
    assert d.expect(lambda x: x) == pytest.approx(p @ everything)
    table = p.reshape(d.shape)
    assert np.allclose(
        d.marginal([2, 3]).pmf(Lattice(2, (4, 3)).unravel(np.arange(12))), table.sum((0, 1)).ravel()
    )
    draws = d.sample(20000, rng=seed)
    for x, weight in zip(everything, p, strict=True):
        assert (draws == x).all(axis=1).mean() == pytest.approx(weight, abs=0.015)
    d.save(tmp_path / "d.npz")
    assert Distribution.load(tmp_path / "d.npz").to_dict() == d.to_dict()


def test_the_rest_of_an_astronomic_face_is_a_count():
    n = 2000
    d = Distribution(np.zeros((1, n), int), np.array([0.25]), np.arange(n), (2,) * n, rest=0.75)
    assert d.pmf(np.zeros(n, int)) == 0.25
    assert d.pmf(np.ones(n, int)) == 0.0  # 0.75 / 2^2000 is below the smallest number
    draws = d.sample(1000, rng=0)
    assert draws.any(axis=1).mean() == pytest.approx(0.75, abs=0.06)
    with pytest.raises(
        InvalidInput, match=r"states of the face, too many to go through; use sample or pmf"
    ):
        d.expect(sum)


@pytest.mark.parametrize("given", [(), (1,), (2,), (3,), (2, 1), (3, 1), (2, 3), (2, 3, 1)])
def test_pmf_of_one_dimension_takes_states_with_or_without_an_axis_of_their_own(given):
    d = Distribution.of(Atoms(4), [0.5, 0.25, 0.25, 0.0])
    x = np.zeros(given, int)
    assert np.shape(d.pmf(x)) == (given[:-1] if given[-1:] == (1,) else given)
    assert np.all(d.pmf(x) == 0.5)
