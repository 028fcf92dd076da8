"""`bridle replay`: replay a run from its journal, with no agent, and compare."""

from __future__ import annotations

import click

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option, run_argument, runs_dir_option
from bridle.cli.user_interface.terminal import chosen_run, print_document, say, show


@click.command("replay", short_help="Replay a run from its journal, with no agent, and compare.")
@run_argument
@runs_dir_option
@json_option
def command(*, run: str, runs_dir: str | None, as_json: bool) -> int:
    """Replay the process of RUN from its journal: no agent, no command, no hook; nothing is written.

    Each decision is compared with the recorded one. For each difference the entry, the file and the line are printed,
    and the exit code is 1.
    """
    folder = chosen_run(run, runs_dir)
    from bridle.engine.iterate.compare import compare  # not needed to report a missing run
    from bridle.views.format_amounts import format_count

    comparison = compare(folder)
    if as_json:
        document = {
            "run": comparison.run_id,
            "runDir": str(folder),
            "agrees": comparison.agrees,
            "state": comparison.state,
            "entries": comparison.entries,
            "effects": comparison.effects,
            "ahead": comparison.ahead,
            "codeChanged": comparison.code_changed,
            "differences": [difference.as_json() for difference in comparison.differences],
        }
        print_document(document)
        return SUCCESS if comparison.agrees else FAILED
    if comparison.code_changed:
        say("the process file has changed since the last iteration")
    for difference in comparison.differences:
        show(f"differs at {difference.entry or 'no single entry'}: {difference.message}")
    if comparison.agrees:
        more = f"; next it would request {comparison.ahead} more" if comparison.ahead else ""
        counts = f"{format_count(comparison.effects, 'effect')}, {format_count(comparison.entries, 'entry')}{more}"
        show(f"{comparison.run_id} ({comparison.state}) agrees: {counts}")
    return SUCCESS if comparison.agrees else FAILED
