"""Distributions are checked where they are made, whatever they were made from.

Files are read without trust.
"""

import contextlib
import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from fewer import Atoms, Distribution, InvalidInput, Lattice


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


def full_face():
    return Distribution([[0], [1]], [0.5, 0.5], [1], (2, 2))


WRONG = {
    r"dims must be distinct": {"dims": [1, 1], "codes": [[0, 0], [1, 1]]},
    "rest must be 0 where all 2 states": {"weights": [0.25, 0.25], "rest": 0.5},
    "with rest they sum to 1.1": {"weights": [0.5, 0.6]},
    "not a distribution": {"weights": [1.5, -0.5]},
    "weights must be finite": {"weights": [0.5, np.nan]},
    "rest must be at least 0": {"weights": [0.25, 0.25], "rest": -0.5},
    "do not fit together": {"codes": [[0, 0], [1, 0]]},
    "outside its space": {"codes": [[0], [2]]},
    "outside": {"dims": [2]},
    "outside its": {"origin": [2, 0]},
    "at least 1, got 0": {"shape": (0, 2)},
    "codes must hold integers": {"codes": [[0.0], [1.0]]},
    "dims must hold real numbers": {"dims": ["a"]},
}


@pytest.mark.parametrize(("sentence", "change"), WRONG.items())
def test_a_distribution_is_checked_where_it_is_made(sentence, change, tmp_path):
    fields = {
        "codes": [[0], [1]],
        "weights": [0.5, 0.5],
        "dims": [1],
        "shape": (2, 2),
        "rest": 0.0,
        "origin": [0, 0],
    }
    Distribution(**fields)
    refused(sentence, Distribution, **{**fields, **change})
    path = tmp_path / "d.npz"
    np.savez(
        path, format=np.array("fewer.distribution"), version=np.array(1), **{**fields, **change}
    )
    refused(f"d.npz is damaged: .*({sentence})", Distribution.load, path)


@pytest.mark.parametrize("kind", ["int8", "uint64", ">i4"])
def test_codes_of_any_integer_type_are_loaded_as_int64(kind, tmp_path):
    d = Distribution([[0, 2], [1, 0]], [0.25, 0.5], [0, 2], (2, 2, 3), 0.25, [0, 1, 0])
    path = tmp_path / "d.npz"
    d.save(path)
    with np.load(path) as archive:
        fields = dict(archive)
    for name in ("codes", "dims", "shape", "origin"):
        fields[name] = fields[name].astype(kind)
    fields["weights"] = fields["weights"].astype(">f8")
    np.savez(path, **fields)
    again = Distribution.load(path)
    states = Lattice(3, (2, 2, 3)).unravel(np.arange(12))
    assert again.pmf(states).tolist() == d.pmf(states).tolist()
    assert again.codes.dtype == again.dims.dtype == np.int64
    assert again.sample(9, rng=0).tolist() == d.sample(9, rng=0).tolist()
    assert again.to_dict() == d.to_dict()


class Payload:
    """Pickled, it would make a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def archive(path, members):
    """A zip file with these members as bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), **options)
    return out.getvalue()


def saved(tmp_path, **changed):
    """The path of a saved distribution with some members replaced."""
    path = tmp_path / "d.npz"
    full_face().save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    archive(path, {**members, **{f"{name}.npy": content for name, content in changed.items()}})
    return path


def test_pickles_are_never_opened(tmp_path):
    made = tmp_path / "made"
    objects = np.array([Payload(made)], object)
    for name in ("codes", "format"):
        path = saved(tmp_path, **{name: npy(objects)})
        refused(
            f"array '{name}': holds Python objects, which are never unpickled",
            Distribution.load,
            path,
        )
    path = tmp_path / "d.npz"
    path.write_bytes(pickle.dumps(Payload(made)))
    refused("damaged or is not a distribution", Distribution.load, path)
    np.save(path.with_suffix(".npy"), objects, allow_pickle=True)
    refused("not a distribution saved by fewer", Distribution.load, path.with_suffix(".npy"))
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
    "format": [npy("other"), npy("f").replace(b"f\0\0\0", (0x110000).to_bytes(4, "little"))],
    "rest": [npy([0.0])],
}


@pytest.mark.parametrize(("name", "content"), [(n, c) for n, each in ODD.items() for c in each])
def test_archives_that_are_odd_get_a_sentence(name, content, tmp_path):
    refused(r"d\.npz", Distribution.load, saved(tmp_path, **{name: content}))


def test_archives_that_are_encrypted_or_absent(tmp_path):
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    for at in range(len(content)):
        if content[at : at + 4] in (b"PK\x03\x04", b"PK\x01\x02"):
            content[at + (6 if content[at + 2] == 3 else 8)] |= 1  # encrypted
    path.write_bytes(content)
    refused("is encrypted", Distribution.load, path)
    for wrong in (None, 3, b"d.npz", "", "a\0b", []):
        refused("path must be the name of a file", Distribution.load, wrong)
        refused("path must be the name of a file", full_face().save, wrong)
    with pytest.raises(FileNotFoundError):
        Distribution.load(tmp_path / "absent")


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


def test_methods_of_a_distribution_refuse_with_a_sentence():
    d = full_face()
    for wrong in (
        [0.0, 1.0],
        [[0], [0, 1]],
        ["a", "b"],
        None,
        [0, 1, 0],
        sp.csr_array([[0, 1]]),
        [0, None],
    ):
        refused("^x must ", d.pmf, wrong)
    assert d.pmf([0, 2**62]) == d.pmf(np.array([0, 2**64 - 1], np.uint64)) == 0.0
    assert d.pmf(np.empty((0, 2))).shape == (0,)
    for wrong in (-1, 2.0, "3", None, [3], True):
        refused("^size must be ", d.sample, wrong)
    refused("size must be in", d.sample, 10**400)
    refused("size = 1000000000000 states: needs .* of memory", d.sample, 10**12)
    refused("it lacks weights", Distribution.from_dict, {**d.to_dict(), "weights": None})
    refused("rng must be None", d.sample, 3, rng="x")
    assert d.sample(0).shape == (0, 2)
    refused("f must be a function of one state, got 3", d.expect, 3)
    for wrong in ("x", None, 1j, [[1], [1, 2]], 10**400):
        refused("^what f returns", d.expect, lambda x, wrong=wrong: wrong)
    assert d.expect(lambda x: np.inf if x[1] else 0.0) == np.inf
    certain = Distribution([[0], [1]], [1.0, 0.0], [1], (2, 2))
    assert certain.expect(lambda x: np.inf if x[1] else 0.5) == 0.5
    refused("^dims must ", d.marginal, [0.5])
    refused("^dims must be in", d.marginal, [2])
    refused("at least one dimension", d.marginal, [])
    refused("p must sum to 1", Distribution.of, Atoms(2), [0.5, 0.6])
    refused("p must have shape", Distribution.of, Atoms(2), [1.0])


def test_more_dimensions_than_arrays_may_have():
    n = 70
    d = Distribution(np.zeros((1, n), int), [0.5], np.arange(n), (1,) * (n - 1) + (2,), 0.5)
    assert d.expect(lambda x: x[-1]) == 0.5
    assert Distribution(np.zeros((1, 0), int), [1.0], [], (2, 2)).spelled_out().states.tolist() == [
        [0, 0]
    ]
