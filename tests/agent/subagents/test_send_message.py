"""Messages between agents: to one that runs, to one that has ended, and to the main agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agent.fixtures.raw_host import Line, calls, raw_host, says

ALLOW = ("--allowedTools", "Agent,Bash,SendMessage")
AGENT_ID = {"id": {"from": "tool_results", "pattern": "agentId: (a[0-9a-f]+)"}}
SESSION = "11111111-2222-4333-8444-555555555555"


def send(to: str, text: str) -> tuple[str, Line]:
    return "SendMessage", {"to": to, "summary": "a few words", "message": text}


def agent(prompt: str, **more: Any) -> tuple[str, Line]:
    return "Agent", {"description": f"do {prompt}", "prompt": prompt, **more}


def when(condition: Line, *blocks: Any, **fields: Any) -> Line:
    return {"blocks": list(blocks), "when": condition, **fields}


def use(name: str, **sent: Any) -> Line:
    return {"type": "tool_use", "name": name, "input": sent}


def wait_for(path: Path) -> str:
    return f"until [ -e '{path}' ]; do sleep 0.1; done; echo {path.name} is there"


def answers_of(lines: list[Line]) -> list[Any]:
    return [line["tool_use_result"] for line in lines if line["type"] == "user" and "tool_use_result" in line]


def test_an_agent_of_an_earlier_session_continues_with_what_it_knew(tmp_path: Path) -> None:
    first = (
        calls(agent("FIRST", model="haiku")),
        calls(("Bash", {"command": "echo KNOWN"})),
        says("One."),
        says("Two."),
    )
    with raw_host(tmp_path, *first, flags=(*ALLOW, "--session-id", SESSION)) as host:
        host.prompt("go")
        host.result()
        assert host.end() == 0
    agent_id = next(line["task_id"] for line in host.lines if line.get("subtype") == "task_started")
    second = (
        calls(send(agent_id, "MORE")),
        when({"tool_result_of": "SendMessage"}, "Sent."),
        when({"contains": "KNOWN", "in": "messages"}, "Still known."),
        when({"contains": "Still known."}, "Noted."),
    )
    with raw_host(tmp_path, *second, flags=(*ALLOW, "--resume", SESSION)) as host:
        host.prompt("again")
        host.until(lambda line: line.get("result") == "Noted.")
        bodies = host.bodies()
        assert host.end() == 0
    [detail] = answers_of(host.lines)
    assert (detail["success"], detail["resumedAgentId"]) == (True, agent_id)
    inner = next(body for body in bodies if "KNOWN" in json.dumps(body["messages"]))
    assert inner["model"].startswith("claude-haiku")
    assert inner["messages"][-1]["content"][-1]["text"].startswith(
        "The coordinator sent a message while you were working:\nMORE\n"
    )
    [path] = (tmp_path / "home" / ".claude" / "projects").glob(f"*/{SESSION}/subagents/*.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert {line["agentId"] for line in lines} == {agent_id}


def test_a_message_that_comes_after_the_last_call_of_an_agent_is_read_before_it_ends(tmp_path: Path) -> None:
    answers = (
        calls(agent("BEHIND", run_in_background=True)),
        when({"contains": "BEHIND"}, "Too early.", delay_seconds=2),
        when(
            {"tool_result_of": "Agent"}, use("SendMessage", to="${id}", summary="s", message="LATE"), capture=AGENT_ID
        ),
        when({"tool_result_of": "SendMessage"}, "Sent."),
        when({"contains": "LATE"}, "The report."),
        when({"contains": "task-notification"}, "Noted."),
    )
    with raw_host(tmp_path, *answers, flags=ALLOW) as host:
        host.prompt("go")
        host.until(lambda line: line.get("result") == "Noted.")
        bodies = host.bodies()
        assert host.end() == 0
    assert "<result>The report.</result>" in json.dumps(bodies[-1]["messages"])
    assert sum(line.get("subtype") == "task_notification" for line in host.lines) == 1


def test_a_message_to_an_agent_that_is_ending_continues_it(tmp_path: Path) -> None:
    """Its last answer is there, and a command that it left running takes seconds to end."""
    ended, trapped = tmp_path / "ended", tmp_path / "trapped"
    hook = {"hooks": {"SubagentStop": [{"hooks": [{"type": "command", "command": f"touch '{ended}'"}]}]}}
    stubborn = f"trap '' TERM; touch '{trapped}'; while :; do sleep 1; done"
    answers = (
        calls(agent("BEHIND", run_in_background=True)),
        when({"tool_result_of": "Agent"}, use("Bash", command=wait_for(ended)), capture=AGENT_ID),
        when({"contains": "BEHIND"}, use("Bash", command=stubborn, run_in_background=True)),
        when({"tool_result_of": "Bash", "contains": "background"}, use("Bash", command=wait_for(trapped))),
        when({"tool_result_of": "Bash", "contains": "trapped is there"}, "Too early."),
        when(
            {"tool_result_of": "Bash", "contains": "ended is there"},
            use("SendMessage", to="${id}", summary="s", message="LATE"),
        ),
        when({"tool_result_of": "SendMessage"}, "Sent."),
        when({"contains": "LATE"}, "The report."),
        when({"contains": "Too early."}, "Noted."),
        when({"contains": "The report."}, "Noted, too."),
    )
    with raw_host(tmp_path, *answers, flags=(*ALLOW, "--settings", json.dumps(hook))) as host:
        host.prompt("go")
        host.until(lambda line: line.get("result") == "Noted, too.")
        assert host.end() == 0
    [sent] = [detail for detail in answers_of(host.lines) if "success" in detail]
    assert sent["success"] is True


def test_a_sub_agent_without_the_tool_cannot_send(tmp_path: Path) -> None:
    definition = json.dumps({"mute": {"description": "d", "prompt": "p", "tools": ["Bash"]}})
    answers = (calls(agent("ASK", subagent_type="mute")), calls(send("main", "x")), says("One."), says("Two."))
    with raw_host(tmp_path, *answers, flags=(*ALLOW, "--agents", definition)) as host:
        host.prompt("go")
        assert host.result()["result"] == "Two."
        inner = host.bodies()[1]
        assert host.end() == 0
    assert [tool["name"] for tool in inner["tools"]] == ["Bash"]


def test_an_agent_without_a_definition_or_with_broken_notes_says_why_it_cannot_continue(tmp_path: Path) -> None:
    definition = json.dumps({"gone": {"description": "d", "prompt": "p"}})
    first = (calls(agent("FIRST", subagent_type="gone")), says("One."), says("Two."))
    with raw_host(tmp_path, *first, flags=(*ALLOW, "--session-id", SESSION, "--agents", definition)) as host:
        host.prompt("go")
        host.result()
        assert host.end() == 0
    agent_id = next(line["task_id"] for line in host.lines if line.get("subtype") == "task_started")
    [meta] = (tmp_path / "home" / ".claude" / "projects").glob(f"*/{SESSION}/subagents/*.meta.json")
    for reason in ("there is no agent gone", "cannot be read"):
        with raw_host(
            tmp_path, calls(send(agent_id, "MORE")), says("Done."), flags=(*ALLOW, "--resume", SESSION)
        ) as host:
            host.prompt("again")
            host.result()
            assert host.end() == 0
        [detail] = answers_of(host.lines)
        assert detail["success"] is False
        assert reason in detail["message"]
        meta.write_text("{")
