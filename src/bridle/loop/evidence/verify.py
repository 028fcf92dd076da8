"""Verify commits: by signed receipts, also in a clone without the run, and by the journal where the run is here."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from bridle.errors import Error
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep.audit import audit
from bridle.loop.control.foreign_runs import is_foreign
from bridle.loop.evidence import envelope
from bridle.loop.evidence.check_commits import branch_fault, head_fault, recorded_commits
from bridle.loop.evidence.signatures import GOOD, UNKNOWN_SIGNER, Signatures, Verdict
from bridle.loop.evidence.statement import StatementFacts, read_statement
from bridle.loop.performers.branch import RUN, TASK
from bridle.loop.run_inputs import read_inputs
from bridle.workspace.commit import CommitInfo, read_commits
from bridle.workspace.git import Git
from bridle.workspace.repair.forged_objects import find_forged_in_commit, find_replaced

# A line that names a run, wherever it is in a message, and however it is written.
_NAMES_RUN = re.compile(rf"^[ \t>*-]*{RUN}[ \t]*:[ \t]*([0-9a-z]{{26}})\b", re.IGNORECASE | re.MULTILINE)
_NO_TRAILER = f"it names the run, but not by a trailer: {RUN} is not in its last paragraph"
_FOREIGN_JOURNAL = "the journal is of a run that was not begun on this machine: it is not proof; pass --receipt FILE"


class VerifiedReceipt(Struct, frozen=True):
    """A receipt and its signature."""

    file: str
    facts: StatementFacts
    signature: Verdict

    @property
    def fault(self) -> str | None:
        """Why the receipt proves nothing; None if it is signed by a known signer."""
        state = self.signature.state
        if state == GOOD:
            return None
        if state == UNKNOWN_SIGNER:
            return (
                f"the signature is good, but the signer is not known ({self.signature.key}): {self.signature.details}"
            )
        return f"the signature is {state}: {self.signature.details}"


class CommitReport(Struct):
    """What is known about one commit."""

    commit: str
    run: str | None = None
    task: str | None = None
    proofs: list[str] = field(default_factory=list)
    """What matches: the names of receipts, and `journal`."""
    faults: list[str] = field(default_factory=list)

    @property
    def is_proved(self) -> bool:
        return bool(self.proofs) and not self.faults


class Verification(Struct):
    """What was verified, and what is wrong."""

    receipts: list[VerifiedReceipt] = field(default_factory=list)
    commits: list[CommitReport] = field(default_factory=list)
    others: int = 0
    """Commits that no run has made."""
    faults: list[str] = field(default_factory=list)
    """What is wrong with no single commit."""
    not_in_head: list[str] = field(default_factory=list)
    """Commits of a receipt that git has, and HEAD does not contain: of another branch, or amended since."""
    not_in_range: list[str] = field(default_factory=list)
    """Commits of a receipt that are not among those that the range names."""

    @property
    def is_good(self) -> bool:
        """Whether something was verified, and nothing is wrong."""
        return bool(self.commits) and not self.faults and all(report.is_proved for report in self.commits)


async def read_receipts(files: Sequence[Path], signatures: Signatures) -> list[VerifiedReceipt]:
    """Read receipts and verify their signatures; raise UsageError for a file that is not one."""
    receipts = []
    for path in files:
        found = envelope.decode(path.read_bytes())
        verdict = await signatures.verify(envelope.signed_bytes(found.payload), found.signature)
        receipts.append(VerifiedReceipt(str(path), read_statement(found.statement), verdict))
    return receipts


async def verify_receipt(git: Git, receipt: VerifiedReceipt, runs: Path) -> Verification:
    """Verify the commits that a receipt names, and find those that name its run and are not in it."""
    result = Verification([receipt], faults=[f"{receipt.file}: {receipt.fault}"] if receipt.fault is not None else [])
    facts = receipt.facts
    found = {info.commit: info for info in await read_commits(git, ids=list(facts.commits))} if facts.commits else {}
    journal = _journal_of(runs, facts.run)
    result.faults += [*_journal_faults(facts, journal), *await _branch_faults(git, runs, facts.run, journal)]
    for commit in facts.commits:
        info = found.get(commit)
        if info is None:
            result.commits.append(CommitReport(commit, facts.run, faults=["git does not have it here"]))
        else:
            result.commits.append(_compare(info, [receipt], journal))
    words = ("--fixed-strings", "--regexp-ignore-case", f"--grep={facts.run}", "HEAD")
    listed = await read_commits(git, *words) if await git.head() is not None else []
    listed = [info for info in listed if info.commit not in facts.commits]
    others = [info for info in listed if info.trailers.get(RUN) == facts.run]
    result.commits += [_compare(info, [receipt], journal) for info in others]
    result.commits += [report for info in listed if (report := _look_alike(info)) is not None]
    result.not_in_head = await _not_in_head(git, list(found))
    await _check_objects(git, result, {*found, *(info.commit for info in others)})
    if not result.commits:
        result.faults.append(f"{receipt.file}: it names no commit")
    return result


async def _not_in_head(git: Git, commits: Sequence[str]) -> list[str]:
    if not commits or await git.head() is None:
        return list(commits)
    listed = (await git.text("rev-list", *commits, "^HEAD", "--")).split()
    return [commit for commit in commits if commit in listed]


async def verify_commits(
    git: Git, words: Sequence[str], receipts: Sequence[VerifiedReceipt], runs: Path
) -> Verification:
    """Verify the commits that revisions name: those of runs must match a receipt, or the journal of their run."""
    result = Verification(list(receipts))
    result.faults += [f"{receipt.file}: {receipt.fault}" for receipt in receipts if receipt.fault is not None]
    journals: dict[str, _Journal | None] = {}
    listed: set[str] = set()
    for info in await read_commits(git, *words):
        run = info.trailers.get(RUN)
        listed.add(info.commit)
        if run is None:
            report = _look_alike(info)
            result.others += report is None
            result.commits += [] if report is None else [report]
            continue
        if run not in journals:
            journals[run] = _journal_of(runs, run)
            result.faults += await _branch_faults(git, runs, run, journals[run])
            result.faults += [
                fault for one in receipts if one.facts.run == run for fault in _journal_faults(one.facts, journals[run])
            ]
        own = [receipt for receipt in receipts if receipt.facts.run == run]
        result.commits.append(_compare(info, own, journals[run]))
    named = dict.fromkeys(commit for receipt in receipts for commit in receipt.facts.commits)
    result.not_in_range = [commit for commit in named if commit not in listed]
    await _check_objects(git, result, {report.commit for report in result.commits})
    if not result.commits:
        result.faults.append("no commit of a run is among them")
    return result


def _look_alike(info: CommitInfo) -> CommitReport | None:
    """Return the report on a commit that names a run, but has no trailer that does; None for any other."""
    found = None if info.trailers.get(RUN) is not None else _NAMES_RUN.search(info.message)
    return None if found is None else CommitReport(info.commit, found[1], faults=[_NO_TRAILER])


async def _check_objects(git: Git, result: Verification, present: Collection[str]) -> None:
    """Hash the objects of the commits that git has here, and name refs by which git shows other commits instead."""
    for report in result.commits:
        found = await find_forged_in_commit(git, report.commit) if report.commit in present else {}
        report.faults += [
            f"the object {name} ({what}) was replaced: its content does not have this id"
            for name, what in found.items()
        ]
    result.faults += [
        f"refs/replace/{name}: git shows another object instead of it; remove it: git replace -d {name}"
        for name in await find_replaced(git, sorted(present))
    ]


class _Journal(Struct, frozen=True):
    """The journal of a run that is here."""

    heads: Sequence[str]
    commits: Mapping[str, str]
    faults: Sequence[str]
    is_foreign: bool = False
    """Whether it came with the repository, whose author can write any journal."""


def _journal_of(runs: Path, run: str) -> _Journal | None:
    """Return the journal of a run; None if the run is not here, or was made by an earlier version."""
    folder = runs / run
    if "/" in run or not run.strip(".") or not folder.is_dir():
        return None
    try:
        report = audit(folder)
        if report.chain is None:
            return None
        faults = [f"run {run}: {finding.file}: {finding.fault}" for finding in report.wrong]
        commits = {} if faults else recorded_commits(FileStore(folder))
        return _Journal(report.chain.heads, commits, faults, is_foreign(folder))
    except Error as error:
        return _Journal([], {}, [f"run {run}: {error.message}"])


async def _branch_faults(git: Git, runs: Path, run: str, journal: _Journal | None) -> list[str]:
    """Return that the branch of a run is where its journal did not put it."""
    if journal is None or journal.faults or journal.is_foreign:
        return []
    try:
        store = FileStore(runs / run)
        fault = await branch_fault(git, store)
        return [] if fault is None else [f"the branch {read_inputs(store).branch}: {fault}"]
    except Error:
        return []  # not a run of the loop


def _journal_faults(facts: StatementFacts, journal: _Journal | None) -> list[str]:
    """Return what is wrong with a run's journal: its own faults, and its head in the receipt."""
    if journal is None:
        return []
    faults = list(journal.faults)
    if facts.journal is not None:
        seq, head = facts.journal
        if not 0 < seq <= len(journal.heads):
            faults.append(f"run {facts.run}: its journal ends before entry {seq}, which the receipt names")
        elif journal.heads[seq - 1] != head:
            faults.append(f"run {facts.run}: the head of its journal at entry {seq} is not the one in the receipt")
    return faults


