"""`bridle stop`: end the work on a run cleanly; `bridle resume` goes on."""

from __future__ import annotations

import json

import click

# An agent that is told to end takes a second or two; its work stays in the tree.
WAIT_SECONDS = 30.0


@click.command("stop", short_help="Stop a run cleanly.")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, run: str | None, as_json: bool) -> int:
    """End the work on RUN (default: the last one); its state is safe, and `bridle resume` goes on."""
    from bridle.cli import looping
    from bridle.engine.driver import LOCK_FILE
    from bridle.errors import LockHeld
    from bridle.ground.lock import FileLock, Holder

    folder = looping.chosen(run)
    was_at_work = False
    try:
        FileLock.hold(folder / LOCK_FILE, holder="bridle stop", wait_seconds=0).release()
    except LockHeld as held:
        was_at_work = True
        _end(held.payload if isinstance(held.payload, Holder) else None)
        FileLock.hold(folder / LOCK_FILE, holder="bridle stop", wait_seconds=WAIT_SECONDS).release()
    if as_json:
        click.echo(json.dumps({"run": folder.name, "was_at_work": was_at_work}))
    looping.say(f"{folder.name}: {'stopped' if was_at_work else 'nobody was at work on it'}")
    return 0


def _end(holder: object) -> None:
    import os
    import signal

    from bridle.errors import ProcessError

    pid = getattr(holder, "pid", None)
    if not isinstance(pid, int):
        raise ProcessError("it is not known who works on the run", remedy="End that program itself, with Ctrl-C.")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has ended by itself
