"""Change index and files from one tree to another: without git where only plain files differ.

The index is locked first, as git does. It is replaced after the files: until then it is that of the tree before, so a
process that is killed leaves files of both trees and a lock, and the next one repeats what it did.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace import exact_bytes
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_content, index_file, replace_files
from bridle.workspace.git_folder.index_content import Index, WrittenFile
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders
from bridle.workspace.git_folder.replace_files import Change
from bridle.workspace.git_folder.tree_objects import Difference, Trees, read_loose
from bridle.workspace.git_folder.write_git_files import replace_under_lock

# Beyond so many files git is much faster than its start is slow.
MOST_FILES = 20
_FILE_MODES = frozenset({replace_files.FILE, replace_files.PROGRAM, replace_files.LINK})
_FALSE, _TRUE = frozenset({"false", "no", "off", "0"}), frozenset({"true", "yes", "on", "1"})
# With one of these settings a checkout is more than files with the bytes of their blobs.
_MUST_BE_FALSE = ("core.ignorecase", "core.sparsecheckout", "core.precomposeunicode", "core.protecthfs")
_MUST_BE_TRUE = ("core.filemode", "core.symlinks")


async def move_files(git: Git, before: str, after: str) -> None:
    """Change index and files, of which the index has the first tree, from one tree to another.

    Raise GitError where git refuses, because it would overwrite a file that differs from `before`.
    """
    if not await move_without_git(git, before, after):
        await git.run(*NO_SHORTCUTS, "read-tree", "-m", "-u", before, after)


async def move_without_git(git: Git, before: str, after: str) -> bool:
    """Do the same without git; return False where git is needed.

    Then some files may be those of `after` already: such as git finds them after a process that was killed.
    """
    real = await git.index_path()
    try:
        if not await git.is_plain() or not _are_plain(await git.settings()):
            return False
        trees = Trees(git.folder, git.known_trees)
        changes = _read_changes(git.folder, trees.differences(before, after))
        identity = index_file.identify(real)
        data, index = _read_index(real, before, is_known=identity is not None and git.trees.get(identity) == before)
        if await exact_bytes.may_convert(git, data) or not _are_in(index, changes):
            return False
        with replace_under_lock(real) as lock:
            if identity is None or index_file.identify(real) != identity:
                raise NeedsGit
            facts = real.stat()
            found = replace_files.replace_files(git_folders(git.folder)[0], git.folder, changes)
            written = {
                file.path: None if file.after is None else WrittenFile(file.after, now)
                for (file, _), now in zip(changes, found, strict=True)
            }
            data = index_content.change_index(data, index, written, after, trees.read)
            index_file.write(lock, real, data, facts)
    except NeedsGit:
        return False
    identity = index_file.identify(real)
    git.trees = {identity: after} if identity is not None else {}
    return True


def _are_plain(settings: Mapping[str, str]) -> bool:
    """Return whether git would write files with the bytes, the modes and the names that trees have."""
    return (
        all(settings.get(name, "false").lower() in _FALSE for name in _MUST_BE_FALSE)
        and all(settings.get(name, "true").lower() in _TRUE for name in _MUST_BE_TRUE)
        and "core.worktree" not in settings
    )


def _read_changes(top: Path, differences: Iterable[Difference]) -> list[Change]:
    """Return the changes with the content of each new file, which has the id of its blob."""
    changes: list[Change] = []
    size = 0
    for file in differences:
        sides = [side for side in (file.before, file.after) if side is not None]
        if len(changes) == MOST_FILES or not all(side.mode in _FILE_MODES for side in sides):
            raise NeedsGit
        _check_name(top, file.path)
        content = b""
        if file.after is not None:
            kind, content = read_loose(top, file.after.object)
            size += len(content)
            is_no_path = file.after.mode == replace_files.LINK and (not content or b"\0" in content)
            if kind != b"blob" or size > replace_files.LIMIT_BYTES or is_no_path:
                raise NeedsGit
        changes.append(Change(file, content))
    return changes


def _check_name(top: Path, path: bytes) -> None:
    """Raise NeedsGit for a name that git may refuse or treat differently, or in a folder with other rules."""
    parts = path.split(b"/")
    for part in parts:
        # Files of attributes and submodules, and what Windows takes for `.git`.
        if part in (b"", b".", b"..") or b"\\" in part or part.lower().startswith((b".git", b"git~")):
            raise NeedsGit
    for above in index_content.folders_above(path)[1:]:
        folder = top / os.fsdecode(above)
        if any(os.path.lexists(folder / name) for name in (".gitattributes", ".git")):
            raise NeedsGit


def _read_index(real: Path, tree: str, *, is_known: bool) -> tuple[bytes, Index]:
    """Return the index, if it has this tree, which the caller may know, and nothing else."""
    try:
        data = disk.read_bounded(real, index_content.LIMIT_INDEX_BYTES)
    except DiskError as error:
        raise NeedsGit from error
    index = index_content.read_index(data, len(tree) // 2)
    known = index.trees.get(b"")
    if not is_known and (known is None or known.object.hex() != tree):
        raise NeedsGit
    if index.has_marks or index.has_others:
        raise NeedsGit
    return data, index


def _are_in(index: Index, changes: Iterable[Change]) -> bool:
    """Return whether the index has the entries that are changed."""
    entries = {entry.name: (b"%o" % entry.mode, entry.object.hex()) for entry in index.entries}
    return all(entries.get(file.path) == file.before for file, _ in changes)
