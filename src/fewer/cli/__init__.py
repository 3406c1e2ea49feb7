"""The command line: it parses, calls a job, prints; the maths is elsewhere."""

from ._process import end, prepare


def main(arguments: list[str] | None = None) -> None:
    """Run `fewer`; without the extra `cli` say in one sentence what to install."""
    prepare()
    import sys
    from importlib.util import find_spec

    missing = [name for name in ("click", "polars", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f'fewer: the command line needs {missing[0]}; run: pip install "fewer[cli]"\n'
        )
        raise SystemExit(2)
    from ._app import run

    end(run(arguments))
