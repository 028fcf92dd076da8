"""`bridle help`: a page of the documentation, or the options of a command."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bridle.cli import command_table
from bridle.cli.help_pages import find_pages, title_of
from bridle.cli.user_interface.terminal import is_terminal, print_document
from bridle.errors import UsageError
from bridle.ground.suggest import did_you_mean

# Pages about something else than the command of that name, each with where that is described.
_NOT_OF_THE_COMMAND = {"run": "`bridle help loop`; how one agent is run: `bridle help run.md`"}


@click.command("help", short_help="Show a page of the documentation.")
@click.argument("topic", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, topic: str | None, as_json: bool) -> int:
    """Show a page of the documentation, or the options of a command; without TOPIC, list the pages.

    The pages are those of this version, and are installed with it.
    """
    pages = find_pages()
    if topic is None:
        _list(pages, as_json=as_json)
        return 0
    name = topic.removeprefix("docs/").removesuffix(".md").lower()
    is_command = topic in command_table.COMMANDS and command_table.COMMANDS[topic].module is not None
    if name in pages and not (topic in _NOT_OF_THE_COMMAND and is_command and not as_json):
        _show(name, pages[name], as_json=as_json)
        return 0
    if not as_json and is_command:
        from bridle.cli.main import run

        code = run([topic, "--help"])
        if topic in _NOT_OF_THE_COMMAND:
            click.echo(f"\nMore: {_NOT_OF_THE_COMMAND[topic]}")
        return code
    known = [*pages, *(command.name for command in command_table.USER_COMMANDS)]
    raise UsageError(
        f"no page {topic!r}", remedy=did_you_mean(topic, known, limit=3) or "Run `bridle help` for the list of pages."
    )


def _list(pages: dict[str, Path], *, as_json: bool) -> None:
    titles = {topic: title_of(path.read_text(encoding="utf-8")) for topic, path in pages.items()}
    if as_json:
        print_document({"topics": [{"topic": topic, "title": title} for topic, title in titles.items()]})
        return
    width = max(map(len, titles), default=0)
    click.echo("Pages:\n")
    for topic, title in titles.items():
        click.echo(f"  {topic:<{width}}  {title}")
    click.echo(
        "\nRun `bridle help TOPIC` for a page, `bridle help COMMAND` for a command, `bridle --help` for all commands."
    )


def _show(topic: str, path: Path, *, as_json: bool) -> None:
    text = path.read_text(encoding="utf-8")
    if as_json:
        print_document({"topic": topic, "title": title_of(text), "path": str(path), "text": text})
    elif is_terminal(sys.stdout):
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text, nl=False)
