"""The real Codex, Gemini CLI and OpenCode through `bridle ask` in the sandbox, each with the settings that it needs."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import os
import sqlite3
import subprocess
import threading
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
    """Ask the agent twice, the second time in the same conversation; what it said then."""
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
    for conversation in ((), ("--continue",)):
        command = ("ask", "--json", "--agent", agent, *arguments, *conversation, "how are you")
        done = run_bridle(*command, cwd=work, environment=environment, limit_seconds=LIMIT_SECONDS)
        assert "sandbox: bwrap" in done.stderr
        document = json.loads(done.stdout)
        assert (done.returncode, document["final_text"]) == (0, WORDS), (document, done.stderr)
    return document


def sessions(work: Path, agent: str) -> Path:
    """The folder of Bridle with the agent's sessions in this repository."""
    (folder,) = (work.parent / "home" / ".bridle" / "caches").glob(f"*/sessions-{agent}")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


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
    assert files_in(work.parent / "home" / ".local") == []
    with contextlib.closing(sqlite3.connect(sessions(work, "opencode") / "opencode.db")) as database:
        assert database.execute("select count(*) from session").fetchone() == (1,)


def test_gemini_runs_in_the_sandbox(work: Path) -> None:
    state = work.parent / "home" / ".gemini"
    state.mkdir()
    text = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    (state / "settings.json").write_text(text, encoding="utf-8")
    with saying(WORDS) as address:
        key = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        ask("gemini", work, "--model", "gemini-2.5-pro", **key)
    assert (state / "settings.json").read_text(encoding="utf-8") == text
    assert files_in(state) == ["settings.json"]
    # It begins another file if it continues in another minute, with the same session.
    assert len({path.stem[-8:] for path in sessions(work, "gemini").rglob("chats/*.jsonl")}) == 1


def test_codex_runs_in_the_sandbox(work: Path) -> None:
    state = work.parent / "home" / ".codex"
    state.mkdir()
    with playing(ResponsesStage([say(WORDS)] * 8)) as address:
        (state / "config.toml").write_text(CODEX.format(address=address), encoding="utf-8")
        ask("codex", work)
    assert files_in(state) == ["config.toml"]
    assert len(list(sessions(work, "codex").rglob("*.jsonl"))) == 1


class Renewal(http.server.BaseHTTPRequestHandler):
    """The server of logins: it answers every request for a new token."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(tokens("new", expires=4_000_000_000)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def tokens(refresh: str, *, expires: int) -> dict[str, str]:
    account = {"chatgpt_plan_type": "pro", "chatgpt_account_id": "account", "chatgpt_user_id": "user"}
    claims = {"email": "a@example.com", "exp": expires, "https://api.openai.com/auth": account}
    parts: tuple[dict[str, object], ...] = ({"alg": "none"}, claims, {})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    token = ".".join(encoded)
    return {"id_token": token, "access_token": token, "refresh_token": refresh}


def test_codex_renews_the_login_of_the_user_in_the_sandbox(work: Path) -> None:
    state = work.parent / "home" / ".codex"
    state.mkdir()
    login = {"auth_mode": "chatgpt", "tokens": {**tokens("old", expires=1), "account_id": "account"}}
    (state / "auth.json").write_text(json.dumps({**login, "last_refresh": "2026-01-01T00:00:00Z"}), encoding="utf-8")
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Renewal) as server,
        playing(ResponsesStage([say(WORDS)] * 8)) as address,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = CODEX.format(address=address) + "requires_openai_auth = true\n"
        (state / "config.toml").write_text(text, encoding="utf-8")
        ask("codex", work, CODEX_REFRESH_TOKEN_URL_OVERRIDE=f"http://127.0.0.1:{server.server_port}/token")
        server.shutdown()
    assert json.loads((state / "auth.json").read_text(encoding="utf-8"))["tokens"]["refresh_token"] == "new"
    assert files_in(state) == ["auth.json", "config.toml"]
