"""The receipt of a run as an in-toto statement: its commits are the subjects, what verified them is the predicate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.errors import UsageError
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.digest import sha256
from bridle.loop.performers.branch import ITERATION, JOURNAL, TASK
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.run_inputs import RunInputs
from bridle.workspace.commit import CommitInfo

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:bridle:receipt:v1"

# The commands and current states of the receipt, which prove nothing.
_OMITTED = (
    *(
        "resume",
        "undo",
        "merge",
        "review",
        "pull_request",
        "worktree",
        "waiting",
        "at_work",
        "stopped",
        "put_aside",
        "uncommitted",
        "tasks",
    ),
    "isolation_scope",
)


def build_statement(
    receipt: Receipt, inputs: RunInputs, commits: Sequence[CommitInfo], *, version: str
) -> dict[str, Any]:
    """Return the statement about a run; `commits` are those of its tasks."""
    document = {name: value for name, value in receipt.as_json().items() if name not in _OMITTED}
    trailers = {info.commit: info.trailers for info in commits}
    plan = json.dumps(inputs.plan.as_json(), sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogateescape")
    predicate = {
        **document,
        "bridle": version,
        "base": inputs.base,
        "plan_sha256": sha256(plan),
        "agents": [{"name": name, "model": inputs.settings.model} for name in inputs.settings.agents],
        "tasks": [_task(task, trailers.get(task.commit or "", {})) for task in receipt.tasks],
    }
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": info.trailers.get(TASK, info.commit), "digest": {"gitCommit": info.commit}} for info in commits
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def encode_statement(statement: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed."""
    return json.dumps(statement, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def _task(task: TaskReceipt, trailers: Mapping[str, str]) -> dict[str, Any]:
    document = task.as_json()
    checks = [{name: value for name, value in check.items() if name != "output"} for check in document["checks"]]
    return {**document, "checks": checks, "iteration": trailers.get(ITERATION), "journal": trailers.get(JOURNAL)}


class StatementFacts(Struct, frozen=True):
    """What a statement says that can be compared with commits and a journal."""

    run: str
    commits: Mapping[str, Mapping[str, str | None]]
    """For each commit the trailers that it must have, as far as they are known."""
    journal: tuple[int, str] | None
    """The sequence and the head of the journal when it was signed."""


def read_statement(statement: Mapping[str, Any]) -> StatementFacts:
    """Return the facts of a statement; raise UsageError if it is not one of a receipt."""
    if statement.get("_type") != STATEMENT_TYPE or statement.get("predicateType") != PREDICATE_TYPE:
        found = statement.get("predicateType")
        raise UsageError(f"a receipt must be an in-toto statement of the type {PREDICATE_TYPE}, got {found!r}")
    predicate = JsonFields(statement.get("predicate"))
    tasks = {fields.text("commit"): fields for fields in map(JsonFields, _list(predicate.value("tasks")))}
    commits: dict[str, Mapping[str, str | None]] = {}
    for subject in map(JsonFields, _list(statement.get("subject"))):
        commit = JsonFields(subject.value("digest")).text("gitCommit")
        if commit is not None:
            task = tasks.get(commit)
            named = {} if task is None else {ITERATION: task.text("iteration"), JOURNAL: task.text("journal")}
            commits[commit] = {TASK: subject.text("name"), **named}
    journal = JsonFields(predicate.value("journal"))
    sequence, head = journal.value("sequence"), journal.text("head")
    known = (sequence, head.removeprefix("sha256:")) if isinstance(sequence, int) and head is not None else None
    return StatementFacts(predicate.text("run") or "", commits, known)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
