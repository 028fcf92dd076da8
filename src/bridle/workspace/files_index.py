"""A private index of all files of a working copy, kept by one `Git` so that unchanged files are not hashed again.

It is a cache of one process. It is dropped, and copied from the real index again, after a git that failed, if its file
or the settings have changed, or if the real index tracks other ignored files. A real index that we did not write may
say anything about the files: they are compared by content with a copy of it.
"""

from __future__ import annotations

import asyncio
import os
import re
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bridle.errors import GitError
from bridle.ground import clock, disk
from bridle.workspace import exact_bytes, marks
from bridle.workspace.add_files import NO_SHORTCUTS, add_all
from bridle.workspace.git import Git
from bridle.workspace.git_folder import cleared_sizes, index_file, read_git_files
from bridle.workspace.git_folder.cleared_sizes import ClearedSizes
from bridle.workspace.git_folder.index_file import Identity
from bridle.workspace.move_files import move_files
from bridle.workspace.own_output import untracked_output
from bridle.workspace.private_indexes import clear_indexes, private_index_path, remove_index
from bridle.workspace.repair import forged_objects
from bridle.workspace.write_tree import write_tree

# How far the clock of a file system may differ from ours: entries so close to a look are hashed again by the next one.
RECENT_SECONDS = 2

_ATTRIBUTES_CHANGED = re.compile(r"\.gitattributes'$", re.MULTILINE)
_ATTRIBUTES_LIMIT_BYTES = 1024 * 1024


class Conditions(NamedTuple):
    """What the content of an index depends on, besides the files."""

    settings: Mapping[str, str]
    attributes: bytes | None

    @property
    def id_length(self) -> int:
        """The length of an object id."""
        return 64 if self.settings.get("extensions.objectformat") == "sha256" else 40


class ChangedNames(NamedTuple):
    """What differs from an index."""

    changed: list[str]
    ignored: list[str]
    """Ignored files, and ignored folders with a slash at the end."""


