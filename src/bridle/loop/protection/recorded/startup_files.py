"""Files of the working copy that programs of the user run by themselves later: hooks, tasks of editors, settings.

They are recorded before every agent and every check. What no commit contains, because git ignores it or the user has
not added it, is restored afterwards: nothing else would show the change. Other changes are reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.recorded import recorded_files, startup_table
from bridle.loop.protection.recorded.walk_files import walk
from bridle.loop.protection.repairs import MAY_EDIT, Repair, apply
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.restore_paths import folders_above

FOLDER = "bridle-startup"

_HOOKS_PATH = re.compile(
    rb'^[ \t]*(?:\[core\][ \t]*)?hookspath[ \t]*=[ \t]*"?([^"\r\n]+?)"?[ \t]*$', re.IGNORECASE | re.M
)
_SETTINGS_LIMIT_BYTES = 1024 * 1024
# An agent could make any number of them; then they are searched again.
_NOTED = 10_000
_WHY = "a program of yours runs it later"


def record(context: RunContext, name: str, found: Iterable[str]) -> None:
    """Record these files, and hooks, before an agent starts; keep what an interrupted attempt has recorded."""
    path = _path(context, name)
    if context.records.read(path, context.worker) is not None:
        return
    hooks = _hooks(context)
    context.records.keep_only(path, context.worker)
    names = _with_hooks(context, found, hooks)
    entries = recorded_files.record(context, names, path.parent)
    recorded = {"entries": entries, "hooks": hooks, "unread": [name for name in names if name not in entries]}
    context.records.write_json(path, recorded, context.worker)


def note_found(context: RunContext, name: str, found: Sequence[str]) -> None:
    """Note which of these files there were after an agent, so that nothing must search for them again."""
    noted = list(found) if len(found) <= _NOTED else None
    context.records.write_json(_found_path(context, name), noted, context.worker)


def carry_changes(context: RunContext, name: str, is_of_user: Callable[[str], bool]) -> None:
    """Record the files again that the user changed after an interrupted attempt had recorded them."""
    path = _path(context, name)
    value = context.records.read_json(path, context.worker)
    if not isinstance(value, dict):
        return
    found = _with_hooks(context, walk(context.folder).startup, value["hooks"])
    now = recorded_files.record(context, found, path.parent)
    entries = recorded_files.carry_changes(value["entries"], now, is_of_user)
    unread = [*value.get("unread", ()), *(name for name in found if name not in now and is_of_user(name))]
    if entries != value["entries"] or unread != value.get("unread", []):
        context.records.write_json(path, {**value, "entries": entries, "unread": unread}, context.worker)


def find_changed(context: RunContext, name: str, may_edit: Sequence[str]) -> list[Repair]:
    """Return the repairs of the files that were changed, deleted or added since they were recorded."""
    value = context.records.read_json(_path(context, name), context.worker) if name else None
    if not isinstance(value, dict):
        return []
    noted = context.records.read_json(_found_path(context, name), context.worker)
    found = noted if isinstance(noted, list) else walk(context.folder).startup
    folder = _path(context, name).parent
    changed = recorded_files.find_changed(context, value["entries"], folder, _WHY, behind_links=False)
    known = {*value["entries"], *value.get("unread", ())}
    added = _added(context, known, _with_hooks(context, found, value["hooks"]))
    return [
        Repair(repair.path, f"{repair.what} ({startup_table.reader(repair.path)})", repair.entry, repair.data)
        for repair in dict.fromkeys((*changed, *added))
        if not _is_made_again(context, repair) and not any(matches(pattern, repair.path) for pattern in may_edit)
    ]


class StartupFiles:
    """These files before a check, whose code may change them as an agent may."""

    def __init__(self, context: RunContext, found: Iterable[str]) -> None:
        self._context, self._hooks = context, _hooks(context)
        names = _with_hooks(context, found, self._hooks)
        self._names = frozenset(names)
        self._before = {name: file for name in names if (file := recorded_files.read(context.folder / name))}

    def restore(self, found: Iterable[str]) -> list[FileReport]:
        """Restore what still differs after `fixed_tree` has restored the others. `found`: the names after the check."""
        folder = self._context.folder
        repairs = list(recorded_files.changed_from(folder, self._before, _WHY))
        repairs += _added(self._context, self._names, _with_hooks(self._context, found, self._hooks))
        repairs = [repair for repair in dict.fromkeys(repairs) if not _is_made_again(self._context, repair)]
        apply(self._context, repairs)
        return [
            FileReport(one.path, f"{one.what} ({startup_table.reader(one.path)}); it was restored") for one in repairs
        ]


async def split(
    context: RunContext, changed: Sequence[Repair], untracked: Sequence[str]
) -> tuple[list[Repair], list[FileReport]]:
    """Return what is restored, because no commit contains it, and what is reported. `untracked`: files of the user."""
    if not changed:
        return [], []
    outside = {*await _ignored(context, [repair.path for repair in changed]), *untracked}
    restored = [repair for repair in changed if repair.path in outside]
    reported = [FileReport(repair.path, repair.what) for repair in changed if repair.path not in outside]
    return [Repair(one.path, f"{one.what}; {MAY_EDIT}", one.entry, one.data) for one in restored], reported


async def _ignored(context: RunContext, paths: Sequence[str]) -> list[str]:
    """Return those of these paths that git ignores, or that are behind a link and in no commit."""
    hidden = [path for path in paths if any((context.folder / above).is_symlink() for above in folders_above(path))]
    listed = ("ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", *hidden)
    committed = await context.git.names(*listed) if hidden else []
    found = [path for path in hidden if path not in committed]
    asked = [path for path in paths if path not in hidden]
    stdin = b"".join(os.fsencode(path) + b"\0" for path in asked)
    words = ("check-ignore", "-z", "--stdin")
    code, text = await context.git.run(*words, stdin=stdin, accepts=(0, 1, 128))
    if code == 128:  # one of them is in a submodule, or in what the index claims to be one
        code, text = await context.git.run(*words, "--no-index", stdin=stdin, accepts=(0, 1, 128))
    if code != 128:
        return [*found, *text.split("\0")]
    for path in asked:  # one of them stops git: each has its own
        code, _ = await context.git.run("check-ignore", "-q", "--no-index", "--", path, accepts=(0, 1, 128))
        found += [path] if code != 1 else []
    return found


def _added(context: RunContext, before: Collection[str], found: Iterable[str]) -> Iterator[Repair]:
    for file in found:
        if file not in before and os.path.lexists(context.folder / file):
            yield Repair(file, f"it was added, and {_WHY}", None)


def _is_made_again(context: RunContext, repair: Repair) -> bool:
    """Return whether a file was added or removed with its folder, as ordinary work does."""
    is_changed = repair.entry is not None and os.path.lexists(context.folder / repair.path)
    return not is_changed and startup_table.is_one_of(startup_table.MADE_AGAIN, repair.path)


def _with_hooks(context: RunContext, found: Iterable[str], hooks: Iterable[str]) -> list[str]:
    return [*found, *(file for pattern in hooks for file in startup_table.matching(str(context.folder), pattern))]


def _hooks(context: RunContext) -> list[str]:
    """Return patterns of the files in `core.hooksPath`, if that is in the working copy and settings files name it."""
    common = find_common_folder(context.folder)
    user = Path(context.environment.get("HOME", "/nonexistent"))
    hooks = []
    for file in (common and common / "config", user / ".gitconfig", user / ".config/git/config"):
        data = disk.read_part(file, _SETTINGS_LIMIT_BYTES) if file is not None else None
        for value in _HOOKS_PATH.findall(data or b""):
            path = Path(os.path.normpath(context.folder / os.fsdecode(value)))
            if context.folder in path.parents and ".git" not in path.parts:
                hooks.append(f"{path.relative_to(context.folder).as_posix()}/*")
    return hooks


def _path(context: RunContext, name: str) -> Path:
    return context.run_folder / FOLDER / f"{name}.json"


def _found_path(context: RunContext, name: str) -> Path:
    return context.run_folder / FOLDER / f"{name}-found.json"
