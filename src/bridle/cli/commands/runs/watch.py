"""`bridle watch`: serve a web page of the runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from bridle.cli.user_interface.options import json_option


@click.command("watch", short_help="Serve a web page of the runs.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 8421]")
@click.option("--all", "everything", is_flag=True, help="Show all runs that you have begun on this machine.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@json_option
def command(*, port: int | None, everything: bool, no_open: bool, as_json: bool) -> int:
    """Serve a web page of this repository's runs on 127.0.0.1, live, until it is interrupted.

    Prints the link, which contains a token: with it, the runs can be read and steered. You can answer questions, send
    hints, stop, resume, retry and undo there; each is the command of that name, and the journal records it.
    """
    import asyncio

    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.terminal import say, top_of
    from bridle.errors import UsageError
    from bridle.ground.home import bridle_home
    from bridle.journal.stores.find_run import runs_folders
    from bridle.views.run_data.board import list_runs

    refuse_inside_agent("watch")
    try:
        from bridle.views.web import serve, token_file

        import_server()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the web page needs a package that is not installed: {error.name}",
            remedy="Run: pip install 'bridle-cli[web]'",
        ) from error
    home, top = bridle_home(os.environ), top_of(Path.cwd())
    listener = serve.bind(port)
    number = listener.getsockname()[1]
    if port is None and number != serve.PORT:
        say(f"port {serve.PORT} is taken; using {number}")
    token = token_file.read_or_make(home)
    site = serve.Site(
        top=top,
        runs=lambda: list_runs(runs_folders(None, os.environ), Path("/") if everything else top, home),
        token=token,
        environment=dict(os.environ),
    )
    url = f"http://{serve.ADDRESS}:{number}/?token={token}"
    click.echo(json.dumps({"url": url, "port": number, "pid": os.getpid()}) if as_json else url)
    sys.stdout.flush()
    say("Ctrl-C stops it; runs continue without it.")
    if not no_open and not as_json and sys.stdout.isatty():
        open_browser(url)
    asyncio.run(serve.serve(site, listener))
    return 0


def import_server() -> None:
    """Import what the server needs; raise ModuleNotFoundError where it is not installed."""
    import starlette
    import uvicorn

    del starlette, uvicorn


def open_browser(url: str) -> None:
    """Open the user's browser, if there is one."""
    import webbrowser

    webbrowser.open(url)
