"""The script of docs/stage.md completes its plan, as the page says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.fixtures.bridle_program import run_bridle
from tests.loop.fixtures.loop_commands import receipt_of

PAGE = (Path(__file__).parents[2] / "docs" / "stage.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## A script that completes a plan")[1]


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_script_completes_the_plan(tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=T", "-c", "user.email=t@localhost")
    (tmp_path / "PLAN.md").write_text(block("markdown"))
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "plan"], check=True)
    for name in ("user.name", "user.email"):
        subprocess.run([*git, "config", name, "t@localhost"], check=True)
    with running(load_script(json.loads(block("json")))) as stage:
        variables = {"ANTHROPIC_BASE_URL": stage.url, "ANTHROPIC_API_KEY": "dummy"}
        done = run_bridle("run", "PLAN.md", "--agent", "bridle-agent", "--json", cwd=tmp_path, variables=variables)
    [task] = receipt_of(done, 0)["tasks"]
    assert (task["title"], task["verdict"]) == ("Greet", "done")
    assert subprocess.run(["sh", "greet.sh"], cwd=tmp_path, capture_output=True, check=True).stdout == b"hello\n"
