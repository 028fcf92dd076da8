"""Write the tree of an index without starting git; any unusual case raises NeedsGit, and the caller runs git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bridle.errors import DiskError
from bridle.workspace.git_folder import index_file, loose_objects
from bridle.workspace.git_folder.loose_objects import FOLDER, TREE
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders
from bridle.workspace.git_folder.write_loose_object import write_loose_object

_FILE_MODES = frozenset({b"100644", b"100755", b"120000", loose_objects.NESTED_REPOSITORY})
# The size of an index with some thousand files; of a larger one git writes the tree faster.
LIMIT_INDEX_BYTES = 256 * 1024
# Objects that are searched for one tree.
_LIMIT_OBJECTS = 500
# An agent can nest folders deeper than Python can call functions.
_LIMIT_DEPTH = 200
_HEADER_BYTES = 12
_MODE, _ID = 24, 40
_EXTENDED, _STAGES = 0x4000, 0x3000


class _IndexEntry(NamedTuple):
    mode: int
    object: bytes
    name: bytes


class _Known(NamedTuple):
    """A folder that has not changed since git wrote its tree."""

    files: int
    object: bytes


def write_tree(top: Path, data: bytes, id_length: int) -> str:
    """Write the tree of an index, and those of its folders that have changed since git wrote them; return its id.

    Raise NeedsGit for an index that is large, or has more than files, and where git may not have one of the objects.
    """
    if len(data) > LIMIT_INDEX_BYTES or data[:8] != index_file.VERSION_2 or index_file.has_special_extensions(data):
        raise NeedsGit
    try:
        objects = f"{git_folders(top)[1]}/objects"
        packed = loose_objects.pack_indexes(objects)
    except OSError as error:
        raise NeedsGit from error
    if packed is None:
        raise NeedsGit
    entries, end = _index_entries(data, id_length // 2)
    known = dict(_known_trees(data[end : -(id_length // 2)], id_length // 2))
    return _Writer(objects, packed, entries, known).write(b"", 0)[0].hex()


class _Writer:
    def __init__(self, objects: str, packed: list[str], entries: list[_IndexEntry], known: dict[bytes, _Known]) -> None:
        self._objects, self._packed, self._entries, self._known = objects, packed, entries, known
        self._searched = 0

    def write(self, folder: bytes, start: int) -> tuple[bytes, int]:
        """Write the tree of a folder, whose name ends with a slash; return its id and the first entry behind it."""
        if folder.count(b"/") > _LIMIT_DEPTH:
            raise NeedsGit
        lines: list[bytes] = []
        at = start
        while at < len(self._entries) and (entry := self._entries[at]).name.startswith(folder):
            name, slash, _ = entry.name[len(folder) :].partition(b"/")
            if slash:
                inner = folder + name + slash
                known = self._known.get(inner)
                if known is not None and self._has(known.object):
                    tree, at = known.object, at + known.files
                else:
                    tree, at = self.write(inner, at)
                lines.append(b"%b %b\0%b" % (FOLDER, name, tree))
                continue
            mode = b"%o" % entry.mode
            if mode not in _FILE_MODES or not (mode == loose_objects.NESTED_REPOSITORY or self._has(entry.object)):
                raise NeedsGit
            lines.append(b"%b %b\0%b" % (mode, name, entry.object))
            at += 1
        return self._write(b"".join(lines)), at

    def _has(self, name: bytes) -> bool:
        """Return whether git has an object, as git itself asks before it writes a tree with it."""
        self._searched += 1
        if self._searched > _LIMIT_OBJECTS:
            raise NeedsGit
        text = name.hex()
        return os.path.isfile(f"{self._objects}/{text[:2]}/{text[2:]}") or self._is_packed(text)

    def _is_packed(self, text: str) -> bool:
        try:
            return any(loose_objects.may_have(index, text) for index in self._packed)
        except OSError as error:
            raise NeedsGit from error

    def _write(self, content: bytes) -> bytes:
        data = b"%b %d\0%b" % (TREE, len(content), content)
        total = loose_objects.digest_like(self._like)
        total.update(data)
        if not self._is_packed(total.hexdigest()):
            try:
                write_loose_object(self._objects, total.hexdigest(), data)
            except (OSError, DiskError) as error:
                raise NeedsGit from error
        return total.digest()

    @property
    def _like(self) -> str:
        """An id of the repository's hash."""
        if not self._entries:
            raise NeedsGit
        return self._entries[0].object.hex()


def _index_entries(data: bytes, id_bytes: int) -> tuple[list[_IndexEntry], int]:
    """Return the entries of an index of version 2, and the position behind them."""
    at, found = _HEADER_BYTES, []
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags_at = at + _ID + id_bytes
        flags = int.from_bytes(data[flags_at : flags_at + 2], "big")
        end = data.find(b"\0", flags_at + 2)
        if end < 0 or flags & (_EXTENDED | _STAGES):
            raise NeedsGit
        mode = int.from_bytes(data[at + _MODE : at + _MODE + 4], "big")
        found.append(_IndexEntry(mode, data[at + _ID : flags_at], data[flags_at + 2 : end]))
        at += (end - at) // 8 * 8 + 8
    return found, at


def _known_trees(extensions: bytes, id_bytes: int) -> Iterator[tuple[bytes, _Known]]:
    """Yield the folders whose trees an index has, from its extension `TREE`: each before those in it."""
    at = 0
    while at + 8 <= len(extensions):
        size = int.from_bytes(extensions[at + 4 : at + 8], "big")
        if extensions[at : at + 4] == b"TREE":
            yield from _parse_trees(extensions[at + 8 : at + 8 + size], id_bytes)
        at += 8 + size


def _parse_trees(data: bytes, id_bytes: int) -> Iterator[tuple[bytes, _Known]]:
    above: list[tuple[bytes, int]] = []
    """The folders that have others to come, with their number."""
    at = 0
    try:
        while at < len(data):
            name_end, line_end = data.index(b"\0", at), data.index(b"\n", at)
            files, folders = map(int, data[name_end + 1 : line_end].split(b" "))
            path = (above[-1][0] + data[at:name_end] + b"/") if above else b""
            at = line_end + 1
            if files >= 0:
                yield path, _Known(files, data[at : at + id_bytes])
                at += id_bytes
            if above:
                above[-1] = (above[-1][0], above[-1][1] - 1)
            above.append((path, folders))
            while above and above[-1][1] == 0:
                above.pop()
    except ValueError as error:
        raise NeedsGit from error
