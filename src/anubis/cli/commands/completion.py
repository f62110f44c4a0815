"""``anubis completion``: shell completion of commands, options and runs."""

import click
from click.shell_completion import get_completion_class

from anubis.cli import terminal
from anubis.cli.params import PROGRAM, VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(*, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  anubis completion bash > ~/.local/share/bash-completion/completions/anubis
    zsh   anubis completion zsh > ~/.zfunc/_anubis    (with ~/.zfunc in fpath)
    fish  anubis completion fish > ~/.config/fish/completions/anubis.fish
    """  # noqa: D301  in click, the backspace marks lines that are not wrapped
    kind = get_completion_class(shell)
    assert kind is not None, shell
    root = click.get_current_context().find_root().command
    terminal.line(kind(root, {}, PROGRAM, VARIABLE).source())
