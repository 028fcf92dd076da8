"""`bridle drive` and `bridle answer`: exit codes, documents, and what a person sees."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from bridle.ground import prices
from tests.engine.fixtures.driven_runs import LIMIT_SECONDS, DrivenRun, new_driven_run, wait_until
from tests.journal.fixtures.recorded_samples import NAMES, contents, sample
from tests.run.fixtures.fake_agent import MODEL, Script, all_dead, init, result, says

ASKS = (
    "async def process(inputs, ctx): return (await ctx.breakpoint({'question': 'Ship it?'}, label='gate'))['response']"
)
SHELL = "async def process(inputs, ctx): return (await ctx.task(shell, {'command': 'echo hi'}))['stdout']"
SLOW = "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'})"


def test_a_run_that_completes_exits_0_with_its_output(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    done = driven.bridle("drive", "r1", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert {name: document[name] for name in ("run", "status", "performed", "output", "questions", "resume")} == {
        "run": "r1",
        "status": "completed",
        "performed": 1,
        "output": "hi\n",
        "questions": [],
        "resume": None,
    }
    assert document["completionProof"]
    assert "bridle: shell Shell: started\nbridle: shell Shell: done\n" in done.stderr


def test_output_without_a_result_is_said_and_every_attempt_is_counted(tmp_path: Path) -> None:
    once = prices.cost_usd(MODEL, input_tokens=3, output_tokens=1, input_includes_cached=False)
    assert once is not None
    driven = new_driven_run(tmp_path, SLOW, script=Script().listen().out(init(), says("half")))
    done = driven.bridle("drive", "r1", "--json")
    assert done.returncode == 0, done.stderr
    assert "done, but the agent's output ended without a result" in done.stderr
    assert json.loads(done.stdout)["costUsd"] == pytest.approx(2 * once)
    (path,) = driven.run.glob("tasks/*/result.json")
    metadata = json.loads(path.read_text())["metadata"]
    assert (metadata["starts"], metadata["inputTokens"], metadata["outputTokens"]) == (2, 6, 2)
    assert "(degraded)" in metadata["note"]


def test_an_exit_code_after_the_result_is_said(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SLOW, script=Script().listen().out(init(), result("done")).exit(3))
    assert "exit code 3" in driven.bridle("drive", "r1").stderr


@pytest.mark.parametrize("word", ["r1", "r", "last", ".a5c/runs/r1", None])
def test_a_run_is_named_by_its_id_its_beginning_its_folder_or_as_the_last(tmp_path: Path, word: str | None) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    done = driven.bridle("drive", *([word] if word else []))
    assert (done.returncode, done.stdout) == (0, 'r1: completed (1 effect executed)\noutput: "hi\\n"\n')


@pytest.mark.parametrize(
    ("source", "code", "status"),
    [
        ("async def process(inputs, ctx): raise ValueError('no good')", 1, "failed"),
        ("async def process(inputs, ctx): await ctx.halt('enough')", 1, "halted"),
        ("async def process(inputs, ctx): await asyncio.get_running_loop().create_future()", 1, "none"),
        (ASKS, 4, "waiting"),
        ("async def process(inputs, ctx): return await ctx.task(free, {'kind': 'odd'})", 4, "waiting"),
    ],
)
def test_each_end_has_its_exit_code(tmp_path: Path, source: str, code: int, status: str) -> None:
    driven = new_driven_run(tmp_path, source)
    done = driven.bridle("drive", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (code, status)


def test_a_limit_exits_3_and_a_missing_agent_5(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SLOW, script=Script().out(init()).sleep())
    done = driven.bridle("drive", "--max-time", "1s", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (3, "limit")
    assert all_dead([start["pid"] for start in driven.agent.starts])
    driven.variables["BRIDLE_CLAUDE"] = "/nowhere/claude"
    done = driven.bridle("drive", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (5, "unusable")
    assert "/nowhere/claude" in json.loads(done.stdout)["trouble"]["message"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_it_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    driven = new_driven_run(tmp_path, SLOW, script=Script().out(init()).daemon().sleep())
    with driven.start("drive", "r1", "--json") as started:
        wait_until(lambda: driven.agent.daemons)
        started.send_signal(number)
        stdout, stderr = started.communicate(timeout=LIMIT_SECONDS)
    assert started.returncode == 130
    assert json.loads(stdout) == {
        "run": "r1",
        "runDir": str(driven.run),
        "status": "interrupted",
        "resume": "bridle drive r1",
    }
    assert "Continue with: bridle drive r1" in stderr
    assert all_dead([*(start["pid"] for start in driven.agent.starts), *driven.agent.daemons])
    Script().out(init()).obey().out('{"type":"result","subtype":"success","result":"ok"}\n').install(tmp_path / "bin")
    again = driven.bridle("drive")
    assert again.returncode == 0
    assert "was killed" not in again.stderr


def test_two_signals_do_not_hurry_it_into_leaving_something(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SLOW, script=Script().ignore("SIGINT", "SIGTERM").out(init()).sleep())
    with driven.start("drive", "r1") as started:
        wait_until(lambda: driven.agent.starts)
        started.send_signal(signal.SIGINT)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=LIMIT_SECONDS)
    assert started.returncode == 130
    assert all_dead([start["pid"] for start in driven.agent.starts])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("nothing-like-it",), 2), (("--concurrency", "0"), 2), (("--max-time", "soon"), 2), (("--agent", "poet"), 2)],
)
def test_wrong_usage_starts_nothing(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    before = contents(driven.run)
    done = driven.bridle("drive", *arguments, "--json")
    assert (done.returncode, done.stdout) == (code, "")
    assert json.loads(done.stderr)["message"]
    assert contents(driven.run) == before


def test_a_process_that_diverges_exits_1_with_its_code(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, ASKS)
    assert driven.bridle("drive").returncode == 4
    process = driven.folder / ".a5c/process.py"
    process.write_text(process.read_text().replace("Ship it?", "Really?"))
    done = driven.bridle("drive", "--json")
    assert (done.returncode, json.loads(done.stderr)["error"]) == (1, "PROCESS_DIVERGED")


def test_hooks_of_a_repository_run_once_it_is_trusted_and_never_with_no_hooks(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    hook = driven.folder / ".a5c/hooks/on-task-start/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"touch {tmp_path}/ran\n")
    done = driven.bridle("drive")
    assert "doctor --trust" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert driven.bridle("doctor", "--trust").stdout.splitlines()[0] == f"trusted: {hook}"
    for run, flags in (("r2", ("--no-hooks",)), ("r3", ())):
        entry = ("--process-id", "demo", "--entry", ".a5c/process.py#process", "--run-id", run)
        assert driven.bridle("run:create", *entry).returncode == 0
        assert driven.bridle("drive", run, *flags).returncode == 0
        assert (tmp_path / "ran").exists() == (not flags)


# ---- answer


def asked(folder: Path) -> tuple[DrivenRun, str]:
    driven = new_driven_run(folder, ASKS)
    assert driven.bridle("drive").returncode == 4
    return driven, driven.effect("gate")


def test_questions_are_listed_with_how_to_answer_them(tmp_path: Path) -> None:
    driven, effect_id = asked(tmp_path)
    again = driven.bridle("drive")
    assert f'answer with: bridle answer {effect_id} "approve" r1' in again.stdout
    for arguments in ((), ("--list",), ("--list", "r1")):
        assert driven.bridle("answer", *arguments).stdout == f"{effect_id} Ship it?\n"
    (question,) = json.loads(driven.bridle("answer", "--json").stdout)["questions"]
    assert (question["effectId"], question["kind"], question["question"]) == (effect_id, "breakpoint", "Ship it?")


@pytest.mark.parametrize(
    ("arguments", "approved", "response"),
    [
        (("yes",), True, "yes"),
        (("Approve!",), True, "Approve!"),
        (("no",), False, "no"),
        (("go ahead, but mind the tests", "--approve"), True, "go ahead, but mind the tests"),
        (("not before Monday", "--reject"), False, "not before Monday"),
        (("--approve",), True, "approve"),
        (("--reject",), False, "reject"),
    ],
)
def test_an_answer_is_kept_as_it_was_given(
    tmp_path: Path, arguments: tuple[str, ...], approved: bool, response: str
) -> None:
    driven, effect_id = asked(tmp_path)
    done = driven.bridle("answer", effect_id[:22], *arguments, "--json")
    assert done.returncode == 0
    value = json.loads(done.stdout)["value"]
    assert (value["approved"], value["response"], value["respondedBy"]) == (approved, response, "human")
    assert json.loads(done.stdout)["resume"] == "bridle drive r1"
    assert driven.bridle("drive").returncode == 0
    assert driven.output() == response


@pytest.mark.parametrize(
    "arguments", [("",), ("   ",), ("maybe",), ("yes and no",), ("no", "--approve"), ("yes", "--reject"), ()]
)
def test_what_is_no_answer_changes_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    driven, effect_id = asked(tmp_path)
    before = driven.types()
    done = driven.bridle("answer", effect_id, *arguments)
    assert done.returncode == 2
    assert driven.types() == before
    assert driven.bridle("drive").returncode == 4


@pytest.mark.parametrize("flags", [(), ("--no-hooks",)], ids=["hooks", "no hooks"])
def test_an_answer_fires_the_hooks_of_a_completed_task(tmp_path: Path, flags: tuple[str, ...]) -> None:
    driven, effect_id = asked(tmp_path)
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-task-complete/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"cat > {tmp_path}/payload\n")
    assert driven.bridle("answer", effect_id, "yes", *flags).returncode == 0
    if flags:
        assert not (tmp_path / "payload").exists()
    else:
        payload = json.loads((tmp_path / "payload").read_text())
        assert (payload["runId"], payload["effectId"], payload["status"]) == ("r1", effect_id, "ok")


def test_a_flag_alone_approves_and_an_empty_text_with_it_does_not(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx): return await ctx.breakpoint({'question': '?'}, label='gate')"
    driven = new_driven_run(tmp_path, source)
    assert driven.bridle("drive").returncode == 4
    refused = driven.bridle("answer", driven.effect("gate"), "", "--approve")
    assert refused.returncode == 2
    assert "an empty response does not approve" in refused.stderr
    assert driven.bridle("answer", driven.effect("gate"), "--approve", "--resume").returncode == 0
    assert driven.output() == {"approved": True, "response": "approve", "respondedBy": "human"}


def test_an_answer_may_drive_the_run_on_at_once(tmp_path: Path) -> None:
    driven, effect_id = asked(tmp_path)
    done = driven.bridle("answer", effect_id, "yes", "--resume", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")


def test_a_second_answer_and_one_to_nothing_are_refused(tmp_path: Path) -> None:
    driven, effect_id = asked(tmp_path)
    assert driven.bridle("answer", effect_id, "yes").returncode == 0
    assert "is already resolved" in driven.bridle("answer", effect_id, "no").stderr
    assert "no effect '01ZZZZ'" in driven.bridle("answer", "01ZZZZ", "no").stderr
    assert "no open questions" in driven.bridle("answer").stdout


def test_an_answer_without_its_question_means_the_only_one_by_the_same_rules(tmp_path: Path) -> None:
    driven, effect_id = asked(tmp_path)
    refused = driven.bridle("answer", "it's fine")
    assert (refused.returncode, driven.effect("gate")) == (2, effect_id)
    assert "the answer must be a yes or a no" in refused.stderr
    missing = driven.bridle("answer", effect_id[:20])
    assert f'bridle answer {effect_id} "approve"' in missing.stderr
    assert driven.bridle("answer", "it's fine", "--approve", "--resume").returncode == 0
    assert "it's fine" in str(driven.output())


def test_an_option_can_be_chosen_and_only_a_yes_approves(tmp_path: Path) -> None:
    payload = {"question": "?", "options": ["Yes", "Later"]}
    source = f"async def process(inputs, ctx): return await ctx.breakpoint({payload!r}, label='gate')"
    for word, approved in (("later", False), ("yes", True)):
        driven = new_driven_run(tmp_path / word, source)
        driven.bridle("drive")
        assert driven.bridle("answer", driven.effect("gate"), word, "--resume").returncode == 0
        assert (driven.output()["approved"], driven.output()["option"]) == (approved, word.capitalize())


# ---- runs of the other implementation


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_the_other_implementation_is_listed_shown_audited_and_posted_to(tmp_path: Path, name: str) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    run = sample(name, tmp_path)
    assert driven.bridle("run:status", str(run), "--json").returncode == 0
    tasks = json.loads(driven.bridle("task:list", str(run), "--json").stdout)["tasks"]
    assert tasks
    assert driven.bridle("task:show", str(run), tasks[0]["effectId"], "--json").returncode == 0
    audit = driven.bridle("audit", str(run), "--json")
    assert (audit.returncode, json.loads(audit.stdout)["wrong"]) == (0, [])
    waiting = [task for task in tasks if task["status"] == "requested"]
    for task in waiting:
        value = ("--status", "ok", "--value-inline", '{"approved": true}')
        assert driven.bridle("task:post", str(run), task["effectId"], *value).returncode == 0
    assert json.loads(driven.bridle("audit", str(run), "--json").stdout)["ok"]
    driven_by_us = driven.bridle("drive", str(run), "--json")
    if name == "run-completed":
        assert json.loads(driven_by_us.stdout)["status"] == "completed"
    else:
        assert json.loads(driven_by_us.stderr.splitlines()[-1])["error"] == "PROCESS_NOT_LOADED"


def test_a_question_of_the_other_implementation_can_be_answered(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    run = sample("run-breakpoint", tmp_path)
    (question,) = json.loads(driven.bridle("answer", "--list", str(run), "--json").stdout)["questions"]
    assert driven.bridle("answer", question["effectId"], "yes", str(run)).returncode == 0
    assert json.loads(driven.bridle("answer", "--list", str(run), "--json").stdout)["questions"] == []
    assert json.loads(driven.bridle("audit", str(run), "--json").stdout)["ok"]
