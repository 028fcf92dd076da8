"""`bridle run:events`: the entries of a run's journal, also of one that is broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bridle.cli.programs.json_documents import entry_document, standing_document
from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.errors import JournalBroken
from bridle.journal.format import codec, folder_names
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import Position, fold
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (
    Option("--limit", "Print that many at most.", value="N"),
    Option("--reverse", "Print the newest first."),
    Option("--filter-type", "Print the entries of one type only.", value="TYPE"),
    RUNS_DIR,
)


def _run(given: Given) -> int:
    reader = FileReader(chosen_run(given))
    reader.metadata()
    problems: list[str] = []
    entries = list(_readable(reader, problems))
    standing = _standing(entries, problems)
    wanted = (given.text("--filter-type") or "").upper()
    matching = [entry for entry in entries if not wanted or entry.type.upper() == wanted]
    ordered = matching[::-1] if given.has("--reverse") else matching
    shown = ordered[: given.number("--limit")]
    if given.has("--json"):
        metadata = standing_document(standing) if standing is not None else None
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
    """The entries that can be read, with a word about each that cannot."""
    journal = reader.place.journal
    for name in folder_names.listed(journal):
        parsed = codec.parse_name(name)
        try:
            if parsed is None:
                raise codec.bad_file(journal / name, "its name is not that of an entry")
            yield reader.load(*parsed)
        except JournalBroken as error:
            problems.append(error.message)


def _standing(entries: list[Entry], problems: list[str]) -> Position | None:
    """Where the run stands, unless its journal is broken."""
    try:
        return None if problems else fold(entries).standing
    except JournalBroken as error:
        problems.append(error.message)
        return None


command = Light(
    "The entries of a run's journal; those of a broken one too, saying what is wrong with it.",
    _run,
    arguments=("RUN",),
    options=_OPTIONS,
)
