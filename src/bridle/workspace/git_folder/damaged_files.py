"""Files of a git folder that git cannot read: HEAD, packed refs, refs, the index. Found, restored or named.

All worktrees share most of them, so what one agent destroys makes git fail for the others. The last readable content
of each is kept in memory while programs run that could destroy it. No git is started here: it would fail.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from functools import partial
from itertools import filterfalse, islice
from pathlib import Path

from msgspec import Struct, field

from bridle.errors import UsageError
from bridle.ground.files import files_below
from bridle.ground.files.known_folders import KnownFolders
from bridle.ground.git_folder import find_common_folder, git_folder
from bridle.workspace.git_folder import git_links

HEAD = "HEAD"
INDEX = "index"
PACKED_REFS = "packed-refs"
_HEADS = "refs/heads/"
_OURS = "refs/bridle"
_REFS = ("refs/heads", "refs/tags", _OURS)
_WORKTREES = "worktrees"
_ID = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_REF = re.compile(rb"(?:ref: refs/\S+|%b)\s*\Z" % _ID)
_PACKED_REFS = re.compile(rb"(?:#[^\n]*\n|\^?%b(?: [^\n]+)?\n)*" % _ID)
# HEAD and a ref are one line each.
_LINE_LIMIT_BYTES = 64 * 1024
# 100,000 refs have 10 MB, and so has the index of 100,000 files.
_LIMIT_BYTES = 512 * 1024 * 1024
# Bridle writes two refs in an iteration. So many of the newest, and of the others in turn, are looked at; all of
# them where a driver ends or git has failed.
_OURS_LIMIT = 64
# The end of a reflog: its last line has a message of some hundred bytes.
_REFLOG_BYTES = 4096
_SHA1_BYTES, _SHA256_BYTES = 20, 32


_State = tuple[int, int, int, int]


class _Content(Struct, frozen=True):
    """The content of a file, and the version that it is of."""

    data: bytes
    state: _State


class _Readable(Struct):
    """The files of one git folder when git could read them."""

    files: dict[str, _Content] = field(default_factory=dict)
    damaged: dict[str, _State] = field(default_factory=dict)
    """The files that git could not read already; they are left as they are."""
    turn: int = 0
    """How many of the files, in this order, were looked at as older ones."""


# By the common git folder.
_readable: dict[Path, _Readable] = {}
# Refs and folders by the common git folder.
_folders: dict[str, KnownFolders[tuple[list[str], list[str]]]] = {}


def remember(folder: Path) -> None:
    """Keep the files of a working copy's repository that git can read, before a program runs that may destroy them."""
    place = find_common_folder(folder)
    if place is None:
        return
    known = _readable.setdefault(place, _Readable())
    top = str(place)
    for name in _names(top, known):
        state = _state(f"{top}/{name}")
        if state is None or (name in known.files and known.files[name].state == state):
            continue
        data = _read(place, name)
        if data is not None and _is_readable(name, data):
            known.files[name] = _Content(data, state)
        elif name not in known.files:
            known.damaged[name] = state


def restore(folder: Path, *, looks_at_all: bool = False) -> list[str]:
    """Restore the files of a repository that git cannot read any more; return their names. Keep what it can read.

    `looks_at_all`: also at all of Bridle's refs, which become more with each iteration.
    """
    place = find_common_folder(folder)
    if place is None or place not in _readable:
        return []
    readable, top = _readable[place], str(place)
    files, damaged = readable.files, readable.damaged
    restored = []
    readable.turn = readable.turn + _OURS_LIMIT if readable.turn < len(files) else 0
    for name in sorted({*_names(top, None if looks_at_all else readable), *_needed(files)}):
        known, state = files.get(name), _state(f"{top}/{name}")
        if state is not None and state in (known.state if known is not None else None, damaged.get(name)):
            continue
        data = _read(place, name)
        if data is None or not _is_readable(name, data):
            _replace(place, name, _reflog_value(place, name) or (known.data if known is not None else None))
            restored.append(name)
        elif state is not None:
            files[name] = _Content(data, state)
    if restored:
        remember(folder)
    return restored


class Damage(Struct, frozen=True):
    """A file that git cannot read."""

    message: str
    remedy: str


def find(folder: Path, *refs: str, may_be_empty: str = "") -> Damage | None:
    """Return the first file without which git fails in a working copy: its HEAD, its index, packed refs or these refs.

    The branch that is checked out counts too. The caller writes the ref `may_be_empty` again if its file is empty.
    """
    own, place = git_folder(folder), find_common_folder(folder)
    if own is None or place is None or not os.path.isdir(own):
        return None
    head = _read(Path(own), HEAD) or b""
    branch = head.removeprefix(b"ref: ").decode("utf-8", "surrogateescape").strip() if _REF.match(head) else ""
    wanted = [(Path(own), HEAD), (Path(own), INDEX), (place, PACKED_REFS)]
    wanted += [(place, name) for name in dict.fromkeys((branch, *refs)) if name.startswith("refs/")]
    for top, name in wanted:
        data = _read(top, name)
        is_there = os.path.lexists(top / name)
        if name == may_be_empty and data == b"":
            continue
        if (is_there or name == HEAD) and (data is None or not _is_readable(name, data)):
            what = "is damaged: git cannot read it" if is_there else "is missing"
            return Damage(f"{top / name} {what}", _repair(folder, place, top / name, name))
    return None


