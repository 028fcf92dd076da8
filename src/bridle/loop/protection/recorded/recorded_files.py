"""Files that are recorded before an agent, beside a run's journal, and compared after it. Git may ignore them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk
from bridle.loop.protection import file_states
from bridle.loop.protection.file_states import FILE, LINK, PROGRAM, Entry
from bridle.loop.protection.repairs import Repair
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.restore_paths import is_file

Entries = Mapping[str, list[str]]
"""The mode and the digest of each file."""
File = tuple[str, bytes]
"""The mode of a file, and its content or the target of the link."""


def record(context: RunContext, names: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """Store the files of a working copy in a folder, by their digests; return their entries."""
    disk.make_private_folder(folder)
    entries: dict[str, list[str]] = {}
    for name in names:
        file = read(context.folder / name)
        if file is not None:
            mode, data = file
            digest = hashlib.sha256(data).hexdigest()
            if not (folder / digest).exists():
                disk.write_atomic(folder / digest, data)
            context.records.note(folder / digest, digest, context.worker)
            entries[name] = [mode, digest]
    return entries


def find_changed(
    context: RunContext, entries: Entries, folder: Path, why: str, *, behind_links: bool = True
) -> Iterator[Repair]:
    """Yield the repairs of the files that were changed or deleted since they were recorded.

    `behind_links`: whether a file that is reached by a linked folder can be the one that was recorded.
    """
    top = context.folder
    for name, (mode, digest) in entries.items():
        now = read(top / name) if behind_links or is_file(top, name) else None
        if now is None or (now[0], hashlib.sha256(now[1]).hexdigest()) != (mode, digest):
            data = _copy(folder / digest, name)
            change = "changed" if os.path.lexists(top / name) else "deleted"
            yield Repair(name, f"it was {change}, and {why}", Entry(mode, ""), data)


def changed_from(top: Path, before: Mapping[str, File], why: str) -> Iterator[Repair]:
    """Yield the repairs of the files that differ from what `read` returned, or are behind a link now."""
    for name, (mode, data) in before.items():
        if not is_file(top, name) or read(top / name) != (mode, data):
            change = "changed" if os.path.lexists(top / name) else "deleted"
            yield Repair(name, f"it was {change}, and {why}", Entry(mode, ""), data)


def _copy(path: Path, name: str) -> bytes:
    """Return the recorded content of a file. Raises JournalBroken if the copy was changed too."""
    try:
        data = disk.read_bounded(path, file_states.LIMIT_BYTES)
    except DiskError:
        data = b""
    if hashlib.sha256(data).hexdigest() != path.name:
        raise JournalBroken(
            f"{name} was changed, and so was the copy from which Bridle restores it: {path}",
            remedy=f"Restore {name} yourself, then start a new run: bridle run PLAN",
        )
    return data


def carry_changes(before: Entries, now: Entries, is_of_user: Callable[[str], bool]) -> dict[str, list[str]]:
    """Return the entries of an interrupted attempt, with files that the user changed since as they are now."""
    names = dict.fromkeys([*before, *now])
    chosen = {name: (now if is_of_user(name) else before).get(name) for name in names}
    return {name: entry for name, entry in chosen.items() if entry is not None}


def read(place: Path) -> File | None:
    """Return the mode and the content of a file or link; None for anything else and for large files."""
    try:
        mode = place.lstat().st_mode
        if stat.S_ISLNK(mode):
            return LINK, os.fsencode(os.readlink(place))
        if not stat.S_ISREG(mode):
            return None
        return PROGRAM if mode & stat.S_IXUSR else FILE, disk.read_bounded(place, file_states.LIMIT_BYTES)
    except (OSError, DiskError):
        return None
