"""The real Codex, Gemini CLI and OpenCode through `bridle ask` in the sandbox, each with the settings that it needs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.fixtures.bridle_program import run_bridle
from tests.real.fixtures.generate_content import saying
from tests.real.fixtures.installed_programs import program
from tests.real.fixtures.responses_stage import ResponsesStage, playing, say

pytestmark = pytest.mark.real

# A start takes one to ten seconds, on a busy machine a minute: a hang.
LIMIT_SECONDS = 300.0
WORDS = "All is well."
CODEX = """
model = "scripted"
model_provider = "stage"

[model_providers.stage]
name = "stage"
base_url = "{address}"
wire_api = "responses"
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository beside an empty home."""
    folder = tmp_path / "work"
    (tmp_path / "home").mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=LIMIT_SECONDS)
    return folder


def ask(agent: str, work: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    """Ask the agent twice, since the first time it may make its folders; what it said the second time."""
    home = work.parent / "home"
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "BRIDLE_HOME": str(home / ".bridle"),
        f"BRIDLE_{agent.upper()}": str(program(agent)),
        **variables,
    }
    document: dict[str, Any] = {}
    for _ in range(2):
        command = ("ask", "--json", "--agent", agent, *arguments, "how are you")
        done = run_bridle(*command, cwd=work, environment=environment, limit_seconds=LIMIT_SECONDS)
        assert "sandbox: bwrap" in done.stderr
        document = json.loads(done.stdout)
        assert (done.returncode, document["final_text"]) == (0, WORDS), (document, done.stderr)
    return document


def test_opencode_runs_in_the_sandbox_and_leaves_nothing_beside_its_settings(work: Path) -> None:
    settings = work.parent / "home" / ".config" / "opencode"
    settings.mkdir(parents=True)
    with running(load_script({"answers": [{"blocks": [WORDS]}] * 8})) as stage:
        options = {"baseURL": f"{stage.url}/v1", "apiKey": "dummy"}
        text = json.dumps({"provider": {"anthropic": {"options": options}}, "autoupdate": False, "share": "disabled"})
        (settings / "opencode.json").write_text(text, encoding="utf-8")
        ask("opencode", work, "--model", "anthropic/claude-sonnet-4-5")
    assert os.listdir(settings) == ["opencode.json"]
    assert (settings / "opencode.json").read_text(encoding="utf-8") == text
    assert list((work.parent / "home" / ".local/share/opencode").glob("*.db"))


def test_gemini_runs_in_the_sandbox(work: Path) -> None:
    state = work.parent / "home" / ".gemini"
    state.mkdir()
    text = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    (state / "settings.json").write_text(text, encoding="utf-8")
    with saying(WORDS) as address:
        key = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        ask("gemini", work, "--model", "gemini-2.5-pro", **key)
    assert (state / "settings.json").read_text(encoding="utf-8") == text


def test_codex_runs_in_the_sandbox(work: Path) -> None:
    state = work.parent / "home" / ".codex"
    state.mkdir()
    with playing(ResponsesStage([say(WORDS)] * 8)) as address:
        (state / "config.toml").write_text(CODEX.format(address=address), encoding="utf-8")
        ask("codex", work)
    assert list((state / "sessions").rglob("*.jsonl"))
