"""Servers of the official `mcp` package over stdio, streamable HTTP and SSE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.mcp_runs import OFFICIAL, config, init, official, program, results, run_with, statuses
from tests.agent.fixtures.raw_host import raw_host, says

pytestmark = pytest.mark.real

KINDS = ("stdio", "http", "sse")


@pytest.mark.parametrize("kind", KINDS)
def test_tools_resources_and_instructions_reach_the_model(kind: str, tmp_path: Path) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("mcp__off__add", {"a": 1, "b": 2}),
        ("mcp__off__fail", {}),
        ("ListMcpResourcesTool", {}),
        ("ReadMcpResourceTool", {"server": "off", "uri": "mem://greeting"}),
    ]
    with (
        official(kind) as server,
        run_with(tmp_path, *wanted, flags=(*config(off=server), "--allowedTools", "mcp__off")) as host,
    ):
        assert statuses(host) == {"off": "connected"}
        assert {"mcp__off__add", "mcp__off__fail", "ListMcpResourcesTool"} <= set(init(host)["tools"])
        offered = {tool["name"]: tool for tool in host.bodies()[0]["tools"]}
        assert offered["mcp__off__add"]["description"] == "Adds two numbers"
        assert set(offered["mcp__off__add"]["input_schema"]["required"]) == {"a", "b"}
        assert "INSTRUCTIONS-OF-THE-SERVER" in str(host.bodies()[0]["messages"])
        added, failed, listed, read = results(host)
        assert "the sum is 3" in str(added["content"])
        assert failed["content"] == "Error executing tool fail"
        assert failed["is_error"]
        assert "mem://greeting" in listed["content"]
        assert "text of the greeting" in read["content"]
        assert host.end() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_is_a_slash_command(kind: str, tmp_path: Path) -> None:
    with official(kind) as server, raw_host(tmp_path, says("Hello."), flags=config(off=server)) as host:
        host.prompt("/mcp__off__greet")
        assert host.result()["num_turns"] == 0
        assert "mcp__off__greet" in init(host)["slash_commands"]
        assert "Missing required argument: who" in str(host.lines)
        host.prompt("/mcp__off__greet Ada Lovelace")
        host.result()
        assert "Please greet Ada Lovelace warmly" in str(host.bodies()[0]["messages"])
        host.prompt("/mcp__off__other")
        assert "Unknown command: /mcp__off__other" in host.result()["result"]
        assert len(host.bodies()) == 1


def test_a_program_has_the_configured_variables(tmp_path: Path) -> None:
    server = program(OFFICIAL, "stdio", ONE="${OUTER}/x", TWO="${NONE:-default}")
    wanted = [("mcp__off__variable", {"name": name}) for name in ("ONE", "TWO", "CLAUDE_PROJECT_DIR")]
    with run_with(tmp_path, *wanted, flags=(*config(off=server), "--allowedTools", "mcp__off"), OUTER="outer") as host:
        one, two, project = (str(block["content"]) for block in results(host))
        assert "outer/x" in one
        assert "default" in two
        assert str(host.workspace) in project
