"""`bridle ask` as a real program, with scripted agents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.run import sessions
from bridle.run.budget import budget_file
from bridle.views.terminal.event_lines import DROPPED_TEXT
from tests.fixtures.bridle_program import BRIDLE
from tests.parse_cases import CASES_FILE, OUR_CASES_FILE, Case, differences, load_cases, stream_of
from tests.run.fixtures.agent_runs import SCHEMA, logs_of, meta_of
from tests.run.fixtures.fake_agent import (
    HANG_SECONDS,
    SESSION,
    Agent,
    Script,
    all_dead,
    init,
    line,
    result,
    returns,
    says,
    successful_turn,
    wait_until,
)

# Every field that programs may rely on: those of `inspect`, and those of a live run.
FIELDS = (
    "output main_thread_text final_text result_subtype error error_category run_error succeeded succeeded_cleanly"
    " degraded warnings parse_errors unknown_events session_id session_forked model version cwd tools permission_mode"
    " api_key_source permission_denials input_tokens output_tokens cache_read_input_tokens"
    " cache_creation_input_tokens cached_input_tokens reasoning_output_tokens usage_estimate total_cost_usd num_turns"
    " duration_ms stop_reason api_error_status api_retries rate_limit_status resets_at structured_output tool_uses"
    " tool_results exit_code log_path stderr_path attempts duration_seconds killed_after_result"
)

# What is about the run and does not stand in its log.
LIVE_ONLY = (
    "log_path stderr_path attempts duration_seconds killed_after_result limit_reached cost_usd cost_source corrections"
    " program auth cwd_differs"
)


def ask(agent: Agent, cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(BRIDLE), "ask", "--cwd", str(cwd), *arguments]
    environment = agent.environment(**variables)
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=2 * HANG_SECONDS, check=False
    )


def ask_json(agent: Agent, cwd: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = ask(agent, cwd, "--json", *arguments)
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def inspect(log: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(BRIDLE), "inspect", log, "--json"], capture_output=True, timeout=HANG_SECONDS, check=True
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@contextmanager
def asking(agent: Agent, cwd: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A `bridle ask` under way, whose agent has a daemon."""
    command = [str(BRIDLE), "ask", "--cwd", str(cwd), *arguments, "hello"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=agent.environment(), stdout=pipe, stderr=pipe, text=True) as started:
        try:
            wait_until(lambda: agent.daemons)
            yield started
        finally:
            started.kill()


def stored_session(workspace: Path) -> str | None:
    return sessions.read(workspace).coder


def everyone(agent: Agent) -> list[int]:
    return [*(start["pid"] for start in agent.starts), *agent.daemons]


