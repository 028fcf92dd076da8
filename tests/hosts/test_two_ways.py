"""One process, two ways: driven from outside and from inside of a session it asks for the same and gets the same."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.format.entries import EFFECT_REQUESTED, STOP_HOOK_INVOKED, Effect
from bridle.journal.stores.file_reader import FileReader
from tests.engine.fixtures.driven_runs import LIMIT_SECONDS, PREAMBLE, DrivenRun, new_driven_run
from tests.hosts.fixtures.agent_in_session import Result, SessionAgent
from tests.workspace.fixtures.repositories import make_repository

EVERY_KIND = """
async def process(inputs, ctx):
    first = await ctx.task(shell, {"command": "cat a.txt; echo oops >&2; exit 3"}, label="look")
    ctx.log("looked", first["stdout"])
    words = await ctx.task(agent, {"prompt": "$ echo from the agent > b.txt"}, label="write")
    both = await asyncio.gather(
        ctx.task(shell, {"command": "cat b.txt"}, label="left"),
        ctx.task(free, {"kind": "python", "python": {"code": "print('{\\"score\\": 7}')"}}, label="right"),
    )
    await ctx.sleep_until(ctx.now() + timedelta(seconds=1))
    answer = await ctx.breakpoint({"question": "Ship it?", "both": both}, label="ship")
    try:
        await ctx.task(free, {"kind": "elsewhere", "where": "a machine of ours"}, label="away")
    except EffectFailed as error:
        away = [error.name, error.message, error.data]
    return {"first": first, "words": words, "both": both, "answer": answer, "away": away}
"""

PLAIN = """
async def process(inputs, ctx):
    return [await ctx.task(shell, {"command": f"echo {n}"}, key=f"step-{n}") for n in range(inputs["count"])]
"""

EMPTY = """
async def process(inputs, ctx):
    return {"nothing": "was asked for"}
"""

ANSWER = "yes"
AWAY = {"name": "Unreachable", "message": "nobody is there", "data": {"tries": 3}}


@pytest.mark.parametrize(
    ("source", "inputs", "stops"),
    [(EVERY_KIND, None, 7), (PLAIN, {"count": 4}, 5), (EMPTY, None, 1)],
    ids=["every kind", "a loop", "nothing"],
)
def test_outside_and_inside_ask_for_the_same_and_get_the_same(
    tmp_path: Path, source: str, inputs: Any, stops: int
) -> None:
    outside = from_outside(tmp_path / "outside", source, inputs)
    session, inside = from_inside(tmp_path / "inside", source, inputs)
    assert story(inside) == story(outside)
    assert files(session.project) == files(tmp_path / "outside/repository")
    held = [one.data for one in inside.entries() if one.type == STOP_HOOK_INVOKED]
    assert [one["decision"] for one in held] == ["block"] * (stops - 1) + ["approve"]
    assert held[-1]["reason"] == "completion_proof_matched"
    assert not [one for one in outside.entries() if one.type == STOP_HOOK_INVOKED]


def from_outside(folder: Path, source: str, inputs: Any) -> FileReader:
    """Bridle's own driver performs everything; a person answers, somebody else posts what it does not know."""
    driven = new_driven_run(folder, source, inputs=inputs)
    for _ in range(100):
        if driven.drive().status != "waiting":
            return FileReader(driven.run)
        _answer_for_people(driven)
    raise AssertionError("it still waits")


def _answer_for_people(driven: DrivenRun) -> None:
    for effect in FileReader(driven.run).state().effects.values():
        if effect.is_pending and effect.kind == "breakpoint":
            assert driven.bridle("answer", effect.effect_id, ANSWER).returncode == 0
        elif effect.is_pending:
            error = driven.folder.parent / "error.json"
            error.write_text(json.dumps(AWAY))
            words = ("task:post", "r1", effect.effect_id, "--status", "error", "--error", str(error))
            assert driven.bridle(*words).returncode == 0


def from_inside(folder: Path, source: str, inputs: Any) -> tuple[SessionAgent, FileReader]:
    """An agent in a session performs everything, and the Stop hook holds it."""
    session = SessionAgent(folder / "repository", folder / "a plug'in")
    make_repository(session.project)
    process = session.project / ".a5c/process.py"
    process.parent.mkdir()
    process.write_text(PREAMBLE + textwrap.dedent(source))
    given = process.with_name("inputs.json")
    given.write_text(json.dumps(inputs))
    session.start()
    words = ("--process-id", "demo", "--entry", f"{process}#process", "--run-id", "r1")
    made = session.create(*words, *(("--inputs", str(given)) if inputs is not None else ()))
    assert made["session"]["bound"] is True
    session.work("r1", lambda action: performed(action, session.project))
    return session, FileReader(Path(made["runDir"]))


def performed(action: Mapping[str, Any], project: Path) -> Result | None:
    """What an agent does for an effect, as the plugin's skill says."""
    task = action["taskDef"]
    if action["kind"] == "shell":
        return Result(_ran(["/bin/sh", "-c", task["shell"]["command"]], project))
    if action["kind"] == "python":
        value = _ran(["python3", "-c", task["python"]["code"]], project)
        return Result({**value, "result": json.loads(value["stdout"])})
    if action["kind"] == "agent":
        for line in task["agent"]["prompt"].splitlines():
            _ran(["/bin/sh", "-c", line.removeprefix("$ ")], project)
        return Result("done as told")
    if action["kind"] == "breakpoint":
        return Result({"approved": True, "response": ANSWER, "respondedBy": "human"})
    if action["kind"] == "sleep":
        time.sleep(max(0.0, action["schedulerHints"]["sleepUntilEpochMs"] / 1000 - time.time()))
        return None
    return Result(error=AWAY)


def _ran(argv: list[str], project: Path) -> dict[str, Any]:
    done = subprocess.run(argv, cwd=project, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    shown = {"success": done.returncode == 0, "exitCode": done.returncode}
    return {**shown, "stdout": done.stdout, "stderr": done.stderr}


def story(run: FileReader) -> dict[str, Any]:
    """What a run asked for, what it got and what it gave: all that is not a time or an id."""
    state = run.state()
    asked = [one.data["effectId"] for one in run.entries() if one.type == EFFECT_REQUESTED]
    return {
        "effects": [_told(run, state.effects[str(effect_id)]) for effect_id in asked],
        "words": [one.data["message"] for one in run.entries() if "message" in one.data],
        "end": state.position.state,
        "output": run.output(state.ended),
    }


def _told(run: FileReader, effect: Effect) -> dict[str, Any]:
    task, result = run.task(effect), run.result(effect)
    is_sleep = effect.kind == "sleep"  # its label and its inputs are its moment
    return {
        "step": (
            effect.step_id,
            effect.key,
            effect.task_id,
            effect.kind,
            None if is_sleep else effect.label,
            effect.status,
        ),
        "inputs": None if is_sleep else task.inputs,
        "result": (result.status, result.value, result.error),
    }


def files(project: Path) -> dict[str, str]:
    """What the work left in the project."""
    return {name: (project / name).read_text() for name in os.listdir(project) if (project / name).is_file()}
