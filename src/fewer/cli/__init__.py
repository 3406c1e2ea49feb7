"""The command line: it parses, calls a job, prints; the maths is elsewhere."""

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run `fewer`; without the extra `cli` say in one sentence what to install."""
    try:
        import click  # noqa: F401
        import polars  # noqa: F401
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        sys.stderr.write(f'fewer: the command line needs {error.name}; run: pip install "fewer[cli]"\n')
        raise SystemExit(2) from None
    from ._app import run

    raise SystemExit(run(arguments))
