"""`fewer completion`: the script that teaches a shell the commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command(epilog="Example: echo 'eval \"$(fewer completion bash)\"' >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows all three
    click.echo(kind(ctx.find_root().command, {}, "fewer", "_FEWER_COMPLETE").source())
