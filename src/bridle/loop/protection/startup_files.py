"""Files of the working copy that programs of the user run by themselves later: hooks, tasks of editors, settings.

They are recorded before every agent. What no commit contains, because git ignores it or the user has not added it, is
restored after the agent: nothing else would show the change. Other changes are reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.loop.effect_results import FileReport
from bridle.loop.protection import recorded_files
from bridle.loop.protection.repairs import MAY_EDIT, Repair
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext

FOLDER = "bridle-startup"

# Who runs each file, or reads it for commands to run.
FILES: Mapping[str, tuple[str, ...]] = {
    "direnv": (".envrc",),
    "your editor": (
        *(".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", "*.code-workspace"),
        *(".idea/workspace.xml", ".idea/watcherTasks.xml", ".idea/runConfigurations/*", ".zed/tasks.json"),
        *(".zed/settings.json", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el"),
        *(".devcontainer.json", ".devcontainer/devcontainer.json"),
    ),
    "your agent": (
        *(
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".mcp.json",
            ".cursor/mcp.json",
            ".cursor/hooks.json",
        ),
        *(".gemini/settings.json", ".codex/config.toml", "opencode.json", "opencode.jsonc"),
    ),
    "git": (".husky/*", ".pre-commit-config.yaml", "lefthook.yml", "lefthook-local.yml"),
    "your debugger": (".gdbinit", ".lldbinit"),
}
_HOOKS_PATH = re.compile(
    rb'^[ \t]*(?:\[core\][ \t]*)?hookspath[ \t]*=[ \t]*"?([^"\r\n]+?)"?[ \t]*$', re.IGNORECASE | re.M
)
_SETTINGS_LIMIT_BYTES = 1024 * 1024
# More than the hooks that git knows.
_FILES_IN_FOLDER = 100


def record(context: RunContext, name: str) -> None:
    """Record these files before an agent starts; keep what an interrupted attempt has recorded."""
    path = _path(context, name)
    if path.exists():
        return
    hooks = [f"{folder}/*" for folder in _hooks_folders(context)]
    disk.write_json_atomic(path, {"entries": _read(context, hooks, path.parent), "hooks": hooks})


def carry_changes(context: RunContext, name: str, is_of_user: Callable[[str], bool]) -> None:
    """Record the files again that the user changed after an interrupted attempt had recorded them."""
    path = _path(context, name)
    value = disk.read_json(path)
    if not isinstance(value, dict):
        return
    now = _read(context, value["hooks"], path.parent)
    entries = recorded_files.carry_changes(value["entries"], now, is_of_user)
    if entries != value["entries"]:
        disk.write_json_atomic(path, {**value, "entries": entries})


def _read(context: RunContext, hooks: Sequence[str], folder: Path) -> dict[str, list[str]]:
    found = [file for pattern in (*_patterns(), *hooks) for file in _existing(context.folder, pattern)]
    return recorded_files.record(context.folder, found, folder)


def find_changed(context: RunContext, name: str, may_edit: Sequence[str]) -> list[Repair]:
    """Return the repairs of the files that were changed, deleted or added since they were recorded."""
    value = disk.read_json(_path(context, name)) if name else None
    if not isinstance(value, dict):
        return []
    why = "a program of yours runs it later"
    changed = list(recorded_files.find_changed(context.folder, value["entries"], _path(context, name).parent, why))
    for pattern in (*_patterns(), *value["hooks"]):
        for file in _existing(context.folder, pattern):
            if file not in value["entries"]:
                changed.append(Repair(file, f"it was added, and {why}", None))
    return [
        Repair(repair.path, f"{repair.what} ({_reader(repair.path)})", repair.entry, repair.data)
        for repair in dict.fromkeys(changed)
        if not any(matches(pattern, repair.path) for pattern in may_edit)
    ]


async def split(
    context: RunContext, changed: Sequence[Repair], untracked: Sequence[str]
) -> tuple[list[Repair], list[FileReport]]:
    """Return what is restored, because no commit contains it, and what is reported. `untracked`: files of the user."""
    if not changed:
        return [], []
    stdin = b"".join(os.fsencode(repair.path) + b"\0" for repair in changed)
    _, text = await context.git.run("check-ignore", "-z", "--stdin", stdin=stdin, accepts=(0, 1, 128))
    outside = {*text.split("\0"), *untracked}
    restored = [repair for repair in changed if repair.path in outside]
    reported = [FileReport(repair.path, repair.what) for repair in changed if repair.path not in outside]
    return [Repair(one.path, f"{one.what}; {MAY_EDIT}", one.entry, one.data) for one in restored], reported


def _patterns() -> Iterator[str]:
    for names in FILES.values():
        yield from names


def _reader(path: str) -> str:
    for reader, patterns in FILES.items():
        if any(matches(pattern, path) for pattern in patterns):
            return reader
    return "git"


def _existing(top: Path, pattern: str) -> list[str]:
    """Return the files of a pattern; `*` is only in the last part of it."""
    if "*" not in pattern:
        return [pattern] if _is_file(top / pattern) else []
    folder, _, last = pattern.rpartition("/")
    try:
        names = sorted(os.listdir(top / folder))
    except OSError:
        return []  # there is no such folder
    prefix = f"{folder}/" if folder else ""
    found = [f"{prefix}{name}" for name in names if matches(last, name)]
    return [name for name in found if _is_file(top / name)][:_FILES_IN_FOLDER]


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _hooks_folders(context: RunContext) -> Iterator[str]:
    """Yield the folders of `core.hooksPath` that are in the working copy, as far as settings files name them."""
    common = find_common_folder(context.folder)
    user = Path(context.environment.get("HOME", "/nonexistent"))
    for file in (common and common / "config", user / ".gitconfig", user / ".config/git/config"):
        data = disk.read_part(file, _SETTINGS_LIMIT_BYTES) if file is not None else None
        for value in _HOOKS_PATH.findall(data or b""):
            path = Path(os.path.normpath(context.folder / os.fsdecode(value)))
            if context.folder in path.parents and ".git" not in path.parts:
                yield path.relative_to(context.folder).as_posix()


def _path(context: RunContext, name: str) -> Path:
    return context.run_folder / FOLDER / f"{name}.json"
