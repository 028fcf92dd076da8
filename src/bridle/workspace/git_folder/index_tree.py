"""Write the tree of an index without starting git; any unusual case raises NeedsGit, and the caller runs git."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.workspace.git_folder import index_file, loose_objects
from bridle.workspace.git_folder.index_content import LIMIT_DEPTH, LIMIT_INDEX_BYTES, Index, read_index
from bridle.workspace.git_folder.loose_objects import FOLDER, TREE
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders
from bridle.workspace.git_folder.write_loose_object import write_loose_object

_FILE_MODES = frozenset({b"100644", b"100755", b"120000", loose_objects.NESTED_REPOSITORY})
# Objects that are searched for one tree.
_LIMIT_OBJECTS = 500


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
    index = read_index(data, id_length // 2)
    return _Writer(objects, packed, index).write(b"", 0)[0].hex()


class _Writer:
    def __init__(self, objects: str, packed: list[str], index: Index) -> None:
        self._objects, self._packed, self._entries, self._known = objects, packed, index.entries, index.trees
        self._searched = 0

    def write(self, folder: bytes, start: int) -> tuple[bytes, int]:
        """Write the tree of a folder, whose name ends with a slash; return its id and the first entry behind it."""
        if folder.count(b"/") > LIMIT_DEPTH:
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