def test_the_answer_goes_to_stdout_and_everything_else_to_stderr(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    message = {"id": "m", "role": "assistant", "content": [call]}
    script = Script().out(init(), line({"type": "assistant", "message": message}), returns("a.txt"))
    agent = script.out(says("One file."), result("One file.")).install(tmp_path / "bin")
    done = ask(agent, tmp_path, "what is here?")
    assert (done.returncode, done.stdout) == (0, "One file.\n")
    assert "> Bash ls\n  Bash ok: a.txt\n" in done.stderr
    assert f"bridle: log: {logs_of(tmp_path)[0]}\n" in done.stderr
    assert "auth: login" in done.stderr


def test_an_answer_in_the_result_alone_is_shown(tmp_path: Path) -> None:
    done = ask(Script().out(init(), result("only here")).install(tmp_path / "bin"), tmp_path, "hello")
    assert (done.returncode, done.stdout) == (0, "only here\n")


def test_a_pipe_has_the_answer_alone_and_a_failed_run_what_was_said(tmp_path: Path) -> None:
    turns = Script().out(init(), says("let me look"), returns("x"), says("stream text"))
    done = ask(turns.out(result("final answer")).install(tmp_path / "a"), tmp_path, "hello")
    assert (done.returncode, done.stdout) == (0, "final answer\n")
    failed = Script().out(init(), says("so far"), result("API Error: 500", is_error=True))
    done = ask(failed.install(tmp_path / "b"), tmp_path, "hello")
    assert (done.returncode, done.stdout) == (1, "so far\n")


def test_an_agent_that_fails_after_its_result_has_failed(tmp_path: Path) -> None:
    def ended(name: str, script: Script) -> tuple[int, dict[str, Any], str]:
        agent = script.install(tmp_path / name)
        done = ask(agent, tmp_path, "hello")
        code, document = ask_json(agent, tmp_path, "hello")
        assert done.returncode == code
        return code, document, done.stderr

    reason = "the agent ended with exit code 1 after its result"
    code, document, stderr = ended("a", successful_turn().exit(1))
    assert (code, document["run_error"], document["run_error_reason"]) == (1, True, reason)
    assert (document["error_category"], document["succeeded"], document["attempts"]) == ("process", False, 1)
    assert f"bridle: failed (process): {reason}\n" in stderr
    code, document, _ = ended("b", successful_turn().kill("SIGSEGV"))
    assert (code, document["run_error"], document["error_category"]) == (1, True, "process")
    code, document, stderr = ended("c", successful_turn().err("late trouble\n").exit(1))
    assert (code, document["error"]) == (1, "late trouble\n")
    assert f"bridle: failed (process): {reason}: late trouble\nbridle: log:" in stderr


def test_a_second_result_line_that_was_cut_off_is_tried_again(tmp_path: Path) -> None:
    cut = Script().out(init(), result("first"), result("second")[:-20])
    agent = Script().on_start(1, cut.exit(0)).out(init(), result("whole")).install(tmp_path / "a")
    code, document = ask_json(agent, tmp_path, "x")
    assert (code, document["attempts"], document["final_text"]) == (0, 2, "whole")
    always = Script().out(init(), result("first"), result("second")[:-20]).install(tmp_path / "b")
    code, document = ask_json(always, tmp_path, "hello")
    assert (code, document["attempts"], document["succeeded_cleanly"]) == (0, 2, False)


def test_an_agent_that_was_stopped_after_its_result_is_reported(tmp_path: Path) -> None:
    done = ask(successful_turn().sleep().install(tmp_path / "bin"), tmp_path, "--after-result", "0.2", "hello")
    assert done.returncode == 0
    assert "bridle: the agent did not exit after its result and was stopped\n" in done.stderr


def test_the_document_has_every_promised_field(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    done = ask(agent, tmp_path, "--json", "hello")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert [name for name in FIELDS.split() if name not in document] == []
    assert document["log_path"] == str(logs_of(tmp_path)[0])
    assert (document["session_id"], document["final_text"], document["attempts"]) == (SESSION, "done", 1)
    assert (document["exit_code"], document["killed_after_result"]) == (0, False)


def test_options_reach_the_agent(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    options = ["--system-prompt", "be brief", "--allowed-tools", "Read, Bash(git log:*,-n)", "--resume", "s-1"]
    options += ["--model", "sonnet", "--reasoning", "med", "--mode", "planner", "--task", "a/b"]
    assert ask(agent, tmp_path, *options, "--", "-prompt").returncode == 0
    (start,) = agent.starts
    assert start["argv"][5:] == [
        "--tools=Read,Bash",
        "--allowedTools=Read,Bash(git log:*,-n)",
        "--permission-mode",
        "default",
        "--resume=s-1",
        "--model=sonnet",
        "--system-prompt=be brief",
        "--",
        "-prompt",
    ]
    assert start["environment"]["MAX_THINKING_TOKENS"] == "16384"
    assert start["environment"]["CLAUDE_CODE_EFFORT_LEVEL"] == "medium"
    assert logs_of(tmp_path)[0].name.endswith("-planner-a-b.ndjson")


def test_the_prompt_may_come_from_stdin(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    command = [str(BRIDLE), "ask", "--cwd", str(tmp_path), "-"]
    subprocess.run(command, env=agent.environment(), input="grüße\n".encode(), capture_output=True, check=True)
    assert agent.starts[0]["argv"][-1] == "grüße\n"
    done = subprocess.run(command, env=agent.environment(), input=b"\xff", capture_output=True, check=False)
    assert (done.returncode, len(agent.starts)) == (2, 1)
    assert b"not UTF-8" in done.stderr


def test_a_missing_agent_is_exit_5_with_one_line_that_names_it_and_the_remedy(tmp_path: Path) -> None:
    gone = Agent(tmp_path / "gone")
    done = ask(gone, tmp_path, "hello")
    assert (done.returncode, done.stdout) == (5, "")
    message = f"Claude CLI not found: {gone.path} (from BRIDLE_CLAUDE)"
    assert done.stderr == f"bridle: {message}. Correct or unset BRIDLE_CLAUDE.\n"
    code, document = ask_json(gone, tmp_path, "hello")
    assert (code, document["exit_code"], document["error_category"], document["error"]) == (5, -1, None, message)
    assert document["run_error"]


@pytest.mark.parametrize(("agent", "name"), [("codex", "Codex"), ("gemini", "Gemini"), ("opencode", "OpenCode")])
def test_another_missing_agent_is_named_the_same_way(tmp_path: Path, agent: str, name: str) -> None:
    variable = {f"BRIDLE_{agent.upper()}": "/nonexistent"}
    done = ask(Agent(tmp_path / "gone"), tmp_path, "--json", "--agent", agent, "hello", **variable)
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"], document["error_category"]) == (5, -1, None)
    assert document["error"].startswith(f"{name} CLI not found: /nonexistent")


def test_an_agent_that_is_not_logged_in_is_exit_5(tmp_path: Path) -> None:
    words = result("Invalid API key · Please run /login", is_error=True, api_error_status=401)
    done = ask(Script().out(init(), words).exit(1).install(tmp_path / "bin"), tmp_path, "hello")
    assert done.returncode == 5
    assert "log in" in done.stderr


def test_a_failed_outcome_is_exit_1_and_a_degraded_one_is_0(tmp_path: Path) -> None:
    failed = Script().out(init(), result("overloaded", is_error=True)).install(tmp_path / "bin", "failed")
    by_subtype = result("", subtype="error_max_turns", errors=["Reached maximum number of turns (2)"])
    subtype = Script().out(init(), says("so far"), by_subtype).install(tmp_path / "bin", "subtype")
    degraded = Script().out(init(), says("words")).install(tmp_path / "bin", "degraded")
    assert ask(failed, tmp_path, "hello").returncode == 1
    done = ask(subtype, tmp_path, "hello")
    assert (done.returncode, done.stdout) == (1, "so far\n")
    assert "bridle: failed: Reached maximum number of turns (2)\n" in done.stderr
    code, document = ask_json(degraded, tmp_path, "hello")
    assert (code, document["degraded"], document["final_text"]) == (0, True, "words")


CRASHED = Script().out(init(apiKeySource="claude.ai"), says("half of an ans")).kill()


def test_after_a_crash_stdout_has_the_answer_of_the_attempt_that_counts_alone(tmp_path: Path) -> None:
    retried = Script().on_start(1, CRASHED).out(init(), says("the answer"), result("the answer"))
    done = ask(retried.install(tmp_path / "bin"), tmp_path, "hello")
    assert (done.returncode, done.stdout) == (0, "the answer\n")
    assert "; retrying\n" in done.stderr
    only_in_result = Script().on_start(1, CRASHED).out(init(), result("the answer"))
    assert ask(only_in_result.install(tmp_path / "bin2"), tmp_path, "hello").stdout == "the answer\n"


def test_a_result_line_that_was_cut_off_is_tried_again(tmp_path: Path) -> None:
    cut = Script().out(init(), says("first"), result("first")[:-20])
    done = ask(Script().on_start(1, cut.exit(0)).out(init(), result("second")).install(tmp_path / "a"), tmp_path, "x")
    assert (done.returncode, done.stdout) == (0, "second\n")
    always = Script().out(init(), says("words"), result("words")[:-20]).install(tmp_path / "b")
    code, document = ask_json(always, tmp_path, "hello")
    assert (code, document["attempts"], document["degraded"]) == (0, 2, True)
    assert (document["succeeded_cleanly"], document["parse_errors"]) == (False, 1)
    assert ask(always, tmp_path, "hello").stdout == "words\n"


def test_a_terminal_shows_the_text_at_once_and_marks_that_of_a_crashed_attempt(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = Script().on_start(1, CRASHED).out(init(), says("the answer")).until(gate).out(result("the answer"))
    agent = script.install(tmp_path / "bin")
    ours, theirs = os.openpty()
    command = [str(BRIDLE), "ask", "--cwd", str(tmp_path), "hello"]
    with subprocess.Popen(command, env=agent.environment(), stdout=theirs, stderr=subprocess.DEVNULL) as started:
        os.close(theirs)
        shown = b""
        while b"the answer" not in shown:
            shown += os.read(ours, 4096)
        gate.touch()
        assert started.wait(HANG_SECONDS) == 0
    os.close(ours)
    lines = shown.decode().splitlines()
    assert lines == ["half of an ans", DROPPED_TEXT, "the answer"]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_source_of_the_key_is_printed_once_on_stderr(tmp_path: Path, arguments: list[str]) -> None:
    agent = Script().on_start(1, CRASHED).out(init(), result()).install(tmp_path / "bin")
    done = ask(agent, tmp_path, *arguments, "hello")
    assert [line for line in done.stderr.splitlines() if "apiKeySource" in line] == ["bridle: apiKeySource=claude.ai"]
    silent = Script().out(init(apiKeySource=5), init(), result()).install(tmp_path / "bin2")
    assert "apiKeySource" not in ask(silent, tmp_path, *arguments, "hello").stderr, "the first init decides"


def test_the_source_of_the_key_is_followed_by_the_task_that_was_named(tmp_path: Path) -> None:
    agent = Script().out(init(apiKeySource="none"), result()).install(tmp_path / "bin")
    assert "bridle: apiKeySource=none (grade-1)\n" in ask(agent, tmp_path, "--task", "grade-1", "hello").stderr


@pytest.mark.parametrize(("lines", "missing"), [([result("")], "the result has no text"), ([], "there is no result")])
def test_a_degraded_answer_is_reported(tmp_path: Path, lines: list[str], missing: str) -> None:
    agent = Script().out(init(), says("words"), *lines).install(tmp_path / "bin")
    done = ask(agent, tmp_path, "hello")
    assert (done.returncode, done.stdout) == (0, "words\n")
    assert f"bridle: degraded: {missing}; the answer is the text of the stream\n" in done.stderr


def test_the_cost_of_an_attempt_that_was_retried_counts(tmp_path: Path) -> None:
    dies = Script().out(init(), result("half", total_cost_usd=0.5, is_error=False)).out('{"type":"resu').exit(9)
    agent = Script().on_start(1, dies).out(init(), result("done", total_cost_usd=0.25)).install(tmp_path / "bin")
    done = ask(agent, tmp_path, "--json", "hello")
    document = json.loads(done.stdout)
    assert (document["attempts"], document["cost_usd"], document["total_cost_usd"]) == (2, 0.75, 0.25)
    assert "it cost 0.7500 USD in 2 attempts" in done.stderr


def test_continue_resumes_the_session_of_its_own_mode(tmp_path: Path) -> None:
    planner = Script().out(init("planner-1"), result(session="planner-1")).install(tmp_path / "a")
    coder = Script().out(init("coder-1"), result(session="coder-1")).install(tmp_path / "b")
    ask(planner, tmp_path, "--mode", "planner", "plan it")
    assert (
        f"no coder session to continue in {tmp_path}; starting a new one"
        in ask(coder, tmp_path, "--continue", "code it").stderr
    )
    code, document = ask_json(planner, tmp_path, "--mode", "planner", "--continue", "go on")
    assert (code, document["session_forked"]) == (0, False)
    sessions = [
        [word for word in start["argv"] if word.startswith(("--resume", "--continue"))] for start in planner.starts
    ]
    assert sessions == [[], ["--resume=planner-1"]]
    assert not any(word.startswith(("--resume", "--continue")) for word in coder.starts[0]["argv"])


def test_a_summarizer_continues_its_own_session_and_not_a_coders(tmp_path: Path) -> None:
    first = Script().out(init("summary-1"), result(session="summary-1")).install(tmp_path / "a")
    ask(first, tmp_path, "--mode", "summarizer", "sum up")
    ask(Script().out(init("coder-1"), result(session="coder-1")).install(tmp_path / "b"), tmp_path, "code it")
    assert ask(first, tmp_path, "--mode", "summarizer", "--continue", "go on").returncode == 0
    assert "--resume=summary-1" in first.starts[1]["argv"]
    assert stored_session(tmp_path) == "coder-1"


@pytest.mark.parametrize("mode", ["planner", "coder", "summarizer"])
def test_continue_takes_no_session_that_is_not_stored_for_its_folder(mode: str, tmp_path: Path) -> None:
    agent = Script().out(init("root-1"), result(session="root-1")).install(tmp_path / "a")
    (tmp_path / "repository" / "part").mkdir(parents=True)
    assert ask(agent, tmp_path / "repository", "--mode", mode, "begin").returncode == 0
    for folder in (tmp_path / "repository" / "part", tmp_path):
        said = f"there is no {mode} session to continue in {folder}; starting a new one"
        assert said in ask(agent, folder, "--mode", mode, "--continue", "go on").stderr
    assert not any(word.startswith(("--resume", "--continue")) for start in agent.starts for word in start["argv"])


def test_a_session_that_cannot_be_resumed_changes_nothing(tmp_path: Path) -> None:
    ask(Script().out(init("coder-1"), result(session="coder-1")).install(tmp_path / "a"), tmp_path, "hello")
    failure = result("", "new-1", subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    agent = Script().out(failure).err("No conversation found with session ID: gone\n").exit(1).install(tmp_path / "b")
    done = ask(agent, tmp_path, "--json", "--resume", "gone", "hello")
    document = json.loads(done.stdout)
    assert (done.returncode, document["session_forked"], document["error"]) == (1, False, "No conversation found")
    assert "forked" not in done.stderr
    assert stored_session(tmp_path) == "coder-1"


@pytest.mark.parametrize(
    "failing",
    [
        Script().out(init("new-1")).err("boo").exit(4),
        Script().out(init("new-1"), says("half")).kill(),
        Script().out(init("new-1"), result("", "new-1", subtype="error_during_execution", errors=["gone"])).exit(1),
        Script().out(init("new-1"), result("401", "new-1", is_error=True)),
    ],
    ids=["crash", "crash-with-text", "error-subtype", "error"],
)
def test_a_resumed_session_stays_the_stored_one_where_another_answered_nothing(tmp_path: Path, failing: Script) -> None:
    ask(Script().out(init("coder-1"), result(session="coder-1")).install(tmp_path / "a"), tmp_path, "hello")
    done = ask(failing.install(tmp_path / "b"), tmp_path, "--json", "--resume", "coder-1", "hello")
    assert done.returncode != 0
    assert not json.loads(done.stdout)["session_forked"]
    assert "forked" not in done.stderr
    assert stored_session(tmp_path) == "coder-1"


def test_a_fork_is_stored_and_reported_once(tmp_path: Path) -> None:
    ask(Script().out(init("coder-1"), result(session="coder-1")).install(tmp_path / "a"), tmp_path, "hello")
    words = Script().out(init("new-1"), says("words"))
    for name, forking in [("b", words), ("c", Script().out(init("new-1"), result(session="new-1")))]:
        done = ask(forking.install(tmp_path / name), tmp_path, "--json", "--resume", "coder-1", "hello")
        assert json.loads(done.stdout)["session_forked"]
        assert done.stderr.count("forked") == 1
        assert stored_session(tmp_path) == "new-1"
    crashing = Script().on_start(1, words.exit(0)).out(init("newer-1")).exit(4).install(tmp_path / "d")
    assert "forked" not in ask(crashing, tmp_path, "--resume", "new-1", "hello").stderr
    assert stored_session(tmp_path) == "new-1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timeout", "0", "x"], "--timeout"),
        (["--timeout", "nan", "x"], "--timeout"),
        (["--idle-timeout", "-1", "x"], "--idle-timeout"),
        (["--json-schema", "{", "x"], "--json-schema is not JSON"),
        (["--json-schema", "/nonexistent.json", "x"], "must be JSON or a readable file"),
        (["--json-schema", '{"type": "nothing"}', "x"], "the JSON schema is not valid"),
        (["--resume", "../x", "x"], "session id"),
        (["--auth", "key", "x"], "ANTHROPIC_API_KEY"),
        (["--agent", "nobody", "x"], "nobody"),
        ([" "], "the prompt is empty"),
        ([], "PROMPT"),
    ],
)
def test_wrong_usage_is_exit_2_and_starts_nothing(tmp_path: Path, arguments: list[str], words: str) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    done = ask(agent, tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not agent.starts


def test_a_workspace_in_use_is_exit_1_with_the_holders_name(tmp_path: Path) -> None:
    agent = Script().out(init()).daemon().sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path, "--task", "first one"):
        done = ask(successful_turn().install(tmp_path / "bin", "other"), tmp_path, "hello")
        assert done.returncode == 1
        assert "bridle coder first-one" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_ask_is_exit_130_leaves_no_process_and_keeps_the_log(tmp_path: Path, number: int) -> None:
    agent = Script().out(init(), says("so far")).daemon(ignores=True).sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        started.send_signal(number)
        _, stderr = started.communicate(timeout=HANG_SECONDS)
    assert started.returncode == 130
    assert all_dead(everyone(agent))
    (log,) = logs_of(tmp_path)
    assert log.read_text() == init() + says("so far")
    assert meta_of(log)["interrupted"] is True
    assert str(log) in stderr
    assert stderr.count("bridle: interrupted") == 1
    assert "\nbridle: it cost 0." in stderr
    assert ask(successful_turn().install(tmp_path / "bin", "next"), tmp_path, "hello").returncode == 0, (
        "the lock is free"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_ask_still_prints_its_document(tmp_path: Path, number: int) -> None:
    agent = Script().out(init(), says("so far")).daemon().sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path, "--json") as started:
        wait_until(lambda: "so far" in logs_of(tmp_path)[0].read_text())
        started.send_signal(number)
        stdout, _ = started.communicate(timeout=HANG_SECONDS)
    assert started.returncode == 130
    document = json.loads(stdout)
    assert (document["error"], document["error_category"], document["output"]) == ("interrupted", "process", "so far")
    assert document["log_path"] == str(logs_of(tmp_path)[0])
    assert inspect(document["log_path"]) == {name: document[name] for name in document if name not in LIVE_ONLY.split()}


def test_an_agent_that_ignores_signals_dies_at_an_interrupt_too(tmp_path: Path) -> None:
    agent = Script().ignore("SIGINT", "SIGTERM", "SIGHUP").daemon(ignores=True).sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=HANG_SECONDS)
    assert started.returncode == 130
    assert all_dead(everyone(agent))


def test_an_interrupt_takes_effect_while_the_agent_never_stops_printing(tmp_path: Path) -> None:
    agent = Script().out(init()).daemon().flood().install(tmp_path / "bin")
    with asking(agent, tmp_path, "--json") as started:
        wait_until(lambda: logs_of(tmp_path)[0].stat().st_size > 1_000_000)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=HANG_SECONDS)
    assert started.returncode == 130
    assert all_dead(everyone(agent))


