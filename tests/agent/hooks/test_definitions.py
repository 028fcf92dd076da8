"""Hook definitions: which subjects a pattern matches, and entries that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.hooks.definitions import (
    DEFAULT_TIMEOUT_SECONDS,
    CallbackHook,
    CommandHook,
    HookMatcher,
    HookTable,
    host_hooks,
    merge_hooks,
    settings_hooks,
)


@pytest.mark.parametrize(
    ("pattern", "subject", "is_match"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "NotebookEdit", False),
        ("mcp__.*__write", "mcp__files__write", True),
        ("Notebook.*", "NotebookEdit", True),
        ("^(?!(Glob|Grep)$).*", "Read", True),
        ("^(?!(Glob|Grep)$).*", "Grep", False),
        ("(", "(", False),
    ],
)
def test_a_pattern_is_a_name_a_list_of_names_or_an_expression(pattern: str, subject: str, is_match: bool) -> None:
    assert HookMatcher(pattern, ()).matches(subject) == is_match


def test_commands_have_a_timeout_and_the_variables_of_their_plugin() -> None:
    value = {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}]}
    table, warnings = settings_hooks(value, "a plugin", {"CLAUDE_PLUGIN_ROOT": "/p"})
    assert warnings == ()
    assert table == {"Stop": (HookMatcher("", (CommandHook("true", 5.0, (("CLAUDE_PLUGIN_ROOT", "/p"),)),)),)}


@pytest.mark.parametrize("timeout", [None, 0, -1, True, "60", float("inf"), float("nan")])
def test_a_timeout_that_is_not_one_is_the_default(timeout: Any) -> None:
    value = {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": timeout}]}]}
    ((matcher,),) = settings_hooks(value, "x")[0].values()
    assert matcher.hooks[0].timeout_seconds == DEFAULT_TIMEOUT_SECONDS


@pytest.mark.parametrize(
    "groups",
    [
        7,
        "x",
        [7],
        [{}],
        [{"hooks": []}],
        [{"hooks": "x"}],
        [{"hooks": [{"type": "prompt", "prompt": " "}]}],
        [{"hooks": [{"type": "http", "url": "http://127.0.0.1"}]}],
        [{"hooks": [{"type": "command"}]}],
        [{"hooks": [{"type": "command", "command": " "}]}],
        [{"hooks": [{"type": "command", "command": "a\0b"}]}],
    ],
)
def test_an_entry_that_cannot_be_used_is_one_warning(groups: Any) -> None:
    table, warnings = settings_hooks({"Stop": groups}, "the user settings")
    assert (table, len(warnings)) == ({}, 1)
    assert "hooks.Stop of the user settings" in warnings[0]


def test_a_host_registers_callbacks() -> None:
    value = {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h0", 3], "timeout": 9, "onFailure": "block"}]}
    assert host_hooks(value) == {"PreToolUse": (HookMatcher("Bash", (CallbackHook("h0", 9.0, True),)),)}


@pytest.mark.parametrize("value", [None, 3, [], {"Stop": None}, {"Stop": [3]}, {"Stop": [{"hookCallbackIds": "h"}]}])
def test_a_host_that_registers_nonsense_registers_nothing(value: object) -> None:
    assert host_hooks(value) == {}


def test_tables_are_merged_in_their_order() -> None:
    one: HookTable = {"Stop": (HookMatcher("", (CommandHook("1"),)),)}
    two: HookTable = {"Stop": (HookMatcher("", (CommandHook("2"),)),), "SessionEnd": ()}
    assert [matcher.hooks[0] for matcher in merge_hooks(one, two)["Stop"]] == [CommandHook("1"), CommandHook("2")]
