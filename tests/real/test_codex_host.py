"""Codex as a host: the same seam, held by the same hooks, in the real program against a scripted model."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.sessions import session_file
from bridle.journal.format.entries import STOP_HOOK_INVOKED
from bridle.journal.stores.file_reader import FileReader
from tests.fixtures.bridle_program import BRIDLE
from tests.real.fixtures.installed_programs import codex_program
from tests.real.fixtures.responses_stage import Move, ResponsesStage, execute, playing, say

pytestmark = pytest.mark.real

# It starts in a second and each of its steps takes some tenths; a busy machine may take a minute.
LIMIT_SECONDS = 180

PROCESS = """
from bridle import define_task

work = define_task("work", lambda args, task: {"kind": "agent", "title": "Work", "agent": {"prompt": "Work."}})


async def process(inputs, ctx):
    return await ctx.task(work, {})
"""
CONFIG = """
model = "scripted"
model_provider = "stage"

[model_providers.stage]
name = "stage"
base_url = "{address}"
wire_api = "responses"
env_key = "STAGE_KEY"

[features]
hooks = true
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "process.py").write_text(PROCESS, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=LIMIT_SECONDS)
    return folder


def run_codex(project: Path, moves: Sequence[Move]) -> tuple[ResponsesStage, list[dict[str, Any]]]:
    """One session of the real program with Bridle's hooks; what the model was told, and the events."""
    stage, home = ResponsesStage(moves), project.parent / "codex"
    home.mkdir(exist_ok=True)
    hooks = {
        event: [
            {"hooks": [{"type": "command", "command": bridle("hook:run", "--harness", "codex", "--hook-type", name)}]}
        ]
        for event, name in (("SessionStart", "session-start"), ("Stop", "stop"))
    }
    (home / "hooks.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    flags = ("--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    with playing(stage) as address:
        (home / "config.toml").write_text(CONFIG.format(address=address), encoding="utf-8")
        done = subprocess.run(
            [str(codex_program()), "exec", *flags, "Build the thing"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "STAGE_KEY": "none"},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return stage, [json.loads(line) for line in done.stdout.splitlines()]


def bridle(*words: str) -> str:
    return shlex.join([str(BRIDLE), *words])


def last(pattern: str) -> Callable[[str], str]:
    """What the model was told last that looks like this."""

    def find(told: str) -> str:
        found: list[str] = re.findall(pattern, told)
        return found[-1]

    return find


def test_a_session_of_codex_is_held_until_its_run_has_completed_and_the_proof_is_given(project: Path) -> None:
    create = bridle("run:create", "--process-id", "demo", "--entry", "./process.py#process", "--run-id", "made")
    bind = f'{create} --harness codex --session-id "$CODEX_THREAD_ID" --prompt "Build the thing" --json'
    effect, proof = last(r'"effectId":\s*"(\w+)"'), last(r'"completionProof":\s*"(\w+)"')
    iterate = bridle("run:iterate", "made", "--json")
    stage, events = run_codex(
        project,
        [
            execute(bind),
            say("The run is there. DONE."),
            execute(iterate),
            execute(lambda told: bridle("task:post", "made", effect(told), "--status", "ok", "--value-inline", '"ok"')),
            say("It is posted. <promise>0123</promise>"),
            execute(iterate),
            say("The run has completed."),
            say(lambda told: f"<promise>{proof(told)}</promise>"),
        ],
    )
    assert len(stage.told) == 8, stage.told[-1]
    thread = next(event["thread_id"] for event in events if event["type"] == "thread.started")
    run = FileReader(project / ".a5c" / "runs" / "made")
    assert (run.position().state, run.metadata().harness) == ("completed", "codex")
    stops = [entry.data for entry in run.entries() if entry.type == STOP_HOOK_INVOKED]
    assert {stop["sessionId"] for stop in stops} == {thread}
    assert [(stop["decision"], stop["reason"], stop["iteration"]) for stop in stops] == [
        ("block", "continue_loop", 1),
        ("block", "continue_loop", 2),
        ("block", "continue_loop", 3),
        ("approve", "completion_proof_matched", 4),
    ]
    file = session_file.read(project / ".a5c" / "state" / f"{thread}.md")
    assert file is not None
    assert (file.session.active, file.session.run_id, file.session.iteration) == (False, "made", 4)
    assert (file.prompt, file.faults) == ("Build the thing", ())
    assert "Bridle iteration 2 | " in stage.told[2]


def test_a_session_of_codex_without_a_run_ends_by_itself(project: Path) -> None:
    stage, events = run_codex(project, [say("Nothing to do.")])
    assert len(stage.told) == 1
    thread = next(event["thread_id"] for event in events if event["type"] == "thread.started")
    file = session_file.read(project / ".a5c" / "state" / f"{thread}.md")
    assert file is not None
    assert (file.session.run_id, file.session.iteration) == ("", 1)
