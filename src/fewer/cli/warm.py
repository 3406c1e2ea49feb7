"""`fewer warm`: compile ahead."""

import click

from .._warm import PROBLEMS, compiled_by


@click.command(epilog="Example: RUN fewer warm  (in the recipe of an image)")
@click.argument("jobs", nargs=-1, type=click.Choice(list(PROBLEMS)))
def warm(jobs: tuple[str, ...]) -> None:
    """Compile what JOBS (all unless named) need, so that first calls are as fast as later ones."""
    functions, seconds = compiled_by(jobs or tuple(PROBLEMS))
    click.echo(
        f"compiled {functions} functions for {', '.join(jobs or PROBLEMS)} in {seconds:.1f} s"
    )
