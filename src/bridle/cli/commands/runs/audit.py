"""`bridle audit`: verify a run's checksums, sequence and files."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import click

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option, run_argument, runs_dir_option
from bridle.cli.user_interface.terminal import chosen_run, print_document, show
from bridle.journal.upkeep.audit_report import ChainReport, Finding, Report


@click.command("audit", short_help="Verify a run's checksums, sequence and receipts.")
@run_argument
@runs_dir_option
@json_option
def command(*, run: str, runs_dir: str | None, as_json: bool) -> int:
    """Verify every file of RUN: checksums, sequence, chain, ids, tasks, results, blobs and caches; for a run of the
    loop also prompts, the logs of agents and checks, and its commits, which name the journal. Nothing is changed.

    Each problem is listed with its file, and the exit code is 1. Leftover files are listed too. Runs made by the
    Babysitter SDK are verified in the same way.
    """
    from bridle.views.format_amounts import format_count

    folder = chosen_run(run, runs_dir)
    report, commits = audit_with_commits(folder)
    if as_json:
        document = {
            "run": folder.name,
            "runDir": str(folder),
            "ok": report.is_good,
            "entries": report.entries,
            "effects": report.effects,
            "files": report.files,
            "commits": commits,
            "chain": None if report.chain is None else _chain_document(report.chain),
            "wrong": [{"file": finding.file, "fault": finding.fault} for finding in report.wrong],
            "leftovers": [{"file": finding.file, "what": finding.fault} for finding in report.leftovers],
            "notCovered": report.not_covered,
            "refused": report.refused,
        }
        print_document(document)
        return SUCCESS if report.is_good else FAILED
    for finding in report.wrong:
        show(f"wrong: {_place(folder, finding)}: {finding.fault}")
    for finding in report.leftovers:
        show(f"leftover: {_place(folder, finding)}: {finding.fault}")
    for line in report.refused:
        show(f"refused: {line}")
    verdict = "has no problems" if report.is_good else f"has {format_count(len(report.wrong), 'problem')}"
    counts = ((report.entries, "entry"), (report.effects, "effect"), (report.files, "file"))
    read = ", ".join(format_count(*count) for count in counts)
    show(f"{folder.name} {verdict}: {read} read; {_describe_chain(report.chain)}{_list_uncovered(report.not_covered)}")
    return SUCCESS if report.is_good else FAILED


def audit_with_commits(folder: Path) -> tuple[Report, int]:
    """Audit a run and compare its commits with its journal; return how many were compared."""
    from bridle.journal.upkeep.audit import audit

    report = audit(folder)
    report.wrong += _find_forged(folder)
    return report, _compare_commits(folder, report)


def _find_forged(folder: Path) -> list[Finding]:
    """Return the results that were written after a driver was killed, by a program of the effect itself."""
    from bridle.engine.drive.effects_in_progress import FORGED, EffectsInProgress
    from bridle.errors import Error
    from bridle.journal.stores.file_store import FileStore

    try:
        forged = EffectsInProgress(folder, os.environ).find_forged(FileStore(folder).state())
    except Error:
        return []  # what is wrong with the files is in the report
    return [Finding(file, f"no driver wrote this result of {effect.kind}: {FORGED}") for file, effect in forged.items()]


def _compare_commits(folder: Path, report: Report) -> int:
    """Add what is wrong with the commits of a loop run to its report; return how many were compared."""
    if report.chain is None:
        return 0
    from bridle.errors import Error
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run

    try:
        if not is_loop_run(FileStore(folder)):
            return 0
        import asyncio

        from bridle.loop.evidence.check_commits import check_commits

        found = asyncio.run(check_commits(folder, report.chain.heads, dict(os.environ)))
    except Error as error:
        if report.is_good:  # else the reason is in the report
            report.leftovers.append(Finding("commits", f"they were not compared: {error.message}"))
        return 0
    report.wrong += found.wrong
    report.leftovers += found.missing
    return found.compared


def _place(folder: Path, finding: Finding) -> str:
    """Return the path of a file, or the name of a commit."""
    return finding.file if finding.file.startswith("commit") else os.path.normpath(folder / finding.file)


def _list_uncovered(files: list[str]) -> str:
    """Return the names of files that no digest covers; those in a folder as one."""
    counts = Counter(file.partition("/")[0] + ("/" if "/" in file else "") for file in files)
    names = ", ".join(f"{name} ({count})" if name.endswith("/") else name for name, count in counts.items())
    return f"; not covered by digests: {names}" if names else ""


def _chain_document(chain: ChainReport) -> dict[str, object]:
    later = [{"first": first, "last": last} for first, last in chain.later]
    return {"sequence": len(chain.heads), "head": f"sha256:{chain.heads[-1]}" if chain.heads else None, "later": later}


def _describe_chain(chain: ChainReport | None) -> str:
    if chain is None:
        return "no chain (made by an earlier version)"
    ranges = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in chain.later)
    later = f"; added after a crash: entries {ranges}" if ranges else ""
    return f"chain {len(chain.heads)} sha256:{chain.heads[-1] if chain.heads else ''}{later}"
