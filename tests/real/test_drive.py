"""The real Claude Code as the agent of a driven run: alone and side by side; and a replay without it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.real.fixtures.claude_on_stage import KEY, Scene, calls, says, scene

pytestmark = pytest.mark.real

PROCESS = """
import asyncio

from bridle import define_task

write = define_task("write", lambda args, task: {
    "kind": "agent", "title": f"Write {args['name']}", "agent": {"prompt": f"Write the file {args['name']}."},
})
check = define_task("check", lambda args, task: {"kind": "shell", "shell": {"command": "cat *.txt"}})


async def process(inputs, ctx):
    said = await asyncio.gather(*(ctx.task(write, {"name": name}) for name in inputs))
    return {"said": said, "there": (await ctx.task(check, {}))["stdout"]}
"""


def created(set_up: Scene, names: list[str]) -> Path:
    """A run of that process in the workspace, which has one commit."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    commit = ["git", *identity, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(commit, cwd=set_up.workspace, check=True, timeout=60)
    folder = set_up.workspace / ".a5c"
    folder.mkdir()
    (folder / "process.py").write_text(PROCESS)
    (folder / "inputs.json").write_text(json.dumps(names))
    made = set_up.bridle(
        *("run:create", "--process-id", "real", "--entry", ".a5c/process.py#process"),
        *("--inputs", ".a5c/inputs.json", "--run-id", "r1", "--json"),
    )
    return Path(made.document["runDir"])


def writes(name: str, text: str) -> dict[str, object]:
    """The model's part of one conversation: it writes a file and says so."""
    return {
        "when": {"contains": f"Write the file {name}", "in": "messages"},
        "answers": [calls("Write", file_path=name, content=text), says(f"{name} is written.")],
    }


@pytest.mark.parametrize("names", [["one.txt"], ["one.txt", "two.txt"]], ids=["alone", "side by side"])
def test_a_driven_run_completes_and_is_replayed_and_audited_without_the_agent(tmp_path: Path, names: list[str]) -> None:
    conversations = [writes(name, f"{name} by the model\n") for name in names]
    with scene(tmp_path, conversations=conversations) as set_up:
        run = created(set_up, names)
        driven = set_up.bridle("drive", "r1", "--json")
        assert driven.exit_code == 0, driven.stderr
        assert set_up.stage.problems == ()
        asked = len(set_up.bodies())
        replay, audit = set_up.bridle("replay", "r1", "--json"), set_up.bridle("audit", "r1", "--json")
        assert len(set_up.bodies()) == asked, "nobody was asked anything"
    document = driven.document
    assert document["status"] == "completed"
    assert document["output"] == {
        "said": [f"{name} is written." for name in names],
        "there": "".join(f"{name} by the model\n" for name in names),
    }
    assert document["costUsd"] > 0
    for name in names:
        assert (set_up.workspace / name).read_text() == f"{name} by the model\n"
    assert (replay.exit_code, replay.document["agrees"], replay.document["effects"]) == (0, True, len(names) + 1)
    assert (audit.exit_code, audit.document["wrong"]) == (0, [])
    assert KEY.encode() not in b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
