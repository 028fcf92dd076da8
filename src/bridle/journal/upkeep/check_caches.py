"""Check state.json and the pack: both must match the journal that was listed after they were read."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.errors import JournalBroken
from bridle.ground.light.shell_word import shell_word
from bridle.journal.format import documents, layout
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import State, file_name, fold
from bridle.journal.stores import state_file
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.upkeep.audit_report import Finding
from bridle.journal.upkeep.read_caches import Caches

# When and why state.json was written, which the journal does not say.
_SNAPSHOT_STAMPS = ("savedAt", "rebuildReason")


def check_caches(caches: Caches, entries: list[Entry], state: State, reader: FileReader) -> Iterator[Finding]:
    """Yield the faults of state.json, which other implementations read, and of the pack, which commands read."""
    run = shell_word(str(reader.run))
    remedy = f"bridle run:rebuild-state {run} rebuilds it"
    fault = _snapshot_fault(caches, entries)
    if fault is not None:
        yield Finding(f"{layout.STATE}/{layout.STATE_FILE}", f"{fault}; {remedy}")
    if not caches.has_pack:
        return
    pack = f"{layout.STATE}/{layout.PACK_FILE}"
    if caches.pack_was_changed:
        yield Finding(pack, f"it was changed after it was written; commands ignore it; {remedy}")
    elif missing := _missing_newest(caches, entries):
        repair = f"bridle run:repair-journal {run} restores it"
        for name in missing:
            yield Finding(f"{layout.JOURNAL}/{name}", f"it is missing, but it was written; {repair}")
    elif caches.packed.entries != entries[: len(caches.packed.entries)]:
        yield Finding(pack, f"it differs from the journal; {remedy}")
    else:
        for fault in _differences(caches, state, reader):
            yield Finding(pack, f"{fault}; {remedy}")


def _snapshot_fault(caches: Caches, entries: list[Entry]) -> str | None:
    """Return the fault of state.json, compared with the journal as of its entry."""
    found = caches.snapshot
    if found is None:
        return caches.snapshot_fault
    version = found.get("stateVersion")
    known = version if isinstance(version, int) and 0 <= version <= len(entries) else 0
    try:
        expected = state_file.snapshot(fold(entries[:known]), "", None)
    except JournalBroken:
        return None  # already reported
    is_equal = all(found.get(name) == value for name, value in expected.items() if name not in _SNAPSHOT_STAMPS)
    return None if is_equal else "it differs from the journal"


def _missing_newest(caches: Caches, entries: list[Entry]) -> list[str]:
    """Return the entries that the pack of this journal has after the last one."""
    known = [(entry.seq, entry.ulid) for entry in entries]
    is_of_journal = caches.names[: len(known)] == known
    return [file_name(*name) for name in caches.names[len(known) :]] if is_of_journal else []


def _differences(caches: Caches, state: State, reader: FileReader) -> Iterator[str]:
    """Yield which results and inputs of the pack differ from their files."""
    for effect_id, value in caches.packed.values.items():
        if _differs(state, reader, effect_id, value):
            yield f"its result of effect {effect_id} differs from the file"
    for effect_id, digest in caches.packed.digests.items():
        effect = state.effects.get(effect_id)
        if effect is None:
            continue
        try:
            found = documents.digest_of(reader.tasks.task(effect).inputs)
        except JournalBroken:
            continue  # already reported
        if found != digest:
            yield f"its digest of the inputs of effect {effect_id} differs from the file"


def _differs(state: State, reader: FileReader, effect_id: str, value: object) -> bool:
    effect = state.effects.get(effect_id)
    if effect is None or effect.resolution is None:
        return True
    try:
        return reader.tasks.result(effect).value != value
    except JournalBroken:
        return False  # already reported
