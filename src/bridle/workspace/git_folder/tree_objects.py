"""Git's trees without git: read them, list what differs between two, merge changes that do not overlap.

Only content that has its id counts. A tree that is in a pack and was not read before raises NeedsGit. So does a merge
in which both sides changed one file, or one removed a folder that the other changed: git searches renames then.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git_folder.loose_objects import FOLDER, digest_like
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders, read_commit
from bridle.workspace.git_folder.write_git_files import write_object

_MODES = frozenset({b"100644", b"100755", b"120000", b"160000", FOLDER})
# Beyond so many trees git is faster than its start is slow.
_MOST_TREES = 200
# A folder of 50,000 files; a larger one is left to git, and so is a larger file.
_OBJECT_LIMIT_BYTES = 4 * 1024 * 1024
# All folders of a repository with 100,000 files.
_KNOWN_LIMIT_BYTES = 16 * 1024 * 1024


class Entry(NamedTuple):
    """A file, link, folder or nested repository in a tree."""

    mode: bytes
    object: str


class Difference(NamedTuple):
    """A path that differs between two trees; None on the side that has no file there."""

    path: bytes
    before: Entry | None
    after: Entry | None


class KnownTrees:
    """The content of trees that had their id when they were read; of all worktrees of a repository."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._size_bytes = 0

    def add(self, name: str, content: bytes) -> None:
        if name in self._contents or len(content) > _OBJECT_LIMIT_BYTES:
            return
        if self._size_bytes + len(content) > _KNOWN_LIMIT_BYTES:
            self._contents.clear()
            self._size_bytes = 0
        self._contents[name] = content
        self._size_bytes += len(content)

    def get(self, name: str) -> bytes | None:
        return self._contents.get(name)


class Trees:
    """The trees of the repository of one working copy, for one use."""

    def __init__(self, top: Path, known: KnownTrees) -> None:
        self._top, self._known, self._left = top, known, _MOST_TREES

    def root_of(self, name: str) -> str:
        """Return the tree of a commit, or the tree itself."""
        if self._known.get(name) is not None:
            return name
        kind, content = read_loose(self._top, name)
        if kind == b"tree":
            self._known.add(name, content)
            return name
        return read_commit(self._top, name)[0]

    def differences(self, before: str, after: str, above: bytes = b"") -> Iterator[Difference]:
        """Yield the files that differ between two trees."""
        old, new = self.read(before), self.read(after)
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield from self._difference(above + name, old.get(name), new.get(name))

    def _difference(self, path: bytes, old: Entry | None, new: Entry | None) -> Iterator[Difference]:
        if _is_file(old) or _is_file(new):
            yield Difference(path, old if _is_file(old) else None, new if _is_file(new) else None)
        before, after = (side.object if side is not None and side.mode == FOLDER else "" for side in (old, new))
        if before or after:
            yield from self.differences(before, after, path + b"/")

    def merge(self, base: str, ours: str, theirs: str) -> str:
        """Return the tree with the changes of both sides since `base`, written where it is new; "" for no file."""
        old, mine, new = self.read(base), self.read(ours), self.read(theirs)
        merged = dict(mine)
        for name in {*old, *new}:
            if old.get(name) == new.get(name):
                continue
            entry = self._merge_entries(old.get(name), mine.get(name), new.get(name))
            if entry is not None:
                merged[name] = entry
            else:
                merged.pop(name, None)
        return self.write(merged, like=ours or theirs) if merged else ""

    def _merge_entries(self, old: Entry | None, mine: Entry | None, new: Entry | None) -> Entry | None:
        """Return the entry of a name that `new` has changed since `old`."""
        if mine == old:
            return new
        if mine is None or new is None or not mine.mode == new.mode == FOLDER or _is_file(old):
            raise NeedsGit
        tree = self.merge(old.object if old is not None else "", mine.object, new.object)
        return Entry(FOLDER, tree) if tree else None

    def write(self, entries: Mapping[bytes, Entry], *, like: str) -> str:
        """Write a tree; return its id, which has the length of another one."""
        ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1].mode == FOLDER else b""))
        content = b"".join(b"%b %b\0%b" % (entry.mode, name, bytes.fromhex(entry.object)) for name, entry in ordered)
        name = write_object(self._top, b"tree", content, id_length=len(like))
        self._known.add(name, content)
        return name

    def read(self, name: str) -> dict[bytes, Entry]:
        """Return the entries of a tree, none for no tree."""
        if not name:
            return {}
        self._left -= 1
        if self._left < 0:
            raise NeedsGit
        content = self._known.get(name)
        if content is None:
            kind, content = read_loose(self._top, name)
            if kind != b"tree":
                raise NeedsGit
            self._known.add(name, content)
        return _parse(content, len(name) // 2)


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and entry.mode != FOLDER


def _parse(content: bytes, id_bytes: int) -> dict[bytes, Entry]:
    entries: dict[bytes, Entry] = {}
    at = 0
    while at < len(content):
        end = content.find(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + id_bytes
        if end < 0 or mode not in _MODES or not name or b"/" in name or name in entries or at > len(content):
            raise NeedsGit  # an agent may have written such a tree
        entries[name] = Entry(mode, content[end + 1 : at].hex())
    return entries


def read_loose(top: Path, name: str) -> tuple[bytes, bytes]:
    """Return kind and content of a loose object that has its id."""
    path = f"{git_folders(top)[1]}/objects/{name[:2]}/{name[2:]}"
    try:
        inflating = zlib.decompressobj()
        data = inflating.decompress(disk.read_bounded(path, _OBJECT_LIMIT_BYTES), _OBJECT_LIMIT_BYTES)
    except (DiskError, zlib.error) as error:
        raise NeedsGit from error
    digest = digest_like(name)
    digest.update(data)
    if not inflating.eof or digest.hexdigest() != name:
        raise NeedsGit
    header, _, content = data.partition(b"\0")
    return header.partition(b" ")[0], content
