"""Files that a program of the user appends to while a run works, such as the log of a server or of `tee`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bridle.ground.descendants import census
from bridle.loop.protection import file_states
from bridle.loop.protection.tree_changes import Change
from bridle.loop.working_copy.run_context import RunContext

_HAS_PROC = sys.platform == "linux"
_CHUNK_BYTES = 1024 * 1024


async def find_grown(context: RunContext, changes: Sequence[Change]) -> frozenset[str]:
    """Return the changed files that begin with all of their earlier bytes, and that a program of the user has open.

    Programs of the user are processes that no agent started; they have the file open for writing. Where a system does
    not show this, having grown is enough.
    """
    changed = [change for change in changes if not change.is_new and not change.is_gone]
    if not changed:
        return frozenset()
    stdin = "".join(f"{change.before}\n" for change in changed).encode()
    _, listed = await context.git.run("cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=stdin)
    facts = [line.split() for line in listed.splitlines()]
    return await asyncio.to_thread(_find, context.folder, list(zip(changed, facts, strict=True)))


def _find(folder: Path, changed: Sequence[tuple[Change, list[str]]]) -> frozenset[str]:
    grown: dict[tuple[int, int], str] = {}
    for change, (kind, size) in changed:
        status = _read_status(folder / change.path)
        if kind != "blob" or status is None or not stat.S_ISREG(status.st_mode) or status.st_size <= int(size):
            continue
        if _begins_with(folder / change.path, int(size), change.before):
            grown[status.st_dev, status.st_ino] = change.path
    if not grown or not _HAS_PROC:
        return frozenset(grown.values())
    return frozenset(grown[file] for file in _written_by_user() if file in grown)


def _begins_with(path: Path, size: int, blob: str) -> bool:
    """Return whether the first bytes of a file are those of a blob of this size."""
    digest = hashlib.new(file_states.digest_of(blob), b"blob %d\0" % size, usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while size and (part := file.read(min(size, _CHUNK_BYTES))):
                digest.update(part)
                size -= len(part)
    except OSError:
        return False
    return digest.hexdigest() == blob


def _written_by_user() -> Iterator[tuple[int, int]]:
    """Yield device and inode of the files that processes outside of our agents have open for writing."""
    processes = census.take()
    ours = processes[os.getpid()].tokens if os.getpid() in processes else ()
    for pid, entry in processes.items():
        if not set(entry.tokens) <= set(ours):
            continue  # an agent has started it
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for descriptor in descriptors:
            status = _read_status(f"/proc/{pid}/fd/{descriptor}", follow=True)
            if status is not None and stat.S_ISREG(status.st_mode) and _is_writable(pid, descriptor):
                yield status.st_dev, status.st_ino


def _is_writable(pid: int, descriptor: str) -> bool:
    try:
        text = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text()
    except OSError:
        return False
    flags = next((line.split()[1] for line in text.splitlines() if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _read_status(path: Path | str, *, follow: bool = False) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError:
        return None
