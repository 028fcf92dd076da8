"""bridle-agent on the server of llama.cpp: a real chat endpoint, with a model whose answers are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.fixtures.llama_server import llama_server
from tests.real.fixtures.tiny_model import TinyModel

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("llama")]

# A hang limit; a run takes about a second on an idle machine.
LIMIT_SECONDS = 180
CALL = '{"name": "Bash", "arguments": {"command": "echo made > made.txt"}}'
TALKER = TinyModel(("Fine", " day", "."))
CALLER = TinyModel(
    ("Let", " me", " look.\n", "<tool_call>", "\n", CALL[:20], CALL[20:45], CALL[45:], "\n</tool_call>"),
    ("It", " is", " made."),
)
SMALL_PROMPT = ("--system-prompt", "Help.", "--tools", "Bash")


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(tmp_path_factory.mktemp("talker"), TALKER) as url:
        yield url


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(tmp_path_factory.mktemp("caller"), CALLER) as url:
        yield url


def run(url: str, cwd: Path, *arguments: str, program: str = "bridle-agent", stdin: str = "", **more: str) -> str:
    environment = {**os.environ, "OPENAI_BASE_URL": url, **more}
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_the_model_calls_a_tool_and_answers_to_its_result(caller: str, tmp_path: Path) -> None:
    stream = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
    found = events(run(caller, tmp_path, "-p", *SMALL_PROMPT, "--allowedTools", "Bash", *stream, "hello"))
    blocks = [block for event in found if event["type"] == "assistant" for block in event["message"]["content"]]
    assert [block["type"] for block in blocks] == ["text", "tool_use", "text"]
    assert (blocks[1]["name"], blocks[1]["input"]) == ("Bash", {"command": "echo made > made.txt"})
    assert (tmp_path / "made.txt").read_text() == "made\n"
    frames = [event["event"] for event in found if event["type"] == "stream_event"]
    texts = [frame["delta"]["text"] for frame in frames if frame.get("delta", {}).get("type") == "text_delta"]
    assert texts == ["Let", " me", " look.\n", "It", " is", " made."]
    result = found[-1]
    assert (result["result"], result["num_turns"], result["stop_reason"]) == ("It is made.", 2, "end_turn")
    assert result["usage"]["output_tokens"] == 14
    assert result["usage"]["input_tokens"] + result["usage"]["cache_read_input_tokens"] > 100
    assert result["total_cost_usd"] is None
    assert result["modelUsage"]["tiny"]["costUSD"] is None


def test_a_refused_call_is_told_to_the_model(caller: str, tmp_path: Path) -> None:
    found = json.loads(run(caller, tmp_path, "-p", *SMALL_PROMPT, "--output-format", "json", "hello"))
    assert [denial["tool_name"] for denial in found["permission_denials"]] == ["Bash"]
    assert found["result"] == "It is made."
    assert not (tmp_path / "made.txt").exists()


def test_a_conversation_is_continued(caller: str, tmp_path: Path) -> None:
    first = json.loads(run(caller, tmp_path, "-p", *SMALL_PROMPT, "--output-format", "json", "one"))
    second = json.loads(run(caller, tmp_path, "-p", "--continue", *SMALL_PROMPT, "--output-format", "json", "two"))
    assert second["session_id"] == first["session_id"]
    assert second["result"] == "It is made."


def test_a_conversation_that_is_too_long_for_the_server_is_compacted(talker: str, tmp_path: Path) -> None:
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": f"{name} " + "word " * 1800}})
        for name in ("first", "second")
    ]
    stream = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages")
    with Turns(talker, tmp_path, *SMALL_PROMPT, *stream) as turns:
        first, second = turns.turn(lines[0]), turns.turn(lines[1])
    assert first[-1]["result"] == second[-1]["result"] == "Fine day."
    assert [event["compact_metadata"]["trigger"] for event in second if event.get("subtype") == "compact_boundary"] == [
        "auto"
    ]


def test_the_endpoint_and_its_model_are_shown(talker: str, tmp_path: Path) -> None:
    host = talker.removeprefix("http://").removesuffix("/v1")
    assert run(talker, tmp_path, "auth", "status") == (
        f"requests use the chat endpoint {host} without a key, model tiny\n"
    )


def test_the_runner_asks_it_too(talker: str, tmp_path: Path) -> None:
    document = json.loads(run(talker, tmp_path, "ask", "--agent", "bridle-agent", "--json", "hello", program="bridle"))
    assert (document["final_text"], document["result_subtype"]) == ("Fine day.", "success")


class Turns:
    """A session that gets one message after the other."""

    def __init__(self, url: str, cwd: Path, *arguments: str) -> None:
        self._child = subprocess.Popen(
            [Path(sys.executable).with_name("bridle-agent"), "-p", *arguments],
            cwd=cwd,
            env={**os.environ, "OPENAI_BASE_URL": url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_error: object) -> None:
        self._child.kill()
        self._child.communicate()

    def turn(self, line: str) -> list[dict[str, Any]]:
        """Send a message and return the events up to its result."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        found: list[dict[str, Any]] = []
        for event in map(json.loads, self._child.stdout):
            found.append(event)
            if event["type"] == "result":
                break
        return found
