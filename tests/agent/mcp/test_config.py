"""Entries of `mcpServers`: variables are expanded, and an entry that cannot be used says why."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.mcp.config import expand, parse_server, tool_name

VARIABLES = {"HOME": "/home/me", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${HOME}/x", "/home/me/x"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("${NONE}", "${NONE}"),
        ("$HOME ${not a name}", "$HOME ${not a name}"),
        ("${HOME}${HOME}", "/home/me/home/me"),
    ],
)
def test_variables_are_expanded(text: str, expected: str) -> None:
    assert expand(text, VARIABLES) == expected


def test_a_program_has_its_arguments_and_variables() -> None:
    entry = {"command": "${HOME}/run", "args": ["${NONE:-a}"], "env": {"B": "${HOME}"}}
    config = parse_server("x", entry, "dynamic", VARIABLES)
    assert (config.type, config.command, config.args, config.env) == (
        "stdio",
        "/home/me/run",
        ("a",),
        {"B": "/home/me"},
    )
    assert config.fault is None


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_remote_server_has_its_headers(kind: str) -> None:
    entry = {"type": kind, "url": "http://h/${NONE:-p}", "headers": {"Authorization": "Bearer ${HOME}"}}
    config = parse_server("x", entry, "user", VARIABLES)
    assert (config.url, config.headers) == ("http://h/p", {"Authorization": "Bearer /home/me"})


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("text", "must be an object"),
        ({}, "command"),
        ({"command": 5}, "command"),
        ({"command": "x", "args": "y"}, "args"),
        ({"command": "x", "env": {"A": 1}}, "env"),
        ({"command": "x\0"}, "command"),
        ({"url": "http://h"}, '"type"'),
        ({"type": "http"}, "url"),
        ({"type": "ws", "url": "ws://h"}, "type must be"),
        ({"type": ["x"]}, "type must be"),
    ],
)
def test_an_entry_that_cannot_be_used_says_why(entry: Any, reason: str) -> None:
    assert reason in str(parse_server("x", entry, "dynamic", {}).fault)


def test_tools_have_names_that_the_api_accepts() -> None:
    assert tool_name("my server.1", "do it") == "mcp__my_server_1__do_it"
    assert tool_name("plugin:a:b", "c") == "mcp__plugin_a_b__c"