def test_if_bridle_is_killed_its_agent_and_daemon_end_too(tmp_path: Path) -> None:
    agent = Script().out(init()).daemon(ignores=True).sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        wait_until(lambda: logs_of(tmp_path)[0].read_text() == init())
        started.kill()
        wait_until(lambda: all_dead(everyone(agent)))
    assert logs_of(tmp_path)[0].read_text() == init()
    assert ask(successful_turn().install(tmp_path / "bin", "next"), tmp_path, "hello").returncode == 0, (
        "the lock is free"
    )


def test_after_bridle_was_killed_the_next_run_waits_for_the_end_of_its_agent(tmp_path: Path) -> None:
    agent = Script().ignore("SIGINT", "SIGTERM").out(init()).daemon(ignores=True).sleep().install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        started.kill()
        started.wait(HANG_SECONDS)
        done = ask(successful_turn().install(tmp_path / "bin", "next"), tmp_path, "hello")
        assert all_dead(everyone(agent)), "two agents were at work in one folder"
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_a_run_that_bridle_did_not_survive_is_counted_by_the_next_one(tmp_path: Path) -> None:
    script = Script().out(init("lost-session"), result("paid for", "lost-session", total_cost_usd=0.5)).daemon().sleep()
    agent = script.install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        wait_until(lambda: "paid for" in logs_of(tmp_path)[0].read_text())
        started.kill()
    following = Script().out(init(), result("done", total_cost_usd=0.25)).install(tmp_path / "bin", "next")
    done = ask(following, tmp_path, "hello")
    lost = logs_of(tmp_path)[0]
    assert f"it cost 0.5000 USD, its log is {lost.name}" in done.stderr
    assert json.loads(budget_file(tmp_path).read_bytes()) == {
        "total_cost_usd": 0.75,
        "max_cost_usd": None,
        "iterations": 2,
        "max_iterations": None,
    }
    assert (meta_of(lost)["lost"], meta_of(lost)["exit_code"]) == (True, None)
    assert inspect(str(lost))["total_cost_usd"] == 0.5
    again = ask(following, tmp_path, "hello")
    assert "its log is" not in again.stderr, "it is counted once"


