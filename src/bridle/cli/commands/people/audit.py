"""`bridle audit`: verify a run's checksums, sequence and files."""

from __future__ import annotations

import os

import click

from bridle.cli.people.terminal import chosen_run, json_option, print_document, run_argument, runs_dir_option, show

WRONG = 1


@click.command("audit", short_help="Verify a run's checksums, sequence and receipts.")
@run_argument
@runs_dir_option
@json_option
def command(*, run: str, runs_dir: str | None, as_json: bool) -> int:
    """Look at every file of RUN: checksums, sequence, ids, tasks, results, blobs and caches; of a run of the loop also
    the prompts, and the logs of agents and checks. Nothing is changed.

    What is wrong is named with its file, and the exit code is 1. What was merely left behind is named too. A run that
    another implementation of the format made is looked at in the same way.
    """
    from bridle.journal.upkeep.audit import audit

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
            "wrong": [{"file": one.file, "fault": one.fault} for one in report.wrong],
            "leftovers": [{"file": one.file, "what": one.fault} for one in report.leftovers],
        }
        print_document(document)
        return 0 if report.is_good else WRONG
    for finding in report.wrong:
        show(f"wrong: {os.path.normpath(folder / finding.file)}: {finding.fault}")
    for finding in report.leftovers:
        show(f"left behind: {os.path.normpath(folder / finding.file)}: {finding.fault}")
    verdict = "is in order" if report.is_good else f"has {len(report.wrong)} faults"
    show(f"{folder.name} {verdict}: {report.entries} entries, {report.effects} effects, {report.files} files read")
    return 0 if report.is_good else WRONG