def _compare(info: CommitInfo, receipts: Sequence[VerifiedReceipt], journal: _Journal | None) -> CommitReport:
    """Compare a commit of a run with its receipts and its journal."""
    report = CommitReport(info.commit, info.trailers.get(RUN), info.trailers.get(TASK))
    for receipt in receipts:
        expected = receipt.facts.commits.get(info.commit)
        if expected is None:
            report.faults.append(f"{receipt.file} does not name it: it was amended, or made later")
            continue
        for name, value in {RUN: receipt.facts.run, **expected}.items():
            if value is not None and info.trailers.get(name) != value:
                report.faults.append(f"its {name} is {info.trailers.get(name)!r}, but {value!r} in {receipt.file}")
        if not report.faults and receipt.fault is None:
            report.proofs.append(receipt.file)
    if journal is not None and not journal.faults:
        fault = head_fault(info, journal.heads)
        if fault is None and info.commit not in journal.commits:
            fault = "no entry of the journal records it: it was amended, or made by another program"
        if fault is None and journal.is_foreign:
            report.faults += [] if report.proofs else [_FOREIGN_JOURNAL]
        elif fault is None:
            report.proofs.append("journal")
        else:
            report.faults.append(fault)
    if not receipts and journal is None:
        report.faults.append("there is neither a receipt nor the run here; pass --receipt FILE")
    return report
