"""The program from outside: what it makes of bad input, and how it ends when the machine is against it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.fixtures.bridle_program import BRIDLE_AGENT as AGENT

STREAM = ["--output-format", "stream-json", "--verbose"]
LIMIT_SECONDS = 60


@dataclass(frozen=True)
class Place:
    stage: Stage
    home: Path
    workspace: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "BRIDLE_HOME": str(self.home / ".bridle"),
            "ANTHROPIC_API_KEY": "dummy",
            "ANTHROPIC_BASE_URL": self.stage.url,
            "CLAUDE_CODE_MAX_RETRIES": "0",
            **more,
        }

    def run(self, *arguments: str, given: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(AGENT), *arguments],
            input=given,
            capture_output=True,
            cwd=self.workspace,
            env=self.environment(**more),
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def shell(self, redirection: str) -> subprocess.CompletedProcess[bytes]:
        """The program started by a shell that does something to its streams."""
        return subprocess.run(
            ["/bin/sh", "-c", f'"$0" -p hi --output-format stream-json --verbose {redirection}', str(AGENT)],
            capture_output=True,
            cwd=self.workspace,
            env=self.environment(),
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def prompts(self) -> list[str]:
        """The last words of the user in each request."""
        bodies = [request.body for request in self.stage.requests if request.path == "/v1/messages"]
        users = [[message for message in body["messages"] if message["role"] == "user"] for body in bodies]
        return [messages[-1]["content"][-1]["text"] for messages in users]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    with running(load_script({"otherwise": {"blocks": ["fine"]}})) as stage:
        yield Place(stage, home, workspace)


def test_a_prompt_of_any_bytes_and_size_is_sent(place: Place) -> None:
    for given in (b"x" * 3_000_000, b"\xff\xfehello\xff", b"a\0b", "hé 🎉".encode()):
        done = place.run("-p", given=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"fine\n", b"")
        assert place.prompts()[-1] == given.decode("utf-8", "replace")


def test_an_argument_that_is_not_utf_8_is_sent_as_far_as_it_is(place: Place) -> None:
    done = place.run("-p", os.fsdecode(b"h\xe9llo"))
    assert (done.returncode, done.stdout) == (0, b"fine\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p"], "Input must be provided"),
        (["-p", "   "], "Input must be provided"),
        (["-p", "x", "--frobnicate"], "unknown option '--frobnicate'"),
        (["-p", "x", "--agent", "rev"], "--agent 'rev' not found"),
        (["-p", "x", "--worktree"], "not supported by bridle-agent"),
        (["-p", "x", "--settings", "{bad"], "--settings"),
        (["-p", "x", "--setting-sources", "moon"], "moon"),
        (["-p", "x", "--mcp-config", "/nope.json"], "MCP config file not found: /nope.json"),
        (["-p", "x", "--json-schema", "{not json"], "--json-schema is not valid JSON"),
        (["-p", "x", "--json-schema", '{"type":"nope"}'], "not a valid JSON Schema"),
        (["-p", "x", "--session-id", "foo"], "Must be a valid UUID"),
        (["-p", "x", "--system-prompt", "a", "--system-prompt-file", "b"], "Cannot use both"),
        (["-p", "x", "--append-system-prompt-file", "/nope"], "not found"),
        (["auth"], "usage: bridle-agent auth"),
    ],
)
def test_an_invalid_command_line_is_refused_before_any_request(place: Place, arguments: list[str], said: str) -> None:
    done = place.run(*arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    assert said in done.stderr.decode()
    assert place.prompts() == []


def test_the_default_tools_stay_when_an_answer_in_a_schema_is_asked_for(place: Place) -> None:
    schema = ("--json-schema", '{"type": "object"}')
    offered = []
    for choice in ((), ("--tools", "default"), ("--tools", "default", *schema), ("--tools", "", *schema)):
        place.run("-p", "hi", *choice)
        offered.append({tool["name"] for tool in place.stage.requests[-1].body.get("tools", [])})
    usual, default, structured, alone = offered
    assert {"Bash", "Edit", "Read", "Skill", "Write"} < usual == default
    assert structured == usual | {"StructuredOutput"}
    assert alone == {"StructuredOutput"}


def test_a_line_of_input_that_is_no_object_is_ignored(place: Place) -> None:
    message = {"type": "user", "message": {"role": "user", "content": "hi"}}
    given = b'5\n"text"\nnull\ntrue\n[1, 2]\n1e999\n"\\ud800"\n' + json.dumps(message).encode() + b"\n1.5\n"
    done = place.run("-p", "--input-format", "stream-json", *STREAM, given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["system", "assistant", "result"]


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_project_that_is_trusted_may_skip_permissions(place: Place, is_trusted: bool) -> None:
    (place.workspace / ".claude").mkdir()
    (place.workspace / ".claude" / "settings.json").write_text('{"dangerouslySkipPermissions": true}')
    done = place.run("-p", "hi", *STREAM, IS_SANDBOX="1", BRIDLE_TRUST_PROJECT="1" if is_trusted else "")
    init = json.loads(done.stdout.splitlines()[0])
    assert (done.returncode, init["permissionMode"]) == (0, "bypassPermissions" if is_trusted else "default")
    assert (b"BRIDLE_TRUST_PROJECT=1" in done.stderr) is not is_trusted


@pytest.mark.parametrize("flag", ["--dangerously-skip-permissions", "--permission-mode bypassPermissions", ""])
def test_a_refused_bypass_names_the_flag_or_the_file_that_the_user_gave(place: Place, flag: str) -> None:
    local = place.workspace / ".claude" / "settings.local.json"
    local.parent.mkdir()
    (place.workspace / ".git").mkdir()  # outside of a repository the file would need trust
    local.write_text("{}" if flag else '{"dangerouslySkipPermissions": true}')
    done = place.run("-p", "hi", *STREAM, *flag.split(), IS_SANDBOX="")
    refused = f"{flag or f'dangerouslySkipPermissions in {local}'} cannot be used with root/sudo privileges"
    assert (done.returncode, refused in done.stderr.decode()) == ((1, True) if os.geteuid() == 0 else (0, False))


def test_without_credentials_the_answer_names_a_way_that_works(place: Place) -> None:
    done = place.run("-p", "hi", ANTHROPIC_API_KEY="")
    advice = (
        "Not logged in · Run bridle-agent auth login, or bridle-agent auth login --from-claude to use the login of"
        " Claude Code, or set ANTHROPIC_API_KEY"
    )
    assert (done.returncode, done.stdout.decode().strip()) == (1, advice)
    assert place.run("auth", "login", given=b"sk-ant-api03-x\n", ANTHROPIC_API_KEY="").returncode == 0
    assert place.run("-p", "hi", ANTHROPIC_API_KEY="").stdout == b"fine\n"


@pytest.mark.parametrize(
    ("variables", "remedy"),
    [
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "Run: pip install 'bridle-cli[cloud]'"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, "Run: pip install 'bridle-cli[cloud]'"),
        ({"ANTHROPIC_BASE_URL": "foo"}, "Correct the variable, or unset it"),
        ({"HTTP_PROXY": "foo://x"}, "Correct the variable, or unset it"),
    ],
)
def test_what_ends_a_turn_names_its_remedy(place: Place, variables: dict[str, str], remedy: str) -> None:
    (place.home / "anthropic.py").write_text("raise ImportError\n")  # as if the package were not installed
    variables = {"PYTHONPATH": str(place.home), "NO_PROXY": "", **variables}
    done = place.run("-p", "hi", given=b"", **variables)
    assert done.returncode == 1
    assert done.stdout.decode().rstrip().endswith(remedy)
    document = json.loads(place.run("-p", "hi", "--output-format", "json", given=b"", **variables).stdout)
    assert document["errors"][0].endswith(remedy)


def test_the_login_of_claude_pays_after_the_user_agreed(place: Place) -> None:
    login = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-x", "expiresAt": 1e15}}
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / ".credentials.json").write_text(json.dumps(login))
    assert place.run("-p", "hi", ANTHROPIC_API_KEY="").returncode == 1
    assert place.run("auth", "login", "--from-claude", ANTHROPIC_API_KEY="").returncode == 0
    assert place.run("-p", "hi", ANTHROPIC_API_KEY="").stdout == b"fine\n"
    assert "authorization" in {name.lower() for name in place.stage.requests[-1].headers}


def test_compacting_nothing_says_so_once(place: Place) -> None:
    done = place.run("-p", "/compact", *STREAM)
    texts = [
        block["text"]
        for event in map(json.loads, done.stdout.splitlines())
        if event["type"] == "assistant"
        for block in event["message"]["content"]
    ]
    assert (done.returncode, texts) == (0, ["Error: No messages to compact"])
    assert place.prompts() == []


def test_missing_standard_streams_end_with_a_message(place: Place) -> None:
    for redirection, said in ((">&- < /dev/null", "Bad file descriptor"), ("> /dev/full < /dev/null", "No space left")):
        done = place.shell(redirection)
        assert done.returncode == 1
        assert said in done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()
    done = place.shell("<&-")
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["result"] == "fine"


def test_a_transcript_that_cannot_be_written_fails_the_turn_with_the_reason(place: Place) -> None:
    (place.home / "file").write_text("x")
    done = place.run("-p", "x", *STREAM, CLAUDE_CONFIG_DIR=str(place.home / "file"))
    result = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 1
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert "could not be" in result["errors"][0]


def test_a_removed_working_folder_is_reported(place: Place) -> None:
    gone = place.workspace / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", 'rmdir "$1" && exec "$0" -p x', str(AGENT), str(gone)],
        cwd=gone,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_the_version_is_accepted_by_clients_and_names_the_program(place: Place) -> None:
    for flag in ("--version", "-v"):
        said = place.run(flag).stdout.decode()
        assert said.startswith("2.1.197 (bridle-agent ")


def test_the_help_names_every_flag(place: Place) -> None:
    from bridle.agent.command_line.flags import FLAGS

    said = place.run("--help").stdout.decode()
    assert [name for flag in FLAGS for name in flag.names if name not in said] == []


def test_ignored_flags_are_named_in_the_debug_log_only(place: Place) -> None:
    log = place.home / "debug.txt"
    done = place.run("-p", "x", "--ide", "--debug-file", str(log))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "--ide is accepted and ignored" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def user(text: str, **more: Any) -> bytes:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}, **more}).encode() + b"\n"


def control(request_id: str, **request: Any) -> bytes:
    return json.dumps({"type": "control_request", "request_id": request_id, "request": request}).encode() + b"\n"


def talk(place: Place, *lines: bytes) -> list[dict[str, Any]]:
    done = place.run("--input-format", "stream-json", *STREAM, given=b"".join(lines))
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_control_requests_are_answered_and_unknown_ones_get_an_error(place: Place) -> None:
    events = talk(
        place,
        control("1", subtype="initialize", hooks=None, appendSystemPrompt="SHOUT"),
        control("2", subtype="set_model", model="haiku"),
        control("3", subtype="set_permission_mode", mode="acceptEdits"),
        control("4", subtype="set_permission_mode", mode="bypassPermissions"),
        control("5", subtype="teleport"),
        control("6", subtype="set_max_thinking_tokens", max_thinking_tokens=-1),
        user("hi"),
    )
    answers = {
        event["response"]["request_id"]: event["response"] for event in events if event["type"] == "control_response"
    }
    assert {name: answer["subtype"] for name, answer in answers.items()} == {
        "1": "success",
        "2": "success",
        "3": "success",
        "4": "error",
        "5": "error",
        "6": "error",
    }
    assert set(answers["1"]["response"]) >= {"commands", "agents", "models", "output_style", "account", "pid"}
    assert answers["5"]["error"] == "Unsupported control request subtype: teleport"
    [init] = [event for event in events if event.get("subtype") == "init"]
    assert (init["model"], init["permissionMode"]) == ("claude-haiku-4-5-20251001", "acceptEdits")
    body = place.stage.requests[-1].body
    assert any("SHOUT" in block["text"] for block in body["system"])


def test_an_interrupt_that_comes_before_its_turn_ends_that_turn(place: Place) -> None:
    events = talk(place, user("hi"), control("1", subtype="interrupt"))
    results = [event for event in events if event["type"] == "result"]
    assert len(results) == 1


def test_a_hook_that_fails_is_named_in_the_debug_log(place: Place) -> None:
    log = place.home / "debug.txt"
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo broken >&2; exit 1"}]}]}}
    place.run("-p", "x", "--settings", json.dumps(hooks), "--debug-file", str(log))
    assert "hook UserPromptSubmit 'echo broken >&2; exit 1' failed and is ignored: broken" in log.read_text()
