"""Git's own hooks of the user's repository: recorded before any agent runs, and found again as they were."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from bridle.errors import JournalBroken
from bridle.ground import disk
from bridle.loop.working_copy.run_context import RunContext

FILE = "bridle-git-hooks.json"
PRE_COMMIT, COMMIT_MSG = "pre-commit", "commit-msg"
# The value of the setting.
RUN = "run"
_LIMIT_BYTES = 8 * 1024 * 1024


class RecordedHook(Struct, frozen=True):
    """One hook."""

    path: str
    """Relative to the working copy, or absolute in the git folder."""
    digest: str


def write(context: RunContext, hooks: dict[str, RecordedHook]) -> None:
    """Record the hooks by their names."""
    context.records.write_json(context.run_folder / FILE, msgspec.to_builtins(hooks), None)


def read(context: RunContext) -> dict[str, RecordedHook]:
    """Return the recorded hooks by their names; none in a run of an earlier version. Raises JournalBroken."""
    path = context.run_folder / FILE
    try:
        return msgspec.convert(context.records.read_json(path, None) or {}, dict[str, RecordedHook])
    except msgspec.ValidationError as error:
        raise JournalBroken(f"cannot read {path}: {error}", remedy="Start a new run.") from error


def in_working_copy(context: RunContext) -> list[str]:
    """Return the recorded hooks that are files of the working copy, which an agent could change."""
    return [hook.path for hook in read(context).values() if not Path(hook.path).is_absolute()]


async def record(context: RunContext) -> None:
    """Record the hooks before any agent runs; later ones, and changed ones, never run."""
    if context.settings.git_hooks != RUN:
        return
    top = Path(os.path.realpath(context.folder))
    found = {
        name: RecordedHook(
            path.relative_to(top).as_posix() if ".git" not in path.parts and path.is_relative_to(top) else str(path),
            _digest(path),
        )
        for name, path in (await _find(context)).items()
    }
    if found:
        write(context, found)


async def find_unchanged(context: RunContext) -> dict[str, Path]:
    """Return the hooks that are as they were when the run began."""
    known = read(context)
    found = await _find(context) if known else {}
    unchanged = {name: path for name, path in found.items() if name in known and known[name].digest == _digest(path)}
    for name in (name for name in known if name not in unchanged):
        context.say(f"the git hook {name} was changed since the run began, and did not run")
    return unchanged


async def _find(context: RunContext) -> dict[str, Path]:
    """Return the executable hooks of the repository, without those of a folder elsewhere."""
    common = Path(os.path.realpath(await context.git.common_folder()))
    # The git that Bridle starts runs no hooks, by the same setting.
    named = [
        value for name, value in await context.git.all_settings() if name == "core.hookspath" and value != os.devnull
    ]
    place = os.path.expanduser(named[-1]) if named else str(common / "hooks")
    folder, inside = Path(os.path.realpath(context.folder / place)), (Path(os.path.realpath(context.folder)), common)
    if not any(folder.is_relative_to(place) for place in inside):
        return {}
    paths = {name: folder / name for name in (PRE_COMMIT, COMMIT_MSG)}
    return {name: path for name, path in paths.items() if path.is_file() and os.access(path, os.X_OK)}


def _digest(path: Path) -> str:
    return hashlib.sha256(disk.read_bounded(path, _LIMIT_BYTES)).hexdigest()
