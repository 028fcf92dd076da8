"""Git metadata of a repository: branches and tags, settings, hooks, ignore rules, reflogs and stashes.

No commit contains these, so an agent's changes would remain unseen. Hooks and settings run programs whenever the user
uses git, and ignore rules hide from the commit what checks see: all of them are restored, also in the folders of other
worktrees and of submodules. They are restored before Bridle starts git again, which would obey them. Branches belong to
the user, who may use them during the run: see `restore_refs`. Entries of reflogs, which are also the stashes, are
restored.

Agents that work at the same time share one baseline, read before the first of them: what one of them changes is never
the baseline of another.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.ground.files import files_below
from bridle.ground.git_folder import find_common_folder, submodule_folders
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import reflogs, watched_refs
from bridle.workspace.git_folder import damaged_files, git_links, object_caches

# Settings, ignore rules and hooks have a few kilobytes; the index of a worktree, 100 bytes for each file.
LIMIT_BYTES = 32 * 1024 * 1024
# Of all of them: the bytes of more are not kept, and then each counts as changed.
_TOTAL_LIMIT_BYTES = 256 * 1024 * 1024
# The most files and refs of a kind that are reported singly. All of them are restored.
SHOWN = 10

HEADS = "refs/heads/"
NATIVE_HOOKS = ".a5c/hooks"
# What git obeys in its folder, besides hooks: gitrepository-layout(5).
_FILES = (
    *("config", "config.worktree", "commondir", "shallow", "info/exclude", "info/attributes", "info/grafts"),
    *("info/sparse-checkout", "objects/info/alternates", "objects/info/http-alternates"),
)
_WORK_OF_WORKTREE = ("/HEAD", "/index")
_FILES_OF_WORKTREE = ("/commondir", "/gitdir", "/config.worktree", "/info/sparse-checkout", *_WORK_OF_WORKTREE)
# Git writes them one after the other when it makes a worktree.
_MADE_OF_WORKTREE = ("/commondir", "/gitdir", "/HEAD")
_FOLDERS = ("hooks", "remotes", "branches")
# Folders that a user may have linked.
_LINKED = (*_FOLDERS, "info", "objects")
_NEEDED = ("objects", "refs")
# Where git and Bridle make files, and may find something else than a folder.
_EXPECTED = (
    *("refs/heads", "refs/tags", "refs/bridle", "refs/heads/bridle"),
    *("logs", "logs/refs", "logs/refs/heads", "logs/refs/heads/bridle", "info", "worktrees", "modules", *_FOLDERS),
)
_WORKTREES = "worktrees/"
_MODULES = "modules/"
_SAMPLE = ".sample"
_NONE_LINKED: Mapping[str, str] = {}
_NO_COMMIT = "because no commit contains it"


File = tuple[int, bytes]
"""The mode of a file, and its bytes."""
_UNREAD: File = (stat.S_IFDIR, b"")


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
    shadows: frozenset[str] = frozenset()
    """Files that git takes for a branch or tag before the one of that name."""

    @property
    def made(self) -> frozenset[str]:
        """The folders of submodules and of worktrees that git has made to the end."""
        return frozenset(
            folder
            for folder in self.linked
            if not folder.startswith(_WORKTREES) or all(f"{folder}{name}" in self.files for name in _MADE_OF_WORKTREE)
        )


class Baseline:
    """The metadata before the agents that work in a repository now."""

    def __init__(self, metadata: GitMetadata, *, is_known: bool = False) -> None:
        place = metadata.folder
        self.metadata = metadata
        self.links = git_links.read_or_known(place, is_known=is_known) if place is not None else {}
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
        reports += shorten([FileReport(f".git/{name}", what) for name in caches], ".git")
        return [*_make_folders(self.metadata.folder), *reports]

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
def agent_at_work(folder: Path, repository: Path | None = None, *, is_known: bool = False) -> Iterator[Baseline]:
    """Yield the baseline of an agent: that of the agents that are running already, or the current metadata.

    `is_known`: only Bridle has worked in the repository since the last baseline was restored.
    """
    current = read_metadata(folder, repository)
    if current.folder is None:
        yield Baseline(current)
        return
    place = current.folder.resolve()
    baseline = _baselines.get(place) or _baselines.setdefault(place, Baseline(current, is_known=is_known))
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
    return shorten([FileReport(f"{shown}/{name}", what) for name in names], shown)


def shorten(reports: Sequence[FileReport], place: str) -> list[FileReport]:
    """Return the first reports of a kind, and one that says how many more there are, by what most of them say."""
    if len(reports) <= SHOWN:
        return [*reports]
    more = Counter(report.what for report in reports[SHOWN:]).most_common(1)[0][0]
    return [*reports[:SHOWN], FileReport(place, f"{len(reports) - SHOWN} more, as: {more}")]


def _make_folders(place: Path) -> list[FileReport]:
    """Make folders again in which git needs files; what is at their place goes."""
    paths = {name: f"{place}/{name}" for name in (*_NEEDED, *_EXPECTED)}
    replaced = [name for name in _NEEDED if not os.path.isdir(paths[name])]
    replaced += [name for name in _EXPECTED if not os.path.isdir(paths[name]) and os.path.lexists(paths[name])]
    for name in replaced:
        files_below.remove(place, name)
        with files_below.parent(place, f"{name}/_", makes=True):
            pass
    return [FileReport(f".git/{name}", "it was replaced by something else, and was made again") for name in replaced]


def read_metadata(folder: Path, repository: Path | None = None, *, place: Path | None = None) -> GitMetadata:
    """Read the current metadata without starting git. Native hooks are those of `repository`.

    `place` is the common git folder, if it is known: after an agent the files that lead to it cannot be trusted.
    """
    place = place or find_common_folder(folder)
    if place is None or not place.is_dir():
        return GitMetadata(None, {}, {})
    modules = [path.relative_to(place).as_posix() for path in submodule_folders(place)]
    worktrees = [f"{_WORKTREES}{name}" for name in files_below.listed(place, _WORKTREES.rstrip("/"))]
    real = {name: os.path.realpath(place / name) for name in _LINKED if os.path.islink(f"{place}/{name}")}
    folders = ["", *(f"{module}/" for module in modules)]
    names = [*_control_files(place, folders, real), *_native(repository or folder)]
    names += [f"{worktree}{name}" for worktree in worktrees for name in _FILES_OF_WORKTREE]
    refs = watched_refs.read(place)
    return GitMetadata(
        place,
        _read_files(place, names, real),
        refs,
        frozenset((*modules, *worktrees)),
        reflogs.read(place),
        real,
        watched_refs.find_shadows(place, ["", *worktrees], refs),
    )


def read_control_files(place: Path) -> dict[str, File]:
    """Return the files that git obeys in one git folder."""
    return _read_files(place, _control_files(place, [""], {}), {})


def _read_files(place: Path, names: Iterable[str], real: Mapping[str, str]) -> dict[str, File]:
    """Return those of these files that exist. An agent can make any number: the bytes of only so many are kept."""
    files: dict[str, File] = {}
    total = 0
    for name in names:
        file = read_file(place, name, real)
        if file is not None:
            total += len(file[1])
            files[name] = file if total <= _TOTAL_LIMIT_BYTES else _UNREAD
    return files


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
    return shorten(reports, shown)


def _control_files(place: Path, folders: Sequence[str], real: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the files that git obeys in its folder and those of submodules."""
    for folder in folders:
        yield from (f"{folder}{name}" for name in _FILES)
        for kind in _FOLDERS:
            names = _names(place, f"{folder}{kind}", real)
            yield from (f"{folder}{kind}/{name}" for name in names if not name.endswith(_SAMPLE))


