"""Changes to what is protected, undone: first all that must be done is known, then it is done; both can be repeated."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.loop.protection import file_states
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.formats import conftest, makefile, package_json, toml_and_ini
from bridle.loop.protection.protected_parts import CONFTEST, FREE, INI, MAKE, NPM, TOML, Part, Restored
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext

# A file that defines checks is small; what is longer is put back as a whole.
TEXT_LIMIT_BYTES = 4 * 1024 * 1024
# Folders that Bridle writes to and that were none of them links when it began to.
OUR_FOLDERS = (".ralph", ".ralph/logs", ".ralph/logs/checks", ".ralph/logs/claude", ".ralph/state")


@dataclass(frozen=True)
class Repair:
    """One file to be made what it was."""

    path: str
    what: str
    """What was done to it, and why that is not allowed."""
    entry: Entry | None
    """None: it must not be there."""
    data: bytes = b""


@dataclass(frozen=True)
class ExpectedFile:
    """A file as it must be: as the run began with it, or as a task that may edit it has left it."""

    entry: Entry
    data: bytes | None = None
    """None: it is in the repository under the entry's id."""


async def repairs(
    context: RunContext,
    start: Baseline,
    versions: Mapping[str, ExpectedFile],
    may_edit: Sequence[str],
    conftests: Iterable[str],
) -> list[Repair]:
    """Everything that is not as it must be; `conftests` are the files of that name that are there now."""
    protected = start.protected
    found = [Repair(path, _link_words(), None) for path in OUR_FOLDERS if (context.folder / path).is_symlink()]
    for path, why in protected.files.items():
        if path in versions and not _is_allowed(path, may_edit):
            found += await _whole(context, path, versions[path], why)
    for path, why in protected.absent.items():
        if not _is_allowed(path, may_edit) and path not in versions and file_states.is_there(context.folder, path):
            found.append(Repair(path, f"it was added, and {why}", None))
    known = {part.path for part in protected.parts}
    new = [Part(path, CONFTEST) for path in conftests if path not in known and path not in protected.files]
    by_path: dict[str, list[Part]] = {}
    for part in (*protected.parts, *new):
        if not _is_allowed(part.path, may_edit):
            by_path.setdefault(part.path, []).append(part)
    for path, parts in by_path.items():
        found += await _in_part(context, path, parts, versions.get(path))
    return found


def apply(context: RunContext, wanted: Iterable[Repair]) -> None:
    """Do all of it; what was done before a crash is done again, to the same end."""
    staging = disk.make_private_folder(context.run_folder)
    for repair in wanted:
        if repair.entry is None:
            file_states.take_away(context.folder, repair.path)
        else:
            file_states.put_back(context.folder, repair.path, repair.entry, repair.data, staging=staging)


async def _whole(context: RunContext, path: str, version: ExpectedFile, why: str) -> list[Repair]:
    fault = file_states.fault(context.folder, path, version.entry)
    if fault is None:
        return []
    return [Repair(path, f"{fault}, and {why}", version.entry, await _data(context, version))]


async def _in_part(context: RunContext, path: str, parts: Sequence[Part], version: ExpectedFile | None) -> list[Repair]:
    """A file of which only parts are protected."""
    if version is not None:
        fault = file_states.fault(context.folder, path, version.entry)
        if fault is None or fault.startswith("it was made a program"):
            return []
    data = None if version is None else await _data(context, version)
    current = _text(context.folder, path)
    if current is None:
        if version is None or data is None:  # it was not there, and is not now, or is no text
            return []
        return [Repair(path, f"it can no longer be read, and {_why(parts)}", version.entry, data)]
    origin = None if data is None else data.decode("utf-8", "replace")
    text: str | None = current
    what: list[str] = []
    is_whole = False
    for part in parts:
        mended = None if text is None else _mend(part, origin, text)
        if mended is not None:
            text, is_whole = mended.text, is_whole or mended.is_whole
            what += mended.what
    if not what:
        return []
    words = f"{', '.join(dict.fromkeys(what))}; {_why(parts)}"
    if is_whole:
        words += "; the two could not be told apart, so the whole file was put back"
    entry = version.entry if version is not None else file_states.entry_at(context.folder, path)
    return [Repair(path, words, entry if text is not None else None, (text or "").encode("utf-8"))]


def _mend(part: Part, origin: str | None, current: str) -> Restored | None:
    if part.kind == CONFTEST:
        return conftest.mend(origin, current)
    if part.kind == TOML:
        return toml_and_ini.mend_toml(origin, current, part.names, is_optional=part.state == FREE)
    if part.kind == INI:
        return toml_and_ini.mend_ini(origin, current, part.names, is_optional=part.state == FREE)
    mend: Mapping[str, Callable[..., Restored | None]] = {MAKE: makefile.mend, NPM: package_json.mend}
    return mend[part.kind](origin, current, part.names) if origin is not None else None


async def _data(context: RunContext, version: ExpectedFile) -> bytes:
    if version.data is not None:
        return version.data
    _, text = await context.git.run("cat-file", "blob", version.entry.object)
    return text.encode("utf-8", "surrogateescape")


def _text(folder: Path, path: str) -> str | None:
    """The text of a plain file; None where something else stands there."""
    place = folder / path
    try:
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        return disk.read_bounded(place, TEXT_LIMIT_BYTES).decode("utf-8")
    except (OSError, DiskError, UnicodeDecodeError):
        return None


def _is_allowed(path: str, may_edit: Sequence[str]) -> bool:
    return any(matches(pattern, path) for pattern in may_edit)


def _why(parts: Sequence[Part]) -> str:
    return "that part of it says what a check does" if parts else "it says what a check does"


def _link_words() -> str:
    return "a link stands in place of a folder of Bridle's"
