"""Actions of a user in a view are commands, with their journal entries and their refusals."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from bridle.views.run_data.commands import Target, build_command
from bridle.views.run_data.run_actions import Performed, perform
from tests.cli.fixtures.open_breakpoint import asking
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_folder


def act(run: Path, environment: dict[str, str], action: str, **fields: str) -> Performed:
    command = build_command({"action": action, **fields}, Target(run))
    return asyncio.run(perform(command, name=run.name, cwd=run, environment=environment))


def test_a_question_is_answered_and_the_run_continues(tmp_path: Path) -> None:
    agent = "if number == 1: answer['question'] = 'Which colour?'\nelse: " + MAKES_FILE
    here = make_project(tmp_path, ONE_TASK, agent)
    assert here.bridle("run", "PLAN.md").returncode == 4
    question = json.loads(here.bridle("answer", "--json").stdout)["questions"][0]
    refused = act(run_folder(here), here.environment(), "answer", effect="01NONE", text="blue")
    assert (refused.ok, refused.error) == (False, "EFFECT_NOT_FOUND")
    assert refused.remedy
    hinted = act(run_folder(here), here.environment(), "hint", text="--be careful")
    assert hinted.ok, hinted
    answered = act(run_folder(here), here.environment(), "answer", effect=question["effectId"], text="-blue\nor green")
    assert answered.ok, answered
    assert answered.command[:2] == ("bridle", "answer")
    resumed = act(run_folder(here), here.environment(), "resume")
    assert resumed.ok, resumed
    stopped = act(run_folder(here), here.environment(), "stop")
    assert stopped.ok, stopped
    if here.bridle("resume").returncode:  # it was stopped before its end
        raise AssertionError(here.bridle("status").stdout)
    prompts = "".join(call["prompt"] for call in here.calls())
    assert "-blue\nor green" in prompts
    assert "--be careful" in prompts
    again = act(run_folder(here), here.environment(), "retry", task="One")
    assert (again.ok, "needs no retry" in again.message) == (False, True)


def test_a_breakpoint_is_approved_or_rejected_explicitly(tmp_path: Path) -> None:
    effect = asking(tmp_path, "r1")
    run = tmp_path / ".a5c/runs/r1"
    rejected = act(run, dict(os.environ), "reject", effect=effect)
    assert rejected.ok, rejected
    posted = json.loads((run / "tasks" / effect / "result.json").read_text())
    value = posted.get("value") or posted.get("result")
    assert value["approved"] is False


def test_inside_an_agent_nothing_is_done(tmp_path: Path) -> None:
    agent = """
    import asyncio, os
    from pathlib import Path
    from bridle.views.run_data.commands import Target, build_command
    from bridle.views.run_data.run_actions import perform
    (run,) = Path(".a5c/runs").resolve().glob("[!.]*")
    command = build_command({"action": "hint", "text": "x"}, Target(run))
    done = asyncio.run(perform(command, name=run.name, cwd=run, environment=dict(os.environ)))
    open("refused", "w").write(f"{done.ok} {done.error}")
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    assert here.bridle("run", "PLAN.md", "--sandbox", "off").returncode == 0
    assert here.git("show", "HEAD:refused") == "False INSIDE_AGENT"


def test_a_module_of_the_repository_is_not_imported(tmp_path: Path) -> None:
    """The command runs in the repository, whose files an agent writes, and outside of any sandbox."""
    asking(tmp_path, "r1")
    for name in ("json", "bridle", "click"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w').close()")
    command = build_command({"action": "stop"}, Target(tmp_path / ".a5c/runs/r1"))
    done = asyncio.run(perform(command, name="r1", cwd=tmp_path, environment=dict(os.environ)))
    assert done.ok, done
    assert not (tmp_path / "imported").exists()


def test_equal_actions_at_once_have_a_file_of_errors_each(tmp_path: Path) -> None:
    asking(tmp_path, "r1")
    run, environment = tmp_path / ".a5c/runs/r1", {**os.environ, "BRIDLE_HOME": str(tmp_path / "home")}
    command = build_command({"action": "answer", "effect": "01NONE", "text": "x"}, Target(run))

    async def both() -> list[Performed]:
        works = [perform(command, name="r1", cwd=run, environment=environment) for _ in range(2)]
        return list(await asyncio.gather(*works))

    assert [done.error for done in asyncio.run(both())] == ["EFFECT_NOT_FOUND"] * 2
    assert len(list((tmp_path / "home/view-actions").glob("r1-answer-*.log"))) == 2
