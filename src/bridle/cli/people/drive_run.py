"""Driving a run from the command line: how it is told when it ends, and which exit code says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.cli.people.terminal import INTERRUPTED, print_document, run_until_told, say, show, shown_run
from bridle.engine.drive import driver
from bridle.engine.drive.driver import Driven, DriveOptions
from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iteration_report import COMPLETED, FAILED, HALTED, NONE
from bridle.journal.stores.file_store import FileStore

EXIT_CODES = {COMPLETED: 0, FAILED: 1, HALTED: 1, NONE: 1, driver.LIMIT: 3, driver.WAITING: 4, driver.UNUSABLE: 5}


@dataclass(frozen=True)
class Ways:
    """What does not concern the run but the program."""

    as_json: bool = False
    hooks: bool = True
    plugin_root: Path | None = None


def drive_run(run: Path, manner: DriveOptions, ways: Ways) -> int:
    """Drive a run, with a line on stderr for whatever happens; the exit code."""
    hooks = Hooks(repository_of(run), os.environ, ways.plugin_root, enabled=ways.hooks)
    driven = run_until_told(driver.drive(lambda: FileStore(run), run, hooks, manner, say=say))
    go_on = f"bridle drive {shown_run(run)}"
    if driven is None:
        say(f"interrupted; everything that is done is kept. Go on with: {go_on}")
        if ways.as_json:
            print_document({"run": run.name, "runDir": str(run), "status": "interrupted", "resume": go_on})
        return INTERRUPTED
    if ways.as_json:
        print_document(_document(run, driven, go_on))
    else:
        for line in _lines(run, driven, go_on):
            show(line)
    if driven.trouble is not None:
        say("; ".join(filter(None, (driven.trouble.message, driven.trouble.remedy))))
    return EXIT_CODES[driven.status]


def _document(run: Path, driven: Driven, go_on: str) -> dict[str, Any]:
    found = driven.iteration
    return {
        "run": found.run_id,
        "runDir": str(run),
        "status": driven.status,
        "performed": driven.performed,
        "costUsd": driven.cost_usd,
        "output": found.output,
        "completionProof": found.completion_proof,
        "error": found.error,
        "halt": found.halt,
        "questions": [question.as_json() for question in driven.questions],
        "left": [action.as_json() for action in driven.left],
        "trouble": None if driven.trouble is None else {"code": driven.trouble.code, "message": driven.trouble.message},
        "resume": None if driven.status == COMPLETED else go_on,
    }


def _lines(run: Path, driven: Driven, go_on: str) -> Iterator[str]:
    found = driven.iteration
    cost = f", {driven.cost_usd:.4f} USD" if driven.cost_usd else ""
    yield f"{found.run_id}: {driven.status} ({driven.performed} effects performed{cost})"
    if driven.status == COMPLETED:
        import json

        yield f"output: {json.dumps(found.output, ensure_ascii=False, indent=2)}"
    if found.error is not None:
        yield f"error: {found.error['name']}: {found.error['message']}"
    if found.halt is not None:
        yield f"halted: {found.halt['reason']}"
    if driven.status == NONE:
        yield "the process waits for something that no effect of the run will give it"
    for question in driven.questions:
        yield f"\n{question.text}"
        yield from (f"  - {option}" for option in question.options)
        words = "again" if question.kind == "doubt" else "approve"
        yield f'  answer with: bridle answer {question.effect_id} "{words}" {shown_run(run)}'
    for action in driven.left:
        effect = action.effect
        yield f"\n{effect.kind} effect {effect.label or effect.task_id} is for somebody else to perform"
        yield f"  post it with: bridle task:post {shown_run(run)} {effect.effect_id} --status ok --value FILE"
    if driven.status not in (COMPLETED, HALTED):
        yield f"\ngo on with: {go_on}"
