"""`bridle stop`: stop a run cleanly; `bridle resume` continues it."""

from __future__ import annotations

import json

import click

# An agent takes a second or two to stop; its changes stay in the tree.
WAIT_SECONDS = 30.0


@click.command("stop", short_help="Stop a run cleanly.")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, run: str | None, as_json: bool) -> int:
    """Stop RUN (default: the last run). Its state is saved; `bridle resume` continues it."""
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.terminal import find_loop_run, say
    from bridle.engine.drive.driver_lock import LOCK_FILE, find_driver
    from bridle.ground.lock import FileLock

    folder = find_loop_run(run)
    refuse_inside_agent("stop", folder)
    driver = find_driver(folder)
    if driver is not None:
        _terminate(driver.pid)
        FileLock.hold(folder / LOCK_FILE, holder="bridle stop", wait_seconds=WAIT_SECONDS).release()
    if as_json:
        click.echo(json.dumps({"run": folder.name, "was_at_work": driver is not None}))
    say(f"{folder.name}: {'not running' if driver is None else 'stopped'}")
    return 0


def _terminate(pid: int) -> None:
    import os
    import signal

    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended
