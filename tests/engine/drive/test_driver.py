"""The driver as a library: what each kind of effect becomes, and when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridle.engine.drive.command_performer import SHOWN_CHARACTERS
from bridle.engine.drive.performer import Job, Unperformed
from bridle.engine.entries import effect_attempts
from bridle.errors import DiskError, LockHeld, ProcessDiverged, RunNotFound, UsageError
from bridle.ground.lock import FileLock
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.driven_runs import LIMIT_SECONDS, DrivenRun, new_driven_run, refs, wait_until, worktrees
from tests.fixtures.bridle_program import BRIDLE
from tests.run.fixtures.agent_runs import logs_of
from tests.run.fixtures.fake_agent import Script, all_dead, init, result, says, successful_turn


def test_commands_agents_and_pauses_are_performed_and_the_run_completes(tmp_path: Path) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            first = await ctx.task(shell, {"command": "cat a.txt; echo oops >&2; exit 3"})
            await ctx.sleep_until(inputs["soon"])
            words = await ctx.task(agent, {"prompt": "$ echo from the agent > b.txt"})
            return [first, words]
        """,
        inputs={"soon": soon.isoformat()},
    )
    done = driven.drive()
    assert done.status == "completed"
    assert (done.performed, done.cost_usd) == (2, 0.25)
    assert driven.output() == [
        {"success": False, "exitCode": 3, "stdout": "one\n", "stderr": "oops\n"},
        "done as told",
    ]
    assert (driven.folder / "b.txt").read_text() == "from the agent\n"
    assert datetime.now(UTC) >= soon
    assert driven.types() == [
        *("PROCESS_CODE", "REQUESTED", "STARTED", "RESOLVED"),
        *("REQUESTED", "RESOLVED", "REQUESTED", "STARTED", "RESOLVED", "RUN_COMPLETED"),
    ]


def test_a_run_in_linked_runs_loads_its_process_and_works_in_the_repository_with_the_link(tmp_path: Path) -> None:
    source = """
        async def process(inputs, ctx):
            return (await ctx.task(shell, {"command": "pwd -P"}))["stdout"]
        """
    driven = new_driven_run(tmp_path / "home", source)
    runs, elsewhere = driven.run.parent, tmp_path / "another/disk/and/folder"
    elsewhere.parent.mkdir(parents=True)
    runs.rename(elsewhere)
    runs.symlink_to(elsewhere)
    done = driven.bridle("drive", driven.run.name)
    assert done.returncode == 0, done.stderr
    assert driven.output() == f"{driven.folder.resolve()}\n"


def test_driving_a_completed_run_does_nothing_and_says_the_same(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return (await ctx.task(shell, {'command': 'true'}))"
    )
    first, before = driven.drive(), driven.types()
    second = driven.drive()
    assert (second.status, second.performed, second.iteration.output) == ("completed", 0, first.iteration.output)
    assert driven.types() == before


def test_what_commands_print_is_kept_whole_in_private_files(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            return await ctx.task(shell, {"command": "seq 100000; echo end"}, label="loud")
        """,
    )
    driven.drive()
    log = driven.run / driven.result("loud")["stdoutRef"]
    assert log.read_text().splitlines() == [*map(str, range(1, 100_001)), "end"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    shown = driven.output()["stdout"]
    assert shown.startswith("1\n2\n")
    assert shown.endswith("\nend\n")
    assert "bytes is left out" in shown
    assert len(shown) < 70_000


def test_python_and_node_give_the_document_that_they_print(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            python = {"kind": "python", "python": {"entry": "double.py", "args": ["2"], "env": {"MORE": "1"}}}
            node = {"kind": "node", "node": {"entry": "double.js"}}
            filed = {"kind": "shell", "shell": "mkdir -p $D; cat $D/in.json | tr a b > $D/out.json",
                     "io": {"inputJsonPath": "tasks/x/in.json", "outputJsonPath": "tasks/x/out.json"}}
            filed["shell"] = {"command": filed["shell"], "env": {"D": inputs["run"] + "/tasks/x"}}
            return [(await ctx.task(free, one))["result"] for one in (python, node, filed)]
        """,
        inputs={"run": str(tmp_path / "repository/.a5c/runs/r1")},
    )
    script = (
        "import json, os, sys\nprint(json.dumps([json.load(sys.stdin)['kind'], sys.argv[1:], os.environ['MORE']]))\n"
    )
    (driven.folder / "double.py").write_text(script)
    node = "const t = JSON.parse(require('fs').readFileSync(0)); console.log(JSON.stringify({k: t.kind}))"
    (driven.folder / "double.js").write_text(node)
    assert driven.drive().status == "completed"
    python, by_node, filed = driven.output()
    assert python == ["python", ["2"], "1"]
    assert by_node == {"k": "node"}
    assert filed["kind"] == "shell"
    assert "bridle" not in filed


def test_a_command_that_takes_too_long_is_ended_and_reported_as_such(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            slow = {"kind": "shell", "shell": {"command": "echo begun; sleep 600", "timeoutMs": 300}}
            return await ctx.task(free, slow)
        """,
    )
    assert driven.drive().status == "completed"
    value = driven.output()
    assert (value["success"], value["exitCode"], value["stdout"]) == (False, None, "begun\n")
    assert value["error"] == "timed out after 0.3 seconds"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"kind": "shell"}, "has no command"),
        ({"kind": "shell", "shell": {"command": ["no-such-program-here"]}}, "no such program"),
        ({"kind": "shell", "shell": {"command": "true", "cwd": "nowhere"}}, "nowhere"),
        ({"kind": "python", "python": {}}, "names no file"),
        ({"kind": "agent", "agent": {}}, "has no prompt"),
        ({"kind": "agent", "agent": {"prompt": "x", "mode": "poet"}}, "poet"),
        ({"kind": "skill", "skill": {}}, "has no skill name"),
        ({"kind": "shell", "shell": {"command": "true"}, "io": {"inputJsonPath": "../../x"}}, "must be in the run"),
    ],
)
def test_a_task_that_cannot_be_done_is_an_error_that_its_process_can_catch(
    tmp_path: Path, definition: dict[str, object], words: str
) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            try:
                await ctx.task(free, inputs)
            except EffectFailed as error:
                return error.message
        """,
        inputs=definition,
    )
    assert driven.drive().status == "completed"
    assert words in driven.output()


def test_the_cost_of_a_drive_is_unknown_if_that_of_one_agent_is(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            await ctx.task(shell, {"command": "true"})
            return await ctx.task(agent, {"prompt": "cost nothing that is known"})
        """,
        script=Script().listen().out(init(), result("done", total_cost_usd=None, usage={})),
    )
    done = driven.drive()
    assert (done.status, done.cost_usd, done.known_cost_usd) == ("completed", None, 0.0)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_an_answer_with_a_number_that_json_does_not_have_is_a_failure_of_the_agent(
    tmp_path: Path, concurrency: int
) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            both = (ctx.task(agent, {"prompt": "score"}, label=label) for label in ("one", "two"))
            found = await asyncio.gather(*both, return_exceptions=True)
            return [[error.name, error.message] for error in found]
        """,
        script=Script().listen().out(init(), result("", structured_output={"score": float("inf")})),
    )
    assert driven.drive(concurrency=concurrency).status == "completed"
    for name, message in driven.output():
        assert name == "AgentFailed"
        assert "must be JSON" in message


def test_an_agents_value_is_its_structured_answer_where_there_is_a_schema(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
            judged = await ctx.task(agent, {"prompt": "score it", "outputSchema": schema}, label="judge")
            return judged["score"]
        """,
        script=Script().listen().out(init(), says("7 of 10"), result("7 of 10", structured_output={"score": 7})),
    )
    assert driven.drive().status == "completed"
    assert driven.output() == 7
    metadata = driven.result("judge")["metadata"]
    assert metadata["costUsd"] == 0.25
    assert metadata["attempt"] == 1
    assert Path(metadata["log"]) == logs_of(driven.folder)[0]
    (start,) = driven.agent.starts
    assert start["environment"]["BRIDLE_EFFECT_ID"] == driven.effect("judge")
    assert start["environment"]["BRIDLE_RUN_ID"] == "r1"


def test_a_task_may_say_which_agent_and_which_model(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            section = {"prompt": {"role": "a tester", "task": "look", "instructions": ["one", "two"]}, "model": "haiku"}
            return await ctx.task(free, {"kind": "agent", "agent": section, "execution": {"harness": "claude-code"}})
        """,
    )
    assert driven.drive().status == "completed"
    (start,) = driven.agent.starts
    assert "--model=haiku" in start["argv"]
    assert start["argv"][-1] == "role:\na tester\n\ntask:\nlook\n\ninstructions:\n- one\n- two"


def test_an_agent_that_fails_is_an_error_with_its_category(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            try:
                await ctx.task(agent, {"prompt": "x"})
            except EffectFailed as error:
                return [error.name, error.data["category"]]
        """,
        script=Script().out(init(), says("I may not"), result("I may not", permission_denials=[{"tool_name": "Bash"}])),
    )
    assert driven.drive().status == "completed"
    assert driven.output() == ["AgentFailed", "permission"]


def test_a_skill_is_an_agent_that_is_asked_to_use_it(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            return await ctx.task(free, {"kind": "skill", "skill": {"name": "tidy", "context": {"path": "a.txt"}}})
        """,
    )
    assert driven.drive().status == "completed"
    assert "'tidy'" in driven.agent.starts[0]["argv"][-1]
    assert "a.txt" in driven.agent.starts[0]["argv"][-1]


def test_a_missing_agent_ends_the_driver_and_leaves_the_effect_waiting(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'})")
    driven.variables["BRIDLE_CLAUDE"] = str(tmp_path / "gone")
    done = driven.drive()
    assert done.status == "unusable"
    assert done.error is not None
    assert "gone" in done.error.message
    del driven.variables["BRIDLE_CLAUDE"]
    assert driven.drive().status == "completed", "the same effect, once the agent is there"


@pytest.mark.parametrize("why", ["budget", "usage"])
def test_a_limit_ends_the_driver_and_leaves_the_effect_waiting(tmp_path: Path, why: str) -> None:
    words = "Claude usage limit reached"
    limited = Script().out(init(), result(words, subtype="error_during_execution", is_error=True)).exit(1)
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'})",
        script=limited if why == "usage" else successful_turn(),
    )
    budget = driven.folder / ".ralph/state/budget.json"
    if why == "budget":
        budget.parent.mkdir(parents=True)
        budget.write_text(json.dumps({"total_cost_usd": 5, "max_cost_usd": 5, "iterations": 1, "max_iterations": None}))
    done = driven.drive()
    assert done.status == "limit"
    assert done.error is not None
    assert (words if why == "usage" else "budget is spent") in done.error.message
    assert driven.types()[-1] == "STARTED"
    budget.unlink(missing_ok=True)
    successful_turn().install(tmp_path / "bin")
    assert driven.drive().status == "completed"


def test_unknown_kinds_are_left_visible(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            odd = ctx.task(free, {"kind": "telegram", "title": "Odd"}, label="odd")
            orchestrated = ctx.orchestrator_task({"do": "it"}, label="mine")
            plain = ctx.task(shell, {"command": "true"})
            return [await plain, await odd, await orchestrated]
        """,
    )
    done = driven.drive()
    assert (done.status, done.performed) == ("waiting", 1)
    assert [action.effect.label for action in done.unsupported] == ["odd", "mine"]
    with FileStore(driven.run).write("the test") as writer:
        for label in ("odd", "mine"):
            writer.resolve(driven.effect(label), Posted(OK, value=label, started_at="x", finished_at="x"))
    assert driven.drive().status == "completed"


def test_a_performer_can_be_given_for_any_kind(tmp_path: Path) -> None:
    class Telegraph:
        may_repeat = True

        async def perform(self, job: Job) -> Posted:
            await job.append_entry("BRIDLE_TELEGRAM", {"effectId": job.effect.effect_id})
            return Posted(OK, value=f"sent {job.task.document['words']}", started_at="x", finished_at="x")

        async def clear(self, job: Job) -> None:
            (job.folder() / "cleared").touch()

    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(free, {'kind': 'telegram', 'words': 'stop'}, label='t')",
    )
    assert driven.drive(performers={"telegram": Telegraph()}).status == "completed"
    assert driven.output() == "sent stop"
    assert "TELEGRAM" in driven.types()
    assert (driven.run / "tasks" / driven.effect("t") / "cleared").exists()


@pytest.mark.parametrize(("policy", "approved"), [("approve", True), ("reject", False)])
def test_a_policy_answers_breakpoints_and_the_journal_says_so(tmp_path: Path, policy: str, approved: bool) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            return [await ctx.breakpoint({"question": "One?"}), await ctx.breakpoint({"question": "Two?"})]
        """,
    )
    assert driven.drive(breakpoints=policy).status == "completed"
    for answer in driven.output():
        assert (answer["approved"], answer["respondedBy"]) == (approved, "policy")
        assert policy in answer["response"]


def test_without_a_policy_a_breakpoint_waits_for_a_user(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            asked = ctx.breakpoint({"question": "Ship?", "options": ["Yes", "Later"]})
            return [await ctx.task(shell, {"command": "true"}), await asked]
        """,
    )
    done = driven.drive()
    assert (done.status, done.performed) == ("waiting", 1)
    (question,) = done.questions
    assert (question.text, question.options) == ("Ship?", ("Yes", "Later"))


def test_a_driver_that_waits_goes_on_when_an_answer_arrives(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return (await ctx.breakpoint({'question': 'Ship?'}))['response']"
    )
    with driven.start("drive", "r1", "--wait") as started:
        wait_until(lambda: FileReader(driven.run).position().pending)
        (effect_id,) = FileReader(driven.run).position().pending
        assert driven.bridle("answer", effect_id, "yes", "r1").returncode == 0
        assert started.wait(LIMIT_SECONDS) == 0
    assert driven.output() == "yes"


def test_a_driver_that_waits_ends_at_its_limit(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return await ctx.breakpoint({'question': 'Ship?'})"
    )
    done = driven.drive(waits=True, limit_seconds=0.5)
    assert done.status == "limit"
    assert [question.text for question in done.questions] == ["Ship?"]


def test_a_hook_may_answer_the_breakpoint_it_is_notified_of(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return (await ctx.breakpoint({'question': 'Ship?'}))['by']"
    )
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-breakpoint/a.sh"
    hook.parent.mkdir(parents=True)
    reads = "import json,sys; print(json.load(sys.stdin)['effectId'])"
    posts = """task:post r1 "$effect" --status ok --value-inline '{"approved": true, "by": "a hook"}'"""
    hook.write_text(f'effect=$({sys.executable} -c "{reads}")\n{BRIDLE} {posts}\n')
    assert driven.drive().status == "completed"
    assert driven.output() == "a hook"


def test_a_hook_gets_the_payload_of_a_breakpoint_that_is_a_task(tmp_path: Path) -> None:
    task = "{'kind': 'breakpoint', 'breakpoint': {'payload': {'question': 'Ship?'}}}"
    driven = new_driven_run(tmp_path, f"async def process(inputs, ctx): return await ctx.task(free, {task})")
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-breakpoint/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"cat > {tmp_path}/payload\n")
    assert driven.drive().status == "waiting"
    assert json.loads((tmp_path / "payload").read_text())["payload"] == {"question": "Ship?"}


@pytest.mark.parametrize("policy", ["approve", "reject"])
def test_a_hook_is_notified_of_a_breakpoint_that_a_policy_answers(tmp_path: Path, policy: str) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return await ctx.breakpoint({}, label='gate')")
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-task-complete/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"cat >> {tmp_path}/payload; echo >> {tmp_path}/payload\n")
    driven.drive(breakpoints=policy)
    (payload,) = map(json.loads, (tmp_path / "payload").read_text().splitlines())
    assert (payload["runId"], payload["effectId"], payload["status"]) == ("r1", driven.effect("gate"), "ok")


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_a_command_that_prints_a_number_that_json_does_not_have_has_printed_text(tmp_path: Path, number: str) -> None:
    task = {"kind": "python", "python": {"code": f"print('{number}')"}}
    driven = new_driven_run(tmp_path, f"async def process(inputs, ctx): return await ctx.task(free, {task!r})")
    assert driven.drive().status == "completed"
    assert (driven.output()["stdout"], "result" in driven.output()) == (f"{number}\n", False)


def test_a_performer_that_returns_a_number_that_json_does_not_have_has_failed(tmp_path: Path) -> None:
    class Counts:
        may_repeat = True

        async def perform(self, _job: Job) -> Posted:
            return Posted(OK, value={"count": float("inf")}, started_at="x", finished_at="x")

        async def clear(self, job: Job) -> None:
            pass

    source = "async def process(inputs, ctx): return await ctx.task(free, {'kind': 'counting'})"
    driven = new_driven_run(tmp_path, source)
    ended = driven.drive(performers={"counting": Counts()})
    assert ended.status == "failed"
    assert "the result of an effect must be JSON" in str(ended.iteration.failure)


def test_hooks_are_notified_of_each_beginning_and_each_end(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return await ctx.task(shell, {'command': 'true'}, label='it')"
    )
    for hook_type in ("on-task-start", "on-task-complete"):
        hook = Path(os.environ["XDG_CONFIG_HOME"]) / f"babysitter/hooks/{hook_type}/a.sh"
        hook.parent.mkdir(parents=True)
        hook.write_text(f"cat > {tmp_path}/{hook_type}\n")
    driven.drive()
    start = json.loads((tmp_path / "on-task-start").read_text())
    end = json.loads((tmp_path / "on-task-complete").read_text())
    assert (start["runId"], start["effectId"], start["kind"], start["label"]) == (
        "r1",
        driven.effect("it"),
        "shell",
        "it",
    )
    assert (end["effectId"], end["status"]) == (driven.effect("it"), "ok")
    assert end["resultRef"].endswith("result.json")


@pytest.mark.without_sandbox("prints a secret that a sandbox does not have")
def test_secrets_stay_out_of_everything_but_the_raw_output(tmp_path: Path) -> None:
    # One secret lies across each of the two places where the output is cut.
    prints = (
        f"print('x' * {SHOWN_CHARACTERS - 5} + token + 'y' * 90_000 + token + 'z' * {SHOWN_CHARACTERS - 5}, end='')"
    )
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            return [await ctx.task(shell, {"command": inputs}, label="loud"),
                    await ctx.task(agent, {"prompt": "tell"}, label="words"),
                    await ctx.task(shell, {"command": ["sh", "-c", "echo $MY_TOKEN >&2; exit 1"]})]
        """,
        script=Script().out(init(), says("it is hunter2hunter2"), result("it is hunter2hunter2")),
        inputs=[sys.executable, "-c", f"import os; token = os.environ['MY_TOKEN']; {prints}"],
    )
    driven.variables["MY_TOKEN"] = "hunter2hunter2"
    assert driven.drive().status == "completed"
    assert (driven.run / driven.result("loud")["stdoutRef"]).read_text().count("hunter2hunter2") == 2
    shown = driven.output()[0]["stdout"]
    assert shown.startswith("xxx")
    assert shown.endswith("zzz")
    for path in [path for path in driven.run.rglob("*") if path.is_file() and path.suffix == ".json"]:
        assert not re.search("hun|ter2", path.read_text()), path
    assert "hunter2" not in "\n".join(driven.messages)
    assert driven.output()[1] == "it is ***"
    assert driven.output()[2]["stderr"] == "***\n"


def test_no_more_effects_at_once_than_were_allowed(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            line = f"own=$(mktemp -d {inputs['at']}/XXXXXX); ls {inputs['at']} | wc -l; sleep 0.2; rmdir $own"
            done = await ctx.parallel.map(range(8), lambda n: ctx.task(shell, {"command": line, "n": n}))
            return max(int(one["stdout"]) for one in done)
        """,
        inputs={"at": str(tmp_path / "bin/at")},
    )
    (tmp_path / "bin/at").mkdir()
    assert driven.drive(concurrency=3).status == "completed"
    assert driven.output() in (2, 3)


@pytest.mark.parametrize("may_repeat", [True, False])
def test_an_effect_is_noted_once_before_it_is_begun_and_not_while_it_waits_for_its_turn(
    tmp_path: Path, may_repeat: bool
) -> None:
    @dataclass
    class Slow:
        may_repeat: bool

        async def perform(self, job: Job) -> Posted:
            noted = [entry.data["effectId"] for entry in driven.entries() if entry.type == effect_attempts.STARTED]
            assert noted.count(job.effect.effect_id) == 1
            await asyncio.sleep(0.02)
            return Posted(OK, value=job.attempt, started_at="x", finished_at="x")

        async def clear(self, job: Job) -> None:
            pass

    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            return await ctx.parallel.map(range(7), lambda n: ctx.task(free, {"kind": "slow", "n": n}))
        """,
    )
    assert driven.drive(concurrency=2, performers={"slow": Slow(may_repeat)}).status == "completed"
    assert driven.output() == [1] * 7
    under, most = set(), 0
    for entry in driven.entries():
        if entry.type == effect_attempts.STARTED:
            under.add(entry.data["effectId"])
        elif entry.type == "EFFECT_RESOLVED":
            under.remove(entry.data["effectId"])
        most = max(most, len(under))
    assert (under, most) == (set(), 2)


def test_an_effect_that_is_no_longer_waited_for_is_ended(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            slow, quick = ctx.task(agent, {"prompt": "slow"}), ctx.task(shell, {"command": inputs["until"]})
            await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
            slow.cancel()
            return (await ctx.task(shell, {"command": "echo after"}))["stdout"]
        """,
        script=Script().out(init()).sleep(),
        inputs={"until": f"until [ -e {tmp_path}/bin/agent.starts ]; do sleep 0.05; done"},
    )
    assert driven.drive().status == "completed"
    assert driven.output() == "after\n"
    assert all_dead([start["pid"] for start in driven.agent.starts])
    assert (worktrees(driven.folder), refs(driven.folder)) == ([], [])


def test_a_result_posted_by_another_process_is_kept_and_our_agent_is_ended(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'}, label='it')",
        script=Script().out(init()).sleep(),
    )
    with driven.start("drive", "r1") as started:
        wait_until(lambda: driven.agent.starts)
        posted = driven.bridle("task:post", "r1", driven.effect("it"), "--status", "ok", "--value-inline", '"theirs"')
        assert posted.returncode == 0
        assert started.wait(LIMIT_SECONDS) == 0
    assert driven.output() == "theirs"
    assert all_dead([start["pid"] for start in driven.agent.starts])


def test_a_run_that_is_halted_from_outside_stops_what_is_under_way(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'}, label='it')",
        script=Script().out(init()).sleep(),
    )
    with driven.start("drive", "r1") as started:
        wait_until(lambda: driven.agent.starts)
        assert driven.bridle("run:halt", "r1", "--reason", "enough").returncode == 0
        assert started.wait(LIMIT_SECONDS) == 1
    assert all_dead([start["pid"] for start in driven.agent.starts])


def test_a_second_driver_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return 1")
    first = FileLock.hold(driven.run / "bridle-drive.lock", holder="bridle drive")
    with first, pytest.raises(LockHeld, match=f"another driver runs r1.*process {os.getpid()}"):
        driven.drive()
    assert driven.drive().status == "completed"


def test_a_folder_that_is_no_run_is_refused_and_nothing_is_made_in_it(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return 1")
    driven.run = tmp_path / "repository/.a5c/runs/none"
    with pytest.raises(RunNotFound):
        driven.drive()
    assert not driven.run.exists()


def test_a_process_that_is_changed_under_way_stops_the_driver_after_what_it_had_begun(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            one, two = ctx.task(shell, {"command": "true"}), ctx.task(shell, {"command": inputs["slow"]}, label="slow")
            await one
            return await two
        """,
        inputs={"slow": f"until [ -e {tmp_path}/bin/changed ]; do sleep 0.05; done; echo slow"},
    )
    process = driven.folder / ".a5c/process.py"
    changed = process.read_text().replace('"command": "true"', '"command": "false"')
    (tmp_path / "new.py").write_text(changed)
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-task-complete/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"cp {tmp_path}/new.py {process}; touch {tmp_path}/bin/changed\n")
    with pytest.raises(ProcessDiverged, match=r"process\.py:\d+"):
        driven.drive()
    assert driven.types().count("RESOLVED") == 2
    assert driven.result("slow")["value"]["stdout"] == "slow\n"


def begun(driven: DrivenRun, label: str) -> None:
    """What a driver that was killed in the midst of an effect leaves in the journal."""
    with FileStore(driven.run).write("the test") as writer:
        writer.append(effect_attempts.STARTED, {"effectId": driven.effect(label), "attempt": 1, "kind": "shell"})


ONE_COMMAND = (
    "async def process(inputs, ctx): return (await ctx.task(%s, {'command': 'echo once'}, label='it'))['stdout']"
)


def iterated(driven: DrivenRun) -> None:
    assert driven.bridle("run:iterate", "r1").returncode == 0


def test_a_command_that_was_under_way_becomes_a_question_and_is_done_again_on_a_word(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, ONE_COMMAND % "shell")
    iterated(driven)
    begun(driven, "it")
    done = driven.drive()
    assert (done.status, done.performed) == ("waiting", 0)
    (question,) = done.questions
    assert (question.kind, question.effect_id) == ("doubt", driven.effect("it"))
    assert question.text.endswith(f"bridle task:post r1 {driven.effect('it')} --status ok --value FILE")
    before = driven.types()
    assert driven.drive().status == "waiting"
    assert driven.types() == before, "it is asked once"
    refused = driven.bridle("answer", driven.effect("it"), "maybe", "r1")
    assert refused.returncode == 2
    assert driven.bridle("answer", driven.effect("it"), "again", "r1").returncode == 0
    assert driven.drive().status == "completed"
    assert driven.output() == "once\n"
    assert driven.types()[2:] == ["STARTED", "DOUBT", "AGAIN", "STARTED", "RESOLVED", "RUN_COMPLETED"]


def test_a_question_about_a_command_can_be_settled_by_posting_its_result(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, ONE_COMMAND % "shell")
    iterated(driven)
    begun(driven, "it")
    driven.drive()
    value = '{"stdout": "it had done it"}'
    posted = driven.bridle("task:post", "r1", driven.effect("it"), "--status", "ok", "--value-inline", value)
    assert posted.returncode == 0
    assert driven.drive().status == "completed"
    assert driven.output() == "it had done it"


def test_a_command_that_says_it_may_be_repeated_is(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, ONE_COMMAND % "again")
    iterated(driven)
    begun(driven, "it")
    assert driven.drive().status == "completed"
    assert [entry.data["attempt"] for entry in driven.entries() if entry.type == effect_attempts.STARTED] == [1, 2]


def test_an_agent_that_was_under_way_starts_afresh(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path, "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'}, label='it')"
    )
    iterated(driven)
    begun(driven, "it")
    assert driven.drive().status == "completed"
    assert driven.result("it")["metadata"]["attempt"] == 2


def test_a_disk_that_refuses_ends_the_driver_and_the_effect_is_no_failure(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, ONE_COMMAND % "again")
    iterated(driven)
    blocked = driven.run / "tasks" / driven.effect("it") / "stdout.log"
    blocked.mkdir()
    with pytest.raises(DiskError, match=r"stdout\.log"):
        driven.drive()
    blocked.rmdir()
    assert driven.drive().status == "completed"


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return 1")
    with pytest.raises(UsageError, match="breakpoints must be"):
        driven.drive(breakpoints="maybe")
    with pytest.raises(UsageError, match="concurrency must be"):
        driven.drive(concurrency=0)


def test_the_first_worked_process_of_the_docs_is_driven_to_its_end(tmp_path: Path) -> None:
    planned = Script().out(init(), says("1. Do it."), result("1. Do it."))
    done = Script().out(init(), says("Did it."), result("Did it."))
    faults = [{"faults": ["a typo"]}, {"faults": []}]
    reviewed = [Script().listen().out(init(), result("", structured_output=found)) for found in faults]
    script = Script()
    for number, part in enumerate((planned, done, reviewed[0], done, reviewed[1]), 1):
        script.on_start(number, part)
    driven = new_driven_run(tmp_path, "", script=script, inputs={"goal": "a goal"})
    page = (Path(__file__).parents[3] / "docs/processes.md").read_text("utf-8")
    source = re.search(r"```python\n(# gate\.py\n.*?)```", page, re.DOTALL)
    assert source is not None
    (driven.folder / ".a5c/process.py").write_text(source[1])
    assert driven.drive(breakpoints="approve").status == "completed"
    assert driven.output() == {"plan": "1. Do it.", "rounds": 2}
    assert "The reviewer said: ['a typo']" in driven.agent.starts[3]["argv"][-1]


def test_a_process_that_reports_its_state_is_not_replayed_for_it(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            done = []
            ctx.report_state = lambda: list(done)
            for command in ("true", "false"):
                done.append((await ctx.task(shell, {"command": command}))["exitCode"])
            await ctx.breakpoint({"question": "Again?"}, label="again")
            return done
        """,
    )
    states: list[list[int]] = []
    waiting = driven.drive(on_process_state=states.append)
    assert (waiting.status, waiting.process_state) == ("waiting", [0, 1])
    completed = driven.drive(breakpoints="approve", on_process_state=states.append)
    assert (completed.status, completed.process_state) == ("completed", [0, 1])
    assert states == [[], [0], [0, 1], [0, 1], [0, 1]]


def test_a_state_that_nobody_is_shown_is_built_once_at_the_end(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            built, done = [], []
            ctx.report_state = lambda: built.append(len(built)) or [len(built), list(done)]
            for command in ("true", "true", "true"):
                done.append((await ctx.task(shell, {"command": command}))["exitCode"])
            await ctx.breakpoint({"question": "Again?"}, label="again")
        """,
    )
    waiting = driven.drive()
    assert (waiting.status, waiting.process_state) == ("waiting", [1, [0, 0, 0]])


def test_a_state_is_not_returned_once_the_process_has_results_that_it_has_not_received(tmp_path: Path) -> None:
    class Line:
        may_repeat = True
        up_began, was_iterated = asyncio.Event(), asyncio.Event()

        async def perform(self, job: Job) -> Posted | Unperformed:
            if job.task.document["words"] == "down":
                await self.up_began.wait()
                return Unperformed("unusable", UsageError("the line is down"))
            self.up_began.set()
            await self.was_iterated.wait()  # so that its result comes after the last iteration
            return Posted(OK, value=1, started_at="x", finished_at="x")

        async def clear(self, job: Job) -> None: ...

    def note(state: str) -> None:
        states.append(state)
        if len(states) == 2:
            Line.was_iterated.set()

    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            ctx.report_state = lambda: "both wait"
            return await ctx.parallel.map(("down", "up"), lambda w: ctx.task(free, {"kind": "line", "words": w}))
        """,
    )
    states: list[str] = []
    stopped = driven.drive(performers={"line": Line()}, on_process_state=note)
    assert (stopped.status, stopped.process_state, states) == ("unusable", None, ["both wait"] * 2)


@pytest.mark.parametrize("levels", [600, 900, 5000])
def test_a_command_that_prints_too_many_levels_has_an_error_as_its_result(tmp_path: Path, levels: int) -> None:
    task = {"kind": "python", "title": "deep", "python": {"code": f"print('[' * {levels} + ']' * {levels})"}}
    source = "async def process(inputs, ctx): return await ctx.task(free, inputs)"
    driven = new_driven_run(tmp_path, source, inputs=task)
    assert driven.drive().status == "failed"
    assert "nested more than" in driven.result("deep")["error"]["message"]


def test_a_lone_surrogate_that_a_command_prints_is_stored_as_the_replacement_character(tmp_path: Path) -> None:
    task = {"kind": "python", "title": "half", "python": {"code": r"""print('{"a\\udfff": "\\ud800"}')"""}}
    source = "async def process(inputs, ctx): return (await ctx.task(free, inputs))['result']"
    driven = new_driven_run(tmp_path, source, inputs=task)
    assert driven.drive().status == "completed"
    assert driven.output() == driven.result("half")["result"]["result"] == {"a\ufffd": "\ufffd"}
