"""Install the extra `bench` one requirement at a time, going on where one fails: `make bench` falls back to this."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["optional-dependencies"]["bench"]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
    ]
    subprocess.run([*pip, "--editable", f"{ROOT}[plot]"], check=True)  # noqa: S603
    for requirement in wanted:
        if requirement.startswith("fewer"):
            continue
        if subprocess.run([*pip, requirement]).returncode:  # noqa: S603
            print(f"{requirement} does not install here: its rows will be skipped", file=sys.stderr)


if __name__ == "__main__":
    main()
