"""Every command of docs/claude-code.md does what the page says, with the real Claude Code, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.real.fixtures.claude_on_stage import LIMIT_SECONDS, says, scene
from tests.real.fixtures.installed_programs import claude_program
from tests.real.fixtures.plugin_session import Plugged, worked_to_the_breakpoint

pytestmark = pytest.mark.real

PAGE = Path(__file__).parents[2] / "docs" / "claude-code.md"
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
GREETING = "Good day."


def lines() -> list[str]:
    return [line for block in BLOCK.findall(PAGE.read_text("utf-8")) for line in block.splitlines()]


def programs(folder: Path) -> Path:
    """`bridle`, and a `claude` that greets where the page leaves it to a person to say something."""
    folder.mkdir()
    (folder / "bridle").symlink_to(BRIDLE)
    claude, greeting = shlex.quote(str(claude_program())), shlex.quote(GREETING)
    script = f'#!/bin/sh\ncase "$1" in plugin|-p) exec {claude} "$@";; esac\nexec {claude} -p {greeting} "$@"\n'
    (folder / "claude").write_text(script)
    (folder / "claude").chmod(0o755)
    return folder


def test_every_line_of_the_page_works(tmp_path: Path) -> None:
    greeted = {"when": {"contains": GREETING, "in": "messages"}, "answers": [says("Good day to you.")]}
    answers = [*worked_to_the_breakpoint(), says("Somebody must answer.")]
    with scene(tmp_path, *answers, conversations=[greeted]) as set_up:
        path = f"{programs(tmp_path / 'programs')}{os.pathsep}{os.environ['PATH']}"
        there, done = Plugged(set_up, set_up.home / "bridle-plugin"), []
        for line in lines():
            ran = subprocess.run(
                ["/bin/sh", "-c", _filled(line, there)],
                cwd=set_up.workspace,
                env=set_up.environment(PATH=path),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                check=False,
            )
            assert ran.returncode == 0, f"{line}\n{ran.stdout}\n{ran.stderr}"
            done.append(line.split()[1])
        assert set_up.stage.problems == ()
    assert done.count("plugin") >= 10
    assert [path.name for path in set_up.home.glob("bridle-plugin/**/*.md")] == []
    assert list((set_up.home / ".claude").glob("skills/**/*")) == []
    assert there.run().is_dir(), "no run was lost"


def _filled(line: str, there: Plugged) -> str:
    """The line with a person's own values in it."""
    if "EFFECT" in line:
        pending = there.scene.bridle("task:list", there.run().name, "--pending", "--json").document["tasks"]
        line = line.replace("EFFECT", pending[0]["effectId"])
    if "SESSION" in line:
        (session,) = {one["data"]["sessionId"] for one in there.entries() if one["type"] == "STOP_HOOK_INVOKED"}
        line = line.replace("SESSION", session)
    return line.replace("PLUGIN", shlex.quote(str(there.plugin)))
