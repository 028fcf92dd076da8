"""One agent run, whatever the agent does. The first six tests are the must-haves of the harness format."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.user_interface.ask_report import cost_line
from bridle.errors import UsageError
from bridle.run import budget as budgets
from bridle.run.request import Limits, Permission, Request
from bridle.run.runner import AgentRun
from bridle.run.watchdog import Watchdog
from bridle.wire.events.events import Assistant, Event, Result
from bridle.wire.events.system import Init
from bridle.wire.record.error_category import Category
from bridle.wire.record.policy import Policy
from tests.fixtures import sandbox
from tests.run.fixtures.agent_runs import limits, logs_of, meta_of, run_agent
from tests.run.fixtures.fake_agent import (
    HANG_SECONDS,
    MODEL,
    SESSION,
    Script,
    all_dead,
    calls,
    init,
    is_alive,
    line,
    result,
    returns,
    says,
    successful_turn,
)
from tests.sizes import SIZES

# A limit that must not strike before the agent has printed its first lines, on a machine that is busy.
START_SECONDS = 3.0

OTHER_SESSION = "10f6d3c2-0000-4000-8000-000000000002"


def test_happy_path(tmp_path: Path) -> None:
    agent = successful_turn("hello back").install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    finished = done.finished
    assert (finished.record.session_id, finished.record.model, finished.record.version) == (SESSION, MODEL, "2.1.197")
    assert finished.outcome.final_text == "hello back"
    assert finished.outcome.succeeded_cleanly
    assert (finished.outcome.exit_code, finished.attempts, finished.killed_after_result) == (0, 1, False)
    assert finished.program == str(agent.path)
    assert [type(event) for event in done.events][1:] == [Assistant, Result]
    assert done.log.read_text() == init() + says("hello back") + result("hello back")


def test_large_lines(tmp_path: Path) -> None:
    text = "x" * 3_000_000
    agent = Script().out(init(), says(text), result("short")).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert done.finished.record.main_thread_text == text
    assert done.finished.outcome.final_text == "short"
    assert done.finished.record.parse_errors == 0
    assert done.log.read_text() == init() + says(text) + result("short")


def test_missing_result(tmp_path: Path) -> None:
    done = run_agent(Script().out(init()).install(tmp_path / "bin"), tmp_path)
    outcome = done.finished.outcome
    assert (outcome.failed, outcome.category) == (True, Category.PARSE)
    assert outcome.reason == "the agent ended without a result (exit code 0)"
    assert done.log.read_text() == init()


def test_permission_denials(tmp_path: Path) -> None:
    denial = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "rm -r /"}}
    agent = Script().out(init(), result("I may not", permission_denials=[denial])).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    outcome = done.finished.outcome
    assert done.finished.record.permission_denials == [denial]
    assert (outcome.failed, outcome.category) == (True, Category.PERMISSION)
    assert outcome.reason == "permission was refused for Bash"
    assert len(agent.starts) == 1, "a denial is not tried again"
    allowed = run_agent(agent, tmp_path, denials_fail=False)
    assert not allowed.finished.outcome.failed


def test_continue(tmp_path: Path) -> None:
    agent = Script().on_start(3, Script().out(init(OTHER_SESSION), result(session=OTHER_SESSION)).exit(0))
    agent = agent.out(init(), result())
    installed = agent.install(tmp_path / "bin")
    first, second, third = (run_agent(installed, tmp_path, continue_session=True).finished for _ in range(3))
    resumed = f"--resume={SESSION}"
    assert [[flag in start["argv"] for flag in ("--continue", resumed)] for start in installed.starts] == [
        [False, False],
        [False, True],
        [False, True],
    ]
    assert (first.record.session_id, second.record.session_id) == (SESSION, SESSION)
    assert (first.outcome.session_forked, second.outcome.session_forked) == (False, False)
    assert (third.record.session_id, third.outcome.session_forked) == (OTHER_SESSION, True)
    assert OTHER_SESSION in (tmp_path / ".ralph/state/claude-session.json").read_text()


def test_timeout(tmp_path: Path) -> None:
    agent = Script().out(init(), says("so far")).daemon().sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(run=START_SECONDS))
    outcome = done.finished.outcome
    assert (outcome.error, outcome.category, outcome.exit_code) == ("timeout", Category.TIMEOUT, -1)
    assert (outcome.final_text, outcome.degraded) == ("so far", True)
    assert done.finished.limit is Watchdog.RUN
    assert all_dead([agent.starts[0]["pid"], *agent.daemons])
    assert done.log.read_text() == init() + says("so far")
    assert (done.meta["timed_out"], done.meta["limit"], done.meta["limit_seconds"]) == (True, "run", START_SECONDS)


def test_a_killed_agent_is_a_process_failure_with_its_words_kept(tmp_path: Path) -> None:
    agent = Script().out(init(), says("almost")).sleep().install(tmp_path / "bin")
    killed: list[int] = []

    async def main() -> AgentRun:
        agent_run = AgentRun(Request("hi", tmp_path, retries=0), environment=agent.environment())
        async with asyncio.timeout(HANG_SECONDS):
            async for event in agent_run.events():
                if isinstance(event, Assistant):
                    killed.append(agent.starts[0]["pid"])
                    os.kill(killed[0], signal.SIGKILL)
        return agent_run

    finished = asyncio.run(main()).finished
    assert finished is not None
    assert (finished.outcome.category, finished.outcome.exit_code) == (Category.PROCESS, -signal.SIGKILL)
    assert finished.outcome.final_text == "almost"
    assert finished.outcome.failed
    assert logs_of(tmp_path)[0].read_text() == init() + says("almost")


def test_an_agent_that_closes_its_output_and_lives_on_after_its_result_is_a_success(tmp_path: Path) -> None:
    agent = successful_turn().close(1).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(after_result=0.3))
    assert not done.finished.outcome.failed
    assert (done.finished.killed_after_result, done.finished.limit) == (True, Watchdog.AFTER_RESULT)
    assert all_dead([agent.starts[0]["pid"]])


def test_an_agent_that_closes_its_output_without_a_result_and_lives_on_is_ended(tmp_path: Path) -> None:
    agent = Script().out(init()).close(1).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(run=START_SECONDS))
    assert (done.finished.outcome.category, done.finished.attempts) == (Category.TIMEOUT, 1)
    assert all_dead([agent.starts[0]["pid"]])
    assert done.log.read_text() == init()


def test_200_kilobytes_of_stderr_are_kept_whole_and_its_end_explains_the_failure(tmp_path: Path) -> None:
    agent = Script().err("e" * 200_000 + "\nthe true reason\n").exit(4).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, retries=0)
    assert done.finished.stderr_path is not None
    assert done.finished.stderr_path.read_text() == "e" * 200_000 + "\nthe true reason\n"
    assert (done.finished.outcome.category, done.finished.outcome.exit_code) == (Category.PROCESS, 4)
    assert done.finished.outcome.error is not None


def test_an_agent_that_stays_after_its_result_is_ended_and_the_run_is_a_success(tmp_path: Path) -> None:
    agent = successful_turn().sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(after_result=0.3))
    assert done.finished.outcome.succeeded_cleanly
    assert (done.finished.killed_after_result, done.finished.outcome.exit_code) == (True, 0)
    assert (done.meta["ended_by_us"], done.meta["timed_out"]) == (True, False)
    assert all_dead([agent.starts[0]["pid"]])


def test_an_agent_that_stays_after_an_error_is_ended_and_the_error_is_kept(tmp_path: Path) -> None:
    agent = Script().out(init(), result("no such model", is_error=True)).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(after_result=0.3))
    assert (done.finished.outcome.error, done.finished.outcome.category) == ("no such model", Category.API)
    assert done.finished.killed_after_result


def test_a_whole_run_limit_that_strikes_after_the_result_changes_nothing(tmp_path: Path) -> None:
    done = run_agent(successful_turn().sleep().install(tmp_path / "bin"), tmp_path, limits=limits(run=START_SECONDS))
    assert done.finished.outcome.succeeded_cleanly
    assert (done.finished.killed_after_result, done.finished.limit) == (True, Watchdog.RUN)


def test_what_an_agent_prints_on_its_way_out_belongs_to_the_run(tmp_path: Path) -> None:
    words = result("Request interrupted", subtype="error_during_execution", is_error=True, total_cost_usd=0.5)
    agent = Script().answer_signal("SIGINT", words).out(init()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(idle=START_SECONDS))
    assert (done.finished.outcome.error, done.finished.outcome.exit_code) == ("timeout", -1)
    assert done.finished.cost.usd == 0.5
    assert done.log.read_text() == init() + words
    assert not done.finished.killed_after_result


def test_an_agent_that_ignores_every_polite_signal_is_killed(tmp_path: Path) -> None:
    agent = Script().ignore("SIGINT", "SIGTERM", "SIGHUP").out(init(), result()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(after_result=0.2))
    assert done.finished.outcome.succeeded_cleanly
    assert all_dead([agent.starts[0]["pid"]])


def test_a_grandchild_that_holds_the_output_does_not_hang_the_run_and_dies_with_it(tmp_path: Path) -> None:
    agent = successful_turn().daemon(holds_output=True, ignores=True).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert done.finished.outcome.succeeded_cleanly
    assert not done.finished.killed_after_result
    assert all_dead(agent.daemons)


def test_only_the_daemons_of_the_run_that_ended_die_among_twenty_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    others = [
        Script().out(init()).daemon().until(gate).out(result()).install(tmp_path / f"{number}/bin")
        for number in range(20)
    ]
    ours = successful_turn().daemon(ignores=True).install(tmp_path / "ours/bin")

    async def one(number: int) -> Any:
        cwd = tmp_path / str(number)
        agent_run = AgentRun(Request("hi", cwd), environment=others[number].environment())
        async for _event in agent_run.events():
            pass
        return agent_run.finished

    async def main() -> list[Any]:
        async with asyncio.timeout(HANG_SECONDS):
            running = [asyncio.create_task(one(number)) for number in range(20)]
            while not all(agent.daemons for agent in others):
                await asyncio.sleep(0.01)
            agent_run = AgentRun(Request("hi", tmp_path / "ours"), environment=ours.environment())
            async for _event in agent_run.events():
                pass
            assert all_dead(ours.daemons)
            assert all_dead([ours.starts[0]["pid"]])
            living = [pid for agent in others for pid in (agent.starts[0]["pid"], *agent.daemons)]
            assert len(living) == 40
            assert all(is_alive(pid) for pid in living)
            gate.touch()
            return [agent_run.finished, *await asyncio.gather(*running)]

    finished = asyncio.run(main())
    assert all(one.outcome.succeeded_cleanly for one in finished)
    assert all_dead([pid for agent in others for pid in agent.daemons])


def test_many_agents_side_by_side_lose_no_event(tmp_path: Path) -> None:
    count, lines = SIZES.agents_side_by_side, 200
    script = Script().out(init()).numbered(lines).out(result())
    agents = [script.install(tmp_path / f"{number}/bin") for number in range(count)]
    seen: list[int] = [0] * count

    async def one(number: int) -> Any:
        agent_run = AgentRun(Request("hi", tmp_path / str(number)), environment=agents[number].environment())
        async for _event in agent_run.events():
            seen[number] += 1
        return agent_run.finished

    async def main() -> list[Any]:
        async with asyncio.timeout(10 * HANG_SECONDS):
            return await asyncio.gather(*(one(number) for number in range(count)))

    finished = asyncio.run(main())
    assert seen == [lines + 2] * count
    assert [one.record.unknown_events for one in finished] == [lines] * count
    assert all(one.outcome.succeeded_cleanly for one in finished)
    numbered = "".join(line({"type": "numbered", "number": number}) for number in range(lines))
    assert {one.log_path.read_text() for one in finished} == {init() + numbered + result()}


def test_an_agent_that_never_stops_printing_meets_its_limit(tmp_path: Path) -> None:
    agent = Script().out(init()).flood().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(run=START_SECONDS))
    assert (done.finished.outcome.category, done.finished.limit) == (Category.TIMEOUT, Watchdog.RUN)
    assert done.finished.record.unknown_events > 0
    assert all_dead([agent.starts[0]["pid"]])


def test_a_silent_agent_is_ended_by_the_idle_limit(tmp_path: Path) -> None:
    done = run_agent(Script().sleep().install(tmp_path / "bin"), tmp_path, limits=limits(idle=0.3))
    assert (done.finished.limit, done.finished.outcome.category) == (Watchdog.IDLE, Category.TIMEOUT)


def test_the_idle_limit_counts_from_the_last_output(tmp_path: Path) -> None:
    script, half = Script().out(init()), START_SECONDS * 0.6
    agent = script.sleep(half).out(says("one")).sleep(half).out(says("two"), result()).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, limits=limits(idle=START_SECONDS))
    assert (done.finished.limit, done.finished.outcome.succeeded_cleanly) == (None, True)


def test_a_tool_call_in_progress_is_given_longer(tmp_path: Path) -> None:
    script = Script().out(init(), calls("Bash", command="make")).sleep(START_SECONDS + 1).out(returns("ok"), result())
    done = run_agent(script.install(tmp_path / "bin"), tmp_path, limits=limits(idle=START_SECONDS, tool_idle=60))
    assert done.finished.outcome.succeeded_cleanly


def test_a_tool_call_that_hangs_is_ended_by_the_limit_for_tools(tmp_path: Path) -> None:
    script = Script().out(init(), calls("Bash", command="make")).sleep()
    done = run_agent(script.install(tmp_path / "bin"), tmp_path, limits=limits(idle=60, tool_idle=0.5))
    assert (done.finished.limit, done.finished.outcome.category) == (Watchdog.TOOL_IDLE, Category.TIMEOUT)


def test_a_call_without_an_answer_does_not_keep_an_agent_alive_after_its_result(tmp_path: Path) -> None:
    script = Script().out(init(), calls("StructuredOutput", summary="x"), result()).sleep()
    done = run_agent(script.install(tmp_path / "bin"), tmp_path, limits=limits(after_result=0.3))
    assert (done.finished.limit, done.finished.outcome.succeeded_cleanly) == (Watchdog.AFTER_RESULT, True)


def test_a_background_task_keeps_the_agent_alive_after_its_result_and_the_next_turn_counts(tmp_path: Path) -> None:
    begun = line({"type": "system", "subtype": "task_started", "task_id": "b1", "description": "make"})
    ended = line({"type": "system", "subtype": "task_notification", "task_id": "b1", "status": "completed"})
    script = Script().out(init(), begun, result("started")).sleep(2).out(ended, init()).sleep(2)
    script.out(says("it is built"), result("it is built"))
    done = run_agent(script.install(tmp_path / "bin"), tmp_path, limits=limits(after_result=1.5))
    assert (done.finished.limit, done.finished.outcome.final_text) == (None, "it is built")
    assert done.finished.record.results == 2


@pytest.mark.parametrize(
    ("script", "starts"),
    [
        (Script().on_start(1, Script().out(init()).kill()).out(init(), result()), 2),
        (Script().on_start(1, Script().err("segmentation fault").exit(139)).out(init(), result()), 2),
        (Script().on_start(1, Script().out(init()).exit(0)).out(init(), result()), 2),
        (Script().out(init(), result("bad", is_error=True)), 1),
        (Script().out(init(), result("bad", is_error=True)).exit(1), 1),
        (Script().out(init(), result("", subtype="error_max_turns", is_error=True)), 1),
        (Script().out(init(), result("", num_turns=1)), 1),
        (Script().out(init(), result("Should I?", num_turns=1, stop_reason="end_turn")), 1),
        (Script().out(init(), result("", subtype="error_max_turns")), 1),
        (Script().on_start(1, Script().out(init(), says("words")).exit(0)).out(init(), result()), 2),
        (Script().on_start(1, Script().out(init(), result()[:-9]).exit(0)).out(init(), result()), 2),
    ],
    ids=[
        "crash",
        "exit-code",
        "no-result",
        "error",
        "error-code",
        "max-turns",
        "empty",
        "question",
        "max-turns-undeclared",
        "words-without-result",
        "cut-off-result",
    ],
)
def test_a_crash_or_a_missing_result_is_tried_once_more_and_nothing_else_is(
    tmp_path: Path, script: Script, starts: int
) -> None:
    agent = script.install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert (done.finished.attempts, len(agent.starts), len(logs_of(tmp_path))) == (starts, starts, starts)
    assert [meta_of(log)["attempt"] for log in logs_of(tmp_path)] == list(range(1, starts + 1))
    if starts == 2:
        assert done.finished.outcome.succeeded_cleanly
        assert any("; retrying" in words for words in done.messages)


def test_a_timeout_is_not_tried_again(tmp_path: Path) -> None:
    agent = Script().sleep().install(tmp_path / "bin")
    assert run_agent(agent, tmp_path, limits=limits(run=2)).finished.attempts == 1
    assert len(agent.starts) == 1


def test_two_crashes_are_a_failure_and_both_logs_are_kept(tmp_path: Path) -> None:
    agent = Script().out("half a li").kill("SIGSEGV").install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert (done.finished.attempts, done.finished.outcome.category) == (2, Category.PROCESS)
    assert [log.read_text() for log in logs_of(tmp_path)] == ["half a li"] * 2


def test_the_lenient_policy_takes_words_without_a_result_for_an_answer(tmp_path: Path) -> None:
    agent = Script().out(init(), says("words")).exit(1).install(tmp_path / "bin")
    assert not run_agent(agent, tmp_path, policy=Policy.LENIENT).finished.outcome.failed
    assert run_agent(agent, tmp_path, retries=0).finished.outcome.failed


def test_bytes_are_on_disk_before_their_events_are_seen(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    agent = Script().out(init()).until(gate).out(result("two")).install(tmp_path / "bin")
    found: list[str] = []

    async def main() -> None:
        agent_run = AgentRun(Request("hi", tmp_path), environment=agent.environment())
        async with asyncio.timeout(HANG_SECONDS):
            async for _event in agent_run.events():
                found.append(logs_of(tmp_path)[0].read_text())
                gate.touch()

    asyncio.run(main())
    assert found == [init(), init() + result("two")]


def test_garbage_is_logged_verbatim_and_counted(tmp_path: Path) -> None:
    garbage = 'not json\n\xff\xfe\x00\n[1]\n{"type":"new"}\n{"half'
    agent = Script().out(garbage, "\n", init(), result(), '{"cut').install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert done.log.read_bytes() == (garbage + "\n" + init() + result() + '{"cut').encode("latin-1")
    assert (done.finished.record.parse_errors, done.finished.record.unknown_events) == (4, 1)
    assert not done.finished.outcome.failed


def test_a_consumer_that_stops_ends_the_agent_and_frees_the_workspace(tmp_path: Path) -> None:
    agent = Script().out(init()).daemon().sleep().install(tmp_path / "bin")

    async def main() -> None:
        events = AgentRun(Request("hi", tmp_path), environment=agent.environment()).events()
        async with asyncio.timeout(HANG_SECONDS):
            await anext(events)
            while not agent.daemons:
                await asyncio.sleep(0.01)
            await events.aclose()

    asyncio.run(main())
    assert all_dead([agent.starts[0]["pid"], *agent.daemons])
    assert meta_of(logs_of(tmp_path)[0])["interrupted"] is True
    again = successful_turn().install(tmp_path / "bin", "again")
    assert run_agent(again, tmp_path).finished.outcome.succeeded_cleanly


def test_the_session_of_a_run_that_was_broken_off_is_the_one_to_continue(tmp_path: Path) -> None:
    run_agent(Script().out(init(), result()).install(tmp_path / "bin", "first"), tmp_path)
    agent = Script().out(init(OTHER_SESSION)).sleep().install(tmp_path / "bin")

    async def main() -> None:
        events = AgentRun(Request("hi", tmp_path), environment=agent.environment()).events()
        async with asyncio.timeout(HANG_SECONDS):
            await anext(events)
            await events.aclose()

    asyncio.run(main())
    again = Script().out(init(OTHER_SESSION), result()).install(tmp_path / "bin", "again")
    assert not run_agent(again, tmp_path, continue_session=True).finished.outcome.session_forked


@pytest.mark.parametrize(
    ("seen", "error"),
    [(Init, "interrupted"), (Result, None)],
    ids=["before its result it is interrupted", "after its result it has that result"],
)
def test_a_run_that_was_broken_off_says_what_was_seen(tmp_path: Path, seen: type[Event], error: str | None) -> None:
    agent = Script().out(init()).out(*([result("done")] if seen is Result else [])).sleep().install(tmp_path / "bin")
    agent_run = AgentRun(Request("hi", tmp_path), environment=agent.environment())

    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS), aclosing(agent_run.events()) as events:
            async for event in events:
                if isinstance(event, seen):
                    return

    asyncio.run(main())
    assert agent_run.finished is not None
    assert (agent_run.finished.outcome.error, agent_run.finished.log_path) == (error, logs_of(tmp_path)[0])
    assert agent_run.finished.record.session_id == SESSION


def test_another_folder_than_the_given_one_is_reported(tmp_path: Path) -> None:
    same = Script().out(init(cwd=str(tmp_path)), result()).install(tmp_path / "bin", "same")
    other = Script().out(init(cwd="/elsewhere"), result()).install(tmp_path / "bin", "other")
    assert run_agent(same, tmp_path).finished.cwd_differs is None
    assert run_agent(other, tmp_path).finished.cwd_differs == "/elsewhere"
    assert same.starts[0]["cwd"] == str(tmp_path)


def test_bypassed_permissions_are_reported_and_written_down_with_the_sandbox(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    plain = run_agent(agent, tmp_path)
    assert (plain.meta["permissions_bypassed"], plain.meta["permission_mode"]) == (False, "default")
    assert not any("permissions are bypassed" in words for words in plain.messages)
    done = run_agent(agent, tmp_path, permission=Permission.BYPASS, environment=agent.environment(IS_SANDBOX="1"))
    name = "bwrap" if sandbox.is_on() else "IS_SANDBOX"
    assert (done.meta["permissions_bypassed"], done.meta["sandbox"]) == (True, name)
    assert f"permissions are bypassed; sandbox: {name}" in done.messages
    assert "--dangerously-skip-permissions" in agent.starts[1]["argv"]


def test_one_line_says_which_program_mode_task_and_auth(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, task="two\nlines \x1b[2J")
    ending = ", sandbox: bwrap" if sandbox.is_on() else ""
    assert done.messages[0] == f"claude ({agent.path}): coder two-lines-2J, auth: login{ending}"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"prompt": "  "}, "the prompt is empty"),
        ({"resume": "../x"}, "session id"),
        ({"prompt": "a\0b"}, "is not valid"),
        ({"system_prompt": "x" * 200_000}, "arguments are too long"),
        ({"agent": "nobody"}, "nobody"),
    ],
)
def test_what_the_caller_got_wrong_is_a_usage_error_and_spends_nothing(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    with pytest.raises(UsageError, match=re.escape(words)):
        run_agent(agent, tmp_path, environment=agent.environment(BRIDLE_NOBODY=str(agent.path)), **fields)
    assert not agent.starts
    assert not (tmp_path / ".ralph/state/budget.json").exists()


@pytest.mark.parametrize("name", ["missing", "x" * 300])
def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        run_agent(successful_turn().install(tmp_path / "bin"), tmp_path / name)


def test_an_agent_whose_key_is_refused_cannot_be_used(tmp_path: Path) -> None:
    words = result("Invalid API key", is_error=True, api_error_status=401)
    done = run_agent(Script().out(init(), words).exit(1).install(tmp_path / "bin"), tmp_path)
    assert done.finished.outcome.category is Category.AUTH
    assert done.finished.unusable is not None
    assert 'auth = "key"' in str(done.finished.unusable)


def test_the_limits_are_on_by_default() -> None:
    assert all(0 < seconds <= 7200 for seconds in vars_of(Limits()))


def vars_of(value: Limits) -> list[float]:
    return [value.run_seconds, value.idle_seconds, value.tool_idle_seconds, value.after_result_seconds]


def test_a_start_that_is_interrupted_before_its_first_output_counts(tmp_path: Path) -> None:
    agent = Script().sleep().install(tmp_path / "bin")

    async def main() -> AgentRun:
        agent_run = AgentRun(Request("hi", tmp_path), environment=agent.environment())
        running = asyncio.create_task(agent_run.to_end())
        async with asyncio.timeout(HANG_SECONDS):
            while not agent.starts:
                await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return agent_run

    finished = asyncio.run(main()).finished
    assert finished is not None
    assert (budgets.read(tmp_path).iterations, budgets.read(tmp_path).total_cost_usd) == (1, 0)
    assert cost_line(finished) == "it printed nothing; its cost counts as 0"
