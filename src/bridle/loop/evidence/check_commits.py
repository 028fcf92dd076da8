"""Compare the commits of a run with its journal: each names an entry and the head of the journal at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bridle.engine.drive.driver_lock import find_driver
from bridle.errors import GitError
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import layout
from bridle.journal.format.chain import parse_head
from bridle.journal.format.entries import RESOLVED_OK, Effect
from bridle.journal.format.state import file_name
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep.audit_report import Finding
from bridle.loop import effects
from bridle.loop.adoption.user_changes import FOUND
from bridle.loop.performers.branch import ITERATION, JOURNAL, RUN, TASK
from bridle.loop.run_inputs import read_inputs
from bridle.workspace.commit import CommitInfo, is_ancestor, read_commits
from bridle.workspace.git import Git
from bridle.workspace.inert_git import inert_git
from bridle.workspace.repair.forged_objects import find_forged_in_commit

# The effects that make commits.
_COMMITS = (effects.COMMIT, effects.MERGE)


class CommitFindings(Struct, frozen=True):
    """What is wrong with the commits of a run, and what is only missing."""

    compared: int = 0
    wrong: list[Finding] = field(default_factory=list)
    missing: list[Finding] = field(default_factory=list)


async def check_commits(run: Path, heads: Sequence[str], environment: dict[str, str]) -> CommitFindings:
    """Compare the commits of a loop run with its journal, whose head at each entry is given.

    What a driver has recorded since is not compared.
    """
    store = FileStore(run)
    inputs, recorded = read_inputs(store), recorded_commits(store, last=len(heads))
    try:
        git = await inert_git(Path(inputs.repository), environment)
        found = {info.commit: info for info in await read_commits(git, ids=list(recorded))} if recorded else {}
        branch = await git.object(f"refs/heads/{inputs.branch}")
        known = [commit for commit in _adopted_tips(store) if await git.object(f"{commit}^{{commit}}") is not None]
        listed = (
            [] if branch is None else await read_commits(git, branch, f"^{inputs.base}", *(f"^{tip}" for tip in known))
        )
        moved = await branch_fault(git, store)
        forged = {commit: await find_forged_in_commit(git, commit) for commit in found}
    except GitError as error:
        return CommitFindings(missing=[Finding("commits", f"they were not compared: {error.message}")])
    findings = CommitFindings(compared=len(found))
    for commit, entry in recorded.items():
        info = found.get(commit)
        if info is None:
            findings.missing.append(Finding(f"commit {commit}", f"git does not have it any more; {entry} names it"))
        elif (fault := head_fault(info, heads)) is not None:
            findings.wrong.append(Finding(f"commit {commit}", f"{fault}; {entry} names it"))
        for name, what in forged.get(commit, {}).items():
            fault = f"the object {name} ({what}) was replaced: its content does not have this id"
            findings.wrong.append(Finding(f"commit {commit}", fault))
    newer = _recorded_since(run, listed)
    unrecorded = list(_unrecorded(run.name, [info for info in listed if info.commit not in newer], found, recorded))
    findings.wrong.extend(unrecorded)
    if moved is not None and not unrecorded:
        findings.wrong.append(Finding(f"branch {inputs.branch}", moved))
    return findings


async def branch_fault(git: Git, store: FileStore) -> str | None:
    """Return how the branch of a run differs from its journal: it must contain the last commit; None if it does.

    Nothing is said about a branch that does not exist any more.
    """
    last = _last_tip(store)  # before the branch, which a driver moves before it records that
    branch = await git.object(f"refs/heads/{read_inputs(store).branch}")
    if branch is None or last is None or await git.object(f"{last}^{{commit}}") is None:
        return None
    if await is_ancestor(git, last, branch):
        return None
    return f"it is at {branch}, which does not contain {last}, the last commit of the journal: it was moved"


def _last_tip(store: FileStore) -> str | None:
    """Return the commit to which the run moved its branch last, or which it found there when it was resumed."""
    state = store.state()
    resolved = [effect for effect in state.resolved if effect.status == RESOLVED_OK and effect.resolution is not None]
    is_parallel = any(effect.kind in (effects.LAND, effects.PREPARE_COPY) for effect in resolved)
    fields = {effects.LAND: "commit"} if is_parallel else {effects.COMMIT: "commit", effects.ROLLBACK: "head"}
    found = [(entry.seq, entry.text("tip")) for entry in state.notes if entry.type == FOUND]
    for effect in resolved:
        if effect.kind in fields and effect.resolution is not None:
            found.append((effect.resolution.seq, JsonFields(store.result(effect).value).text(fields[effect.kind])))
    tips = [(seq, tip) for seq, tip in found if tip]
    return max(tips)[1] if tips else None


def recorded_commits(store: FileStore, *, last: int | None = None) -> dict[str, str]:
    """Return the commits that effects of a run have made up to an entry, and the file of that which records each."""
    commits: dict[str, str] = {}
    for effect in store.state().resolved:
        if last is not None and effect.resolution is not None and effect.resolution.seq > last:
            continue
        if effect.kind in _COMMITS and effect.status == RESOLVED_OK:
            commit = JsonFields(store.result(effect).value).text("commit")
            if commit is not None:
                commits.setdefault(commit, _entry_file(effect))
    return commits


def _recorded_since(run: Path, listed: Sequence[CommitInfo]) -> set[str]:
    """Return the listed commits that are recorded by now, or that a driver has made and is about to record."""
    has_driver = find_driver(run) is not None
    store = FileStore(run)
    requested = [one.request.seq for one in store.state().effects.values() if one.is_pending and one.kind in _COMMITS]
    newer = set(recorded_commits(store))
    if has_driver and requested:
        newer.update(info.commit for info in listed if _named_entry(info) in requested)
    return newer


def _named_entry(info: CommitInfo) -> int:
    named = parse_head(info.trailers.get(JOURNAL, ""))
    return 0 if named is None else named[0]


def head_fault(info: CommitInfo, heads: Sequence[str]) -> str | None:
    """Return how a commit's trailer differs from the journal; None if it matches."""
    text = info.trailers.get(JOURNAL)
    named = parse_head(text) if text is not None else None
    if named is None:
        return f"it has no valid {JOURNAL} trailer"
    seq, head = named
    if not 0 < seq <= len(heads):
        return f"it names entry {seq}, but the journal ends with entry {len(heads)}: entries were removed"
    if heads[seq - 1] != head:
        return f"the head of the journal at entry {seq} is not the one that it names: an entry up to {seq} was changed"
    return None


