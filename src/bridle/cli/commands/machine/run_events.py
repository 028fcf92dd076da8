"""`bridle run:events`: list the entries of a run's journal, also of a broken one."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bridle.cli.machine_interface.json_documents import entry_document, position_document
from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.errors import JournalBroken
from bridle.journal.format import codec, folder_names
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import Position, fold
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (
    Option("--limit", "Print at most N entries.", value="N"),
    Option("--reverse", "Print the newest first."),
    Option("--filter-type", "Print only entries of this type.", value="TYPE"),
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    reader = FileReader(run_from_arguments(args))
    reader.unverified_metadata()
    problems: list[str] = []
    entries = list(_readable(reader, problems))
    position = _position(entries, problems)
    wanted = (args.text("--filter-type") or "").upper()
    matching = [entry for entry in entries if not wanted or entry.type.upper() == wanted]
    ordered = matching[::-1] if args.has("--reverse") else matching
    shown = ordered[: args.number("--limit")]
    if args.has("--json"):
        metadata = position_document(position) if position is not None else None
        broken = {"problems": problems} if problems else {}
        print_json({"events": [entry_document(entry) for entry in shown], "metadata": metadata, **broken})
    else:
        print(f"[run:events] total={len(entries)} matching={len(matching)} showing={len(shown)}")
        for entry in shown:
            print(f"- #{entry.seq:06d} {entry.type} {entry.recorded_at}")
    for problem in problems:
        print(f"bridle: {problem}", file=sys.stderr)
    return 0


def _readable(reader: FileReader, problems: list[str]) -> Iterator[Entry]:
    """Yield the readable entries; collect a problem for each of the others."""
    journal = reader.place.journal
    for name in folder_names.list_file_names(journal):
        parsed = codec.parse_name(name)
        try:
            if parsed is None:
                raise codec.bad_file(journal / name, "not the name of a journal entry")
            yield reader.load(*parsed)
        except JournalBroken as error:
            problems.append(error.message)


def _position(entries: list[Entry], problems: list[str]) -> Position | None:
    """Return the position of the run, or None if its journal is broken."""
    try:
        return None if problems else fold(entries).position
    except JournalBroken as error:
        problems.append(error.message)
        return None


command = LightCommand(
    "List the entries of a run's journal; of a broken one too, with its problems.",
    _run,
    arguments=("RUN",),
    options=_OPTIONS,
)
