"""`bridle-agent` in the place of `claude` under ralph: its two command lines, driven as it drives them.

ralph starts a shell command with one pipe each way, writes one message, reads lines until a result, corrects up to
three times, closes its end and waits for the exit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.fixtures.bridle_program import BRIDLE_AGENT as AGENT
from tests.real.fixtures.claude_on_stage import calls, offered, processes_with, says, user_texts, wait_for

SCHEMA = '{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}'
WORKER = (
    "MAX_THINKING_TOKENS=16384 ANTHROPIC_API_KEY= claude -p --model sonnet "
    '--tools "Read,Write,Edit,Glob,Grep,Bash,Skill,StructuredOutput" '
    f"--verbose --input-format stream-json --output-format stream-json --json-schema '{SCHEMA}'"
)
SUMMARIZER = (
    'MAX_THINKING_TOKENS=16384 ANTHROPIC_API_KEY= claude -p --model haiku --tools "Read,Glob,Grep,StructuredOutput" '
    f"--verbose --input-format stream-json --output-format stream-json --json-schema '{SCHEMA}'"
)
PRINT = "claude -p --output-format stream-json --verbose --include-partial-messages go < /dev/null"
CORRECTION = 'You must use the StructuredOutput tool. Return: {"summary": "what you accomplished"}'
MAX_CORRECTIONS = 3
# An exit takes a tenth of a second; this is a hang.
LIMIT_SECONDS = 60.0

DONE = calls("StructuredOutput", summary="DONE")
SLEEP = calls("Bash", command="touch started; sleep 9000")
HANG = {"kind": "hang"}
HALF = {"kind": "hang", "blocks": ["This sentence will never be finished, I fear"], "after_events": 4}


@dataclass(frozen=True)
class Ralph:
    """The part of ralph that talks to `claude`."""

    process: subprocess.Popen[bytes]
    mark: str

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read_until_result(self) -> list[dict[str, Any]]:
        """Every event up to the next result; each line must be one."""
        return self.read_until(lambda event: event["type"] == "result")

    def read_until(self, is_last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Every event up to the next of this sort."""
        assert self.process.stdout is not None
        events = []
        for line in self.process.stdout:
            events.append(json.loads(line))
            if is_last(events[-1]):
                break
        return events

    def invoke(self, prompt: str) -> list[list[dict[str, Any]]]:
        """One whole session: the events of each turn."""
        self.say(prompt)
        turns = [self.read_until_result()]
        while "structured_output" not in turns[-1][-1] and len(turns) <= MAX_CORRECTIONS:
            self.say(CORRECTION)
            turns.append(self.read_until_result())
        return turns

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """Close the write end, wait, and see that nothing is left; the exit code and what still came."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.process.stdout]
        code = self.process.wait(LIMIT_SECONDS)
        assert processes_with(self.mark) == []
        return code, rest

    def agent_pid(self) -> int:
        """The agent itself: some shells become it, some wait for it."""
        [pid] = [
            pid
            for pid in processes_with(self.mark)
            if "bridle-agent" in _arguments(pid) or "/claude" in _arguments(pid)
        ]
        return pid


@dataclass(frozen=True)
class Place:
    """Where ralph works: a clone, a home, and a model's server."""

    stage: Stage
    home: Path
    clone: Path

    @contextmanager
    def popen(self, command: str) -> Iterator[Ralph]:
        """`IO.popen(command, "r+")`."""
        mark = f"ralph-{uuid.uuid4().hex}"
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.clone,
            env=self._environment(mark),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            yield Ralph(process, mark)
        finally:
            for pid in processes_with(mark):
                os.kill(pid, signal.SIGKILL)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.stage.requests if request.path == "/v1/messages"]

    def _environment(self, mark: str) -> dict[str, str]:
        return {
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_AUTH_TOKEN": "kept-login",
            "ANTHROPIC_BASE_URL": self.stage.url,
            "RALPH_MARK": mark,
        }


@contextmanager
def place(folder: Path, *answers: dict[str, Any], **fields: Any) -> Iterator[Place]:
    home, clone = folder / "home", folder / "clone"
    for path in (home / "bin", home / ".claude", clone):
        path.mkdir(parents=True)
    (home / "bin" / "claude").symlink_to(AGENT)
    allow = {"permissions": {"allow": ["Bash", "Write", "Edit"]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(allow), encoding="utf-8")
    with running(load_script({"answers": list(answers), **fields})) as stage:
        yield Place(stage, home, clone)


def test_the_worker_does_a_step_and_ends(tmp_path: Path) -> None:
    step = calls("Write", file_path=str(tmp_path / "clone" / "made.txt"), content="made\n")
    with place(tmp_path, step, calls("Bash", command="cat made.txt"), DONE) as here, here.popen(WORKER) as ralph:
        [events] = ralph.invoke("make it")
        assert ralph.end() == (0, [])
        kinds = [event["type"] for event in events]
        assert kinds == ["system", *["assistant", "user"] * 3, "result"]
        assert events[-1]["structured_output"] == {"summary": "DONE"}
        assert events[4]["tool_use_result"]["stdout"] == "made"
        assert (here.clone / "made.txt").read_text("utf-8") == "made\n"
        body = here.bodies()[0]
        assert offered(body) == {"Read", "Write", "Edit", "Glob", "Grep", "Bash", "Skill", "StructuredOutput"}
        assert (body["model"], body["thinking"]) == ("claude-sonnet-5", {"type": "adaptive"})
        assert here.stage.requests[-1].headers.get("x-api-key") is None


def test_the_summarizer_reads_and_ends(tmp_path: Path) -> None:
    with place(tmp_path, calls("Glob", pattern="*"), DONE) as here, here.popen(SUMMARIZER) as ralph:
        [events] = ralph.invoke("sum it up")
        assert ralph.end() == (0, [])
        assert events[-1]["structured_output"] == {"summary": "DONE"}
        body = here.bodies()[0]
        assert offered(body) == {"Read", "Glob", "Grep", "StructuredOutput"}
        assert body["model"] == "claude-haiku-4-5-20251001"
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 16384}


