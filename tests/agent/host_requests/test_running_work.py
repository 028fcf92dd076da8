"""Requests about work that waits or runs."""

from __future__ import annotations

import time
from pathlib import Path

from tests.agent.fixtures.raw_host import LIMIT_SECONDS, RawHost, calls, raw_host, says

QUEUED, DROPPED = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.01)


def queue(host: RawHost, uuid: str, text: str) -> None:
    host.send({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}})


def texts_of(host: RawHost) -> str:
    return str(host.bodies()[-1]["messages"])


def test_a_message_that_waits_can_be_dropped(tmp_path: Path) -> None:
    slow = ("Bash", {"command": "touch started; while [ ! -e go ]; do sleep 0.02; done"})
    with raw_host(tmp_path, calls(slow), says("done"), flags=("--allowedTools", "Bash")) as host:
        host.prompt("go")
        wait_for(host.workspace / "started")
        queue(host, QUEUED, "stays")
        queue(host, DROPPED, "is dropped")
        host.request("1", subtype="cancel_async_message", message_uuid=DROPPED)
        assert host.response("1")["response"] == {"cancelled": True}
        host.request("2", subtype="cancel_async_message", message_uuid=DROPPED)
        assert host.response("2")["response"] == {"cancelled": False}
        (host.workspace / "go").touch()
        host.result()
        assert "stays" in texts_of(host)
        assert "is dropped" not in texts_of(host)


def test_an_interrupt_can_drop_what_waits(tmp_path: Path) -> None:
    slow = ("Bash", {"command": "touch started; sleep 60"})
    with raw_host(tmp_path, calls(slow), says("done"), flags=("--allowedTools", "Bash")) as host:
        host.prompt("go")
        wait_for(host.workspace / "started")
        queue(host, DROPPED, "is dropped")
        host.request("1", subtype="interrupt", cancel_queued=True)
        assert host.response("1")["response"] == {"still_queued": [], "cancelled": [DROPPED]}
        assert host.result()["subtype"] == "error_during_execution"
        host.prompt("next")
        assert host.result()["result"] == "done"
        assert "is dropped" not in texts_of(host)


def test_a_stopped_task_is_dead_and_reported(tmp_path: Path) -> None:
    command = "echo $$ > pid; sleep 60; touch never"
    start = ("Bash", {"command": command, "run_in_background": True})
    with raw_host(tmp_path, calls(start), says("done"), flags=("--allowedTools", "Bash")) as host:
        host.prompt("go")
        host.result()
        wait_for(host.workspace / "pid")
        task_id = next(line["task_id"] for line in host.lines if line.get("subtype") == "task_started")
        host.request("1", subtype="stop_task", task_id="unknown")
        assert host.response("1")["response"] == {}
        host.request("2", subtype="stop_task", task_id=task_id)
        host.response("2")
        while not (ended := [line for line in host.lines if line.get("subtype") == "task_notification"]):
            host.until(lambda _line: True)
        assert (ended[0]["task_id"], ended[0]["status"]) == (task_id, "stopped")
        pid = int((host.workspace / "pid").read_text())
        assert not Path(f"/proc/{pid}").exists()


def test_an_interrupt_during_the_hooks_of_a_prompt_ends_its_turn(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("unused")) as host:
        hooks = {"UserPromptSubmit": [{"hookCallbackIds": ["hook_0"]}]}
        host.request("1", subtype="initialize", hooks=hooks)
        host.prompt("go")
        host.asked("hook_callback")
        host.request("2", subtype="interrupt")
        assert host.result()["subtype"] == "error_during_execution"
        assert "control_cancel_request" in [line["type"] for line in host.lines]
        assert host.end() == 1


AGENT = ("Agent", {"description": "d", "prompt": "sub task", "subagent_type": "general-purpose"})
ASKS = ("--permission-prompt-tool", "stdio")


def test_one_of_two_sub_agents_that_ask_is_stopped_and_the_other_ends(tmp_path: Path) -> None:
    touch = calls(("Bash", {"command": "touch x"}))
    answers = (calls(AGENT, AGENT), touch, touch, says("its report"), says("done"))
    with raw_host(tmp_path, *answers, flags=ASKS) as host:
        host.prompt("go")
        first, second = host.asked("can_use_tool"), host.asked("can_use_tool")
        host.request("1", subtype="stop_task", task_id=first["agent_id"])
        assert host.response("1")["subtype"] == "success"
        cancelled = [line["request_id"] for line in host.lines if line["type"] == "control_cancel_request"]
        assert cancelled == [first["request_id"]]
        host.respond(second["request_id"], {"behavior": "allow", "updatedInput": second["input"]})
        assert host.result()["result"] == "done"
        stopped, report = sorted(host.last_results(), key=len)
        assert stopped == "[Request interrupted by user for tool use]"
        assert "its report" in report
        ends = [line["status"] for line in host.lines if line.get("subtype") == "task_notification"]
        assert sorted(ends) == ["completed", "stopped"]


def test_a_command_in_the_background_of_a_sub_agent_is_stopped(tmp_path: Path) -> None:
    sleeps = ("Bash", {"command": "sleep 60", "run_in_background": True})
    waits = ("Bash", {"command": "while [ ! -e go ]; do sleep 0.02; done"})
    answers = (calls(AGENT), calls(sleeps), calls(waits), says("its report"), says("done"))
    with raw_host(tmp_path, *answers, flags=("--allowedTools", "Bash")) as host:
        host.prompt("go")
        started = host.until(lambda line: line.get("task_type") == "local_bash")
        host.request("1", subtype="stop_task", task_id=started["task_id"])
        host.until(lambda line: line.get("subtype") == "task_notification" and line["task_id"] == started["task_id"])
        assert host.lines[-1]["status"] == "stopped"
        (host.workspace / "go").touch()
        assert host.result()["result"] == "done"
