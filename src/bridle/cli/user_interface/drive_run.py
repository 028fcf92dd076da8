"""Drive a run from the command line and report how it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.cli import exit_codes
from bridle.cli.user_interface.terminal import print_document, run_interruptible, say, show, shown_run
from bridle.engine.drive import drive_result
from bridle.engine.drive.drive_result import DriveResult
from bridle.engine.drive.driver import DriveOptions, Driver
from bridle.engine.entries import refused_commands
from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iteration_report import COMPLETED, FAILED, HALTED, NONE
from bridle.ground.user_environment import user_environment
from bridle.journal.stores.file_store import FileStore
from bridle.views.format_amounts import format_usd

_EXIT_CODES = {
    COMPLETED: exit_codes.SUCCESS,
    FAILED: exit_codes.FAILED,
    HALTED: exit_codes.FAILED,
    NONE: exit_codes.FAILED,
    drive_result.LIMIT: exit_codes.LIMIT_REACHED,
    drive_result.WAITING: exit_codes.WAITING,
    drive_result.UNUSABLE: exit_codes.AGENT_UNUSABLE,
}


class CommandOptions(Struct, frozen=True):
    """Options of the command that do not concern the run."""

    as_json: bool = False
    hooks: bool = True
    plugin_root: Path | None = None


def drive_and_report(run: Path, drive_options: DriveOptions, options: CommandOptions) -> int:
    """Drive a run, print its progress on stderr and its end on stdout, and return the exit code."""
    hooks = Hooks(repository_of(run), os.environ, options.plugin_root, enabled=options.hooks)
    sandbox = replace(drive_options.agents.sandbox, on_refused=partial(refused_commands.record, run))
    drive_options = replace(drive_options, agents=replace(drive_options.agents, sandbox=sandbox))
    environment = user_environment(os.environ)
    driving = Driver(lambda: FileStore(run), run, hooks, drive_options, environment=environment, say=say)
    driven = run_interruptible(driving.drive())
    resume = f"bridle drive {shown_run(run)}"
    if driven is None:
        say(f"interrupted; finished work is saved. Continue with: {resume}")
        if options.as_json:
            print_document({"run": run.name, "runDir": str(run), "status": "interrupted", "resume": resume})
        return exit_codes.INTERRUPTED
    if options.as_json:
        print_document(_document(run, driven, resume))
    else:
        for line in _lines(run, driven, resume):
            show(line)
    if driven.error is not None:
        say(". ".join(filter(None, (driven.error.message, driven.error.remedy))))
    return _EXIT_CODES[driven.status]


def _document(run: Path, driven: DriveResult, resume: str) -> dict[str, Any]:
    report = driven.iteration
    return {
        "run": report.run_id,
        "runDir": str(run),
        "status": driven.status,
        "performed": driven.performed,
        "costUsd": driven.cost_usd,
        "knownCostUsd": driven.known_cost_usd,
        "output": report.output,
        "completionProof": report.completion_proof,
        "error": None if report.failure is None else report.failure.as_json(),
        "halt": report.halt,
        "questions": [question.as_json() for question in driven.questions],
        "left": [action.as_json() for action in driven.unsupported],
        "trouble": _error_document(driven),  # language: a field of the command line's contract
        "resume": None if driven.status == COMPLETED else resume,
    }


def _error_document(driven: DriveResult) -> dict[str, str] | None:
    return None if driven.error is None else {"code": driven.error.code, "message": driven.error.message}


def _lines(run: Path, driven: DriveResult, resume: str) -> Iterator[str]:
    report = driven.iteration
    cost = "" if driven.cost_usd == 0 else f", cost: {format_usd(driven.cost_usd, known=driven.known_cost_usd)}"
    count = f"{driven.performed} effect{'' if driven.performed == 1 else 's'}"
    yield f"{report.run_id}: {driven.status} ({count} executed{cost})"
    if driven.status == COMPLETED:
        import json

        yield f"output: {json.dumps(report.output, ensure_ascii=False, indent=2)}"
    if report.failure is not None:
        yield f"error: {report.failure}"
    if report.halt is not None:
        yield f"halted: {report.halt['reason']}"
    if driven.status == NONE:
        yield "the process waits for something that no pending effect can resolve"
    for question in driven.questions:
        yield f"\n{question.text}"
        yield from (f"  - {option}" for option in question.options)
        reply = "again" if question.kind == "doubt" else "approve"
        yield f'  answer with: bridle answer {question.effect_id} "{reply}" {shown_run(run)}'
    for action in driven.unsupported:
        effect = action.effect
        yield f"\n{effect.kind} effect {effect.label or effect.task_id} is for another program to execute"
        yield f"  post its result with: bridle task:post {shown_run(run)} {effect.effect_id} --status ok --value FILE"
    if driven.status not in (COMPLETED, HALTED):
        yield f"\ncontinue with: {resume}"
