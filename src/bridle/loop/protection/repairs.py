"""Repairs of protected files: first collected, then applied. Both steps are idempotent."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.loop.protection import file_states
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.formats import conftest, makefile, package_json, toml_and_ini
from bridle.loop.protection.imports.python_modules import find_replacing, is_in_text
from bridle.loop.protection.protected_parts import CONFTEST, FREE, INI, MAKE, TOML, TOO_DEEP, Part, Restored
from bridle.loop.protection.shell_commands import is_pattern
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.read_blob import read_blob

# A file that defines checks is small; a longer one is restored as a whole.
TEXT_LIMIT_BYTES = 4 * 1024 * 1024
_DEFINES = "that part defines what a check does"
MAY_EDIT = "only a task whose `May edit:` names it may change it"
# Folders that Bridle writes to. None of them may become a link.
OUR_FOLDERS = (".ralph", ".ralph/logs", ".ralph/logs/checks", ".ralph/logs/claude", ".ralph/state")


class Repair(Struct, frozen=True):
    """One file to restore or remove."""

    path: str
    what: str
    """The change, and why it is not allowed."""
    entry: Entry | None
    """None: the file must not exist."""
    data: bytes = b""


class ExpectedFile(Struct, frozen=True):
    """The required state of a file: from the baseline, or from a task that may edit it."""

    entry: Entry
    data: bytes | None = None
    """None: the repository has it under the entry's object id."""


async def repairs(
    context: RunContext,
    start: Baseline,
    versions: Mapping[str, ExpectedFile],
    may_edit: Sequence[str],
    conftests: Iterable[str],
) -> list[Repair]:
    """Collect the repairs. `conftests` are the current files of that name."""
    protected = start.protected
    replaced = "this folder of Bridle was replaced by a link"
    collected = [Repair(path, replaced, None) for path in OUR_FOLDERS if (context.folder / path).is_symlink()]
    for path, why in protected.files.items():
        if path in versions and not _is_allowed(path, may_edit):
            collected += await _whole(context, path, versions[path], why)
    for path, why in added_files(context.folder, protected.absent):
        if not _is_allowed(path, may_edit) and path not in versions:
            collected.append(Repair(path, f"it was added, and {why}; {MAY_EDIT}", None))
    for path, module in find_replacing(context.folder, protected.python_folders):
        is_known = path in protected.python_modules or path in versions or is_in_text(path, context.plan.text)
        if not is_known and not _is_allowed(path, may_edit):
            what = f"it was added, and python would import it instead of the module {module}"
            collected.append(Repair(path, f"{what}; {MAY_EDIT}", None))
    known = {part.path for part in protected.parts}
    new = [Part(path, CONFTEST) for path in conftests if path not in known and path not in protected.files]
    by_path: dict[str, list[Part]] = {}
    for part in (*protected.parts, *new):
        if not _is_allowed(part.path, may_edit):
            by_path.setdefault(part.path, []).append(part)
    for path, parts in by_path.items():
        collected += await _in_part(context, path, parts, versions.get(path))
    return collected


def added_files(folder: Path, listed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files that exist of those that must not, or should not, be added, each with the reason."""
    for path, why in listed.items():
        if not is_pattern(path):
            if file_states.exists(folder, path):
                yield path, why
            continue
        place = Path(path)
        if is_pattern(str(place.parent)):
            yield from ((name, why) for name in sorted(glob.glob(path, root_dir=folder)))
            continue
        names = os.listdir(folder / place.parent) if (folder / place.parent).is_dir() else []
        yield from ((str(place.with_name(name)), why) for name in sorted(names) if matches(place.name, name))


def apply(context: RunContext, wanted: Iterable[Repair]) -> None:
    """Apply the repairs. After a crash all of them can be applied again.

    What was added goes first: it may be a link in place of a folder with a file that is restored.
    """
    staging = disk.make_private_folder(context.run_folder)
    for repair in sorted(wanted, key=lambda repair: repair.entry is not None):
        if repair.entry is None:
            file_states.remove(context.folder, repair.path)
        else:
            file_states.restore(context.folder, repair.path, repair.entry, repair.data, staging=staging)


async def _whole(context: RunContext, path: str, version: ExpectedFile, why: str) -> list[Repair]:
    change = file_states.describe_change(context.folder, path, version.entry)
    if change is None:
        return []
    return [Repair(path, f"{change}, and {why}; {MAY_EDIT}", version.entry, await _data(context, version))]


async def _in_part(context: RunContext, path: str, parts: Sequence[Part], version: ExpectedFile | None) -> list[Repair]:
    """Collect the repair of a file with protected parts."""
    if version is not None:
        change = file_states.describe_change(context.folder, path, version.entry)
        if change is None or change == file_states.MADE_EXECUTABLE:
            return []
    data = None if version is None else await _data(context, version)
    current = _text(context.folder, path)
    if current is None:
        if version is None or data is None:  # it did not exist, and is still missing or not text
            return []
        return [Repair(path, f"it can no longer be read, and {_DEFINES}; {MAY_EDIT}", version.entry, data)]
    origin = None if data is None else data.decode("utf-8", "replace")
    text: str | None = current
    what: list[str] = []
    is_whole = False
    for part in parts:
        restored = None if text is None else _restore(part, origin, text)
        if restored is not None:
            text, is_whole = restored.text, is_whole or restored.is_whole
            what += restored.what
    if not what:
        return []
    message = f"{', '.join(dict.fromkeys(what))}; {_DEFINES}; {MAY_EDIT}"
    if is_whole:
        message += "; the whole file was restored, because other changes could not be separated"
    entry = version.entry if version is not None else file_states.entry_at(context.folder, path)
    return [Repair(path, message, entry if text is not None else None, (text or "").encode("utf-8"))]


def _restore(part: Part, origin: str | None, current: str) -> Restored | None:
    try:
        return _restore_part(part, origin, current)
    except TOO_DEEP:  # parsed, but too deep to be compared
        return Restored(origin, ("it can no longer be read: it is nested too deeply",), is_whole=True)


def _restore_part(part: Part, origin: str | None, current: str) -> Restored | None:
    if part.kind == CONFTEST:
        return conftest.restore(origin, current)
    if part.kind == TOML:
        return toml_and_ini.restore_toml(origin, current, part.names, is_optional=part.state == FREE)
    if part.kind == INI:
        return toml_and_ini.restore_ini(origin, current, part.names, is_optional=part.state == FREE)
    restore = makefile.restore if part.kind == MAKE else package_json.restore
    return restore(origin, current, part.names) if origin is not None else None


async def _data(context: RunContext, version: ExpectedFile) -> bytes:
    if version.data is not None:
        return version.data
    return await read_blob(context.git, version.entry.object)


def _text(folder: Path, path: str) -> str | None:
    """Return the text of a regular file, or None."""
    place = folder / path
    try:
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        return disk.read_bounded(place, TEXT_LIMIT_BYTES).decode("utf-8")
    except (OSError, DiskError, UnicodeDecodeError):
        return None


def _is_allowed(path: str, may_edit: Sequence[str]) -> bool:
    return any(matches(pattern, path) for pattern in may_edit)
