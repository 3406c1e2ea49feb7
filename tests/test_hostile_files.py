"""Files made to do harm: one sentence and code 2, nothing run, nothing unpickled, nothing inflated."""

import csv
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fewer import InvalidInput
from fewer.cli import _app
from fewer.npy import stored_arrays

GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), }\n"
HEADERS = {
    "cut in two": "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), \n",
    "no Python": "\x00\x00\x00",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-6, 2), }\n",
    "too large to count": (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2000000), }\n"
    ),
    "too large for the file": "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 2), }\n",
    "a call": "{'descr': '<f8', 'fortran_order': False, 'shape': (10**9,), }\n",
    "nested": "(" * 4000 + ")" * 4000,
    "no type": "{'descr': 5, 'fortran_order': False, 'shape': (6, 2), }\n",
    "half a type": "{'descr': [('a',)], 'fortran_order': False, 'shape': (6, 2), }\n",
    "records": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6, 2), }\n",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (6, 2), }\n",
    "no bytes": "{'descr': '|S0', 'fortran_order': False, 'shape': (10000000000000,), }\n",
    "no axes": "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n",
    "three axes": "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }\n",
}


def npy(header, data=bytes(96), version=(1, 0)):
    return (
        b"\x93NUMPY"
        + bytes(version)
        + struct.pack("<H", len(header.encode()))
        + header.encode()
        + data
    )


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return bytearray(path.read_bytes())


def patched(path, local, central, value):
    """A field of a zip file of one member, changed in its local header and in the directory."""
    content = zipped(path, {"a.npy": npy(GOOD)})
    content[local] = content[content.rfind(b"PK\x01\x02") + central] = value
    path.write_bytes(content)


