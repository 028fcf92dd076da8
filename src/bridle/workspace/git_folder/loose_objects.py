"""Objects that are files of their own in `.git/objects`, read and hashed without starting git.

An agent can write objects whose content does not have their id: nothing here believes one that it has not hashed.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bridle.ground import disk
from bridle.workspace.git_folder import read_git_files

COMMIT = b"commit"
TREE = b"tree"
BLOB = b"blob"
FOLDER = b"40000"
NESTED_REPOSITORY = b"160000"
_CHUNK_BYTES = 1024 * 1024
# An index of packed objects: signature and version, then 256 counts, then the sorted ids.
_PACK_INDEX = b"\377tOc\0\0\0\2"
_COUNTS_BYTES = 256 * 4


class TreeEntry(Struct, frozen=True):
    """A file or a folder in a tree."""

    mode: bytes
    name: bytes
    object: str


def read(top: Path, names: set[str], kind: bytes) -> tuple[dict[str, bytes | None], list[str]]:
    """Return the content of loose objects, and the names of those that git may read from a pack."""
    try:
        objects = f"{read_git_files.git_folders(top)[1]}/objects"
        indexes = pack_indexes(objects)
    except (read_git_files.NeedsGit, OSError):
        return {}, sorted(names)
    contents: dict[str, bytes | None] = {}
    others = []
    for name in sorted(names):
        path = f"{objects}/{name[:2]}/{name[2:]}"
        if indexes is None or _is_packed(indexes, name) or not os.path.isfile(path):
            others.append(name)
        elif os.path.getsize(path) == 0:
            contents[name] = b""  # lost, as after a power cut: see `lost_objects`
        else:
            contents[name] = _content(path, name, kind)
    return contents, others


def _content(path: str, name: str, kind: bytes) -> bytes | None:
    """Return the content of a loose object, and nothing for a blob; None if it does not have this id and kind."""
    total, kept = digest_like(name), []
    is_first = True
    try:
        with open(path, "rb") as file:
            for data in _inflate(iter(lambda: file.read(_CHUNK_BYTES), b"")):
                if is_first and data and not data.startswith(kind + b" "):
                    return None
                is_first = is_first and not data
                total.update(data)
                if kind != BLOB:
                    kept.append(data)
    except (OSError, zlib.error):
        return None
    return b"".join(kept).partition(b"\0")[2] if total.hexdigest() == name else None


def _inflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    for chunk in chunks:
        while chunk and not inflating.eof:
            yield inflating.decompress(chunk, _CHUNK_BYTES)
            chunk = inflating.unconsumed_tail
    yield inflating.flush()


def _is_packed(indexes: list[str], name: str) -> bool:
    try:
        return any(may_have(index, name) for index in indexes)
    except OSError:
        return True  # git decides


def pack_indexes(objects: str) -> list[str] | None:
    """Return the indexes of all packs; None where git may find packed objects without them."""
    pack = f"{objects}/pack"
    if os.path.lexists(f"{objects}/info/alternates"):
        return None
    found = []
    for name in os.listdir(pack) if os.path.isdir(pack) else ():
        if name.startswith("multi-pack-index"):
            return None
        if name.endswith(".idx"):
            if disk.read_part(f"{pack}/{name}", len(_PACK_INDEX)) != _PACK_INDEX:
                return None
            found.append(f"{pack}/{name}")
    return found


def may_have(index: str, name: str) -> bool:
    """Return whether git may find an id in the index of a pack: it searches between two of the counts.

    Raise OSError where it cannot be read.
    """
    wanted, counts = bytes.fromhex(name), len(_PACK_INDEX)
    first = counts + 4 * wanted[0]
    fd = disk.open_regular(index)
    try:
        start = int.from_bytes(os.pread(fd, 4, first - 4)) if wanted[0] else 0
        end = int.from_bytes(os.pread(fd, 4, first))
        ids = os.pread(fd, max(0, end - start) * len(wanted), counts + _COUNTS_BYTES + start * len(wanted))
    finally:
        os.close(fd)
    return wanted in ids


def entries(content: bytes | None, like: str) -> Iterator[TreeEntry]:
    """Yield the entries of a tree."""
    content, at, length = content or b"", 0, len(like) // 2
    while at < len(content):
        end = content.find(b"\0", at)
        if end < 0:
            return  # an agent may have written such a tree
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + length
        yield TreeEntry(mode, name, content[end + 1 : at].hex())


def digest_like(name: str) -> hashlib._Hash:
    return (hashlib.sha1 if len(name) == 40 else hashlib.sha256)(usedforsecurity=False)


def blob_id(data: bytes, *, like: str) -> str:
    """Return git's object id of a file with this content, with the hash algorithm of another id."""
    total = digest_like(like)
    total.update(b"blob %d\0" % len(data) + data)
    return total.hexdigest()
