"""`bridle audit`: verify a run's checksums, sequence and files."""

from __future__ import annotations

import os

import click

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option, run_argument, runs_dir_option
from bridle.cli.user_interface.terminal import chosen_run, print_document, show
from bridle.journal.upkeep.audit_report import ChainReport


@click.command("audit", short_help="Verify a run's checksums, sequence and receipts.")
@run_argument
@runs_dir_option
@json_option
def command(*, run: str, runs_dir: str | None, as_json: bool) -> int:
    """Verify every file of RUN: checksums, sequence, ids, tasks, results, blobs and caches; for a run of the loop also
    the prompts and the logs of agents and checks. Nothing is changed.

    Each problem is listed with its file, and the exit code is 1. Leftover files are listed too. Runs made by the
    Babysitter SDK are verified in the same way.
    """
    from bridle.journal.upkeep.audit import audit
    from bridle.views.format_amounts import format_count

    folder = chosen_run(run, runs_dir)
    report = audit(folder)
    if as_json:
        document = {
            "run": folder.name,
            "runDir": str(folder),
            "ok": report.is_good,
            "entries": report.entries,
            "effects": report.effects,
            "files": report.files,
            "chain": None if report.chain is None else _chain_document(report.chain),
            "wrong": [{"file": finding.file, "fault": finding.fault} for finding in report.wrong],
            "leftovers": [{"file": finding.file, "what": finding.fault} for finding in report.leftovers],
            "refused": report.refused,
        }
        print_document(document)
        return SUCCESS if report.is_good else FAILED
    for finding in report.wrong:
        show(f"wrong: {os.path.normpath(folder / finding.file)}: {finding.fault}")
    for finding in report.leftovers:
        show(f"leftover: {os.path.normpath(folder / finding.file)}: {finding.fault}")
    for line in report.refused:
        show(f"refused: {line}")
    verdict = "has no problems" if report.is_good else f"has {format_count(len(report.wrong), 'problem')}"
    counts = ((report.entries, "entry"), (report.effects, "effect"), (report.files, "file"))
    read = ", ".join(format_count(*count) for count in counts)
    show(f"{folder.name} {verdict}: {read} read; {_describe_chain(report.chain)}")
    return SUCCESS if report.is_good else FAILED


def _chain_document(chain: ChainReport) -> dict[str, object]:
    later = [{"first": first, "last": last} for first, last in chain.later]
    return {"sequence": len(chain.heads), "head": f"sha256:{chain.heads[-1]}" if chain.heads else None, "later": later}


def _describe_chain(chain: ChainReport | None) -> str:
    if chain is None:
        return "no chain (made by an earlier version)"
    ranges = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in chain.later)
    later = f"; added after a crash: entries {ranges}" if ranges else ""
    return f"chain {len(chain.heads)} sha256:{chain.heads[-1] if chain.heads else ''}{later}"
