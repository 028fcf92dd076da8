"""The bytes of a git index: its identity, the entries that git could wrongly take as unchanged, its extensions."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bridle.errors import DiskError
from bridle.ground import disk

# The header of an index of version 2; later versions can have intent-to-add and skip-worktree entries.
VERSION_2 = b"DIRC\0\0\0\2"
VERSION_3 = b"DIRC\0\0\0\3"

# The last bytes of an index: its checksum, or a part of it.
_CHECKSUM_BYTES = 20
_HEADER_BYTES = 12
# Positions in an entry: the seconds of its ctime are first.
_MODE, _SIZE, _ID = 24, 36, 40
_HAS_MORE_FLAGS = 0x40
_HASHED_MODES = frozenset(struct.pack(">I", mode) for mode in (0o100644, 0o100755, 0o120000))
# Larger files are left to git, which does not read them into memory.
_HASHED_BYTES = 64 * 1024 * 1024
# Extensions that a plain copy of the entries would lose: split index, fsmonitor, untracked cache, sparse index.
_EXTENSION = re.compile(rb"link|FSMN|UNTR|sdir")
# The extension with the trees that git has written for the entries.
_TREES = b"TREE"


class Identity(NamedTuple):
    """What distinguishes one version of an index file from another: no program can choose its ctime."""

    inode: int
    mtime_ns: int
    ctime_ns: int
    size: int
    checksum: bytes


class Entry(NamedTuple):
    """A file or link in an index."""

    size_at: int
    """The position of its size."""
    object: bytes
    name: bytes


def identify(path: Path) -> Identity | None:
    """Return the identity of an index; None if it does not exist or is not a file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return None
        checksum = os.pread(fd, _CHECKSUM_BYTES, max(0, facts.st_size - _CHECKSUM_BYTES))
        if not any(checksum):  # the setting index.skipHash
            checksum = hashlib.sha256(path.read_bytes()).digest()
    finally:
        os.close(fd)
    return Identity(facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, checksum)


def recent_sizes(data: bytes | bytearray, seconds: Iterable[int]) -> Iterator[int]:
    """Yield the positions of the sizes of entries whose ctime is in these seconds; of versions 2 and 3.

    Git compares whole seconds. A file that is changed again within the second of its recorded ctime, with the same size
    and its old mtime, looks unchanged to it.
    """
    for wanted in _patterns(struct.pack(">I", second & 0xFFFFFFFF) for second in seconds):
        found = wanted.search(data, _HEADER_BYTES)
        while found is not None:
            at = found.start()
            # Entries are padded to 8 bytes.
            if at % 8 == _HEADER_BYTES % 8 and bytes(data[at + _MODE : at + _MODE + 4]) in _HASHED_MODES:
                yield at + _SIZE
            found = wanted.search(data, at + 1)  # matches may overlap, and only one of them is in the place of a time


def _patterns(times: Iterable[bytes]) -> Iterator[re.Pattern[bytes]]:
    """Yield patterns of all these times: most differ in the last byte only, so one search finds them all."""
    by_start: dict[bytes, bytes] = {}
    for time in times:
        by_start[time[:-1]] = by_start.get(time[:-1], b"") + b"\\x%02x" % time[-1]
    return (re.compile(re.escape(start) + b"[" + ends + b"]") for start, ends in by_start.items())


