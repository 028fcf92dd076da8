"""Git metadata of a repository: branches and tags, settings, hooks and ignore rules.

No commit contains these, so an agent's changes would remain unseen. Hooks and settings run programs whenever the user
uses git, and ignore rules hide from the commit what checks see: all of them are restored. Branches belong to the user,
who may use them during the run: deleted ones are restored, and so is the branch that the run started from, unless it is
checked out; other changes are only reported.

Agents that work at the same time share one baseline, read before the first of them: what one of them changes is never
the baseline of another.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.loop.effect_results import FileReport
from bridle.workspace import damaged_files
from bridle.workspace.git import Git

# Settings, ignore rules and hooks have a few kilobytes.
LIMIT_BYTES = 1024 * 1024
# More than the hooks that git knows.
HOOKS_LIMIT = 100
# The most refs that are reported singly.
SHOWN = 10

HEADS = "refs/heads/"
NATIVE_HOOKS = ".a5c/hooks"
_WATCHED_REFS = (HEADS, "refs/tags/", "refs/stash", "refs/replace/")
_OUR_BRANCHES = "refs/heads/bridle/"
_FILES = ("config", "config.worktree", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates")
_PACKED = "packed-refs"
_PACKED_LIMIT_BYTES = 64 * 1024 * 1024
_SAMPLE = ".sample"


class GitMetadata(Struct, frozen=True):
    """The metadata at one moment."""

    folder: Path | None
    """The common git folder; None if there is none."""
    files: Mapping[str, tuple[int, bytes]]
    """Settings, ignore rules and hooks: the mode and the bytes of each."""
    refs: Mapping[str, str]


class Baseline:
    """The metadata before the agents that work in a repository now."""

    def __init__(self, metadata: GitMetadata) -> None:
        self.metadata = metadata
        self.agents = 0

    def accept_refs(self, judged: GitMetadata, now: GitMetadata) -> None:
        """Take over the changes of refs that were judged: each has been restored or reported."""
        refs = dict(self.metadata.refs)
        for name in {*refs, *judged.refs}:
            if refs.get(name) != judged.refs.get(name):
                refs.pop(name, None)
                refs |= {name: now.refs[name]} if name in now.refs else {}
        self.metadata = replace(self.metadata, refs=refs)


# By the common git folder.
_baselines: dict[Path, Baseline] = {}


@contextmanager
def agent_at_work(folder: Path, repository: Path | None = None) -> Iterator[Baseline]:
    """Yield the baseline of an agent: that of the agents that are running already, or the current metadata."""
    current = read_metadata(folder, repository)
    if current.folder is None:
        yield Baseline(current)
        return
    place = current.folder.resolve()
    baseline = _baselines.setdefault(place, Baseline(current))
    baseline.agents += 1
    try:
        yield baseline
    finally:
        baseline.agents -= 1
        if baseline.agents == 0:
            del _baselines[place]


def read_metadata(folder: Path, repository: Path | None = None) -> GitMetadata:
    """Read the current metadata without starting git. Native hooks are those of `repository`."""
    place = find_common_folder(folder)
    if place is None:
        return GitMetadata(None, {}, {})
    hooks = (f"hooks/{name}" for name in _names(place / "hooks")[:HOOKS_LIMIT] if not name.endswith(_SAMPLE))
    native = _native(repository or folder)
    files = {name: file for name in (*_FILES, *hooks, *native) if (file := _file(place / name)) is not None}
    return GitMetadata(place, files, dict(_refs(place)))


def _native(repository: Path) -> list[str]:
    """Return the absolute paths of the hooks that Bridle runs."""
    top = os.path.abspath(repository / NATIVE_HOOKS)
    return [f"{top}/{kind}/{name}" for kind in _names(Path(top)) for name in _names(Path(top, kind))][:HOOKS_LIMIT]


def restore_files(before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Restore settings, ignore rules and hooks; report what was changed."""
    reports: list[FileReport] = []
    for name in sorted({*before.files, *now.files}) if before.folder is not None else ():
        was = before.files.get(name)
        if before.folder is not None and was != now.files.get(name):
            _write(before.folder / name, was)
            change = "added" if was is None else "changed" if name in now.files else "deleted"
            shown = f"{NATIVE_HOOKS}{name.partition(NATIVE_HOOKS)[2]}" if os.path.isabs(name) else f".git/{name}"
            reports.append(FileReport(shown, f"it was {change}, and was restored, because no commit contains it"))
    return reports


def restore_while_agents_work(folder: Path, repository: Path | None = None) -> list[str]:
    """Restore what makes git fail for all workers, if an agent that is still running destroyed it; return the names."""
    restored = [f".git/{name}" for name in damaged_files.restore(folder)]
    place = find_common_folder(folder)
    baseline = _baselines.get(place.resolve()) if place is not None else None
    if baseline is not None:
        now = read_metadata(folder, repository)
        restored += [report.path for report in restore_files(baseline.metadata, now)]
    return restored


async def restore_refs(git: Git, before: GitMetadata, now: GitMetadata, came_from: str | None) -> list[FileReport]:
    """Restore branches and tags where allowed; report all that changed."""
    changed = [name for name in sorted({*before.refs, *now.refs}) if before.refs.get(name) != now.refs.get(name)]
    reports = [await _ref(git, before, now, name, came_from) for name in changed[:SHOWN]]
    if len(changed) > SHOWN:
        reports.append(FileReport(".git", f"{len(changed) - SHOWN} more branches and tags were changed"))
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


async def _ref(git: Git, before: GitMetadata, now: GitMetadata, name: str, came_from: str | None) -> FileReport:
    was, is_now = before.refs.get(name), now.refs.get(name)
    short = name.removeprefix(HEADS)
    if was is None:
        return FileReport(short, f"it was created at {is_now}")
    is_ours = is_now is None or name == f"{HEADS}{came_from}"
    if not is_ours or (is_now is not None and _is_checked_out(before.folder, name)):
        return FileReport(short, f"it was moved from {was} to {is_now}")
    code, _ = await git.run("update-ref", "-m", "bridle: an agent had moved it", name, was, accepts=(0, 1, 128))
    outcome = "it was restored" if code == 0 else f"restoring it to {was} failed"
    return FileReport(short, f"it was {'deleted' if is_now is None else f'moved to {is_now}'}; {outcome}")


def _is_checked_out(place: Path | None, ref: str) -> bool:
    """Return whether a working copy has the branch checked out."""
    if place is None:
        return False
    heads = [place / "HEAD", *(place / "worktrees" / name / "HEAD" for name in _names(place / "worktrees"))]
    return any((file := _file(head)) is not None and file[1].strip() == f"ref: {ref}".encode() for head in heads)


def _refs(place: Path) -> Iterator[tuple[str, str]]:
    """Yield every branch and tag but Bridle's own; loose refs come last, because they override packed ones."""
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
            file = _file(place / full) if _is_watched(full) and not full.endswith(".lock") else None
            if file is not None:
                yield full, file[1].decode("utf-8", "surrogateescape").strip()


def _is_watched(name: str) -> bool:
    return name.startswith(_WATCHED_REFS) and not name.startswith(_OUR_BRANCHES)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []  # there is no such folder


def _file(path: Path) -> tuple[int, bytes] | None:
    """Return a file's mode and bytes, or a link's target; None for anything else and for large files."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(os.readlink(path))
        return (mode, disk.read_bounded(path, LIMIT_BYTES)) if stat.S_ISREG(mode) else None
    except (OSError, DiskError):
        return None
