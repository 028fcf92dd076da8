"""`bridle status`: show the receipt of a run as it is now."""

from __future__ import annotations

from bridle.cli.machine_interface.light_command import JSON, Arguments, LightCommand


def _run(args: Arguments) -> int:
    from bridle.ground.light import light_imports

    light_imports.import_pathlib()
    from bridle.cli.user_interface.terminal import find_loop_run

    folder = find_loop_run(args.positional[0] if args.positional else None)  # first: without a run nothing is imported

    light_imports.import_msgspec()
    import os

    import msgspec

    from bridle.cli.user_interface.print_receipt import print_receipt
    from bridle.engine.drive.driver_lock import find_driver
    from bridle.loop.control.branch_facts import with_branch_facts
    from bridle.loop.control.changed_plan import find_changes
    from bridle.loop.control.current_state import read_cached_receipt
    from bridle.loop.process.receipt import DriverProcess

    driver = find_driver(folder)
    known = read_cached_receipt(folder, os.environ, has_driver=driver is not None)
    receipt = with_branch_facts(known, folder, os.environ)
    if receipt.resume:
        receipt = msgspec.structs.replace(receipt, plan_changes=tuple(find_changes(folder, os.environ)))
    reason = receipt.stopped or ""
    if driver is not None:
        process = DriverProcess(pid=driver.pid, since=driver.since)
        receipt = msgspec.structs.replace(receipt, driver=process, stopped=None, undo="", merge="")  # while it works
        reason = f"running, process {driver.pid}"
    print_receipt(receipt, reason, as_json=args.has(JSON.name))
    return 0


command = LightCommand(
    "Show the receipt of RUN (default: the last run) as it is now. Changes nothing.",
    _run,
    arguments=("[RUN]",),
    common_options=(JSON,),
)
