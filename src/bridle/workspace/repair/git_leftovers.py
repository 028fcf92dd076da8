"""What a program left in git besides files: unfinished operations, an index that git cannot use. Found and undone.

The files of the working copy stay as they are.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.ground.git_folder import git_folder
from bridle.workspace.git import Git
from bridle.workspace.git_folder import damaged_files, index_file
from bridle.workspace.git_folder.index_file import Identity

# The files by which git notes an operation that is not finished.
UNFINISHED_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "sequencer": "cherry-pick",  # of several commits; or of several reverts, by its first line
}
# Other files of such operations: the next commit would use their messages and parents.
_THEIR_FILES = ("MERGE_MSG", "MERGE_MODE", "MERGE_RR", "SQUASH_MSG", "AUTO_MERGE", "REBASE_HEAD")
_HEAD = re.compile(rb"(?:ref: refs/\S+|[0-9a-f]{40}(?:[0-9a-f]{24})?)\s*\Z")
# HEAD and the `.git` file of a worktree are one line each.
_LINE_LIMIT_BYTES = 64 * 1024
# A million files have an index of 100 MB.
_INDEX_LIMIT_BYTES = 512 * 1024 * 1024
# Conflict markers are searched in files up to this size; larger ones are not text.
_TEXT_LIMIT_BYTES = 16 * 1024 * 1024
_CONFLICT = re.compile(rb"^<<<<<<< .*?^>>>>>>> ", re.MULTILINE | re.DOTALL)


# By path: the last content that was read, and its version.
_indexes: dict[Path, tuple[Identity, bytes]] = {}


class GitState(Struct, frozen=True):
    """The state of git in a working copy before a program runs in it."""

    pointer: bytes | None
    """The `.git` file of a worktree; None in a main working copy."""
    head: bytes | None
    index: bytes | None
    operations: frozenset[str]
    """The files of operations that were not finished."""


class Leftovers(Struct, frozen=True):
    """What was undone."""

    operations: tuple[str, ...] = ()
    """The names of operations that were ended."""
    conflicts: tuple[str, ...] = ()
    """Files that were unmerged in the index."""
    marked: tuple[str, ...] = ()
    """Files that were marked as skip-worktree or assume-unchanged."""
    replaced: tuple[str, ...] = ()
    """Files of git that could not be used, and were restored."""

    def __bool__(self) -> bool:
        return any((self.operations, self.conflicts, self.marked, self.replaced))


def unfinished_operations(own: Path) -> dict[str, Path]:
    """Return the operations that are not finished in the working copy of this git folder, each with its file."""
    found: dict[str, Path] = {}
    for file in UNFINISHED_OPERATIONS:
        if os.path.lexists(own / file):
            found.setdefault(_operation(own, file), own / file)
    if "rebase" in found:
        found.pop("cherry-pick", None)  # a step of the rebase
    return found


def _operation(own: Path, file: str) -> str:
    """Return the operation that git notes by this file."""
    if file == "rebase-apply" and (own / file / "applying").exists():
        return "am"
    if file == "sequencer" and (_content(own / file / "todo", _TEXT_LIMIT_BYTES) or b"").startswith(b"revert"):
        return "revert"
    return UNFINISHED_OPERATIONS[file]


def refusal(operation: str, folder: Path, then: str) -> UsageError:
    """Return the error for an operation that the user has not finished; `then`: what to do after it has ended."""
    finish = f"resolve the conflicts, `git add` the files, git {operation} --continue"
    ways = f"Finish it ({finish}) or abort it (git {operation} --abort)"
    return UsageError(
        f"{'an' if operation == 'am' else 'a'} {operation} is in progress in {folder}",
        remedy=f"{'End it (git bisect reset)' if operation == 'bisect' else ways}{then}",
    )


def conflict_refusal(names: Sequence[str], folder: Path, then: str) -> UsageError:
    """Return the error for files in conflict without an operation, as after a `git stash pop`."""
    return UsageError(
        f"files are in conflict in {folder}: {', '.join(names)}",
        remedy=f"Resolve the conflicts and `git add` the files{then}",
    )


async def conflicts(git: Git) -> list[str]:
    """Return the files that are in conflict in the index."""
    return list(dict.fromkeys(await git.names("diff", "--name-only", "--diff-filter=U", "-z")))


def read_state(folder: Path) -> GitState:
    """Read the state of git in the working copy whose top this is, without starting git; keep what git can read."""
    damaged_files.remember(folder)
    return _read_state(folder)


def _read_state(folder: Path) -> GitState:
    entry, own = folder / ".git", git_folder(folder)
    pointer = _content(entry, _LINE_LIMIT_BYTES) if entry.is_file() else None
    if own is None:
        return GitState(pointer, None, None, frozenset())
    names = frozenset(name for name in (*UNFINISHED_OPERATIONS, *_THEIR_FILES) if os.path.lexists(f"{own}/{name}"))
    head = _content(Path(own, "HEAD"), _LINE_LIMIT_BYTES)
    return GitState(pointer, head, _index_content(Path(own, "index")), names)


def _index_content(path: Path) -> bytes | None:
    """Return the content of an index; that of the last call, if it is the same version: a large one has megabytes."""
    identity, known = index_file.identify(path), _indexes.get(path)
    if identity is not None and known is not None and known[0] == identity:
        return known[1]
    data = _content(path, _INDEX_LIMIT_BYTES)
    if identity is not None and data is not None and index_file.identify(path) == identity:
        _indexes[path] = identity, data
    else:
        _indexes.pop(path, None)
    return data


async def undo(git: Git, before: GitState) -> Leftovers:
    """Make git usable again, and undo what was not there before."""
    replaced = [*_restore_pointer(git.folder, before), *damaged_files.restore(git.folder)]
    now = _read_state(git.folder)
    own = git_folder(git.folder)
    if own is None or now == before:
        return Leftovers(replaced=tuple(replaced))
    if before.head is not None and (now.head is None or not _HEAD.match(now.head)):
        disk.write_atomic(Path(own, "HEAD"), before.head)
        replaced.append("HEAD")
    operations = await _end_operations(git, Path(own), now.operations - before.operations)
    if now.index == before.index:
        return Leftovers(tuple(operations), replaced=tuple(replaced))
    entries = await _entries(git)
    if entries is None:
        _replace_index(Path(own, "index"), before.index)
        return Leftovers(tuple(operations), replaced=(*replaced, "index"))
    conflicts = await _reset_conflicts(git, entries)
    return Leftovers(
        operations=tuple(operations),
        conflicts=conflicts,
        marked=tuple(await _clear_new_marks(git, Path(own), before, entries)),
        replaced=tuple(replaced),
    )


async def end_operations(git: Git) -> None:
    """End every unfinished operation: those of a program that was killed before `undo` ran."""
    now, own = read_state(git.folder), git_folder(git.folder)
    if own is not None:
        await _end_operations(git, Path(own), now.operations)
        await _reset_conflicts(git, await _entries(git) or [])


async def _reset_conflicts(git: Git, entries: list[tuple[str, str]]) -> tuple[str, ...]:
    """Make unmerged entries of the index those of HEAD; return their names."""
    names = tuple(dict.fromkeys(name for tag, name in entries if tag == "M"))
    if names:
        await git.run("reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=_literal(names))
    return names


def _restore_pointer(folder: Path, before: GitState) -> list[str]:
    """Restore the `.git` file of a worktree."""
    entry = folder / ".git"
    if before.pointer is None or (entry.is_file() and _content(entry, _LINE_LIMIT_BYTES) == before.pointer):
        return []
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    disk.write_atomic(entry, before.pointer, mode=0o644)
    return [".git"]


async def _end_operations(git: Git, own: Path, files: frozenset[str]) -> list[str]:
    """End operations and leave their files; git keeps the stash of a rebase or merge with --autostash."""
    names = [name for name, path in unfinished_operations(own).items() if path.name in files]
    others = {own / name for name in (*UNFINISHED_OPERATIONS, *_THEIR_FILES) if name not in files}
    kept = {path: data for path in others if (data := _content(path, _TEXT_LIMIT_BYTES)) is not None}
    for name in names:
        words = ("reset", "HEAD") if name == "bisect" else ("--quit",)
        await git.run(name, *words, accepts=tuple(range(256)))
    for file in files:
        path = own / file
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for path, data in kept.items():
        if not os.path.lexists(path):  # `git revert --quit` ends a merge too
            disk.write_atomic(path, data, mode=0o644)
    return names


async def _entries(git: Git, variables: dict[str, str] | None = None) -> list[tuple[str, str]] | None:
    """Return the tag and the name of each entry of an index; None where git cannot read it."""
    path = await git.index_path()
    if os.path.lexists(path) and not path.is_file():  # git would wait for a writer of a named pipe
        return None
    code, text = await git.run("ls-files", "-v", "-z", accepts=(0, 128), variables=variables)
    return None if code else [(line[0], line[2:]) for line in text.split("\0") if line]


async def _clear_new_marks(git: Git, own: Path, before: GitState, entries: list[tuple[str, str]]) -> list[str]:
    """Clear skip-worktree and assume-unchanged marks that entries did not have before; return their names."""
    marked = _marked(entries)
    if not marked:
        return []
    old: dict[str, str] = {}
    if before.index is not None:
        copy = own / f"bridle-{os.getpid()}-before.index"
        disk.write_private(copy, before.index)
        try:
            old = _marked(await _entries(git, {"GIT_INDEX_FILE": str(copy)}) or [])
        finally:
            copy.unlink(missing_ok=True)
    new = [name for name, tag in marked.items() if old.get(name) != tag]
    if new:
        stdin = b"".join(os.fsencode(name) + b"\0" for name in new)
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            await git.run("update-index", flag, "-z", "--stdin", stdin=stdin)
    return new


def _marked(entries: list[tuple[str, str]]) -> dict[str, str]:
    return {name: tag for tag, name in entries if tag == "S" or tag.islower()}


def _replace_index(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        disk.write_atomic(path, data)


def has_conflict_markers(path: Path) -> bool:
    """Return whether a file contains an unresolved conflict of a merge."""
    if path.is_symlink() or not path.is_file():
        return False
    data = _content(path, _TEXT_LIMIT_BYTES)
    return data is not None and _CONFLICT.search(data) is not None


def _literal(names: tuple[str, ...]) -> bytes:
    return b"".join(b":(top,literal)" + os.fsencode(name) + b"\0" for name in names)


def _content(path: Path, limit_bytes: int) -> bytes | None:
    """Return the content of a file; None where it is missing, or too large."""
    try:
        return disk.read_bounded(path, limit_bytes)
    except DiskError:
        return None
