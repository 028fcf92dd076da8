"""`bridle hint`: add a hint to the next iteration of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bridle.loop.effects import PauseArgs


@click.command("hint", short_help="Add a hint to the next iteration of a run.")
@click.argument("text")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, text: str, run: str | None, as_json: bool) -> int:
    """Add TEXT to the prompt of the next iteration of RUN (default: the last run)."""
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.terminal import find_loop_run, print_document, say
    from bridle.engine.iterate.iteration_report import COMPLETED
    from bridle.errors import UsageError
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.control.pauses import pending_pause
    from bridle.loop.run_inputs import check_loop_run
    from bridle.loop.undo.undo_entries import check_not_undone
    from bridle.wire.events.surrogates import replace_surrogates

    text = replace_surrogates(text)  # an argument that is not UTF-8
    if not text.strip():
        raise UsageError("the hint is empty", remedy="Write what the next iteration should consider.")
    folder = find_loop_run(run)
    refuse_inside_agent("hint", folder)
    check_foreign(folder)
    store = FileStore(folder)
    check_loop_run(store)  # no other process reads hints
    check_not_undone(store)
    if store.position().end == COMPLETED:
        raise UsageError(
            f"{folder.name} has finished: no iteration would read the hint",
            remedy="Write it into the plan of the next run.",
        )
    paused = pending_pause(store)
    user_messages.send(store, user_messages.HINT, {"text": text})
    if as_json:
        print_document({"run": folder.name, "hint": text})
    say(f"saved for the next iteration of {folder.name}; {_how_to_continue(paused, folder.name)}")
    return 0


def _how_to_continue(paused: PauseArgs | None, run: str) -> str:
    from bridle.loop import effects

    if paused is not None and paused.why == effects.WHY_ENDED:
        return f"none is left until you run: bridle retry TASK {run}"
    if paused is not None and paused.why == effects.WHY_LIMIT:
        return f"{paused.reason}: raise it with bridle resume {run}"
    return f"if it is not running: bridle resume {run}"
