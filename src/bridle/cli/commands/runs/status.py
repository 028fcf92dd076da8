"""`bridle status`: show the receipt of a run as it is now."""

from __future__ import annotations

import click


@click.command("status", short_help="Show the receipt of a run as it is now.")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, run: str | None, as_json: bool) -> int:
    """Show the receipt of RUN (default: the last run) as it is now. Changes nothing."""
    import msgspec

    from bridle.cli.user_interface.print_receipt import print_receipt
    from bridle.cli.user_interface.terminal import find_loop_run
    from bridle.engine.drive.driver_lock import find_driver
    from bridle.loop.control.current_state import read_receipt
    from bridle.loop.process.receipt import DriverProcess

    folder = find_loop_run(run)
    driver = find_driver(folder)
    receipt = read_receipt(folder)
    reason = receipt.stopped or ""
    if driver is not None:
        process = DriverProcess(pid=driver.pid, since=driver.since)
        receipt = msgspec.structs.replace(receipt, driver=process, stopped=None)
        reason = f"running, process {driver.pid}"
    print_receipt(receipt, reason, as_json=as_json)
    return 0