def test_a_killed_run_that_spent_the_budget_stops_the_next_one(tmp_path: Path) -> None:
    agent = Script().out(init(), result("x", total_cost_usd=2.0)).daemon().sleep().install(tmp_path / "bin")
    budget_file(tmp_path).parent.mkdir(parents=True)
    budget_file(tmp_path).write_text('{"total_cost_usd": 0, "max_cost_usd": 1, "iterations": 0, "max_iterations": 9}')
    with asking(agent, tmp_path) as started:
        wait_until(lambda: "2.0" in logs_of(tmp_path)[0].read_text())
        started.kill()
    following = successful_turn().install(tmp_path / "bin", "next")
    code, document = ask_json(following, tmp_path, "hello")
    assert (code, document["error_category"], following.starts) == (1, "budget", [])


@pytest.mark.parametrize("work", ["0 ../../../etc/passwd", "0 nobody.ndjson", "x", "", "a\nb", 7, {"x": 1}])
def test_a_note_that_names_no_log_of_ours_is_passed_over(tmp_path: Path, work: object) -> None:
    note = {"pid": 1, "holder": "somebody", "since": "yesterday", "work": work}
    lock = budget_file(tmp_path).with_name("workspace.lock")
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps(note))
    assert ask(successful_turn().install(tmp_path / "bin"), tmp_path, "hello").returncode == 0
    assert json.loads(budget_file(tmp_path).read_bytes())["iterations"] == 1


