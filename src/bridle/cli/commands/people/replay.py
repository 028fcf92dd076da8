"""`bridle replay`: run it again from its journal, with no agent; say where it differs."""

from __future__ import annotations

import click

from bridle.cli.people.terminal import chosen_run, json_option, print_document, run_argument, runs_dir_option, say, show

DIFFERS = 1


@click.command("replay", short_help="Run it again from its journal, with no agent; say where it differs.")
@run_argument
@runs_dir_option
@json_option
def command(*, run: str, runs_dir: str | None, as_json: bool) -> int:
    """Run the process of RUN again from its journal: no agent, no command, no hook, and nothing is written.

    Each decision is compared with the recorded one. Where one differs, the entry that records it, the file and the line
    are named, and the exit code is 1.
    """
    folder = chosen_run(run, runs_dir)
    from bridle.engine.iterate.compare import compare  # a run that is not there needs no engine to be told

    found = compare(folder)
    if as_json:
        document = {
            "run": found.run_id,
            "runDir": str(folder),
            "agrees": found.agrees,
            "state": found.state,
            "entries": found.entries,
            "effects": found.effects,
            "ahead": found.ahead,
            "codeChanged": found.code_changed,
            "differences": [difference.as_json() for difference in found.differences],
        }
        print_document(document)
        return 0 if found.agrees else DIFFERS
    if found.code_changed:
        say("the file of the process has changed since the run was last iterated")
    for difference in found.differences:
        show(f"differs at {difference.entry or 'no single entry'}: {difference.words}")
    if found.agrees:
        more = f"; it would ask for {found.ahead} more" if found.ahead else ""
        show(f"{found.run_id} ({found.state}) agrees: {found.effects} effects, {found.entries} entries{more}")
    return 0 if found.agrees else DIFFERS
