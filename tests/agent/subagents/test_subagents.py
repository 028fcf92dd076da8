"""Sub-agents from outside: what the program prints, sends, keeps and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.agent.fixtures.raw_host import LIMIT_SECONDS, Line, calls, raw_host, says
from tests.fixtures.bridle_program import BRIDLE_AGENT, run_bridle

ALLOW = ("--allowedTools", "Agent,Bash,Read,Write,TaskOutput,TaskStop")
AGENT_ID = {"id": {"from": "tool_results", "pattern": "agentId: (a[0-9a-f]+)"}}


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """End a test that waits for a line which never comes."""
    before = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(round(2 * LIMIT_SECONDS))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _hangs(*_: object) -> None:
    raise TimeoutError(f"the test has waited for {2 * LIMIT_SECONDS:g} seconds")


def agent(prompt: str, **more: Any) -> tuple[str, Line]:
    return "Agent", {"description": f"do {prompt}", "prompt": prompt, **more}


def when(condition: Line, *blocks: Any, **fields: Any) -> Line:
    return {"blocks": list(blocks), "when": condition, **fields}


def tool(name: str, **sent: Any) -> Line:
    return {"type": "tool_use", "name": name, "input": sent}


def of(lines: list[Line], subtype: str) -> list[Line]:
    return [line for line in lines if line.get("subtype") == subtype]


def session_folder(tmp_path: Path) -> Path:
    [transcript] = (tmp_path / "home" / ".claude" / "projects").glob("*/*.jsonl")
    return transcript.with_suffix("")


def run(tmp_path: Path, *answers: Line, flags: tuple[str, ...] = ALLOW) -> list[Line]:
    """One prompt from its start to the end of the program."""
    with raw_host(tmp_path, *answers, flags=flags) as host:
        host.prompt("go")
        assert host.end() == 0
        return host.lines


def test_a_sub_agent_has_a_context_of_its_own_and_its_report_goes_to_its_caller(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("LOOK")),
        calls(("Bash", {"command": "echo inside"})),
        says("The report."),
        says("Done."),
        flags=ALLOW,
    ) as host:
        host.prompt("go")
        result = host.result()
        first, inner, _, last = host.bodies()
        assert host.end() == 0
    assert (result["result"], result["num_turns"]) == ("Done.", 2)
    assert "LOOK" not in json.dumps(first["messages"])
    assert '"go"' not in json.dumps(inner["messages"])
    assert inner["thinking"] == {"type": "disabled"}
    assert "TaskOutput" in {each["name"] for each in first["tools"]} - {each["name"] for each in inner["tools"]}
    assert "The report." in json.dumps(last["messages"])
    assert "inside" not in json.dumps(last["messages"])
    inside = [line for line in host.lines if line.get("parent_tool_use_id")]
    assert [line["type"] for line in inside] == ["user", "assistant", "user"]
    assert {line["subagent_type"] for line in inside} == {"general-purpose"}
    assert [line["description"] for line in of(host.lines, "task_progress")] == ["Running echo inside"]


def test_a_sub_agent_with_an_empty_prompt_reads_that_there_is_none(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(agent("")), says("The report."), says("Done."), flags=ALLOW) as host:
        host.prompt("go")
        host.result()
        texts = [block["text"] for block in host.bodies()[1]["messages"][0]["content"]]
    assert texts[-1].strip() == "(no content)"


def test_the_transcript_of_a_sub_agent_is_a_side_chain_and_the_session_can_be_continued(tmp_path: Path) -> None:
    session = "11111111-2222-4333-8444-555555555555"
    run(
        tmp_path,
        calls(agent("LOOK")),
        calls(("Bash", {"command": "echo inside"})),
        says("The report."),
        says("Done."),
        flags=(*ALLOW, "--session-id", session),
    )
    [path] = (session_folder(tmp_path) / "subagents").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant"]
    assert {line["isSidechain"] for line in lines} == {True}
    assert {f"agent-{line['agentId']}" for line in lines} == {path.stem}
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    meta = json.loads(path.with_suffix(".meta.json").read_text("utf-8"))
    assert (meta["agentType"], meta["description"], meta["spawnDepth"]) == ("general-purpose", "do LOOK", 1)
    with raw_host(tmp_path, says("Again."), flags=(*ALLOW, "--resume", session)) as host:
        host.prompt("again")
        assert host.result()["result"] == "Again."
        [body] = host.bodies()
        assert host.end() == 0
    assert "The report." in json.dumps(body["messages"])
    assert "inside" not in json.dumps(body["messages"])


def test_sub_agents_of_one_answer_run_concurrently(tmp_path: Path) -> None:
    # Each waits for the other's file: one after the other, neither would end.
    both = "touch {mine}; while [ ! -e {other} ]; do sleep 0.05; done; echo {mine}"
    lines = run(
        tmp_path,
        calls(agent("FIRST"), agent("SECOND")),
        when({"contains": "FIRST"}, tool("Bash", command=both.format(mine="one", other="two"))),
        when({"contains": "SECOND"}, tool("Bash", command=both.format(mine="two", other="one"))),
        when({"tool_result_of": "Bash"}, "Ended.", times=2),
        says("Done."),
    )
    assert lines[-1]["result"] == "Done."
    assert len(of(lines, "task_notification")) == 2
    parents = {line["parent_tool_use_id"] for line in lines if line.get("parent_tool_use_id")}
    assert len(parents) == 2


def test_their_tokens_cost_and_denials_are_in_the_result(tmp_path: Path) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    lines = run(
        tmp_path,
        calls(agent("LOOK", subagent_type="Explore")) | {"usage": usage},
        calls(("Bash", {"command": "touch x"})) | {"usage": usage},
        says("Denied.") | {"usage": usage},
        says("Done.") | {"usage": usage},
        flags=("--allowedTools", "Agent"),
    )
    result = lines[-1]
    used = {name: model["inputTokens"] for name, model in result["modelUsage"].items()}
    assert used == {"claude-opus-4-8[1m]": 2000, "claude-haiku-4-5-20251001": 2000}
    assert result["usage"]["input_tokens"] == 2000
    costs = sum(model["costUSD"] for model in result["modelUsage"].values())
    assert result["total_cost_usd"] == pytest.approx(costs)
    assert [denial["tool_input"] for denial in result["permission_denials"]] == [{"command": "touch x"}]


def test_a_budget_counts_what_sub_agents_use(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("LOOK")),
        says("Expensive.") | {"usage": {"input_tokens": 1_000_000, "output_tokens": 1}},
        says("Never."),
        flags=(*ALLOW, "--max-budget-usd", "1"),
    ) as host:
        host.prompt("go")
        assert host.result()["subtype"] == "error_max_budget_usd"
        assert len(host.bodies()) == 2
        host.end()


def test_a_failed_request_is_the_report_and_the_main_turn_goes_on(tmp_path: Path) -> None:
    lines = run(tmp_path, calls(agent("LOOK")), {"kind": "error", "status": 400, "message": "bad"}, says("Done."))
    assert (lines[-1]["result"], lines[-1]["is_error"]) == ("Done.", False)
    [report] = [line for line in lines if line["type"] == "user" and "tool_use_result" in line]
    assert "API Error: 400 bad" in json.dumps(report["message"])


def test_the_host_learns_which_agent_asks(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("WRITE")),
        calls(("Write", {"file_path": "new.txt", "content": "x"})),
        says("Written."),
        says("Done."),
        flags=("--permission-prompt-tool", "stdio"),
    ) as host:
        host.prompt("go")
        asked = host.asked("can_use_tool")
        [started] = of(host.lines, "task_started")
        assert asked["agent_id"] == started["task_id"]
        host.respond(asked["request_id"], {"behavior": "allow", "updatedInput": asked["input"]})
        assert host.result()["result"] == "Done."
        assert host.end() == 0
    assert (host.workspace / "new.txt").read_text() == "x"


def test_a_host_that_interrupts_with_its_rejection_ends_the_main_turn(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("WRITE")),
        calls(("Write", {"file_path": "new.txt", "content": "x"})),
        says("Never."),
        flags=("--permission-prompt-tool", "stdio"),
    ) as host:
        host.prompt("go")
        asked = host.asked("can_use_tool")
        host.respond(asked["request_id"], {"behavior": "deny", "message": "no", "interrupt": True})
        assert host.result()["subtype"] == "error_during_execution"
        assert len(host.bodies()) == 2
        host.end()


@pytest.mark.parametrize("in_background", [False, True])
def test_an_interrupt_ends_a_sub_agent_and_its_command(tmp_path: Path, in_background: bool) -> None:
    command = "echo $$ > pid; exec sleep 600"
    with raw_host(
        tmp_path,
        when({"contains": "go on"}, "Again."),
        calls(agent("WAIT", run_in_background=in_background)),
        when({"contains": "WAIT"}, tool("Bash", command=command)),
        when({"tool_result_of": "Agent"}, tool("Bash", command="while [ ! -s pid ]; do sleep 0.05; done; sleep 600")),
        flags=ALLOW,
    ) as host:
        host.prompt("go")
        commands = 2 if in_background else 1
        while sum("Bash" in json.dumps(line) for line in host.lines if line["type"] == "assistant") < commands:
            host.until(lambda line: line["type"] == "assistant")
        pid = _written_pid(host.workspace / "pid")
        host.request("1", subtype="interrupt")
        assert host.result()["subtype"] == "error_during_execution"
        assert not _runs(pid)
        host.prompt("go on")
        assert host.result()["result"] == "Again."
        assert host.end() == 0
    assert [line["patch"]["status"] for line in of(host.lines, "task_updated")] == ["killed"]
    assert [line["status"] for line in of(host.lines, "task_notification")] == ["stopped"]


def test_the_end_of_an_agent_in_the_background_begins_a_turn(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("BEHIND", run_in_background=True)),
        when({"contains": "BEHIND"}, tool("Bash", command="while [ ! -e go ]; do sleep 0.05; done")),
        when({"tool_result_of": "Bash"}, "The report."),
        when({"tool_result_of": "Agent"}, "Started."),
        when({"contains": "task-notification"}, "Noted."),
        flags=ALLOW,
    ) as host:
        host.prompt("go")
        assert host.result()["result"] == "Started."
        (host.workspace / "go").touch()
        result = host.result()
        assert (result["result"], result["origin"]) == ("Noted.", {"kind": "task-notification"})
        assert "The report." in json.dumps(host.bodies()[-1]["messages"][-1])
        [notification] = of(host.lines, "task_notification")
        assert Path(notification["output_file"]).resolve().parent.name == "subagents"
        assert host.end() == 0


def test_without_a_host_results_wait_for_agents_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = {
        "answers": [
            calls(agent("BEHIND", run_in_background=True)),
            when({"contains": "BEHIND"}, "The report.", delay_seconds=1),
            when({"tool_result_of": "Agent"}, "Started."),
            when({"contains": "task-notification"}, "Noted."),
        ]
    }
    with running(load_script(script)) as stage:
        done = _print_mode(tmp_path, stage.url)
    kinds = [(line["type"], line.get("result")) for line in done]
    assert kinds[-2:] == [("result", "Started."), ("result", "Noted.")]
    assert len(of(done, "init")) == 2


def test_task_output_waits_for_an_agent_and_its_end_is_not_reported_again(tmp_path: Path) -> None:
    lines = run(
        tmp_path,
        calls(agent("BEHIND", run_in_background=True)),
        when({"contains": "BEHIND"}, "The report.", delay_seconds=0.5),
        when({"tool_result_of": "Agent"}, tool("TaskOutput", task_id="${id}"), capture=AGENT_ID),
        says("Done."),
    )
    [output] = [
        line["tool_use_result"] for line in lines if "retrieval_status" in json.dumps(line.get("tool_use_result"))
    ]
    assert (output["retrieval_status"], output["task"]["task_type"]) == ("success", "local_agent")
    assert output["task"]["result"] == "The report."
    assert [line["result"] for line in lines if line["type"] == "result"] == ["Done."]
    assert of(lines, "task_notification") == []


def test_task_stop_ends_an_agent_with_its_command(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        calls(agent("BEHIND", run_in_background=True)),
        when({"contains": "BEHIND"}, tool("Bash", command="echo $$ > pid; exec sleep 600")),
        when(
            {"tool_result_of": "Agent"},
            tool("Bash", command="while [ ! -s pid ]; do sleep 0.05; done"),
            capture=AGENT_ID,
        ),
        when({"tool_result_of": "Bash"}, tool("TaskStop", task_id="${id}")),
        says("Stopped."),
        flags=ALLOW,
    ) as host:
        host.prompt("go")
        assert host.result()["result"] == "Stopped."
        assert not _runs(int((host.workspace / "pid").read_text()))
        assert host.end() == 0
    assert [line["status"] for line in of(host.lines, "task_notification")] == ["stopped"]


def test_an_agent_cannot_start_others_at_the_deepest_level(tmp_path: Path) -> None:
    with raw_host(
        tmp_path,
        *(calls(agent(f"LEVEL {level}")) for level in range(1, 7)),
        *(says(f"r{level}") for level in range(6)),
        flags=ALLOW,
    ) as host:
        host.prompt("go")
        host.result()
        offers = ["Agent" in {each["name"] for each in body["tools"]} for body in host.bodies()]
        assert host.end() == 0
    assert offers[:6] == [True, True, True, True, True, False]
    assert len(of(host.lines, "task_started")) == 5


def test_commands_in_the_background_of_a_sub_agent_end_with_it(tmp_path: Path) -> None:
    lines = run(
        tmp_path,
        calls(agent("START")),
        calls(("Bash", {"command": "echo $$ > pid; exec sleep 600", "run_in_background": True})),
        calls(("Bash", {"command": "while [ ! -s pid ]; do sleep 0.05; done"})),
        says("Started."),
        says("Done."),
    )
    assert not _runs(int((tmp_path / "workspace" / "pid").read_text()))
    ended = [(line["task_id"][0], line["patch"]["status"]) for line in of(lines, "task_updated")]
    assert ended == [("b", "killed"), ("a", "completed")]


def test_a_hook_sends_a_sub_agent_back_once(tmp_path: Path) -> None:
    block = """if [ ! -e once ]; then touch once; echo '{"decision":"block","reason":"look again"}'; fi"""
    table = {"SubagentStop": [{"matcher": "Explore", "hooks": [{"type": "command", "command": block}]}]}
    with raw_host(
        tmp_path,
        calls(agent("LOOK", subagent_type="Explore")),
        says("Looked."),
        says("Looked again."),
        says("Done."),
        flags=(*ALLOW, "--settings", json.dumps({"hooks": table})),
    ) as host:
        host.prompt("go")
        host.result()
        _, _, again, last = host.bodies()
        assert host.end() == 0
    assert "Stop hook feedback:\\nlook again" in json.dumps(again["messages"])
    assert "Looked again." in json.dumps(last["messages"])


def test_the_context_of_a_start_hook_goes_to_the_sub_agent_only(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "MIND THE GAP"}}
    table = {"SubagentStart": [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(answer)}'"}]}]}
    with raw_host(
        tmp_path,
        calls(agent("LOOK")),
        says("Looked."),
        says("Done."),
        flags=(*ALLOW, "--settings", json.dumps({"hooks": table})),
    ) as host:
        host.prompt("go")
        host.result()
        holds = ["MIND THE GAP" in json.dumps(body["messages"]) for body in host.bodies()]
        assert host.end() == 0
    assert holds == [False, True, False]


def test_a_definition_that_cannot_be_used_is_named_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with running(load_script({"answers": [says("Done.")]})) as stage:
        done = _start(tmp_path, stage.url, "--agents", '{"a": {"description": "d"}}')
    assert done.returncode == 0
    assert done.stderr == b"Ignoring --agents: agent a: prompt must be a text\n"


def test_an_unknown_main_agent_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with running(load_script({"answers": [says("Never.")]})) as stage:
        done = _start(tmp_path, stage.url, "--agent", "nope")
    known = "claude, Explore, general-purpose, Plan"
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"--agent 'nope' not found. Available agents: {known}\n"


def test_a_signal_ends_a_sub_agent_in_the_background_and_the_result_is_printed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = {
        "answers": [
            calls(agent("BEHIND", run_in_background=True)),
            when({"contains": "BEHIND"}, tool("Bash", command="echo $$ > pid; exec sleep 600")),
            when({"tool_result_of": "Agent"}, "Started."),
        ]
    }
    with running(load_script(script)) as stage:
        process = subprocess.Popen(
            _command(), cwd=tmp_path / "work", env=_environment(tmp_path, stage.url), stdout=subprocess.PIPE
        )
        try:
            pid = _written_pid(tmp_path / "work" / "pid")
            process.send_signal(signal.SIGINT)
            stdout, _ = process.communicate(timeout=LIMIT_SECONDS)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 128 + signal.SIGINT
    assert not _runs(pid)
    lines = [json.loads(line) for line in stdout.splitlines()]
    assert lines[-1]["type"] == "result"
    assert [line["patch"]["status"] for line in of(lines, "task_updated")] == ["killed"]


def test_show_nests_sub_agents_that_run_at_once_and_inside_each_other(tmp_path: Path) -> None:
    lines = run(
        tmp_path,
        calls(agent("FIRST"), agent("SECOND")),
        when({"contains": "FIRST"}, tool("Bash", command="echo alpha"), delay_seconds=0.3),
        when({"contains": "SECOND"}, tool("Agent", description="do INNER", prompt="INNER")),
        when({"contains": "INNER"}, "The inner report."),
        when({"tool_result_of": "Bash"}, "The first report."),
        when({"contains": "The inner report."}, "The second report."),
        says("Done."),
    )
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    plain = run_bridle("show", str(log), cwd=tmp_path)
    for text in ("do FIRST", "do SECOND", "do INNER", "alpha", "The first report.", "The second report.", "Done."):
        assert text in plain.stdout


def _command(*more: str) -> list[str]:
    return [str(BRIDLE_AGENT), "-p", "go", "--output-format", "stream-json", "--verbose", *ALLOW, *more]


def _environment(tmp_path: Path, url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "home" / ".claude"),
        "BRIDLE_HOME": str(tmp_path / "home" / ".bridle"),
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }


def _start(tmp_path: Path, url: str, *more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        _command(*more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path / "work",
        env=_environment(tmp_path, url),
        timeout=LIMIT_SECONDS,
        check=False,
    )


def _print_mode(tmp_path: Path, url: str) -> list[Line]:
    return [json.loads(line) for line in _start(tmp_path, url).stdout.splitlines()]


def _written_pid(path: Path) -> int:
    """Wait for the file in which a command has written its process id."""
    waiting = subprocess.run(
        ["/bin/sh", "-c", f"while [ ! -s '{path}' ]; do sleep 0.05; done"], timeout=LIMIT_SECONDS, check=True
    )
    assert waiting.returncode == 0
    return int(path.read_text())


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