def _native(repository: Path) -> list[str]:
    """Return the absolute paths of the hooks that Bridle runs."""
    top = os.path.abspath(repository / NATIVE_HOOKS)
    kinds = [f"{top}/{kind}" for kind in _names(repository, top, {})]
    return [f"{kind}/{name}" for kind in kinds for name in _names(repository, kind, {})]


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
    return shorten(reports, ".git")


def _is_restored(before: GitMetadata, now: GitMetadata, name: str) -> bool:
    """Return whether a file that has changed is restored.

    Not if it is of a worktree or submodule that is new, also one that another worker of the run was making before, or
    of a worktree that was removed. In other worktrees the user may work, so their HEAD and index only count where they
    were deleted.
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
    if owner not in before.made or (is_now is not None and name.endswith(_WORK_OF_WORKTREE)):
        return False
    pointer = before.files.get(f"{owner}/gitdir")
    return pointer is None or os.path.exists(os.fsdecode(pointer[1].strip()))


def restore_logs(before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Restore entries that were removed from reflogs, after the refs; report those whose refs are not reported."""
    if before.folder is None:
        return []
    names = reflogs.restore(before.logs, before.folder)
    names = [name for name in names if before.refs.get(name) == now.refs.get(name)]
    what = "entries were removed, and were restored"
    return shorten([FileReport(f".git/logs/{name}", what) for name in names], ".git/logs")


def restore_while_agents_work(folder: Path, repository: Path | None = None) -> list[str]:
    """Restore what makes git fail for all workers, if an agent that is still running destroyed it; return the names."""
    place = find_common_folder(folder)
    baseline = _baselines.get(place.resolve()) if place is not None else None
    restored = [report.path for report in baseline.restore_links()] if baseline is not None else []
    restored += [f".git/{name}" for name in damaged_files.restore(folder, looks_at_all=True)]
    if baseline is not None:
        now = read_metadata(folder, repository)
        restored += [report.path for report in restore_files(baseline.metadata, now)]
    return restored


def write_file(place: Path, name: str, was: File | None, real: Mapping[str, str] = _NONE_LINKED) -> None:
    """Restore a file, or what an agent has put at its place."""
    top, inside = _real(place, name, real)
    if was is None:
        files_below.remove(top, inside)
    elif stat.S_ISLNK(was[0]):
        files_below.link(top, inside, os.fsdecode(was[1]))
    else:
        files_below.replace(top, inside, was[1], mode=stat.S_IMODE(was[0]))


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
    if files_below.is_missing(top, inside):
        return None
    try:
        with files_below.parent(top, inside) as (folder, last):
            mode = os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return mode, os.fsencode(os.readlink(last, dir_fd=folder))
            return _read_in(folder, last, mode)
    except OSError:
        return None


def _read_in(folder: int, last: str, mode: int) -> File:
    if not stat.S_ISREG(mode):
        return mode, b""
    try:
        data = files_below.read_in(folder, last, LIMIT_BYTES)
    except OSError:
        data = None
    return (mode, data) if data is not None else _UNREAD


def _is_readable(file: File) -> bool:
    return stat.S_ISREG(file[0]) or stat.S_ISLNK(file[0])
