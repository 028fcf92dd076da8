"""An agent without a login or without an endpoint pauses the run before a task loses a try; here it is our own."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.exit_codes import AGENT_UNUSABLE
from tests.fixtures.bridle_program import BRIDLE_AGENT
from tests.loop.fixtures.fake_agent import Project
from tests.loop.fixtures.loop_commands import ONE_TASK, assert_replays, receipt_of
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

_NO_CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL")


def make(tmp_path: Path) -> tuple[Project, dict[str, str]]:
    """Create a project, and variables with which our agent has neither a key nor a login."""
    (tmp_path / "bridle").mkdir()
    variables = dict.fromkeys(_NO_CREDENTIALS, "") | {"CLAUDE_CODE_MAX_RETRIES": "0"}
    paths = {"BRIDLE_HOME": str(tmp_path / "bridle"), "BRIDLE_BRIDLE_AGENT": str(BRIDLE_AGENT)}
    return make_sandboxed_project(tmp_path, ONE_TASK, "pass"), variables | paths


def paused(here: Project, variables: dict[str, str], *options: str) -> str:
    """Run the plan until it pauses; return why."""
    done = here.bridle(
        *("run", "PLAN.md", "--json", "--agent", "bridle-agent", "--max-iterations", "1", *options), **variables
    )
    document: dict[str, Any] = receipt_of(done, AGENT_UNUSABLE)
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"], task["iterations"]) == ("pending", 0, 0)
    assert "retrying" not in done.stderr
    assert_replays(here)
    return str(task["reason"])


def test_without_a_login_our_agent_in_the_sandbox_is_not_logged_in(tmp_path: Path) -> None:
    here, variables = make(tmp_path)
    reason = paused(here, variables)
    assert reason.startswith("bridle-agent is not logged in. ")
    assert "ANTHROPIC_API_KEY" in reason
    asked = here.bridle("ask", "hello", "--agent", "bridle-agent", **variables)
    assert asked.returncode == AGENT_UNUSABLE
    assert "bridle: bridle-agent is not logged in. " in asked.stderr


@pytest.mark.parametrize("text", ["{}", "no json"])
def test_a_token_file_that_cannot_be_used_is_a_failed_login(tmp_path: Path, text: str) -> None:
    here, variables = make(tmp_path)
    (tmp_path / "bridle" / "agent-token.json").write_text(text)
    assert paused(here, variables).startswith(f"bridle-agent cannot log in ({tmp_path}/bridle/agent-token.json ")


def test_an_endpoint_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    here, variables = make(tmp_path)
    with socket.socket() as bound:  # never listens: connections are refused
        bound.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{bound.getsockname()[1]}"
        variables |= {"ANTHROPIC_BASE_URL": f"http://user:password@{where}", "ANTHROPIC_API_KEY": "key"}
        reason = paused(here, variables, "--auth", "key")
        asked = here.bridle("ask", "hello", "--agent", "bridle-agent", "--auth", "key", **variables)
    assert reason.startswith(f"bridle-agent cannot reach its endpoint http://{where} (")
    assert "password" not in reason
    assert asked.returncode == AGENT_UNUSABLE
    assert f"cannot reach its endpoint http://{where} (" in asked.stderr
