"""Git metadata of a repository: branches and tags, settings, hooks, ignore rules, reflogs and stashes.

No commit contains these, so an agent's changes would remain unseen. Hooks and settings run programs whenever the user
uses git, and ignore rules hide from the commit what checks see: all of them are restored, also in the folders of other
worktrees and of submodules. They are restored before Bridle starts git again, which would obey them. Branches belong to
the user, who may use them during the run: deleted ones are restored, and so is the branch that the run started from,
unless it is checked out; other changes are only reported. Entries of reflogs, which are also the stashes, are restored.

Agents that work at the same time share one baseline, read before the first of them: what one of them changes is never
the baseline of another.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground import disk, files_below
from bridle.ground.git_folder import find_common_folder, submodule_folders
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import reflogs
from bridle.workspace import damaged_files, git_links, object_caches
from bridle.workspace.git import Git

# Settings, ignore rules and hooks have a few kilobytes; the index of a worktree, 100 bytes for each file.
LIMIT_BYTES = 32 * 1024 * 1024
# More than the hooks that git knows.
HOOKS_LIMIT = 100
# The most refs that are reported singly.
SHOWN = 10

HEADS = "refs/heads/"
NATIVE_HOOKS = ".a5c/hooks"
_WATCHED_REFS = (HEADS, "refs/tags/", "refs/stash", "refs/replace/")
_OUR_BRANCHES = "refs/heads/bridle/"
# What git obeys in its folder, besides hooks: gitrepository-layout(5).
_FILES = (
    *("config", "config.worktree", "commondir", "info/exclude", "info/attributes", "info/grafts"),
    *("info/sparse-checkout", "objects/info/alternates", "objects/info/http-alternates"),
)
_WORK_OF_WORKTREE = ("/HEAD", "/index")
_FILES_OF_WORKTREE = ("/commondir", "/gitdir", "/config.worktree", *_WORK_OF_WORKTREE)
_FOLDERS = ("hooks", "remotes", "branches")
# Folders that a user may have linked.
_LINKED = (*_FOLDERS, "info", "objects")
_WORKTREES = "worktrees/"
_MODULES = "modules/"
_PACKED = "packed-refs"
# A ref is one line.
_LINE_LIMIT_BYTES = 64 * 1024
_VALUE = re.compile(rb"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?|ref: refs/\S+)\s*")
_PACKED_LIMIT_BYTES = 64 * 1024 * 1024
_SAMPLE = ".sample"
_NONE_LINKED: Mapping[str, str] = {}
_NO_COMMIT = "because no commit contains it"


File = tuple[int, bytes]
"""The mode of a file, and its bytes."""


class GitMetadata(Struct, frozen=True):
    """The metadata at one moment."""

    folder: Path | None
    """The common git folder; None outside of a repository."""
    files: Mapping[str, File]
    """Settings, ignore rules and hooks: the mode and the bytes of each."""
    refs: Mapping[str, str]
    linked: frozenset[str] = frozenset()
    """The folders of worktrees and submodules in the common folder."""
    logs: Mapping[str, bytes] = {}
    """Reflogs; that of `refs/stash` has the stashes."""
    real_folders: Mapping[str, str] = {}
    """Folders of git that the user has linked, and where they lead."""


class Baseline:
    """The metadata before the agents that work in a repository now."""

    def __init__(self, metadata: GitMetadata) -> None:
        self.metadata = metadata
        self.links = git_links.read(metadata.folder) if metadata.folder is not None else {}
        self.caches = object_caches.read(metadata.folder) if metadata.folder is not None else {}
        self.agents = 0

    def restore_links(self) -> list[FileReport]:
        """Remove new links in the git folder, before anything else: git and Bridle would read and write through them.

        And files from which git would take the trees of commits. Where links lead is not reported.
        """
        if self.metadata.folder is None or not os.path.isdir(self.metadata.folder):
            return []
        reports = report_links(git_links.restore(self.metadata.folder, self.links), ".git")
        caches = object_caches.remove_changed(self.metadata.folder, self.caches)
        what = "it was written during the iteration, and was removed: git believes it, and makes it again"
        return [*reports, *(FileReport(f".git/{name}", what) for name in caches[:SHOWN])]

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
    baseline = _baselines.get(place) or _baselines.setdefault(place, Baseline(current))
    baseline.agents += 1
    try:
        yield baseline
    finally:
        baseline.agents -= 1
        if baseline.agents == 0:
            del _baselines[place]


def report_links(names: Sequence[str], shown: str) -> list[FileReport]:
    """Report links that were removed, or restored."""
    what = "it was a symbolic link, through which git would read and write, and was removed"
    reports = [FileReport(f"{shown}/{name}", what) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        reports.append(FileReport(shown, f"{len(names) - SHOWN} more symbolic links in it were removed"))
    return reports


def read_metadata(folder: Path, repository: Path | None = None, *, place: Path | None = None) -> GitMetadata:
    """Read the current metadata without starting git. Native hooks are those of `repository`.

    `place` is the common git folder, if it is known: after an agent the files that lead to it cannot be trusted.
    """
    place = place or find_common_folder(folder)
    if place is None or not place.is_dir():
        return GitMetadata(None, {}, {})
    modules = [path.relative_to(place).as_posix() for path in submodule_folders(place)]
    worktrees = [f"{_WORKTREES}{name}" for name in files_below.listed(place, _WORKTREES.rstrip("/"))]
    real = {name: os.path.realpath(place / name) for name in _LINKED if os.path.islink(place / name)}
    folders = ["", *(f"{module}/" for module in modules)]
    names = [*_control_files(place, folders, real), *_native(repository or folder)]
    names += [f"{worktree}{name}" for worktree in worktrees for name in _FILES_OF_WORKTREE]
    files = {name: file for name in names if (file := read_file(place, name, real)) is not None}
    return GitMetadata(place, files, dict(_refs(place)), frozenset((*modules, *worktrees)), reflogs.read(place), real)


def read_control_files(place: Path) -> dict[str, File]:
    """Return the files that git obeys in one git folder."""
    return {name: file for name in _control_files(place, [""], {}) if (file := read_file(place, name)) is not None}


def restore_control_files(
    place: Path, before: Mapping[str, File], now: Mapping[str, File], shown: str
) -> list[FileReport]:
    """Restore the files that git obeys in one git folder; report what was changed."""
    reports: list[FileReport] = []
    for name in sorted({*before, *now}):
        was = before.get(name)
        if was != now.get(name) and (was is None or _is_readable(was)):
            write_file(place, name, was)
            change = "added" if was is None else "changed" if name in now else "deleted"
            reports.append(FileReport(f"{shown}/{name}", f"it was {change}, and was restored, {_NO_COMMIT}"))
    return reports


def _control_files(place: Path, folders: Sequence[str], real: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the files that git obeys in its folder and those of submodules."""
    for folder in folders:
        yield from (f"{folder}{name}" for name in _FILES)
        for kind in _FOLDERS:
            names = [
                name for name in _names(place, f"{folder}{kind}", real)[:HOOKS_LIMIT] if not name.endswith(_SAMPLE)
            ]
            yield from (f"{folder}{kind}/{name}" for name in names)