class FilesIndex:
    """A private index of all files that are not ignored."""

    def __init__(self, git: Git, real: Path, conditions: Conditions) -> None:
        self._git, self._real, self._conditions, self.id_length = git, real, conditions, conditions.id_length
        self._path = private_index_path(real)
        weakref.finalize(self, remove_index, self._path)
        self._identity: Identity | None = None
        """Of its own file after the last use."""
        self._source: Identity | None = None
        """Of the real index that tracks the same files."""
        self._sizes = ClearedSizes(self._path, self.id_length)
        self._left_out: frozenset[str] = frozenset()
        """Files with an entry that the working copy does not contain, and that may be there later."""
        self._is_replaceable = False
        """Whether it can replace the real index without losing anything."""
        self.tree = ""
        """The tree of all files at the last look; empty before it."""
        self.look = 0
        """The number of that look: one byte for byte does not update the index of files as committed."""

    @property
    def variables(self) -> dict[str, str]:
        """The variable that selects this index."""
        return {"GIT_INDEX_FILE": str(self._path)}

    def drop(self) -> None:
        remove_index(self._path)

    async def copy_real_index(self) -> None:
        """Begin with the entries of the real index: with them git need not hash unchanged files."""
        self._source = index_file.identify(self._real)
        try:
            facts, data = self._real.stat(), self._real.read_bytes()
        except FileNotFoundError:
            return
        disk.write_private(self._path, data)
        # Git trusts its cached stat data only if the index is newer than the file; a copy with a newer time would hide
        # a change made in the same second.
        os.utime(self._path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        if index_file.has_special_extensions(data):
            await self._git.run(*NO_SHORTCUTS, "update-index", "--no-split-index", variables=self.variables)
        if self._source not in self._git.unmarked:
            self._left_out = await marks.clear(self._git, self.variables, self._source)
        if data[:8] not in (index_file.VERSION_2, index_file.VERSION_3):
            await self._git.run("update-index", "--index-version", "2", variables=self.variables)
        elif data[:8] == index_file.VERSION_2 and self._source in self._git.own_indexes:
            # It has no intent-to-add entries, which git adds without reporting it.
            self.tree = self._git.trees.get(self._source, "")
        self._is_replaceable = self._has_only_entries(data)
        may_convert = await exact_bytes.may_convert(self._git, data)
        if self._source not in self._git.own_indexes:
            await self._compare_all(may_convert=may_convert)
        elif not may_convert:  # hashing again would apply changed attributes to unchanged files
            written = int(facts.st_mtime)
            self._sizes.clear_recent(range(written - RECENT_SECONDS, written + RECENT_SECONDS + 1))

    def accept_copy(self, tree: str) -> bool:
        """Use a copy of the real index without a look, if it is of this tree, which all files have; return whether."""
        if self.tree != tree:
            return False
        self._identity = index_file.identify(self._path)
        return True

    async def _compare_all(self, *, may_convert: bool) -> None:
        """Compare the content of all files with the entries of an index whose stat data and trees may be forged."""
        data = index_file.without_trees(self._path.read_bytes(), self.id_length)
        cleared_sizes.rewrite(self._path, data)
        entries = list(index_file.entries(data, self.id_length))
        if may_convert:  # a file with the very bytes of its blob is unchanged, whatever the conversions are now
            entries = await asyncio.to_thread(index_file.differing, entries, self._git.folder)
        self._sizes.clear(entry.size_at for entry in entries)
        words = (*NO_SHORTCUTS, "update-index", "-q", "--refresh")
        await self._git.run(*words, variables=self.variables, accepts=(0, 1, 128))  # 128: a filter failed
        self._sizes.forget()

    def _has_only_entries(self, data: bytes) -> bool:
        """Return whether the real index, with this content, has no marks and no extensions for other features."""
        is_simple = data[:8] == index_file.VERSION_2 and self._source in self._git.unmarked
        return is_simple and not index_file.has_special_extensions(data)

    async def is_current(self, conditions: Conditions) -> bool:
        """Return whether it can be used again: unchanged, and with the ignored files that the real index tracks."""
        if not self.is_intact() or conditions != self._conditions:
            return False
        source = index_file.identify(self._real)
        if source == self._source:
            return True
        if source is None or await marks.read_tags(self._git, {}):
            return False
        if await _tracked_but_ignored(self._git, {}) != await _tracked_but_ignored(self._git, self.variables):
            return False
        self._git.unmarked = frozenset({source})
        self._source, self._is_replaceable = source, self._has_only_entries(self._real.read_bytes())
        return True

    def is_intact(self) -> bool:
        """Return whether its file is as it was after the last use."""
        return self._identity is not None and index_file.identify(self._path) == self._identity

    def accept_real_index(self) -> None:
        """Note that Bridle itself has changed the real index, which tracks the same ignored files as before."""
        is_unmarked = self._source in self._git.unmarked
        self._source = index_file.identify(self._real)
        if self._source is not None and is_unmarked:
            self._git.unmarked = frozenset({*self._git.unmarked, self._source})

    def is_of_real_index(self) -> bool:
        """Return whether nothing was staged, committed or garbage-collected since the last look."""
        return self._has_tree() and index_file.identify(self._real) == self._source

    def _has_tree(self) -> bool:
        """Return whether the tree of the last look is known, and git still has it."""
        return bool(self.tree) and read_git_files.has_loose_object(self._git.folder, self.tree)

    async def update(self, flags: Sequence[str]) -> bool:
        """Add all files; return False where it must be copied anew, because conversions have changed."""
        is_copy = self._identity is None
        started = int(clock.now().timestamp())
        if is_copy and flags and await exact_bytes.forget_converted(self._git, self.variables):
            self.tree = ""
        self._left_out = await marks.show_present(self._git, self.variables, self._left_out)
        output = await add_all(self._git, self.variables, flags)
        if _ATTRIBUTES_CHANGED.search(output) and not (is_copy and self._git.has_attributes):
            return False
        if output or not self._has_tree():
            # A git that writes an index may compare files with it.
            self.tree = await self._write_tree(flags)
        await self._replace_forged(flags)
        if index_file.identify(self._path) != self._identity:
            ended = int(clock.now().timestamp())
            self._sizes.clear_recent(range(started - RECENT_SECONDS, ended + RECENT_SECONDS + 1))
        self._identity = None if self._git.left_out else index_file.identify(self._path)
        return True

    async def _write_tree(self, flags: Sequence[str]) -> str:
        words = (*flags, *NO_SHORTCUTS)
        return await write_tree(self._git, self._path, words, self.variables, id_length=self.id_length)

    async def _replace_forged(self, flags: Sequence[str]) -> None:
        """Write objects again that an agent has forged since the last look; raise GitError where that is impossible."""
        git, removed = self._git, set[str]()
        before = git.true_tree or await forged_objects.tree_of_head(git)
        while True:
            forged = await forged_objects.find_forged(git, self.tree, before)
            forged_objects.refuse(git, forged.old)
            if not forged.new:
                break
            forged_objects.refuse(git, {name: path for name, path in forged.new.items() if name in removed})
            await forged_objects.remove(git, forged.new)
            removed |= set(forged.new)
            git.forged |= forged.new
            lines = index_file.lines_for(self._path.read_bytes(), self.id_length, forged.new, git.folder)
            await git.run("update-index", "-z", "--index-info", stdin=lines, variables=self.variables)
            await add_all(git, self.variables, flags)
            self.tree = await self._write_tree(flags)
        git.true_tree = self.tree

    async def changed_names(self) -> ChangedNames:
        """Return the files that differ from this index, without changing it. Nested repositories are left out."""
        flags = ("-z", "--no-renames", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty")
        words = ("--no-optional-locks", *NO_SHORTCUTS, "status", "--porcelain=v1", *flags)
        lines = await self._git.names(*words, variables=self.variables)
        own = await untracked_output(self._git)
        ignored = [line[3:] for line in lines if line.startswith("!! ")]
        differing = [line[3:] for line in lines if line[1] not in " !" and not line.endswith("/")]
        return ChangedNames([name for name in differing if name not in own], ignored)

    def may_have(self, name: str) -> bool:
        """Return whether the text is somewhere in the index, or the index is gone."""
        try:
            return os.fsencode(name) in self._path.read_bytes()
        except OSError:
            return True

    def replace_real_index(self) -> bool:
        """Make it the real index; return False, without a change, where the real one has more than entries."""
        if not self._is_replaceable or not self.is_of_real_index() or not self.is_intact():
            return False
        data = self._sizes.restored()
        if data[:8] != index_file.VERSION_2:
            return False
        if not index_file.put(self._real, data, self._path.stat()):
            return False
        self._source = index_file.identify(self._real)
        if self._source is not None:
            self._git.trees = {self._source: self.tree}
            self._git.unmarked = self._git.own_indexes = frozenset({self._source})
        return True

    def trust_sizes(self) -> None:
        """Restore the sizes of all entries, for a `git read-tree` that requires unchanged files."""
        if self._sizes.restore():
            self._identity = None


@asynccontextmanager
async def look(git: Git, *, as_committed: bool = False, is_known: bool = False) -> AsyncIterator[FilesIndex]:
    """Look at all files; yield the index of them, for as long as no other caller may use it.

    `as_committed`: with the conversions that a commit makes, so that its tree is that of a commit; else byte for byte.
    `is_known`: the files are as at the last look, whose result is enough.
    """
    async with git.files_lock:
        if not is_known:
            git.looks += 1
        try:
            index = await _look(git, as_committed=as_committed, is_known=is_known)
            if index is None:  # now with an index for each kind of conversion
                drop(git)
                git.has_attributes = True
                index = await _look(git, as_committed=as_committed, is_known=False)
            assert index is not None  # noqa: S101  # a new copy is current
            index.look = git.looks
            yield index
        except GitError:
            drop(git)
            raise


def drop(git: Git) -> None:
    """Drop all kept indexes; the next look copies the real index."""
    for index in (*git.files_indexes.values(), *git.partial_trees.values()):
        index.drop()
    git.files_indexes.clear()
    git.partial_trees.clear()


async def move_clean_files(git: Git, before: str, after: str) -> None:
    """Change index and files from one tree to another. Git refuses to overwrite a file that differs from `before`."""
    real = await git.index_path()
    identity = index_file.identify(real)
    is_unmarked, is_own = identity in git.unmarked, identity in git.own_indexes
    is_plain = list(git.files_indexes) == [()]
    await move_files(git, before, after)
    for index in git.files_indexes.values():
        index.drop()
    git.files_indexes.clear()  # the real index has the stat data of all files
    source = index_file.identify(real)
    if source is not None:
        git.trees = {source: after}
        git.unmarked = frozenset({source}) if is_unmarked else frozenset()
        git.own_indexes = frozenset({source}) if is_own else frozenset()
    if is_plain and is_unmarked and is_own:
        await _keep_moved(git, real, after)


async def _keep_moved(git: Git, real: Path, tree: str) -> None:
    """Keep an index of the files that git has just written from a tree: they are known without a look."""
    index = FilesIndex(git, real, Conditions(dict(await git.settings()), _attributes(git)))
    await index.copy_real_index()
    if index.accept_copy(tree):
        git.files_indexes[()] = index
        index.look = git.looks
    else:
        index.drop()


async def changed_since_look(git: Git) -> ChangedNames | None:
    """Return the files that have changed since the last look as committed; None where that is not known."""
    async with git.files_lock:
        index: FilesIndex | None = git.files_indexes.get(())
        if index is None or index.look != git.looks or not index.is_intact():
            return None
        return await index.changed_names()


def converts(git: Git) -> bool:
    """Return whether the last looks found that a commit may have other bytes than the files."""
    return any(flags for flags in git.files_indexes)


def may_track(git: Git, name: str) -> bool:
    """Return whether a file of this name may be one of those that the last look found."""
    return any(index.may_have(name) for index in git.files_indexes.values())


def names_with_ending(git: Git, ending: str) -> frozenset[str]:
    """Return the names of the files that the last look found and that end so."""
    indexes = [(Path(index.variables["GIT_INDEX_FILE"]), index.id_length) for index in git.files_indexes.values()]
    return index_file.names_with_ending(*indexes[0], ending) if indexes else frozenset()


async def accept_real_index(git: Git, tree: str) -> None:
    """Note that Bridle itself has changed the real index since the last look, to a tree of files of that look."""
    for index in git.files_indexes.values():
        index.accept_real_index()
    identity = index_file.identify(await git.index_path())
    if identity is not None:
        git.trees = {identity: tree}


async def _look(git: Git, *, as_committed: bool, is_known: bool) -> FilesIndex | None:
    """Return the updated index; None where files with attributes were added or changed."""
    real = await git.index_path()
    is_exact = not as_committed and await _may_convert(git, real)
    flags = tuple(await exact_bytes.flags(git)) if is_exact else ()
    conditions = Conditions(dict(await git.settings()), _attributes(git))
    index: FilesIndex | None = git.files_indexes.get(flags)
    if index is not None:
        is_enough = is_known and index.look == git.looks and index.is_of_real_index()
        try:
            if await index.is_current(conditions) and (is_enough or await index.update(flags)):
                return index
        except GitError:
            pass  # damaged, or with the lock of a killed git: a copy of the real index has neither
        index.drop()
        del git.files_indexes[flags]
    if not git.files_indexes:
        await clear_indexes(git)
    index = git.files_indexes[flags] = FilesIndex(git, real, conditions)
    await index.copy_real_index()
    return index if await index.update(flags) else None


async def _may_convert(git: Git, real: Path) -> bool:
    """Return whether a commit may have other bytes than the files; the answer for the last index is cached."""
    if git.has_attributes:
        return True
    identity = index_file.identify(real)
    if identity is None or identity not in git.without_attributes:
        if await exact_bytes.may_convert(git, real.read_bytes() if identity is not None else None):
            return True
        git.without_attributes = frozenset({identity}) if identity is not None else frozenset()
    return await exact_bytes.may_convert(git, None)


def _attributes(git: Git) -> bytes | None:
    try:
        path = f"{read_git_files.git_folders(git.folder)[1]}/info/attributes"
    except read_git_files.NeedsGit:
        return None
    return disk.read_part(path, _ATTRIBUTES_LIMIT_BYTES)


async def _tracked_but_ignored(git: Git, variables: Mapping[str, str]) -> list[str]:
    """Return the files that an index has and that would not be added to it now."""
    return await git.names("ls-files", "-z", "-i", "-c", "--exclude-standard", variables=variables)
