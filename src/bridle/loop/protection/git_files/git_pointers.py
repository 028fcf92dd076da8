"""Files and links `.git` below a working copy, which lead git to a folder that is somewhere else.

Git makes them for worktrees and submodules, and users for folders of their own. An agent could lead git with one to
settings in a folder that it can write to, or into the repository of the user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from bridle.ground.git_folder import common_folder, git_folder, read_path, submodule_folders
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import git_metadata
from bridle.loop.protection.git_files.git_metadata import File

NESTED = "nested"
"""To a git folder in the working copy, or of a submodule of a worktree: `nested_repositories` restores its files."""
LINKED = "linked"
"""To the folder of the worktree or of a submodule in that of the repository: `git_metadata` restores its files."""
ELSEWHERE = "elsewhere"

# Folders at the top that are Bridle's own.
_OWN_FOLDERS = (".a5c", ".ralph")
_GIT = ".git"


class Pointer(Struct, frozen=True):
    """A file or link `.git`."""

    entry: File
    leads_to: str | None
    """The git folder, without links; None if it cannot be read."""
    kind: str


Modules = dict[Path, frozenset[Path]]
"""By git folder: the folders of the submodules in it, as far as they were asked for."""


def read(folder: Path, top: str, common: Path | None, modules: Modules) -> Pointer | None:
    """Return the file or link `.git` of a folder; None if that is a folder, or missing.

    `top` and `common` have no links in them. `modules` is filled.
    """
    entry = git_metadata.read_file(folder, _GIT)
    if entry is None or stat.S_ISDIR(entry[0]):
        return None
    place = git_folder(folder)
    real = None if place is None or "\0" in place else os.path.realpath(place)
    kind = ELSEWHERE if real is None else _kind(folder, Path(real), Path(top), common, modules)
    return Pointer(entry, real, kind)


def _kind(folder: Path, place: Path, top: Path, common: Path | None, modules: Modules) -> str:
    if not _is_git_folder(place) or place == common:
        return ELSEWHERE
    if common is None or common not in place.parents:
        is_own = any(place.is_relative_to(top / name) for name in _OWN_FOLDERS)
        return NESTED if place.is_relative_to(top) and not is_own else ELSEWHERE
    first, *rest = place.relative_to(common).parts
    if first == "modules" and place in _submodules(common, modules):
        return LINKED
    if first == "worktrees" and len(rest) == 1 and _is_worktree(folder, place, common):
        return LINKED
    if first == "worktrees" and "modules" in rest[1:2] and place in _submodules(common / first / rest[0], modules):
        return NESTED
    return ELSEWHERE


def _submodules(place: Path, modules: Modules) -> frozenset[Path]:
    if place not in modules:
        modules[place] = frozenset(submodule_folders(place))
    return modules[place]


def _is_git_folder(place: Path) -> bool:
    has_objects = os.path.isdir(place / "objects") or os.path.lexists(place / "commondir")
    return has_objects and os.path.lexists(place / "HEAD")


def _is_worktree(folder: Path, place: Path, common: Path) -> bool:
    """Return whether a worktree uses the settings of the repository, and leads back to the folder."""
    back = read_path(f"{place}/gitdir")
    if back is None or "\0" in back or os.path.realpath(common_folder(str(place))) != str(common):
        return False
    above, name = os.path.split(os.path.join(place, back))
    return name == _GIT and os.path.realpath(above) == os.path.realpath(folder)


def restore(
    top: Path,
    common: Path | None,
    before: Mapping[Path, Pointer],
    now: Mapping[Path, Pointer],
    known: Collection[Path],
) -> tuple[list[FileReport], list[Pointer]]:
    """Remove new ones that lead elsewhere, or to the git folder of a repository that was `known`.

    Return reports, and those that stay.
    """
    reports: list[FileReport] = []
    kept: list[Pointer] = []
    for folder in sorted(now):
        pointer, was = now[folder], before.get(folder)
        is_users = pointer.leads_to is not None and Path(pointer.leads_to) in known
        if _is_same(pointer, was) or (pointer.kind != ELSEWHERE and not is_users):
            kept.append(pointer)
            continue
        git_metadata.write_file(folder, _GIT, was.entry if was is not None else None)
        if was is not None and not _is_same(read(folder, os.path.realpath(top), common, {}), was):
            # A folder on the way was replaced by a link.
            git_metadata.write_file(folder, _GIT, None)
            was = None
        kept += [was] if was is not None else []
        done = "removed" if was is None else "restored"
        what = f"it led git to a repository that is not in the working copy, or not its own, and was {done}"
        reports.append(FileReport(os.path.relpath(folder / _GIT, top), what))
    return reports, kept


def _is_same(pointer: Pointer | None, was: Pointer | None) -> bool:
    return pointer is not None and was is not None and (pointer.entry, pointer.leads_to) == (was.entry, was.leads_to)