def test_three_corrections_on_one_stdin_are_three_more_turns(tmp_path: Path) -> None:
    third = {"when": {"in": "messages", "matches": "(?s)" + ".*".join(["You must use the"] * 3)}, **DONE}
    words = {**says("Words."), "usage": {"input_tokens": 7, "output_tokens": 3}}
    with place(tmp_path, third, otherwise=words) as here, here.popen(WORKER) as ralph:
        turns = ralph.invoke("do it")
        assert ralph.end() == (0, [])
        results = [turn[-1] for turn in turns]
        assert len(results) == 1 + MAX_CORRECTIONS
        assert [result.get("structured_output") for result in results] == [None, None, None, {"summary": "DONE"}]
        assert [result["is_error"] for result in results] == [True, True, True, False]
        assert {result["session_id"] for result in results} == {results[0]["session_id"]}
        assert all(turn[0]["subtype"] == "init" for turn in turns)
        # ralph adds up the usage of the results: each must hold its own turn's and no more.
        with_words = len(here.bodies()) - 1
        assert sum(result["usage"]["input_tokens"] for result in results[:3]) == 7 * with_words
        assert [text for text in user_texts(here.bodies()[-1]) if text == CORRECTION] == [CORRECTION] * 3


def test_a_session_that_never_gets_its_form_ends_with_a_failure(tmp_path: Path) -> None:
    with place(tmp_path, otherwise=says("Words.")) as here, here.popen(WORKER) as ralph:
        turns = ralph.invoke("do it")
        assert ralph.end() == (1, [])
        assert [turn[-1]["subtype"] for turn in turns] == ["error_max_structured_output_retries"] * 4


def test_an_end_of_stdin_before_the_answer_does_not_cut_the_turn(tmp_path: Path) -> None:
    with place(tmp_path, {"delay_seconds": 0.3, **DONE}) as here, here.popen(WORKER) as ralph:
        ralph.say("do it")
        code, events = ralph.end()
        assert (code, events[-1]["structured_output"]) == (0, {"summary": "DONE"})


MOMENTS: dict[str, dict[str, Any]] = {"waiting": HANG, "streaming": HALF, "in a tool": SLEEP}
CODES = [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_to_the_worker_gives_one_result_and_leaves_nothing(
    number: signal.Signals, code: int, moment: str, tmp_path: Path
) -> None:
    with place(tmp_path, MOMENTS[moment]) as here, here.popen(WORKER) as ralph:
        ralph.say("do it")
        reach(moment, here)
        os.kill(ralph.agent_pid(), number)
        events = ralph.read_until_result()
        assert ralph.end() == (code, [])
        assert_interrupted(events)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), *CODES[1:]])
def test_a_signal_in_plain_print_mode_gives_one_result_and_leaves_nothing(
    number: signal.Signals, code: int, moment: str, tmp_path: Path
) -> None:
    with place(tmp_path, MOMENTS[moment]) as here, here.popen(PRINT) as ralph:
        reach(moment, here)
        if moment == "streaming":
            assert ralph.read_until(lambda event: event.get("event", {}).get("type") == "content_block_delta")
        os.kill(ralph.agent_pid(), number)
        events = ralph.read_until_result()
        assert ralph.end() == (code, [])
        assert_interrupted(events)
        # What the endpoint had counted of the answer was paid for.
        assert (events[-1]["usage"]["input_tokens"] > 0) is (events[-1]["total_cost_usd"] > 0) is (moment != "waiting")


def test_a_signal_to_the_whole_group_leaves_nothing(tmp_path: Path) -> None:
    with place(tmp_path, SLEEP) as here, here.popen(WORKER) as ralph:
        ralph.say("do it")
        reach("in a tool", here)
        os.killpg(ralph.process.pid, signal.SIGINT)
        events = ralph.read_until_result()
        ralph.end()
        assert_interrupted(events)


@pytest.mark.parametrize("moment", ["waiting", "in a tool"])
def test_a_reader_that_is_gone_ends_the_agent_and_its_tools(moment: str, tmp_path: Path) -> None:
    with place(tmp_path, MOMENTS[moment]) as here, here.popen(WORKER) as ralph:
        ralph.say("do it")
        reach(moment, here)
        assert ralph.process.stdin is not None
        assert ralph.process.stdout is not None
        ralph.process.stdin.close()
        ralph.process.stdout.close()
        ralph.process.wait(LIMIT_SECONDS)
        assert processes_with(ralph.mark) == []


def test_a_killed_agent_leaves_no_tool_behind(tmp_path: Path) -> None:
    with place(tmp_path, SLEEP) as here, here.popen(WORKER) as ralph:
        ralph.say("do it")
        reach("in a tool", here)
        os.kill(ralph.agent_pid(), signal.SIGKILL)
        ralph.process.wait(LIMIT_SECONDS)
        wait_for(lambda: processes_with(ralph.mark) == [], "end of the tool")


def reach(moment: str, here: Place) -> None:
    """Wait until the turn is where the signal shall find it."""
    wait_for(here.bodies, "request")
    if moment == "in a tool":
        wait_for((here.clone / "started").exists, "start of the command")


def assert_interrupted(events: list[dict[str, Any]]) -> None:
    results = [event for event in events if event["type"] == "result"]
    assert [(result["subtype"], result["is_error"]) for result in results] == [("error_during_execution", True)]
    assert isinstance(results[0]["errors"], list)
    assert results[0]["errors"]


def _arguments(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
