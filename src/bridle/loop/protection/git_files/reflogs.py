"""Reflogs of a repository: kept before an agent, and completed after it. All stashes but the newest are only in one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bridle.ground import clock
from bridle.ground.files import files_below
from bridle.workspace.git_folder import git_links

STASH = "refs/stash"
RESTORED = "bridle: an agent had moved it"
"""The message of the entry that Bridle adds when it restores a ref."""
# A hundred thousand entries; more are not kept.
_LIMIT_BYTES = 16 * 1024 * 1024
_TOTAL_LIMIT_BYTES = 64 * 1024 * 1024
# `git gc` removes entries of unreachable commits after this time.
_EXPIRE_SECONDS = 30 * 86400.0
_LOGS = "logs"
_OWN = ("refs/bridle/", "refs/heads/bridle/")


def read(place: Path) -> dict[str, bytes]:
    """Return the reflogs of a git folder by ref, without those of Bridle's own refs."""
    logs: dict[str, bytes] = {}
    total = 0
    for name in _names(place):
        data = _content(place, name) if total < _TOTAL_LIMIT_BYTES else None
        if data is not None:
            logs[name] = data
            total += len(data)
    return logs


def has_entry(logs: Mapping[str, bytes], name: str, commit: str) -> bool:
    """Return whether a reflog has an entry for a commit: a ref that is there again has lost the later ones."""
    return any(entry.startswith(f"{commit} ".encode()) for entry in map(_entry, logs.get(name, b"").splitlines()))


def restore(before: Mapping[str, bytes], place: Path) -> list[str]:
    """Add entries that were removed from reflogs; new ones stay. Return the refs of those logs."""
    restored: list[str] = []
    for name in sorted(before):
        now = _content(place, name) or b""
        if now.startswith(before[name]):  # only longer, or the same
            continue
        lines = now.splitlines(keepends=True)
        if not _has_lost(name, before[name].splitlines(), lines):
            continue
        known = {_entry(line) for line in before[name].splitlines()}
        new = [line for line in lines if _entry(line) not in known and RESTORED.encode() not in line]
        _make_room(place, name)
        files_below.replace(*git_links.real_place(place, f"{_LOGS}/{name}"), before[name] + b"".join(new))
        restored.append(name)
    return restored


def _has_lost(name: str, before: list[bytes], now: list[bytes]) -> bool:
    """Return whether entries are missing that `git gc` would have kept."""
    left = {_entry(line) for line in now}
    missing = [line for line in before if _entry(line) not in left]
    return bool(missing) and (name == STASH or not now or any(not _is_expired(line) for line in missing))


def _entry(line: bytes) -> bytes:
    """Return an entry without the commit before it, which changes when an earlier entry is removed."""
    return line.rstrip(b"\n").partition(b" ")[2]


def _is_expired(line: bytes) -> bool:
    seconds = line.partition(b"\t")[0].split(b" ")[-2:-1]
    if not seconds or not seconds[0].isdigit():
        return False
    return int(seconds[0]) < clock.now().timestamp() - _EXPIRE_SECONDS


def _make_room(place: Path, name: str) -> None:
    """Remove what an agent has put where the folders of a log belong."""
    if not os.path.isdir(place / _LOGS):
        files_below.remove(place, _LOGS)
    for folder in [*reversed(Path(name).parents)][1:]:
        top, inside = git_links.real_place(place, f"{_LOGS}/{folder}")
        if os.path.islink(top / inside) or not os.path.isdir(top / inside):
            files_below.remove(top, inside)


def _names(place: Path) -> Iterator[str]:
    top, inside = git_links.real_place(place, _LOGS)
    for full in sorted(files_below.walk(top, inside)):
        name = full.removeprefix(f"{inside}/")
        if not name.startswith(_OWN) and not name.endswith(".lock"):
            yield name


def _content(place: Path, name: str) -> bytes | None:
    """Return the content of a log; None for what is missing, too large or no file."""
    return files_below.read(*git_links.real_place(place, f"{_LOGS}/{name}"), _LIMIT_BYTES)
