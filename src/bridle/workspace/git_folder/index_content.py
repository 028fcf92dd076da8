"""The content of an index of version 2: its entries, the trees that git has written for them, and changes of both.

Anything that is not in the index of a plain repository raises NeedsGit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bridle.workspace.git_folder import index_file
from bridle.workspace.git_folder.loose_objects import FOLDER
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.tree_objects import Entry

# The size of an index with some thousand files; of a larger one git reads and writes the trees faster.
LIMIT_INDEX_BYTES = 256 * 1024
_HEADER_BYTES = 12
_MODE, _ID = 24, 40
_ASSUME_UNCHANGED, _EXTENDED, _STAGES = 0x8000, 0x4000, 0x3000
# The length of a name where its field has no more bits.
_LONGEST_NAME = 0xFFF
_TREES = b"TREE"
# An agent can nest folders deeper than Python can call functions.
LIMIT_DEPTH = 200


class IndexEntry(NamedTuple):
    """A file, link or nested repository in an index."""

    mode: int
    object: bytes
    name: bytes
    data: bytes
    """The whole entry, with stat data and padding."""


class KnownTree(NamedTuple):
    """A folder that has not changed since git wrote its tree."""

    files: int
    object: bytes


class Index(NamedTuple):
    """The parts of an index."""

    entries: list[IndexEntry]
    trees: dict[bytes, KnownTree]
    """By the name of the folder, with a slash at the end."""
    has_marks: bool
    """Whether an entry is marked assume-unchanged."""
    has_others: bool
    """Whether there are other extensions than the trees."""


class WrittenFile(NamedTuple):
    """A file of a working copy that was just written from a tree."""

    entry: Entry
    facts: os.stat_result | None
    """None where it has changed since: git compares its content then."""


def read_index(data: bytes, id_bytes: int) -> Index:
    """Return the parts of an index; raise NeedsGit for one of another version, with conflicts or damaged."""
    if data[:8] != index_file.VERSION_2:
        raise NeedsGit
    at, found, marks = _HEADER_BYTES, [], 0
    for _ in range(int.from_bytes(data[8:12])):
        flags_at = at + _ID + id_bytes
        flags = int.from_bytes(data[flags_at : flags_at + 2])
        end = data.find(b"\0", flags_at + 2)
        if end < 0 or flags & (_EXTENDED | _STAGES):
            raise NeedsGit
        marks |= flags & _ASSUME_UNCHANGED
        mode, behind = int.from_bytes(data[at + _MODE : at + _MODE + 4]), at + ((end - at) // 8 + 1) * 8
        found.append(IndexEntry(mode, data[at + _ID : flags_at], data[flags_at + 2 : end], data[at:behind]))
        at = behind
    trees: dict[bytes, KnownTree] = {}
    has_others, last = False, len(data) - id_bytes
    while at + 8 <= last:
        behind = at + 8 + int.from_bytes(data[at + 4 : at + 8])
        if data.startswith(_TREES, at):
            trees.update(_parse_trees(data[at + 8 : behind], id_bytes))
        else:
            has_others = True
        at = behind
    if at != last:
        raise NeedsGit
    return Index(found, trees, bool(marks), has_others)


def _parse_trees(data: bytes, id_bytes: int) -> Iterator[tuple[bytes, KnownTree]]:
    """Yield the folders whose trees are known, each before those in it."""
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
                yield path, KnownTree(files, data[at : at + id_bytes])
                at += id_bytes
            if above:
                above[-1] = (above[-1][0], above[-1][1] - 1)
            above.append((path, folders))
            while above and above[-1][1] == 0:
                above.pop()
    except ValueError as error:
        raise NeedsGit from error


def change_index(
    data: bytes,
    index: Index,
    files: Mapping[bytes, WrittenFile | None],
    root: str,
    read_tree: Callable[[str], Mapping[bytes, Entry]],
) -> bytes:
    """Return the index `data` with some files written or removed, so that it is that of the tree `root`."""
    id_bytes = len(root) // 2
    entries = {entry.name: entry.data for entry in index.entries}
    for name, file in files.items():
        if file is None:
            entries.pop(name)
        else:
            entries[name] = _entry(name, file)
    trees = dict(index.trees)
    changed = {above for name in files for above in folders_above(name)}
    for above in changed:
        trees.pop(above, None)
    _add_trees(trees, changed, b"", root, read_tree)
    known = _dump_trees(trees)
    parts = (index_file.VERSION_2, len(entries).to_bytes(4), *(entries[name] for name in sorted(entries)))
    written = bytearray(b"".join((*parts, _TREES, len(known).to_bytes(4), known, data[-id_bytes:])))
    index_file.seal(written, 2 * id_bytes)
    return bytes(written)


def folders_above(name: bytes) -> list[bytes]:
    """Return the folders that a path is in, each with a slash at its end; the first one is the top, without a name."""
    parts = name.split(b"/")[:-1]
    return [b"".join(part + b"/" for part in parts[:count]) for count in range(len(parts) + 1)]


def _entry(name: bytes, file: WrittenFile) -> bytes:
    facts, (mode, blob) = file.facts, file.entry
    mode_bytes = int(mode, 8).to_bytes(4)
    stat_data = [bytes(_MODE), mode_bytes, bytes(_ID - _MODE - 4)]
    if facts is not None:
        times = [part for time in (facts.st_ctime_ns, facts.st_mtime_ns) for part in divmod(time, 10**9)]
        stat_data = [*_fields(*times, facts.st_dev, facts.st_ino), mode_bytes]
        stat_data += _fields(facts.st_uid, facts.st_gid, facts.st_size)
    flags = min(len(name), _LONGEST_NAME).to_bytes(2)
    data = b"".join((*stat_data, bytes.fromhex(blob), flags, name))
    return data + bytes(8 - len(data) % 8)


def _fields(*values: int) -> list[bytes]:
    """Return the lower bits of numbers, as git keeps them."""
    return [(value & 0xFFFFFFFF).to_bytes(4) for value in values]


def _add_trees(
    trees: dict[bytes, KnownTree],
    changed: set[bytes],
    folder: bytes,
    name: str,
    read_tree: Callable[[str], Mapping[bytes, Entry]],
) -> None:
    """Add the trees of the changed folders in a folder, and its own where all in it are known."""
    if folder.count(b"/") > LIMIT_DEPTH:
        raise NeedsGit
    files: int | None = 0
    for part, entry in read_tree(name).items():
        number: int | None = 1
        if entry.mode == FOLDER:
            inner = folder + part + b"/"
            if inner in changed:
                _add_trees(trees, changed, inner, entry.object, read_tree)
            known = trees.get(inner)
            number = known.files if known is not None and known.object.hex() == entry.object else None
        files = None if files is None or number is None else files + number
    if files is not None:
        trees[folder] = KnownTree(files, bytes.fromhex(name))


def _dump_trees(trees: Mapping[bytes, KnownTree]) -> bytes:
    """Return the content of the extension: each folder before those in it, which are in git's order."""
    inside: dict[bytes, set[bytes]] = {b"": set()}
    for path in trees:
        for above, folder in zip(folders_above(path), [*folders_above(path)[1:], b""], strict=True):
            if folder:
                inside.setdefault(above, set()).add(folder)
    lines: list[bytes] = []
    pending = [b""]
    while pending:
        path = pending.pop()
        files, name = trees.get(path, (-1, b""))
        folders = sorted(inside.get(path, ()), key=lambda each: (len(each), each))
        lines.append(b"%b\0%d %d\n%b" % (path[:-1].rpartition(b"/")[2], files, len(folders), name))
        pending += reversed(folders)
    return b"".join(lines)
