"""`bridle stage`: serve a scripted model on loopback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.stage.answers import Script


@click.command("stage", short_help="Serve a scripted model on loopback.")
@click.argument("script_path", metavar="SCRIPT.json", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to listen on.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.ndjson",
    help="Append each request to this file, one JSON document a line.",
)
@click.option("--check", is_flag=True, help="Validate the script and exit.")
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON Schema of a script.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *,
    script_path: str | None,
    port: int,
    host: str,
    record: Path | None,
    check: bool,
    show_schema: bool,
    as_json: bool,
) -> None:
    """Serve the answers of SCRIPT.json to any client of the Messages API: no model, no cost.

    Prints the URL on stdout and serves until it is interrupted. `-` reads the script from stdin.
    """
    from bridle.stage.script import schema

    if show_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    if script_path is None:
        raise UsageError("SCRIPT.json is missing", remedy="Run `bridle stage SCRIPT.json`.")
    script = _read(script_path)
    if check:
        _print_validation(script, script_path, as_json=as_json)
        return

    import asyncio

    asyncio.run(_serve(script, port=port, host=host, record=record, as_json=as_json))


def _read(name: str) -> Script:
    """Return the script in a file, or on stdin for `-`."""
    from bridle.stage.script import load_script

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the script {name}: {error.strerror}") from error
    return load_script(data)


def _print_validation(script: Script, name: str, *, as_json: bool) -> None:
    answers = len(script.answers) + sum(len(conversation.answers) for conversation in script.conversations)
    if as_json:
        click.echo(json.dumps({"ok": True, "answers": answers, "conversations": len(script.conversations)}))
    else:
        click.echo(f"{name} is valid; answers: {answers}.", err=True)


async def _serve(script: Script, *, port: int, host: str, record: Path | None, as_json: bool) -> None:
    """Serve until a signal, or until the record cannot be written."""
    import asyncio
    import signal

    from bridle.stage.server import Stage

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # Requests are on stderr and in the record; keeping them in memory would only grow.
    stage = Stage(script, port=port, host=host, record=record, report=_say, kept_requests=0)
    async with stage:
        document = {"url": stage.url, "port": stage.port, "pid": os.getpid()}
        click.echo(json.dumps(document) if as_json else stage.url)
        _say("Ready. Point an agent at it:")
        _say(f"  ANTHROPIC_BASE_URL={stage.url} ANTHROPIC_API_KEY=dummy claude -p 'hello'")
        _say("Ctrl-C stops it.")
        stopped = asyncio.create_task(stop.wait())
        broken = asyncio.create_task(stage.wait_for_failure())
        await asyncio.wait({stopped, broken}, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            raise broken.result()
        broken.cancel()


def _say(line: str) -> None:
    from bridle.views.terminal.escape_controls import escape_unprintable

    click.echo(escape_unprintable(line), err=True)  # it may contain a client's text
