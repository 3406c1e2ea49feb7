"""Distributions are checked where they are made, whatever they were made from; files are read without trust."""

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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dims": [1, 1], "codes": [[0, 0], [1, 1]]}, r"dims must be distinct, got \[1, 1\]"),
        (
            {"weights": [0.25, 0.25], "rest": 0.5},
            "rest must be 0 where all 2 states of the face are listed, got 0.5",
        ),
        ({"weights": [0.5, 0.6]}, "not a distribution: with rest they sum to 1.1"),
        ({"weights": [1.5, -0.5]}, "not a distribution"),
        ({"weights": [0.5, np.nan]}, "weights must be finite"),
        ({"weights": [0.25, 0.25], "rest": -0.5}, "rest must be at least 0"),
        ({"weights": [0.25, 0.25], "rest": np.nan}, "rest must be a finite number"),
        ({"weights": [1.0]}, "do not fit together"),
        ({"codes": [[0, 0], [1, 0]]}, "do not fit together"),
        ({"origin": [0]}, "do not fit together"),
        ({"shape": ()}, "do not fit together|outside"),
        ({"codes": [[0], [2]]}, "outside its space"),
        ({"codes": [[0], [-1]]}, "outside its space"),
        ({"dims": [2]}, "outside its space"),
        ({"dims": [-1]}, "outside its space"),
        ({"origin": [2, 0]}, "outside its space"),
        ({"origin": [-1, 0]}, "outside its space"),
        ({"shape": (0, 2)}, "at least 1, got 0"),
        ({"codes": [[0.0], [1.0]]}, "codes must hold integers"),
        ({"dims": ["a"]}, "dims must hold real numbers"),
        ({"shape": np.array([2, 2**63], np.uint64)}, "shape must hold integers"),
    ],
)
def test_a_distribution_is_checked_where_it_is_made(change, sentence, tmp_path):
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


@pytest.mark.parametrize("kind", ["int8", "int32", "uint8", ">i8", ">i4", "<i2", "uint64"])
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


def test_sizes_are_refused_before_anything_is_unpacked(tmp_path, monkeypatch):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    path = saved(tmp_path, weights=header.getvalue())
    monkeypatch.setattr("fewer.npy._loaded", lambda *args: pytest.fail("was unpacked"))
    refused(r"'weights': its head declares 8e\+06 GB, the archive 0 bytes", Distribution.load, path)
    path = saved(tmp_path, codes=npy(np.zeros((2, 1), np.int64)) + bytes(10**6))
    refused(
        "^[^:]*d.npz would take 1.* bytes of memory, more than max_bytes = 9999",
        Distribution.load,
        path,
        max_bytes=9999,
    )
    refused("max_bytes must be an integer", Distribution.load, path, max_bytes="1GB")


def test_only_the_members_of_a_distribution_are_looked_at_and_max_bytes_alone_says_how_large_they_may_be(
    tmp_path, monkeypatch
):
    path = saved(tmp_path, other=b"no array", codes=npy(np.array([[0], [1]])), more=bytes(10**6))
    for name in ("ALWAYS_INFLATED", "MAX_RATIO"):
        monkeypatch.setattr(f"fewer.npy.{name}", 0)
    with zipfile.ZipFile(path) as file:
        fields = ("codes", "weights", "dims", "shape", "rest", "origin", "format", "version")
        size = sum(file.getinfo(f"{name}.npy").file_size for name in fields)
    assert Distribution.load(path, max_bytes=size).to_dict() == full_face().to_dict()
    refused(
        f"would take {size} bytes of memory, more than max_bytes = {size - 1}",
        Distribution.load,
        path,
        max_bytes=size - 1,
    )


def test_texts_that_are_not_unicode_are_refused(tmp_path):
    for code in (0x110000, 0xD800):
        text = npy("fewer.distribution").replace(
            "f".encode("utf-32-le"), code.to_bytes(4, "little")
        )
        refused(
            "d.npz .*: its texts are not Unicode", Distribution.load, saved(tmp_path, format=text)
        )


def test_archives_that_are_odd_get_a_sentence(tmp_path):
    for damage, sentence in [
        ({"codes": b"nonsense"}, "damaged"),
        ({"codes": b""}, "damaged"),
        ({"codes": b"\x93NUMPY\x09\x00"}, "array 'codes': is in version 9.0 of npy"),
        ({"codes": npy(np.zeros((2, 1), np.int64))[:-1]}, "damaged"),
        (
            {"codes": npy(np.zeros((2, 1), np.int64)) + b"more"},
            "'codes': its head declares 16 bytes, the archive 20 bytes",
        ),
        ({"version": npy(np.array([1, 1]))}, r"has version \[1, 1\]"),
        ({"version": npy(1.0)}, "has version 1.0"),
        ({"format": npy("other")}, "no format entry"),
        ({"rest": npy([0.0])}, "rest must be a finite number"),
    ]:
        refused(sentence, Distribution.load, saved(tmp_path, **damage))
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    for at in range(len(content)):
        if content[at : at + 4] in (b"PK\x03\x04", b"PK\x01\x02"):
            content[at + (6 if content[at + 2] == 3 else 8)] |= 1  # encrypted
    path.write_bytes(content)
    refused("damaged or is not a distribution.* is encrypted", Distribution.load, path)
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
    refused("do not fit in memory", d.sample, 10**400)
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


def test_damage_to_compressed_data_is_a_sentence(tmp_path):
    path = tmp_path / "d.npz"
    Distribution([[0], [1]], [0.5, 0.5], [0], (3,)).save(path)
    whole, heard = path.read_bytes(), set()
    for at in range(len(whole)):
        for bits in (6, 255):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1 :])
            try:
                Distribution.load(path)
            except InvalidInput as error:
                heard.add(str(error).rpartition(": ")[2])
    assert {
        "what it holds in compressed form is damaged",
        "its list of members is damaged",
    } <= heard
    assert not any("Error -3" in reason or "Errno" in reason for reason in heard)