def _native(repository: Path) -> list[str]:
    """Return the absolute paths of the hooks that Bridle runs."""
    top = os.path.abspath(repository / NATIVE_HOOKS)
    kinds = [f"{top}/{kind}" for kind in _names(repository, top, {})]
    return [f"{kind}/{name}" for kind in kinds for name in _names(repository, kind, {})][:HOOKS_LIMIT]


def restore_files(before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Restore settings, ignore rules and hooks; report what was changed."""
    reports: list[FileReport] = []
    if before.folder is None:
        return reports
    for name in sorted({*before.files, *now.files}):
        if not _is_restored(before, now, name):
            continue
        was = before.files.get(name)
        write_file(before.folder, name, was, before.real_folders)
        change = "added" if was is None else "changed" if name in now.files else "deleted"
        shown = f"{NATIVE_HOOKS}{name.partition(NATIVE_HOOKS)[2]}" if os.path.isabs(name) else f".git/{name}"
        reports.append(FileReport(shown, f"it was {change}, and was restored, {_NO_COMMIT}"))
    return reports


def _is_restored(before: GitMetadata, now: GitMetadata, name: str) -> bool:
    """Return whether a file that has changed is restored.

    Not if it is of a worktree or submodule that is new, or of a worktree that was removed. In other worktrees the user
    may work, so their HEAD and index only count where they were deleted.
    """
    was, is_now = before.files.get(name), now.files.get(name)
    first = name.partition("/")[0]
    if before.real_folders.get(first) != now.real_folders.get(first):
        return False  # a folder to which the user has linked it was replaced
    if was == is_now or before.folder is None or (was is not None and not _is_readable(was)):
        return False
    owners = [folder for folder in {*before.linked, *now.linked} if name.startswith(f"{folder}/")]
    owner = max(owners, key=len, default=None)
    if owner is None or not name.startswith((_WORKTREES, _MODULES)):
        return True
    if owner not in before.linked or (is_now is not None and name.endswith(_WORK_OF_WORKTREE)):
        return False
    pointer = before.files.get(f"{owner}/gitdir")
    return pointer is None or os.path.exists(os.fsdecode(pointer[1].strip()))


def restore_logs(before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Restore entries that were removed from reflogs, after the refs; report those whose refs are not reported."""
    if before.folder is None:
        return []
    names = reflogs.restore(before.logs, before.folder)
    names = [name for name in names if before.refs.get(name) == now.refs.get(name)]
    reports = [FileReport(f".git/logs/{name}", "entries were removed, and were restored") for name in names[:SHOWN]]
    if len(names) > SHOWN:
        reports.append(FileReport(".git/logs", f"entries of {len(names) - SHOWN} more were removed, and were restored"))
    return reports


def restore_while_agents_work(folder: Path, repository: Path | None = None) -> list[str]:
    """Restore what makes git fail for all workers, if an agent that is still running destroyed it; return the names."""
    place = find_common_folder(folder)
    baseline = _baselines.get(place.resolve()) if place is not None else None
    restored = [report.path for report in baseline.restore_links()] if baseline is not None else []
    restored += [f".git/{name}" for name in damaged_files.restore(folder)]
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


def write_file(place: Path, name: str, was: File | None, real: Mapping[str, str] = _NONE_LINKED) -> None:
    """Restore a file, or what an agent has put at its place."""
    top, inside = _real(place, name, real)
    if was is None:
        files_below.remove(top, inside)
    elif stat.S_ISLNK(was[0]):
        files_below.link(top, inside, os.fsdecode(was[1]))
    else:
        files_below.replace(top, inside, was[1], mode=stat.S_IMODE(was[0]))


async def _ref(git: Git, before: GitMetadata, now: GitMetadata, name: str, came_from: str | None) -> FileReport:
    was, is_now = before.refs.get(name), now.refs.get(name)
    short = name.removeprefix(HEADS)
    if was is None:
        return FileReport(short, f"it was created at {is_now}")
    is_dropped = name == reflogs.STASH and reflogs.has_entry(before.logs, name, is_now or "")
    is_ours = is_now is None or name == f"{HEADS}{came_from}" or is_dropped
    if not is_ours or (is_now is not None and _is_checked_out(before.folder, name)):
        return FileReport(short, f"it was moved from {was} to {is_now}")
    code, _ = await git.run("update-ref", "-m", reflogs.RESTORED, name, was, accepts=(0, 1, 128))
    outcome = "it was restored" if code == 0 else f"restoring it to {was} failed"
    return FileReport(short, f"it was {'deleted' if is_now is None else f'moved to {is_now}'}; {outcome}")


def _is_checked_out(place: Path | None, ref: str) -> bool:
    """Return whether a working copy has the branch checked out."""
    if place is None:
        return False
    heads = ["HEAD", *(f"{_WORKTREES}{name}/HEAD" for name in files_below.listed(place, _WORKTREES.rstrip("/")))]
    wanted = (f"ref: {ref}".encode(), ref.encode())  # the second is a link
    return any((file := read_file(place, head)) is not None and file[1].strip() in wanted for head in heads)


def _refs(place: Path) -> Iterator[tuple[str, str]]:
    """Yield every branch and tag but Bridle's own; loose refs come last, because they override packed ones."""
    try:
        packed = disk.read_bounded(place / _PACKED, _PACKED_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except DiskError:
        packed = ""
    for line in packed.splitlines():
        value, _, name = line.partition(" ")
        if _is_watched(name) and _VALUE.fullmatch(value.encode("utf-8", "surrogateescape")):
            yield name, value
    for top in ("refs/heads", "refs/tags", "refs/replace", "refs/stash"):
        yield from _loose(place, top)


def _loose(place: Path, top: str) -> Iterator[tuple[str, str]]:
    for name in [top, *_files_in(place, top)]:
        data = None if name.endswith(".lock") or not _is_watched(name) else _line(place, name)
        if data is not None and _VALUE.fullmatch(data):  # git ignores any other, and it may be of another file
            yield name, data.decode("utf-8", "surrogateescape").strip()


def _files_in(place: Path, name: str) -> Iterator[str]:
    top, inside = git_links.real_place(place, name)
    return (name + file.removeprefix(inside) for file in files_below.walk(top, inside))


def _line(place: Path, name: str) -> bytes | None:
    return files_below.read(*git_links.real_place(place, name), _LINE_LIMIT_BYTES)


def _is_watched(name: str) -> bool:
    return name.startswith(_WATCHED_REFS) and not name.startswith(_OUR_BRANCHES)


def _names(place: Path, name: str, real: Mapping[str, str]) -> list[str]:
    if name in real:
        place, name = Path(real[name]).parent, Path(real[name]).name
    return files_below.listed(*_real(place, name, {}))


def _real(place: Path, name: str, real: Mapping[str, str]) -> tuple[Path, str]:
    """Return the folder and the name in it of a file of git, or of a hook of Bridle's, whose name is a path.

    `real`: the folders in the git folder that the user has linked.
    """
    if os.path.isabs(name):
        top, _, rest = name.partition(f"/{NATIVE_HOOKS}")
        return Path(top), f"{NATIVE_HOOKS}{rest}"
    first, _, rest = name.partition("/")
    return (Path(real[first]), rest) if first in real and rest else (place, name)


def read_file(place: Path, name: str, real: Mapping[str, str] = _NONE_LINKED) -> File | None:
    """Return a file's mode and bytes, or a link's target; None where there is nothing.

    A folder, a pipe and a file that is too large have no bytes, see `_is_readable`.
    """
    top, inside = _real(place, name, real)
    try:
        with files_below.parent(top, inside) as (folder, last):
            mode = os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return mode, os.fsencode(os.readlink(last, dir_fd=folder))
    except OSError:
        return None
    if not stat.S_ISREG(mode):
        return mode, b""
    data = files_below.read(top, inside, LIMIT_BYTES)
    return (mode, data) if data is not None else (stat.S_IFDIR, b"")


def _is_readable(file: File) -> bool:
    return stat.S_ISREG(file[0]) or stat.S_ISLNK(file[0])
