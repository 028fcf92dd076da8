"""The JSON of effects, results and receipts: as recorded journals have it, and tolerant of other versions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bridle.errors import InternalError
from bridle.loop import effect_results, effects
from bridle.loop.effects import Arguments, Check, CopyState
from bridle.loop.process.receipt import CheckReceipt, Receipt, TaskReceipt
from bridle.loop.process.task_state import Verdict
from bridle.loop.settings.limits import Limits
from tests.loop.fixtures.progress import ARGUMENTS

COPY = CopyState(head="h", tree=None)
TASK: dict[str, Any] = {"task": "T", "iteration": 2}

# The arguments of each kind, as version 0.1.0 recorded them.
RECORDED: list[tuple[Arguments[Any], dict[str, Any]]] = [
    (effects.PrepareArgs(), {}),
    (
        effects.CheckArgs(task="T", iteration=2, when="after", checks=(Check(command="make test", owner="task"),)),
        {**TASK, "when": "after", "checks": [{"command": "make test", "of": "task"}]},
    ),
    (
        effects.WorkArgs(task="T", iteration=2, agent="claude", failure="F", notes=("N",), after=7),
        {
            **TASK,
            "agent": "claude",
            "failure": "F",
            "notes": ["N"],
            "answer": None,
            "asked": None,
            "session_id": None,
            "after": 7,
        },
    ),
    (
        effects.ProtectArgs(task="T", iteration=2, snapshot="s", may_edit=("*.md",), tip="t"),
        {**TASK, "snapshot": "s", "may_edit": ["*.md"], "tip": "t"},
    ),
    (
        effects.CommitArgs(
            task="T", iteration=2, verdict=Verdict.GUARD_ONLY, cost_usd=0.5, checks=1, tree=None, tip="t"
        ),
        {**TASK, "verdict": "done (guard only)", "cost_usd": 0.5, "checks": 1, "tree": None, "tip": "t"},
    ),
    (effects.RollbackArgs(task="T", iteration=2, snapshot="s", why="w"), {**TASK, "snapshot": "s", "why": "w"}),
    (effects.PrepareCopyArgs(task="T", iteration=2, tip="t"), {**TASK, "tip": "t", "kept": None}),
    (effects.SaveWorkArgs(task="T", iteration=2), TASK),
    (
        effects.MergeArgs(task="T", iteration=2, verdict="done", cost_usd=0.0, checks=0, commit="c", tip="t"),
        {**TASK, "verdict": "done", "cost_usd": 0.0, "checks": 0, "commit": "c", "tip": "t"},
    ),
    (effects.LandArgs(task="T", iteration=2, commit="c", tip="t"), {**TASK, "commit": "c", "tip": "t"}),
    (effects.SummarizeArgs(iteration=10, agent="claude"), {"iteration": 10, "agent": "claude"}),
    (
        effects.PauseArgs(why="limit", reason="r", exit_code=3, receipt={"run": "R"}, after=7),
        {"why": "limit", "reason": "r", "exit_code": 3, "receipt": {"run": "R"}, "after": 7},
    ),
]


def test_every_kind_has_its_arguments_here() -> None:
    assert {args.kind for args, _ in RECORDED} == {*effects.PERFORMED, effects.PAUSE} == set(ARGUMENTS)


@pytest.mark.parametrize(("args", "document"), RECORDED, ids=lambda value: getattr(value, "kind", ""))
def test_arguments_have_the_json_of_recorded_journals(args: Arguments[Any], document: dict[str, Any]) -> None:
    assert args.as_json() == document
    assert type(args).from_json(document) == args
    assert type(args).from_json({**document, "added by a later version": 1}) == args


def test_the_working_copy_is_named_only_where_the_run_has_worktrees() -> None:
    args = effects.SaveWorkArgs(task="T", iteration=2)
    in_worktree = msgspec.structs.replace(args, copy_state=COPY)
    assert in_worktree.as_json() == {**TASK, "stands": {"head": "h", "tree": None}}
    of_worker = msgspec.structs.replace(in_worktree, worker=1)
    assert of_worker.as_json() == {**TASK, "worker": 1, "stands": {"head": "h", "tree": None}}


def test_hints_are_there_only_if_there_are_any() -> None:
    assert effects.WorkArgs(task="T", hints=("slowly",)).as_json()["hints"] == ["slowly"]
    assert "hints" not in effects.WorkArgs(task="T").as_json()


@pytest.mark.parametrize("kind", sorted(ARGUMENTS))
def test_a_result_decodes_with_missing_null_and_unknown_fields(kind: str) -> None:
    record = ARGUMENTS[kind].result
    empty = record.from_json({})
    assert record.from_json(None) == empty
    assert record.from_json({"added by a later version": {"x": 1}, "tree": None, "clock": None}) == empty
    assert record.from_json(empty.as_json()) == empty


def test_a_result_has_the_json_of_recorded_journals() -> None:
    check = {"command": "c", "of": "guard", "exit_code": 1, "seconds": 0.5, "timed_out": False, "output": "o"}
    check |= {"excerpt": "e", "log": "l", "argv": ["/bin/sh", "-c", "c"]}
    document = {"tree": "t", "passed": False, "results": [check], "changed": ["a"], "changed_count": 1}
    clock = {"since": "2026-11-14T10:00:00.000Z", "until": "2026-11-14T10:00:01.000Z"}
    result = effect_results.ChecksResult.from_json({**document, "clock": clock})
    assert result.as_json() == {**document, "clock": clock}
    assert result.results[0].owner == "guard"
    assert not result.results[0].passed
    del check["excerpt"]  # as in journals of earlier versions
    assert effect_results.ChecksResult.from_json(document).results[0].excerpt == ""


def test_a_refused_commit_names_no_tree() -> None:
    refused = effect_results.CommitResult(refused="no").as_json()
    assert refused == {"commit": None, "found": False, "folded": [], "refused": "no"}


def test_a_result_of_the_wrong_type_is_an_error_that_names_the_field() -> None:
    with pytest.raises(InternalError, match=r"WorkResult cannot be decoded: .* `\$.changed`"):
        effect_results.WorkResult.from_json({"changed": "yes"})


def test_a_receipt_leaves_out_what_there_is_not() -> None:
    check = CheckReceipt(command="c", exit_code=1, seconds=0.5, output="o", excerpt="e", log="l")
    quiet = TaskReceipt(title="T", checks=(check,)).as_json()
    ended = {"command": "c", "of": "task", "exit_code": 1, "seconds": 0.5, "output": "o", "excerpt": "e", "log": "l"}
    assert quiet["checks"] == [ended]
    assert not quiet.keys() & {"undone", "reported", "denials", "folded", "cut", "effect", "question"}
    asks = TaskReceipt(title="T", verdict=Verdict.NEEDS_YOU, question="Which?").as_json()
    assert (asks["verdict"], asks["effect"], asks["question"]) == ("needs you", None, "Which?")
    document = Receipt(run="R", tasks=(TaskReceipt(title="T"),), limits=Limits(tries=2)).as_json()
    assert not document.keys() & {"worktree", "stopped", "waiting", "at_work"}
    assert document["limits"] == {"max_iterations": 50, "max_seconds": 28800.0, "max_cost_usd": 20.0, "tries": 2}
    assert "effect" not in document["tasks"][0]
    assert Receipt.from_json(document).as_json() == document
