"""What a repository is besides its files: branches and tags, settings, hooks, rules of what to ignore.

No task is about these, and no commit holds them: what an agent does to them would stay behind unseen. Hooks and
settings run programs whenever the person uses git; a rule of what to ignore hides from the commit what checks see. So
they are put back. Branches are the person's, who may be at work on them meanwhile: what was deleted is put back, and
so is the one that the run came from unless somebody has it checked out; all else is told.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.loop.protection.reports import Report
from bridle.workspace.git import Git

# Settings, rules and hooks are a few kilobytes; what is longer is none of them.
LIMIT_BYTES = 1024 * 1024
# More hooks than git knows; a folder with more holds something else.
HOOKS_LIMIT = 100
# What is told one by one.
SHOWN = 10

HEADS = "refs/heads/"
NATIVE_HOOKS = ".a5c/hooks"
_WATCHED_REFS = (HEADS, "refs/tags/", "refs/stash", "refs/replace/")
_OUR_BRANCHES = "refs/heads/bridle/"
_FILES = ("config", "config.worktree", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates")
_PACKED = "packed-refs"
_PACKED_LIMIT_BYTES = 64 * 1024 * 1024
_SAMPLE = ".sample"


@dataclass(frozen=True)
class Seen:
    """What it was like."""

    folder: Path | None
    """Where git keeps it; None where that could not be seen."""
    files: Mapping[str, tuple[int, bytes]]
    """Settings, rules and hooks: what kind of file each is, and its bytes."""
    refs: Mapping[str, str]


def look(folder: Path, repository: Path | None = None) -> Seen:
    """See what it is like now; no program is started for it. The native hooks are those of `repository`."""
    place = find_common_folder(folder)
    if place is None:
        return Seen(None, {}, {})
    hooks = (f"hooks/{name}" for name in _names(place / "hooks")[:HOOKS_LIMIT] if not name.endswith(_SAMPLE))
    native = _native(repository or folder)
    files = {name: found for name in (*_FILES, *hooks, *native) if (found := _file(place / name)) is not None}
    return Seen(place, files, dict(_refs(place)))


def _native(repository: Path) -> list[str]:
    """The hooks that Bridle itself runs, by their whole path."""
    top = os.path.abspath(repository / NATIVE_HOOKS)
    return [f"{top}/{kind}/{name}" for kind in _names(Path(top)) for name in _names(Path(top, kind))][:HOOKS_LIMIT]


def put_files_back(before: Seen, now: Seen) -> list[Report]:
    """Make settings, rules and hooks what they were; tells what was done to them."""
    reports: list[Report] = []
    for name in sorted({*before.files, *now.files}) if before.folder is not None else ():
        was = before.files.get(name)
        if before.folder is not None and was != now.files.get(name):
            _write(before.folder / name, was)
            done = "added" if was is None else "changed" if name in now.files else "deleted"
            shown = f"{NATIVE_HOOKS}{name.partition(NATIVE_HOOKS)[2]}" if os.path.isabs(name) else f".git/{name}"
            reports.append(Report(shown, f"it was {done}, and put back: no commit holds it"))
    return reports


async def put_refs_back(git: Git, before: Seen, now: Seen, came_from: str | None) -> list[Report]:
    """Undo what was done to branches and tags where that may be undone; tells all of it."""
    changed = [name for name in sorted({*before.refs, *now.refs}) if before.refs.get(name) != now.refs.get(name)]
    reports = [await _ref(git, before, now, name, came_from) for name in changed[:SHOWN]]
    if len(changed) > SHOWN:
        reports.append(Report(".git", f"{len(changed) - SHOWN} more branches and tags were changed"))
    return reports


def _write(path: Path, was: tuple[int, bytes] | None) -> None:
    path.unlink(missing_ok=True)
    if was is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(was[0]):
        os.symlink(os.fsdecode(was[1]), path)
    else:
        disk.write_atomic(path, was[1], mode=stat.S_IMODE(was[0]))


async def _ref(git: Git, before: Seen, now: Seen, name: str, came_from: str | None) -> Report:
    was, is_now = before.refs.get(name), now.refs.get(name)
    short = name.removeprefix(HEADS)
    if was is None:
        return Report(short, f"it was made in the repository, at {is_now}")
    is_ours = is_now is None or name == f"{HEADS}{came_from}"
    if not is_ours or (is_now is not None and _is_checked_out(before.folder, name)):
        return Report(short, f"it was moved to {is_now}; before it was at {was}")
    code, _ = await git.run("update-ref", "-m", "bridle: an agent had moved it", name, was, accepts=(0, 1, 128))
    done = "it was put back" if code == 0 else f"it could not be put back: it was at {was}"
    return Report(short, f"it was {'deleted' if is_now is None else f'moved to {is_now}'}; {done}")


def _is_checked_out(place: Path | None, ref: str) -> bool:
    """Whether some working copy stands on a branch."""
    if place is None:
        return False
    heads = [place / "HEAD", *(place / "worktrees" / name / "HEAD" for name in _names(place / "worktrees"))]
    return any((found := _file(head)) is not None and found[1].strip() == f"ref: {ref}".encode() for head in heads)


def _refs(place: Path) -> Iterator[tuple[str, str]]:
    """Every branch and tag but Bridle's own; those that stand in a file of their own come last, since they count."""
    try:
        packed = disk.read_bounded(place / _PACKED, _PACKED_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except DiskError:
        packed = ""
    for line in packed.splitlines():
        value, _, name = line.partition(" ")
        if _is_watched(name):
            yield name, value
    for top in ("refs/heads", "refs/tags", "refs/replace", "refs/stash"):
        yield from _loose(place, top)


def _loose(place: Path, top: str) -> Iterator[tuple[str, str]]:
    path = place / top
    for root, _, names in os.walk(path) if path.is_dir() else [(str(path.parent), [], [path.name])]:
        for name in names:
            full = (Path(root) / name).relative_to(place).as_posix()
            found = _file(place / full) if _is_watched(full) and not full.endswith(".lock") else None
            if found is not None:
                yield full, found[1].decode("utf-8", "surrogateescape").strip()


def _is_watched(name: str) -> bool:
    return name.startswith(_WATCHED_REFS) and not name.startswith(_OUR_BRANCHES)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []  # there is none


def _file(path: Path) -> tuple[int, bytes] | None:
    """What kind of file it is, and its bytes, or where a link leads to; None where it is neither, or far too long."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(os.readlink(path))
        return (mode, disk.read_bounded(path, LIMIT_BYTES)) if stat.S_ISREG(mode) else None
    except (OSError, DiskError):
        return None
