# SPDX-License-Identifier: MIT
"""overlock completion: completion scripts for shells."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    Examples:
      eval "$(overlock completion bash)"
      eval "$(overlock completion zsh)"
      overlock completion fish > ~/.config/fish/completions/overlock.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    root = ctx.find_root().command
    click.echo(found(root, {}, "overlock", "_OVERLOCK_COMPLETE").source())