@pytest.fixture
def refused(capsys):
    """Runs a command that must refuse its file, and gives the sentence."""

    def check(*args):
        assert _app.run([str(a) for a in args]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("fewer: ")
        assert err.count("\n") == 1
        assert not set(map(chr, (*range(10), *range(11, 32), *range(127, 160)))) & set(err)
        return err

    return check


@pytest.mark.parametrize("place", ["npy", "npz"])
@pytest.mark.parametrize("kind", HEADERS)
def test_broken_headers(kind, place, tmp_path, refused):
    path, content = tmp_path / f"a.{place}", npy(HEADERS[kind])
    if place == "npy":
        path.write_bytes(content)
    else:
        zipped(path, {"a.npy": content})
    assert f"a.{place}" in refused("dims", path, "-k", "1")


def test_an_odd_but_honest_array_is_read(tmp_path, capsys):
    (tmp_path / "a.npy").write_bytes(
        npy("{'descr': '>f8', 'fortran_order': True, 'shape': (1, 3), }\n", bytes(24))
    )
    assert _app.run(["dims", str(tmp_path / "a.npy"), "-k", "1", "--quiet"]) == 0


def test_a_table_of_zeros_is_covered_by_anything(tmp_path, capsys):
    (tmp_path / "zeros.csv").write_text("a,b\n0,0\n0,0\n")
    assert _app.run(["dims", str(tmp_path / "zeros.csv"), "-k", "1"]) == 0
    assert "rows covered 100.00 %" in capsys.readouterr().err


def test_encrypted_and_unknown_members(tmp_path, refused):
    patched(tmp_path / "secret.npz", 6, 8, 1)
    assert "is encrypted" in refused("dims", tmp_path / "secret.npz", "-k", "1")
    patched(tmp_path / "odd.npz", 8, 10, 99)
    assert "compression method is not supported" in refused("dims", tmp_path / "odd.npz", "-k", "1")


def test_an_archive_whose_directory_leads_before_its_start(tmp_path, refused):
    content = zipped(tmp_path / "a.npz", {"a.npy": npy(GOOD)})
    end = content.rfind(b"PK\x05\x06")
    content[end + 16 : end + 20] = struct.pack(
        "<I", len(content)
    )  # so zipfile takes all offsets for too large
    (tmp_path / "a.npz").write_bytes(content)
    assert "a.npz: cannot be read as npz" in refused("dims", tmp_path / "a.npz", "-k", "1")


def test_members_that_are_no_arrays(tmp_path, refused, capsys):
    zipped(tmp_path / "text.npz", {"a.npy": b"hello"})
    refused("dims", tmp_path / "text.npz", "-k", "1")
    zipped(tmp_path / "folder.npz", {"a/": b"", "readme.txt": b"hello"})
    assert "has no array" in refused("dims", tmp_path / "folder.npz", "-k", "1")
    zipped(tmp_path / "both.npz", {"readme.txt": b"hello", "a.npy": npy(GOOD)})
    assert _app.run(["dims", str(tmp_path / "both.npz"), "-k", "1", "--quiet"]) == 0
    twice = zipped(tmp_path / "twice.npz", {"a.npy": npy(GOOD), "b.npy": npy(GOOD)})
    (tmp_path / "twice.npz").write_bytes(twice.replace(b"b.npy", b"a.npy"))
    capsys.readouterr()
    assert "two arrays of the same name" in refused("dims", tmp_path / "twice.npz", "-k", "1")


@pytest.mark.parametrize("name", ["book.xlsx", "book.npz"])
def test_office_documents(name, tmp_path, refused):
    zipped(tmp_path / name, {"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<y/>"})
    assert "cannot be read as xlsx" in refused("dims", tmp_path / name, "-k", "1")
    zipped(tmp_path / "letter.docx", {"[Content_Types].xml": "<x/>", "word/document.xml": "<y/>"})
    assert "format not supported: zip" in refused("dims", tmp_path / "letter.docx", "-k", "1")


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\x28\xb5\x2f\xfd\x04\x00abc", "cannot be inflated"),
        (b"BZh91AY", "cannot be inflated"),
        (b"x\x9c\x03\x00", "format not supported: zlib"),
        (b"\xd0\xcf\x11\xe0", "save the sheet as xlsx or csv"),
        (b"%PDF-1.7", "format not supported: pdf"),
        (b"a,b\n1,2\n\x00\x01\x02\x03\n", "bytes that are no text"),
        (b"a,b\r1,2\r", "CR alone"),
        (b'a,b\n1,"2\n', "a quote that is never closed"),
        (b"\x1f\x8b\x08\x00abc", "cannot be inflated"),
    ],
)
def test_other_kinds_of_files(start, words, tmp_path, refused):
    (tmp_path / "a.csv").write_bytes(start)
    assert words in refused("dims", tmp_path / "a.csv", "-k", "1")


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_nothing_is_unpickled(tmp_path, refused, capsys):
    mark = tmp_path / "unpickled"
    objects = np.array([Payload(mark)], object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    assert "never unpickled" in refused("bins", tmp_path / "a.npy", "-k", "1")
    np.savez(tmp_path / "a.npz", a=objects, b=np.arange(3.0))
    assert _app.run(["bins", str(tmp_path / "a.npz"), "-k", "1", "--quiet"]) == 0  # of b
    np.savez(tmp_path / "a.npz", a=objects)
    capsys.readouterr()
    assert "never unpickled" in refused("bins", tmp_path / "a.npz", "-k", "1")
    assert not mark.exists()


def declared(path, size, count):
    """A small archive that declares a member of many bytes, and an array of many numbers in it."""
    content = zipped(
        path, {"a.npy": npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}\n")}
    )
    place = content.rfind(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", size)
    path.write_bytes(content)


def test_bombs_are_refused_by_what_they_declare(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(np, "load", lambda *args, **options: pytest.fail("was unpacked"))
    declared(tmp_path / "a.npz", 4 * 10**9, 5 * 10**8)
    assert "bytes to 4 GB; if it is meant so" in refused("bins", tmp_path / "a.npz", "-k", "1")
    declared(tmp_path / "a.npz", 4 * 10**8, 12)
    assert "would be inflated" in refused("bins", tmp_path / "a.npz", "-k", "1")
    declared(tmp_path / "a.npz", 10**8, 12)
    assert "its head declares 96 bytes, the archive 100 MB" in refused(
        "bins", tmp_path / "a.npz", "-k", "1"
    )
    zipped(tmp_path / "a.npz", {"a.npy": npy(GOOD.replace("6, 2", "1000000,"))})
    assert "its head declares 8 MB, the archive 96 bytes" in refused(
        "bins", tmp_path / "a.npz", "-k", "1"
    )


def test_an_archive_of_many_honest_members_is_a_bomb_by_their_sum(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("fewer.npy.ALWAYS_INFLATED", 10**6)
    zipped(
        tmp_path / "a.npz",
        {f"{i}.npy": npy(GOOD.replace("6, 2", "20000, "), bytes(160_000)) for i in range(8)},
    )
    assert "would be inflated" in refused("bins", tmp_path / "a.npz", "--column", "1", "-k", "1")


def test_what_does_not_fit_into_memory_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("fewer.npy.memory", lambda: 1000)
    np.save(tmp_path / "a.npy", np.zeros(200))
    np.savez(tmp_path / "a.npz", a=np.zeros(200))
    pl.DataFrame({"a": np.zeros(200)}).write_parquet(tmp_path / "a.parquet")
    for name in ("a.npy", "a.npz", "a.parquet"):
        assert "kB of memory, this machine has 1 kB" in refused("bins", tmp_path / name, "-k", "1")


def test_a_csv_compressed_by_gzip_is_inflated_up_to_a_limit(tmp_path, refused, monkeypatch, capsys):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n2\n" * 100_000))
    assert _app.run(["bins", str(tmp_path / "a.csv.gz"), "-k", "1"]) == 0
    assert "200000.0" in capsys.readouterr().out
    monkeypatch.setattr("fewer.io.formats.ALWAYS_INFLATED", 10_000)
    assert "is inflated to more than" in refused("bins", tmp_path / "a.csv.gz", "-k", "1")


def test_a_file_name_that_is_not_utf8(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xffname.csv")
    Path(name).write_text("a,b\n1,0\n1,1\n")
    args = (
        "dims",
        name,
        "-k",
        "1",
        "-o",
        os.fsdecode(b"\xffout.json"),
        "--report",
        os.fsdecode(b"\xffpage.html"),
    )
    assert _app.run([*args]) == 0
    assert "\\xffname.csv" in capsys.readouterr().out
    assert json.loads(Path(os.fsdecode(b"\xffout.json")).read_text())["k"] == 1
    assert "\\xffname.csv" in Path(os.fsdecode(b"\xffpage.html")).read_text()


def test_quotes_in_names_are_single(tmp_path, capsys):
    (tmp_path / "a.csv").write_text('"5"" pipe","a ""b"""\n1,0\n1,1\n')
    assert (
        _app.run(
            [
                "dims",
                str(tmp_path / "a.csv"),
                "-k",
                "2",
                "--columns",
                '5" pipe,a "b"',
                "--json",
                "--quiet",
            ]
        )
        == 0
    )
    kept = json.loads(capsys.readouterr().out)["answers"][0]["kept"]
    assert sorted(kept["column"]) == ['5" pipe', 'a "b"']
    assert (
        _app.run(["bins", str(tmp_path / "a.csv"), "-k", "1", "--column", '5" pipe', "--quiet"])
        == 0
    )


def test_names_with_wildcards_are_names(tmp_path, capsys):
    (tmp_path / "a[1]*.csv").write_text("a,b\n1,0\n1,1\n")
    assert _app.run(["dims", str(tmp_path / "a[1]*.csv"), "-k", "1", "--quiet"]) == 0


def wide_table(path, width, row="1"):
    path.write_text(
        "\n".join([",".join(f"c{i}" for i in range(width)), *[",".join([row] * width)] * 3]) + "\n"
    )


def test_a_hundred_thousand_columns(tmp_path, refused):
    wide_table(tmp_path / "a.csv", 100_001)
    said = refused("bins", tmp_path / "a.csv", "--column", "c0", "-k", "1")
    assert "must have at most 100000 columns, got 100001; save it as npz" in said
    wide_table(tmp_path / "b.csv", 50_000, "x")
    assert "of numbers" in refused("bins", tmp_path / "b.csv", "-k", "1")


EVIL = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "-2+3",
    "\t=1",
    "a;=1",
    "\x1b[2Jx",
    "\x9b31m",
    "[/b]",
    "[red]x",
    "u\u202ev",
]


@pytest.fixture
def evil(tmp_path):
    with (tmp_path / "evil.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(EVIL)
        writer.writerows(np.ones((3, len(EVIL)), int))
    return tmp_path


def test_names_are_not_run_by_spreadsheets_nor_obeyed_by_terminals(evil, capsys):
    args = ["dims", str(evil / "evil.csv"), "-k", str(len(EVIL))]
    assert _app.run([*args, "-o", str(evil / "out.csv")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\\x1b[2Jx" in shown
    assert "[/b]" in shown  # and no markup of ours
    text = (evil / "out.csv").read_text()
    cells = {row["column"] for row in csv.DictReader(io.StringIO(text))}
    assert {
        "'=cmd|' /C calc'!A0",
        "'+1+1",
        "'@SUM(1)",
        "'-2+3",
        "\\t=1",
        "a;=1",
        "\\x1b[2Jx",
        "\\x9b31m",
    } <= cells
    assert '"a;=1"' in text
    assert _app.run([*args, "--quiet", "--json"]) == 0
    out = capsys.readouterr().out
    assert not set("\x1b\x9b\u202e") & set(out)
    assert set(json.loads(out)["answers"][0]["kept"]["column"]) == set(EVIL)


def test_numbers_stay_numbers():
    from fewer.text import csv_text

    cells = [[-1.5, -3, "-3", "+1e5", None, True, float("-inf"), np.float64(0.1), np.int64(-2)]]
    assert csv_text("abcdefghi", cells).splitlines()[1] == "-1.5,-3,-3,+1e5,,True,-inf,0.1,-2"


def test_errors_quote_files_without_obeying_them(evil, refused):
    assert "\\x1b[2Jx" in refused("bins", evil / "evil.csv", "--column", "\x1b[2Jy", "-k", "1")
    (evil / "long.csv").write_text("x" * 100_000 + ",b\n1,2\n")
    assert len(refused("bins", evil / "long.csv", "--column", "a", "-k", "1")) < 2000


def test_versions_types_and_ends_of_npy_files(tmp_path):
    path, numbers = tmp_path / "a.npy", np.arange(6.0)

    def head(array, version):
        with path.open("wb") as file:
            np.lib.format.write_array(file, array, version=version)
        return stored_arrays(path, "a")[""]

    for version in ((1, 0), (2, 0)):
        assert head(numbers, version).data.tolist() == numbers.tolist()
    with pytest.raises(InvalidInput, match=r"version 3.0 of npy; expected 1.0 or 2.0"):
        head(numbers, (3, 0))
    for odd in ("[('a', '<f8')]", "'|V8'", "'|S0'"):
        path.write_bytes(npy(f"{{'descr': {odd}, 'fortran_order': False, 'shape': (3,), }}\n"))
        with pytest.raises(InvalidInput, match="expected numbers or texts"):
            stored_arrays(path, "a")
    head(numbers, (1, 0))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InvalidInput, match="its head declares 48 bytes, the file 47 bytes"):
        stored_arrays(path, "a")


def with_cell(path, cell):
    """A workbook of three rows, and one more cell."""
    pl.DataFrame({"a": [1.5, 2.5], "b": [3, 4]}).write_excel(path)
    with zipfile.ZipFile(path) as archive:
        members = {member.filename: archive.read(member) for member in archive.infolist()}
    name = "xl/worksheets/sheet1.xml"
    members[name] = members[name].replace(b"</sheetData>", cell + b"</sheetData>")
    zipped(path, members)


@pytest.mark.parametrize(
    "cell",
    [
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        b"<row r='1048576'><c r = 'XFD1048576' ><v>1</v></c></row>",
        b'<row r="1048576"><c t=">" s="0" r="xfd1048576"><v>1</v></c></row>',
        b"<row r='9'><c " + b" " * (1 << 20) + b'r="XFD1048576"><v>1</v></c></row>',
    ],
    ids=["plain", "quotes", "attributes", "across parts"],
)
def test_a_sheet_with_a_cell_far_away_is_refused_before_it_is_read(cell, tmp_path, refused):
    with_cell(tmp_path / "a.xlsx", cell)
    said = refused("dims", tmp_path / "a.xlsx", "-k", "1")
    assert "its cells reach as far as row 1048576 of column 16384, which takes 550 GB" in said


def test_a_sheet_with_a_cell_that_is_not_so_far_is_read(tmp_path):
    from fewer.io.files import open_table

    with_cell(tmp_path / "a.xlsx", b'<row r="900"><c r="D900"><v>1</v></c></row>')
    assert open_table(tmp_path / "a.xlsx").frame().height == 3  # rows without cells are none


PEAK = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "fewer", *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def peak(*args):
    """The exit code and the peak memory (MB) of a command, from outside."""
    command = [sys.executable, "-c", PEAK, *map(str, args)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(map(int, out.stdout.split()))


def test_a_compressed_csv_of_many_small_cells_is_read_in_blocks(tmp_path):
    """80 MB of csv, which are 320 MB as numbers, in a file of 8 MB."""
    digits = (np.random.default_rng(0).random((100_000, 400)) < 0.1).astype(np.uint8) + ord("0")
    lines = np.full((100_000, 800), ord(","), np.uint8)
    lines[:, ::2] = digits
    lines[:, -1] = ord("\n")
    head = ",".join(f"c{i}" for i in range(400)).encode() + b"\n"
    (tmp_path / "small.csv").write_bytes(head + lines[:100].tobytes())
    (tmp_path / "large.csv.gz").write_bytes(gzip.compress(head + lines.tobytes(), 1))
    options = ("-k", "1", "-q", "--solver", "greedy", "--max-memory", "100MB")
    code, least = peak("dims", tmp_path / "small.csv", *options)
    assert code == 0
    code, most = peak("dims", tmp_path / "large.csv.gz", *options)
    assert code == 0
    assert most - least < 450
