"""`bridle completion`: what a shell needs to complete commands, options and their values."""

from __future__ import annotations

import click

from bridle.cli.user_interface.terminal import print_document


@click.command("completion", short_help="Print the completion of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, shell: str, as_json: bool) -> int:
    """Print the completion of a shell. It is fixed text; pressing Tab starts no program of Bridle.

    \b
    bash   mkdir -p ~/.local/share/bash-completion/completions &&
           bridle completion bash > ~/.local/share/bash-completion/completions/bridle
    zsh    mkdir -p ~/.zfunc; bridle completion zsh > ~/.zfunc/_bridle
           and in ~/.zshrc, before compinit: fpath+=(~/.zfunc)
    fish   mkdir -p ~/.config/fish/completions &&
           bridle completion fish > ~/.config/fish/completions/bridle.fish
    """
    from bridle.cli.completion.completion_scripts import SCRIPTS, describe_commands

    script = SCRIPTS[shell](describe_commands())
    if as_json:
        print_document({"shell": shell, "script": script})
    else:
        click.echo(script, nl=False)
    return 0
