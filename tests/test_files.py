"""Files are written whole or not at all, whatever is in the way.

And commands end as documented, whatever happens.
"""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from commands import run
from fewer import files
from fewer.cli import _app
from fewer.files import destination, written_whole

WIDE = "a,b,c\n1,0,1\n0,1,1\n1,1,0\n"


def write(path, content, **options):
    with written_whole(path, **options) as file:
        file.write(content)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.csv").write_text(WIDE)
    return tmp_path


@pytest.fixture
def handler():
    """What pytest does on Ctrl-C is put back."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def dims(*args):
    return _app.run(["dims", "wide.csv", "-k", "2", "--quiet", *map(str, args)])


def test_a_link_is_written_through_and_stays(folder):
    (folder / "there").mkdir()
    (folder / "there" / "real.csv").write_text("old")
    (folder / "out.csv").symlink_to("there/real.csv")
    write("out.csv", b"new")
    assert (folder / "out.csv").is_symlink()
    assert (folder / "there" / "real.csv").read_bytes() == b"new"
    assert names(folder) == ["out.csv", "there", "wide.csv"]


def test_a_link_to_nothing_is_refused_and_with_force_makes_what_it_leads_to(folder, capsys):
    (folder / "out.csv").symlink_to("gone.csv")
    assert dims("-o", "out.csv") == 2
    assert "out.csv: is a link to" in capsys.readouterr().err
    assert (folder / "out.csv").is_symlink()
    assert not (folder / "gone.csv").exists()
    assert dims("-o", "out.csv", "--force") == 0
    assert (folder / "out.csv").is_symlink()
    assert (folder / "gone.csv").exists()


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_pipes_and_folders_are_refused_before_any_work(folder, capsys, force):
    os.mkfifo("pipe.csv")
    (folder / "folder.csv").mkdir()
    assert dims("-o", "pipe.csv", *force) == 2
    assert "pipe.csv: is a named pipe, not a file" in capsys.readouterr().err
    assert stat.S_ISFIFO((folder / "pipe.csv").stat().st_mode)
    assert dims("-o", "folder.csv", *force) == 2
    assert "'folder.csv' is a directory" in capsys.readouterr().err


def test_a_device_is_refused():
    with pytest.raises(
        OSError, match="is a device"
    ):  # only asked, never written: a fault would replace it
        destination("/dev/null")


def test_the_mode_of_a_file_that_is_replaced_is_kept(folder):
    (folder / "out.csv").write_text("secret")
    (folder / "out.csv").chmod(0o600)
    write("out.csv", b"new")
    assert stat.S_IMODE((folder / "out.csv").stat().st_mode) == 0o600


def test_errors_name_the_file_and_not_its_part(folder):
    with pytest.raises(FileNotFoundError) as caught:
        write("nowhere/out.csv", b"new")
    assert caught.value.filename == "nowhere/out.csv"
    with pytest.raises(FileNotFoundError) as caught, written_whole("out.csv"):
        (folder / "other").read_text()
    assert caught.value.filename == str(
        folder / "other"
    )  # what the block itself meets is passed on


def test_without_replace_a_file_that_has_appeared_meanwhile_is_not_lost(folder):
    def both():
        with written_whole("out.csv", replace=False) as file:
            file.write(b"ours")
            (folder / "out.csv").write_text("theirs")

    with pytest.raises(FileExistsError):
        both()
    assert (folder / "out.csv").read_text() == "theirs"
    write("new.csv", b"new", replace=False)
    assert names(folder) == ["new.csv", "out.csv", "wide.csv"]


def test_a_command_without_force_does_not_overwrite_what_appears_while_it_works(
    folder, capsys, monkeypatch
):
    from fewer.report import path

    real = path.compare

    def compare(*args):
        (folder / "out.csv").write_text("theirs")
        return real(*args)

    monkeypatch.setattr(path, "compare", compare)
    assert dims("-o", "out.csv") == 2
    assert "out.csv: File exists" in capsys.readouterr().err
    assert (folder / "out.csv").read_text() == "theirs"


def test_eight_threads_write_one_file(folder):
    contents = [bytes([65 + i]) * 200_000 for i in range(8)]
    threads = [threading.Thread(target=write, args=("out.csv", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (folder / "out.csv").read_bytes() in contents
    assert names(folder) == ["out.csv", "wide.csv"]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "npz", "html"])
def test_every_output_of_a_job_is_written_whole(folder, kind, monkeypatch, capsys):
    option = "--report" if kind == "html" else "-o"

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    (folder / f"out.{kind}").write_text("old")
    monkeypatch.setattr("fewer.files._flush", full)
    assert dims(option, f"out.{kind}", "--force") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (folder / f"out.{kind}").read_text() == "old"
    assert names(folder) == [f"out.{kind}", "wide.csv"]


def test_when_a_file_cannot_be_written_the_answer_is_still_shown(folder, monkeypatch, capsys):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fewer.files._flush", full)
    assert _app.run(["dims", "wide.csv", "-k", "2", "-o", "out.csv"]) == 2
    shown = capsys.readouterr()
    assert "2 of 3 columns for 3 rows" in shown.out
    assert "wrote" not in shown.out
    assert shown.err == "fewer: out.csv: No space left on device.\n"


SHELL = 'exec "$PYTHON" -m fewer "$@"'


def shell(redirect, *args, cwd):
    """The command with streams closed as a shell closes them."""
    words = ["sh", "-c", f"{SHELL} {redirect}", "sh", *args]
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("redirect", "args", "code", "err"),
    [
        (">&-", ["--version"], 0, ""),
        ("2>&-", ["--version"], 0, ""),
        ("2>&-", ["nothing"], 2, ""),
        (
            ">&-",
            ["nothing"],
            2,
            (
                "fewer: no command 'nothing'; there are points, bins, terms, dims, look, demo,"
                " warm, completion.\n"
            ),
        ),
        ("<&- >&- 2>&-", ["nothing"], 2, ""),
        (
            "<&-",
            ["dims", "-", "-k", "1"],
            2,
            "fewer: standard input: is empty; expected a table.\n",
        ),
        (">/dev/full", ["--version"], 2, "fewer: standard output: No space left on device.\n"),
        ("2>/dev/full", ["nothing"], 2, ""),
    ],
)
def test_closed_or_full_streams_change_no_exit_code(tmp_path, redirect, args, code, err):
    done = shell(redirect, *args, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, err)


def test_with_all_streams_closed_files_get_what_is_theirs(tmp_path):
    (tmp_path / "wide.csv").write_text(WIDE)
    args = "dims", "wide.csv", "-k", "2", "-o", "out.csv", "--report", "out.html"
    assert shell("<&- >&- 2>&-", *args, cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.csv").read_text().startswith("column,index")
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("args", [["--help"], ["dims", "wide.csv", "-k", "2"]])
@pytest.mark.parametrize("broken", ["stdout", "stderr"])
def test_a_reader_that_has_gone_is_no_error(tmp_path, args, broken):
    (tmp_path / "wide.csv").write_text(WIDE)
    read, written = os.pipe()
    os.close(read)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, broken: written}
    command = [sys.executable, "-m", "fewer", *args]
    done = subprocess.run(command, cwd=tmp_path, text=True, **streams)
    os.close(written)
    assert done.returncode == 0
    assert "Traceback" not in (done.stderr or "")
    if broken == "stderr" and args[0] == "dims":
        assert done.stdout.startswith("column,index")  # the answer is all there


def python(code, cwd):
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize("module", ["click", "polars", "fewer.report.page"])
def test_ctrl_c_during_an_import_is_130_without_a_traceback(tmp_path, module):
    (tmp_path / "wide.csv").write_text(WIDE)
    code = (
        "import os, signal, sys\n"
        "from fewer.cli import main\n"
        "class Press:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "main(['dims', 'wide.csv', '-k', '2', '-o', 'out.csv'])\n"
    )
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "fewer: interrupted before there was an answer; nothing was written.\n"
    assert names(tmp_path) == ["wide.csv"]


def test_the_command_takes_ctrl_c_before_it_imports_anything():
    code = (
        "import sys; before = set(sys.modules); import fewer.cli; print(*sorted(set(sys.modules) -"
        " before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "fewer",
        "fewer.cli",
        "gc",
    ]  # gc is a part of the interpreter


def test_ctrl_c_while_the_answer_is_written_is_130_and_it_is_written(
    folder, handler, monkeypatch, capsys
):
    real = os.fsync

    def fsync(file):
        os.kill(os.getpid(), signal.SIGINT)
        real(file)

    def once(file):
        monkeypatch.setattr(os, "fsync", real)
        fsync(file)

    monkeypatch.setattr(os, "fsync", once)
    assert dims("-o", "out.csv") == 130
    assert (folder / "out.csv").read_text().startswith("column,index")
    (folder / "out.csv").write_text("old")
    monkeypatch.setattr(os, "fsync", fsync)  # at every file, so twice
    assert dims("-o", "out.csv", "--report", "out.html", "--force") == 130
    assert capsys.readouterr().err == "fewer: interrupted twice; not everything was written.\n"
    assert names(folder) == ["out.csv", "wide.csv"]


def test_where_ctrl_c_is_ignored_it_stays_so(tmp_path):
    (tmp_path / "wide.csv").write_text(WIDE)
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from fewer.cli import main\n"
        "from fewer.report import path\n"
        "real = path.compare\n"
        "path.compare = lambda *args: os.kill(os.getpid(), signal.SIGINT) or real(*args)\n"
        "main(['dims', 'wide.csv', '-k', '2', '--quiet', '-o', 'out.csv'])\n"
    )
    assert python(code, tmp_path).returncode == 0


def test_copies_of_standard_input_go_however_the_command_ends(folder):
    (folder / "temporary").mkdir()
    place = {"TMPDIR": str(folder / "temporary")}
    run("dims", "-", "-k", "2", "--quiet", stdin=WIDE.encode(), env=place)
    run("dims", "-", "-k", "2", stdin=b"", env=place, code=2)
    assert names(folder / "temporary") == []


def test_a_pipe_is_read_like_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    feeder = threading.Thread(target=(tmp_path / "pipe").write_text, args=(WIDE,))
    feeder.start()
    out, _ = run("dims", "pipe", "-k", "2", "--json", "--quiet", cwd=tmp_path)
    feeder.join()
    assert json.loads(out)["k"] == 2


def test_what_was_begun_is_removed_by_a_process_that_ends_at_once(folder):
    def ended():
        with written_whole("out.csv") as file:
            file.write(b"half")
            files.remove_begun()

    with pytest.raises(FileNotFoundError):
        ended()
    assert names(folder) == ["wide.csv"]
    write("out.csv", b"all")
    files.remove_begun()
    assert (folder / "out.csv").read_bytes() == b"all"
