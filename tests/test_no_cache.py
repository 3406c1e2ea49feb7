"""Where compiled code cannot be kept (a read-only install, no home, user nobody) the answers are the same."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import fewer

AS_NOBODY = """
import os, pwd, sys, warnings

def answer():
    import fewer
    result = fewer.bins(counts=[2.0, 6.0, 10.0, 1.0], k=2)
    return fewer.__file__, result.support.tolist(), result.value

answer()  # what Python and the dependencies load is loaded: nobody may not read an interpreter in root's home
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
for name in [name for name in sys.modules if name.split(".")[0] == "fewer"]:
    del sys.modules[name]
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    home, support, value = answer()
print(os.getuid() == nobody.pw_uid, os.access(sys.argv[1], os.W_OK), home.startswith(sys.argv[1]))
print(support, round(value, 12))
print(*(f"{warning.category.__name__}: {warning.message}" for warning in heard), sep="\\n")
"""


def no_nobody() -> str:
    """Why this machine cannot show it; empty where it can."""
    if os.name != "posix" or os.getuid() != 0:
        return "only root can become another user"
    import pwd

    return (
        ""
        if "nobody" in {user.pw_name for user in pwd.getpwall()}
        else "this system has no user nobody"
    )


@pytest.fixture
def installed():
    """A folder with the package and nothing compiled, which root owns and everybody may read."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            Path(fewer.__file__).parent,
            Path(folder) / "fewer",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        Path(folder).chmod(0o755)
        yield folder


@pytest.mark.skipif(bool(no_nobody()), reason=no_nobody())
def test_user_nobody_without_a_home_gets_the_answer_and_one_warning(installed):
    unset = {"HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, installed],
        env={name: value for name, value in os.environ.items() if name not in unset},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    who, answer, *warned = done.stdout.splitlines()
    assert who == "True False True"
    expected = fewer.bins(counts=[2.0, 6.0, 10.0, 1.0], k=2)
    assert answer == f"{expected.support.tolist()} {round(expected.value, 12)}"
    assert len(warned) == 1
    assert warned[0].startswith("RuntimeWarning: compiled code cannot be kept on disk")
    assert "NUMBA_CACHE_DIR" in warned[0]
