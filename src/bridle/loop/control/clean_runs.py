"""Old logs and old runs of a repository: which they are, and how they go. Nothing but these is ever touched.

A run that somebody is at work on stays, and so do the logs of every run that stays. The worktrees of a run go with it;
branches and commits are a person's own, whatever made them.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bridle.engine.drive.driver import LOCK_FILE as DRIVER_LOCK
from bridle.errors import DiskError, LockHeld
from bridle.ground.lock import FileLock
from bridle.journal.format import layout
from bridle.journal.stores import write_lock
from bridle.loop.checks.run_check import FOLDER as CHECK_LOGS
from bridle.loop.working_copy.run_worktrees import remove_all
from bridle.run.logs import FOLDER as AGENT_LOGS
from bridle.workspace.git import Git

OWNER = "bridle clean"
REFS = "refs/bridle/"
# A run on its way out has this name: it is no run any more, and the next cleaning finishes what was broken off.
GOING_PREFIX = ".removed-"

_LOG_ENDINGS = {
    AGENT_LOGS: (".ndjson", ".stderr", ".times", ".meta.json"),
    CHECK_LOGS: (".log",),
}


@dataclass(frozen=True)
class Found:
    """One thing that is old."""

    path: Path
    changed_at: float
    """The last change to it, in seconds since 1970."""
    size_bytes: int


@dataclass(frozen=True)
class Old:
    """Everything that is old enough to go."""

    logs: tuple[Found, ...] = ()
    runs: tuple[Found, ...] = ()
    leftovers: tuple[Path, ...] = ()
    """What an earlier cleaning did not finish."""

    @property
    def size_bytes(self) -> int:
        """What they take on the disk, about."""
        return sum(found.size_bytes for found in (*self.logs, *self.runs))


@dataclass(frozen=True)
class Cleaned:
    """What is gone, and what is not."""

    logs: int
    runs: tuple[str, ...]
    kept: tuple[str, ...]
    """Runs that somebody is at work on, in words."""


def find_old(top: Path, runs: Path, *, before: float) -> Old:
    """What was last changed before a moment."""
    known = list(_runs(runs))
    old = tuple(run for run in known if run.changed_at < before)
    spans = [(_began(run.path), run.changed_at) for run in known if run not in old]
    logs = tuple(
        log
        for log in _logs(top)
        if log.changed_at < before and not any(began <= log.changed_at <= ended for began, ended in spans)
    )
    leftovers = tuple(path for path in _entries(runs) if path.name.startswith(GOING_PREFIX) and _is_folder(path))
    return Old(logs, old, leftovers)


async def remove(old: Old, git: Git | None) -> Cleaned:
    """Remove all of it; a run that is at work by now stays."""
    gone: list[str] = []
    kept: list[str] = []
    for run in old.runs:
        try:
            _remove_run(run.path)
        except LockHeld as held:
            kept.append(f"{run.path.name}: {held.message}")
            continue
        gone.append(run.path.name)
    for leftover in old.leftovers:
        _remove_tree(leftover)
    for log in old.logs:
        _remove_file(log.path)
    if git is not None:
        await remove_all(git, gone)
        await _remove_refs(git, gone)
    return Cleaned(len(old.logs), tuple(gone), tuple(kept))


def _runs(folder: Path) -> Iterator[Found]:
    for path in _entries(folder):
        if not path.name.startswith(".") and _is_folder(path) and (path / layout.RUN_FILE).is_file():
            sizes = list(_sizes(path))
            yield Found(path, max((changed for changed, _ in sizes), default=0.0), sum(size for _, size in sizes))


def _began(run: Path) -> float:
    return os.lstat(run / layout.RUN_FILE).st_mtime


def _logs(top: Path) -> Iterator[Found]:
    for folder, endings in _LOG_ENDINGS.items():
        # A link in the place of one of our folders leads to somebody else's files.
        if not all(_is_folder(top / part) for part in (folder, *folder.parents[:-1])):
            continue
        for path in _entries(top / folder):
            facts = os.lstat(path)
            if path.name.endswith(endings) and stat.S_ISREG(facts.st_mode):
                yield Found(path, facts.st_mtime, facts.st_size)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DiskError(f"{folder} cannot be read: {error.strerror}") from error


def _sizes(folder: Path) -> Iterator[tuple[float, int]]:
    """The last change and the size of every file below; links are not followed."""
    for place, _, names in os.walk(folder):
        for name in names:
            facts = os.lstat(os.path.join(place, name))
            yield facts.st_mtime, facts.st_size


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _remove_run(run: Path) -> None:
    """Take a run out of the way in one step, with nobody at work on it, and then remove it."""
    going = run.with_name(f"{GOING_PREFIX}{run.name}")
    with ExitStack() as held:
        held.callback(FileLock.hold(run / DRIVER_LOCK, holder=OWNER).release)
        held.callback(write_lock.take(run, OWNER, wait_seconds=0).release)
        try:
            os.rename(run, going)
        except OSError as error:
            raise DiskError(f"{run} cannot be removed: {error.strerror}", remedy="Remove it by hand.") from error
    _remove_tree(going)


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise DiskError(f"{folder} cannot be removed: {error.strerror}", remedy="Remove it by hand.") from error


def _remove_file(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(f"{path} cannot be removed: {error.strerror}", remedy="Remove it by hand.") from error


async def _remove_refs(git: Git, runs: Iterable[str]) -> None:
    """The snapshots of runs that are gone; git removes what they held in its own time."""
    text = await git.text("for-each-ref", "--format=%(refname)", REFS)
    names = tuple(run.lower() for run in runs)
    for ref in text.splitlines():
        last = ref.removeprefix(REFS).partition("/")[2]
        if any(last == name or last.startswith((f"{name}-", f"{name}/")) for name in names):
            await git.run("update-ref", "-d", ref)