def test_a_reader_that_goes_away_ends_the_agent(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = Script().out(init(), says("one")).daemon().until(gate).out(says("two"), says("three")).sleep()
    agent = script.install(tmp_path / "bin")
    with asking(agent, tmp_path) as started:
        assert started.stdout is not None
        started.stdout.close()
        gate.touch()
        assert started.wait(HANG_SECONDS) == 141
    assert all_dead(everyone(agent))


def test_a_narrow_locale_does_not_end_the_run(tmp_path: Path) -> None:
    agent = Script().out(init(), says("é ✓"), result("é ✓")).install(tmp_path / "bin")
    done = ask(agent, tmp_path, "hello", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "\\xe9 \\u2713\n")


def test_secrets_and_escape_sequences_do_not_reach_the_terminal(tmp_path: Path) -> None:
    agent = Script().out(init(), says("…"), result("\x1b[2J key is s3cr3t-value")).install(tmp_path / "bin")
    done = ask(agent, tmp_path, "hello", MY_API_KEY="s3cr3t-value")
    assert done.stdout == "\\x1b[2J key is ***\n"
    assert "s3cr3t-value" in logs_of(tmp_path)[0].read_text(), "the log is verbatim"


def test_a_schema_from_a_file_gives_a_structured_answer(tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text(json.dumps(SCHEMA))
    good = result("said", structured_output={"summary": "well"})
    script = Script().listen().out(init(), result("no")).listen().out(init(), good).listen()
    code, document = ask_json(script.install(tmp_path / "bin"), tmp_path, "--json-schema", str(form), "hello")
    assert (code, document["structured_output"], document["corrections"]) == (0, {"summary": "well"}, 1)


REPLAYED = {
    "success": (successful_turn(), []),
    "error": (Script().out(init(), result("bad", is_error=True)).exit(1), []),
    "timeout": (Script().out(init(), says("so far")).sleep(), ["--timeout", "3"]),
    "idle": (Script().out(init(), says("so far")).err("hm").sleep(), ["--idle-timeout", "3"]),
    "killed-after-result": (successful_turn().sleep(), ["--after-result", "0.3"]),
    "error-and-stays": (Script().out(init(), result("bad", is_error=True)).sleep(), ["--after-result", "0.3"]),
    "degraded": (Script().out(init(), says("words")), []),
    "no-result": (Script().out(init()), []),
    "crash": (Script().out(init(), "half").err("x" * 70_000 + "the end").kill(), []),
    "denied": (Script().out(init(), result(permission_denials=[{"tool_name": "Bash"}])), []),
    "denied-allowed": (Script().out(init(), result(permission_denials=[{"tool_name": "Bash"}])), ["--allow-denials"]),
    "schema-never-met": (
        Script().listen().out(result("a")).listen().out(result("b")).listen().out(result("c")).listen().out(result()),
        ["--json-schema", json.dumps(SCHEMA)],
    ),
    "question": (Script().out(init(), says("Shall I?"), result("Shall I?", num_turns=1, stop_reason="end_turn")), []),
    "question-ignored": (
        Script().out(init(), says("Shall I?"), result("Shall I?", num_turns=1, stop_reason="end_turn")),
        ["--no-hang-heuristic"],
    ),
    "forked": (Script().out(init(), result()), ["--resume", "another-session"]),
    "garbage": (Script().out("garbage\n", init(), result(), "{"), []),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_the_log_replayed_gives_the_same_outcome_as_the_live_run(tmp_path: Path, name: str) -> None:
    script, arguments = REPLAYED[name]
    _, live = ask_json(script.install(tmp_path / "bin"), tmp_path, *arguments, "hello")
    replayed = inspect(live["log_path"])
    assert {field: value for field, value in live.items() if field not in LIVE_ONLY.split()} == replayed


def test_a_program_that_could_not_be_started_is_replayed_as_such(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    agent.path.write_text("#!/nonexistent\n")
    code, live = ask_json(agent, tmp_path, "hello")
    assert (code, live["error_category"], live["exit_code"]) == (5, None, -1)
    replayed = inspect(live["log_path"])
    assert {field: value for field, value in live.items() if field not in LIVE_ONLY.split()} == replayed


LIVE_CASES: list[Case] = [
    {
        "name": "deaf_and_silent",
        "lines": [init().strip(), says("so far").strip()],
        "ignore_term": True,
        "sleep_s": 600,
        "timeout_s": 3,
        "expected": {"error": "timeout", "error_category": "timeout", "exit_code": -1, "output": "so far"},
    },
    {
        "name": "deaf_after_its_result",
        "lines": [init().strip(), result().strip()],
        "ignore_term": True,
        "sleep_s": 600,
        "timeout_s": 3,
        "expected": {"error": None, "exit_code": 0, "killed_after_result": True, "run_error": False},
    },
    {
        "name": "grandchild_holds_the_output",
        "lines": [init().strip(), result().strip()],
        "grandchild_s": 600,
        "expected": {"error": None, "exit_code": 0, "killed_after_result": False, "run_error": False},
    },
    {
        "name": "grandchild_of_a_deaf_agent",
        "lines": [init().strip()],
        "ignore_term": True,
        "grandchild_s": 600,
        "sleep_s": 600,
        "timeout_s": 3,
        "expected": {"error": "timeout", "exit_code": -1, "limit_reached": "run", "attempts": 1},
    },
]


def cases() -> list[Case]:
    files = [path for path in (CASES_FILE, OUR_CASES_FILE) if path.exists()]
    return [case for path in files for case in load_cases(path, mode="ask")] + LIVE_CASES


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_a_live_case_ends_as_expected(tmp_path: Path, case: Case) -> None:
    script = Script()
    if case.get("ignore_term"):
        script.ignore("SIGTERM", "SIGINT", "SIGHUP")
    if case.get("grandchild_s"):
        script.daemon(seconds=case["grandchild_s"], holds_output=True)
    script.out(stream_of(case).decode("latin-1")).err(case.get("stderr", ""))
    agent = script.sleep(case.get("sleep_s", 0)).exit(case.get("exit_code", 0)).install(tmp_path / "bin")
    arguments = ["--timeout", str(case["timeout_s"])] if "timeout_s" in case else []
    _, document = ask_json(agent, tmp_path, *arguments, "hello")
    assert differences(case["expected"], document) == []
    assert all_dead(everyone(agent))