def entries(data: bytes, id_length: int) -> Iterator[Entry]:
    """Yield the entries of files and links of an index of version 2 or 3."""
    for at, name, end in _positions(data, id_length):
        if data[at + _MODE : at + _MODE + 4] in _HASHED_MODES:
            yield Entry(at + _SIZE, data[at + _ID : at + _ID + id_length // 2], data[name:end])


def _positions(data: bytes, id_length: int) -> Iterator[tuple[int, int, int]]:
    """Yield where each entry begins, and where its name begins and ends."""
    at, id_bytes = _HEADER_BYTES, id_length // 2
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = at + _ID + id_bytes
        name = flags + (4 if data[flags] & _HAS_MORE_FLAGS else 2)
        end = data.find(b"\0", name)
        if end < 0:
            return
        yield at, name, end
        at += (end - at) // 8 * 8 + 8


def without_trees(data: bytes, id_length: int) -> bytes:
    """Return an index of version 2 or 3 without its trees, which git would use without comparing the entries."""
    at = _HEADER_BYTES
    for begin, _, end in _positions(data, id_length):
        at = begin + (end - begin) // 8 * 8 + 8
    start, others, last = at, b"", len(data) - id_length // 2
    while at <= last - 8:
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "big")
        others += b"" if data.startswith(_TREES, at) else data[at:end]
        at = end
    if at != last:
        return data  # git reports the damage
    shortened = bytearray(data[:start] + others + data[last:])
    seal(shortened, id_length)
    return bytes(shortened)


def lines_for(data: bytes, id_length: int, objects: Mapping[str, str], folder: Path) -> bytes:
    """Return lines for `git update-index --index-info` by which git writes these objects again, which it has lost.

    They are the entries of the blobs, and one of each folder, without stat data: git hashes such files, and forgets the
    trees that they are in.
    """
    folders = {os.fsencode(path.removeprefix("/")) for path in objects.values() if path.endswith("/")}
    lines = []
    for entry in entries(data, id_length):
        above = {found for found in folders if entry.name.startswith(found)}
        above = above if above and os.path.lexists(folder / os.fsdecode(entry.name)) else set()
        if above or entry.object.hex() in objects:
            mode = entry.size_at - _SIZE + _MODE
            lines.append(
                b"%o %b\t%b\0" % (int.from_bytes(data[mode : mode + 4]), entry.object.hex().encode(), entry.name)
            )
            folders -= above
    return b"".join(lines)


def names_with_ending(path: Path, id_length: int, ending: str) -> frozenset[str]:
    """Return the names of the files and links in an index that end so; none if the index is gone."""
    try:
        data = path.read_bytes()
    except OSError:
        return frozenset()
    wanted, names = os.fsencode(ending) + b"\0", set()
    at = data.find(wanted, _HEADER_BYTES)
    while at >= 0:
        # Before a name of less than 256 bytes are a zero byte and its length.
        end = at + len(wanted) - 1
        start = data.rfind(b"\0", _HEADER_BYTES, end) + 2
        if data[start - 1] != end - start:
            return frozenset(
                os.fsdecode(entry.name)
                for entry in entries(data, id_length)
                if entry.name.endswith(os.fsencode(ending))
            )
        names.add(os.fsdecode(data[start:end]))
        at = data.find(wanted, end)
    return frozenset(names)


def differing(listed: Iterable[Entry], folder: Path) -> list[Entry]:
    """Return the entries whose files have other bytes than their blob, cannot be read, or are large."""
    return [entry for entry in listed if _object_id(folder / os.fsdecode(entry.name), entry.object) != entry.object]


def _object_id(path: Path, like: bytes) -> bytes | None:
    try:
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode):
            data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(facts.st_mode) and facts.st_size <= _HASHED_BYTES:
            data = disk.read_bounded(path, _HASHED_BYTES)
        else:
            return None
    except (OSError, DiskError):
        return None
    return _digest(len(like))(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def seal(data: bytearray, id_length: int) -> None:
    """Renew the checksum at the end of an index, in a repository with object ids of this length."""
    length = id_length // 2
    if any(data[-length:]):
        data[-length:] = _digest(length)(memoryview(data)[:-length], usedforsecurity=False).digest()


def _digest(id_bytes: int) -> Callable[..., hashlib._Hash]:
    return hashlib.sha1 if id_bytes == 20 else hashlib.sha256


def has_special_extensions(data: bytes) -> bool:
    """Return whether an index is split or sparse, or has caches of untracked files or of a file system monitor."""
    return any(_is_extension(data, found.start()) for found in _EXTENSION.finditer(data))


def _is_extension(data: bytes, at: int) -> bool:
    """Return whether an extension begins there: a chain of extensions leads from it to the checksum."""
    ends = (len(data) - 20, len(data) - 32)
    while at + 8 <= len(data) and at not in ends:
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return at in ends


def put(path: Path, data: bytes, facts: os.stat_result) -> bool:
    """Replace an index under git's lock file, with the mtime of `facts`; return False where it is locked.

    By its mtime git knows which entries it must compare with the files.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError:
        return False
    try:
        try:
            write(fd, path, data, facts)
        finally:
            os.close(fd)
        disk.move(lock, path)
    except BaseException:
        with suppress(OSError):
            lock.unlink()
        raise
    return True


def write(fd: int, path: Path, data: bytes, facts: os.stat_result) -> None:
    """Write what is to replace an index, with the permissions of that one, and the mtime of `facts`."""
    if path.exists():
        os.fchmod(fd, path.stat().st_mode & 0o777)
    disk.write_all(fd, data)
    os.utime(fd, ns=(facts.st_atime_ns, facts.st_mtime_ns))