def _unrecorded(
    run: str, listed: Sequence[CommitInfo], found: dict[str, CommitInfo], recorded: dict[str, str]
) -> Iterator[Finding]:
    """Yield commits on the run's branch that name the run, and that no entry records."""
    made = {_identity(info): commit for commit, info in found.items()}
    for info in listed:
        if info.trailers.get(RUN) != run or info.commit in recorded:
            continue
        original = made.get(_identity(info))
        reason = "no entry of the journal records it"
        if original is not None:
            reason = f"it was amended or made again: {recorded[original]} records {original}"
        yield Finding(f"commit {info.commit}", reason)


def _identity(info: CommitInfo) -> tuple[str | None, ...]:
    return tuple(info.trailers.get(name) for name in (RUN, TASK, ITERATION))


def _adopted_tips(store: FileStore) -> list[str]:
    """Return the newest commits that the user had left, and that a later driver has adopted."""
    notes: list[Any] = [entry.text("tip") for entry in store.state().notes if entry.type == FOUND]
    return [tip for tip in notes if tip is not None]


def _entry_file(effect: Effect) -> str:
    entry = effect.resolution
    assert entry is not None  # noqa: S101  # it is resolved
    return f"{layout.JOURNAL}/{file_name(entry.seq, entry.ulid)}"
