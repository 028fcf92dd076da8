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
    from bridle.cli.people import loop_runs
    from bridle.engine.drive.driver import LOCK_FILE, living_driver
    from bridle.ground.lock import FileLock

    folder = loop_runs.chosen(run)
    driver = living_driver(folder)
    if driver is not None:
        _end(driver.pid)
        FileLock.hold(folder / LOCK_FILE, holder="bridle stop", wait_seconds=WAIT_SECONDS).release()
    if as_json:
        click.echo(json.dumps({"run": folder.name, "was_at_work": driver is not None}))
    loop_runs.say(f"{folder.name}: {'nobody was at work on it' if driver is None else 'stopped'}")
    return 0


def _end(pid: int) -> None:
    import os
    import signal

    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has ended by itself
