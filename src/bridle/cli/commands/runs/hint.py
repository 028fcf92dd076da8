"""`bridle hint`: add a hint to the next iteration of a run."""

from __future__ import annotations

import click


@click.command("hint", short_help="Add a hint to the next iteration of a run.")
@click.argument("text")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, text: str, run: str | None, as_json: bool) -> int:
    """Add TEXT to the prompt of the next iteration of RUN (default: the last run)."""
    from bridle.cli.user_interface.terminal import find_loop_run, print_document, say
    from bridle.errors import UsageError
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.wire.events.surrogates import replace_surrogates

    text = replace_surrogates(text)  # an argument that is not UTF-8
    if not text.strip():
        raise UsageError("the hint is empty", remedy="Write what the next iteration should consider.")
    folder = find_loop_run(run)
    user_messages.send(FileStore(folder), user_messages.HINT, {"text": text})
    if as_json:
        print_document({"run": folder.name, "hint": text})
    say(f"saved for the next iteration of {folder.name}; if it is not running: bridle resume {folder.name}")
    return 0
