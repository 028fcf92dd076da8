"""Commands of a driven run are in the driver's sandbox, as its agents are."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from bridle.engine.drive import command_performer
from bridle.engine.drive.agent_request import AgentDefaults
from bridle.run.isolation.choose_sandbox import choose_sandbox
from bridle.run.isolation.sandbox_rules import BWRAP, SandboxRules
from tests.engine.fixtures.driven_runs import DrivenRun, new_driven_run

if TYPE_CHECKING:
    from bridle.engine.drive.performer import Job

PROCESS = """
async def process(inputs, ctx):
    done = [await ctx.task(free, one, label=str(n)) for n, one in enumerate(inputs)]
    for wrong in ({"command": ["no-such-program-here"]}, {"command": "true", "cwd": "../home/.ssh"}):
        try:
            await ctx.task(free, {"kind": "shell", "shell": wrong})
        except EffectFailed as error:
            done.append(str(error))
    return done
"""
ESCAPES = (
    'cat "$HOME/.ssh/id"',
    "touch ../outside; exit 1",  # in a private /tmp
    "echo forged > .a5c/runs/r1/forged",
    "rm .a5c/runs/r1/journal/*",
    'test -n "$ANTHROPIC_API_KEY"',
    "touch .git/hooks/post-commit && grep -q . .git/hooks/post-commit",
)


def run_in_sandbox(folder: Path, tasks: list[dict[str, Any]], **rules: Any) -> DrivenRun:
    driven = new_driven_run(folder, PROCESS, inputs=tasks)
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("key")
    driven.variables |= {"HOME": str(home), "ANTHROPIC_API_KEY": "key", "MY_DATA": "data"}
    sandbox = choose_sandbox(SandboxRules(mode=BWRAP, **rules), os.environ)
    assert driven.drive(agents=AgentDefaults(sandbox=sandbox)).status == "completed", driven.messages
    return driven


def test_a_command_cannot_leave_the_sandbox_and_writes_its_result(tmp_path: Path) -> None:
    run = tmp_path / "repository/.a5c/runs/r1"
    escapes = [{"kind": "shell", "shell": {"command": line}} for line in ESCAPES]
    outside = {"kind": "shell", "shell": {"command": "touch here", "cwd": str(tmp_path / "home")}}
    script = f"import json; json.dump([1], open({str(run / 'tasks/x/out.json')!r}, 'w')); open('made', 'w')"
    python = {"kind": "python", "python": {"code": script}, "io": {"outputJsonPath": "tasks/x/out.json"}}
    driven = run_in_sandbox(tmp_path, [*escapes, outside, python])
    *attempts, result, missing, hidden = driven.output()
    assert [one["success"] for one in attempts] == [False] * len(attempts), attempts
    assert (result["success"], result["result"]) == (True, [1]), result
    assert (driven.folder / "made").exists()
    assert "no-such-program-here" in missing
    assert "the sandbox does not show" in hidden
    assert not (tmp_path / "outside").exists()


def test_what_the_user_allows_is_allowed(tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    task = {"kind": "shell", "shell": {"command": f'test -n "$MY_DATA" && touch {more}/made'}}
    driven = run_in_sandbox(tmp_path, [task], writable=(str(more),), environment=("MY_DATA",))
    assert driven.output()[0]["success"], json.dumps(driven.output())
    assert (more / "made").exists()


@dataclass
class EffectFolder:
    """The part of a job that knows its folder."""

    place: Path

    def folder(self) -> Path:
        return self.place


@pytest.mark.parametrize("name", ["out.json", "made/out.json"])
def test_a_link_that_the_command_made_is_no_result(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/out.json").write_text('{"key": 1}')
    job = cast("Job", EffectFolder(tmp_path / "effect"))
    job.folder().mkdir()
    target = tmp_path / "secret" / ("out.json" if "/" not in name else "")
    (job.folder() / Path(name).parts[0]).symlink_to(target)
    assert not command_performer._is_file(job.folder() / name, job)
    (job.folder() / Path(name).parts[0]).unlink()
    (job.folder() / name).parent.mkdir(exist_ok=True)
    (job.folder() / name).write_text("{}")
    assert command_performer._is_file(job.folder() / name, job)
