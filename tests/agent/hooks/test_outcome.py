"""What hooks decide together: exit codes, answers, and which of two decisions wins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.agent.hooks.outcome import Block, Condition, HookOutcome, HookOutput, outcome_of


def printed(answer: Any, event: str = "PreToolUse") -> HookOutcome:
    return outcome_of(event, "Bash", [HookOutput("cmd", 0, json.dumps(answer))])


def decided(permission: str, reason: str = "r", **more: Any) -> HookOutput:
    fields = {"permissionDecision": permission, "permissionDecisionReason": reason, **more}
    return HookOutput("cb", answer={"hookSpecificOutput": fields})


def test_exit_code_2_denies_a_call_and_blocks_other_events() -> None:
    denied = outcome_of("PreToolUse", "Bash", [HookOutput("x.sh", 2, "", "no\n")])
    assert (denied.permission, denied.reason) == ("deny", "PreToolUse:Bash hook error: [x.sh]: no\n")
    assert outcome_of("Stop", "", [HookOutput("x.sh", 2, "", "more")]).block == "[x.sh]: more"


@pytest.mark.parametrize("code", [None, 1, 3, 127, -9])
def test_any_other_failure_decides_nothing(code: int | None) -> None:
    output = HookOutput("x.sh", code, json.dumps({"decision": "block", "reason": "no"}), "err")
    assert outcome_of("Stop", "", [output]) == HookOutcome()


@pytest.mark.parametrize(
    ("event", "answer", "field", "value"),
    [
        ("Stop", {"decision": "block", "reason": "go on"}, "block", "go on"),
        ("Stop", {"decision": "block"}, "block", "Blocked by hook"),
        ("PreToolUse", {"decision": "block", "reason": "no"}, "permission", "deny"),
        ("PreToolUse", {"decision": "approve"}, "permission", "allow"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "ask"}}, "permission", "ask"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "defer"}}, "permission", "defer"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "perhaps"}}, "permission", None),
        ("PreToolUse", {"hookSpecificOutput": {"updatedInput": {"a": 1}}}, "updated_input", {"a": 1}),
        ("PreToolUse", {"hookSpecificOutput": {"updatedInput": "rm"}}, "updated_input", None),
        ("Stop", {"continue": False, "stopReason": "enough"}, "stops", "enough"),
        ("Stop", {"continue": False}, "stops", ""),
        ("Stop", {"continue": 0}, "stops", None),
        ("Stop", {"hookSpecificOutput": 7}, "block", None),
    ],
)
def test_the_fields_of_an_answer(event: str, answer: Any, field: str, value: object) -> None:
    assert getattr(printed(answer, event), field) == value


def test_the_strictest_permission_wins_whatever_the_order() -> None:
    outputs = [decided("allow"), decided("deny", "why"), decided("ask")]
    for order in (outputs, outputs[::-1]):
        outcome = outcome_of("PreToolUse", "Bash", order)
        assert (outcome.permission, outcome.reason) == ("deny", "why")


def test_contexts_add_up_and_plain_text_counts_only_at_the_start_and_for_prompts() -> None:
    outputs = [HookOutput("a", 0, "hello\n"), HookOutput("b", 0, "not { json")]
    assert outcome_of("SessionStart", "startup", outputs).contexts == (
        "SessionStart:startup hook success: hello",
        "SessionStart:startup hook success: not { json",
    )
    assert outcome_of("PostToolUse", "Bash", outputs) == HookOutcome()
    context = {"hookSpecificOutput": {"additionalContext": "more"}}
    assert printed(context, "PostToolUse").contexts == ("PostToolUse:Bash hook additional context: more",)


@pytest.mark.parametrize("stdout", ["{", "[1]", "{}", '{"decision": ["block"]}', "{" * 100_000])
def test_output_that_is_no_answer_decides_nothing(stdout: str) -> None:
    assert outcome_of("Stop", "", [HookOutput("a", 0, stdout)]).block is None


@pytest.mark.parametrize(
    ("event", "continues", "outcome"),
    [
        ("PreToolUse", False, HookOutcome(permission="deny", reason="PreToolUse:Bash hook error: [Ok?]: no")),
        ("PostToolUse", False, HookOutcome((Block("Ok?", "[Ok?]: no"),), stops="no")),
        ("PostToolUse", True, HookOutcome((Block("Ok?", "[Ok?]: no"),))),
        ("UserPromptSubmit", False, HookOutcome((Block("Ok?", "[Ok?]: no"),), stops="no")),
        ("Stop", False, HookOutcome((Block("Ok?", "[Ok?]: no"),))),
    ],
)
def test_a_condition_that_is_not_met_blocks_and_ends_most_turns(
    event: str, continues: bool, outcome: HookOutcome
) -> None:
    output = HookOutput("Ok?", condition=Condition(False, "no", continues))
    assert outcome_of(event, "Bash", [output]) == outcome
    assert outcome_of(event, "Bash", [HookOutput("Ok?", condition=Condition(True, "yes"))]) == HookOutcome()


def test_an_answer_to_another_event_decides_nothing() -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "more"}}
    assert printed(answer) == HookOutcome()


def test_a_decision_that_denies_wins_over_one_that_allows() -> None:
    outputs = [
        HookOutput("cb", answer={"hookSpecificOutput": {"decision": {"behavior": behavior}}})
        for behavior in ("allow", "deny", "allow")
    ]
    assert outcome_of("PermissionRequest", "Bash", outputs).decision == {"behavior": "deny"}
