"""Where servers are configured, what counts of a repository, and which rules hold for their tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.mcp_runs import RAW, config, init, program, results, run_with, statuses
from tests.agent.fixtures.raw_host import LIMIT_SECONDS
from tests.fixtures.bridle_program import BRIDLE_AGENT


def write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def servers(**found: Any) -> dict[str, Any]:
    return {"mcpServers": found}


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    """A folder with servers in every place but the flags."""
    workspace, settings = tmp_path / "workspace", tmp_path / "home" / ".claude"
    local = {str(workspace.resolve()): servers(local=program(RAW))}
    write(workspace / ".mcp.json", servers(project=program(RAW)))
    write(settings / ".claude.json", {**servers(user=program(RAW)), "projects": local})
    plugin = workspace / "plugin"
    write(plugin / ".claude-plugin" / "plugin.json", {"name": "plug", **servers(one=program(RAW))})
    write(plugin / ".mcp.json", servers(two={"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/run.py"]}))
    (plugin / "run.py").write_text(RAW.read_text())
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        ((), {}, {"user", "local"}),
        ((), {"BRIDLE_TRUST_PROJECT": "1"}, {"user", "project", "local"}),
        (("--setting-sources", "user"), {"BRIDLE_TRUST_PROJECT": "1"}, {"user"}),
        (("--setting-sources", "project"), {"BRIDLE_TRUST_PROJECT": "1"}, {"project"}),
        (("--settings", '{"disabledMcpjsonServers":["project"]}'), {"BRIDLE_TRUST_PROJECT": "1"}, {"user", "local"}),
        (("--strict-mcp-config",), {}, set()),
        (("--strict-mcp-config", *config(flag=program(RAW))), {}, {"flag"}),
        (("--bare", *config(flag=program(RAW))), {}, {"flag"}),
        (("--plugin-dir", "plugin"), {}, {"user", "local", "plugin:plug:one", "plugin:plug:two"}),
    ],
)
def test_servers_come_from_these_places(
    configured: Path, flags: tuple[str, ...], environment: dict[str, str], expected: set[str]
) -> None:
    with run_with(configured, flags=flags, **environment) as host:
        assert statuses(host) == dict.fromkeys(expected, "connected")


def test_a_flag_replaces_a_server_of_the_same_name_and_several_flags_count(configured: Path) -> None:
    write(configured / "workspace" / "more.json", servers(file=program(RAW)))
    flags = ("--mcp-config", "more.json", *config(user={"command": "/no/such"}, flag=program(RAW)))
    with run_with(configured, flags=flags) as host:
        expected = {"user": "failed", "local": "connected", "file": "connected", "flag": "connected"}
        assert statuses(host) == expected


def test_servers_of_a_repository_that_is_not_trusted_are_named_on_stderr(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    write(tmp_path / ".mcp.json", servers(evil={"command": "touch", "args": [str(marker)]}))
    done = agent(tmp_path, "go")
    assert "Ignoring 1 MCP server from" in done.stderr
    assert "bridle trust" in done.stderr
    assert not marker.exists()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("nofile.json", "MCP config file not found"),
        ('{"x": 1}', "mcpServers: expected an object"),
        ('{"mcpServers": []}', "mcpServers: expected an object"),
    ],
)
def test_an_invalid_flag_is_fatal(value: str, reason: str, tmp_path: Path) -> None:
    done = agent(tmp_path, "go", "--mcp-config", value)
    assert done.returncode == 1
    assert "Error: Invalid MCP configuration:" in done.stderr
    assert reason in done.stderr


def test_a_file_that_is_not_json_is_fatal_as_a_flag(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{nope")
    done = agent(tmp_path, "go", "--mcp-config", "bad.json")
    assert (done.returncode, "MCP config is not a valid JSON" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("rules", "is_offered", "is_called"),
    [
        ({}, True, False),
        ({"allow": ["mcp__raw"]}, True, True),
        ({"allow": ["mcp__raw__*"]}, True, True),
        ({"allow": ["mcp__raw__do"]}, True, True),
        ({"allow": ["mcp__raw__see"]}, True, False),
        ({"allow": ["mcp__ra"]}, True, False),
        ({"allow": ["mcp__raw"], "ask": ["mcp__raw__do"]}, True, False),
        ({"allow": ["mcp__raw"], "ask": ["mcp__raw"]}, True, False),
        ({"allow": ["mcp__raw"], "deny": ["mcp__raw__do"]}, False, False),
        ({"allow": ["mcp__raw__do"], "deny": ["mcp__raw"]}, False, False),
        ({"allow": ["mcp__raw__do"], "deny": ["mcp__raw__*"]}, False, False),
    ],
)
def test_rules_hold_for_servers_and_tools(
    rules: dict[str, list[str]], *, is_offered: bool, is_called: bool, tmp_path: Path
) -> None:
    flags = (*config(raw=program(RAW)), "--settings", json.dumps({"permissions": rules}))
    with run_with(tmp_path, ("mcp__raw__do", {"kind": "two"}), flags=flags) as host:
        assert ("mcp__raw__do" in init(host)["tools"]) is is_offered
        [found] = results(host)
        assert ("is_error" not in found) is is_called
        if is_offered and not is_called:
            assert "requested permissions to use mcp__raw__do" in found["content"]
        if not is_offered:
            assert "No such tool available: mcp__raw__do" in found["content"]


def test_tools_of_servers_are_offered_beside_those_of_the_flag(tmp_path: Path) -> None:
    with run_with(tmp_path, flags=("--tools", "Read", *config(raw=program(RAW)))) as host:
        assert init(host)["tools"] == ["Read", "mcp__raw__do", "mcp__raw__see"]


def test_without_servers_nothing_of_mcp_is_imported(tmp_path: Path) -> None:
    code = "import sys; sys.argv[0] = 'bridle-agent'; from bridle.agent.program import run; run(sys.argv[1:]);"
    code += " print([name for name in sys.modules if 'agent.mcp' in name or name.endswith('mcp_configs')])"
    done = subprocess.run(
        [sys.executable, "-c", code, "-p", "go"],
        cwd=tmp_path,
        env=variables(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def agent(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run bridle-agent without a model: what is asserted comes before the first request."""
    return subprocess.run(
        [str(BRIDLE_AGENT), "-p", *arguments],
        cwd=folder,
        env=variables(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def variables(folder: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "BRIDLE_HOME": str(folder / "home" / ".bridle"),
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }
