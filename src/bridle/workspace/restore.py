"""Restore the files and the index of a snapshot, byte for byte.

The work is done in a private index, which replaces that of the working copy at the end. So files that are marked
assume-unchanged or skip-worktree are restored, too. Their marks are those of the snapshot, and what was left out of the
working copy is left out again. Marks that the snapshot does not have stay.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from bridle.errors import GitError
from bridle.ground import clock
from bridle.workspace import exact_bytes, git_command, marks, nested_git, private_indexes, restore_paths, snapshot
from bridle.workspace.add_files import NO_SHORTCUTS, add_all
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file
from bridle.workspace.marks import Marks
from bridle.workspace.own_output import untracked_output
from bridle.workspace.partial_tree import tree_without
from bridle.workspace.snapshot import Snapshot

_REPOSITORY = "160000"


async def restore(
    git: Git,
    wanted: Snapshot,
    *,
    moves_head: bool = True,
    keep: Snapshot | None = None,
    is_kept: Callable[[str], bool] = lambda _name: True,
    leave: Collection[str] = (),
) -> None:
    """Restore files and index; with `moves_head`, also the branch that is checked out.

    Changes that are neither committed nor in a snapshot are lost. Ignored is what the restored ignore rules name. Files
    that other rules had hidden are removed; those that `is_kept` accepts are added to the snapshot `keep`. The files
    `leave` stay as they are, also if they are written during the restore.
    """
    if moves_head and wanted.head is not None and await git.head() != wanted.head:
        await git.move_head(wanted.head, "bridle: restore")
    marked = marks.merge(await marks.load(git, wanted.marks), await marks.read(git))
    async with snapshot.index_of_all(git) as own:
        await _restore_ignore_rules(git, own, wanted.tree)
        if keep is not None:
            await _keep_hidden(git, own, keep, is_kept)
        await _restore_files(git, own, wanted.tree, leave, marked)
        # A git that writes an index may compare files with it: only the last one may run filters, which can fail.
        words = ("read-tree", "--reset", "--no-sparse-checkout", wanted.index_tree)
        await git.run(*await exact_bytes.flags(git), *NO_SHORTCUTS, *words, variables=own)
        await marks.set_marks(git, own, marked.tags)
        await git.run(*NO_SHORTCUTS, "update-index", "-q", "--refresh", accepts=(0, 1, 128), variables=own)
        await _replace_index(git, await git.index_path(), Path(own["GIT_INDEX_FILE"]))


async def restore_files(git: Git, tree: str, *, leave: Collection[str] = (), marked: Marks | None = None) -> None:
    """Restore the files of a tree, byte for byte, except the files `leave`; the index stays as it is.

    `marked`: the marks of that time, by which files are left out of the working copy.
    """
    marked = marks.merge(marked, await marks.read(git))
    async with snapshot.index_of_all(git) as own:
        await _restore_ignore_rules(git, own, tree)
        await _restore_files(git, own, tree, leave, marked)


async def stage(git: Git, tree: str, *, base: str | None = None) -> None:
    """Make the index that of a tree; marks stay, and so does the stat data of unchanged files.

    `base`: the commit since which marked files may have been renamed: as with `git mv`, the mark is on the new name.
    """
    real = await git.index_path()
    identity = index_file.identify(real)
    tags = {} if identity in git.unmarked else await marks.read_tags(git, {})
    if not tags:
        await git.run("read-tree", "--reset", tree)
        if identity in git.own_indexes:
            _note_own(git, real)
        return
    if base is not None:
        tags |= await marks.follow_renames(git, tags, base, tree)
    async with snapshot.index_of_all(git, as_committed=True) as own:
        await git.run(*NO_SHORTCUTS, "read-tree", "--reset", "--no-sparse-checkout", tree, variables=own)
        await marks.set_marks(git, own, tags)
        await _replace_index(git, await git.index_path(), Path(own["GIT_INDEX_FILE"]))


async def _restore_ignore_rules(git: Git, own: Mapping[str, str], tree: str) -> None:
    """Restore each .gitignore first: the rules say which files belong to the working copy."""
    flags = await exact_bytes.flags(git)
    now = await git.text(*flags, "write-tree", variables=own)
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", now, tree)
    changed = await git.names(*words, "--", ":(top,glob)**/.gitignore")
    if not changed:
        return
    listed = await git.names("ls-tree", "-r", "-z", "--full-tree", tree, "--", *changed)
    present = {line.partition("\t")[2] for line in listed}
    gone = [name for name in changed if name not in present]
    removed = (f"0 {'0' * len(tree)}\t{name}" for name in gone)
    await git.run(*flags, "update-index", "-z", "--index-info", stdin=_lines((*removed, *listed)), variables=own)
    for name in gone:
        (git.folder / name).unlink(missing_ok=True)
    write = (*flags, "checkout-index", "--force", "-z", "--stdin")
    await git.run(*write, stdin=_lines(sorted(present)), variables=own)
    await add_all(git, own, flags)


async def _restore_files(git: Git, own: Mapping[str, str], tree: str, leave: Collection[str], marked: Marks) -> None:
    await marks.show(git, own, await _find_unwanted(git, own, marked))
    flags = [*await exact_bytes.flags(git), *NO_SHORTCUTS]
    left = {*leave, *await untracked_output(git)}
    tree = await tree_without(git, tree, tuple(sorted(left)))
    # Files that are not in the private index are left alone; ignored ones may be there because rules had changed.
    ignored = set(await git.names("ls-files", "-z", "-c", "-i", "--exclude-standard", variables=own))
    if ignored:
        ignored -= set(await git.names("ls-tree", "-r", "-z", "--name-only", tree))
    if left or ignored:
        forget = (*flags, "update-index", "--force-remove", "-z", "--stdin")
        await git.run(*forget, stdin=_lines(sorted(left | ignored)), variables=own)
    words = ("read-tree", "--reset", "-u", "--no-sparse-checkout", tree)
    await git.run(*flags, *words, variables=own)
    for name in marks.find_present(git.folder, marked.absent) - left:
        restore_paths.remove_file(git.folder, name)
    # A commit that an agent made in a submodule must not be in the next commit here. Its branch keeps it.
    words = ("diff-files", "-z", "--raw", "--no-abbrev", "--ignore-submodules=dirty")
    fields = await git.names(*NO_SHORTCUTS, *words, variables=own)
    for facts, name in zip(fields[::2], fields[1::2], strict=True):
        if facts.startswith(f":{_REPOSITORY} {_REPOSITORY} "):
            await nested_git.check_out(git, name, facts.split()[2])


async def _find_unwanted(git: Git, own: Mapping[str, str], marked: Marks) -> list[str]:
    """Return the files that an index leaves out of the working copy, and that were in it."""
    if index_file.identify(await git.index_path()) in git.unmarked:
        return []
    absent = marks.find_left_out(git.folder, await marks.read_tags(git, own))
    return sorted(absent - marked.absent)


async def _keep_hidden(git: Git, own: Mapping[str, str], keep: Snapshot, is_kept: Callable[[str], bool]) -> None:
    """Add the files that ignore rules had hidden to the snapshot `keep`."""
    now = await git.text(*await exact_bytes.flags(git), "write-tree", variables=own)
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--diff-filter=A", keep.tree, now)
    fields = await git.names(*words)
    added = [(facts.split(), name) for facts, name in zip(fields[::2], fields[1::2], strict=True) if is_kept(name)]
    if not added:
        return
    path = private_indexes.private_index_path(await git.index_path())
    variables = {"GIT_INDEX_FILE": str(path)}
    try:
        await git.run("read-tree", keep.tree, variables=variables)
        stdin = _lines([f"{facts[1]} {facts[3]}\t{name}" for facts, name in added])
        await git.run("update-index", "-z", "--index-info", stdin=stdin, variables=variables)
        whole = await git.text("write-tree", variables=variables)
    finally:
        private_indexes.remove_index(path)
    await snapshot.replace_tree(git, keep, whole)


async def put_index(path: Path, data: bytes, facts: os.stat_result) -> None:
    """Replace an index once no other git has locked it."""
    lock = f"{path}.lock"
    deadline = clock.monotonic() + git_command.LOCK_SECONDS
    while not index_file.put(path, data, facts):
        if clock.monotonic() > deadline:
            if not os.path.lexists(lock):
                raise GitError(f"cannot create {lock}", remedy="Make its folder writable, and free disk space.")
            raise git_command.refuse_lock(lock, "cannot write the index")
        await asyncio.sleep(git_command.LOCK_POLL_SECONDS)


def _note_own(git: Git, real: Path) -> None:
    identity = index_file.identify(real)
    git.own_indexes = frozenset({identity}) if identity is not None else frozenset()


async def _replace_index(git: Git, real: Path, own: Path) -> None:
    """Make a private index the index of the working copy, in one step."""
    await put_index(real, own.read_bytes(), own.stat())
    _note_own(git, real)


def _lines(lines: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(line) + b"\0" for line in lines)
