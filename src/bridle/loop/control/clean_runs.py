"""Finds and removes old logs and old runs of a repository, and nothing else.

A run that a driver is running stays, as does one with work of the user in its worktrees, and so do the logs of every
run that stays. The worktrees of a run are removed with it. Its branch is removed only if another branch or a tag has
all of its commits: commits belong to the user, whatever made them.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from bridle.engine.drive.driver_lock import LOCK_FILE as DRIVER_LOCK
from bridle.engine.drive.driver_lock import find_driver
from bridle.errors import DiskError, LockHeld
from bridle.ground.home import bridle_home
from bridle.ground.lock import FileLock
from bridle.journal.format import layout
from bridle.journal.stores import write_lock
from bridle.loop.checks.run_check import FOLDER as CHECK_LOGS
from bridle.loop.control import receipt_cache, user_work
from bridle.loop.performers import shared_budget
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_worktrees import remove_all
from bridle.run.logs import FOLDER as AGENT_LOGS
from bridle.workspace.git import Git
from bridle.workspace.worktree import read_worktrees

OWNER = "bridle clean"
REFS = "refs/bridle/"
# The name of a run that is being removed: if that is interrupted, the next cleaning finishes it.
REMOVED_PREFIX = ".removed-"

_LOG_ENDINGS = {
    AGENT_LOGS: (".ndjson", ".stderr", ".times", ".meta.json"),
    CHECK_LOGS: (".log",),
}


class OldItem(Struct, frozen=True):
    """An old log or run."""

    path: Path
    changed_at: float
    """The last change to it, in seconds since 1970."""
    size_bytes: int
    began_at: float = 0.0
    """When a run was created; a log has no beginning."""


class OldItems(Struct, frozen=True):
    """Everything that is old enough to be removed."""

    logs: tuple[OldItem, ...] = ()
    runs: tuple[OldItem, ...] = ()
    leftovers: tuple[Path, ...] = ()
    """Runs whose removal was interrupted."""

    @property
    def size_bytes(self) -> int:
        """Their approximate size on the disk."""
        return sum(item.size_bytes for item in (*self.logs, *self.runs))


class Cleaned(Struct, frozen=True):
    """What was removed, and what was not."""

    logs: int
    runs: tuple[str, ...]
    kept: tuple[str, ...]
    """Runs that a driver is running or that have work of the user, each with the reason."""


def find_old(top: Path, folders: Iterable[Path], *, before: float, kept: Collection[str] = ()) -> OldItems:
    """Find what was last changed before a moment in these folders of runs, without the runs that are kept."""
    entries = [path for folder in folders for path in _entries(folder)]
    known = list(_runs(entries))
    # Git refs and worktrees have a run's id: of two runs with one id, both stay while one is newer.
    staying = {*kept, *(run.path.name for run in known if run.changed_at >= before)}
    old = tuple(run for run in known if run.path.name not in staying)
    spans = [(run.began_at, run.changed_at) for run in known if run not in old]
    logs = tuple(
        log
        for log in _logs(top)
        if log.changed_at < before and not any(began <= log.changed_at <= ended for began, ended in spans)
    )
    leftovers = tuple(path for path in entries if path.name.startswith(REMOVED_PREFIX) and _is_folder(path))
    return OldItems(logs, old, leftovers)


async def remove(old: OldItems, git: Git | None) -> Cleaned:
    """Remove old logs and runs; a run that has been started again, or that the user has worked in, stays."""
    gone: list[str] = []
    kept: list[str] = []
    reasons = await user_work.find(git, [run.path.name for run in old.runs]) if git is not None else {}
    began: list[float] = []
    for run in old.runs:
        reason = reasons.get(run.path.name) or _remove_run(run.path)
        if reason is not None:
            kept.append(f"{run.path.name}: {reason}")
            began.append(run.began_at)
            continue
        receipt_cache.remove(run.path.name, bridle_home(os.environ))
        gone.append(run.path.name)
    for leftover in old.leftovers:
        _remove_tree(leftover)
    logs = [log for log in old.logs if not began or log.changed_at < min(began)]
    for log in logs:
        try:
            log.path.unlink(missing_ok=True)
        except OSError as error:
            raise DiskError(f"cannot remove {log.path}: {error.strerror}", remedy="Remove it manually.") from error
    if git is not None:
        await shared_budget.count_worktrees(git.folder, lambda _line: None)  # their own files go with them
        await remove_all(git, gone)
        await _remove_refs(git, gone)
        await _remove_branches(git, gone)
    return Cleaned(len(logs), tuple(gone), tuple(kept))


def _runs(entries: Iterable[Path]) -> Iterator[OldItem]:
    for path in entries:
        created = None if path.name.startswith(".") or not _is_folder(path) else _facts(path / layout.RUN_FILE)
        if created is not None and stat.S_ISREG(created.st_mode):
            files = list(_files_below(path))
            last = max((facts.st_mtime for facts in files), default=created.st_mtime)
            yield OldItem(path, last, sum(facts.st_size for facts in files), created.st_mtime)


def _logs(top: Path) -> Iterator[OldItem]:
    for folder, endings in _LOG_ENDINGS.items():
        # A symlink that replaces one of our folders leads to files that are not ours.
        if not all(_is_folder(top / part) for part in (folder, *folder.parents[:-1])):
            continue
        for path in _entries(top / folder):
            facts = _facts(path)
            if facts is not None and path.name.endswith(endings) and stat.S_ISREG(facts.st_mode):
                yield OldItem(path, facts.st_mtime, facts.st_size)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DiskError(f"cannot read {folder}: {error.strerror}") from error


def _files_below(folder: Path) -> Iterator[os.stat_result]:
    """Yield the facts of every file below, without following symlinks."""
    for place, _, names in os.walk(folder):
        for name in names:
            if (facts := _facts(Path(place, name))) is not None:
                yield facts


def _facts(path: Path) -> os.stat_result | None:
    """Return the facts of a file; None where it is gone: a run that works now renames and removes files."""
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_folder(path: Path) -> bool:
    facts = _facts(path)
    return facts is not None and stat.S_ISDIR(facts.st_mode)


def find_running(runs: Iterable[OldItem]) -> dict[str, str]:
    """Return the runs that a driver is running, each with the reason why it stays."""
    drivers = {run.path.name: find_driver(run.path) for run in runs}
    return {
        run: f"it is running, in process {driver.pid}. To remove it, run `bridle stop {run}` first"
        for run, driver in drivers.items()
        if driver is not None
    }


def _remove_run(run: Path) -> str | None:
    """Rename a run while its locks are held, so that it is gone in one step, and then remove it.

    Return why it stays where a process holds one of them.
    """
    removed = run.with_name(f"{REMOVED_PREFIX}{run.name}")
    try:
        with ExitStack() as held:
            held.callback(FileLock.hold(run / DRIVER_LOCK, holder=OWNER).release)
            held.callback(write_lock.take(run, OWNER, wait_seconds=0).release)
            os.rename(run, removed)
    except LockHeld as error:
        return error.message
    except OSError as error:
        raise DiskError(f"cannot remove {run}: {error.strerror}", remedy="Remove it manually.") from error
    _remove_tree(removed)
    return None


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise DiskError(f"cannot remove {folder}: {error.strerror}", remedy="Remove it manually.") from error


async def _remove_refs(git: Git, runs: Iterable[str]) -> None:
    """Delete the snapshot refs of removed runs; git collects their objects later."""
    text = await git.text("for-each-ref", "--format=%(refname)", REFS)
    names = tuple(run.lower() for run in runs)
    for ref in text.splitlines():
        last = ref.removeprefix(REFS).partition("/")[2].lower()
        if any(last == name or last.startswith((f"{name}-", f"{name}/")) for name in names):
            await git.run("update-ref", "--no-deref", "-d", ref)


async def _remove_branches(git: Git, runs: Iterable[str]) -> None:
    """Delete the branches of removed runs that have no commit of their own and are not checked out."""
    checked_out = {branch for _, branch in await read_worktrees(git)}
    for branch in (run_branch(run) for run in runs):
        ref = f"refs/heads/{branch}"
        tip = await git.object(ref)
        if tip is None or branch in checked_out:
            continue
        words = ("rev-list", "--count", tip, "--not", f"--exclude={branch}", "--branches", "--remotes", "--tags")
        if (await git.text(*words, "--")).strip() == "0":
            await git.run("update-ref", "--no-deref", "-d", ref, tip)