def refuse(folder: Path, *refs: str, may_be_empty: str = "", then: str) -> None:
    """Raise UsageError for what `find` returns; `then` is the command to run after the repair."""
    if (damage := find(folder, *refs, may_be_empty=may_be_empty)) is not None:
        raise UsageError(damage.message, remedy=f"{damage.remedy} Then run: {then}")


def _names(place: str, known: _Readable | None) -> Iterator[str]:
    """Yield the files that are looked at: those that exist. `known`: not all of Bridle's refs that it has."""
    folders = ["", *(f"{_WORKTREES}/{name}/" for name in files_below.listed(Path(place), _WORKTREES))]
    for name in (PACKED_REFS, "refs/stash", *(f"{folder}{file}" for folder in folders for file in (HEAD, INDEX))):
        if os.path.lexists(f"{place}/{name}"):
            yield name
    for refs in _loose_refs(place):
        if known is None or len(refs) <= 2 * _OURS_LIMIT or not refs[0].startswith(f"{_OURS}/"):
            yield from refs
        else:
            yield from _next_refs(refs, known)


def _next_refs(refs: list[str], known: _Readable) -> Iterator[str]:
    """Yield those of Bridle's refs that are new, the newest of the others, and some of the older ones, in turn."""
    yield from filterfalse(known.files.__contains__, refs)
    chosen = {
        *islice(reversed(known.files), _OURS_LIMIT),
        *islice(known.files, known.turn, known.turn + _OURS_LIMIT),
    }
    yield from filter(chosen.__contains__, refs)


def _loose_refs(place: str) -> Iterator[list[str]]:
    """Yield the files below the folders of refs, by folder; none that is reached by a link."""
    known = _folders.setdefault(place, KnownFolders(partial(_read_refs, len(place) + 1)))
    pending = [top for top in _REFS if not os.path.islink(f"{place}/refs") and not os.path.islink(f"{place}/{top}")]
    while pending:
        try:
            refs, folders = known.content(f"{place}/{pending.pop()}")
        except OSError:
            continue
        yield refs
        pending += folders
    known.end()


def _read_refs(start: int, folder: str) -> tuple[list[str], list[str]]:
    """Return the refs and the folders in a folder, from this character of their paths on; no link to a folder."""
    name = folder[start:]
    with os.scandir(folder) as scanned:
        entries = list(scanned)
    others = {entry.name: entry for entry in entries if not entry.is_file(follow_symlinks=False)}
    skipped = {inner for inner, entry in others.items() if entry.is_dir()}
    folders = [f"{name}/{inner}" for inner in skipped if others[inner].is_dir(follow_symlinks=False)]
    names = (entry.name for entry in entries)
    return [f"{name}/{inner}" for inner in names if inner not in skipped and not inner.endswith(".lock")], folders


def _needed(files: dict[str, _Content]) -> Iterator[str]:
    """Yield the files without which git fails or loses branches; any other may be gone for a good reason."""
    return (name for name in files if name in (HEAD, PACKED_REFS))


def _is_readable(name: str, data: bytes) -> bool:
    if name == PACKED_REFS:
        return _PACKED_REFS.fullmatch(data) is not None
    is_ref = name.startswith("refs/") or os.path.basename(name) == HEAD
    return _REF.match(data) is not None if is_ref else _is_index(data)


def _is_index(data: bytes) -> bool:
    """Return whether an index has its header and, unless git was configured to write none, its checksum."""
    import hashlib  # late: `bridle status` imports this module where git fails

    return data.startswith(b"DIRC") and any(
        data[-size:] in (bytes(size), digest(data[:-size], usedforsecurity=False).digest())
        for digest, size in ((hashlib.sha1, _SHA1_BYTES), (hashlib.sha256, _SHA256_BYTES))
    )


def _read(place: Path, name: str) -> bytes | None:
    limit = _LIMIT_BYTES if os.path.basename(name) in (INDEX, PACKED_REFS) else _LINE_LIMIT_BYTES
    if os.path.basename(name) == HEAD and name[:5] != "refs/" and os.path.islink(place / name):  # as git did long ago
        return b"ref: " + os.fsencode(os.readlink(place / name))
    return files_below.read(*git_links.real_place(place, name), limit)


def _state(path: str) -> tuple[int, int, int, int] | None:
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _reflog_value(place: Path, name: str) -> bytes | None:
    """Return the content of a branch by its reflog, which has commits since the content was kept."""
    if not name.startswith(_HEADS):
        return None
    lines = (files_below.read(place, f"logs/{name}", _LIMIT_BYTES) or b"")[-_REFLOG_BYTES:].splitlines()
    words = lines[-1].split(b" ", 2) if lines else []
    return words[1] + b"\n" if len(words) == 3 and re.fullmatch(_ID, words[1]) else None


def _replace(place: Path, name: str, data: bytes | None) -> None:
    """Replace a damaged file; without content it is removed, and git uses what it has packed."""
    if data is None:
        files_below.remove(place, name)
    else:
        files_below.replace(place, name, data)


def _repair(folder: Path, place: Path, file: Path, name: str) -> str:
    """Return what a user can do about a damaged file."""
    path = shlex.quote(str(file))
    if name == INDEX:
        return f"Remove it, and git writes it again: rm {path} && git -C {shlex.quote(str(folder))} reset --quiet."
    if name == PACKED_REFS:
        return "Copy it from a backup, or remove the lines that are not `ID NAME`."
    if name == HEAD:
        return f"Write the name of the branch that was checked out into it: echo 'ref: refs/heads/NAME' > {path}."
    value = (_reflog_value(place, name) or b"").decode("ascii").strip()
    return f"Write its commit into it: echo {value or 'COMMIT'} > {path}."
