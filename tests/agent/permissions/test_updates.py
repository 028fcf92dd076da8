"""Permission updates of a host: what each changes, and that an invalid one changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.syntax import parse_rules
from bridle.agent.permissions.updates import apply_updates

POLICY = Policy(cwd="/work", home="/home/u", allow=tuple(parse_rules(["Bash(ls)"])), folders=("/extra",))


def changed(*updates: Any, may_bypass: bool = False) -> Policy:
    return apply_updates(POLICY, list(updates), may_bypass=may_bypass)


def rules(policy: Policy) -> list[str]:
    return [str(rule) for rule in policy.allow]


def test_rules_are_added_replaced_and_removed() -> None:
    new = [{"toolName": "Bash", "ruleContent": "git *"}, {"toolName": "Edit"}]
    assert rules(changed({"type": "addRules", "rules": new, "behavior": "allow"})) == [
        "Bash(ls)",
        "Bash(git *)",
        "Edit",
    ]
    assert rules(changed({"type": "replaceRules", "rules": new, "behavior": "allow"})) == ["Bash(git *)", "Edit"]
    gone = [{"toolName": "Bash", "ruleContent": "ls"}]
    assert rules(changed({"type": "removeRules", "rules": gone, "behavior": "allow"})) == []


def test_a_rule_goes_to_its_own_list() -> None:
    policy = changed({"type": "addRules", "rules": [{"toolName": "WebFetch"}], "behavior": "deny"})
    assert ([str(rule) for rule in policy.deny], rules(policy)) == (["WebFetch"], ["Bash(ls)"])


def test_folders_are_added_and_removed() -> None:
    assert changed({"type": "addDirectories", "directories": ["/tmp", "/extra"]}).folders == ("/extra", "/tmp")
    assert changed({"type": "removeDirectories", "directories": ["/extra"]}).folders == ()


def test_the_mode_is_set_but_permissions_are_bypassed_only_where_that_was_agreed_at_the_start() -> None:
    assert changed({"type": "setMode", "mode": "acceptEdits"}).mode == "acceptEdits"
    bypass = {"type": "setMode", "mode": "bypassPermissions"}
    assert (changed(bypass).mode, changed(bypass, may_bypass=True).mode) == ("default", "bypassPermissions")


@pytest.mark.parametrize(
    "update",
    [
        None,
        7,
        "addRules",
        {},
        {"type": "nope"},
        {"type": "addRules", "rules": "Bash", "behavior": "allow"},
        {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "cwd"},
        {"type": "addRules", "rules": [{"toolName": 3}, 4, None], "behavior": "allow"},
        {"type": "addDirectories", "directories": [3, "", None]},
        {"type": "setMode", "mode": "nope"},
        {"type": "setMode", "mode": ["plan"]},
    ],
)
def test_an_invalid_update_changes_nothing_and_the_next_one_applies(update: Any) -> None:
    policy = changed(update, {"type": "setMode", "mode": "plan"})
    assert (rules(policy), policy.folders, policy.mode) == (["Bash(ls)"], ("/extra",), "plan")


@pytest.mark.parametrize("updates", [None, {}, "text", 3])
def test_updates_that_are_not_a_list_change_nothing(updates: object) -> None:
    assert apply_updates(POLICY, updates, may_bypass=True) == POLICY
